//! The columns of a table of a database while its rows are read.

use limn_profile::text::counted;
use limn_profile::{
    ColumnBuilder, ColumnSummary, DataType, DeclaredKeys, FileSummary, FileValues, RowSampler,
    ValueLimits, infer,
};
use rusqlite::types::ValueRef;

use crate::documented::Documented;
use crate::room::Held;
use crate::{ReadOptions, names};

/// Budgets of text that a profile takes.
const TEXT_BUDGETS: u64 = 16;

/// A number as text that is read as that number: a large one as `1e300` and not with all its
/// digits.
pub(super) fn real(number: f64) -> String {
    match number.abs() < 1e18 {
        true => number.to_string(),
        false => format!("{number:?}"),
    }
}

/// A table's columns while it is read.
pub(super) struct Reading {
    pub(super) columns: Vec<ColumnBuilder>,
    /// Values of bytes, which are not looked at.
    pub(super) bytes: Vec<u64>,
    pub(super) counts: Vec<(u64, u64)>,
    pub(super) sampler: RowSampler,
    pub(super) rows: u64,
    pub(super) text: u64,
    pub(super) most_text: u64,
    pub(super) is_cut: bool,
    pub(super) cell: String,
    pub(super) _turn: Held,
}

impl Reading {
    pub(super) fn new(columns: &[String], sample_path: &str, options: &ReadOptions) -> Reading {
        let turn = options.room.columns(columns.len());
        let limits = ValueLimits::for_columns(columns.len());
        let values = FileValues::new(options.values);
        let unique = names::unique(columns.iter().map(String::as_str));
        let budget = options.scan_budget.max(4 << 10);
        Reading {
            columns: unique
                .into_iter()
                .map(|name| ColumnBuilder::with_limits(name, limits).hashing(&values))
                .collect(),
            bytes: vec![0; columns.len()],
            counts: vec![(0, 0); columns.len()],
            sampler: RowSampler::new(options.seed, sample_path, options.sample_rows),
            rows: 0,
            text: 0,
            most_text: budget.saturating_mul(TEXT_BUDGETS),
            is_cut: false,
            cell: String::new(),
            _turn: turn,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.text > self.most_text
    }

    pub(super) fn row(&mut self, row: &rusqlite::Row<'_>, width: usize) {
        let priority = self.sampler.wants(self.rows);
        let mut cells = Vec::new();
        for i in 0..width {
            let value = row.get_ref(i).unwrap_or(ValueRef::Null);
            let kind = self.take(i, value);
            if priority.is_some() {
                cells.push(kind.then(|| self.cell.clone()));
            }
        }
        if let Some(priority) = priority {
            self.sampler.keep(priority, self.rows, cells);
        }
        self.rows += 1;
    }

    /// Takes a value; whether it has a text, which then is in `cell`.
    fn take(&mut self, i: usize, value: ValueRef<'_>) -> bool {
        self.cell.clear();
        let kind = match value {
            ValueRef::Null => {
                self.counts[i].1 += 1;
                self.columns[i].push(None);
                return false;
            }
            ValueRef::Blob(_) => {
                self.counts[i].0 += 1;
                self.bytes[i] += 1;
                return false;
            }
            ValueRef::Integer(number) => {
                self.cell.push_str(&number.to_string());
                DataType::Integer
            }
            ValueRef::Real(number) => {
                self.cell.push_str(&real(number));
                DataType::Float
            }
            ValueRef::Text(text) => {
                self.cell.push_str(&String::from_utf8_lossy(text));
                match infer::classify(&self.cell) {
                    kind @ (DataType::Date | DataType::Timestamp) => kind,
                    _ => DataType::Text,
                }
            }
        };
        self.counts[i].0 += 1;
        self.text += self.cell.len() as u64 + 8;
        self.columns[i].push_typed(&kind, Some(&self.cell));
        true
    }

    pub(super) fn finish(self, keys: DeclaredKeys, said: Documented) -> FileSummary {
        let mut notes = Vec::new();
        if self.is_cut {
            notes.push(format!(
                "read in part: {} of it",
                counted(self.rows, "first row")
            ));
        }
        let of_bytes = self.bytes.iter().filter(|bytes| **bytes > 0).count();
        if of_bytes > 0 {
            let columns = counted(of_bytes as u64, "column");
            notes.push(format!("values of {columns} of bytes not read"));
        }
        let rest = self.bytes.into_iter().zip(self.counts);
        let is_cut = self.is_cut;
        let columns = self.columns.into_iter().zip(rest);
        let finish =
            |(mut column, (bytes, (values, nulls))): (ColumnBuilder, (u64, (u64, u64)))| {
                if bytes > 0 {
                    if bytes == values {
                        column.set_type(&DataType::Binary);
                    }
                    column.set_bounds(None, None, Some(nulls), Some(values));
                }
                column.finish(!is_cut && bytes == 0)
            };
        let columns = columns.map(finish).zip(said.columns);
        FileSummary {
            description: said.table,
            keys,
            columns: columns
                .map(|(column, description)| ColumnSummary {
                    description,
                    ..column
                })
                .collect(),
            rows: self.rows,
            rows_exact: !is_cut,
            sample: self.sampler.finish(),
            approximate: is_cut,
            notes,
            ..FileSummary::default()
        }
    }
}
