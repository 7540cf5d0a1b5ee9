//! The cells that a question's words may mean: exact, then normalised, near and alike in meaning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use limn_retrieval::{Span, content_terms};
use limn_segment::analyzer::analyze;
use limn_segment::whole::key;

use crate::answer::Match;
use crate::asked::Asked;
use crate::near::Near;

/// Cells of a table, at most.
const CELLS: usize = 60;

/// A value of a column.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    /// The column's place in the table.
    pub(crate) column: usize,
    pub(crate) text: &'a str,
    /// How many rows have it, where that was counted.
    pub(crate) count: Option<u64>,
}

/// The values of a table that may be meant.
pub(crate) struct Pool<'a> {
    pub(crate) values: Vec<Value<'a>>,
    by_text: HashMap<&'a str, Vec<u32>>,
    by_key: HashMap<String, Vec<u32>>,
    near: Near,
}

impl<'a> Pool<'a> {
    pub(crate) fn of(values: Vec<Value<'a>>) -> Pool<'a> {
        let keys = values.iter().map(|it| key(it.text).unwrap_or_default());
        let keys: Vec<String> = keys.collect();
        let mut by_text: HashMap<&str, Vec<u32>> = HashMap::new();
        let mut by_key: HashMap<String, Vec<u32>> = HashMap::new();
        for (at, (value, key)) in values.iter().zip(&keys).enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            by_text.entry(value.text).or_default().push(at);
            if !key.is_empty() {
                by_key.entry(key.clone()).or_default().push(at);
            }
        }
        let texts = values.iter().map(|it| it.text);
        let near = Near::of(texts.zip(keys.iter().map(String::as_str)));
        Pool {
            values,
            by_text,
            by_key,
            near,
        }
    }
}

/// Spans of a question that are not to be looked for by likeness: of all tables of an answer.
#[derive(Default)]
pub(crate) struct Settled {
    /// Which words are a cell as a whole.
    covered: Vec<Range<usize>>,
    /// The words of the names of tables and columns: who says them asks for these.
    names: HashSet<String>,
}

impl Settled {
    /// Adds what was found in a table by spelling.
    pub(crate) fn add(&mut self, found: &Found) {
        self.covered.extend(found.covered.iter().cloned());
    }

    /// Adds the words of a name.
    pub(crate) fn add_name(&mut self, name: &str) {
        self.names.extend(analyze(name));
    }

    /// The spans that are no cell, and may be meant for one by another spelling or word.
    pub(crate) fn open<'s>(&self, asked: &'s Asked) -> Vec<&'s Span> {
        let is_open = |span: &&Span| span.says && !is_within(&self.covered, span, false);
        let spans = asked.spans.iter().filter(is_open);
        let is_name = |span: &Span| {
            let terms = content_terms(&span.written);
            !span.is_quoted && terms.iter().all(|term| self.names.contains(term))
        };
        spans.filter(|span| !is_name(span)).collect()
    }
}

/// The cells that are found so far, by place in the pool.
#[derive(Default)]
pub(crate) struct Found {
    cells: HashMap<u32, (Match, f64)>,
    /// Which words of the question are a cell as a whole.
    covered: Vec<Range<usize>>,
}

impl Found {
    /// By spelling, `k` for each span.
    pub(crate) fn by_spelling(pool: &Pool<'_>, asked: &Asked, k: usize) -> Found {
        let mut found = Found::default();
        for span in asked.spans.iter().filter(|span| is_sought(span)) {
            if is_within(&found.covered, span, true) {
                continue;
            }
            let exact = pool.by_text.get(span.written.as_str());
            let folded = pool.by_key.get(&span.key).into_iter().flatten();
            let exact = exact.into_iter().flatten().take(k);
            for at in exact {
                found.add(*at, Match::Exact, 1.0);
            }
            for at in folded.take(k) {
                found.add(*at, Match::Normalised, 1.0);
                found.covered.push(span.words.clone());
            }
        }
        found
    }

    /// Adds what is nearly spelled like spans, `k` for each.
    pub(crate) fn add_near(&mut self, pool: &Pool<'_>, spans: &[&Span], k: usize) {
        for span in spans {
            let near = pool.near.find(&span.written, &span.key);
            for (at, likeness) in near.into_iter().take(k) {
                self.add(at, Match::Fuzzy, likeness);
            }
        }
    }

    /// Adds a cell, unless it is there by something better.
    pub(crate) fn add(&mut self, at: u32, how: Match, likeness: f64) {
        let known = self.cells.entry(at).or_insert((how, likeness));
        if (how, -likeness) < (known.0, -known.1) {
            *known = (how, likeness);
        }
    }

    /// The cells: the best first, of equal ones those of most rows.
    pub(crate) fn cells(self, pool: &Pool<'_>) -> Vec<(u32, Match)> {
        let mut cells: Vec<(u32, (Match, f64))> = self.cells.into_iter().collect();
        cells.sort_by(|(a, (how_a, like_a)), (b, (how_b, like_b))| {
            let rows = |at: u32| pool.values[at as usize].count.unwrap_or_default();
            let by_match = how_a.cmp(how_b).then(like_b.total_cmp(like_a));
            by_match.then(rows(*b).cmp(&rows(*a))).then(a.cmp(b))
        });
        cells.truncate(CELLS);
        cells.into_iter().map(|(at, (how, _))| (at, how)).collect()
    }
}

/// Whether a span's words are among those of one that is found: of a longer one, if so `strictly`.
fn is_within(covered: &[Range<usize>], span: &Span, strictly: bool) -> bool {
    let words = &span.words;
    covered.iter().any(|it| {
        let is_longer = !strictly || it.len() > words.len();
        it.start <= words.start && words.end <= it.end && is_longer
    })
}

/// A word that says nothing is no value by itself.
fn is_sought(span: &Span) -> bool {
    span.says || span.words.len() > 1
}
