//! Which objects hold something for an index, as their paths say, and a count of the others.

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::parts::is_read_with_another;
use limn_formats::{Container, Format, member};
use serde::{Deserialize, Serialize};

use super::sidecar_stem;
use crate::contexts::SharedKind;
use crate::hidden::is_hidden;
use crate::place;
use crate::sources::is_of_log;

/// What comes after a dot is an extension up to this length.
const LONGEST_EXTENSION: usize = 12;
/// Different extensions of which objects are counted apart.
const MOST_EXTENSIONS: usize = 500;
/// Objects of an extension that are named.
const MOST_NAMED: usize = 5;

/// Objects of a lake that hold nothing for an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// Hidden or being written, as their paths say.
    pub hidden: usize,
    /// Others, by their extensions in lower case; `""` for those without one. Of a great many
    /// different ones, the later ones count as having none.
    pub others: BTreeMap<String, Others>,
    /// DuckDB databases among them.
    pub duckdb: Others,
}

/// Objects of one extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// How many they are.
    pub objects: usize,
    /// The first of them by path, five at most.
    pub first: BTreeSet<String>,
}

impl Others {
    fn name(&mut self, path: &str) {
        let is_full = self.first.len() >= MOST_NAMED;
        if is_full && self.first.last().is_some_and(|last| path >= last.as_str()) {
            return;
        }
        self.first.insert(path.to_owned());
        if self.first.len() > MOST_NAMED {
            self.first.pop_last();
        }
    }
}

impl Ignored {
    /// How many they are.
    pub fn count(&self) -> usize {
        self.hidden + self.others.values().map(|it| it.objects).sum::<usize>()
    }

    /// Counts others besides.
    pub fn add(&mut self, more: &Ignored) {
        self.hidden += more.hidden;
        for (extension, more) in &more.others {
            let others = self.others.entry(extension.clone()).or_default();
            others.objects += more.objects;
            more.first.iter().for_each(|path| others.name(path));
        }
        self.duckdb.objects += more.duckdb.objects;
        let first = more.duckdb.first.iter();
        first.for_each(|path| self.duckdb.name(path));
    }

    /// Takes an object, which was counted, for a DuckDB database.
    pub fn add_duckdb(&mut self, path: &str) {
        self.duckdb.objects += 1;
        self.duckdb.name(member::shown(path));
    }

    /// Counts an object that is no data; of an archive that holds none, the archive.
    pub fn add_other(&mut self, path: &str) {
        let path = member::shown(path);
        let (_, name) = place::split_path(path);
        let stem = place::without_extension(name);
        let extension = name.get(stem.len() + 1..).unwrap_or_default();
        let is_one = extension.len() <= LONGEST_EXTENSION
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && !extension.bytes().all(|b| b.is_ascii_digit());
        let extension = if is_one {
            extension.to_ascii_lowercase()
        } else {
            String::new()
        };
        if matches!(extension.as_str(), "duckdb" | "ddb") {
            self.add_duckdb(path);
        }
        let is_known = self.others.len() < MOST_EXTENSIONS || self.others.contains_key(&extension);
        let counted = if is_known { extension } else { String::new() };
        let others = self.others.entry(counted).or_default();
        others.objects += 1;
        others.name(path);
    }
}

/// Texts that come with any folder.
const COMMON: [&str; 6] = [
    "readme",
    "license",
    "licence",
    "changelog",
    "notice",
    "contributing",
];

/// Whether a file of this path without extension comes with any folder.
pub(super) fn has_common_name(stem: &str) -> bool {
    let (_, name) = place::split_path(stem);
    COMMON
        .iter()
        .any(|common| name.eq_ignore_ascii_case(common))
}

/// Whether a file of this format is a plain text that comes with any folder.
pub(super) fn is_common(path: &str, format: Format) -> bool {
    format == Format::Text && has_common_name(place::stem(path, format))
}

/// Whether an object is called like one that holds rows.
fn is_named_so(path: &str) -> bool {
    Format::of_path(path).is_some_and(|format| !is_common(path, format))
}

/// Whether an object holds rows, as its path says; of plain text it may.
pub fn is_data(path: &str) -> bool {
    is_named_so(path)
        && SharedKind::of_path(path).is_none_or(SharedKind::may_hold_rows)
        && !is_hidden(path)
        && !member::is_remark(path)
}

/// Whether an object holds rows, files that do, a text about them, or what is read with them, as
/// its path says: of others nothing but the path is looked at.
pub fn is_read(path: &str) -> bool {
    let is_text = || sidecar_stem(path).is_some() || SharedKind::of_path(path).is_some();
    let is_named = is_named_so(path) || is_text() || is_read_with_another(path);
    is_named && !is_hidden(path) || is_container(path) || is_of_log(path)
}

/// Whether an object holds files that may hold rows, as its path says: an archive.
pub fn is_container(path: &str) -> bool {
    Container::of_path(path).is_some() && !is_hidden(path)
}

/// The folder whose tables, with those of all folders below, an object may be about, as its path
/// says.
pub fn described_below(path: &str) -> Option<&str> {
    let kind = SharedKind::of_path(path).filter(|_| !is_hidden(path));
    kind.and_then(|kind| kind.reach(path))
}

/// Whether an object is a dictionary of columns, as its path says: it is about the tables of its
/// folder, and those that are folders in it.
pub fn is_dictionary(path: &str) -> bool {
    SharedKind::of_path(path) == Some(SharedKind::Dictionary) && !is_hidden(path)
}

/// Whether an object may be about tables of other folders than its own and those below, as its path
/// says.
pub fn describes_beside(path: &str) -> bool {
    described_below(path).is_some_and(|folder| folder != place::split_path(path).0)
}
