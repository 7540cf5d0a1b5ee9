//! Tables in other languages than English: inflections meet, one word counts once, and what hidden
//! tables are in does not exist.

use super::*;
use crate::Values;
use crate::eval::{explain, features};

fn lake() -> Vec<TableBlocks> {
    let german = "kunden\nkunde_id\nvorname\nnachname\nstrasse\nort";
    vec![
        table(
            "de/kunden",
            german,
            &["1 | Anna | Keller | Markt 1 | Ulm"],
            &[],
            "",
        ),
        table(
            "de/artikel",
            "artikel\nbezeichnung\npreis\nmenge\nlager",
            &[],
            &[],
            "Bücher",
        ),
        table(
            "fr/commandes",
            "commandes\nnumero\nmontant\nlivree\nprix",
            &[],
            &[],
            "",
        ),
        table("ru/заказы", "заказ\nсумма\nсклад", &[], &[], ""),
        table("ja/東京", "東京\n住所", &[], &[], ""),
        table("ja/京東", "京東\n住所", &[], &[], ""),
        table("en/orders", "orders\ncustomer\nprice\ncity", &[], &[], ""),
    ]
}

fn lexical(searcher: &Searcher, text: &str) -> Vec<(String, f32)> {
    let found = searcher.rank(&query(text, 10, Mode::Limn)).unwrap();
    let tables = found.tables.iter().filter(|table| table.lexical > 0.0);
    tables
        .map(|table| (table.key.name.clone(), table.lexical))
        .collect()
}

#[test]
fn other_inflections_find_their_table() {
    let searcher = searcher(&lake(), 1);
    for (question, wanted) in [
        ("Kunde", "de/kunden"),
        ("welche Buches", "de/artikel"),
        ("livrées", "fr/commandes"),
        ("складов", "ru/заказы"),
        ("東京", "ja/東京"),
        ("京東", "ja/京東"),
    ] {
        let found = lexical(&searcher, question);
        assert_eq!(
            found.first().map(|it| it.0.as_str()),
            Some(wanted),
            "{question}"
        );
    }
}

#[test]
fn function_words_of_the_indexs_languages_are_not_unknown() {
    let searcher_of_all = searcher(&lake(), 1);
    let unknown = |searcher: &Searcher| {
        let found = searcher
            .rank(&query("welche Kunden", 5, Mode::Limn))
            .unwrap();
        found.unknown.clone()
    };
    assert!(unknown(&searcher_of_all).is_empty());
    let english = searcher_of_all.restricted(|key| key.name == "en/orders", Values::Searched);
    assert_eq!(unknown(&english), ["welche", "Kunden"]);
}

#[test]
fn function_words_are_no_part_of_what_a_question_asks_beside_values() {
    let mut lake = lake();
    lake.push(table(
        "de/teile",
        "teile\nnummer\nfarbe",
        &["RAL-6005 | moosgr\u{fc}n"],
        &[],
        "",
    ));
    let searcher = searcher(&lake, 1);
    let share = |text: &str| {
        let query = query(text, 5, Mode::Limn);
        let found = searcher.candidates(&query, 5).unwrap().found;
        let question = crate::question::Question::new(text, false);
        (found.share_of_values(&question, lake.len()), found.idle)
    };
    let (alone, none) = share("Farbe RAL-6005");
    let (among, idle) = share("welche Farbe ist es mit RAL-6005");
    assert!(none.is_empty() && idle.len() >= 3, "{none:?} {idle:?}");
    assert!(alone > 0.0 && alone < 1.0, "{alone}");
    assert_eq!(among, alone);
}

#[test]
fn names_in_an_english_question_are_no_function_words() {
    let mut lake = lake();
    lake.push(table("en/la", "route\nla", &["2 | Lisbon"], &[], ""));
    let searcher = searcher(&lake, 1);
    let found = lexical(&searcher, "what is die la to Keller");
    assert!(found.iter().any(|it| it.0 == "en/la"), "{found:?}");
    let found = lexical(&searcher, "quelle est la commande");
    assert!(found.iter().all(|it| it.0 != "en/la"), "{found:?}");
}

#[test]
fn neither_shards_nor_hidden_tables_change_what_a_word_is_worth() {
    let lake = lake();
    let (one, three) = (searcher(&lake, 1), searcher(&lake, 3));
    let kept = |name: &str| name != "de/artikel" && !name.starts_with("fr/");
    let alone: Vec<TableBlocks> = lake
        .iter()
        .filter(|table| kept(&table.table.name))
        .cloned()
        .collect();
    let alone = searcher(&alone, 2);
    let restricted = three.restricted(|key| kept(&key.name), Values::Searched);
    for question in [
        "Kunde Preise",
        "die Orte der Kundin",
        "commande livrée",
        "prix",
        "склады 東京",
    ] {
        let asked = query(question, 10, Mode::Limn);
        assert_eq!(
            bits(&one.rank(&asked).unwrap()),
            bits(&three.rank(&asked).unwrap())
        );
        assert_eq!(
            bits(&alone.rank(&asked).unwrap()),
            bits(&restricted.rank(&asked).unwrap())
        );
    }
}

#[test]
fn words_that_a_table_has_in_its_language_are_explained_so() {
    let searcher = searcher(&lake(), 2);
    let question = EvalQuestion {
        question: "Kundinnen und Straßen in der Stadt".to_owned(),
        tables: vec!["de/kunden".to_owned()],
        kind: None,
    };
    let asked = query(&question.question, 1, Mode::Limn);
    let explained = explain(&searcher, &question, &[], &asked).unwrap();
    let standing = &explained.missed[0].0;
    assert!(
        standing.words["names"].contains(&"straßen".to_owned()),
        "{standing:?}"
    );
    let features = features(&searcher, &searcher.names(), &question, &asked).unwrap();
    let mut candidates = features.candidates.iter();
    let german = candidates.find(|it| it.table == "de/kunden").unwrap();
    assert!(german.traits.coverage["names"] > 0.0, "{german:?}");
}
