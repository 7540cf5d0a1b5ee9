//! sem_topk: the rows that come first by a criterion in words, best first.
//!
//! The model compares pairs, each in both orders, since it favours a place; the two log-odds are
//! averaged, and a tie leaves the order of rows. Each step compares the rows of every open part, of
//! every group, with a pivot of that part, all in one batch; parts that begin after the k-th row
//! are dropped (quickselect, then quicksort of what is kept). Pivots are drawn with a seed.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::asker::Asker;
use super::cascade::SplitMix;
use super::error::SemanticError;
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, row_lines, sentence};
use super::rows::{Distinct, Texts, places, with_columns};
use crate::plan::SemTopK;

/// Log-odds beyond this say nothing more.
const MOST_ODDS: f32 = 50.0;

const TASK: &str = "You compare two rows of a table by a criterion and by what you know of the \
                    world. Answer with one word: first or second.";

/// Rows that have the same input.
#[derive(Clone, Debug)]
struct Item {
    input: usize,
    rows: Vec<usize>,
}

/// A group's rows: parts in order, each part's items not yet ordered unless it has one.
#[derive(Debug, Default)]
struct Group {
    parts: Vec<Vec<Item>>,
    /// Rows that have no value to be compared: they come last.
    rest: Vec<usize>,
}

/// A part to be split: where it is, its pivot, and how the others compare with it.
struct Split {
    group: usize,
    part: usize,
    pivot: usize,
}

pub(super) fn schema(topk: &SemTopK, input: &SchemaRef) -> Result<Schema, SemanticError> {
    let columns = topk.instruction.columns();
    if columns.is_empty() {
        return Err(SemanticError::NoColumns(topk.instruction.to_string()));
    }
    places(input, &columns)?;
    places(input, &names(&topk.group_by))?;
    if topk.k == 0 {
        return Err(SemanticError::OutOfBounds {
            what: "k",
            found: "0".to_owned(),
            wanted: "1 or more",
        });
    }
    let mut fields = input.fields().to_vec();
    if let Some(rank) = &topk.rank {
        let folded = rank.to_lowercase();
        if fields.iter().any(|it| it.name().to_lowercase() == folded) {
            return Err(SemanticError::ColumnTaken(rank.clone()));
        }
        fields.push(Arc::new(Field::new(rank, DataType::Int64, false)));
    }
    Ok(Schema::new_with_metadata(fields, input.metadata().clone()))
}

pub(super) fn names(columns: &[String]) -> Vec<&str> {
    columns.iter().map(String::as_str).collect()
}

pub(super) async fn run(
    asker: &Asker,
    topk: &SemTopK,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    let schema = Arc::new(schema(topk, &batch.schema())?);
    let k = usize::try_from(topk.k).unwrap_or(usize::MAX);
    let columns = places(&batch.schema(), &topk.instruction.columns())?;
    let texts = Texts::new(batch, &columns)?;
    let distinct = texts.distinct();
    let by = places(&batch.schema(), &names(&topk.group_by))?;
    let groups = Texts::new(batch, &by)?.groups();
    let mut groups: Vec<Group> = groups.iter().map(|rows| group(rows, &distinct)).collect();
    let comparing = Comparing {
        asker,
        question: question(asker, topk)?,
        texts: &texts,
        distinct: &distinct,
    };
    let mut random = SplitMix::new(asker.seed());
    let mut failed = 0;
    loop {
        let splits = splits(&mut groups, k, &mut random);
        if splits.is_empty() {
            break;
        }
        failed += comparing.step(&mut groups, splits).await?;
    }
    let rows = groups.into_iter().flat_map(|group| {
        let parts = group.parts.into_iter().flatten().flat_map(|item| item.rows);
        (1_i64..).zip(parts.chain(group.rest).take(k))
    });
    let (ranks, rows): (Vec<i64>, Vec<u64>) = rows.map(|(rank, row)| (rank, row as u64)).unzip();
    let ranks: ArrayRef = Arc::new(Int64Array::from(ranks));
    let ranks = topk.rank.as_ref().map(|_| ranks);
    let kept = take_record_batch(batch, &UInt64Array::from(rows))?;
    let undecided = (failed > 0).then(|| {
        format!("{failed} comparisons have no answer: these rows stand in the order that they had")
    });
    Ok(Output {
        batch: with_columns(&kept, schema, ranks.into_iter().collect())?,
        judged: vec![Judged::rows(Vec::new())],
        failed,
        cites: None,
        notes: undecided.into_iter().collect(),
    })
}

fn question(asker: &Asker, topk: &SemTopK) -> Result<Question, SemanticError> {
    Question::new(
        asker.model(),
        Wording {
            task: TASK,
            between: "<first> and </first>, and between <second> and </second>,",
            noun: Some("Criterion"),
            instruction: sentence(&topk.instruction),
            values: 0,
            ending: "Which row comes before the other by the criterion? Answer first or second.",
            form: Form::words(["first", "second"]),
        },
    )
}

/// A group's rows as one part.
fn group(rows: &[usize], distinct: &Distinct) -> Group {
    let mut places = std::collections::HashMap::new();
    let mut items: Vec<Item> = Vec::new();
    let mut rest = Vec::new();
    for &row in rows {
        let Some(input) = distinct.of_row[row] else {
            rest.push(row);
            continue;
        };
        let at = *places.entry(input).or_insert_with(|| {
            items.push(Item {
                input,
                rows: Vec::new(),
            });
            items.len() - 1
        });
        items[at].rows.push(row);
    }
    Group {
        parts: vec![items],
        rest,
    }
}

/// Drops what comes after the first `k` rows, and draws a pivot for each part that is not in order.
fn splits(groups: &mut [Group], k: usize, random: &mut SplitMix) -> Vec<Split> {
    let mut splits = Vec::new();
    for (at, group) in groups.iter_mut().enumerate() {
        let mut before = 0;
        group.parts.retain(|part| {
            let is_wanted = before < k && !part.is_empty();
            before += part.iter().map(|item| item.rows.len()).sum::<usize>();
            is_wanted
        });
        for (part, items) in group.parts.iter().enumerate() {
            if items.len() > 1 {
                let pivot = random.below(items.len());
                splits.push(Split {
                    group: at,
                    part,
                    pivot,
                });
            }
        }
    }
    splits
}

struct Comparing<'a> {
    asker: &'a Asker,
    question: Question,
    texts: &'a Texts,
    distinct: &'a Distinct,
}

impl Comparing<'_> {
    /// Splits parts at their pivots, by one batch of comparisons; how many have no answer.
    async fn step(&self, groups: &mut [Group], splits: Vec<Split>) -> Result<u64, SemanticError> {
        let mut pairs = Vec::new();
        for Split { group, part, pivot } in &splits {
            let items = &groups[*group].parts[*part];
            let others = items.iter().enumerate().filter(|(at, _)| at != pivot);
            pairs.extend(others.map(|(_, item)| (item.input, items[*pivot].input)));
        }
        let mut ahead = self.compare(&pairs).await?.into_iter();
        let mut failed = 0;
        // From the last part on, so that the places of those before stay.
        let mut split: Vec<(Split, Vec<Vec<Item>>)> = Vec::with_capacity(splits.len());
        for it in splits {
            let items = std::mem::take(&mut groups[it.group].parts[it.part]);
            let pivot_row = items[it.pivot].rows[0];
            let (mut before, mut pivot, mut after) = (Vec::new(), Vec::new(), Vec::new());
            for (at, item) in items.into_iter().enumerate() {
                if at == it.pivot {
                    pivot.push(item);
                    continue;
                }
                let odds = ahead.next().flatten();
                failed += u64::from(odds.is_none());
                let odds = odds.unwrap_or(0.0);
                match odds > 0.0 || (odds == 0.0 && item.rows[0] < pivot_row) {
                    true => before.push(item),
                    false => after.push(item),
                }
            }
            split.push((it, vec![before, pivot, after]));
        }
        for (it, parts) in split.into_iter().rev() {
            groups[it.group].parts.splice(it.part..=it.part, parts);
        }
        Ok(failed)
    }

    /// By how much the first of each pair is ahead of the second.
    async fn compare(&self, pairs: &[(usize, usize)]) -> Result<Vec<Option<f32>>, SemanticError> {
        let own = |at: usize| {
            let (a, b) = pairs[at / 2];
            let (first, second) = if at.is_multiple_of(2) { (a, b) } else { (b, a) };
            self.own(first, second)
        };
        let answers = self.asker.ask(&self.question, 2 * pairs.len(), own).await?;
        let both = answers.chunks(2).map(|both| {
            let [Some(one), Some(other)] = both else {
                return None;
            };
            Some(odds(one)? - odds(other)?)
        });
        Ok(both.collect())
    }

    fn own(&self, first: usize, second: usize) -> String {
        let text = |input: usize| {
            let row = self.texts.row(self.distinct.firsts[input]);
            let room = self.question.room() / 2;
            row_lines(self.asker.model(), &self.texts.names, &row, room)
        };
        let (first, second) = (text(first), text(second));
        self.question.own(&[("first", &first), ("second", &second)])
    }
}

/// The log-odds of the first word; one for a model that gives no probabilities.
fn odds(answer: &Answer) -> Option<f32> {
    let (word, _) = answer.chosen()?;
    let said = if word == 0 { 1.0 } else { -1.0 };
    Some(answer.odds().unwrap_or(said).clamp(-MOST_ODDS, MOST_ODDS))
}
