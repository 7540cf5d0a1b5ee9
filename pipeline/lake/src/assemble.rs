//! From a table's files' summaries to the table's.
//!
//! The result is a function of the *set* of (path, summary) pairs, so it is the same whichever file
//! was read first, and a file that did not change need not be read again.

use std::collections::HashMap;

use limn_profile::{FilePart, FileSummary, LoggedColumns, TableSummary};

use crate::dates::{self, DATE_COLUMN};
use crate::place;
use crate::settled::{constants, settle, table};
use crate::sheets::SheetColumn;

/// The summary of the table that these files (path, summary) make, as far as those at `paths` could
/// be read; `None` without files. What a file leaves open of how it is read, all files together
/// decide (decision 38). Partition keys in the paths are columns, and what distinguishes the sheets
/// of one table.
pub fn merge_files(files: &[(&str, &FileSummary)], paths: &[&str]) -> Option<TableSummary> {
    let mut files = files.to_vec();
    // Path order, whatever order the files are listed in.
    files.sort_by_key(|(path, _)| *path);
    let partitions = partitions(&files, paths);
    let parts: Vec<FilePart<'_>> = files
        .iter()
        .zip(&partitions)
        .map(|((path, summary), partition)| FilePart {
            path,
            summary,
            partition,
        })
        .collect();
    let settled = settle(&parts);
    let parts = parts.iter().zip(&settled);
    let parts = parts.map(|(file, summary)| FilePart { summary, ..*file });
    let parts: Vec<FilePart<'_>> = parts.collect();
    (!parts.is_empty()).then(|| TableSummary::merge(&parts))
}

/// What the log of a table, or else the places of files in a table of those at `paths`, say of
/// their rows: columns and values.
pub(crate) fn partitions(
    files: &[(&str, &FileSummary)],
    paths: &[&str],
) -> Vec<Vec<(String, Option<String>)>> {
    let sheets = SheetColumn::of(paths);
    let dates = dates_of(paths);
    let logged = table(files.iter().map(|(_, summary)| *summary));
    let logged = logged.map(LoggedColumns::of);
    let of_file = |(path, summary): &(&str, &FileSummary)| {
        if let Some(constants) = constants(summary, logged.as_ref()) {
            return constants;
        }
        let mut keys = place::partition(path);
        if let Some(date) = dates.get(path) {
            keys.push((DATE_COLUMN.to_owned(), Some(date.clone())));
        }
        if let Some(column) = &sheets {
            keys.push((column.name.to_owned(), Some(column.value(path))));
        }
        keys
    };
    files.iter().map(of_file).collect()
}

/// The dates of a table's files, by path, that are no partitions; none where all are of one date.
fn dates_of<'a>(paths: &[&'a str]) -> HashMap<&'a str, String> {
    let of_table = |path: &&str| place::table_directory(path).is_some();
    let dates = dates::dates(paths).filter(|_| !paths.iter().any(of_table));
    dates.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
