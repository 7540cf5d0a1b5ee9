//! Which columns and cells are given.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use limn_models::{Embedder, ModelError};
use limn_retrieval::Span;
use limn_sets::Sets;

use crate::answer::{Cell, Match, Read};
use crate::asked::Asked;
use crate::distinct::{DistinctColumn, Kept, ValueVector};
use crate::find::{Found, Pool, Pools, Settled, Value};
use crate::table::Column;

/// Values of a column that are listed: all where there are so few, else the most frequent.
const FEW: usize = 5;
const FREQUENT: usize = 3;
/// Characters of a value that is listed without being asked for.
const LISTED: usize = 60;
/// Values of a table that are compared by meaning: those of columns with few.
const EMBEDDED: usize = 200;
const OF_FEW: usize = 60;
/// Spans that are compared by spelling, and by meaning, and words of each of these.
const SPANS: usize = 24;
const WORDS: usize = 3;
/// The cosine from which on a value means what a span says.
const ALIKE: f64 = 0.65;
/// Texts that are embedded at a time.
const BATCH: usize = 64;

/// The columns of a table: how well each matches, and whether it is given.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    names: Vec<String>,
    pub(crate) columns: Vec<(f64, bool)>,
}

impl Chosen {
    /// Gives a column, too.
    pub(crate) fn choose(&mut self, name: &str) {
        if let Some(at) = self.names.iter().position(|it| it == name) {
            self.columns[at].1 = true;
        }
    }
}

/// The columns of each table: for each part of the question, and all of it, the best `k`; and those
/// that it names.
pub(crate) fn columns(
    sets: &Sets,
    asked: &Asked,
    k: usize,
    reads: &[Read],
) -> Result<Vec<Chosen>, ModelError> {
    let texts = asked.column_texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let tables: Vec<_> = reads.iter().map(|read| Arc::clone(&read.columns)).collect();
    let relevance = sets.relevance(&tables, &texts)?;
    let of_table = |(read, relevance): (&Read, Vec<Vec<f64>>)| {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (at, column) in read.columns.columns.iter().enumerate() {
            places.entry(&column.name).or_insert(at);
        }
        let scores = |column: &Column| places.get(column.name.as_str()).map(|at| &relevance[*at]);
        let columns = read.table.columns.iter().map(|column| {
            let best = scores(column).into_iter().flatten().copied();
            let best = best.fold(0.0, f64::max);
            match asked.names(&column.name) {
                true => ((1.0 + best) / 2.0, true),
                false => (best, false),
            }
        });
        let mut chosen = Chosen {
            columns: columns.collect(),
            names: read
                .table
                .columns
                .iter()
                .map(|it| it.name.clone())
                .collect(),
        };
        for text in 0..texts.len() {
            let scored = read.table.columns.iter().enumerate();
            let scored = scored.filter_map(|(at, column)| Some((at, *scores(column)?.get(text)?)));
            let mut scored: Vec<(usize, f64)> = scored.collect();
            scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            scored
                .iter()
                .take(k)
                .for_each(|(at, _)| chosen.columns[*at].1 = true);
        }
        chosen
    };
    Ok(reads.iter().zip(relevance).map(of_table).collect())
}

impl Column {
    /// The values that are listed, and whether they are all; none of columns that are no texts, or
    /// of which none is known.
    pub(crate) fn shown(&self, counted: Option<&DistinctColumn>) -> Option<(Vec<String>, bool)> {
        if !self.is_text() {
            return None;
        }
        let is_short = |it: &&String| it.chars().nth(LISTED).is_none();
        let (values, all) = match counted {
            Some(counted) => {
                let is_whole = counted.is_whole && !counted.has_others;
                let few = is_whole && counted.values.len() <= FEW;
                let values = counted.values.iter().map(|(value, _)| value);
                let most = if few { FEW } else { FREQUENT };
                let listed: Vec<String> = values.filter(is_short).take(most).cloned().collect();
                let all = few && listed.len() == counted.values.len();
                (listed, all)
            }
            None => {
                let known = self.frequent.iter().filter(is_short).take(FREQUENT);
                (known.cloned().collect(), false)
            }
        };
        (!values.is_empty()).then_some((values, all))
    }
}

/// The cells of tables that a question may mean.
#[derive(Debug, Default)]
pub(crate) struct FoundCells {
    /// Of each table.
    pub(crate) tables: Vec<Vec<Cell>>,
    /// Whether the time was over before all was compared.
    pub(crate) is_late: bool,
    /// Whether something that may be a value is none that was compared, and was not looked for
    /// further.
    pub(crate) is_open: bool,
}

/// The cells of each table that the question may mean, as far as they are found in time.
pub(crate) fn cells(
    embedder: &dyn Embedder,
    asked: &Asked,
    k: usize,
    reads: &[Read],
    until: Instant,
) -> Result<FoundCells, ModelError> {
    let in_time = || Instant::now() < until;
    let mut all = FoundCells::default();
    let more: Vec<Pool> = reads
        .iter()
        .map(|read| Pool::of(more_values(read)))
        .collect();
    let mut pools = Vec::with_capacity(reads.len());
    for (read, more) in reads.iter().zip(&more) {
        let kept = read.kept.as_ref();
        let counted = kept.filter(|_| in_time()).map(|kept| kept.pool());
        all.is_late |= kept.is_some() && counted.is_none();
        pools.push(Pools { counted, more });
    }
    let by_spelling = pools
        .iter()
        .map(|pools| Found::by_spelling(pools, asked, k));
    let mut found: Vec<Found> = by_spelling.collect();
    let mut settled = Settled::default();
    for (read, found) in reads.iter().zip(&found) {
        settled.add(found);
        settled.add_name(&read.table.key.name);
        let names = read.table.columns.iter().map(|column| &column.name);
        names.for_each(|name| settled.add_name(name));
    }
    let open = settled.open(asked);
    all.is_open = open.iter().any(|span| !asked.is_probed(span));
    let said = alike_spans(&open);
    let vectors = match pools.iter().any(|it| it.counted.is_some()) && in_time() {
        true => embed_questions(embedder, &said)?,
        false => Vec::new(),
    };
    let near = near_spans(asked, &open);
    for ((read, pools), mut found) in reads.iter().zip(&pools).zip(found.drain(..)) {
        all.is_late |= !found.add_near(pools, &near, k, until);
        let kept = read.kept.as_ref().filter(|_| pools.counted.is_some());
        if let Some(kept) = kept.filter(|_| !said.is_empty()) {
            match in_time() {
                true => add_alike(embedder, &vectors, k, kept, &mut found)?,
                false => all.is_late = true,
            }
        }
        let columns = &read.table.columns;
        let own = found.cells(pools).into_iter().filter_map(|(at, how)| {
            let value = pools.value(at);
            let is_shown = columns.iter().any(|it| it.name == *value.column);
            is_shown.then(|| Cell {
                column: value.column.to_string(),
                value: value.text.to_string(),
                how,
                count: value.count,
            })
        });
        all.tables.push(own.collect());
    }
    Ok(all)
}

/// The spans that are compared by spelling: names, codes and quotes first, the shortest first.
fn near_spans<'s>(asked: &Asked, open: &[&'s Span]) -> Vec<&'s Span> {
    let mut spans = open.to_vec();
    spans.sort_by_key(|span| (!asked.is_probed(span), span.words.len()));
    spans.truncate(SPANS);
    spans
}

/// The spans that are compared by meaning: the shortest, which say one thing each.
fn alike_spans<'s>(open: &[&'s Span]) -> Vec<&'s str> {
    let has_letter = |span: &&&Span| span.key.chars().any(char::is_alphabetic);
    let mut spans: Vec<&&Span> = open.iter().filter(has_letter).collect();
    spans.retain(|span| span.words.len() <= WORDS);
    spans.sort_by_key(|span| span.words.len());
    spans
        .iter()
        .take(SPANS)
        .map(|span| span.written.as_str())
        .collect()
}

/// The values of a table that were looked for past those that are kept; where none could be
/// counted, those that the index knows.
fn more_values(read: &Read) -> Vec<Value> {
    let value = |column: &str, text: &str, count| Value {
        column: Arc::from(column),
        text: Arc::from(text),
        count,
    };
    let Some(kept) = &read.kept else {
        let columns = read.table.columns.iter();
        let known = columns.flat_map(|column| {
            let frequent = column.frequent.iter();
            frequent.map(move |text| value(&column.name, text, None))
        });
        return known.collect();
    };
    let probed = read.probed.iter().flat_map(|probed| &probed.columns);
    let probed = probed.flat_map(|column| {
        let values = column.values.iter().map(move |it| (column, it));
        values.filter(|(column, (text, _))| !kept.has(&column.name, text))
    });
    let probed = probed.map(|(column, (text, count))| value(&column.name, text, Some(*count)));
    probed.collect()
}

/// Adds cells that say in other words what spans of these vectors say, `k` for each.
fn add_alike(
    embedder: &dyn Embedder,
    spans: &[Vec<f32>],
    k: usize,
    kept: &Kept,
    found: &mut Found,
) -> Result<(), ModelError> {
    let vectors = vectors(embedder, kept)?;
    for span in spans {
        let alike = vectors.iter().filter_map(|value| {
            let cosine: f32 = span.iter().zip(&value.vector).map(|(a, b)| a * b).sum();
            let cosine = f64::from(cosine);
            (cosine >= ALIKE).then_some((value.at, cosine))
        });
        let mut alike: Vec<(u32, f64)> = alike.collect();
        alike.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for (at, cosine) in alike.into_iter().take(k) {
            found.add(at, Match::Vector, cosine);
        }
    }
    Ok(())
}

/// The vectors of the values of columns with few, which are made once for what is kept.
fn vectors<'k>(embedder: &dyn Embedder, kept: &'k Kept) -> Result<&'k [ValueVector], ModelError> {
    if let Some(vectors) = kept.vectors.get() {
        return Ok(vectors);
    }
    let columns = &kept.distinct.columns;
    let mut few: Vec<usize> = (0..columns.len()).collect();
    few.retain(|at| columns[*at].is_whole && columns[*at].values.len() <= OF_FEW);
    // The fewer values a column has, the more of the table does each stand for.
    few.sort_by_key(|at| columns[*at].values.len());
    let mut first = 0;
    let firsts = columns.iter().map(|column| {
        first += column.values.len();
        first - column.values.len()
    });
    let firsts: Vec<usize> = firsts.collect();
    let places = few.iter().flat_map(|column| {
        let values = columns[*column].values.iter().enumerate();
        values.map(|(at, (value, _))| (firsts[*column] + at, value.as_str()))
    });
    let is_word =
        |value: &str| value.chars().any(char::is_alphabetic) && value.chars().nth(LISTED).is_none();
    let places: Vec<_> = places
        .filter(|(_, value)| is_word(value))
        .take(EMBEDDED)
        .collect();
    let texts: Vec<&str> = places.iter().map(|(_, value)| *value).collect();
    let made = embed(embedder, &texts)?;
    let made = places
        .iter()
        .zip(made)
        .map(|((at, _), vector)| ValueVector {
            at: u32::try_from(*at).unwrap_or(u32::MAX),
            vector,
        });
    // Another question may have made the same ones meanwhile.
    let _ = kept.vectors.set(made.collect());
    Ok(kept.vectors.get().map_or(&[], Vec::as_slice))
}

fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        vectors.extend(embedder.embed(batch)?);
    }
    Ok(vectors)
}

fn embed_questions(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        vectors.extend(embedder.embed_questions(batch, None)?);
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use limn_models::HashedWords;
    use limn_segment::{ColumnRecord, TableRecord};
    use limn_sets::TableColumns;

    use super::*;
    use crate::distinct::Distinct;
    use crate::table::Table;

    fn read(values: Vec<(String, u64)>) -> Read {
        let record = TableRecord {
            name: "shops".to_owned(),
            columns: vec![ColumnRecord {
                name: "town".to_owned(),
                data_type: "text".to_owned(),
                ..ColumnRecord::default()
            }],
            ..TableRecord::default()
        };
        let counted = DistinctColumn {
            name: "town".to_owned(),
            values,
            ..DistinctColumn::default()
        };
        let distinct = Distinct {
            columns: vec![counted],
        };
        let probed = DistinctColumn {
            name: "town".to_owned(),
            values: vec![("Bern".to_owned(), 3), ("Thun".to_owned(), 1)],
            ..DistinctColumn::default()
        };
        Read {
            table: Table::of_record(&record, true),
            columns: Arc::new(TableColumns::of_row(&record).unwrap()),
            kept: Some(Arc::new(distinct.into())),
            probed: Some(Distinct {
                columns: vec![probed],
            }),
        }
    }

    fn find(question: &str, read: &Read, until: Instant) -> FoundCells {
        let reads = std::slice::from_ref(read);
        cells(&HashedWords, &Asked::of(question), 5, reads, until).unwrap()
    }

    #[test]
    fn values_that_were_counted_and_looked_for_are_each_a_cell_once() {
        let read = read(vec![("Bern".to_owned(), 3), ("Basel".to_owned(), 2)]);
        let found = find(
            "Bern Thun basle",
            &read,
            Instant::now() + Duration::from_secs(60),
        );
        let found = found.tables[0].iter().map(|it| (it.value.as_str(), it.how));
        let found: Vec<_> = found.collect();
        assert_eq!(
            found,
            [
                ("Bern", Match::Exact),
                ("Thun", Match::Exact),
                ("Basel", Match::Fuzzy)
            ]
        );
    }

    #[test]
    fn what_is_not_compared_in_time_is_said() {
        let read = read(vec![("Basel".to_owned(), 2)]);
        let late = find("Thun Basel", &read, Instant::now());
        assert!(late.is_late);
        assert_eq!(late.tables[0].len(), 1, "{late:?}");
        let whole = find(
            "Thun Basel",
            &read,
            Instant::now() + Duration::from_secs(60),
        );
        assert!(!whole.is_late);
        assert_eq!(whole.tables[0].len(), 2, "{whole:?}");
    }

    #[test]
    fn a_long_question_has_some_spans_compared_names_first() {
        let words: Vec<String> = (0..46)
            .map(|at| format!("wordy{}", "x".repeat(at)))
            .collect();
        let question = format!("{} of Philadelfia Bay", words.join(" "));
        let asked = Asked::of(&question);
        let open: Vec<&Span> = asked.spans.iter().filter(|span| span.says).collect();
        let near = near_spans(&asked, &open);
        assert_eq!(near.len(), SPANS);
        assert!(near[..3].iter().any(|span| span.written == "Philadelfia"));
    }
}
