//! The contexts of a group: texts about its tables, and where they are.

use limn_formats::{Fingerprint, Hasher, ObjectRecord};
use serde::{Deserialize, Serialize};

use crate::contexts::{About, SharedKind};
use crate::table_name::TableName;

/// Text about a table, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContextSource {
    /// The table that it is about.
    pub table: TableName,
    /// Where the text is.
    pub source: ContextText,
}

/// Where a context's text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextText {
    /// Registered by a person (a contexts file, `limn context add`).
    Registered {
        /// The name that it was registered for: the table's, or one that means it now.
        name: TableName,
        /// The text.
        text: String,
    },
    /// Said by an entry of a `.limn.yaml` ([`crate::Declared`]).
    Declared {
        /// The path of the `.limn.yaml`.
        by: String,
        /// The text.
        text: String,
    },
    /// In an object beside the data; see [`crate::contexts::read_sidecar`].
    Sidecar {
        /// The object.
        object: ObjectRecord,
    },
    /// In an object that is about several tables; see [`crate::contexts::read_shared`].
    Shared {
        /// The object.
        object: ObjectRecord,
        /// What it is.
        kind: SharedKind,
        /// By what it may speak of the table.
        about: About,
        /// What a reader of an index knows it by there, if another version said the same of the
        /// table. Not part of its identity.
        known: Option<Fingerprint>,
    },
}

impl ContextText {
    /// The object that has the text.
    pub fn object(&self) -> Option<&ObjectRecord> {
        match self {
            ContextText::Registered { .. } | ContextText::Declared { .. } => None,
            ContextText::Sidecar { object } | ContextText::Shared { object, .. } => Some(object),
        }
    }
}

impl ContextSource {
    /// Whether it is about several tables.
    pub fn is_shared(&self) -> bool {
        matches!(self.source, ContextText::Shared { .. })
    }

    /// Identity of the text (or its object's version), the table it is for and the name that it was
    /// registered for.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("context");
        hasher.text(self.table.as_str());
        match &self.source {
            ContextText::Registered { name, text } => {
                hasher.text(text);
                if *name != self.table {
                    hasher.text(name.as_str());
                }
            }
            ContextText::Declared { by, text } => {
                hasher.text("declared");
                hasher.text(by);
                hasher.text(text);
            }
            ContextText::Sidecar { object } => {
                hasher.optional(None);
                object.feed(&mut hasher);
            }
            ContextText::Shared {
                object,
                kind,
                about,
                known: _,
            } => {
                hasher.optional(None);
                hasher.bytes(&[*kind as u8, u8::from(about.whole)]);
                object.feed(&mut hasher);
                for paths in [&about.paths, &about.folders, &about.others] {
                    hasher.bytes(&(paths.len() as u64).to_le_bytes());
                    paths.iter().for_each(|path| hasher.text(path));
                }
            }
        }
        hasher.finish()
    }
}
