//! The keys that files declare of their tables.

use serde::{Deserialize, Serialize};

/// The keys that a file declares of its table; names of columns as the summary has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredKeys {
    /// The columns of the primary key.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub primary: Vec<String>,
    /// The columns of each other unique key.
    #[serde(rename = "u", default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Vec<String>>,
    /// Foreign keys.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
}

/// A foreign key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The columns here.
    #[serde(rename = "c")]
    pub columns: Vec<String>,
    /// The other table, as the same database calls it (`limn_formats::member::beside`).
    #[serde(rename = "t")]
    pub table: String,
    /// Its columns, in the same order; empty where they are its primary key.
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
}

impl DeclaredKeys {
    /// Whether none is declared.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of a table of these files.
    pub(crate) fn merge<'a>(files: impl IntoIterator<Item = &'a DeclaredKeys>) -> DeclaredKeys {
        let mut files = files.into_iter();
        let mut merged = files.next().cloned().unwrap_or_default();
        for keys in files {
            merged.primary.clear();
            merged.unique.clear();
            merged
                .references
                .retain(|reference| keys.references.contains(reference));
        }
        merged
    }
}
