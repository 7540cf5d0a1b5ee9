//! From a table's summary to its catalog row and its texts.

use limn_lake::{AssembledTable, ColumnSummary, TableSummary};
use limn_segment::{ColumnRecord, ContextRecord, FileRecord, TableRecord, ValueCount};
use limn_store::Store;
use limn_summary::{ColumnFacts, DocumentOptions, TableFacts, TextBlock, TokenCounter, documents};

use crate::options::Narrate;

/// Most frequent values that a catalog row keeps of a column.
const CATALOG_VALUES: usize = 10;

/// A table's texts, packed into blocks.
pub fn describe(
    table: &AssembledTable,
    summary: &TableSummary,
    contexts: &[ContextRecord],
    counter: &dyn TokenCounter,
    narrate: Narrate,
) -> Vec<TextBlock> {
    let facts = TableFacts {
        name: table.name.to_string(),
        columns: summary
            .columns
            .iter()
            .map(|column| column_facts(column, narrate))
            .collect(),
        rows: Some(summary.rows),
        sample: summary.sample_rows().map(<[_]>::to_vec).collect(),
        contexts: contexts
            .iter()
            .map(|context| context.text.clone())
            .collect(),
    };
    let options = DocumentOptions {
        split_identifiers: narrate == Narrate::Names,
        ..DocumentOptions::default()
    };
    documents(&facts, counter, &options)
}

fn column_facts(column: &ColumnSummary, narrate: Narrate) -> ColumnFacts {
    let profile = &column.profile;
    let known = narrate == Narrate::Names;
    ColumnFacts {
        name: column.name.clone(),
        type_label: if known {
            column.data_type.to_string()
        } else {
            String::new()
        },
        min: profile.min.clone().filter(|_| known),
        max: profile.max.clone().filter(|_| known),
        null_share: profile.null_share(),
        frequent: profile
            .frequent
            .top(usize::MAX)
            .into_iter()
            .map(|(value, count)| (value.to_owned(), count))
            .collect(),
        distinct: profile.distinct(),
        narration: None,
    }
}

/// A table's catalog row; where its blocks are is filled in when its segment is built.
pub fn catalog_row(
    lake: &Store,
    table: &AssembledTable,
    files: Vec<FileRecord>,
    contexts: Vec<ContextRecord>,
    group: &str,
    now_ms: i64,
) -> TableRecord {
    let summary = table.summary.as_ref();
    TableRecord {
        lake: lake.url().to_owned(),
        name: table.name.to_string(),
        location: lake.object_url(&table.location),
        format: table.format.to_string(),
        rows: summary.map(|summary| summary.rows),
        rows_exact: summary.is_some_and(|summary| summary.rows_exact),
        columns: summary.map_or_else(Vec::new, |summary| {
            summary.columns.iter().map(column_record).collect()
        }),
        sample: summary.map_or_else(Vec::new, |summary| {
            summary.sample_rows().map(<[_]>::to_vec).collect()
        }),
        files,
        contexts,
        group: group.to_owned(),
        indexed_ms: now_ms,
        ..TableRecord::default()
    }
}

fn column_record(column: &ColumnSummary) -> ColumnRecord {
    let profile = &column.profile;
    ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        null_share: profile.null_share(),
        distinct: profile.distinct(),
        distinct_exact: profile.distinct_exact(),
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
    }
}
