//! Filters: which rows are wanted.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::{and, filter_record_batch};
use arrow::error::ArrowError;
use limn_formats::Test;

/// A test of a column's values.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The column's place in [`super::TableRows::schema`].
    pub column: usize,
    /// What is tested.
    pub test: Test,
}

/// The rows of a batch that pass all tests, each of the column at its place in the batch.
///
/// # Errors
/// Values of another type.
pub(super) fn passing<'a>(
    batch: RecordBatch,
    tests: impl Iterator<Item = (usize, &'a Test)>,
) -> Result<RecordBatch, ArrowError> {
    let mut passing: Option<BooleanArray> = None;
    for (place, test) in tests {
        let passes = test.of(batch.column(place))?;
        passing = Some(match passing {
            Some(before) => and(&before, &passes)?,
            None => passes,
        });
    }
    match passing {
        Some(passing) => filter_record_batch(&batch, &passing),
        None => Ok(batch),
    }
}
