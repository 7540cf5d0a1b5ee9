//! sem_join: pairs of rows of which a sentence is true.
//!
//! Every pair of distinct inputs is judged where these are few. Of more, each left input is judged
//! with the right inputs that are most like it (cosine of an embedder), so many of them as the plan
//! says: how many that are is known before anything is asked.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use limn_models::LanguageModel;

use super::asker::Asker;
use super::cascade::dot;
use super::error::SemanticError;
use super::filter::{Verdict, note_unasked};
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, filled, long_lines, sentence};
use super::rows::{Distinct, Texts, place, unknown};
use crate::plan::SemJoin;

/// Right inputs that are judged for each left one, unless said.
const CANDIDATES: u64 = 20;
/// Pairs that are all judged, where the plan does not say how many candidates there are.
const ALL_PAIRS: usize = 400;
/// Pairs whose likeness is computed, at most.
const LIKENESSES: usize = 1 << 24;
/// Pairs that are judged, at most.
const JUDGED: usize = 1 << 20;
/// Rows that may come out.
const MOST_ROWS: usize = 1_000_000;
/// The probability of yes from which a pair is kept.
const THRESHOLD: f64 = 0.5;

const BETWEEN: &str = "<left> and </left>, <right> and </right>, and <sentence> and </sentence>,";
const TASK: &str = "You decide whether a sentence about rows of two tables is true, by what you \
                    know of the world. Answer with one word: yes or no.";

/// The columns of the sentence, of each side: as the prompt names them, and where they are.
#[derive(Debug, Default)]
struct Sides {
    left: Vec<(String, usize)>,
    right: Vec<(String, usize)>,
}

/// One side's rows.
struct Side {
    texts: Texts,
    distinct: Distinct,
}

impl Side {
    fn new(batch: &RecordBatch, columns: &[(String, usize)]) -> Result<Side, SemanticError> {
        let texts = Texts::new(batch, columns)?;
        let distinct = texts.distinct();
        Ok(Side { texts, distinct })
    }

    fn plain(&self) -> Vec<String> {
        let rows = self.distinct.firsts.iter();
        rows.map(|row| self.texts.plain(*row)).collect()
    }
}

pub(super) fn schema(
    join: &SemJoin,
    left: &SchemaRef,
    right: &SchemaRef,
) -> Result<Schema, SemanticError> {
    sides(join, left, right)?;
    if join.candidates == Some(0) {
        return Err(SemanticError::OutOfBounds {
            what: "candidates",
            found: "0".to_owned(),
            wanted: "1 or more",
        });
    }
    Ok(joined(left, right))
}

/// The columns of both; a name of both is prefixed.
fn joined(left: &SchemaRef, right: &SchemaRef) -> Schema {
    let names = |schema: &SchemaRef| -> HashMap<String, ()> {
        let names = schema
            .fields()
            .iter()
            .map(|it| (it.name().to_lowercase(), ()));
        names.collect()
    };
    let (of_left, of_right) = (names(left), names(right));
    let mut taken: HashMap<String, ()> = HashMap::new();
    let mut fields: Vec<Field> = Vec::new();
    for (schema, other, prefix) in [(left, &of_right, "left"), (right, &of_left, "right")] {
        for field in schema.fields() {
            let mut name = field.name().clone();
            if other.contains_key(&name.to_lowercase()) {
                name = format!("{prefix}_{name}");
            }
            while taken.insert(name.to_lowercase(), ()).is_some() {
                name = format!("{prefix}_{name}");
            }
            fields.push(field.as_ref().clone().with_name(name));
        }
    }
    Schema::new(fields)
}

/// Which side each column of the sentence is of: `left.x`, the stage's name before it, or a name
/// that one side alone has.
fn sides(join: &SemJoin, left: &SchemaRef, right: &SchemaRef) -> Result<Sides, SemanticError> {
    let mut sides = Sides::default();
    for name in join.instruction.columns() {
        let after = |prefix: &str| name.strip_prefix(prefix)?.strip_prefix('.');
        let of_left = after("left").or_else(|| after(&join.left));
        let of_right = after("right").or_else(|| after(&join.right));
        let of = |schema: &SchemaRef, column: Option<&str>| place(schema, column?);
        let (at_left, at_right) = match (of(left, of_left), of(right, of_right)) {
            (None, None) => (place(left, name), place(right, name)),
            found => found,
        };
        match (at_left, at_right) {
            (Some(at), None) => sides.left.push((name.to_owned(), at)),
            (None, Some(at)) => sides.right.push((name.to_owned(), at)),
            (Some(_), Some(_)) => return Err(SemanticError::AmbiguousColumn(name.to_owned())),
            (None, None) => {
                let known = |schema: &SchemaRef, side: &str| {
                    let names = schema.fields().iter();
                    names
                        .map(|it| format!("{side}.{}", it.name()))
                        .collect::<Vec<_>>()
                };
                let known = [known(left, "left"), known(right, "right")].concat();
                return Err(unknown(name, known.into_iter()));
            }
        }
    }
    let without = [("left", &sides.left), ("right", &sides.right)];
    for (side, columns) in without {
        if columns.is_empty() {
            return Err(SemanticError::OneSide(join.instruction.to_string(), side));
        }
    }
    Ok(sides)
}

pub(super) async fn run(
    asker: &Asker,
    join: &SemJoin,
    left: &RecordBatch,
    right: &RecordBatch,
) -> Result<Output, SemanticError> {
    let schema = Arc::new(schema(join, &left.schema(), &right.schema())?);
    let sides = sides(join, &left.schema(), &right.schema())?;
    let (lefts, rights) = (
        Side::new(left, &sides.left)?,
        Side::new(right, &sides.right)?,
    );
    let question = Question::new(
        asker.model(),
        Wording {
            task: TASK,
            between: BETWEEN,
            noun: None,
            instruction: sentence(&join.instruction),
            values: join.instruction.columns().len(),
            ending: "Is the sentence true? Answer yes or no.",
            form: Form::words(["yes", "no"]),
        },
    )?;
    let mut notes = Vec::new();
    let pairs = candidates(asker, join, &lefts, &rights, &mut notes).await?;
    let own = |at: usize| {
        let (of_left, of_right) = pairs[at];
        let model = asker.model();
        own(
            model,
            &question,
            join,
            (&lefts, of_left),
            (&rights, of_right),
        )
    };
    let answers = asker.ask(&question, pairs.len(), own).await?;
    let failed = answers.iter().filter(|it| it.is_none()).count() as u64;
    let mut kept: HashMap<usize, HashMap<usize, Option<f32>>> = HashMap::new();
    for (&(of_left, of_right), answer) in pairs.iter().zip(&answers) {
        let verdict = answer.as_ref().map(|it| Verdict::of(it, THRESHOLD));
        if let Some(Verdict { keeps: true, sure }) = verdict {
            kept.entry(of_left).or_default().insert(of_right, sure);
        }
    }
    let (rows, sure) = pairs_of_rows(&lefts.distinct, &rights.distinct, &kept)?;
    let (of_left, of_right): (Vec<u64>, Vec<u64>) = rows.into_iter().unzip();
    let of_left = take_record_batch(left, &UInt64Array::from(of_left))?;
    let of_right = take_record_batch(right, &UInt64Array::from(of_right))?;
    let columns = [of_left.columns(), of_right.columns()].concat();
    note_unasked(&lefts.distinct, "joined", &mut notes);
    note_unasked(&rights.distinct, "joined", &mut notes);
    Ok(Output {
        batch: RecordBatch::try_new(schema, columns)?,
        judged: vec![Judged::rows(sure)],
        failed,
        cites: None,
        notes,
    })
}

/// A prompt's own part about a pair: long values of both sides, and the sentence with the others.
fn own(
    model: &dyn LanguageModel,
    question: &Question,
    join: &SemJoin,
    (lefts, of_left): (&Side, usize),
    (rights, of_right): (&Side, usize),
) -> String {
    let sides = [(lefts, of_left, "left"), (rights, of_right, "right")];
    let rows = sides.map(|(side, input, mark)| {
        let texts = &side.texts;
        (texts, texts.row(side.distinct.firsts[input]), mark)
    });
    let value = |name: &str| {
        let mut values = rows
            .iter()
            .flat_map(|(texts, row, _)| texts.columns.iter().zip(row));
        values
            .find(|(column, _)| *column == name)
            .and_then(|it| *it.1)
    };
    let sentence = filled(&join.instruction, value);
    let long = rows.iter().map(|(texts, row, mark)| {
        let lines = long_lines(model, &texts.names, row, question.room() / 2);
        (*mark, lines)
    });
    let long: Vec<(&str, Option<String>)> = long.collect();
    let shown = long
        .iter()
        .filter_map(|(mark, lines)| Some((*mark, lines.as_deref()?)));
    let data: Vec<(&str, &str)> = shown.chain([("sentence", sentence.as_str())]).collect();
    question.own(&data)
}

/// The pairs of inputs that are judged, by left and right in the order of rows.
async fn candidates(
    asker: &Asker,
    join: &SemJoin,
    lefts: &Side,
    rights: &Side,
    notes: &mut Vec<String>,
) -> Result<Vec<(usize, usize)>, SemanticError> {
    let (of_left, of_right) = (lefts.distinct.firsts.len(), rights.distinct.firsts.len());
    let most = usize::try_from(join.candidates.unwrap_or(CANDIDATES)).unwrap_or(usize::MAX);
    let all = of_left.saturating_mul(of_right);
    if of_right <= most || (join.candidates.is_none() && all <= ALL_PAIRS) {
        bound("pairs", all, JUDGED)?;
        let pairs = (0..of_left).flat_map(|left| (0..of_right).map(move |right| (left, right)));
        return Ok(pairs.collect());
    }
    bound("pairs", of_left.saturating_mul(most), JUDGED)?;
    bound("pairs to compare", all, LIKENESSES)?;
    let vectors = asker.embed("a join of many rows", rights.plain()).await?;
    let queries = asker.embed("a join of many rows", lefts.plain()).await?;
    let mut pairs = Vec::with_capacity(of_left.saturating_mul(most));
    for (left, query) in queries.iter().enumerate() {
        let mut order: Vec<(f32, usize)> = vectors
            .iter()
            .enumerate()
            .map(|(right, vector)| (dot(query, vector), right))
            .collect();
        order.select_nth_unstable_by(most - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut likest: Vec<usize> = order[..most].iter().map(|(_, right)| *right).collect();
        likest.sort_unstable();
        pairs.extend(likest.into_iter().map(|right| (left, right)));
        // Others run in between.
        tokio::task::yield_now().await;
    }
    notes.push(format!(
        "each of {of_left} left inputs was judged with the {most} of {of_right} right inputs that \
         are most like it"
    ));
    Ok(pairs)
}

fn bound(what: &'static str, found: usize, most: usize) -> Result<(), SemanticError> {
    if found <= most {
        return Ok(());
    }
    Err(SemanticError::TooMany {
        what,
        found: found as u64,
        most: most as u64,
    })
}

type PairsOfRows = (Vec<(u64, u64)>, Vec<Option<f32>>);

/// The rows of the pairs that are kept, by left row and then right row.
fn pairs_of_rows(
    left: &Distinct,
    right: &Distinct,
    kept: &HashMap<usize, HashMap<usize, Option<f32>>>,
) -> Result<PairsOfRows, SemanticError> {
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); right.firsts.len()];
    for (row, input) in right.of_row.iter().enumerate() {
        if let Some(input) = input {
            rows_of[*input].push(row);
        }
    }
    let (mut rows, mut sure) = (Vec::new(), Vec::new());
    for (row, input) in left.of_row.iter().enumerate() {
        let Some(partners) = input.and_then(|input| kept.get(&input)) else {
            continue;
        };
        let mut of_row: Vec<(usize, Option<f32>)> = Vec::new();
        for (input, how) in partners {
            bound(
                "joined rows",
                rows.len() + of_row.len() + rows_of[*input].len(),
                MOST_ROWS,
            )?;
            of_row.extend(rows_of[*input].iter().map(|row| (*row, *how)));
        }
        of_row.sort_unstable_by_key(|(right, _)| *right);
        for (right, how) in of_row {
            rows.push((row as u64, right as u64));
            sure.push(how);
        }
    }
    Ok((rows, sure))
}
