//! sem_filter: the rows of which a sentence is true.
//!
//! The model chooses between yes and no; a row is kept where yes is as probable, of the two, as the
//! threshold says. A question that has no answer keeps no row, and is counted.

use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use limn_models::LanguageModel;

use super::asker::Asker;
use super::cascade;
use super::error::SemanticError;
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, filled, long_lines, sentence};
use super::rows::{Distinct, Texts, places};
use crate::plan::{Instruction, SemFilter};

/// The probability of yes from which a row is kept.
const THRESHOLD: f64 = 0.5;

const BETWEEN: &str = "<row> and </row>, and between <sentence> and </sentence>,";
const TASK: &str = "You decide whether a sentence is true, by what you know of the world. Answer \
                    with one word: yes or no.";

/// What is known of a row's sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) keeps: bool,
    /// How probable the model finds it, where it was asked and says so.
    pub(super) sure: Option<f32>,
}

impl Verdict {
    pub(super) fn of(answer: &Answer, threshold: f64) -> Verdict {
        let sure = answer.probability(0);
        let keeps = match sure {
            Some(sure) => f64::from(sure) >= threshold,
            None => matches!(answer.chosen(), Some((0, _))),
        };
        Verdict { keeps, sure }
    }
}

/// A sentence about distinct inputs, which a model judges.
pub(super) struct Judging<'a> {
    pub(super) asker: &'a Asker,
    pub(super) question: Question,
    pub(super) instruction: &'a Instruction,
    pub(super) texts: &'a Texts,
    pub(super) distinct: &'a Distinct,
    pub(super) threshold: f64,
}

impl Judging<'_> {
    /// Verdicts on these inputs, in order; `None` where the model failed.
    pub(super) async fn judge(
        &self,
        inputs: &[usize],
    ) -> Result<Vec<Option<Verdict>>, SemanticError> {
        let own = |at: usize| {
            let row = self.texts.row(self.distinct.firsts[inputs[at]]);
            about_row(
                self.asker.model(),
                &self.question,
                self.instruction,
                self.texts,
                &row,
                "sentence",
            )
        };
        let answers = self.asker.ask(&self.question, inputs.len(), own).await?;
        let verdict = |answer: Option<Answer>| answer.map(|it| Verdict::of(&it, self.threshold));
        Ok(answers.into_iter().map(verdict).collect())
    }
}

pub(super) fn schema(filter: &SemFilter, input: &SchemaRef) -> Result<Schema, SemanticError> {
    let columns = filter.instruction.columns();
    if columns.is_empty() {
        return Err(SemanticError::NoColumns(filter.instruction.to_string()));
    }
    places(input, &columns)?;
    share("threshold", filter.threshold)?;
    if let Some(cascade) = &filter.cascade {
        share("recall", Some(cascade.recall))?;
        share("precision", Some(cascade.precision))?;
        share("confidence", cascade.confidence)?;
        if cascade.confidence.is_some_and(|it| it >= 1.0) {
            return Err(SemanticError::OutOfBounds {
                what: "confidence",
                found: "1".to_owned(),
                wanted: "below 1: nothing is certain of a sample",
            });
        }
    }
    Ok(input.as_ref().clone())
}

fn share(what: &'static str, number: Option<f64>) -> Result<(), SemanticError> {
    match number {
        Some(number) if !(0.0..=1.0).contains(&number) => Err(SemanticError::OutOfBounds {
            what,
            found: number.to_string(),
            wanted: "0 to 1",
        }),
        _ => Ok(()),
    }
}

pub(super) async fn run(
    asker: &Asker,
    filter: &SemFilter,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    schema(filter, &batch.schema())?;
    let places = places(&batch.schema(), &filter.instruction.columns())?;
    let texts = Texts::new(batch, &places)?;
    let distinct = texts.distinct();
    let judging = Judging {
        asker,
        question: question(asker, filter)?,
        instruction: &filter.instruction,
        texts: &texts,
        distinct: &distinct,
        threshold: filter.threshold.unwrap_or(THRESHOLD),
    };
    let mut notes = Vec::new();
    let all: Vec<usize> = (0..distinct.firsts.len()).collect();
    let verdicts = match &filter.cascade {
        None => judging.judge(&all).await?,
        Some(targets) => cascade::judge(&judging, filter, targets, &mut notes).await?,
    };
    let failed = verdicts.iter().filter(|it| it.is_none()).count() as u64;
    let mut rows = Vec::new();
    let mut sure = Vec::new();
    for (row, input) in distinct.of_row.iter().enumerate() {
        let verdict = input.and_then(|input| verdicts[input]);
        if let Some(Verdict {
            keeps: true,
            sure: how,
        }) = verdict
        {
            rows.push(row as u64);
            sure.push(how);
        }
    }
    let judged = verdicts.iter().flatten().count();
    if rows.is_empty() && judged > 0 {
        notes.push(format!("the model said no to each of {judged} values"));
    }
    note_unasked(&distinct, "kept", &mut notes);
    let without = verdicts.iter().flatten().any(|it| it.sure.is_none());
    if without && filter.cascade.is_none() {
        notes.push("the model gives no probabilities: rows are kept by its word".to_owned());
    }
    Ok(Output {
        batch: take_record_batch(batch, &UInt64Array::from(rows))?,
        judged: vec![Judged::rows(sure)],
        failed,
        cites: None,
        notes,
    })
}

fn question(asker: &Asker, filter: &SemFilter) -> Result<Question, SemanticError> {
    Question::new(
        asker.model(),
        Wording {
            task: TASK,
            between: BETWEEN,
            noun: None,
            instruction: sentence(&filter.instruction),
            values: filter.instruction.columns().len(),
            ending: "Is the sentence true? Answer yes or no.",
            form: Form::words(["yes", "no"]),
        },
    )
}

/// A prompt's own part about one row: its long values, and the sentence with the others.
pub(super) fn about_row(
    model: &dyn LanguageModel,
    question: &Question,
    instruction: &Instruction,
    texts: &Texts,
    row: &[Option<&str>],
    mark: &str,
) -> String {
    let of = texts.columns.iter().zip(row);
    let value = |name: &str| {
        of.clone()
            .find(|(column, _)| *column == name)
            .and_then(|it| *it.1)
    };
    let sentence = filled(instruction, value);
    match long_lines(model, &texts.names, row, question.room()) {
        Some(long) => question.own(&[("row", &long), (mark, &sentence)]),
        None => question.own(&[(mark, &sentence)]),
    }
}

/// Says how many rows have no value to ask about.
pub(super) fn note_unasked(distinct: &Distinct, what: &str, notes: &mut Vec<String>) {
    match distinct.without_values() {
        0 => {}
        1 => notes.push(format!(
            "1 row has no value to be asked about: it is not {what}"
        )),
        rows => notes.push(format!(
            "{rows} rows have no value to be asked about: they are not {what}"
        )),
    }
}
