//! Whether a question is about these tables at all.
//!
//! A model writes something for any question: what is a volcano's height becomes a mountain's. So
//! what the question is about must be here, in words or in meaning: the share of its words that
//! names, columns or cells have, and the likeness of the best column, together reach a limit. A
//! table that was searched has a grade besides, which says more (docs/decisions/034): a caller that
//! has one looks at it first.

use std::collections::{BTreeSet, HashMap, HashSet};

use limn_cells::{CellsAnswer, Match};
use limn_retrieval::says_nothing;
use limn_segment::Near;
use limn_segment::analyzer::analyze;

use super::judgement::judging_terms;
use super::template::{MONTHS, function_words, is_date};

/// What share and likeness reach together: fitted to questions of which half are about nothing that
/// a lake has (docs/decisions/056).
const LEAST: f64 = 0.9;
/// Words of a question that are looked at.
const WORDS: usize = 200;
/// Words that ask or compare, and are about nothing, beside those of functions and numbers.
const ASKING: [&str; 47] = [
    "above",
    "after",
    "before",
    "below",
    "between",
    "over",
    "under",
    "answer",
    "available",
    "best",
    "bottom",
    "common",
    "count",
    "database",
    "descending",
    "different",
    "display",
    "distinct",
    "each",
    "every",
    "exist",
    "find",
    "first",
    "give",
    "greater",
    "high",
    "know",
    "large",
    "last",
    "less",
    "list",
    "more",
    "name",
    "number",
    "old",
    "order",
    "please",
    "record",
    "return",
    "row",
    "show",
    "small",
    "table",
    "tell",
    "top",
    "want",
    "worst",
];

/// Words of times beside months, which any column of dates has.
const TIMES: [&str; 22] = [
    "year",
    "yearly",
    "annual",
    "annually",
    "quarter",
    "quarterly",
    "month",
    "monthly",
    "week",
    "weekly",
    "day",
    "daily",
    "date",
    "today",
    "yesterday",
    "since",
    "until",
    "recent",
    "period",
    "current",
    "previous",
    "past",
];

/// Whether a question is about these tables.
pub(super) fn fits(question: &str, cells: &CellsAnswer) -> bool {
    let columns = cells.tables.iter().flat_map(|it| &it.columns);
    let likeness = columns.map(|it| it.score).fold(0.0, f64::max);
    share(question, cells) + likeness >= LEAST
}

/// The share of the question's words that the tables have, as they are or misspelt; 1 of none.
fn share(question: &str, cells: &CellsAnswer) -> f64 {
    let words = words(question);
    if words.is_empty() {
        return 1.0;
    }
    let there = Terms::of(cells);
    let mut columns = cells.tables.iter().flat_map(|it| &it.columns);
    let has_dates = columns.any(|it| is_date(&it.data_type));
    let times = TIMES.iter().chain(&MONTHS).flat_map(|it| analyze(it));
    let times: HashSet<String> = times.filter(|_| has_dates).collect();
    let is_there =
        |(term, word): &(&String, &String)| times.contains(*term) || there.has(term, word);
    words.iter().filter(is_there).count() as f64 / words.len() as f64
}

/// The words that the question is about, by their terms.
fn words(question: &str) -> HashMap<String, String> {
    // Words of judging are about what texts say, and in no name.
    let asking = ASKING.iter().copied().chain(function_words());
    let asking: HashSet<String> = asking.flat_map(analyze).chain(judging_terms()).collect();
    let pieces = question.split_whitespace().take(WORDS);
    let pieces = pieces.map(|it| {
        it.trim_matches(|it: char| !it.is_alphanumeric())
            .to_lowercase()
    });
    let about = pieces.filter(|it| !says_nothing(it) && !is_number(it));
    let terms = about.flat_map(|word| analyze(&word).into_iter().map(move |it| (it, word.clone())));
    terms.filter(|(term, _)| !asking.contains(term)).collect()
}

/// What words may be that are nearly in the names of tables and columns, a line each.
pub(super) fn meant(words: &[String], cells: &CellsAnswer) -> Vec<String> {
    let columns = cells.tables.iter().flat_map(|it| &it.columns);
    let tables = cells.tables.iter().map(|it| it.table.as_str());
    let names = tables.chain(columns.map(|it| it.name.as_str()));
    let own = names.flat_map(|it| it.split(|it: char| !it.is_alphanumeric()));
    let own: BTreeSet<String> = own.map(str::to_lowercase).collect();
    let unknown = words.iter().filter(|it| !own.contains(*it));
    let lines = unknown.filter_map(|word| {
        let near = Near::misspelt(word, false)?;
        let near: Vec<&str> = own
            .iter()
            .map(String::as_str)
            .filter(|it| near.distance(it).is_some())
            .collect();
        (!near.is_empty())
            .then(|| format!("'{word}' is in no name; is {} meant?", near.join(" or ")))
    });
    lines.map(|it| limn_store::one_line(&it)).collect()
}

fn is_number(word: &str) -> bool {
    word.replace(',', "").parse::<f64>().is_ok()
}

/// The terms of names and cells.
struct Terms(HashSet<String>);

impl Terms {
    fn of(cells: &CellsAnswer) -> Terms {
        let mut terms = HashSet::new();
        for table in &cells.tables {
            terms.extend(analyze(&table.table));
            for column in &table.columns {
                terms.extend(analyze(&column.name));
                terms.extend(column.frequent.iter().flatten().flat_map(|it| analyze(it)));
            }
            let cells = table.cells.iter().filter(|it| it.how != Match::Vector);
            terms.extend(cells.flat_map(|it| analyze(&it.value)));
        }
        Terms(terms)
    }

    /// Whether a term is one of them, or its word is nearly one.
    fn has(&self, term: &str, word: &str) -> bool {
        self.0.contains(term) || {
            let near = Near::misspelt(word, false);
            // What is near begins alike.
            let mut alike = self
                .0
                .iter()
                .filter(|it| it.as_bytes().first() == word.as_bytes().first());
            near.is_some_and(|near| alike.any(|it| near.distance(it).is_some()))
        }
    }
}
