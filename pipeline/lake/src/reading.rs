//! How a file is to be read: what people declare of it, and what its first reading decided, kept so that later ones decide
//! nothing anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data_type::DataType;
use crate::notation::{Conventions, DateOrder};
use crate::object::Hasher;

/// Which line of a text is its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderLine {
    /// None is: all lines are rows.
    None,
    /// This one, counted from 1 on; of a sheet this row.
    At(u32),
}

/// How people say that a file is read ([`crate::Declared`]). What they do not say is found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeclaredReading {
    /// Types of columns, by name.
    pub types: BTreeMap<String, DataType>,
    /// Where the header of a text or sheet is.
    pub header: Option<HeaderLine>,
    /// What cuts the rows of a text into cells: one byte of ASCII.
    pub delimiter: Option<u8>,
    /// Cells that stand for no value, beside empty ones, in the place of limn's own; of texts, sheets and JSON.
    pub nulls: Option<Vec<String>>,
    /// How the numbers and dates of a text or sheet are written.
    pub conventions: Conventions,
    /// The encoding of a text, by its name in the Encoding Standard.
    pub encoding: Option<String>,
}

/// Of a file of which nobody says anything.
static NOTHING: DeclaredReading = DeclaredReading {
    types: BTreeMap::new(),
    header: None,
    delimiter: None,
    nulls: None,
    conventions: Conventions {
        date_order: None,
        decimal: None,
    },
    encoding: None,
};

impl DeclaredReading {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == NOTHING
    }

    /// Feeds a fingerprint with all that is said.
    pub(crate) fn feed(&self, hasher: &mut Hasher) {
        hasher.bytes(&(self.types.len() as u64).to_le_bytes());
        for (name, data_type) in &self.types {
            hasher.text(name);
            hasher.text(data_type.label());
        }
        match self.header {
            None => hasher.optional(None),
            Some(HeaderLine::None) => hasher.text("none"),
            Some(HeaderLine::At(line)) => hasher.bytes(&line.to_le_bytes()),
        }
        hasher.bytes(&[self.delimiter.unwrap_or(0)]);
        let signs = self.nulls.as_deref();
        hasher.bytes(&signs.map_or(u64::MAX, |it| it.len() as u64).to_le_bytes());
        signs.into_iter().flatten().for_each(|it| hasher.text(it));
        let Conventions {
            date_order,
            decimal,
        } = self.conventions;
        hasher.optional(date_order.map(DateOrder::label));
        hasher.bytes(&[decimal.map_or(0, |it| it as u8)]);
        hasher.optional(self.encoding.as_deref());
    }
}

/// What an entry of a `.limn.yaml` says of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Declaration {
    /// The path of the `.limn.yaml`.
    pub by: String,
    /// The entry's pattern of file names.
    pub files: String,
    /// How the file is read.
    pub reading: DeclaredReading,
    /// What the entry says of the table in words: its description, owner and columns.
    pub text: Option<String>,
}

impl Declaration {
    /// How a file is read of which this is said, if anything is.
    pub(crate) fn reading_of(declared: Option<&Arc<Declaration>>) -> &DeclaredReading {
        declared.map_or(&NOTHING, |it| &it.reading)
    }

    /// Feeds a fingerprint with all but the words.
    pub(crate) fn feed(&self, hasher: &mut Hasher) {
        hasher.text("declared");
        hasher.text(&self.by);
        hasher.text(&self.files);
        self.reading.feed(hasher);
    }

    /// What a catalog keeps of it: all but the words, as JSON text.
    ///
    /// # Errors
    /// None in practice; serialisation of plain data.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let kept = Declaration {
            text: None,
            ..self.clone()
        };
        serde_json::to_string(&kept)
    }

    /// Reads what [`Declaration::to_json`] wrote.
    ///
    /// # Errors
    /// For text that no version of this crate wrote.
    pub fn from_json(text: &str) -> Result<Arc<Self>, serde_json::Error> {
        serde_json::from_str(text).map(Arc::new)
    }
}

/// Declarations that many files share, between processes.
pub(crate) mod shared {
    use super::{Arc, Declaration, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        declared: &Option<Arc<Declaration>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        declared.as_deref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<Declaration>>, D::Error> {
        Ok(Option::<Declaration>::deserialize(deserializer)?.map(Arc::new))
    }
}

/// How double quotes are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quoting {
    /// `"a ""quoted"" cell"` (RFC 4180).
    #[default]
    Doubled,
    /// `"a \"quoted\" cell"` (MySQL, Spark).
    Backslash,
    /// A quote is a letter like any other (many TSV files).
    Off,
}

/// How a file of delimited or plain text is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextReading {
    /// What cuts rows into cells.
    #[serde(rename = "d")]
    pub delimiter: char,
    /// How double quotes are meant.
    #[serde(rename = "q", default, skip_serializing_if = "is_default")]
    pub quoting: Quoting,
    /// Bytes of the text before its first row.
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub start: u64,
    /// Rows before the first row of data: titles and the header.
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    pub skip: u64,
    /// Whether the last of them is a header, which rows below may repeat.
    #[serde(rename = "h", default, skip_serializing_if = "is_default")]
    pub has_header: bool,
    /// Where the table ends and a footer begins, in bytes from `start` on; none where nothing follows it.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// The text's encoding by its name in the Encoding Standard; none for UTF-8.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Whether its lines are cut by blanks, widths or bars, and written anew with tabs.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub is_rewritten: bool,
}

fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}
