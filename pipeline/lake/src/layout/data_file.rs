//! The files of a group: an object with rows, and what it is called alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::beside::is_uncertain;
use crate::compression::Compression;
use crate::member::MemberPlace;
use crate::object::{Fingerprint, Format, Hasher, ObjectRecord, TableName};
use crate::place;
use crate::reading::{Declaration, DeclaredReading, shared};

/// An object that holds rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataFile {
    /// The object.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// The table's name if the file is a table of its own (the path, in a
    /// [`GroupKind::Directory`], where it never is).
    pub table_name: TableName,
    /// Whether it lies beside a table and may be about it. JSON of a table's name is a table itself only if it holds rows; plain
    /// text among the files of one table never is.
    pub is_beside: bool,
    /// What people say of it.
    #[serde(with = "shared")]
    pub declared: Option<Arc<Declaration>>,
}

impl DataFile {
    /// Whether its place says that it is no table, whatever it holds.
    pub fn is_stray(&self) -> bool {
        self.is_beside && self.format == Format::Text
    }

    /// Path relative to its table, as far as its own path tells; `""` for a lone file. Rows are
    /// drawn by it, so it changes with nothing else.
    pub fn sample_path(&self) -> &str {
        place::sample_path(&self.object.path)
    }

    /// About how many bytes of it are in memory while it is read within a scan budget.
    pub fn held(&self, scan_budget: u64) -> u64 {
        let most = scan_budget.saturating_mul(2);
        if let Some(place) = MemberPlace::of(&self.object) {
            let size = self.object.size;
            return match place {
                // The container, and what is made of it.
                MemberPlace::Table(_) | MemberPlace::Sheet(_) => {
                    size.saturating_mul(2).saturating_add(most)
                }
                // And what it is unpacked from.
                MemberPlace::Within(..) => size.saturating_mul(4).saturating_add(most),
                MemberPlace::Refused(_) | MemberPlace::LeftOut(..) => 0,
                place if place.is_plain() => size.min(most),
                // Unpacked, and once more as a reader holds it.
                _ => most.saturating_mul(3),
            };
        }
        let held = match Compression::of_path(&self.object.path) {
            // The text may be many times as long.
            Some(_) => most,
            None => self.object.size.min(most),
        };
        // It may be written anew.
        match is_uncertain(self.format) {
            true => held.saturating_mul(2),
            false => held,
        }
    }

    /// What a file's summary depends on besides the reading options: the version, the
    /// `sample_path` (which follows from the path), whether it has to be more than a description, and how people say that
    /// it is read.
    pub fn content_fingerprint(&self) -> Fingerprint {
        content_fingerprint(&self.object, self.is_beside, self.reading())
    }

    /// How people say that it is read.
    pub(crate) fn reading(&self) -> &DeclaredReading {
        Declaration::reading_of(self.declared.as_ref())
    }
}

/// What [`DataFile::content_fingerprint`] is of an object that lies beside a table of its name, or does not, and of which
/// this is declared.
pub fn content_fingerprint(
    object: &ObjectRecord,
    is_beside: bool,
    declared: &DeclaredReading,
) -> Fingerprint {
    if !is_beside && declared.is_empty() {
        return object.fingerprint();
    }
    let mut hasher = Hasher::new(match is_beside {
        true => "object beside a table",
        false => "object as declared",
    });
    object.feed(&mut hasher);
    if !declared.is_empty() {
        declared.feed(&mut hasher);
    }
    hasher.finish()
}
