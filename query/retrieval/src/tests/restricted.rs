//! A restricted searcher is one over an index of the kept tables, and reveals nothing of the
//! others.

use std::sync::Arc;

use limn_models::HashedWords;
use limn_profile::{ColumnBuilder, FileValues, KeptValues, ValueLimits};
use limn_segment::{BlockKind, ColumnValues, Deletes, TableBlocks, TableKey, TableValues};
use proptest::prelude::*;

use super::properties::{lake, texts};
use super::{key, opened, query, searcher, segment, small_lake, snapshot};
use crate::absent_words::LookUp;
use crate::{Answer, Mode, Query, Searcher, Values};

/// Everything an answer says; numbers are printed so that different bits differ. What a note says
/// in parentheses is left out: an index that has no values and a caller who may not read them are
/// answered in other words.
fn printed(answer: &Answer) -> String {
    let mut answer = serde_json::to_value(answer).unwrap();
    for note in answer["notes"].as_array_mut().unwrap() {
        let text = note.as_str().unwrap().split(" (").next().unwrap();
        *note = text.to_owned().into();
    }
    answer.to_string()
}

/// Hashes of codes, of which tables that are neighbours have some in common.
fn codes(place: usize) -> TableValues {
    let file = FileValues::new(KeptValues {
        most: 1000,
        hides_personal: false,
    });
    let limits = ValueLimits::for_columns(usize::MAX);
    let mut column = ColumnBuilder::with_limits("code", limits).hashing(&file);
    for number in 10 * place..10 * place + 30 {
        column.push(Some(&format!("K-{number:04}")));
    }
    TableValues {
        columns: vec![ColumnValues {
            name: "code".to_owned(),
            withheld: false,
            lists: column.finish(true).hashes,
        }],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_restricted_searcher_is_one_over_the_kept_tables(
        mut tables in lake(),
        // A code that a few tables may have among many.
        code in 0usize..320,
        kept in prop::collection::vec(any::<bool>(), 26),
        values in prop::sample::select(&[Values::Searched, Values::Hidden][..]),
        shards in 1u32..6,
        // Of words, one of which may be in hidden tables only, and one that is nowhere.
        question in texts(6),
        k in 1usize..12,
        alpha in 0.0f32..=1.0,
        // Few, so that hidden blocks would take the place of others.
        candidates in prop::option::of(1usize..3),
    ) {
        let question = format!("{question} flurbish K-{code:04}");
        for (place, table) in tables.iter_mut().enumerate() {
            table.values = codes(place);
        }
        let place = |name: &str| tables.iter().position(|t| t.table.name == name).unwrap();
        let all = searcher(&tables, shards);
        let restricted = all.restricted(|key| kept[place(&key.name)], values);
        let mut only: Vec<TableBlocks> = tables
            .iter()
            .filter(|table| kept[place(&table.table.name)])
            .cloned()
            .collect();
        if values == Values::Hidden {
            let is_named = |kind| matches!(kind, BlockKind::Schema | BlockKind::Context);
            for table in &mut only {
                table.blocks.retain(|block| is_named(block.kind));
                table.values = TableValues::default();
            }
        }
        let built = searcher(&only, 2);
        prop_assert_eq!(restricted.table_count(), only.len());
        prop_assert_eq!(restricted.names(), built.names());
        for (mode, prefix) in [(Mode::Limn, None), (Mode::Plain, None), (Mode::Limn, Some("a"))] {
            let query = Query { alpha, candidates, prefix: prefix.map(str::to_owned), ..query(&question, k, mode) };
            let (found, expected) = (restricted.search(&query).unwrap(), built.search(&query).unwrap());
            prop_assert_eq!(printed(&found), printed(&expected));
        }
        // Restricting further is restricting by both, and the first one is what it was.
        let twice = restricted.restricted(|key| place(&key.name) % 2 == 0, Values::Searched);
        let both = |key: &TableKey| kept[place(&key.name)] && place(&key.name) % 2 == 0;
        let once = all.restricted(both, values);
        let query = query(&question, k, Mode::Limn);
        prop_assert_eq!(printed(&twice.search(&query).unwrap()), printed(&once.search(&query).unwrap()));
        prop_assert_eq!(
            printed(&restricted.search(&query).unwrap()),
            printed(&built.search(&query).unwrap())
        );
    }
}

#[test]
fn a_word_of_hidden_tables_only_occurs_nowhere() {
    let all = searcher(&small_lake(), 2);
    let shop = all.restricted(|key| key.name.starts_with("shop/"), Values::Searched);
    let answer = shop.search(&Query::new("weight of perch")).unwrap();
    assert_eq!(answer.unknown, ["perch"]);
    assert!(!shop.names().contains("science/fish"));
    assert!(all.names().contains("science/fish"));
    // Nor is it looked for again, as a word that no table at all has is not: its time reveals
    // nothing, however often it is measured.
    shop.search(&Query::new("flurbish")).unwrap();
    for word in ["perch", "flurbish"] {
        assert!(shop.corpus().is_absent(word, LookUp::Term), "{word}");
    }
    assert!(!shop.corpus().is_absent("weight", LookUp::Term));
    let again = shop.search(&Query::new("weight of perch")).unwrap();
    assert_eq!(again.notes, answer.notes);
    all.search(&Query::new("flurbish")).unwrap();
    assert!(
        !all.corpus().is_absent("flurbish", LookUp::Term),
        "nothing is hidden"
    );
    let nobody = all.restricted(|_| false, Values::Searched);
    assert_eq!(
        nobody.search(&Query::new("weight")).unwrap().notes,
        ["the index holds no tables"]
    );
    assert_eq!(nobody.table_count(), 0);
}

#[test]
fn where_values_are_hidden_a_question_does_not_reveal_whether_one_is_there() {
    let all = searcher(&small_lake(), 2);
    let seen = all.restricted(|_| true, Values::Hidden);
    assert_eq!(seen.table_count(), all.table_count());
    let there = seen.search(&Query::new("orders of Leipzig")).unwrap();
    let not_there = seen.search(&Query::new("orders of Leipnitz")).unwrap();
    assert_eq!(
        there.notes,
        [
            "this word occurs nowhere in the index: Leipzig (tables' values were not searched: the key that asked may not \
             read them)"
        ]
    );
    let scores = |answer: &Answer| -> Vec<(String, f32)> {
        let hits = answer.results.iter();
        hits.map(|hit| (hit.table.clone(), hit.lexical)).collect()
    };
    assert_eq!(scores(&there), scores(&not_there));
    let found = all.search(&Query::new("orders of Leipzig")).unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn a_segment_without_a_kept_table_is_not_part_of_a_restricted_corpus() {
    let all = searcher(&small_lake(), 8);
    assert!(all.corpus().segments.len() >= 2);
    let one = all.restricted(|key| key == &super::key("shop/items"), Values::Searched);
    assert_eq!(one.corpus().segments.len(), 1);
    assert!(
        all.restricted(|_| false, Values::Searched)
            .corpus()
            .segments
            .is_empty()
    );
    // Where all is kept nothing is copied.
    let same = all.restricted(|_| true, Values::Searched);
    for segment in &same.corpus().segments {
        let opened = segment.opened();
        assert!(Arc::ptr_eq(&segment.hidden, &opened.deletes));
    }
}

#[test]
fn of_a_table_that_is_live_in_two_segments_the_first_is_hidden() {
    let [mut orders, items, fish] = <[TableBlocks; 3]>::try_from(small_lake()).unwrap();
    let later = segment(vec![orders.clone(), items], 0).0;
    orders.blocks[0].text = "an older schema".into();
    let earlier = segment(vec![orders, fish], 0).0;
    let both = vec![
        opened(earlier, Deletes::none()),
        opened(later, Deletes::none()),
    ];
    let both = Searcher::from_segments(both, snapshot(), Arc::new(HashedWords));
    assert_eq!(both.table_count(), 3);
    let number = both.corpus().number_of(&key("shop/orders")).unwrap();
    let table = &both.corpus().tables[number as usize];
    assert_eq!(both.corpus().segment_number(table), 1);
    let question = Query::new("customer orders");
    assert_eq!(
        printed(&both.search(&question).unwrap()),
        printed(&searcher(&small_lake(), 1).search(&question).unwrap())
    );
}

/// What a question counted is no part of the next one's answer, whatever mode came between.
#[test]
fn a_question_leaves_nothing_to_the_next() {
    let searcher_of = || searcher(&small_lake(), 1);
    let ask = |searcher: &Searcher, text: &str, mode| {
        let answer = searcher.search(&query(text, 5, mode)).unwrap();
        printed(&answer)
    };
    let used = searcher_of();
    ask(&used, "order price date", Mode::Limn);
    ask(&used, "order", Mode::Plain);
    let again = ask(&used, "order date", Mode::Limn);
    assert_eq!(again, ask(&searcher_of(), "order date", Mode::Limn));
}
