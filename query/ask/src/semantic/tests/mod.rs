//! What the operators promise, by models that are scripts: they read the prompt and answer as a
//! function says.

mod asking;
mod cascades;
mod oracle;
mod rankings;
mod rows;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::plan::Stage;
use oracle::{Oracle, Said, cell};

/// Rows of text columns; `None` is NULL.
fn rows(columns: &[(&str, &[Option<&str>])]) -> RecordBatch {
    let columns = columns.iter().map(|(name, values)| {
        let column: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        (*name, column)
    });
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, it)| (name, it, true))).unwrap()
}

/// Rows of one text column without NULL.
fn column(name: &str, values: &[&str]) -> RecordBatch {
    let values: Vec<Option<&str>> = values.iter().map(|it| Some(*it)).collect();
    rows(&[(name, &values)])
}

/// Rows of a number each.
fn numbers(name: &str, values: &[i64]) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter([(name, column)]).unwrap()
}

/// The operation of a stage as a plan writes it.
fn operation(written: Value) -> Operation {
    let mut stage = json!({"name": "s"});
    stage
        .as_object_mut()
        .unwrap()
        .extend(written.as_object().unwrap().clone());
    let stage: Stage = serde_json::from_value(stage).unwrap();
    stage.operation
}

fn asker(oracle: &Arc<Oracle>) -> Asker {
    let model: Arc<dyn limn_models::LanguageModel> = Arc::clone(oracle) as _;
    Asker::new(model, Arc::new(AnswersInMemory::default()))
}

/// The rows of a column of an output, as text; NULL is empty.
fn shown(batch: &RecordBatch, name: &str) -> Vec<String> {
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    let options = FormatOptions::default();
    let format = ArrayFormatter::try_new(batch.column_by_name(name).unwrap(), &options).unwrap();
    (0..batch.num_rows())
        .map(|row| format.value(row).to_string())
        .collect()
}

fn printed(output: &Output) -> String {
    pretty_format_batches(std::slice::from_ref(&output.batch))
        .unwrap()
        .to_string()
}
