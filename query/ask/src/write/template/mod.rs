//! Statements by rules, where no model is there or all that it wrote fails.
//!
//! A question is read as its words (`words.rs`): columns and tables that it names, cells that it
//! has, and a few words that ask for counts, sums, groups, orders and comparisons (`reading.rs`).
//! Only where every word that says something is read as one of these is there a statement
//! (`build.rs`): half a question has the wrong answer.

mod build;
mod reading;
mod words;

use super::tables::Tables;
use reading::Reading;

/// The statement of a question, over one table or a join of several.
///
/// # Errors
/// The words that no rule reads; none where all are read, and nothing is asked for that a rule can
/// answer.
pub(super) fn statement(question: &str, tables: &Tables<'_>) -> Result<String, Vec<String>> {
    let reading = Reading::of(question, tables);
    match reading.unread() {
        unread if unread.is_empty() => build::statement(&reading, tables).ok_or(unread),
        unread => Err(unread),
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
