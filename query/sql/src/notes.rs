//! What a person should know of an answer besides its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use limn_lake::scan::Report;
use limn_store::one_line;

use crate::table::Table;

/// What was met while a query was planned and run.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    planned: BTreeSet<String>,
    is_partial: bool,
    scans: Vec<(Arc<Table>, Arc<Report>)>,
}

impl Notes {
    /// A line that is known before the query runs.
    pub(crate) fn add(&self, note: String) {
        self.inner().planned.insert(note);
    }

    /// A table of which files could not be read.
    pub(crate) fn is_missing_files(&self, table: &Table) {
        let files = table.record.files_now();
        let of = files
            .filter(|file| !table.record.is_log(&file.path))
            .count();
        let missing = table.left_out;
        self.add(format!(
            "'{}' is without {missing} of its {of} files, which could not be read when it was indexed",
            one_line(table.name())
        ));
        self.inner().is_partial = true;
    }

    /// A scan that begins; its report is complete at the scan's end.
    pub(crate) fn of_scan(&self, table: &Arc<Table>, report: Arc<Report>) {
        self.inner().scans.push((Arc::clone(table), report));
    }

    /// Whether rows are missing since files could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        let inner = self.inner();
        inner.is_partial
            || inner
                .scans
                .iter()
                .any(|(_, report)| !report.damaged().is_empty())
    }

    /// What is known by now, one line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let inner = self.inner();
        let mut damaged: BTreeSet<String> = BTreeSet::new();
        let mut misfits: BTreeMap<(&str, String), u64> = BTreeMap::new();
        for (table, report) in &inner.scans {
            let lines = report.damaged();
            damaged.extend(lines.iter().map(|it| one_line(it)));
            for (column, cells) in report.misfits() {
                // A name is no secret, but what of it did not fit might say something of its
                // values.
                if table.withheld.iter().all(|it| it.name != column) {
                    *misfits.entry((table.name(), column)).or_default() += cells;
                }
            }
        }
        let mut lines: Vec<String> = inner.planned.iter().cloned().collect();
        lines.extend(damaged);
        lines.extend(misfits.into_iter().map(|((table, column), cells)| {
            let (value, are) = match cells {
                1 => ("value", "is"),
                _ => ("values", "are"),
            };
            let (table, column) = (one_line(table), one_line(&column));
            format!(
                "{cells} {value} of '{column}' of '{table}' {are} not of its type and read as null"
            )
        }));
        lines
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic elsewhere leaves nothing half-done here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
