//! sem_agg: one text from many rows, which cites them.
//!
//! Rows are packed into prompts in their order, as many as the window has room for; equal ones are
//! shown once, with their number. Each prompt gives a text; texts are packed and folded until a
//! group has one. A text cites rows as `[n]`, counted from 1 over all rows of the stage; a citation
//! of a row that was not shown, there or in the texts that were folded, is dropped. All prompts of
//! a level, of all groups, are one batch.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use limn_models::quote_tokens;

use super::asker::Asker;
use super::error::SemanticError;
use super::kept::Answer;
use super::output::{Judged, Output};
use super::question::{Form, Question, Wording, row_line, sentence};
use super::rows::{Distinct, Texts, places};
use super::topk::names;
use crate::plan::SemAgg;

/// Tokens of a text, at most, and its part of the window.
const ANSWER: usize = 256;
/// Tokens of a text, as a rule (decision 58).
const LIKELY: usize = 90;
const PART_OF_WINDOW: usize = 8;
/// Tokens around each row or text.
const AROUND: usize = 12;
/// A row has at most this part of a prompt's room, so that several fit.
const PART_OF_ROOM: usize = 4;
/// Numbers that one citation may have, at most.
const CITED_AT_ONCE: usize = 32;

const TASK: &str = "You write a short text from rows of a table. Each row begins with its number \
                    in square brackets. After each statement cite the rows that show it by their \
                    numbers, as [3] or [3][7]. State nothing that the rows do not say.";
const FOLD: &str = "You make one short text of several that were written from parts of a table. \
                    They cite rows by numbers in square brackets, as [3]. Keep the citations of \
                    what you state. State nothing that the texts do not say.";

/// A text, and the rows that it may cite, counted from 1.
#[derive(Debug)]
struct Part {
    text: String,
    rows: BTreeSet<u64>,
}

/// Texts that are to be read together: of a group, as one prompt.
struct Reading {
    group: usize,
    text: String,
    rows: BTreeSet<u64>,
}

pub(super) fn schema(agg: &SemAgg, input: &SchemaRef) -> Result<Schema, SemanticError> {
    let columns = agg.instruction.columns();
    if columns.is_empty() {
        return Err(SemanticError::NoColumns(agg.instruction.to_string()));
    }
    places(input, &columns)?;
    let by = places(input, &names(&agg.group_by))?;
    let mut fields: Vec<Field> = by.iter().map(|(_, at)| input.field(*at).clone()).collect();
    let folded = agg.output.to_lowercase();
    if fields.iter().any(|it| it.name().to_lowercase() == folded) {
        return Err(SemanticError::ColumnTaken(agg.output.clone()));
    }
    fields.push(Field::new(&agg.output, DataType::Utf8, true));
    Ok(Schema::new(fields))
}

pub(super) async fn run(
    asker: &Asker,
    agg: &SemAgg,
    batch: &RecordBatch,
) -> Result<Output, SemanticError> {
    let schema = Arc::new(schema(agg, &batch.schema())?);
    let by = places(&batch.schema(), &names(&agg.group_by))?;
    let groups = Texts::new(batch, &by)?.groups();
    let columns = places(&batch.schema(), &agg.instruction.columns())?;
    let texts = Texts::new(batch, &columns)?;
    let (rows, fold) = questions(asker, agg)?;
    let mut failed = 0;
    let readings = pack_rows(asker, &rows, &groups, &texts);
    let mut parts = read(asker, &rows, "rows", groups.len(), readings, &mut failed).await?;
    while parts.iter().any(|group| group.len() > 1) {
        let readings = pack_parts(asker, &fold, &mut parts);
        let folded = read(asker, &fold, "texts", groups.len(), readings, &mut failed).await?;
        for (group, folded) in parts.iter_mut().zip(folded) {
            group.extend(folded);
        }
    }
    let mut texts = Vec::with_capacity(groups.len());
    let mut cites = Vec::with_capacity(groups.len());
    for mut group in parts {
        let part = group.pop();
        let rows = part
            .as_ref()
            .map(|it| it.rows.iter().map(|row| row - 1).collect());
        cites.push(rows.unwrap_or_default());
        texts.push(part.map(|it| it.text));
    }
    let firsts: Vec<u64> = groups.iter().map(|rows| rows[0] as u64).collect();
    let firsts = UInt64Array::from(firsts);
    let of_group = by
        .iter()
        .map(|(_, at)| take(batch.column(*at), &firsts, None));
    let mut columns = of_group.collect::<Result<Vec<ArrayRef>, _>>()?;
    let sure = vec![None; texts.len()];
    columns.push(Arc::new(StringArray::from(texts)));
    Ok(Output {
        batch: RecordBatch::try_new(schema, columns)?,
        judged: vec![Judged::column(&agg.output, sure)],
        failed,
        notes: notes(failed, &cites),
        cites: Some(cites),
    })
}

fn notes(failed: u64, cites: &[Vec<u64>]) -> Vec<String> {
    let mut notes = Vec::new();
    if failed > 0 {
        notes.push(format!(
            "{failed} parts could not be read, and are in no text"
        ));
    }
    match cites.iter().filter(|it| it.is_empty()).count() {
        0 => {}
        without => notes.push(format!("{without} of {} texts cite no row", cites.len())),
    }
    notes
}

/// What is asked of rows, and of texts.
fn questions(asker: &Asker, agg: &SemAgg) -> Result<(Question, Question), SemanticError> {
    let model = asker.model();
    let tokens = ANSWER.min(model.window() / PART_OF_WINDOW).max(1);
    let wording = |task, between, ending| Wording {
        task,
        between,
        noun: Some("Task"),
        instruction: sentence(&agg.instruction),
        values: 0,
        ending,
        form: Form::text(tokens, LIKELY),
    };
    let ending = "Write at most five sentences. End each with the numbers of the rows that show it, \
                  in square brackets, as [1][2].";
    let rows = Question::new(model, wording(TASK, "<rows> and </rows>", ending))?;
    let ending = "Make one text of at most five sentences of these. End each with the numbers \
                  of the rows that show it, in square brackets, as [1][2].";
    let fold = Question::new(model, wording(FOLD, "<texts> and </texts>", ending))?;
    // Two texts have to fit, or folding would not come to an end.
    if fold.room() < 2 * (tokens + AROUND) {
        return Err(SemanticError::InstructionTooLong {
            model: model.id().to_string(),
            window: model.window(),
        });
    }
    Ok((rows, fold))
}

/// The rows of each group, packed in order.
fn pack_rows(
    asker: &Asker,
    question: &Question,
    groups: &[Vec<usize>],
    texts: &Texts,
) -> Vec<Reading> {
    let model = asker.model();
    let most = question.room() / PART_OF_ROOM;
    let distinct = texts.distinct();
    let mut packing = Packing::new(question.room(), 1);
    for (group, rows) in groups.iter().enumerate() {
        packing.next_group(group);
        for (row, times) in equal_rows(rows, &distinct) {
            let number = row as u64 + 1;
            let values = texts.row(row);
            let line = row_line(model, &texts.names, &values, most.saturating_sub(AROUND));
            // A cell cites nothing.
            let line = line.replace('[', "(").replace(']', ")");
            let times = match times {
                1 => String::new(),
                times => format!("({times} rows) "),
            };
            let text = format!("[{number}] {times}{line}");
            let tokens = model.count_tokens(&text) + 1;
            packing.add(&text, tokens, [number]);
        }
    }
    packing.finish()
}

/// The first of equal rows, and how many there are; without those that have no value.
fn equal_rows(rows: &[usize], distinct: &Distinct) -> Vec<(usize, usize)> {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut equal: Vec<(usize, usize)> = Vec::new();
    for &row in rows {
        let Some(input) = distinct.of_row[row] else {
            continue;
        };
        let at = *places.entry(input).or_insert_with(|| {
            equal.push((row, 0));
            equal.len() - 1
        });
        equal[at].1 += 1;
    }
    equal
}

/// The texts of groups that have several, packed in order.
fn pack_parts(asker: &Asker, question: &Question, parts: &mut [Vec<Part>]) -> Vec<Reading> {
    let model = asker.model();
    let mut packing = Packing::new(question.room(), 2);
    for (group, parts) in parts.iter_mut().enumerate() {
        if parts.len() < 2 {
            continue;
        }
        packing.next_group(group);
        for part in parts.drain(..) {
            let most = (question.room() / 2).saturating_sub(AROUND);
            let text = quote_tokens(model, &part.text, most).replace('\n', " ");
            let tokens = model.count_tokens(&text) + AROUND;
            packing.add(&text, tokens, part.rows);
        }
    }
    packing.finish()
}

/// Fills readings with texts, each as far as there is room.
struct Packing {
    room: usize,
    left: usize,
    group: usize,
    readings: Vec<Reading>,
    /// Texts of the last reading; 0 if it takes no more.
    texts: usize,
    /// Texts that a reading has at least, if its group has them: folding makes fewer of them.
    least: usize,
}

impl Packing {
    fn new(room: usize, least: usize) -> Packing {
        Packing {
            room,
            left: 0,
            group: 0,
            readings: Vec::new(),
            texts: 0,
            least,
        }
    }

    fn next_group(&mut self, group: usize) {
        self.group = group;
        self.texts = 0;
    }

    fn add(&mut self, text: &str, tokens: usize, rows: impl IntoIterator<Item = u64>) {
        let fits = self.texts > 0 && (tokens <= self.left || self.texts < self.least);
        match self.readings.last_mut().filter(|_| fits) {
            Some(reading) => {
                reading.text.push('\n');
                reading.text.push_str(text);
                reading.rows.extend(rows);
                self.left = self.left.saturating_sub(tokens);
                self.texts += 1;
            }
            None => {
                self.readings.push(Reading {
                    group: self.group,
                    text: text.to_owned(),
                    rows: rows.into_iter().collect(),
                });
                self.left = self.room.saturating_sub(tokens);
                self.texts = 1;
            }
        }
    }

    fn finish(self) -> Vec<Reading> {
        self.readings
    }
}

/// Asks for the text of each reading; the texts by group.
async fn read(
    asker: &Asker,
    question: &Question,
    mark: &str,
    groups: usize,
    readings: Vec<Reading>,
    failed: &mut u64,
) -> Result<Vec<Vec<Part>>, SemanticError> {
    let own = |at: usize| question.own(&[(mark, &readings[at].text)]);
    let answers = asker.ask(question, readings.len(), own).await?;
    let mut parts: Vec<Vec<Part>> = (0..groups).map(|_| Vec::new()).collect();
    for (reading, answer) in readings.into_iter().zip(answers) {
        match answer {
            Some(Answer::Written { text, .. }) if !text.trim().is_empty() => {
                let (text, rows) = cited(text.trim(), &reading.rows);
                parts[reading.group].push(Part { text, rows });
            }
            _ => *failed += 1,
        }
    }
    Ok(parts)
}

/// The text without citations of other rows than these, and the rows that it cites.
fn cited(text: &str, shown: &BTreeSet<u64>) -> (String, BTreeSet<u64>) {
    let mut kept = String::with_capacity(text.len());
    let mut rows = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let Some((numbers, after)) = citation(from) else {
            kept.push('[');
            rest = &from[1..];
            continue;
        };
        let numbers: Vec<u64> = numbers
            .into_iter()
            .filter(|it| shown.contains(it))
            .collect();
        if numbers.is_empty() {
            kept.truncate(kept.trim_end_matches(' ').len());
        }
        for number in numbers {
            kept.push_str(&format!("[{number}]"));
            rows.insert(number);
        }
        rest = after;
    }
    kept.push_str(rest);
    let visible = kept.chars().filter(|c| !c.is_control() || *c == '\n');
    (visible.collect::<String>().trim().to_owned(), rows)
}

/// The numbers in brackets that a text begins with, `[3]` or `[3, 7]`, and what follows.
fn citation(text: &str) -> Option<(Vec<u64>, &str)> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    let numbers = inside.split([',', ';']).take(CITED_AT_ONCE + 1);
    let numbers: Vec<u64> = numbers
        .map(|it| it.trim().parse().ok())
        .collect::<Option<_>>()?;
    (numbers.len() <= CITED_AT_ONCE).then_some((numbers, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_of_rows_that_were_not_shown_are_dropped() {
        let shown = BTreeSet::from([1, 2, 30]);
        let (text, rows) = cited("Good [1, 30]; bad [7]. See [a] and [2][9] [3", &shown);
        assert_eq!(text, "Good [1][30]; bad. See [a] and [2] [3");
        assert_eq!(rows, BTreeSet::from([1, 2, 30]));
    }
}
