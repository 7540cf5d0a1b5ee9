//! What to know of an answer.

use limn_sets::KnownJoins;
use limn_store::one_line;

use super::{CellsJoin, LOOKED_AT, Read};
use crate::table::Table;

/// Columns that a note names.
const NOTED: usize = 3;

pub(super) fn notes_of(table: &Table) -> Vec<String> {
    let mut notes = Vec::new();
    let name = one_line(&table.key.name);
    match table.withheld {
        0 => {}
        1 => notes.push(format!(
            "1 column of '{name}' is withheld, and is none for SQL"
        )),
        some => notes.push(format!(
            "{some} columns of '{name}' are withheld, and are none for SQL"
        )),
    }
    if table.uncounted > 0 {
        notes.push(format!(
            "ranges and frequent values of '{name}' were counted before {} of its rows came or went: limn index counts again once these are more than --resample-threshold of all",
            table.uncounted
        ));
    }
    let columns = table.columns.len();
    if columns > LOOKED_AT {
        notes.push(format!(
            "'{name}' has {columns} columns: beyond the first {LOOKED_AT}, those that the question names were looked at"
        ));
    }
    notes
}

/// The tables that no join connects with the others: none of the answer, and none of a graph.
pub(super) fn unjoined(reads: &[Read], joins: &[CellsJoin], known: &KnownJoins) -> Option<String> {
    if reads.len() < 2 {
        return None;
    }
    let is_joined = |read: &&Read| {
        let key = &read.table.key;
        let mut others = reads.iter().map(|it| &it.table.key);
        joins.iter().any(|it| it.columns_of(key).next().is_some())
            || others.any(|other| other != key && known.join(key, other).is_some())
    };
    let alone = reads.iter().filter(|read| !is_joined(read));
    let alone: Vec<String> = alone
        .map(|read| format!("'{}'", one_line(&read.table.key.name)))
        .collect();
    match alone.as_slice() {
        [] => None,
        [one] => Some(format!("no join of {one} with the other tables is known")),
        [others @ .., last] => Some(format!(
            "no join of {} or {last} with the other tables is known",
            others.join(", ")
        )),
    }
}

/// That values of a table were not compared, since there are so many.
pub(super) fn not_compared(read: &Read) -> Option<String> {
    let distinct = &read.kept.as_ref()?.distinct;
    let columns = read.table.columns.iter().filter(|it| it.is_text());
    let columns = columns.filter_map(|column| {
        let counted = distinct.of(&column.name);
        let compared = counted.map_or(0, |counted| counted.values.len() as u64);
        let all = column.distinct.filter(|all| *all > compared);
        let all = all.map_or(String::new(), |all| format!(" of about {all}"));
        let is_whole = counted.is_some_and(|counted| counted.is_whole);
        (!is_whole).then(|| format!("{compared}{all} values of '{}'", one_line(&column.name)))
    });
    let columns: Vec<String> = columns.take(NOTED).collect();
    (!columns.is_empty()).then(|| {
        format!(
            "only {} in '{}' were compared; quote a value to look for it",
            columns.join(", "),
            one_line(&read.table.key.name)
        )
    })
}
