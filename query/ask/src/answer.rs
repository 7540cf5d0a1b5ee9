//! The answer: a sentence or a small table, with the rows that prove it and what it cost.

use std::collections::BTreeSet;

use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::error::ArrowError;
use limn_segment::{TableKey, TableRecord};
use limn_sql::written::json_rows;
use limn_store::one_line;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use xxhash_rust::xxh3::Xxh3;

use crate::check::columns_of;
use crate::plan::{Column, Operation, Plan};
use crate::run::{CostEstimate, Done, Runner};
use crate::semantic::Spent;
use crate::words::{sentence, tie_note};
use crate::write::{Unwritten, Written};

/// Rows of an answer that are given.
pub const MOST_ROWS: usize = 1_000;
/// Bytes of rows that are given, about.
const MOST_BYTES: usize = 8 << 20;
/// Rows that are written before their bytes are looked at.
const AT_A_TIME: usize = 50;
/// Rows of a stage that are shown.
const SHOWN: usize = 5;
/// Rows that a model cites which are given.
const MOST_CITED: usize = 100;

/// The answer to a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AskAnswer {
    /// The question.
    pub question: String,
    /// The answer in words; null where the question cannot be answered, which the notes explain.
    pub answer: Option<String>,
    /// The columns of the rows.
    pub columns: Vec<Column>,
    /// The rows of the answer, the first 1,000.
    #[schema(value_type = Vec<Vec<Value>>)]
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows.
    pub truncated: bool,
    /// The plan that was run, or would be.
    pub plan: Option<Plan>,
    /// The tables that it reads, each with what it was of.
    pub tables: Vec<AskedTable>,
    /// The rows that prove it.
    pub citations: Vec<Citation>,
    /// What a model decided, stage by stage.
    pub model_judged: Vec<Judged>,
    /// The stages that ran, with their first rows.
    pub stages: Vec<StageRows>,
    /// What it costs.
    pub cost: Cost,
    /// Whether rows are missing, since files could not be read; the notes name them.
    pub is_partial: bool,
    /// What to know of the answer, one line each.
    pub notes: Vec<String>,
}

/// A table that an answer reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AskedTable {
    /// Its name.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// The snapshot of the index.
    pub snapshot: u64,
    /// A fingerprint of its files' versions: equal versions, equal rows.
    pub version: String,
    /// Its files.
    pub files: usize,
}

/// Rows that an answer rests on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Citation {
    /// The stage that they are of.
    pub stage: String,
    /// The number of each row among the stage's rows, from 1; for rows behind a count or a sum,
    /// among those.
    pub rows: Vec<u64>,
    /// Their columns.
    pub columns: Vec<Column>,
    /// Their values.
    #[schema(value_type = Vec<Vec<Value>>)]
    pub values: Vec<Vec<Value>>,
    /// What they are: `behind` where the answer counts, sums or groups them, `cited` where a model
    /// names them.
    pub kind: String,
}

/// What a model decided in a stage.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Judged {
    /// The stage.
    pub stage: String,
    /// Its operation.
    pub operation: String,
    /// The column that the model wrote, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// How sure it was, on the average: 0.5 to 1; null from a model that gives no probabilities.
    pub sure: Option<f64>,
    /// Answers that failed, and are NULL.
    pub failed: u64,
}

/// A stage that ran.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StageRows {
    /// Its name.
    pub stage: String,
    /// Its operation.
    pub operation: String,
    /// Its statement as `limn sql` takes it; null where it reads other stages, or is no SQL.
    pub sql: Option<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// How many rows it has.
    pub row_count: usize,
    /// The first of them.
    #[schema(value_type = Vec<Vec<Value>>)]
    pub first_rows: Vec<Vec<Value>>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// What an answer costs.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Cost {
    /// What was expected before a model was asked to run the plan.
    #[serde(rename = "told")]
    pub estimate: CostEstimate,
    /// What was spent to run it.
    pub spent: SpentTokens,
    /// What was spent to write the plan.
    pub writing: SpentTokens,
    /// How long all took, in seconds.
    pub seconds: f64,
}

/// What a model was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct SpentTokens {
    /// Questions to the model.
    pub calls: u64,
    /// Answers that were known already.
    pub kept: u64,
    /// Tokens of prompts.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub generated_tokens: u64,
}

impl From<Spent> for SpentTokens {
    fn from(spent: Spent) -> SpentTokens {
        SpentTokens {
            calls: spent.calls,
            kept: spent.kept,
            prompt_tokens: spent.prompt_tokens,
            generated_tokens: spent.generated_tokens,
        }
    }
}

impl AskAnswer {
    /// An answer without one: why not is in the notes.
    #[must_use]
    pub fn none(question: &str, notes: Vec<String>) -> AskAnswer {
        AskAnswer {
            question: question.to_owned(),
            answer: None,
            columns: Vec::new(),
            rows: Vec::new(),
            truncated: false,
            plan: None,
            tables: Vec::new(),
            citations: Vec::new(),
            model_judged: Vec::new(),
            stages: Vec::new(),
            cost: Cost::default(),
            is_partial: false,
            notes,
        }
    }
}

/// The answer of a plan of which some stages have run. `behind` are rows that its rows are made of.
///
/// # Errors
/// None for the rows that stages have.
pub(crate) fn of_run(
    runner: &Runner<'_>,
    behind: Option<&RecordBatch>,
) -> Result<AskAnswer, ArrowError> {
    let plan = runner.checked().plan();
    let mut answer = AskAnswer::none(&plan.question, runner.checked().notes().to_vec());
    answer.plan = Some(plan.clone());
    for (stage, done) in runner.ran() {
        let operation = stage.operation.word().to_owned();
        answer.stages.push(StageRows {
            stage: stage.name.clone(),
            operation: operation.clone(),
            sql: done.pasted.clone(),
            columns: columns_of(&done.rows.schema()),
            row_count: done.rows.num_rows(),
            first_rows: values(&done.rows, SHOWN)?,
            seconds: done.took.as_secs_f64(),
        });
        answer.notes.extend(done.notes.iter().cloned());
        if let Some(tie) = &done.tie {
            let (columns, tied) = (
                columns_of(&tie.rows.schema()),
                values(&tie.rows, usize::MAX)?,
            );
            let note = tie_note(tie, &columns, &tied);
            answer.notes.push(match stage.name == plan.answer {
                true => note,
                false => format!("stage '{}': {note}", stage.name),
            });
        }
        answer.is_partial |= done.is_partial;
        answer.judged(&stage.name, &operation, done);
        if let Operation::SemAgg(agg) = &stage.operation
            && let Some(read) = runner.done(&agg.input)
        {
            answer.citations.extend(cited(&agg.input, read, done)?);
        }
        for (table, lake) in &done.tables {
            let asked = AskedTable {
                table: table.clone(),
                lake: lake.clone(),
                snapshot: 0,
                version: String::new(),
                files: 0,
            };
            if !answer.tables.contains(&asked) {
                answer.tables.push(asked);
            }
        }
    }
    if let Some(done) = runner.done(&plan.answer) {
        answer.columns = columns_of(&done.rows.schema());
        answer.rows = values(&done.rows, MOST_ROWS)?;
        answer.truncated = done.rows.num_rows() > answer.rows.len();
        answer.answer = Some(sentence(&answer.columns, &answer.rows, done));
        if let Some(behind) = behind {
            answer.citations.push(Citation {
                stage: plan.answer.clone(),
                rows: (1..).take(behind.num_rows()).collect(),
                columns: columns_of(&behind.schema()),
                values: values(behind, usize::MAX)?,
                kind: "behind".to_owned(),
            });
        }
    }
    Ok(answer)
}

impl AskAnswer {
    /// The answer to a question for which no plan was written: why, and what was looked at.
    /// `remedy` is what to do where no statement could be written, in the words of the
    /// program that answers.
    #[must_use]
    pub fn unanswered(question: &str, written: &Written, remedy: &str) -> AskAnswer {
        let head = match written.unwritten {
            Some(Unwritten::NothingFits | Unwritten::AllEmpty | Unwritten::NoTables) => {
                "cannot be answered from this lake"
            }
            _ => "not answered",
        };
        let why = written.unwritten;
        let why = why.map_or_else(String::new, |why| why.to_string());
        let mut notes = vec![format!("{head}: {why}")];
        let lists = [
            ("no rule reads:", &written.unread),
            ("looked at", &written.looked_at),
        ];
        for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            let names: Vec<String> = names.iter().map(|it| one_line(it)).collect();
            notes.push(format!("{what} {}", names.join(", ")));
        }
        if matches!(
            written.unwritten,
            Some(Unwritten::NoRule | Unwritten::AllFailed)
        ) {
            notes.push(remedy.to_owned());
        }
        // A search that finds nothing says so, too.
        let further = written.notes.iter().filter(|it| **it != why);
        notes.extend(further.cloned());
        AskAnswer::none(question, notes)
    }

    /// The keys of the tables that it reads.
    pub fn table_keys(&self) -> impl Iterator<Item = TableKey> {
        self.tables.iter().map(|it| TableKey {
            lake: it.lake.clone(),
            name: it.table.clone(),
        })
    }

    /// Says what its tables were of: a snapshot, and the records of them there.
    pub fn of_snapshot<'r>(
        &mut self,
        snapshot: u64,
        record: impl Fn(&TableKey) -> Option<&'r TableRecord>,
    ) {
        let keys: Vec<TableKey> = self.table_keys().collect();
        for (table, key) in self.tables.iter_mut().zip(keys) {
            table.snapshot = snapshot;
            if let Some(record) = record(&key) {
                table.version = version(record);
                table.files = record.files.len();
            }
        }
    }

    /// Notes what a model decided in a stage.
    fn judged(&mut self, stage: &str, operation: &str, done: &Done) {
        let Some(output) = &done.judged else {
            return;
        };
        if output.failed > 0 {
            let then = match operation {
                "sem_filter" | "sem_join" => "their rows are left out",
                "sem_topk" => "they decide nothing",
                "sem_agg" => "what they were to say is missing",
                _ => "they are NULL",
            };
            self.notes.push(format!(
                "stage '{stage}': {} of the model's answers failed, and {then}",
                output.failed
            ));
        }
        for judged in &output.judged {
            self.model_judged.push(Judged {
                stage: stage.to_owned(),
                operation: operation.to_owned(),
                column: judged.column.clone(),
                sure: mean(&judged.sure),
                failed: output.failed,
            });
        }
    }
}

/// The rows of a stage that the texts made of them cite, the first so many.
fn cited(stage: &str, read: &Done, done: &Done) -> Result<Option<Citation>, ArrowError> {
    let cites = done.judged.as_ref().and_then(|it| it.cites.as_ref());
    let places: BTreeSet<u64> = cites.into_iter().flatten().flatten().copied().collect();
    let places: Vec<u64> = places.into_iter().take(MOST_CITED).collect();
    if places.is_empty() {
        return Ok(None);
    }
    let rows = take_record_batch(&read.rows, &UInt64Array::from(places.clone()))?;
    Ok(Some(Citation {
        stage: stage.to_owned(),
        rows: places.iter().map(|place| place + 1).collect(),
        columns: columns_of(&rows.schema()),
        values: values(&rows, usize::MAX)?,
        kind: "cited".to_owned(),
    }))
}

/// How sure a model was of what it said, on the average.
fn mean(sure: &[Option<f32>]) -> Option<f64> {
    let said = sure.iter().flatten();
    let (sum, count) = said.fold((0.0, 0_u32), |(sum, count), it| {
        (sum + f64::from(*it), count + 1)
    });
    (count > 0).then(|| sum / f64::from(count))
}

/// Rows as JSON values, the first so many.
fn values(batch: &RecordBatch, most: usize) -> Result<Vec<Vec<Value>>, ArrowError> {
    let mut text = String::from("[");
    let most = most.min(batch.num_rows());
    let mut at = 0;
    while at < most && text.len() < MOST_BYTES {
        let some = AT_A_TIME.min(most - at);
        json_rows(&batch.slice(at, some), at == 0, &mut text)?;
        at += some;
    }
    text.push(']');
    serde_json::from_str(&text).map_err(|error| ArrowError::JsonError(error.to_string()))
}

/// A fingerprint of the versions of a table's files.
fn version(record: &TableRecord) -> String {
    let mut hash = Xxh3::new();
    for file in &record.files {
        for part in [Some(&file.path), file.etag.as_ref(), file.version.as_ref()] {
            hash.update(part.map_or(&[][..], |it| it.as_bytes()));
            hash.update(&[0]);
        }
        hash.update(&file.size.to_le_bytes());
        hash.update(&file.modified_ms.to_le_bytes());
    }
    format!("{:032x}", hash.digest128())
}
