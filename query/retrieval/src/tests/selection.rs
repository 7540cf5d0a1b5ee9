//! A selection leaves what it says, on both sides, and changes nothing else.

use std::sync::Arc;

use limn_segment::{TableBlocks, is_under};
use proptest::prelude::*;

use super::properties::{lake, texts};
use super::{bits, key, query, searcher, small_lake, table};
use crate::{Mode, Query, RetrievalError, Values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A prefix and a selection of the same tables are one filter; together they leave what both
    /// leave; and no shard matters.
    #[test]
    fn however_a_filter_is_said_it_is_the_same(
        tables in lake(),
        picked in prop::collection::vec(any::<bool>(), 26),
        question in texts(6),
        k in 1usize..12,
        candidates in prop::option::of(1usize..3),
        prefix in prop::sample::select(vec!["a", "b/", "a/deep", "", "a/t0"]),
    ) {
        let (one, many) = (searcher(&tables, 1), searcher(&tables, 5));
        let place = |name: &str| tables.iter().position(|t| t.table.name == name).unwrap();
        for mode in [Mode::Limn, Mode::Plain] {
            let plain = Query { candidates, ..query(&question, k, mode) };
            let by_prefix = Query { prefix: Some(prefix.into()), ..plain.clone() };
            let expected = one.rank(&by_prefix).unwrap();
            for searcher in [&one, &many] {
                let selection = searcher.select(|key| is_under(&key.name, prefix));
                let selected = Query { selection: Some(Arc::new(selection)), ..plain.clone() };
                let both = Query { prefix: Some(prefix.into()), ..selected.clone() };
                for query in [&by_prefix, &selected, &both] {
                    prop_assert_eq!(bits(&searcher.rank(query).unwrap()), bits(&expected));
                }
            }
            let mut rankings = Vec::new();
            for searcher in [&one, &many] {
                let selection = Arc::new(searcher.select(|key| picked[place(&key.name)]));
                let both = Query { selection: Some(selection), ..by_prefix.clone() };
                let fits = |key: &limn_segment::TableKey| picked[place(&key.name)] && is_under(&key.name, prefix);
                let once = Query { selection: Some(Arc::new(searcher.select(fits))), ..plain.clone() };
                let found = searcher.rank(&both).unwrap();
                prop_assert_eq!(bits(&found), bits(&searcher.rank(&once).unwrap()));
                prop_assert!(found.tables.iter().all(|table| fits(&table.key)));
                let irrelevant = found.notes.iter().any(|note| note.starts_with("nothing relevant"));
                let left = tables.iter().filter(|table| fits(&table.table)).count();
                prop_assert!(irrelevant || found.tables.len() == k.min(left));
                rankings.push(bits(&found));
            }
            prop_assert_eq!(&rankings[0], &rankings[1]);
        }
    }
}

/// A large segment, of which a filter leaves so little that its blocks are scored one by one.
#[test]
fn few_tables_of_many_are_found_like_many() {
    let tables: Vec<TableBlocks> = (0..400)
        .map(|at| {
            let word = super::WORDS[at % super::WORDS.len()];
            let text = format!("{word} of number{at}");
            table(&format!("f{}/t{at}", at % 40), &text, &[word], &[], "")
        })
        .collect();
    let (one, many) = (searcher(&tables, 1), searcher(&tables, 100));
    for (prefix, left) in [("f3", 10), ("f7/t7", 1)] {
        let query = Query {
            prefix: Some(prefix.into()),
            ..query("river depth city", 20, Mode::Limn)
        };
        let found = one.rank(&query).unwrap();
        assert_eq!(found.tables.len(), left, "{prefix}");
        assert_eq!(bits(&found), bits(&many.rank(&query).unwrap()));
    }
}

#[test]
fn a_filter_that_leaves_nothing_is_noted() {
    let searcher = searcher(&small_lake(), 2);
    let notes = |prefix: Option<&str>, name: &str| {
        let query = Query {
            prefix: prefix.map(str::to_owned),
            selection: Some(Arc::new(searcher.select(|key| key.name == name))),
            ..Query::new("zzyzx")
        };
        searcher.search(&query).unwrap().notes
    };
    assert_eq!(notes(None, "none"), ["the filter leaves no table"]);
    assert_eq!(notes(Some("shop"), "none"), ["the filter leaves no table"]);
    assert_eq!(
        notes(Some("shop"), "science/fish"),
        ["the filter leaves no table under 'shop'"]
    );
    assert_eq!(
        notes(Some("sho"), "shop/items"),
        ["no table lies under 'sho'"]
    );
    assert_eq!(
        notes(Some("shop"), "shop/items")[1],
        "nothing relevant was found under 'shop' among the tables that the filter leaves: no table has a word of the question, and no text is close to it in meaning"
    );
    // A question for this lake, whose word is not in this folder.
    let elsewhere = Query {
        prefix: Some("shop".into()),
        ..Query::new("perch")
    };
    let answer = searcher.search(&elsewhere).unwrap();
    assert_eq!(answer.results.len(), 2);
    assert_eq!(
        answer.notes,
        ["no table under 'shop' is likely to answer this: these are the nearest"]
    );
    // What a word is worth, and whether it is known, is a matter of the whole index.
    let query = Query {
        selection: Some(Arc::new(searcher.select(|key| key.name == "shop/items"))),
        ..Query::new("price of perch")
    };
    assert_eq!(searcher.search(&query).unwrap().notes, [""; 0]);
}

#[test]
fn numbers_are_the_searchers_own() {
    let all = searcher(&small_lake(), 2);
    let names: Vec<&str> = all.tables().map(|table| table.key.name).collect();
    assert_eq!(names, ["science/fish", "shop/items", "shop/orders"]);
    let items = all.table(&key("shop/items")).unwrap();
    assert_eq!((items.number, items.location), (1, "lake/shop/items.csv"));
    assert_eq!(all.table(&key("shop/item")), None);

    let selection = all.select_numbers([1, 1, 7]);
    assert_eq!((selection.len(), selection.contains(1)), (1, true));
    assert!(!selection.contains(0) && !selection.contains(700) && !selection.is_empty());
    let query = Query {
        selection: Some(Arc::new(selection)),
        ..Query::new("price")
    };
    assert_eq!(all.search(&query).unwrap().results[0].table, "shop/items");
    let restricted = all.restricted(|_| true, Values::Searched);
    let error = restricted.search(&query).unwrap_err();
    assert!(matches!(error, RetrievalError::OtherSelection), "{error}");
}
