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
pub(super) use times::is_date;

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
pub(super) fn statement(question: &str, tables: &Tables<'_>) -> Result<String, Unread> {
    let reading = Reading::of(question, tables);
    let possible = reading.possible.iter().map(|it| {
        let (name, table) = &tables.list[it.table];
        format!("{} of {name}", table.columns[it.column].name)
    });
    let unread = Unread {
        words: reading.unread(),
        dates: possible.collect(),
    };
    match unread.words.is_empty() {
        true => build::statement(&reading, tables).ok_or(unread),
        false => Err(unread),
    }
}

#[cfg(test)]
mod tests;
