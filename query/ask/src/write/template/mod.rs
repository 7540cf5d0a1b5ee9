//! Statements by rules, where no model is there or all that it wrote fails.
//!
//! A question is read as its words (`words.rs`): columns and tables that it names, cells that it
//! has, times (`times.rs`), and a few words that ask for counts, sums, groups, orders and
//! comparisons (`reading.rs`). Only where every word that says something is read as one of these is
//! there a statement (`build.rs`): half a question has the wrong answer.

mod build;
mod reading;
mod times;
mod words;

use super::tables::Tables;
use reading::Reading;
pub(super) use reading::function_words;
pub(super) use times::{MONTHS, is_date};

/// A statement by rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ruled {
    pub(super) statement: String,
    /// The same with the numbers that its rows are ordered by, which was not asked for.
    pub(super) shown: Option<String>,
    /// What to know of it, one line each.
    pub(super) notes: Vec<String>,
    /// What to know where its first column has a NULL.
    pub(super) of_null: Option<String>,
}

/// Why no rule answers a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    /// The words that no rule reads.
    pub(super) words: Vec<String>,
    /// Columns of dates, with their tables, of which it does not say which one is meant.
    pub(super) dates: Vec<String>,
}

/// The statement of a question, over one table or a join of several.
///
/// # Errors
/// The words that no rule reads; none where all are read, and nothing is asked for that a rule can
/// answer. Or the dates that may be meant.
pub(super) fn ruled(question: &str, tables: &Tables<'_>) -> Result<Ruled, Unread> {
    let reading = Reading::of(question, tables);
    let is_open = reading.dated.is_none();
    let unread = Unread {
        words: reading.unread(),
        dates: reading.dates.iter().filter(|_| is_open).cloned().collect(),
    };
    match unread.words.is_empty() {
        true => build::ruled(&reading, tables).ok_or(unread),
        false => Err(unread),
    }
}

/// A word of a question.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) term: String,
    /// As it was written, in small letters.
    pub(super) written: String,
    /// Whether a rule reads it, as a name of a table or column, a cell, or a word of its own.
    pub(super) is_read: bool,
    /// Whether it says something.
    pub(super) says: bool,
}

/// The words of a question, in order, as rules read them.
pub(super) fn read_words(question: &str, tables: &Tables<'_>) -> Vec<Word> {
    let reading = Reading::of(question, tables);
    let words = reading.words().iter().map(|it| Word {
        term: it.term.clone(),
        written: it.written.clone(),
        is_read: it.is_read,
        says: it.says(),
    });
    words.collect()
}

#[cfg(test)]
mod tests;
