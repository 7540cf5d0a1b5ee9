//! Semantic operators: rows filtered, extended, ranked, summed up and joined by a language model,
//! by instructions that name columns as `{column}` (LOTUS, 2024; TAG, CIDR 2025).
//!
//! [`run`] runs one stage over the rows of its inputs, [`estimate`] says what that would ask, and
//! [`output_schema`] which columns come out.
//!
//! | file | what it does |
//! |---|---|
//! | `filter`, `map`, `topk`, `agg`, `join`, `fact` | an operator each |
//! | `cascade` | clear rows of a filter decided by a cheap score, with bounds |
//! | `question` | prompts: what is asked, and rows as data |
//! | `rows`, `value` | rows to texts; answers to values of declared types |
//! | `asker`, `kept` | many questions at once, within a budget; answers that are kept |
//!
//! **Guarantees.** A model is asked about distinct inputs, once: rows that have the same values in
//! the instruction's columns share an answer, and an answer that is kept is not asked for again, so
//! that a stage that runs again gives the same bytes. Rows keep their order, and which are asked at
//! the same time changes nothing. A question that fails is a NULL (or a row that is not kept, a
//! comparison without effect, a part that is in no text) and counted; it is asked again by the next
//! run. A budget ends a stage with an error; what was answered by then is kept, also where the
//! future is dropped, if [`Asker::keep`] is called. A cell stands between delimiters that it cannot
//! write, and changes the form of no prompt and of no answer.
//!
//! **Non-guarantees.** What the model says. Text that is written to turn a verdict may turn it.

mod agg;
mod asker;
mod cascade;
mod error;
mod fact;
mod filter;
mod join;
mod kept;
mod map;
mod output;
mod question;
mod rows;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod topk;
mod value;

use std::borrow::Cow;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};

pub use asker::{Asker, Budget, Spent};
pub use error::{KeptError, SemanticError};
pub use kept::{
    Answer, AnswerFiles, Answers, AnswersInIndex, AnswersInMemory, KeptAnswers, Key, Scope,
};
pub use output::{Estimate, Judged, Output};
pub use question::PROMPT_VERSION;

use crate::plan::Operation;

/// The columns that come out of a stage; `inputs` are those of [`Operation::stages`], in that
/// order.
///
/// # Errors
/// What is wrong with the operation: columns that are not there, names that are taken, bounds.
pub fn output_schema(operation: &Operation, inputs: &[SchemaRef]) -> Result<Schema, SemanticError> {
    let operation = &*with_all(operation, inputs);
    let one = || Ok::<&SchemaRef, SemanticError>(given(operation, inputs)?.0);
    match operation {
        Operation::Sql(_) => Err(SemanticError::NotSemantic(operation.word())),
        Operation::SemFilter(filter) => filter::schema(filter, one()?),
        Operation::SemMap(map) => map::map_schema(map, one()?),
        Operation::SemExtract(extract) => map::extract_schema(extract, one()?),
        Operation::SemTopK(topk) => topk::schema(topk, one()?),
        Operation::SemAgg(agg) => agg::schema(agg, one()?),
        Operation::SemJoin(join) => {
            let (left, right) = given(operation, inputs)?;
            join::schema(join, left, right)
        }
        Operation::SemFact(fact) => fact::schema(fact),
    }
}

/// The rows of a stage that needs no model: a fact whose values somebody has written.
///
/// # Errors
/// Values that are none of the column's.
pub fn without_model(operation: &Operation) -> Result<Option<Output>, SemanticError> {
    match operation {
        Operation::SemFact(fact) => fact::written(fact),
        _ => Ok(None),
    }
}

/// Runs a stage; `inputs` are the rows of [`Operation::stages`], in that order. Dropping the future
/// gives it up.
///
/// # Errors
/// Those of [`output_schema`]; the budget is spent, or the model fails every time: what was
/// answered by then is kept.
pub async fn run(
    asker: &Asker,
    operation: &Operation,
    inputs: &[RecordBatch],
) -> Result<Output, SemanticError> {
    let result = dispatch(asker, operation, inputs).await;
    let kept = asker.keep().await;
    let mut output = result?;
    output.notes.extend(asker.take_notes());
    if let Err(error) = kept {
        tracing::warn!(%error, "answers could not be kept");
        output
            .notes
            .push("answers could not be kept, and will be asked again".to_owned());
    }
    Ok(output)
}

/// What a stage would ask of the model, without asking it. Where it depends on answers that are not
/// kept (which rows a cascade or a ranking compares), these are made up.
///
/// # Errors
/// Those of [`output_schema`]; an embedder that is missing or fails.
pub async fn estimate(
    asker: &Asker,
    operation: &Operation,
    inputs: &[RecordBatch],
) -> Result<Estimate, SemanticError> {
    let asker = asker.estimating();
    dispatch(&asker, operation, inputs).await?;
    let spent = asker.spent();
    Ok(Estimate {
        calls: spent.calls,
        kept: spent.kept,
        prompt_tokens: spent.prompt_tokens,
        generated_tokens: spent.generated_tokens,
    })
}

async fn dispatch(
    asker: &Asker,
    operation: &Operation,
    inputs: &[RecordBatch],
) -> Result<Output, SemanticError> {
    let schemas: Vec<SchemaRef> = inputs.iter().map(RecordBatch::schema).collect();
    let operation = &*with_all(operation, &schemas);
    let one = || Ok::<&RecordBatch, SemanticError>(given(operation, inputs)?.0);
    match operation {
        Operation::Sql(_) => Err(SemanticError::NotSemantic(operation.word())),
        Operation::SemFilter(filter) => filter::run(asker, filter, one()?).await,
        Operation::SemMap(map) => map::run_map(asker, map, one()?).await,
        Operation::SemExtract(extract) => map::run_extract(asker, extract, one()?).await,
        Operation::SemTopK(topk) => topk::run(asker, topk, one()?).await,
        Operation::SemAgg(agg) => agg::run(asker, agg, one()?).await,
        Operation::SemJoin(join) => {
            let (left, right) = given(operation, inputs)?;
            join::run(asker, join, left, right).await
        }
        Operation::SemFact(fact) => fact::run(asker, fact).await,
    }
}

/// The operation, with the names of the columns where its sentence has all of them.
fn with_all<'a>(operation: &'a Operation, inputs: &[SchemaRef]) -> Cow<'a, Operation> {
    let mut named = operation.clone();
    let sides = match operation {
        Operation::SemJoin(join) => vec![("left", &join.left), ("right", &join.right)],
        _ => Vec::new(),
    };
    let Some(instruction) = named.instruction_mut().filter(|it| it.has_all()) else {
        return Cow::Borrowed(operation);
    };
    let names = |schema: Option<&SchemaRef>, side: &str| {
        let fields = schema.into_iter().flat_map(|it| it.fields().iter());
        let names = fields.map(|it| match side {
            "" => it.name().clone(),
            side => format!("{side}.{}", it.name()),
        });
        names.collect::<Vec<String>>()
    };
    instruction.name_all(|asked| {
        if sides.is_empty() {
            return match asked {
                None => names(inputs.first(), ""),
                // A side of no join is a column that is not there.
                Some(side) => vec![format!("{side}.*")],
            };
        }
        let inputs = [inputs.first(), inputs.last()];
        let wanted = sides.iter().zip(inputs).filter(|((side, stage), _)| {
            asked.is_none_or(|it| it == *side || it == stage.as_str())
        });
        let all: Vec<String> = wanted
            .flat_map(|((side, _), schema)| names(schema, side))
            .collect();
        match (all.is_empty(), asked) {
            (true, Some(side)) => vec![format!("{side}.*")],
            _ => all,
        }
    });
    Cow::Owned(named)
}

/// The first and the last input; a stage that joins another with itself has one.
fn given<'a, T>(operation: &Operation, inputs: &'a [T]) -> Result<(&'a T, &'a T), SemanticError> {
    let expected = operation.stages().len();
    match (inputs.first(), inputs.last()) {
        (Some(first), Some(last)) if inputs.len() == expected => Ok((first, last)),
        _ => Err(SemanticError::Inputs {
            stage: operation.word(),
            expected,
            found: inputs.len(),
        }),
    }
}
