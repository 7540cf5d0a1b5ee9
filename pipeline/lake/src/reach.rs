//! How far a change of one object reaches: the folder whose groups it can change.
//!
//! Which objects make which tables depends on their paths alone ([`crate::layout`]), and an object
//! decides about its own table, its own directory (of folders of dates the one above them), and
//! files that would share a name with those; texts that programs write about tables, about the
//! folder beside (`SharedKind`). So a part of a lake can be laid out without the rest.

use limn_formats::Format;
use limn_formats::member::outside;

use crate::dates;
use crate::layout::{described_below, describes_beside};
use crate::place::{split_path, table_directory, without_extension};
use crate::sources::log_of;

/// The folder (`""` for the root) that an object's change is confined to, unless a file beside the
/// folder [`shares its name`](shares_name): then it is the folder's parent. It is above all dates
/// of the path.
pub fn reach(path: &str) -> &str {
    let table = log_of(path).or_else(|| table_directory(path));
    let described = || described_below(path).filter(|_| describes_beside(path));
    // The table's files, or one called like it, may be like those of other dates.
    table
        .or_else(described)
        .map_or_else(|| dates::home(path), dates::above)
}

/// The folder of the table that an object belongs to, as its path says; else its own.
pub fn table_folder(path: &str) -> &str {
    let table = log_of(path).or_else(|| table_directory(path));
    table.unwrap_or_else(|| parent(path))
}

/// The folder that the files of a table of this name lie below.
pub fn reach_of_table(name: &str) -> &str {
    // A name that another table would have had begins with a point.
    dates::home(outside(name.trim_start_matches("./")))
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
