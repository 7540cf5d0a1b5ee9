//! What the names of a statement mean where it may name nothing else: tables of the index under
//! names of the caller's, and rows that he has.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Ident;
use limn_store::one_line;

use crate::error::SqlError;
use crate::scope::same;

/// Rows that are given to a statement at a time.
const BATCH: usize = 8192;

/// The tables of a statement, by the names that it may use.
#[derive(Clone, Debug, Default)]
pub struct Inputs(BTreeMap<String, Input>);

/// What a name means.
#[derive(Clone, Debug)]
pub enum Input {
    /// A table of the catalogue.
    Table {
        /// Its whole name.
        name: String,
        /// The URL of its lake; the only one that has it, if nothing is said.
        lake: Option<String>,
    },
    /// Rows that are at hand. Their columns have names of their own each.
    Rows(RecordBatch),
}

impl FromIterator<(String, Input)> for Inputs {
    fn from_iter<T: IntoIterator<Item = (String, Input)>>(inputs: T) -> Inputs {
        Inputs(inputs.into_iter().collect())
    }
}

impl Inputs {
    /// These and one more.
    #[must_use]
    pub fn with(mut self, name: String, input: Input) -> Inputs {
        self.0.insert(name, input);
        self
    }

    /// The names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What the name of a table means: with its spelling, or the only one that is spelt so but for
    /// case where it is not quoted.
    pub(crate) fn find(&self, written: &[Ident]) -> Result<(&str, &Input), SqlError> {
        if let [one] = written {
            if let Some((name, input)) = self.0.get_key_value(&one.value) {
                return Ok((name, input));
            }
            let mut alike = self.0.iter().filter(|(name, _)| same(name, &one.value));
            if let (None, Some((name, input)), None) = (one.quote_style, alike.next(), alike.next())
            {
                return Ok((name, input));
            }
        }
        let parts: Vec<&str> = written.iter().map(|it| it.value.as_str()).collect();
        Err(SqlError::UnknownInput {
            name: one_line(&parts.join(".")),
            known: self.0.keys().map(|name| one_line(name)).collect(),
        })
    }
}

/// Rows, as DataFusion reads them.
pub(crate) fn provider(rows: &RecordBatch) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let starts = (0..rows.num_rows()).step_by(BATCH);
    let batches = starts.map(|from| rows.slice(from, BATCH.min(rows.num_rows() - from)));
    let table = MemTable::try_new(rows.schema(), vec![batches.collect()])?;
    Ok(Arc::new(table))
}
