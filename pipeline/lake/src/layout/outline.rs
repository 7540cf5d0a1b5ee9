//! What is known of a group before its files are made.

use super::GroupKind;
use crate::table_name::TableName;

/// A group without its files.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// What the files make.
    pub kind: GroupKind,
    /// As [`Group::path`](super::Group::path).
    pub path: &'a str,
    /// The table's name if the files are one table.
    pub name: &'a TableName,
    /// How many files it has.
    pub files: usize,
    /// How many of them are logs of tables.
    pub logs: usize,
    /// The bytes of all files.
    pub bytes: u64,
}
