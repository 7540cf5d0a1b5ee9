//! What is declared of a file.

use std::sync::Arc;

use limn_profile::notation::{Conventions, DateOrder};
use limn_profile::{DeclaredReading, HeaderLine, LoggedTable, NOTHING_DECLARED};
use serde::{Deserialize, Serialize};

use crate::object::{Hasher, ObjectRecord};

/// What an entry of a `.limn.yaml` declares of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Declaration {
    /// The path of the `.limn.yaml`.
    pub by: String,
    /// The entry's pattern of file names.
    pub files: String,
    /// How the file is read.
    pub reading: DeclaredReading,
    /// The entry's words about the table: its description, owner and columns.
    pub text: Option<String>,
    /// Files that are read with it: of a dBase table its shapes and the name of its encoding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ObjectRecord>,
}

impl Declaration {
    /// How a file is read of which this is said, if anything is.
    pub fn reading_of(declared: Option<&Arc<Declaration>>) -> &DeclaredReading {
        declared.map_or(&NOTHING_DECLARED, |it| &it.reading)
    }

    /// Feeds a fingerprint with all but the words.
    pub fn feed(&self, hasher: &mut Hasher) {
        hasher.text("declared");
        hasher.text(&self.by);
        hasher.text(&self.files);
        self.feed_content(hasher);
    }

    /// Feeds a fingerprint with what a file's summary depends on.
    pub fn feed_content(&self, hasher: &mut Hasher) {
        feed_reading(&self.reading, hasher);
        for part in &self.parts {
            hasher.text("part");
            part.feed(hasher);
        }
    }

    /// Whether a summary depends on nothing of it.
    pub fn is_of_no_content(&self) -> bool {
        self.reading.is_empty() && self.parts.is_empty()
    }

    /// What a catalog keeps of it: all but the words, and but what it keeps once a table, as JSON
    /// text.
    ///
    /// # Errors
    /// None in practice; serialisation of plain data.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut kept = Declaration {
            text: None,
            ..self.clone()
        };
        let logged = kept.reading.logged.take();
        kept.reading.logged = logged.map(|it| Box::new(it.without_names()));
        serde_json::to_string(&kept)
    }

    /// Adds what a catalog keeps once a table, with its log; false where that is not there. By what
    /// [`Declaration::from_json`] gives no file is read before.
    pub fn complete(declared: &mut Arc<Declaration>, table: Option<&LoggedTable>) -> bool {
        let logged = declared.reading.logged.as_ref();
        if logged.is_none_or(|it| it.nested.is_none()) {
            return true;
        }
        let logged = Arc::make_mut(declared).reading.logged.as_mut();
        let nested = logged.and_then(|it| it.nested.as_mut());
        nested.is_none_or(|it| it.complete(table.and_then(|it| it.nested.as_ref())))
    }

    /// Reads what [`Declaration::to_json`] wrote.
    ///
    /// # Errors
    /// For text that no version of this crate wrote.
    pub fn from_json(text: &str) -> Result<Arc<Self>, serde_json::Error> {
        serde_json::from_str(text).map(Arc::new)
    }
}

/// Feeds a fingerprint with all that is said of how a file is read.
fn feed_reading(reading: &DeclaredReading, hasher: &mut Hasher) {
    hasher.bytes(&(reading.types.len() as u64).to_le_bytes());
    for (name, data_type) in &reading.types {
        hasher.text(name);
        hasher.text(data_type.label());
    }
    match reading.header {
        None => hasher.optional(None),
        Some(HeaderLine::None) => hasher.text("none"),
        Some(HeaderLine::At(line)) => hasher.bytes(&line.to_le_bytes()),
    }
    hasher.bytes(&[reading.delimiter.unwrap_or(0)]);
    let signs = reading.nulls.as_deref();
    hasher.bytes(&signs.map_or(u64::MAX, |it| it.len() as u64).to_le_bytes());
    signs.into_iter().flatten().for_each(|it| hasher.text(it));
    let Conventions {
        date_order,
        decimal,
    } = reading.conventions;
    hasher.optional(date_order.map(DateOrder::label));
    hasher.bytes(&[decimal.map_or(0, |it| it as u8)]);
    hasher.optional(reading.encoding.as_deref());
    if let Some(logged) = &reading.logged {
        logged.feed(&mut |text| hasher.text(text));
    }
}

/// Declarations that many files share, between processes.
pub mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Declaration;

    /// Writes it in full.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        declared: &Option<Arc<Declaration>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        declared.as_deref().serialize(serializer)
    }

    /// Reads what [`serialize`] wrote.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<Declaration>>, D::Error> {
        Ok(Option::<Declaration>::deserialize(deserializer)?.map(Arc::new))
    }
}
