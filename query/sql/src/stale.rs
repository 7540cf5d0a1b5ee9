//! A file that is not what the index knows: the line that reports it, and the command that brings
//! the index up to date.

use std::fmt;
use std::sync::Arc;

use limn_formats::member;
use limn_lake::scan::ScanError;
use limn_segment::TableRecord;
use limn_store::one_line;
use thiserror::Error;

/// What stands for the index in a command, where nobody says which one it is.
const INDEX: &str = "INDEX";

/// A file of a table has changed since it was indexed, or is missing.
#[derive(Clone, Debug, Error)]
pub struct Stale {
    path: String,
    is_missing: bool,
    table: Arc<TableRecord>,
}

impl Stale {
    /// What a scan met of the files of a table, if it is that.
    pub(crate) fn of(error: &ScanError, table: &Arc<TableRecord>) -> Option<Stale> {
        let (path, is_missing) = match error {
            ScanError::Changed { path } => (path, false),
            ScanError::Missing { path } => (path, true),
            ScanError::Store { .. } => return None,
        };
        Some(Stale {
            path: path.clone(),
            is_missing,
            table: Arc::clone(table),
        })
    }

    /// What is wrong, without what to do.
    #[must_use]
    pub fn what(&self) -> String {
        let file = one_line(member::outside(&self.path));
        let has_others = match self.is_inside() {
            true => ", and with it all tables that are in it",
            false => "",
        };
        match self.is_missing {
            true => format!("{file} is missing: it was there when it was indexed{has_others}"),
            false => format!("{file} has changed since it was indexed{has_others}"),
        }
    }

    /// The command that brings the index up to date; `index` is where that is.
    #[must_use]
    pub fn command(&self, index: &str) -> String {
        let (lake, index) = (word(&self.table.lake), word(index));
        match self.is_missing || self.is_inside() {
            true => format!("limn index {lake} --index {index}"),
            false => {
                let table = word(&self.table.name);
                format!("limn update {table} --lake {lake} --index {index}")
            }
        }
    }

    /// What is wrong and what to do, in one line; `index` is where the index is.
    #[must_use]
    pub fn line(&self, index: &str) -> String {
        let (what, command) = (self.what(), self.command(index));
        format!("{what}; bring the index up to date: {command}")
    }

    /// Whether the table lies in a file with others.
    fn is_inside(&self) -> bool {
        member::split(&self.path).is_some()
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(INDEX))
    }
}

/// A word of a command line, in quotes where a shell would take it for something else.
fn word(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-:+@%=,".contains(it);
    let text = one_line(text);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn line(error: &ScanError) -> String {
        let table = TableRecord {
            lake: "/data/the lake".to_owned(),
            name: "sales/orders".to_owned(),
            ..TableRecord::default()
        };
        Stale::of(error, &Arc::new(table))
            .unwrap()
            .line("lake.limn")
    }

    #[test]
    fn the_command_can_be_run_as_it_stands() {
        let changed = |path: &str| {
            line(&ScanError::Changed {
                path: path.to_owned(),
            })
        };
        assert_eq!(
            changed("sales/orders.csv"),
            "sales/orders.csv has changed since it was indexed; bring the index up to date: \
             limn update sales/orders --lake '/data/the lake' --index lake.limn"
        );
        assert_eq!(
            changed("sales.db//orders"),
            "sales.db has changed since it was indexed, and with it all tables that are in it; \
             bring the index up to date: limn index '/data/the lake' --index lake.limn"
        );
        let missing = line(&ScanError::Missing {
            path: "sales/orders.csv".to_owned(),
        });
        assert_eq!(
            missing,
            "sales/orders.csv is missing: it was there when it was indexed; bring the index up to \
             date: limn index '/data/the lake' --index lake.limn"
        );
    }
}
