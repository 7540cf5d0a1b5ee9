//! sem_map and sem_extract: columns more, of declared types.
//!
//! A column whose texts are few single words, or yes and no, is chosen; others are written and
//! parsed. What does not fit is NULL, and counted. sem_extract asks for all its columns at once, a
//! line each.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};

use super::asker::Asker;
use super::error::SemanticError;
use super::filter::{about_row, note_unasked};
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, one_line, row_lines, sentence, shown_name};
use super::rows::{Distinct, Texts, places, with_columns};
use super::value::{Shape, Value};
use crate::plan::{ColumnSpec, Instruction, SemExtract, SemMap};

/// Tokens around a column's value on its line, and of all lines at most.
const LINE: usize = 12;
const LINES: usize = 768;
/// Tokens of a colon and the end of a line.
const COLON: usize = 2;

const MAP: &str = "You give a value, by what you know of the world. Answer with the value alone, \
                   on one line.";
const UNKNOWN: &str = " Answer unknown only if it cannot be known.";
const EXTRACT: &str = "You draw values out of a row of a table. Answer with one line for each \
                       value: its name, a colon, the value. Where the row does not say it, write: \
                       unknown.";

/// What a model wrote for one input: a value for each column, and how sure it is.
type Written = Vec<Option<(Value, Option<f32>)>>;

pub(super) fn map_schema(map: &SemMap, input: &SchemaRef) -> Result<Schema, SemanticError> {
    schema(&map.instruction, std::slice::from_ref(&map.output), input)
}

pub(super) fn extract_schema(
    extract: &SemExtract,
    input: &SchemaRef,
) -> Result<Schema, SemanticError> {
    if extract.outputs.is_empty() {
        return Err(SemanticError::NoOutputs);
    }
    schema(&extract.instruction, &extract.outputs, input)
}

fn schema(
    instruction: &Instruction,
    outputs: &[ColumnSpec],
    input: &SchemaRef,
) -> Result<Schema, SemanticError> {
    let columns = instruction.columns();
    if columns.is_empty() {
        return Err(SemanticError::NoColumns(instruction.to_string()));
    }
    places(input, &columns)?;
    let mut fields = input.fields().to_vec();
    for output in outputs {
        let folded = output.name.to_lowercase();
        if fields.iter().any(|it| it.name().to_lowercase() == folded) {
            return Err(SemanticError::ColumnTaken(output.name.clone()));
        }
        fields.push(Arc::new(Shape::new(output)?.field()));
    }
    Ok(Schema::new(fields))
}

pub(super) async fn run_map(
    asker: &Asker,
    map: &SemMap,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    let schema = map_schema(map, &batch.schema())?;
    let shape = Shape::new(&map.output)?;
    let unknown = if shape.is_any() { UNKNOWN } else { "" };
    let ending = format!(
        "Give what is wanted, as {}: {}. Answer with the value alone.{unknown}",
        shown_name(shape.name()),
        shape.wanted(),
    );
    let question = Question::new(
        asker.model(),
        Wording {
            task: MAP,
            between: "<row> and </row>, and between <wanted> and </wanted>,",
            noun: None,
            instruction: sentence(&map.instruction),
            values: map.instruction.columns().len(),
            ending: &ending,
            form: shape.form(|it| asker.model().count_tokens(it)),
        },
    )?;
    let writing = Writing {
        asker,
        instruction: &map.instruction,
        shapes: vec![shape],
        question,
        schema,
        is_one: true,
    };
    writing.run(batch).await
}

pub(super) async fn run_extract(
    asker: &Asker,
    extract: &SemExtract,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    let schema = extract_schema(extract, &batch.schema())?;
    let shapes = extract.outputs.iter().map(Shape::new);
    let shapes: Vec<Shape> = shapes.collect::<Result<_, _>>()?;
    let lines = shapes
        .iter()
        .map(|it| format!("{}: ({})", shown_name(it.name()), it.wanted()));
    let lines: Vec<String> = lines.collect();
    let ending = format!(
        "Answer with these lines, each with its value:\n{}",
        lines.join("\n")
    );
    let tokens = shapes.iter().map(|it| it.tokens() + LINE).sum::<usize>();
    let count = |text: &str| asker.model().count_tokens(text);
    let line = |it: &Shape| count(&shown_name(it.name())) + COLON + it.likely(count);
    let likely = shapes.iter().map(line).sum();
    let question = Question::new(
        asker.model(),
        Wording {
            task: EXTRACT,
            between: "<row> and </row>",
            noun: Some("Source"),
            instruction: sentence(&extract.instruction),
            values: 0,
            ending: &ending,
            form: Form::text(tokens.min(LINES), likely),
        },
    )?;
    let writing = Writing {
        asker,
        instruction: &extract.instruction,
        shapes,
        question,
        schema,
        is_one: false,
    };
    writing.run(batch).await
}

/// The value that each column has on its line.
fn lines_of(shapes: &[Shape], answer: &Answer) -> Written {
    let Answer::Written { text, is_whole } = answer else {
        return shapes.iter().map(|_| None).collect();
    };
    let lines: Vec<&str> = text.lines().filter(|it| !it.trim().is_empty()).collect();
    let value = |shape: &Shape| {
        let name = shown_name(shape.name()).to_lowercase();
        let found = lines.iter().enumerate().find_map(|(at, line)| {
            let (before, after) = line.split_once(':')?;
            let before = one_line(before, 200).to_lowercase();
            let before = before.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let named = before == name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            named.then_some((after, *is_whole || at + 1 < lines.len()))
        });
        let (after, is_whole) = found?;
        shape.of_line(after, is_whole).map(|value| (value, None))
    };
    shapes.iter().map(value).collect()
}

/// Columns that a model is to write.
struct Writing<'a> {
    asker: &'a Asker,
    instruction: &'a Instruction,
    shapes: Vec<Shape>,
    question: Question,
    schema: Schema,
    /// Whether the answer is the value of one column, and not a line for each.
    is_one: bool,
}

impl Writing<'_> {
    async fn run(self, batch: &RecordBatch) -> Result<Output, SemanticError> {
        let places = places(&batch.schema(), &self.instruction.columns())?;
        let texts = Texts::new(batch, &places)?;
        let distinct = texts.distinct();
        let own = |at: usize| self.own(&texts, &texts.row(distinct.firsts[at]));
        let count = distinct.firsts.len();
        let answers = self.asker.ask(&self.question, count, own).await?;
        let written = answers.iter().map(|answer| match answer {
            Some(answer) if self.is_one => vec![self.shapes[0].of_answer(answer)],
            Some(answer) => lines_of(&self.shapes, answer),
            None => self.shapes.iter().map(|_| None).collect(),
        });
        let written: Vec<Written> = written.collect();
        let failed = written.iter().flatten().filter(|it| it.is_none()).count() as u64;
        let mut judged = Vec::new();
        let mut columns = Vec::new();
        for (at, shape) in self.shapes.iter().enumerate() {
            let (values, sure) = of_rows(&distinct, &written, at);
            columns.push(shape.array(&values));
            judged.push(Judged::column(shape.name(), sure));
        }
        let mut notes = Vec::new();
        note_unasked(&distinct, "given one", &mut notes);
        Ok(Output {
            batch: with_columns(batch, Arc::new(self.schema), columns)?,
            judged,
            failed,
            cites: None,
            notes,
        })
    }

    fn own(&self, texts: &Texts, row: &[Option<&str>]) -> String {
        let (model, question) = (self.asker.model(), &self.question);
        match self.is_one {
            true => about_row(model, question, self.instruction, texts, row, "wanted"),
            false => {
                let text = row_lines(model, &texts.names, row, question.room());
                question.own(&[("row", &text)])
            }
        }
    }
}

/// A column's values for all rows, and how sure they are.
fn of_rows(
    distinct: &Distinct,
    written: &[Written],
    column: usize,
) -> (Vec<Option<Value>>, Vec<Option<f32>>) {
    let of_row = distinct.of_row.iter().map(|input| {
        let (value, sure) = written[(*input)?][column].clone()?;
        Some((value, sure))
    });
    let of_row = of_row.map(|it| it.map_or((None, None), |(value, sure)| (Some(value), sure)));
    of_row.unzip()
}
