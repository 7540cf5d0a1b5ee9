//! Runs a stage as a plan does: estimated, run, and run again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow::array::{Array, RecordBatch, StringArray};
use limn_ask::plan::{Operation, Stage};
use limn_ask::semantic::{AnswersInMemory, Asker, Output, estimate, run};
use limn_models::{Embedder, LanguageModel};
use limn_sql::written::cells_of;
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::data::Table;

pub struct Bench {
    pub model: Arc<dyn LanguageModel>,
    pub embedder: Arc<dyn Embedder>,
    folder: PathBuf,
    only: Option<Vec<String>>,
    /// One in so many rows is looked at.
    part: usize,
    rows: Mutex<Map<String, Value>>,
}

impl Bench {
    pub fn new(
        model: Arc<dyn LanguageModel>,
        embedder: Arc<dyn Embedder>,
        folder: &str,
        only: Option<Vec<String>>,
        part: usize,
    ) -> Bench {
        Bench {
            model,
            embedder,
            folder: folder.into(),
            only,
            part: part.max(1),
            rows: Mutex::default(),
        }
    }

    pub fn table(&self, name: &str) -> Result<Table, Failure> {
        Table::read(&self.folder, name)
    }

    /// How many of so many rows are looked at.
    pub fn part(&self, rows: usize) -> usize {
        (rows / self.part).max(1)
    }

    /// So many rows of a table, or the part of them that is looked at.
    pub fn some(&self, name: &str, rows: usize) -> Result<Table, Failure> {
        Ok(self.table(name)?.some(self.part(rows)))
    }

    /// Whether a stage is to be run.
    pub fn wants(&self, stage: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|it| it.iter().any(|only| only == stage))
    }

    /// The rows of each stage so far.
    pub fn rows(&self) -> Value {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Value::Object(rows.clone())
    }

    /// A stage's rows, and what was estimated, spent, and spent by the same stage again.
    ///
    /// # Errors
    /// It fails, or the second run asks or gives anything else.
    pub async fn measured(
        &self,
        name: &str,
        written: Value,
        inputs: &[RecordBatch],
    ) -> Result<(Output, Value), Failure> {
        let operation = operation(written)?;
        let kept = Arc::new(AnswersInMemory::default());
        let asker = || {
            let embedder = Arc::clone(&self.embedder);
            Asker::new(Arc::clone(&self.model), Arc::clone(&kept) as _).with_embedder(embedder)
        };
        let estimated = estimate(&asker(), &operation, inputs).await?;
        let computed = self.model.usage().computed_prompt_tokens;
        let first = asker();
        let began = Instant::now();
        let output = run(&first, &operation, inputs).await?;
        let seconds = began.elapsed().as_secs_f64();
        let (spent, again) = (first.spent(), asker());
        let second = run(&again, &operation, inputs).await?;
        let is_same = second.batch == output.batch && second.judged == output.judged;
        if again.spent().calls > 0 || !is_same {
            return Err(format!("{name}: the second run differs").into());
        }
        self.keep(name, &output)?;
        let off = |estimated: u64, spent: u64| rounded(estimated as f64 / spent.max(1) as f64);
        let (all_estimated, all_spent) = (
            estimated.prompt_tokens + estimated.generated_tokens,
            spent.prompt_tokens + spent.generated_tokens,
        );
        let took = json!({
            "told": {"calls": estimated.calls, "prompt_tokens": estimated.prompt_tokens,
                     "generated_tokens": estimated.generated_tokens},
            "spent": {"calls": spent.calls, "prompt_tokens": spent.prompt_tokens,
                      "generated_tokens": spent.generated_tokens},
            "told_for_spent": {"calls": off(estimated.calls, spent.calls),
                               "prompt_tokens": off(estimated.prompt_tokens, spent.prompt_tokens),
                               "generated_tokens": off(estimated.generated_tokens, spent.generated_tokens),
                               "tokens": off(all_estimated, all_spent)},
            "failed": output.failed, "seconds": rounded(seconds),
            "calls_per_second": rounded(spent.calls as f64 / seconds),
            "computed_prompt_tokens": self.model.usage().computed_prompt_tokens - computed,
            "again": {"calls": 0, "same": true},
        });
        println!("{name}: {}", took["told_for_spent"]);
        Ok((output, took))
    }

    fn keep(&self, name: &str, output: &Output) -> Result<(), Failure> {
        let cells = cells_of(&output.batch)?;
        let row = |row: usize| -> Vec<Option<String>> {
            cells.iter().map(|column| column.text(row)).collect()
        };
        let rows: Vec<_> = (0..output.batch.num_rows()).map(row).collect();
        let mut kept = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name.to_owned(), json!(rows));
        Ok(())
    }

    /// How like a text is to each of others.
    pub fn likenesses(&self, text: &str, others: &[&str]) -> Result<Vec<f32>, Failure> {
        let one = self.embedder.embed_one(text)?;
        let others = self.embedder.embed(others)?;
        let dot = |other: &Vec<f32>| one.iter().zip(other).map(|(a, b)| a * b).sum();
        Ok(others.iter().map(dot).collect())
    }
}

pub fn operation(written: Value) -> Result<Operation, Failure> {
    let mut stage = json!({"name": "s"});
    if let (Some(stage), Some(written)) = (stage.as_object_mut(), written.as_object()) {
        stage.extend(written.clone());
    }
    Ok(serde_json::from_value::<Stage>(stage)?.operation)
}

pub fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// The texts of a column; empty where there is none.
pub fn texts(output: &Output, name: &str) -> Vec<String> {
    let column = output.batch.column_by_name(name);
    let column = column.and_then(|it| it.as_any().downcast_ref::<StringArray>());
    let texts = column.map(|it| {
        let texts = it.iter().map(|text| text.unwrap_or("").to_owned());
        texts.collect()
    });
    texts.unwrap_or_default()
}

/// The share of those that are right.
pub fn share(right: impl Iterator<Item = bool>) -> f64 {
    let (mut all, mut hits) = (0.0, 0.0);
    for is_right in right {
        all += 1.0;
        hits += f64::from(u8::from(is_right));
    }
    rounded(hits / f64::max(all, 1.0))
}

/// Accuracy, and F1 of those that are kept.
pub fn quality(kept: &[bool], truth: &[bool]) -> (f64, f64) {
    let pairs = || kept.iter().zip(truth);
    let both = pairs().filter(|(a, b)| **a && **b).count() as f64;
    let (kept, wanted) = (
        pairs().filter(|it| *it.0).count(),
        pairs().filter(|it| *it.1).count(),
    );
    let f1 = 2.0 * both / f64::max((kept + wanted) as f64, 1.0);
    (share(pairs().map(|(a, b)| a == b)), rounded(f1))
}
