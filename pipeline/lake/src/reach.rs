//! How far a change of one object reaches: the folder whose groups it can change.
//!
//! Which objects make which tables depends on their paths alone ([`crate::layout`]), and an object
//! decides about its own table, its own directory, and files that would share a name with those; texts that programs write about
//! tables, about the folder beside (`SharedKind`). So a part of a lake can be laid out without the rest.

use limn_formats::Format;

use crate::layout::{described_below, describes_beside};
use crate::place::{split_path, table_directory, without_extension};
use crate::sources::log_of;

/// The folder (`""` for the root) that an object's change is confined to, unless a file beside the
/// folder [`shares its name`](shares_name): then it is the folder's parent.
pub fn reach(path: &str) -> &str {
    let table = log_of(path).or_else(|| table_directory(path));
    let described = || described_below(path).filter(|_| describes_beside(path));
    table.or_else(described).unwrap_or_else(|| parent(path))
}

/// The folder that an object or folder lies in; `""` for the root.
pub fn parent(path: &str) -> &str {
    split_path(path).0
}

/// Whether a table of this object would be called like one of all files of `folder`.
pub fn shares_name(path: &str, folder: &str) -> bool {
    Format::of_path(path).is_some() && without_extension(path) == folder
}

/// Whether a path is a folder or lies below it.
pub fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
