//! Runs a plan: SQL by the engine, semantic stages by a model.
//!
//! What no model precedes runs first, so that what the rest will cost is said before a model is
//! asked, from the very prompts where their rows are known. Rows come in an order that depends on
//! them alone: where a statement does not say one, they are sorted. So the same plan over the same
//! snapshot with the same kept answers gives the same bytes.

mod assumed;
mod rows;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use limn_sql::{Behind, Engine, SqlError, Tie};
use limn_store::one_line;
use serde::Serialize;
use thiserror::Error;
use utoipa::ToSchema;

use crate::check::{self, Checked};
use crate::plan::{Operation, SqlStage, Stage};
use crate::semantic::{self, Asker, Output, SemanticError};

/// Rows of a stage, at most.
const MOST_ROWS: u64 = 1_000_000;
/// The part of a statement's memory that the rows of all stages may take: one in so many.
const PART: u64 = 2;
/// Rows that are shown as those behind an answer.
pub const MOST_BEHIND: u64 = 10;

/// What happens while a plan runs.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A stage begins.
    StageStarted {
        /// Its name.
        stage: &'a str,
        /// Its operation.
        operation: &'static str,
        /// Its number, from 1.
        at: usize,
        /// How many stages there are.
        of: usize,
    },
    /// What the stages that need a model will cost.
    #[serde(rename = "told")]
    Estimated {
        /// Calls and tokens.
        #[serde(rename = "told")]
        estimate: &'a CostEstimate,
    },
    /// A stage has ended.
    StageFinished {
        /// Its name.
        stage: &'a str,
        /// Its rows.
        rows: usize,
        /// How long it took, in seconds.
        seconds: f64,
    },
}

/// Why a plan did not run to its end.
#[derive(Debug, Error)]
pub enum RunError {
    /// A statement failed.
    #[error("stage '{stage}': {cause}")]
    Sql {
        /// The stage.
        stage: String,
        /// Why.
        cause: Box<SqlError>,
    },
    /// A semantic operator failed.
    #[error("stage '{stage}': {cause}")]
    Semantic {
        /// The stage.
        stage: String,
        /// Why.
        cause: Box<SemanticError>,
    },
    /// A stage has more rows than are held.
    #[error(
        "stage '{stage}' has more than {what}: filter or group its rows in SQL before they go on"
    )]
    TooMuch {
        /// The stage.
        stage: String,
        /// How much there may be.
        what: String,
    },
    /// There is no model for a stage that needs one.
    #[error(
        "stage '{stage}' ({operation}) needs a language model, and there is none: name one with --model, or --endpoint"
    )]
    NoModel {
        /// The stage.
        stage: String,
        /// Its operation.
        operation: &'static str,
    },
    /// The budget is so much smaller than what will be needed that it was not counted to the end.
    #[error(
        "the plan needs more than {counted} tokens, which is several times what may be spent: filter rows in SQL before a model sees them"
    )]
    Endless {
        /// Tokens that were counted.
        counted: u64,
    },
    /// The budget is smaller than what will be needed.
    #[error(
        "the plan needs about {needed} tokens, and --budget-tokens allows {budget}: raise it, or filter rows in SQL before a model sees them"
    )]
    Budget {
        /// Tokens of prompts and answers.
        needed: u64,
        /// Tokens that may be spent.
        budget: u64,
    },
}

/// What a plan will cost, as far as it was not paid already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = Told)]
pub struct CostEstimate {
    /// Questions to a model.
    pub calls: u64,
    /// Questions whose answers are kept from before.
    pub kept: u64,
    /// Tokens of their prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers, as many as such answers have as a rule.
    pub generated_tokens: u64,
    /// Stages whose questions depend on what a model answers, there or in a stage before: their
    /// cost is a guess.
    pub guessed: Vec<String>,
}

/// A stage that has run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its rows.
    pub rows: RecordBatch,
    /// How long it took.
    pub took: Duration,
    /// What the model decided, where one did.
    pub judged: Option<Output>,
    /// The statement of the rows that its rows are made of, where each is made of several.
    pub behind: Option<Behind>,
    /// What its rows have to meet, as its statement says it.
    pub condition: Option<String>,
    /// Its statement as `limn sql` takes it, where it reads tables alone.
    pub pasted: Option<String>,
    /// Its rows that tie where a LIMIT cuts them.
    pub tie: Option<Tie>,
    /// The tables that it read, by name and lake.
    pub tables: Vec<(String, String)>,
    /// Whether rows are missing, since files could not be read.
    pub is_partial: bool,
    /// What to know of its rows, one line each.
    pub notes: Vec<String>,
}

/// Runs one plan.
pub struct Runner<'a> {
    engine: Engine,
    checked: Checked,
    done: HashMap<String, Done>,
    on: &'a (dyn Fn(&Event<'_>) + Send + Sync),
}

impl<'a> Runner<'a> {
    /// For a checked plan over the tables of an engine, whose limits hold for each statement.
    pub fn new(
        engine: &Engine,
        checked: Checked,
        on: &'a (dyn Fn(&Event<'_>) + Send + Sync),
    ) -> Runner<'a> {
        Runner {
            // In one part: rows that tie come in one order, as they did when the plan was chosen.
            engine: engine.with_rows(MOST_ROWS).for_plans(),
            checked,
            done: HashMap::new(),
            on,
        }
    }

    /// The plan.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// A stage that has run.
    #[must_use]
    pub fn done(&self, stage: &str) -> Option<&Done> {
        self.done.get(stage)
    }

    /// Whether there is what its stages need, before anything runs.
    ///
    /// # Errors
    /// [`RunError::NoModel`] for the first stage that needs a model, where there is none.
    pub fn needs(&self, asker: Option<&Asker>) -> Result<(), RunError> {
        let mut semantic = self
            .checked
            .stages()
            .filter(|it| it.operation.is_semantic());
        match (asker, semantic.next()) {
            (None, Some(stage)) => Err(RunError::NoModel {
                stage: stage.name.clone(),
                operation: stage.operation.word(),
            }),
            _ => Ok(()),
        }
    }

    /// Runs the stages that no model precedes.
    ///
    /// # Errors
    /// A statement fails, or has too many rows. What was finished is kept.
    pub async fn relational(&mut self) -> Result<(), RunError> {
        self.stages(None, |stage| !stage.operation.is_semantic())
            .await
    }

    /// What the stages that have not run will cost. Nothing is asked of the model.
    ///
    /// # Errors
    /// A statement over rows that are assumed fails.
    pub async fn estimate(&self, asker: &Asker) -> Result<CostEstimate, RunError> {
        let mut total = CostEstimate::default();
        let mut assumed: HashMap<&str, RecordBatch> = HashMap::new();
        for stage in self.checked.stages() {
            if self.done.contains_key(&stage.name) {
                continue;
            }
            let rows = |name: &str| match self.done.get(name) {
                Some(done) => done.rows.clone(),
                None => assumed[name].clone(),
            };
            let read = stage.operation.stages();
            let is_guess = read.iter().any(|it| !self.done.contains_key(*it));
            let rows = match &stage.operation {
                Operation::Sql(sql) => {
                    let held = assumed.values().map(RecordBatch::get_array_memory_size);
                    let room = self.room().saturating_sub(held.sum());
                    self.sql(stage, sql, room, &rows).await?.rows
                }
                operation => {
                    let inputs: Vec<RecordBatch> = read.iter().map(|it| rows(it)).collect();
                    let estimate = semantic::estimate(asker, operation, &inputs).await;
                    let estimate = estimate.map_err(|cause| estimating(stage, cause))?;
                    total.calls += estimate.calls;
                    total.kept += estimate.kept;
                    total.prompt_tokens += estimate.prompt_tokens;
                    total.generated_tokens += estimate.generated_tokens;
                    if (is_guess || operation.asks_by_answers()) && estimate.calls > 0 {
                        total.guessed.push(stage.name.clone());
                    }
                    let schema = self.checked.schema(&stage.name);
                    assumed::rows(
                        operation,
                        &inputs,
                        &schema.unwrap_or_else(|| Arc::new(Schema::empty())),
                    )
                }
            };
            assumed.insert(&stage.name, rows);
        }
        Ok(total)
    }

    /// Runs the stages that have not run.
    ///
    /// # Errors
    /// A stage fails, or needs a model that is not there. What was finished is kept.
    pub async fn rest(&mut self, asker: Option<&Asker>) -> Result<(), RunError> {
        self.stages(asker, |_| true).await
    }

    /// Runs the stages of a kind whose inputs have run.
    async fn stages(
        &mut self,
        asker: Option<&Asker>,
        is_wanted: impl Fn(&Stage) -> bool,
    ) -> Result<(), RunError> {
        let stages: Vec<Stage> = self.checked.stages().cloned().collect();
        let of = stages.len();
        for (at, stage) in stages.iter().enumerate() {
            let read = stage.operation.stages();
            let is_ready = read.iter().all(|it| self.done.contains_key(*it));
            if self.done.contains_key(&stage.name) || !is_ready || !is_wanted(stage) {
                continue;
            }
            (self.on)(&Event::StageStarted {
                stage: &stage.name,
                operation: stage.operation.word(),
                at: at + 1,
                of,
            });
            let start = Instant::now();
            let mut done = self.one(stage, asker).await?;
            done.took = start.elapsed();
            (self.on)(&Event::StageFinished {
                stage: &stage.name,
                rows: done.rows.num_rows(),
                seconds: done.took.as_secs_f64(),
            });
            self.done.insert(stage.name.clone(), done);
        }
        Ok(())
    }

    async fn one(&self, stage: &Stage, asker: Option<&Asker>) -> Result<Done, RunError> {
        let rows = |name: &str| self.done[name].rows.clone();
        let operation = match &stage.operation {
            Operation::Sql(sql) => return self.sql(stage, sql, self.room(), &rows).await,
            operation => operation,
        };
        let failed = |cause| RunError::Semantic {
            stage: stage.name.clone(),
            cause: Box::new(cause),
        };
        if let Some(written) = semantic::without_model(operation).map_err(failed)? {
            return self.judged(stage, written);
        }
        let Some(asker) = asker else {
            return Err(RunError::NoModel {
                stage: stage.name.clone(),
                operation: operation.word(),
            });
        };
        let inputs: Vec<RecordBatch> = operation.stages().iter().map(|it| rows(it)).collect();
        let output = semantic::run(asker, operation, &inputs).await;
        self.judged(stage, output.map_err(failed)?)
    }

    /// A semantic stage that has run, if there is room for its rows.
    fn judged(&self, stage: &Stage, output: Output) -> Result<Done, RunError> {
        let (rows, bytes) = (
            output.batch.num_rows(),
            output.batch.get_array_memory_size(),
        );
        if rows as u64 > MOST_ROWS || bytes > self.room() {
            return Err(too_much(stage, self.room()));
        }
        Ok(Done {
            rows: output.batch.clone(),
            took: Duration::ZERO,
            behind: None,
            condition: None,
            pasted: None,
            tie: None,
            tables: Vec::new(),
            is_partial: false,
            notes: output.notes.iter().map(|it| in_stage(stage, it)).collect(),
            judged: Some(output),
        })
    }

    /// Bytes that the rows of another stage may take.
    fn room(&self) -> usize {
        let most = self.engine.limits().memory_bytes / PART;
        let held = self.done.values().map(|it| it.rows.get_array_memory_size());
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        most.saturating_sub(held.sum())
    }

    async fn sql(
        &self,
        stage: &Stage,
        sql: &SqlStage,
        most: usize,
        rows: &(dyn Fn(&str) -> RecordBatch + Sync),
    ) -> Result<Done, RunError> {
        let failed = |cause: SqlError| RunError::Sql {
            stage: stage.name.clone(),
            cause: Box::new(cause),
        };
        let inputs = check::inputs(sql, rows);
        let answer = self.engine.run_over(&sql.statement, inputs).await;
        let mut answer = answer.map_err(failed)?;
        let batch = rows::collected(&mut answer, most).await;
        let batch = batch.map_err(failed)?.filter(|_| !answer.is_truncated());
        let Some(batch) = batch else {
            return Err(too_much(stage, most));
        };
        Ok(Done {
            rows: batch,
            took: Duration::ZERO,
            judged: None,
            behind: answer.behind().cloned(),
            condition: answer.condition().map(str::to_owned),
            pasted: answer.pasted().map(str::to_owned),
            tie: answer.tie(),
            tables: answer
                .tables()
                .map(|(name, lake)| (name.to_owned(), lake.to_owned()))
                .collect(),
            is_partial: answer.is_partial(),
            notes: answer
                .notes()
                .iter()
                .map(|it| in_stage(stage, it))
                .collect(),
        })
    }

    /// Some of the rows that the answer's rows are made of, where it says how.
    ///
    /// # Errors
    /// The statement fails.
    pub async fn behind(&self) -> Result<Option<RecordBatch>, RunError> {
        let name = &self.checked.plan().answer;
        let (Some(stage), Some(done)) = (self.checked.plan().stage(name), self.done.get(name))
        else {
            return Ok(None);
        };
        let (Operation::Sql(sql), Some(behind)) = (&stage.operation, &done.behind) else {
            return Ok(None);
        };
        let failed = |cause: SqlError| RunError::Sql {
            stage: stage.name.clone(),
            cause: Box::new(cause),
        };
        let mut inputs = check::inputs(sql, |name| self.done[name].rows.clone());
        if let Some((name, rows)) = behind.input(&done.rows) {
            inputs = inputs.with(name, rows);
        }
        let engine = self.engine.with_rows(MOST_BEHIND);
        let answer = engine.run_over(behind.sql(), inputs).await;
        let mut answer = answer.map_err(failed)?;
        rows::collected(&mut answer, self.room())
            .await
            .map_err(failed)
    }

    /// What was spent, and the stages that have run, in the order of the plan.
    pub fn ran(&self) -> impl Iterator<Item = (&Stage, &Done)> {
        let stages = self.checked.plan().stages.iter();
        stages.filter_map(|stage| Some((stage, self.done.get(&stage.name)?)))
    }
}

fn too_much(stage: &Stage, most: usize) -> RunError {
    let megabytes = most >> 20;
    RunError::TooMuch {
        stage: stage.name.clone(),
        what: format!("{MOST_ROWS} rows, or the {megabytes} MiB that are left for it"),
    }
}

/// What stopped an estimate: a budget that is smaller than what was counted by then.
fn estimating(stage: &Stage, cause: SemanticError) -> RunError {
    match cause {
        SemanticError::TokensSpent(counted) => RunError::Endless { counted },
        cause => RunError::Semantic {
            stage: stage.name.clone(),
            cause: Box::new(cause),
        },
    }
}

fn in_stage(stage: &Stage, note: &str) -> String {
    format!("stage '{}': {}", stage.name, one_line(note))
}
