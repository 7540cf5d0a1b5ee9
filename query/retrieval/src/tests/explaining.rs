//! Why tables are not found is explained by the ranking that is measured; what is known of
//! candidates.

use super::{WORDS, block, query, searcher, small_lake, table};
use crate::eval::{EvalQuestion, explain, features};
use crate::scoring::Formula;
use crate::{Mode, Query};
use limn_segment::{BlockKind, Field};

/// Two hundred tables of words that are drawn by a simple rule.
fn lake() -> crate::Searcher {
    let mut state = 7_u32;
    let mut draw = |most: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % most
    };
    let mut words = |most: u32| -> String {
        let count = 1 + draw(most);
        let words = (0..count).map(|_| WORDS[draw(16) as usize]);
        words.collect::<Vec<_>>().join(" ")
    };
    let tables: Vec<_> = (0..200)
        .map(|at| {
            let (schema, row, context) = (words(6), words(9), words(12));
            table(&format!("t{at}"), &schema, &[&row], &[&context], "")
        })
        .collect();
    searcher(&tables, 3)
}

#[test]
fn asking_words_count_half_beside_others() {
    // Two tables of equal texts, each with another word of the question.
    let tables = [
        table("a", "flow highest", &[], &[], ""),
        table("b", "flow level", &[], &[], ""),
    ];
    let searcher = searcher(&tables, 1);
    let first = |question: &str| {
        let asked = Query {
            alpha: 1.0,
            ..query(question, 1, Mode::Limn)
        };
        searcher.rank(&asked).unwrap().tables[0].key.name.clone()
    };
    assert_eq!(first("highest level of a flow"), "b");
    assert_eq!(first("flow \"highest\" of a level"), "a", "it is quoted");
}

#[test]
fn a_part_of_a_code_that_no_table_has_is_not_the_code() {
    let tables = [
        table("a", "unit", &["003"], &[], ""),
        table("b", "unit status", &["open"], &[], ""),
    ];
    let searcher = searcher(&tables, 1);
    let question = EvalQuestion {
        question: "status of C003".to_owned(),
        tables: vec!["a".to_owned()],
        kind: None,
    };
    let explanation = explain(&searcher, &question, &[], &query("", 1, Mode::Limn)).unwrap();
    assert_eq!(explanation.unknown, ["C003"]);
    let (standing, _) = &explanation.missed[0];
    let words: Vec<&String> = standing.words.values().flatten().collect();
    assert!(!words.is_empty(), "{standing:?}");
    let is_part = |word: &&String| word.ends_with("(of c003)");
    assert!(words.iter().all(is_part), "{standing:?}");
}

#[test]
fn the_first_of_an_explanation_is_the_first_that_is_found() {
    let searcher = lake();
    let mut differ = 0;
    for at in 0..200 {
        let (one, other, third) = (WORDS[at % 16], WORDS[at / 16 % 16], WORDS[at * 7 % 16]);
        let question = EvalQuestion {
            question: format!("{one} {other} {third} unheard"),
            tables: (0..200).map(|at| format!("t{at}")).collect(),
            kind: None,
        };
        let asked = |k| query(&question.question, k, Mode::Limn);
        let names = |k| -> Vec<String> {
            let tables = searcher.rank(&asked(k)).unwrap().tables;
            tables.into_iter().map(|it| it.key.name).collect()
        };
        for k in [1, 3] {
            let found = names(k);
            let explained = explain(&searcher, &question, &found, &asked(k)).unwrap();
            let first = explained.first.unwrap();
            assert_eq!((&first.table, first.rank), (&found[0], Some(1)));
            let mut places: Vec<usize> = explained
                .missed
                .iter()
                .map(|(it, _)| it.rank.unwrap())
                .collect();
            places.sort_unstable();
            assert_eq!(places, (k + 1..=200).collect::<Vec<usize>>());
            differ += usize::from(names(1_000)[0] != found[0]);
        }
    }
    // Else it would not matter which ranking is explained.
    assert!(differ > 0);
}

#[test]
fn what_a_search_knows_of_candidates_is_logged() {
    let searcher = searcher(&small_lake(), 2);
    let question = EvalQuestion {
        question: "orders of Carla in the shop".to_owned(),
        tables: vec!["shop/orders".to_owned()],
        kind: None,
    };
    let logged = features(&searcher, &searcher.names(), &question, &Query::new("")).unwrap();
    let orders = logged.candidates.iter();
    let orders = orders.clone().find(|it| it.table == "shop/orders").unwrap();
    let it = &orders.traits;
    let has = |field: &str| it.coverage[field];
    // "Carla" is in rows and cells; names and contexts have both other words.
    assert!(has("cells") > 0.0 && has("cells") < 0.9, "{it:?}");
    assert_eq!(has("names"), has("contexts"));
    assert!((has("names") + has("rows") - 1.0).abs() < 1e-6, "{it:?}");
    let kinds: Vec<&str> = it.cosines.keys().copied().collect();
    assert_eq!(kinds, ["context", "rows", "schema"]);
    assert_eq!((it.texts, it.copies, it.name_grams), (4, 0, 1.0));
    let items = logged.candidates.iter();
    let items = items.clone().find(|it| it.table == "shop/items").unwrap();
    assert!(items.traits.coverage["names"] > 0.0 && items.traits.name_grams < 1.0);
    assert_eq!(items.traits.texts, 2);
}

#[test]
fn words_of_long_texts_make_no_word_less_rare() {
    let words = "word ".repeat(Formula::LIMN.long as usize);
    let mut tables = vec![
        table("quays", "quay", &[], &[], ""),
        table("berths", "berth", &[], &[], ""),
        table("moorings", "berth", &[], &[], ""),
        table("locks", "lock", &[], &[], ""),
        table("gates", "gate", &[], &[], ""),
        table("sluices", "gate", &[], &[], ""),
    ];
    for at in 0..30 {
        // Of words of their own, so that no two are the same.
        let text = format!("quay sluice{at} {words}");
        let mut listed = table(&format!("listed{at}"), "depth", &[], &[&text], "");
        let described = block(BlockKind::Schema, Field::Rows, "a lock");
        listed.blocks.push(described);
        tables.push(listed);
    }
    for shards in [1, 3] {
        let searcher = searcher(&tables, shards);
        let found = |question: &str| -> Vec<(String, f32)> {
            let asked = Query {
                alpha: 1.0,
                ..query(question, 40, Mode::Limn)
            };
            let tables = searcher.rank(&asked).unwrap().tables;
            let tables = tables.into_iter().map(|it| (it.key.name, it.lexical));
            tables.collect()
        };
        let of_both = found("quay berth");
        assert_eq!(of_both[0].0, "quays", "it is the rarer where it is a name");
        assert_eq!(found("lock gate")[0].0, "locks", "descriptions as well");
        let listed = of_both
            .iter()
            .filter(|(name, _)| name.starts_with("listed"));
        assert!(
            listed.clone().all(|(_, lexical)| *lexical > 0.0),
            "{of_both:?}"
        );
        assert_eq!(listed.count(), 30);
        assert_eq!(found("sluice7")[0].0, "listed7");
    }
}

#[test]
fn texts_of_more_than_a_thousand_words_are_less_alike() {
    let text = |words: usize| "river ".repeat(words);
    let long = Formula::LIMN.long as usize;
    let (short, longer) = (text(long), text(long + 1));
    let tables = [
        table("short", "\tshort\nfish", &[], &[&short], ""),
        table("long", "\tlong\nfish", &[], &[&longer], ""),
    ];
    let searcher = searcher(&tables, 1);
    let question = EvalQuestion {
        question: "river".to_owned(),
        tables: vec!["short".to_owned()],
        kind: None,
    };
    let known = features(&searcher, &searcher.names(), &question, &Query::new("")).unwrap();
    let cosine = |name: &str| {
        let mut candidates = known.candidates.iter();
        candidates
            .find(|it| it.table == name)
            .unwrap()
            .traits
            .cosines["context"]
    };
    assert!(cosine("short") > 0.5);
    let less = cosine("short") * Formula::LIMN.folder;
    assert!(
        (cosine("long") - less).abs() < 1e-3,
        "{} {less}",
        cosine("long")
    );
}
