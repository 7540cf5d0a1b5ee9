//! Tables of equal content, and which of them stands for the others.
//!
//! A table's segment has a hash of its content ([`TableContent`]); tables of one lake that have the
//! same are copies. One stands for all: the first by [`rank`], among those that the question may
//! find. So who may not see it, or looks elsewhere, finds the next, and never learns of another.
//!
//! [`TableContent`]: limn_segment::TableContent

use std::collections::{HashMap, HashSet};

use limn_segment::{KeyRef, TableContent};

/// Words in the name of a folder or file that is kept beside the one that people use.
const ASIDE: [&str; 12] = [
    "archive",
    "archived",
    "archives",
    "backup",
    "backups",
    "bak",
    "copy",
    "deprecated",
    "old",
    "temp",
    "tmp",
    "trash",
];

/// Copies among tables, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Each of several, in the order in which they stand for the others.
    groups: Vec<Vec<u32>>,
    group_of: HashMap<u32, usize>,
}

impl Copies {
    /// Of tables with their numbers, and what is known of their content.
    pub(crate) fn of<'a>(
        tables: impl Iterator<Item = (u32, Option<TableContent>)>,
        key: impl Fn(u32) -> KeyRef<'a>,
    ) -> Copies {
        let known = tables.filter_map(|(number, content)| Some((number, content?)));
        let mut known: Vec<(u32, TableContent)> = known.collect();
        known.sort_unstable_by_key(|(number, content)| (content.hash, *number));
        let mut groups = Vec::new();
        for equal in known.chunk_by(|a, b| a.1.hash == b.1.hash) {
            // Numbers are in the order of keys, so tables of one lake are neighbours.
            for of_lake in equal.chunk_by(|a, b| key(a.0).lake == key(b.0).lake) {
                if of_lake.len() > 1 {
                    let mut copies = of_lake.to_vec();
                    copies.sort_by_cached_key(|(number, content)| {
                        rank(key(*number).name, content.modified_ms)
                    });
                    groups.push(copies.into_iter().map(|(number, _)| number).collect());
                }
            }
        }
        Copies::grouped(groups)
    }

    fn grouped(groups: Vec<Vec<u32>>) -> Copies {
        let numbered = groups.iter().enumerate();
        let group_of = numbered.flat_map(|(at, group)| group.iter().map(move |it| (*it, at)));
        Copies {
            group_of: group_of.collect(),
            groups,
        }
    }

    /// As these are among the tables with these numbers, in order, which are counted anew.
    pub(crate) fn restricted(&self, kept: &[u32]) -> Copies {
        let number = |old: &u32| kept.binary_search(old).ok().map(|new| new as u32);
        let groups = self.groups.iter();
        let groups = groups.map(|group| group.iter().filter_map(number).collect::<Vec<u32>>());
        Copies::grouped(groups.filter(|group| group.len() > 1).collect())
    }

    /// A table and its copies, the one that stands for them first; nothing, if it has none.
    pub(crate) fn of_table(&self, table: u32) -> &[u32] {
        let group = self.group_of.get(&table);
        group.map_or(&[], |at| &self.groups[*at])
    }

    /// The table that stands for this one among those that are allowed.
    pub(crate) fn first_of(&self, table: u32, allows: impl Fn(u32) -> bool) -> u32 {
        let mut copies = self.of_table(table).iter().copied();
        copies.find(|copy| allows(*copy)).unwrap_or(table)
    }

    /// How many tables these are, copies counted once.
    pub(crate) fn count(&self, tables: impl Iterator<Item = u32>) -> usize {
        let first = tables.map(|table| self.of_table(table).first().copied().unwrap_or(table));
        first.collect::<HashSet<u32>>().len()
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.group_of.len() * 4 * size_of::<u32>()
    }
}

/// Of copies the least stands for the others: one that is not kept aside (no part of its path has a
/// word of [`ASIDE`]), then the one of the shortest path, then the oldest.
fn rank(name: &str, modified_ms: i64) -> (bool, usize, i64, String) {
    (
        is_aside(name),
        name.chars().count(),
        modified_ms,
        name.to_owned(),
    )
}

/// Whether a table is kept aside: a part of its path has a word such as *backup* or *old*.
#[must_use]
pub fn is_aside(name: &str) -> bool {
    words(name).any(|word| ASIDE.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn first(names: &[(&str, i64)]) -> String {
        let least = names
            .iter()
            .min_by_key(|(name, modified)| rank(name, *modified));
        least.unwrap().0.to_owned()
    }

    #[test]
    fn the_one_in_use_stands_for_its_copies() {
        let cases: [(&[(&str, i64)], &str); 6] = [
            (&[("a/b/c/orders", 9), ("bak/orders", 1)], "a/b/c/orders"),
            (
                &[("sales/data/orders", 9), ("Backup_2024/orders", 1)],
                "sales/data/orders",
            ),
            (&[("sales/orders", 9), ("orders_old", 1)], "sales/orders"),
            (
                &[("sales/orders (1)", 1), ("sales/orders", 9)],
                "sales/orders",
            ),
            (&[("a/orders", 9), ("b/orders", 1)], "b/orders"),
            (&[("tmp/a/orders", 1), ("tmp/orders", 9)], "tmp/orders"),
        ];
        for (names, expected) in cases {
            assert_eq!(first(names), expected);
        }
        // A word within a word is another one.
        assert!(!rank("gold/template", 0).0 && rank("x/tmp2/a", 0).0);
    }

    #[test]
    fn copies_are_of_one_lake_and_stay_so_where_some_are_hidden() {
        let names = [
            ("l", "a"),
            ("l", "b/a"),
            ("l", "tmp/a"),
            ("m", "a"),
            ("m", "c"),
        ];
        let key = |number: u32| KeyRef {
            lake: names[number as usize].0,
            name: names[number as usize].1,
        };
        let content = |hash: u128| {
            (hash > 0).then_some(TableContent {
                hash,
                modified_ms: 0,
            })
        };
        let tables = (0..).zip([7, 7, 7, 7, 0].map(content));
        let copies = Copies::of(tables, key);
        assert_eq!(copies.of_table(2), [0, 1, 2]);
        assert!(copies.of_table(3).is_empty() && copies.of_table(4).is_empty());
        assert_eq!(copies.first_of(2, |_| true), 0);
        assert_eq!(copies.first_of(2, |table| table > 0), 1);
        assert_eq!(copies.count([0, 1, 2, 3].into_iter()), 2);
        let fewer = copies.restricted(&[1, 2, 4]);
        assert_eq!(fewer.of_table(1), [0, 1]);
        assert!(copies.restricted(&[2, 3]).of_table(0).is_empty());
    }
}
