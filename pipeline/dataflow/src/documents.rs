//! From a table's summary to its catalog row and its texts.

use std::time::{SystemTime, UNIX_EPOCH};

use limn_formats::member::beside;
use limn_lake::Group;
use limn_profile::{ColumnSummary, DeclaredKeys, TableSummary, short};
use limn_segment::{
    ColumnRecord, ContextRecord, FileRecord, KeyRecords, PatternShare, ReferenceRecord,
    TableRecord, ValueCount,
};
use limn_store::Store;
use limn_summary::{ColumnFacts, DocumentOptions, TableFacts, TextBlock, TokenCounter, documents};

use crate::settings::Words;
use crate::sketches::of_table;

/// Most frequent values that a catalog row keeps of a column.
const CATALOG_VALUES: usize = 10;
/// Notes that are kept of a table.
const MOST_NOTES: usize = 20;

/// A table's texts, packed into blocks. `narrations` and `descriptions` are those of its columns,
/// in order; columns without a narration are described as `words` says.
pub fn describe(
    name: &str,
    summary: &TableSummary,
    contexts: &[ContextRecord],
    narrations: &[Option<String>],
    descriptions: &[Option<String>],
    counter: &dyn TokenCounter,
    words: Words,
) -> Vec<TextBlock> {
    let narrations = narrations.iter().cloned().chain(std::iter::repeat(None));
    let descriptions = descriptions.iter().cloned().chain(std::iter::repeat(None));
    let facts = TableFacts {
        name: name.to_owned(),
        columns: summary
            .columns
            .iter()
            .zip(narrations.zip(descriptions))
            .map(|(column, said)| column_facts(column, said, words))
            .collect(),
        sample: summary.sample_rows().map(<[_]>::to_vec).collect(),
        contexts: texts(contexts, false),
        folder_contexts: texts(contexts, true),
    };
    let options = DocumentOptions {
        split_identifiers: words == Words::Names,
        ..DocumentOptions::default()
    };
    documents(&facts, counter, &options)
}

/// The texts of contexts that say anything: those about a folder of tables, or those about the
/// table.
fn texts(contexts: &[ContextRecord], of_folder: bool) -> Vec<String> {
    let wanted = contexts
        .iter()
        .filter(|it| it.of_folder == of_folder && !it.text.is_empty());
    wanted.map(|context| context.text.clone()).collect()
}

fn column_facts(
    column: &ColumnSummary,
    (narration, description): (Option<String>, Option<String>),
    words: Words,
) -> ColumnFacts {
    let profile = &column.profile;
    let known = words == Words::Names;
    ColumnFacts {
        name: column.name.clone(),
        type_label: if known {
            column.data_type.to_string()
        } else {
            String::new()
        },
        min: profile.min.clone().filter(|_| known),
        max: profile.max.clone().filter(|_| known),
        frequent: profile
            .frequent
            .top(usize::MAX)
            .into_iter()
            .map(|(value, count)| (value.to_owned(), count))
            .collect(),
        narration,
        description,
    }
}

/// The catalog row of a group that is one table; where its blocks are is filled in when its segment
/// is built. `summary` is `None` where nothing could be read.
pub fn catalog_row(
    lake: &Store,
    group: &Group,
    summary: Option<&TableSummary>,
    files: Vec<FileRecord>,
    mut contexts: Vec<ContextRecord>,
) -> TableRecord {
    // The log of a table that has one.
    let mut files_of = group.files.iter();
    let log = files_of.find(|file| file.format.is_log());
    let first = group.files.iter().min_by_key(|file| &file.object.path);
    let first = log.or(first);
    // Of least rank, and no member: it is part of the files.
    if let Some(text) = summary.and_then(|summary| summary.description.clone()) {
        contexts.push(ContextRecord {
            source: group.path.clone(),
            text,
            ..ContextRecord::default()
        });
    }
    let mut row = TableRecord {
        lake: lake.url().to_owned(),
        name: group.name.to_string(),
        location: lake.object_url(&group.path),
        format: first.map_or_else(String::new, |file| file.format.to_string()),
        keys: match (summary, first) {
            (Some(summary), Some(first)) => key_records(&summary.keys, &first.object.path),
            _ => KeyRecords::default(),
        },
        files,
        contexts,
        group: format!("{:032x}", group.key.0),
        indexed_ms: now_ms(),
        ..TableRecord::default()
    };
    if let Some(summary) = summary {
        fill_row(&mut row, summary);
    }
    row
}

/// Has a table's row say what its files hold.
pub fn fill_row(row: &mut TableRecord, summary: &TableSummary) {
    row.rows = Some(summary.rows);
    row.rows_exact = summary.rows_exact;
    row.columns = column_records(summary, &row.name);
    row.sketches = of_table(summary);
    row.sample = summary.sample_rows().map(<[_]>::to_vec).collect();
    row.notes = first_notes(&summary.notes);
}

/// Notes of a table: of many files the first ones, and how many more there are.
pub fn first_notes(all: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = all.iter().take(MOST_NOTES).cloned().collect();
    let more = all.len() - notes.len();
    if more > 0 {
        notes.push(format!("and {more} more notes of its files"));
    }
    notes
}

/// Declared keys, with the names that tables have here; `path` is a file of the table.
fn key_records(keys: &DeclaredKeys, path: &str) -> KeyRecords {
    let references = keys.references.iter().map(|reference| ReferenceRecord {
        columns: reference.columns.clone(),
        table: beside(path, &reference.table),
        to: reference.to.clone(),
    });
    KeyRecords {
        primary: keys.primary.clone(),
        unique: keys.unique.clone(),
        references: references.collect(),
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn column_records(summary: &TableSummary, table: &str) -> Vec<ColumnRecord> {
    let mut records: Vec<ColumnRecord> = summary.columns.iter().map(column_record).collect();
    for (rank, at) in (1..).zip(summary.likely_keys(table)) {
        if let Some(record) = records.get_mut(at) {
            record.key_rank = Some(rank);
        }
    }
    records
}

fn column_record(column: &ColumnSummary) -> ColumnRecord {
    let profile = &column.profile;
    ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        null_share: short(profile.null_share()),
        distinct: profile.distinct(),
        distinct_exact: profile.distinct_exact(),
        uniqueness: (profile.counted() > 0).then(|| short(profile.uniqueness())),
        key_rank: None,
        patterns: profile
            .patterns()
            .into_iter()
            .map(|pattern| PatternShare {
                pattern: pattern.form,
                share: pattern.share,
            })
            .collect(),
        min: profile.min.clone(),
        max: profile.max.clone(),
        frequent: profile
            .frequent
            .top(CATALOG_VALUES)
            .into_iter()
            .map(|(value, count)| ValueCount {
                value: value.to_owned(),
                count,
            })
            .collect(),
        profile_exact: profile.exact,
        narration: None,
        description: None,
        notation: column.notation.as_ref().map(ToString::to_string),
        in_files: column.in_files.as_ref().map(ToString::to_string),
        sensitive: column.sensitive().map(|kind| kind.to_string()),
        withheld: column.is_withheld(),
    }
}
