//! Families: tables of one folder that have the same columns, such as a table a day or the sheets
//! of a book. Lists show one as a single line that opens.
//!
//! The rule is one sentence: three tables or more that lie in the same folder (or book, or archive)
//! of a lake and have the same column names in the same order are a family.

use std::collections::HashMap;

use limn_segment::TableFacts;
use sha2::{Digest, Sha256};

/// Tables that make a family.
pub const LEAST: usize = 3;

/// Which family a table belongs to, if it has sisters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyId(u64);

impl FamilyId {
    /// Of a table: `None` where it has no columns.
    fn of(table: &TableFacts<'_>) -> Option<FamilyId> {
        if table.column_count == 0 {
            return None;
        }
        let mut hash = Sha256::new();
        for text in [table.key.lake, folder(table.key.name)] {
            hash.update(text);
            hash.update([0]);
        }
        for column in table.columns() {
            hash.update(column.name.to_lowercase());
            hash.update([0]);
        }
        let first = hash.finalize().first_chunk::<8>().copied();
        first.map(|bytes| FamilyId(u64::from_be_bytes(bytes)))
    }

    /// As [`FamilyId`]'s text, read again.
    pub fn parse(text: &str) -> Option<FamilyId> {
        // A sign before the digits would be read, too.
        let is_id = text.len() == 16 && text.bytes().all(|it| it.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(FamilyId)
    }
}

impl std::fmt::Display for FamilyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The families of some tables, by the tables' places.
#[derive(Debug, Default)]
pub struct Families {
    of: Vec<Option<FamilyId>>,
}

impl Families {
    /// The families among these tables.
    pub fn among<'a>(tables: impl Iterator<Item = TableFacts<'a>>) -> Families {
        let mut of: Vec<Option<FamilyId>> = tables.map(|table| FamilyId::of(&table)).collect();
        let mut counts: HashMap<FamilyId, usize> = HashMap::new();
        for id in of.iter().flatten() {
            *counts.entry(*id).or_default() += 1;
        }
        for id in &mut of {
            *id = id.filter(|id| counts.get(id).is_some_and(|count| *count >= LEAST));
        }
        Families { of }
    }

    /// The family of the table at this place.
    pub fn of(&self, place: usize) -> Option<FamilyId> {
        self.of.get(place).copied().flatten()
    }
}

/// What the names of a family have in common, with a star for the rest: `orders_*`. Where that is
/// nothing, the first two.
pub fn common_name<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let lasts = || names.clone().map(crate::names::last_part);
    let Some(first) = lasts().next() else {
        return String::new();
    };
    let (mut start, mut end) = (first, first);
    for name in lasts() {
        start = &start[..common_start(start, name)];
        end = &end[end.len() - common_end(end, name)..];
    }
    // A number that begins or ends alike in all is cut as a whole, and so is the end of a word.
    let start = start.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let end = end.trim_start_matches(char::is_alphanumeric);
    let shortest = lasts().map(str::len).min().unwrap_or(0);
    if start.is_empty() && end.is_empty() {
        let two: Vec<&str> = lasts().take(2).collect();
        return format!("{}, …", two.join(", "));
    }
    match start.len() + end.len() > shortest {
        true => format!("{start}*"),
        false => format!("{start}*{end}"),
    }
}

fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().zip(other.chars());
    let mut differing = pairs.filter(|((_, a), b)| a != b);
    let least = one.floor_char_boundary(one.len().min(other.len()));
    differing.next().map_or(least, |((at, _), _)| at)
}

fn common_end(one: &str, other: &str) -> usize {
    let pairs = one.chars().rev().zip(other.chars().rev());
    pairs
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

/// What a table lies in: a folder, a book or an archive.
fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_familys_name_is_what_its_names_have_in_common() {
        for (names, wanted) in [
            (vec!["a/orders_2023", "a/orders_2024"], "orders_*"),
            (vec!["a/2023_orders", "a/2024_orders"], "*_orders"),
            (vec!["run-01.csv", "run-02.csv", "run-11.csv"], "run-*.csv"),
            (vec!["north", "south", "west"], "north, south, …"),
            (vec!["aaa", "aa"], "aa*"),
            (vec!["é", "è"], "é, è, …"),
        ] {
            assert_eq!(common_name(names.iter().copied()), wanted);
        }
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = FamilyId(0x00ab_0000_0000_0001);
        assert_eq!(FamilyId::parse(&id.to_string()), Some(id));
        for wrong in ["", "x", "00ab", "+0ab000000000001", "00ab0000000000011"] {
            assert!(FamilyId::parse(wrong).is_none(), "{wrong}");
        }
    }
}
