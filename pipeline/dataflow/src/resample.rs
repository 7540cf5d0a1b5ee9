//! The resampling policy: when a table's rows are drawn anew.
//!
//! Where few rows came or went since a table was last described, its texts are kept, and with them
//! their vectors (PNEUMA, section 5.2). Texts are made of file summaries, so the catalog row keeps
//! those that the texts were made of: files that came since are marked, and files that went stay as
//! entries of no version. Other columns, other settings and what cannot be read are described at
//! once.

use std::collections::HashSet;

use limn_profile::{ColumnSummary, FileSummary, TableSummary};
use limn_segment::{FileRecord, SinceSample, TableRecord};

use limn_lake::assemble::merge_files;

use crate::sketches::kept;

/// The file summaries that a row's texts are made of, by path.
pub fn sampled_summaries(row: &TableRecord) -> Vec<(&str, FileSummary)> {
    let sampled = row.files.iter().filter(|file| is_sampled(file));
    let summaries = sampled.filter_map(|file| Some((file.path.as_str(), kept(file).ok()??)));
    summaries.collect()
}

fn is_sampled(file: &FileRecord) -> bool {
    file.since_sample != Some(SinceSample::Came) && !file.no_table
}

/// What makes a file of one row that of another.
fn version(file: &FileRecord) -> (&str, [Option<&str>; 3], u64, i64) {
    let FileRecord {
        path,
        etag,
        version,
        size,
        modified_ms,
        declared,
        ..
    } = file;
    (
        path,
        [etag.as_deref(), version.as_deref(), declared.as_deref()],
        *size,
        *modified_ms,
    )
}

/// What a table's texts stay made of if at most `threshold` (a share of the rows that they are made
/// of) came or went: the summary of those files. `files` are the table's now; what they have to do
/// with the texts is entered there. `None` if the table is to be described from all its files.
pub fn kept_sample(
    old: &TableRecord,
    files: &mut Vec<FileRecord>,
    whole: &TableSummary,
    threshold: f64,
) -> Option<TableSummary> {
    if threshold <= 0.0 || old.blocks == 0 || old.error.is_some() {
        return None;
    }
    let sampled: Vec<&FileRecord> = old.files.iter().filter(|file| is_sampled(file)).collect();
    let of_texts: HashSet<_> = sampled.iter().map(|file| version(file)).collect();
    let now: HashSet<_> = files.iter().map(version).collect();
    let went: Vec<FileRecord> = sampled
        .iter()
        .filter(|file| !now.contains(&version(file)))
        .map(|file| FileRecord {
            fingerprint: String::new(),
            since_sample: Some(SinceSample::Went),
            ..(*file).clone()
        })
        .collect();
    // Of a table with a log rows were deleted, or it says other things of its columns.
    let is_log = |file: &FileRecord| old.is_log(&file.path);
    let said = |all: &[FileRecord]| {
        let mut logs = all.iter().filter(|file| is_log(file) && is_sampled(file));
        logs.next().map(|log| log.declared.clone())
    };
    let is_logged = old.files.iter().any(is_log);
    if is_logged && (said(&old.files) != said(files) || !went.iter().all(is_log)) {
        return None;
    }
    let rows = |file: &FileRecord| file.rows;
    let came = files
        .iter()
        .filter(|file| !file.no_table && !of_texts.contains(&version(file)));
    let came: u64 = came.map(rows).sum::<Option<u64>>()?;
    let changed = came + went.iter().map(rows).sum::<Option<u64>>()?;
    let base: u64 = sampled.iter().map(|file| file.rows).sum::<Option<u64>>()?;
    if changed as f64 > threshold * base as f64 {
        return None;
    }
    let summaries = sampled_summaries(old);
    if summaries.len() != sampled.len() {
        return None;
    }
    let parts: Vec<(&str, &FileSummary)> = summaries
        .iter()
        .map(|(path, summary)| (*path, summary))
        .collect();
    let paths: Vec<&str> = parts.iter().map(|(path, _)| *path).collect();
    let kept = merge_files(&parts, &paths)?.without_hashes();
    let columns = |table: &TableSummary| {
        let columns = table.columns.iter();
        // Files that came or went may show how the others are written.
        let column =
            |it: &ColumnSummary| (it.name.clone(), it.data_type.clone(), it.notation.clone());
        columns.map(column).collect::<Vec<_>>()
    };
    if columns(&kept) != columns(whole) {
        return None;
    }
    let came: Vec<bool> = files
        .iter()
        .map(|file| !file.no_table && !of_texts.contains(&version(file)))
        .collect();
    for (file, came) in files.iter_mut().zip(came) {
        file.since_sample = came.then_some(SinceSample::Came);
    }
    // First, so that a version that is there comes after one of the same path that is not.
    files.splice(0..0, went);
    Some(kept)
}
