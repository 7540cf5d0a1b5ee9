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
use super::filter::note_unasked;
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, one_line, row_lines, sentence, shown_name};
use super::rows::{Distinct, Texts, places, with_columns};
use super::value::{Shape, Value};
use crate::plan::{ColumnSpec, Instruction, SemExtract, SemMap};

/// Tokens around a column's value on its line, and of all lines at most.
const LINE: usize = 12;
const LINES: usize = 768;

const MAP: &str = "You give a value for a row of a table. Names in braces stand for the row's \
                   values. Use what you know of the world. Answer with the value alone, on one \
                   line. If it cannot be known, answer: unknown.";
const EXTRACT: &str = "You draw values out of a row of a table. Names in braces stand for the \
                       row's values. Answer with one line for each value: its name, a colon, the \
                       value. Where the row does not say it, write: unknown.";

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
    let ending = format!(
        "Give {} for the row: {}.{}",
        shown_name(shape.name()),
        shape.wanted(),
        match shape.form() {
            Form::Choose(_) => "",
            Form::Write { .. } => " Answer with the value alone.",
        }
    );
    let question = Question::new(
        asker.model(),
        Wording {
            task: MAP,
            between: "<row> and </row>",
            noun: "Wanted",
            instruction: sentence(&map.instruction),
            ending: &ending,
            form: shape.form(),
        },
    )?;
    let read = |shapes: &[Shape], answer: &Answer| vec![shapes[0].of_answer(answer)];
    run(
        asker,
        &map.instruction,
        &[shape],
        question,
        read,
        schema,
        batch,
    )
    .await
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
    let question = Question::new(
        asker.model(),
        Wording {
            task: EXTRACT,
            between: "<row> and </row>",
            noun: "Source",
            instruction: sentence(&extract.instruction),
            ending: &ending,
            form: Form::text(tokens.min(LINES)),
        },
    )?;
    run(
        asker,
        &extract.instruction,
        &shapes,
        question,
        lines_of,
        schema,
        batch,
    )
    .await
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

async fn run(
    asker: &Asker,
    instruction: &Instruction,
    shapes: &[Shape],
    question: Question,
    read: impl Fn(&[Shape], &Answer) -> Written,
    schema: Schema,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    let places = places(&batch.schema(), &instruction.columns())?;
    let texts = Texts::new(batch, &places)?;
    let distinct = texts.distinct();
    let own = |at: usize| {
        let row = texts.row(distinct.firsts[at]);
        let text = row_lines(asker.model(), &texts.names, &row, question.room());
        question.own(&[("row", &text)])
    };
    let answers = asker.ask(&question, distinct.firsts.len(), own).await?;
    let written = answers.iter().map(|answer| match answer {
        Some(answer) => read(shapes, answer),
        None => shapes.iter().map(|_| None).collect(),
    });
    let written: Vec<Written> = written.collect();
    let failed = written.iter().flatten().filter(|it| it.is_none()).count() as u64;
    let mut judged = Vec::new();
    let mut columns = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        let (values, sure) = of_rows(&distinct, &written, at);
        columns.push(shape.array(&values));
        judged.push(Judged::column(shape.name(), sure));
    }
    let mut notes = Vec::new();
    note_unasked(&distinct, "given one", &mut notes);
    Ok(Output {
        batch: with_columns(batch, Arc::new(schema), columns)?,
        judged,
        failed,
        cites: None,
        notes,
    })
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
