//! What the log of a table says of its files: Delta Lake's transaction log, Apache Iceberg's
//! metadata and manifests, Apache Hudi's timeline ([decision
//! 42](../../../docs/decisions/042-tables-by-their-logs.md)).
//!
//! A file's own summary is of the file: its columns under the names and ids that they have there,
//! without the rows that the log has deleted. The log itself is one more file of the table, without
//! rows, whose summary has the table's columns. Which column of the table a file's column is, is
//! found when summaries are merged, so that a column renamed in the log has no file read again.

mod names;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

pub use self::names::{NestedName, NestedNames, SharedNames};
use crate::data_type::DataType;

/// What a log says of a file, or of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Logged {
    /// Values that all rows of the file have.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constant>,
    /// Rows of the file that are deleted.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<Deletes>,
    /// The table's columns, where the file is the log.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub table: Option<LoggedTable>,
    /// What fields within columns are called, where the file may have other names for them.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<SharedNames>,
}

/// The value of a column in all rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Constant {
    /// The column's id; none where columns are known by their names in files.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// Its name in files, where it has no id.
    #[serde(rename = "n", default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The value as text.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Rows that are deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Deletes {
    /// A deletion vector in the log: its bytes in base64.
    Inline(String),
    /// A deletion vector in an object: Delta's binary format, and Iceberg's `deletion-vector-v1`,
    /// which is the same.
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
    /// A file of rows, wherever rows are equal to which they are deleted (Iceberg's equality
    /// deletes).
    Equal {
        /// The file's path in the lake.
        path: String,
        /// Its bytes.
        size: u64,
        /// The ids of the columns that are compared.
        ids: Vec<i32>,
        /// The values, as text, that those of them have which a data file lacks; null where none is
        /// given.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<(i32, String)>,
    },
}

impl Deletes {
    /// The object that it is in.
    pub fn path(&self) -> Option<&str> {
        match self {
            Deletes::Inline(_) => None,
            Deletes::Vector { path, .. }
            | Deletes::Positions { path, .. }
            | Deletes::Equal { path, .. } => Some(path),
        }
    }
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
    /// What fields within columns are called, where files may have other names for them: a catalog
    /// has it here only.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<SharedNames>,
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
    /// Its names in files that give no ids; none where it is `name`.
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
        let logged = match self.nested {
            Some(_) => Cow::Owned(self.clone().without_names()),
            None => Cow::Borrowed(self),
        };
        // Of plain data nothing fails.
        feed(&serde_json::to_string(&logged).unwrap_or_default());
    }

    /// The same, of which the table has the names of fields within columns.
    #[must_use]
    pub fn without_names(mut self) -> Logged {
        if let Some(nested) = &mut self.nested {
            nested.names = None;
        }
        self
    }
}

/// The columns of a table by their ids and by their names in files.
pub struct LoggedColumns<'a> {
    table: &'a LoggedTable,
    by_id: HashMap<i32, usize>,
    by_name: HashMap<&'a str, usize>,
}

impl<'a> LoggedColumns<'a> {
    /// Those of a table.
    pub fn of(table: &'a LoggedTable) -> LoggedColumns<'a> {
        let (mut by_id, mut by_name) = (HashMap::new(), HashMap::new());
        for (at, column) in table.columns.iter().enumerate() {
            by_id.extend(column.id.map(|id| (id, at)));
            match column.stored_as.as_slice() {
                [] => drop(by_name.insert(column.name.as_str(), at)),
                names => by_name.extend(names.iter().map(|name| (name.as_str(), at))),
            }
        }
        LoggedColumns {
            table,
            by_id,
            by_name,
        }
    }

    /// The column that a file's column of this name and id is. Where both have ids, these decide.
    pub fn find(&self, name: &str, id: Option<i32>) -> Option<(usize, &'a LoggedColumn)> {
        let named = || self.by_name.get(name);
        let at = match id.filter(|_| !self.by_id.is_empty()) {
            Some(id) => self.by_id.get(&id).or_else(|| {
                // A column of the table without an id has none in files either.
                named().filter(|at| self.table.columns[**at].id.is_none())
            }),
            None => named(),
        };
        at.map(|at| (*at, &self.table.columns[*at]))
    }

    /// The columns of the table whose values are constants in a file that has those at the places
    /// `has`: by what the log says of the file, or since they came later.
    pub fn constants(
        &self,
        logged: &Logged,
        has: &HashSet<usize>,
    ) -> Vec<(String, Option<String>)> {
        let mut values: HashMap<usize, Option<String>> = HashMap::new();
        for constant in &logged.constants {
            let at = match constant.id {
                Some(id) => self.by_id.get(&id),
                None => self.by_name.get(constant.name.as_str()),
            };
            values.extend(at.map(|at| (*at, constant.value.clone())));
        }
        let columns = self.table.columns.iter().enumerate();
        let lacking = columns.filter(|(at, _)| !has.contains(at));
        let known = lacking.filter_map(|(at, column)| {
            let value = match values.remove(&at) {
                Some(value) => value,
                None => Some(column.missing.clone()?),
            };
            Some((column.name.clone(), value))
        });
        known.collect()
    }
}
