//! The cells that a question's words may mean: exact, then normalised, near and alike in meaning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

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
pub(crate) struct Value {
    pub(crate) column: Arc<str>,
    pub(crate) text: Arc<str>,
    /// How many rows have it, where that was counted.
    pub(crate) count: Option<u64>,
}

/// Values that may be meant, by what they are found by.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) values: Vec<Value>,
    by_text: HashMap<Arc<str>, Vec<u32>>,
    by_key: HashMap<String, Vec<u32>>,
    near: Near,
}

impl Pool {
    pub(crate) fn of(values: Vec<Value>) -> Pool {
        let keys = values.iter().map(|it| key(&it.text).unwrap_or_default());
        let keys: Vec<String> = keys.collect();
        let mut by_text: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        let mut by_key: HashMap<String, Vec<u32>> = HashMap::new();
        for (at, (value, key)) in values.iter().zip(&keys).enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            by_text.entry(Arc::clone(&value.text)).or_default().push(at);
            if !key.is_empty() {
                by_key.entry(key.clone()).or_default().push(at);
            }
        }
        let texts = values.iter().map(|it| &*it.text);
        let near = Near::of(texts.zip(keys.iter().map(String::as_str)));
        Pool {
            values,
            by_text,
            by_key,
            near,
        }
    }
}

/// The values of a table that may be meant: those that were counted, then more.
pub(crate) struct Pools<'p> {
    pub(crate) counted: Option<&'p Pool>,
    pub(crate) more: &'p Pool,
}

impl<'p> Pools<'p> {
    fn counted_values(&self) -> u32 {
        let count = self.counted.map_or(0, |it| it.values.len());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The value at a place.
    pub(crate) fn value(&self, at: u32) -> &'p Value {
        match (self.counted, at.checked_sub(self.counted_values())) {
            (Some(counted), None) => &counted.values[at as usize],
            (_, place) => &self.more.values[place.unwrap_or(at) as usize],
        }
    }

    /// The places of a list that each pool has.
    fn places(&self, of: impl Fn(&'p Pool) -> Option<&'p Vec<u32>>) -> impl Iterator<Item = u32> {
        let first = self.counted_values();
        let counted = self.counted.and_then(&of).into_iter().flatten().copied();
        let more = of(self.more).into_iter().flatten();
        counted.chain(more.map(move |at| at + first))
    }

    /// The values that are near a span, by place, the nearest first.
    fn near(&self, span: &Span) -> Vec<(u32, f64)> {
        let find = |pool: &Pool| pool.near.find(&span.written, &span.key);
        let first = self.counted_values();
        let mut near = self.counted.map(find).unwrap_or_default();
        let more = find(self.more).into_iter();
        near.extend(more.map(|(at, likeness)| (at + first, likeness)));
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near
    }
}

/// Spans of a question that are not to be looked for by likeness: of all tables of an answer.
#[derive(Default)]
pub(crate) struct Settled {
    /// Which words are a cell as a whole.
    covered: Vec<Range<usize>>,
    /// The words of the names of tables and columns: a question that says them asks for these.
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
    pub(crate) fn by_spelling(pools: &Pools<'_>, asked: &Asked, k: usize) -> Found {
        let mut found = Found::default();
        for span in asked.spans.iter().filter(|span| is_sought(span)) {
            if is_within(&found.covered, span, true) {
                continue;
            }
            let exact = pools.places(|pool| pool.by_text.get(span.written.as_str()));
            for at in exact.take(k) {
                found.add(at, Match::Exact, 1.0);
            }
            let folded = pools.places(|pool| pool.by_key.get(&span.key));
            for at in folded.take(k) {
                found.add(at, Match::Normalised, 1.0);
                found.covered.push(span.words.clone());
            }
        }
        found
    }

    /// Adds what is nearly spelled like spans, `k` for each. Whether that was done in time.
    pub(crate) fn add_near(
        &mut self,
        pools: &Pools<'_>,
        spans: &[&Span],
        k: usize,
        until: Instant,
    ) -> bool {
        for span in spans {
            if Instant::now() >= until {
                return false;
            }
            for (at, likeness) in pools.near(span).into_iter().take(k) {
                self.add(at, Match::Fuzzy, likeness);
            }
        }
        true
    }

    /// Adds a cell, unless it is there by something better.
    pub(crate) fn add(&mut self, at: u32, how: Match, likeness: f64) {
        let known = self.cells.entry(at).or_insert((how, likeness));
        if (how, -likeness) < (known.0, -known.1) {
            *known = (how, likeness);
        }
    }

    /// The cells: the best first, of equal ones those of most rows.
    pub(crate) fn cells(self, pools: &Pools<'_>) -> Vec<(u32, Match)> {
        let mut cells: Vec<(u32, (Match, f64))> = self.cells.into_iter().collect();
        cells.sort_by(|(a, (how_a, like_a)), (b, (how_b, like_b))| {
            let rows = |at: u32| pools.value(at).count.unwrap_or_default();
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
