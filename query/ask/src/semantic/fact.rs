//! sem_fact: a value or a list of values that no row holds.
//!
//! A list is one value a line. Where somebody has written the values, no model is asked.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::asker::Asker;
use super::error::SemanticError;
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, shown_name};
use super::value::{Shape, Value};
use crate::plan::Fact;

/// Tokens of a list.
const LIST: usize = 768;
/// Values of a list, as a rule.
const LIKELY: usize = 10;

const ONE: &str = "You know facts of the world. Answer with the value alone, on one line. If you \
                   do not know it, answer: unknown.";
const SEVERAL: &str = "You know facts of the world. Answer with a list, one value a line, with \
                       nothing else. If you do not know it, answer: unknown.";

pub(super) fn schema(fact: &Fact) -> Result<Schema, SemanticError> {
    let shape = Shape::new(&fact.output)?;
    if let Some(values) = &fact.values {
        given(&shape, values)?;
    }
    Ok(Schema::new(vec![shape.field()]))
}

/// The values, where somebody has written them: no model is asked.
pub(super) fn written(fact: &Fact) -> Result<Option<Output>, SemanticError> {
    let Some(values) = &fact.values else {
        return Ok(None);
    };
    let shape = Shape::new(&fact.output)?;
    let column = shape.array(&given(&shape, values)?);
    Ok(Some(Output {
        batch: RecordBatch::try_new(Arc::new(schema(fact)?), vec![column])?,
        judged: Vec::new(),
        failed: 0,
        cites: None,
        notes: Vec::new(),
    }))
}

pub(super) async fn run(asker: &Asker, fact: &Fact) -> Result<Output, SemanticError> {
    if let Some(written) = written(fact)? {
        return Ok(written);
    }
    let schema = Arc::new(schema(fact)?);
    let shape = Shape::new(&fact.output)?;
    let rows = |values: &[Option<Value>]| RecordBatch::try_new(schema, vec![shape.array(values)]);
    let question = question(asker, fact, &shape)?;
    let answers = asker.ask(&question, 1, |_| question.own(&[])).await?;
    let answer = answers.into_iter().next().flatten();
    let mut notes = Vec::new();
    let (values, sure, failed) = match (&answer, fact.list) {
        (Some(Answer::Written { text, is_whole }), true) => {
            let (values, failed) = lines(&shape, text, *is_whole);
            if !is_whole {
                notes.push("the list may go on: the model was cut off".to_owned());
            }
            let sure = vec![None; values.len()];
            (values, sure, failed)
        }
        (Some(answer), false) => match shape.of_answer(answer) {
            Some((value, sure)) => (vec![Some(value)], vec![sure], 0),
            None => (vec![None], vec![None], 1),
        },
        (_, true) => (Vec::new(), Vec::new(), 1),
        (None, false) => (vec![None], vec![None], 1),
    };
    Ok(Output {
        batch: rows(&values)?,
        judged: vec![Judged::column(shape.name(), sure)],
        failed,
        cites: None,
        notes,
    })
}

fn question(asker: &Asker, fact: &Fact, shape: &Shape) -> Result<Question, SemanticError> {
    let (task, ending, form) = match fact.list {
        false => (
            ONE,
            format!("Answer with {}.", shape.wanted()),
            shape.form(|it| asker.model().count_tokens(it)),
        ),
        true => (
            SEVERAL,
            format!(
                "List {} values, one a line; each is {}.",
                shown_name(shape.name()),
                shape.wanted()
            ),
            Form::text(
                LIST.min(asker.model().window() / 2).max(1),
                LIKELY * (shape.likely(|it| asker.model().count_tokens(it)) + 1),
            ),
        ),
    };
    Question::new(
        asker.model(),
        Wording {
            task,
            between: "",
            noun: Some("Wanted"),
            instruction: fact.instruction.clone(),
            values: 0,
            ending: &ending,
            form,
        },
    )
}

/// The values that somebody has written.
fn given(shape: &Shape, values: &[String]) -> Result<Vec<Option<Value>>, SemanticError> {
    let value = |text: &String| match shape.of_text(text.trim()) {
        Some(value) => Ok(Some(value)),
        None => Err(SemanticError::Value {
            value: text.clone(),
            column: shape.name().to_owned(),
            wanted: shape.wanted(),
        }),
    };
    values.iter().map(value).collect()
}

/// The values of a list, each once, and how many lines do not fit.
fn lines(shape: &Shape, text: &str, is_whole: bool) -> (Vec<Option<Value>>, u64) {
    let all: Vec<&str> = text.lines().filter(|it| !it.trim().is_empty()).collect();
    let mut known = HashSet::new();
    let mut values = Vec::new();
    let mut failed = 0;
    for (at, line) in all.iter().enumerate() {
        // What was cut off is no value.
        if !is_whole && at + 1 == all.len() {
            break;
        }
        match shape.of_line(unlisted(line), true) {
            Some(value) => {
                if known.insert(format!("{value:?}").to_lowercase()) {
                    values.push(Some(value));
                }
            }
            None => failed += 1,
        }
    }
    (values, failed)
}

/// A line without the mark or number of a list.
fn unlisted(line: &str) -> &str {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix(['-', '*', '•', '–'])
        && rest.starts_with(' ')
    {
        return rest.trim();
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest.trim(),
        _ => line,
    }
}
