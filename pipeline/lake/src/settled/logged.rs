//! The columns of a table by its log: which columns of files they are, and the values of what a
//! file lacks.

use std::borrow::Cow;

use limn_profile::{FilePart, FileSummary, LoggedColumns, LoggedTable};

/// The table as its log has it, where the log is one of its files.
pub(crate) fn table<'a>(
    mut files: impl Iterator<Item = &'a FileSummary>,
) -> Option<&'a LoggedTable> {
    files.find_map(FileSummary::logged_table)
}

/// The summaries with the names that the log gives their columns. What the log does not have is no
/// column of the table.
pub(super) fn named<'a>(files: &[FilePart<'a>], table: &LoggedTable) -> Vec<Cow<'a, FileSummary>> {
    let columns = LoggedColumns::of(table);
    let named = |file: &FilePart<'a>| {
        let mut summary = Cow::Borrowed(file.summary);
        for at in 0..file.summary.columns.len() {
            let own = &file.summary.columns[at];
            match columns.find(&own.name, own.field_id) {
                Some((_, logged)) if logged.name == own.name => {}
                Some((_, logged)) => summary.to_mut().columns[at].name.clone_from(&logged.name),
                None => summary.to_mut().columns[at].left_out = true,
            }
        }
        summary
    };
    files.iter().map(named).collect()
}

/// The values that all rows of a file have by the log: of columns that the file itself lacks. None
/// where no log speaks of the file. The summary is as the file has it.
pub(crate) fn constants(
    summary: &FileSummary,
    columns: Option<&LoggedColumns<'_>>,
) -> Option<Vec<(String, Option<String>)>> {
    let logged = summary.logged.as_deref()?;
    let Some(columns) = columns else {
        return Some(Vec::new());
    };
    let own = summary.columns.iter();
    let has = own.filter_map(|own| Some(columns.find(&own.name, own.field_id)?.0));
    Some(columns.constants(logged, &has.collect()))
}
