//! A table as the catalog has it, and what its files' names and columns show.

use std::collections::BTreeSet;

use limn_profile::FileSummary;
use limn_profile::names::spelt;

use crate::dates;
use crate::layout::{GroupKey, GroupKind, TableFile};
use crate::place::{self, MASK};

/// Ways of reading that are listed, and like files that are not of the table.
pub(super) const MOST: usize = 20;

/// A table as the catalog has it.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its name.
    pub name: &'a str,
    /// The key of its group, in hexadecimal digits.
    pub group: &'a str,
    /// Its files that could be read, by path.
    pub files: &'a [(TableFile, FileSummary)],
}

/// A column as the catalog has it.
#[derive(Clone, Copy, Debug)]
pub struct KnownColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub data_type: &'a str,
    /// Which files have it, where not all do.
    pub in_files: Option<&'a str>,
}

/// What made the files a group: the kind of which its key is.
pub(super) fn kind_of(table: Known<'_>) -> GroupKind {
    let first = table
        .files
        .first()
        .map_or("", |(file, _)| &file.object.path);
    let named = named_path(table);
    let is = |kind, path: &str| format!("{:032x}", GroupKey::new(kind, path).0) == table.group;
    if table.files.iter().any(|(file, _)| file.format.is_log()) {
        GroupKind::Logged
    } else if is(GroupKind::File, first) {
        GroupKind::File
    } else if place::table_directory(first).is_some_and(|it| is(GroupKind::Directory, it)) {
        GroupKind::Directory
    } else if is(GroupKind::Declared, named) {
        GroupKind::Declared
    } else {
        GroupKind::Family
    }
}

/// The path that a table has its name of.
pub(super) fn named_path<'a>(table: Known<'a>) -> &'a str {
    table.name.strip_prefix("./").unwrap_or(table.name)
}

/// The folder, or the one above all dates, and the mask of a file's name or its path from there on,
/// if anything varies in it.
pub(super) fn mask_of(path: &str) -> Option<(&str, String)> {
    if let Some(dated) = dates::dated(path) {
        return Some((dated.home, dated.mask()));
    }
    let (folder, name) = place::split_path(path);
    let mask = place::mask(place::without_extension(name));
    mask.contains(MASK).then_some((folder, mask))
}

/// The different sets of names that files' columns have, however they are spelt.
pub(super) fn shapes(table: Known<'_>) -> BTreeSet<Vec<String>> {
    let named = table.files.iter().filter(|(_, it)| !it.is_nameless());
    let shapes = named.map(|(_, summary)| names_of(summary));
    shapes.filter(|names| !names.is_empty()).collect()
}

pub(super) fn names_of(summary: &FileSummary) -> Vec<String> {
    let mut names: Vec<String> = summary.column_names().map(spelt).collect();
    names.sort_unstable();
    names
}
