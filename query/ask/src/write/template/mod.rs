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

#[cfg(test)]
mod tests;
