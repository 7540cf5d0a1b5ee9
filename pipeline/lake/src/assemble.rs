//! From a group and its files' summaries to tables.
//!
//! The result is a function of the *set* of (file, summary) pairs, so it is the same whichever file
//! was read first, and a file that did not change need not be read again.

use serde::{Deserialize, Serialize};

use crate::error::FileError;
use crate::layout::{ContextSource, Group, GroupKind};
use crate::merge::FilePart;
use crate::object::{Format, TableName};
use crate::summary::{ColumnSummary, FileSummary, TableSummary};

/// A table, as far as its files could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssembledTable {
    /// Its name, unique in the lake.
    pub name: TableName,
    /// Path of its file or directory below the lake's root (`""` for the root itself).
    pub location: String,
    /// The format of its files (of the first by path, should they differ).
    pub format: Format,
    /// What it holds; `None` if no file could be read.
    pub summary: Option<TableSummary>,
    /// Indices into the group's files: those that `summary` is made of.
    pub files: Vec<usize>,
    /// Files that could not be read, and why.
    pub failed: Vec<(usize, FileError)>,
}

impl AssembledTable {
    /// The columns; none if no file could be read.
    pub fn columns(&self) -> &[ColumnSummary] {
        self.summary
            .as_ref()
            .map_or(&[], |summary| summary.columns.as_slice())
    }
}

impl Group {
    /// Contexts of the group that belong to none of its tables: those that name the directory of a
    /// family that is a table a file.
    pub fn unclaimed_contexts(
        &self,
        tables: &[AssembledTable],
    ) -> impl Iterator<Item = &ContextSource> {
        self.contexts.iter().filter(move |context| {
            !tables
                .iter()
                .any(|table| table.name == self.name || table.name == context.table)
        })
    }
}

/// Whether two files of a family can not be parts of one table: their lists of column names differ.
/// One such pair decides that the family is a table a file ([`Group::split`]).
pub fn are_unlike(a: &FileSummary, b: &FileSummary) -> bool {
    !a.column_names().eq(b.column_names())
}

/// Makes a group's tables. `summaries` has one entry per file of the group, in the same order; a
/// missing entry counts as a file that was not asked for and appears nowhere.
///
/// A table of several files is made of those that could be read and lists the others as failed. A
/// family of which no file could be read is one table (nothing says that it is not).
pub fn assemble(
    group: &Group,
    summaries: &[Result<FileSummary, FileError>],
) -> Vec<AssembledTable> {
    let mut read: Vec<(usize, &FileSummary)> = Vec::new();
    let mut failed = Vec::new();
    for (f, result) in summaries.iter().enumerate().take(group.files.len()) {
        match result {
            Ok(summary) => read.push((f, summary)),
            Err(error) => failed.push((f, error.clone())),
        }
    }
    let one_table = group.kind != GroupKind::Family
        || read.split_first().is_none_or(|((_, first), others)| {
            others.iter().all(|(_, other)| !are_unlike(first, other))
        });
    if one_table {
        return whole(group, read, failed).into_iter().collect();
    }
    let mut tables: Vec<(usize, AssembledTable)> = Vec::with_capacity(read.len() + failed.len());
    tables.extend(
        read.into_iter()
            .map(|(f, summary)| (f, alone(group, f, Ok(summary)))),
    );
    tables.extend(
        failed
            .into_iter()
            .map(|(f, error)| (f, alone(group, f, Err(error)))),
    );
    tables.sort_by(|(a, _), (b, _)| {
        group.files[*a]
            .object
            .path
            .cmp(&group.files[*b].object.path)
    });
    tables.into_iter().map(|(_, table)| table).collect()
}

fn whole(
    group: &Group,
    mut read: Vec<(usize, &FileSummary)>,
    mut failed: Vec<(usize, FileError)>,
) -> Option<AssembledTable> {
    // Path order, whatever order the files are listed in.
    let path = |f: usize| group.files[f].object.path.as_str();
    read.sort_by(|(a, _), (b, _)| path(*a).cmp(path(*b)));
    failed.sort_by(|(a, _), (b, _)| path(*a).cmp(path(*b)));
    let first = read
        .iter()
        .map(|(f, _)| *f)
        .chain(failed.iter().map(|(f, _)| *f))
        .min_by_key(|f| path(*f))?;
    let parts: Vec<FilePart<'_>> = read
        .iter()
        .map(|(f, summary)| part(group, *f, summary))
        .collect();
    Some(AssembledTable {
        name: group.name.clone(),
        location: group.path.clone(),
        format: group.files[first].format,
        summary: (!parts.is_empty()).then(|| TableSummary::merge(&parts)),
        files: read.iter().map(|(f, _)| *f).collect(),
        failed,
    })
}

fn alone(group: &Group, f: usize, result: Result<&FileSummary, FileError>) -> AssembledTable {
    let file = &group.files[f];
    let (summary, files, failed) = match result {
        Ok(summary) => (
            Some(TableSummary::merge(&[part(group, f, summary)])),
            vec![f],
            Vec::new(),
        ),
        Err(error) => (None, Vec::new(), vec![(f, error)]),
    };
    AssembledTable {
        name: file.table_name.clone(),
        location: file.object.path.clone(),
        format: file.format,
        summary,
        files,
        failed,
    }
}

fn part<'a>(group: &'a Group, f: usize, summary: &'a FileSummary) -> FilePart<'a> {
    let file = &group.files[f];
    FilePart {
        path: &file.object.path,
        summary,
        partition: &file.partition,
    }
}

#[cfg(test)]
mod tests;
