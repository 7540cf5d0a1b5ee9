//! A file as its reader knows it.

use std::sync::Arc;

use crate::compression::Compression;
use crate::declaration::Declaration;
use crate::format::Format;
use crate::member::{self, MemberPlace};
use crate::object::ObjectRecord;

/// An object that holds rows, to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The object.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// Its path relative to its table; `""` for a table of one file. Rows are drawn by it.
    pub sample_path: String,
    /// Whether it lies beside a table and may be about it. JSON and plain text of a table's name
    /// are tables themselves only if they hold rows; plain text of an archive among the files of
    /// one table never is.
    pub is_beside: bool,
    /// Whether it is JSON that lies in no table's folder and has none like it by name: one object
    /// alone is no row then.
    pub is_alone: bool,
    /// What is declared of it.
    pub declared: Option<Arc<Declaration>>,
}

impl DataFile {
    /// A file that is read by itself, whatever table it is of.
    pub(crate) fn plain(object: ObjectRecord, format: Format) -> DataFile {
        DataFile {
            object,
            format,
            sample_path: String::new(),
            is_beside: false,
            is_alone: false,
            declared: None,
        }
    }

    /// Whether its place says that it is no table, whatever it holds.
    pub fn is_stray(&self) -> bool {
        let is_in_archive = member::split(&self.object.path).is_some();
        self.is_beside && is_in_archive && self.format == Format::Text
    }

    /// About how many bytes of it are in memory while it is read within a scan budget.
    pub fn held(&self, scan_budget: u64) -> u64 {
        let most = scan_budget.saturating_mul(2);
        if let Some(member) = self.object.member() {
            let size = self.object.size;
            return match &member.place {
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
        let parts = self.declared.iter().flat_map(|it| &it.parts);
        let parts: u64 = parts.map(|part| part.size).fold(0, u64::saturating_add);
        let held = held.saturating_add(parts.min(most.saturating_mul(2)));
        // It may be written anew.
        match self.format.is_uncertain() {
            true => held.saturating_mul(2),
            false => held,
        }
    }
}
