//! Copies: one result for tables of equal content, whatever the shards, filters and restrictions.

use limn_segment::{TableBlocks, TableContent};
use proptest::prelude::*;

use super::properties::lake;
use super::{bits, query, searcher, table};
use crate::{Mode, Values};

fn with(mut table: TableBlocks, hash: u128) -> TableBlocks {
    table.content = (hash > 0).then_some(TableContent {
        hash,
        modified_ms: 0,
    });
    table
}

/// Ten copies of one table, and three others that fit the question less.
fn crowd() -> Vec<TableBlocks> {
    let copy = |name: String| {
        with(
            table(&name, "river level: date, level", &["level: 1"], &[], ""),
            7,
        )
    };
    let other = |name: &str| {
        table(
            name,
            "river: station, depth, weight, price, owner",
            &[],
            &[],
            "",
        )
    };
    let mut tables: Vec<TableBlocks> = (0..9).map(|n| copy(format!("backup/{n}/levels"))).collect();
    tables.push(copy("water/quality/2024/levels".to_owned()));
    tables.extend(["a", "b", "c"].map(other));
    tables
}

#[test]
fn copies_take_one_place_and_leave_the_others_theirs() {
    for mode in [Mode::Limn, Mode::Plain] {
        for shards in [1, 3] {
            let searcher = searcher(&crowd(), shards);
            let ranking = searcher.rank(&query("river level", 4, mode)).unwrap();
            let names: Vec<&str> = ranking
                .tables
                .iter()
                .map(|it| it.key.name.as_str())
                .collect();
            assert_eq!(
                names,
                ["water/quality/2024/levels", "a", "b", "c"],
                "{mode:?}"
            );
            assert_eq!(ranking.tables[0].copies.len(), 9);
            assert_eq!(ranking.tables[0].copies[0], "backup/0/levels");
            assert!(ranking.tables[1].copies.is_empty());
        }
    }
}

#[test]
fn who_does_not_see_a_table_finds_its_copy_and_learns_nothing_of_it() {
    let searcher = searcher(&crowd(), 3);
    let asked = query("river level", 4, Mode::Limn);
    let seen =
        |name: &str| name.starts_with("backup/1") || name == "a" || name == "backup/2/levels";
    let restricted = searcher.restricted(|key| seen(&key.name), Values::Searched);
    let found = restricted.rank(&asked).unwrap();
    assert_eq!(found.tables[0].key.name, "backup/1/levels");
    assert_eq!(found.tables[0].copies, ["backup/2/levels"]);
    assert_eq!(found.tables.len(), 2);
    // So is one who asks elsewhere.
    let mut below = asked.clone();
    below.prefix = Some("backup/3".to_owned());
    let found = searcher.rank(&below).unwrap();
    assert_eq!(found.tables[0].key.name, "backup/3/levels");
    assert!(found.tables[0].copies.is_empty());
}

#[test]
fn a_copy_is_called_one() {
    let tables = crowd();
    let searcher = searcher(&tables, 3);
    let found = searcher.similar(&tables[4].table, 3, None, None).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].key.name, "water/quality/2024/levels");
    assert!(found[0].copy && found[0].copies.len() == 8);
    assert!(
        found[1..]
            .iter()
            .all(|similar| !similar.copy && similar.copies.is_empty())
    );
    let other = searcher.similar(&tables[10].table, 3, None, None).unwrap();
    assert!(other.iter().all(|similar| !similar.copy));
    assert_eq!(
        other
            .iter()
            .filter(|similar| similar.copies.len() == 9)
            .count(),
        1
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn k_tables_are_found_whatever_is_a_copy_of_what(
        tables in lake(),
        hashes in prop::collection::vec(0u128..5, 26),
        kept in prop::collection::vec(any::<bool>(), 26),
        k in 1usize..8,
    ) {
        let tables: Vec<TableBlocks> = tables.into_iter().zip(&hashes).map(|(it, hash)| with(it, *hash)).collect();
        let (one, many) = (searcher(&tables, 1), searcher(&tables, 4));
        for mode in [Mode::Limn, Mode::Plain] {
            let asked = query("river lake fish depth country", k, mode);
            let found = one.rank(&asked).unwrap();
            prop_assert_eq!(bits(&found), bits(&many.rank(&asked).unwrap()));
            let everything = one.rank(&query("river lake fish depth country", 100, mode)).unwrap();
            prop_assert_eq!(found.tables.len(), k.min(everything.tables.len()));
            // Each table once, as itself or as a copy.
            let mut found: Vec<&String> = everything.tables.iter().flat_map(|it| it.copies.iter().chain([&it.key.name])).collect();
            let count = found.len();
            found.sort();
            found.dedup();
            prop_assert_eq!(found.len(), count);
        }
        // Restricted, it is as if the others were not there.
        let place = |name: &str| tables.iter().position(|it| it.table.name == name).unwrap();
        let restricted = one.restricted(|key| kept[place(&key.name)], Values::Searched);
        let alone: Vec<TableBlocks> = tables.iter().filter(|it| kept[place(&it.table.name)]).cloned().collect();
        if !alone.is_empty() {
            let asked = query("river lake fish", k, Mode::Limn);
            let (seen, wanted) = (restricted.rank(&asked).unwrap(), searcher(&alone, 1).rank(&asked).unwrap());
            prop_assert_eq!(bits(&seen), bits(&wanted));
            let copies = |ranking: &crate::Ranking| -> Vec<Vec<String>> { ranking.tables.iter().map(|it| it.copies.clone()).collect() };
            prop_assert_eq!(copies(&seen), copies(&wanted));
        }
    }
}
