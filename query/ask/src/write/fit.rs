//! Whether a question is about these tables at all.
//!
//! A model writes something for any question: what is a volcano's height becomes a mountain's. So
//! what the question is about must be here, in words or in meaning: the share of its words that
//! names, columns or cells have, and the likeness of the best column, together reach a limit. A
//! table that was searched has a grade besides, which says more (docs/decisions/034): who has one
//! looks at it first.

use std::collections::HashSet;

use limn_cells::{CellsAnswer, Match};
use limn_retrieval::says_nothing;
use limn_segment::analyzer::analyze;

use super::judgement::judging_terms;
use super::template::{MONTHS, is_date};

/// What share and likeness reach together: fitted to questions of which half are about nothing that
/// a lake has (docs/decisions/056).
const LEAST: f64 = 0.9;
/// Words of a question that are looked at.
const WORDS: usize = 200;
/// Words that ask, and are about nothing.
const ASKING: [&str; 44] = [
    "answer",
    "available",
    "average",
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
    "give",
    "greater",
    "high",
    "highest",
    "know",
    "large",
    "largest",
    "least",
    "less",
    "list",
    "lowest",
    "maximum",
    "minimum",
    "more",
    "most",
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
    "sum",
    "table",
    "tell",
    "total",
    "want",
];

/// Words of times beside months, which any column of dates has.
const TIMES: [&str; 25] = [
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
    "last",
    "since",
    "until",
    "recent",
    "latest",
    "earliest",
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

/// The share of the question's words that the tables have; 1 of none.
fn share(question: &str, cells: &CellsAnswer) -> f64 {
    // Words of judging are about what texts say, and in no name.
    let asking = ASKING.iter().flat_map(|it| analyze(it));
    let asking: HashSet<String> = asking.chain(judging_terms()).collect();
    let words = question.split_whitespace().take(WORDS);
    let terms = words.filter(|it| !says_nothing(it)).flat_map(analyze);
    let terms: HashSet<String> = terms.filter(|it| !asking.contains(it)).collect();
    if terms.is_empty() {
        return 1.0;
    }
    let mut there: HashSet<String> = HashSet::new();
    let mut columns = cells.tables.iter().flat_map(|it| &it.columns);
    if columns.any(|it| is_date(&it.data_type)) {
        let times = TIMES.iter().chain(&MONTHS).flat_map(|it| analyze(it));
        let times: HashSet<String> = times.collect();
        let is_time = |it: &&String| times.contains(*it) || is_year(it);
        there.extend(terms.iter().filter(is_time).cloned());
    }
    let mut add =
        |text: &str| there.extend(analyze(text).into_iter().filter(|it| terms.contains(it)));
    for table in &cells.tables {
        add(&table.table);
        for column in &table.columns {
            add(&column.name);
            column.frequent.iter().flatten().for_each(|it| add(it));
        }
        let cells = table.cells.iter().filter(|it| it.how != Match::Vector);
        cells.for_each(|it| add(&it.value));
    }
    there.len() as f64 / terms.len() as f64
}

fn is_year(term: &str) -> bool {
    let year: Option<u16> = term.parse().ok();
    term.len() == 4 && year.is_some_and(|it| (1000..3000).contains(&it))
}
