//! What the log of a table says of its files: Delta Lake's transaction log, Apache Iceberg's metadata and manifests, Apache
//! Hudi's timeline ([decision 42](../../../docs/decisions/042-tables-by-their-logs.md)).
//!
//! A file's own summary is of the file: its columns under the names and ids that they have there, without the rows that the log
//! has deleted. The log itself is one more file of the table, without rows, whose summary has the table's columns. Which column of
//! the table a file's column is, is found when summaries are merged, so that a column renamed in the log has no file read again.

use serde::{Deserialize, Serialize};

use crate::data_type::DataType;

/// What a log says of a file, or of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Logged {
    /// Values that all rows of the file have: of columns by their names in files.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<(String, Option<String>)>,
    /// Rows of the file that are deleted.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<Deletes>,
    /// The table's columns, where the file is the log.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub table: Option<LoggedTable>,
}

/// Rows that are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Deletes {
    /// A deletion vector in the log: its bytes in base64.
    Inline(String),
    /// A deletion vector in an object: Delta's binary format, and Iceberg's `deletion-vector-v1`, which is the same.
    Vector {
        /// The object's path in the lake.
        path: String,
        /// Where the vector begins: with its length.
        offset: u64,
        /// Bytes from its magic number on, without length and checksum.
        size: u64,
    },
    /// A file of paths and row numbers (Iceberg's position deletes).
    Positions {
        /// The file's path in the lake.
        path: String,
        /// Its bytes.
        size: u64,
        /// What it calls the data file.
        of: String,
    },
    /// A file of rows, wherever rows are equal to which they are deleted (Iceberg's equality deletes).
    Equal {
        /// The file's path in the lake.
        path: String,
        /// Its bytes.
        size: u64,
        /// The ids of the columns that are compared.
        ids: Vec<i32>,
    },
}

/// A table as its log has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoggedTable {
    /// Its columns in order.
    #[serde(rename = "c")]
    pub columns: Vec<LoggedColumn>,
    /// What it says of the table.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The columns of its key.
    #[serde(rename = "k", default, skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
    /// What a person should know, a line each.
    #[serde(rename = "m", default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A column as a log has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoggedColumn {
    /// Its name in the table.
    #[serde(rename = "n")]
    pub name: String,
    /// Its id, which files give their columns, too.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// Its names in files without ids; none where it is `name`.
    #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
    pub stored_as: Vec<String>,
    /// Its type.
    #[serde(rename = "t")]
    pub data_type: DataType,
    /// Its type as Arrow writes it, where that does not follow from `data_type`.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub arrow_type: Option<String>,
    /// What the log says of it.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value of rows in files that lack the column.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Logged {
    /// Feeds a hash with all of it, text by text.
    pub fn feed(&self, feed: &mut dyn FnMut(&str)) {
        feed("logged");
        // Of plain data nothing fails.
        feed(&serde_json::to_string(self).unwrap_or_default());
    }
}

impl LoggedColumn {
    /// Whether a column of a file is this one. Files have ids, or none has.
    pub fn is(&self, name: &str, id: Option<i32>) -> bool {
        match (self.id, id) {
            (Some(own), Some(id)) => own == id,
            _ if self.stored_as.is_empty() => self.name == name,
            _ => self.stored_as.iter().any(|stored| stored == name),
        }
    }
}

impl LoggedTable {
    /// The constants of a file as columns of the table, and the values of columns that it lacks: `has` says which it has.
    pub fn constants(
        &self,
        logged: &Logged,
        has: impl Fn(&LoggedColumn) -> bool,
    ) -> Vec<(String, Option<String>)> {
        let value = |column: &LoggedColumn| {
            let mut constants = logged.constants.iter();
            let constant =
                constants.find(|(name, _)| column.is(name, None) || column.name == *name);
            match constant {
                Some((_, value)) => Some(value.clone()),
                None => column.missing.clone().map(Some),
            }
        };
        let lacking = self.columns.iter().filter(|column| !has(column));
        let known = lacking.filter_map(|column| Some((column.name.clone(), value(column)?)));
        known.collect()
    }
}
