//! How a file is to be read: what people declare of it, and what its first reading decided, kept so
//! that later ones decide nothing anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data_type::DataType;
use crate::logged::Logged;
use crate::notation::Conventions;
use crate::sample::SampledRow;

/// How a note begins that says that columns are named by their place.
pub const NO_HEADER: &str = "no header found";

/// Which line of a text is its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderLine {
    /// None is: all lines are rows.
    None,
    /// This one, counted from 1 on; of a sheet this row.
    At(u32),
}

/// How a file is declared to be read (in a `.limn.yaml`). What is not declared is found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeclaredReading {
    /// Types of columns, by name.
    pub types: BTreeMap<String, DataType>,
    /// Where the header of a text or sheet is.
    pub header: Option<HeaderLine>,
    /// What cuts the rows of a text into cells: one byte of ASCII.
    pub delimiter: Option<u8>,
    /// Cells that stand for no value, beside empty ones, in the place of limn's own; of texts,
    /// sheets and JSON.
    pub nulls: Option<Vec<String>>,
    /// How the numbers and dates of a text or sheet are written.
    pub conventions: Conventions,
    /// The encoding of a text, by its name in the Encoding Standard.
    pub encoding: Option<String>,
    /// What the log of its table says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<Box<Logged>>,
}

/// Of a file of which nobody says anything.
pub static NOTHING_DECLARED: DeclaredReading = DeclaredReading {
    types: BTreeMap::new(),
    header: None,
    delimiter: None,
    nulls: None,
    conventions: Conventions {
        date_order: None,
        decimal: None,
    },
    encoding: None,
    logged: None,
};

impl DeclaredReading {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == NOTHING_DECLARED
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
    /// Where the table ends and a footer begins, in bytes from `start` on; none where nothing
    /// follows it.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// The text's encoding by its name in the Encoding Standard; none for UTF-8.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Whether its lines are cut by blanks, widths or bars, and written anew with tabs.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub is_rewritten: bool,
    /// The first row, where it may be a header as well as one of data: the table decides (decision
    /// 38). It is in none of the file's profiles and counts, and not in its sample.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstRow>,
}

/// A row that may be a header as well as one of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstRow {
    /// Its cells by column, and its place in a sample; `None` is null, an empty text a value that
    /// is withheld.
    #[serde(rename = "r")]
    pub row: SampledRow,
    /// Whether it is one of data, as far as the file by itself shows.
    #[serde(rename = "d", default, skip_serializing_if = "is_default")]
    pub is_data: bool,
}

fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}
