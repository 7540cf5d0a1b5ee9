//! Why a table is what it is, and why its files are read as they are: what the catalog knows of
//! that, in words.
//!
//! Everything follows from the files' paths, their summaries and what people declare of them;
//! nothing is kept for it.

mod apart;
mod known;
mod reading;
mod rule;

use std::collections::BTreeMap;

use limn_formats::Declaration;
use limn_profile::DeclaredReading;
use serde::Serialize;

pub use apart::Apart;
pub use known::{Known, KnownColumn};
pub use reading::{ColumnType, Reading};

use crate::scan::settle_all;
use apart::apart;
use known::kind_of;
use reading::{column, readings};
use rule::rule;

/// Why a table is what it is, and how its files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What makes its files a table: `file`, `alike`, `declared`, `partitions` or `parts`.
    pub rule: &'static str,
    /// The same in a sentence.
    pub explanation: String,
    /// The entries of `.limn.yaml` files that speak of its files, and what they say, a line each.
    pub declared: Vec<String>,
    /// Files that are named like its own and are not of it, at most 20.
    pub apart: Vec<Apart>,
    /// How its files are read, those that are read alike together; at most 20.
    pub readings: Vec<Reading>,
    /// Where the types of its columns come from, in order.
    pub columns: Vec<ColumnType>,
}

/// Why a table is what it is. `others` are other tables of the lake that may have files named like
/// its own; without `shows_values` nothing is given that may be a value: signs, paths and patterns.
pub fn why(
    table: Known<'_>,
    columns: &[KnownColumn<'_>],
    others: &[Known<'_>],
    shows_values: bool,
) -> Why {
    let own = table.files;
    let mut settled = own.to_vec();
    settle_all(&mut settled);
    let table = Known {
        files: &settled,
        ..table
    };
    let kind = kind_of(table);
    let (rule, explanation) = rule(table, kind, shows_values);
    Why {
        rule,
        explanation,
        declared: declared(table, columns, shows_values),
        apart: apart(table, kind, others),
        readings: readings(table, own, shows_values),
        columns: columns.iter().map(|it| column(table, own, it)).collect(),
    }
}

fn declared(table: Known<'_>, columns: &[KnownColumn<'_>], shows_values: bool) -> Vec<String> {
    let mut entries = BTreeMap::new();
    for declared in table
        .files
        .iter()
        .filter_map(|(it, _)| it.declared.as_deref())
        // People, that is, and neither a log nor files beside it.
        .filter(|it| !it.by.is_empty())
    {
        *entries.entry(declared).or_insert(0usize) += 1;
    }
    let entry = |(declared, files): (&Declaration, usize)| {
        let mut explanation = match shows_values {
            true => format!("{}, files: '{}'", declared.by, declared.files),
            false => declared.by.clone(),
        };
        explanation = format!(
            "{explanation} ({})",
            limn_profile::text::counted(files as u64, "file")
        );
        let said = keys(&declared.reading);
        if !said.is_empty() {
            explanation = format!("{explanation}: {}", said.join(", "));
        }
        let is_there = |name: &str| columns.iter().any(|column| column.name == name);
        let missing = declared.reading.types.keys();
        let missing: Vec<&str> = missing
            .map(String::as_str)
            .filter(|it| !is_there(it))
            .collect();
        match missing.as_slice() {
            [] => explanation,
            missing => format!(
                "{explanation}; no file has the declared {}",
                missing.join(", ")
            ),
        }
    };
    entries.into_iter().map(entry).collect()
}

/// The keys that say how a file is read.
fn keys(reading: &DeclaredReading) -> Vec<&'static str> {
    let keys = [
        ("columns", !reading.types.is_empty()),
        ("header", reading.header.is_some()),
        ("delimiter", reading.delimiter.is_some()),
        ("nulls", reading.nulls.is_some()),
        ("date-order", reading.conventions.date_order.is_some()),
        ("decimal", reading.conventions.decimal.is_some()),
        ("encoding", reading.encoding.is_some()),
    ];
    let keys = keys.into_iter().filter(|(_, is_said)| *is_said);
    keys.map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests;
