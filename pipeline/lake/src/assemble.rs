//! From a group and its files' summaries to tables.
//!
//! The result is a function of the *set* of (path, summary) pairs, so it is the same whichever file
//! was read first, and a file that did not change need not be read again.

use crate::layout::{Group, GroupKind};
use crate::merge::FilePart;
use crate::object::Format;
use crate::place;
use crate::sheets::SheetColumn;
use crate::summary::{FileSummary, TableSummary};

/// Whether two files of a family can not be parts of one table: their lists of column names differ; of JSON, those of
/// the rows' keys, since what is in objects and lists differs from row to row.
/// One such pair decides that the family is a table a file ([`Group::split`]).
pub fn are_unlike(family: &Group, a: &FileSummary, b: &FileSummary) -> bool {
    let format = family.files.first().map(|file| file.format);
    match format {
        Some(Format::JsonLines) => !row_keys(a).eq(row_keys(b)),
        _ => !a.column_names().eq(b.column_names()),
    }
}

/// The keys of rows of JSON, by the paths of columns (`address.city`, `tags[]`), which stand together.
fn row_keys(summary: &FileSummary) -> impl Iterator<Item = &str> {
    let key = |path: &'_ str| path.find(['.', '[']).unwrap_or(path.len());
    let keys = summary.column_names().map(move |path| &path[..key(path)]);
    let mut last = None;
    keys.filter(move |key| last.replace(*key) != Some(*key))
}

/// Whether a group's files are one table, as far as these summaries of them tell. A family of which
/// no file could be read is one table: nothing says that it is not.
pub fn are_one_table<'a>(
    group: &Group,
    summaries: impl IntoIterator<Item = &'a FileSummary>,
) -> bool {
    let mut summaries = summaries.into_iter();
    group.kind != GroupKind::Family
        || summaries
            .next()
            .is_none_or(|first| summaries.all(|other| !are_unlike(group, first, other)))
}

/// The summary of the table that these files (path, summary) make, as far as those at `paths` could be read; `None`
/// without files. Partition keys in the paths are columns, and what tells the sheets of one table apart.
pub fn merge_files(files: &[(&str, &FileSummary)], paths: &[&str]) -> Option<TableSummary> {
    let mut files = files.to_vec();
    // Path order, whatever order the files are listed in.
    files.sort_by_key(|(path, _)| *path);
    let partitions = partitions(files.iter().map(|(path, _)| *path), paths);
    let parts: Vec<FilePart<'_>> = files
        .iter()
        .zip(&partitions)
        .map(|((path, summary), partition)| FilePart {
            path,
            summary,
            partition,
        })
        .collect();
    (!parts.is_empty()).then(|| TableSummary::merge(&parts))
}

/// What the places of files in a table of those at `paths` say of their rows: columns and values.
fn partitions<'a>(
    files: impl Iterator<Item = &'a str>,
    paths: &[&str],
) -> Vec<Vec<(String, Option<String>)>> {
    let sheets = SheetColumn::of(paths);
    let of_file = |path| {
        let mut keys = place::partition(path);
        if let Some(column) = &sheets {
            keys.push((column.name.to_owned(), Some(column.value(path))));
        }
        keys
    };
    files.map(of_file).collect()
}

#[cfg(test)]
mod tests;
