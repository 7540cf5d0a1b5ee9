//! From what the index knows of a table to its rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use limn_formats::{Declaration, Format, ObjectRecord, ObjectVersion, ReadOptions};
use limn_lake::scan::TableRows;
use limn_lake::{TableFile, TableName};
use limn_profile::{FileSummary, LoggedColumns};
use limn_segment::{FileRecord, TableRecord};
use limn_store::{Store, one_line};

use crate::error::SqlError;

/// Columns that files withhold, by name, and what each holds, if that is why.
pub(crate) type WithheldByFiles = BTreeMap<String, Option<String>>;

/// The rows of a table: those of its files that could be read when it was indexed. `store` is its
/// lake; which rows there are does not depend on `options`. Reads nothing yet. An error if none of
/// its files could be read, or limn cannot read any more what it knows of one. Beside them the
/// columns that any of the files withholds.
pub(crate) fn rows_of(
    record: &TableRecord,
    store: Store,
    options: ReadOptions,
) -> Result<(TableRows, WithheldByFiles), SqlError> {
    let files = files_of(record)?;
    let mut withheld = WithheldByFiles::new();
    let table = files.iter().find_map(|(file, _)| file.logged_table());
    let logged = table.map(LoggedColumns::of);
    let columns = files.iter().flat_map(|(_, summary)| &summary.columns);
    for column in columns.filter(|it| it.is_withheld()) {
        let sensitive = column.sensitive().map(|kind| kind.to_string());
        // As the table calls it.
        let own = logged.as_ref();
        let own = own.and_then(|it| it.find(&column.name, column.field_id));
        let name = own.map_or(&column.name, |(_, logged)| &logged.name);
        let known = withheld.entry(name.clone()).or_default();
        *known = known.take().or(sensitive);
    }
    Ok((TableRows::new(store, files, options), withheld))
}

/// The files of a table that could be read when it was indexed, with what is known of them, by
/// path.
///
/// # Errors
/// None of its files could be read, or limn cannot read any more what it knows of one.
pub fn files_of(record: &TableRecord) -> Result<Vec<(TableFile, FileSummary)>, SqlError> {
    let unreadable = |cause: String| SqlError::Unreadable {
        table: record.name.clone(),
        cause,
    };
    let name = TableName::parse(&record.name).map_err(|error| unreadable(error.to_string()))?;
    let other_limn = |path: &str| {
        let path = one_line(path);
        unreadable(format!(
            "another version of limn has indexed {path}; run limn index again"
        ))
    };
    let mut files = Vec::new();
    for (file, summary) in readable(record) {
        let summary = FileSummary::from_json(summary).map_err(|_| other_limn(&file.path))?;
        let declared = file.declared.as_deref().map(Declaration::from_json);
        let declared = declared.transpose().map_err(|_| other_limn(&file.path))?;
        files.push((table_file(file, record, &name, declared), summary));
    }
    let table = files
        .iter()
        .find_map(|(file, _)| file.logged_table().cloned());
    for (file, _) in &mut files {
        let mut declared = file.declared.iter_mut();
        if !declared.all(|it| Declaration::complete(it, table.as_ref())) {
            return Err(other_limn(&file.object.path));
        }
    }
    let is_log_alone = files.iter().all(|(file, _)| file.format.is_log());
    if is_log_alone && record.files_now().count() > files.len() || files.is_empty() {
        let error = record.error.as_deref();
        let cause = error.or(record.files.iter().find_map(|it| it.error.as_deref()));
        let cause = cause.map_or("none of its files could be read".to_owned(), one_line);
        return Err(unreadable(cause));
    }
    files.sort_by(|(a, _): &(TableFile, FileSummary), (b, _)| a.object.path.cmp(&b.object.path));
    Ok(files)
}

/// How many of a table's files could not be read when it was indexed: their rows are missing.
pub(crate) fn left_out(record: &TableRecord) -> usize {
    record.files_now().count() - readable(record).count()
}

/// The files that could be read, with what is known of them.
fn readable(record: &TableRecord) -> impl Iterator<Item = (&FileRecord, &str)> {
    let files = record.files_now().filter(|file| file.error.is_none());
    files.filter_map(|file| Some((file, file.summary.as_deref()?)))
}

fn table_file(
    file: &FileRecord,
    record: &TableRecord,
    name: &TableName,
    declared: Option<Arc<Declaration>>,
) -> TableFile {
    let labelled = || Format::of_label(&record.format);
    // Files of a table with a log need no extension, and are what that says.
    let is_logged = labelled().is_some_and(Format::is_log);
    let of_path = Format::of_path(&file.path).filter(|it| !is_logged || *it != Format::Unnamed);
    let format = of_path.or_else(labelled);
    TableFile {
        object: ObjectRecord {
            path: file.path.clone(),
            etag: file.etag.clone(),
            version: file.version.clone().map(ObjectVersion::from),
            size: file.size,
            modified_ms: file.modified_ms,
        },
        // A file of no format is reported by the scan.
        format: match format {
            Some(format) if !format.is_log() || record.is_log(&file.path) => format,
            Some(_) => Format::Parquet,
            None => Format::Text,
        },
        table_name: name.clone(),
        is_beside: file.beside,
        is_alone: file.alone,
        declared,
    }
}
