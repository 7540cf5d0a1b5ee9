//! Which columns and cells are given.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use limn_models::{Embedder, ModelError};
use limn_retrieval::Span;
use limn_sets::Sets;

use crate::answer::{Cell, Match, Read};
use crate::asked::Asked;
use crate::distinct::{Distinct, DistinctColumn, Kept, ValueVector};
use crate::find::{Found, Pool, Settled, Value};
use crate::table::Column;

/// Values of a column that are listed: all where there are so few, else the most frequent.
const FEW: usize = 5;
const FREQUENT: usize = 3;
/// Characters of a value that is listed without being asked for.
const LISTED: usize = 60;
/// Values of a table that are compared by meaning: those of columns with few.
const EMBEDDED: usize = 200;
const OF_FEW: usize = 60;
/// Spans that are compared by meaning, and words of each.
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

/// The cells of each table that the question may mean.
pub(crate) fn cells(
    embedder: &dyn Embedder,
    asked: &Asked,
    k: usize,
    reads: &[Read],
) -> Result<Vec<Vec<Cell>>, ModelError> {
    let pools: Vec<Pool<'_>> = reads.iter().map(|read| Pool::of(values(read))).collect();
    let by_spelling = pools.iter().map(|pool| Found::by_spelling(pool, asked, k));
    let mut found: Vec<Found> = by_spelling.collect();
    let mut settled = Settled::default();
    for (read, found) in reads.iter().zip(&found) {
        settled.add(found);
        settled.add_name(&read.table.key.name);
        let names = read.table.columns.iter().map(|column| &column.name);
        names.for_each(|name| settled.add_name(name));
    }
    let open = settled.open(asked);
    let said = alike_spans(&open);
    let has_values = pools.iter().any(|pool| !pool.values.is_empty());
    let vectors = match has_values {
        true => embed(embedder, &said)?,
        false => Vec::new(),
    };
    let mut cells = Vec::with_capacity(reads.len());
    for ((read, pool), mut found) in reads.iter().zip(&pools).zip(found.drain(..)) {
        found.add_near(pool, &open, k);
        if let Some(kept) = read.kept.as_ref().filter(|_| !vectors.is_empty()) {
            add_alike(embedder, &vectors, k, (kept, read), pool, &mut found)?;
        }
        let own = found.cells(pool).into_iter().map(|(at, how)| {
            let value = &pool.values[at as usize];
            Cell {
                column: read.table.columns[value.column].name.clone(),
                value: value.text.to_owned(),
                how,
                count: value.count,
            }
        });
        cells.push(own.collect());
    }
    Ok(cells)
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

/// The values of a table: those that were counted, then those that were looked for; where neither
/// could be done, those that the index knows.
fn values(read: &Read) -> Vec<Value<'_>> {
    let columns = || read.table.columns.iter().enumerate();
    let Some(kept) = &read.kept else {
        return columns()
            .flat_map(|(column, it)| {
                it.frequent.iter().map(move |text| Value {
                    column,
                    text,
                    count: None,
                })
            })
            .collect();
    };
    let of = |distinct: &'_ Distinct| -> Vec<(usize, usize)> {
        let place = |(at, column): (usize, &DistinctColumn)| {
            let mut columns = columns();
            let own = columns.find(|(_, it)| it.name == column.name)?;
            Some((own.0, at))
        };
        distinct
            .columns
            .iter()
            .enumerate()
            .filter_map(place)
            .collect()
    };
    let mut values = Vec::new();
    let mut seen: HashSet<(usize, &str)> = HashSet::new();
    for distinct in [Some(&kept.distinct), read.probed.as_ref()]
        .into_iter()
        .flatten()
    {
        for (column, at) in of(distinct) {
            for (text, count) in &distinct.columns[at].values {
                if seen.insert((column, text)) {
                    values.push(Value {
                        column,
                        text,
                        count: Some(*count),
                    });
                }
            }
        }
    }
    values
}

/// Adds cells that say in other words what spans of these vectors say, `k` for each.
fn add_alike(
    embedder: &dyn Embedder,
    spans: &[Vec<f32>],
    k: usize,
    (kept, read): (&Arc<Kept>, &Read),
    pool: &Pool<'_>,
    found: &mut Found,
) -> Result<(), ModelError> {
    let vectors = vectors(embedder, kept)?;
    let mut places: HashMap<(&str, &str), u32> = HashMap::new();
    for (at, value) in pool.values.iter().enumerate() {
        let name = read.table.columns[value.column].name.as_str();
        places.insert((name, value.text), u32::try_from(at).unwrap_or(u32::MAX));
    }
    for span in spans {
        let alike = vectors.iter().filter_map(|value| {
            let cosine: f32 = span.iter().zip(&value.vector).map(|(a, b)| a * b).sum();
            let column = &kept.distinct.columns[value.column];
            let text = column.values[value.at].0.as_str();
            let place = places.get(&(column.name.as_str(), text));
            let place = place.filter(|_| f64::from(cosine) >= ALIKE)?;
            Some((*place, f64::from(cosine)))
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
    let places = few.iter().flat_map(|column| {
        let values = columns[*column].values.iter().enumerate();
        values.map(|(at, (value, _))| (*column, at, value.as_str()))
    });
    let is_word =
        |value: &str| value.chars().any(char::is_alphabetic) && value.chars().nth(LISTED).is_none();
    let places: Vec<_> = places
        .filter(|(.., value)| is_word(value))
        .take(EMBEDDED)
        .collect();
    let texts: Vec<&str> = places.iter().map(|(.., value)| *value).collect();
    let made = embed(embedder, &texts)?;
    let made = places
        .iter()
        .zip(made)
        .map(|((column, at, _), vector)| ValueVector {
            column: *column,
            at: *at,
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
