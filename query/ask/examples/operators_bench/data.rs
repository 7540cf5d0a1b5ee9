//! Spider's tables, read as texts.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use crate::Failure;

/// A table of texts.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn read(folder: &Path, name: &str) -> Result<Table, Failure> {
        let path = folder.join(format!("{name}.csv"));
        let mut reader = csv::Reader::from_path(&path)?;
        let header = reader.headers()?.iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| {
            let row = row?;
            Ok(row.iter().map(str::to_owned).collect())
        });
        let rows = rows.collect::<Result<_, csv::Error>>()?;
        Ok(Table { header, rows })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The cell of a row; a column that is not there is an error of this program.
    pub fn cell(&self, row: usize, column: &str) -> Result<&str, Failure> {
        let at = self.header.iter().position(|it| it == column);
        let at = at.ok_or_else(|| format!("no column {column}"))?;
        Ok(&self.rows[row][at])
    }

    pub fn column(&self, column: &str) -> Result<Vec<&str>, Failure> {
        (0..self.len()).map(|row| self.cell(row, column)).collect()
    }

    /// So many rows, evenly.
    pub fn some(mut self, count: usize) -> Table {
        let every = (self.rows.len() / count.max(1)).max(1);
        self.rows = self.rows.into_iter().step_by(every).take(count).collect();
        self
    }

    /// These rows.
    pub fn of(&self, rows: impl IntoIterator<Item = usize>) -> Table {
        Table {
            header: self.header.clone(),
            rows: rows.into_iter().map(|row| self.rows[row].clone()).collect(),
        }
    }
}

/// Texts as rows.
pub fn batch(columns: &[(&str, &[&str])]) -> Result<RecordBatch, Failure> {
    let columns = columns.iter().map(|(name, values)| {
        let column: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        (*name, column)
    });
    Ok(RecordBatch::try_from_iter(columns)?)
}
