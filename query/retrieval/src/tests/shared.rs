//! Texts that many tables have word for word tell none of them apart.

use super::*;
use crate::Values;
use crate::eval::{EvalQuestion, explain, features};

const BOILERPLATE: &str = "Part of the warehouse of the company: river, fish, boat, price and date of every owner are refreshed each night by penguins.";
const QUESTIONS: [&str; 5] = [
    "price of a boat",
    "fish in the river",
    "owner and date",
    "water level of the lake by year",
    "weight of species in a country",
];

/// Tables of one to three of the words each, of which the first so many have a text.
fn lake(tables: usize, with_text: usize, text: &str) -> Vec<TableBlocks> {
    let one = |at: usize| {
        let words = [WORDS[at % 16], WORDS[at * 7 % 16], WORDS[at * at % 16]];
        let schema = words[..1 + at % 3].join(" ");
        let row = format!("{} {at}", WORDS[at * 5 % 16]);
        let contexts: &[&str] = if at < with_text { &[text] } else { &[] };
        table(&format!("t{at}"), &schema, &[&row], contexts, "")
    };
    (0..tables).map(one).collect()
}

fn order(searcher: &Searcher, question: &str, alpha: f32) -> Vec<String> {
    let query = Query {
        alpha,
        ..query(question, 50, Mode::Limn)
    };
    let ranking = searcher.rank(&query).unwrap();
    ranking.tables.into_iter().map(|it| it.key.name).collect()
}

#[test]
fn a_text_that_all_tables_have_moves_no_order() {
    let without = searcher(&lake(40, 0, ""), 1);
    for shards in [1, 3] {
        let with = searcher(&lake(40, 40, BOILERPLATE), shards);
        for question in QUESTIONS {
            for alpha in [0.0, 0.5, 1.0] {
                let before = order(&without, question, alpha);
                let mut after = order(&with, question, alpha);
                // Words alone find, with the text, tables that have a word of the question there.
                if alpha == 1.0 {
                    assert!(after.len() >= before.len(), "{question}");
                    after.truncate(before.len());
                }
                assert!(!before.is_empty(), "{question} {alpha}");
                assert_eq!(before, after, "{question} {alpha} {shards}");
            }
        }
    }
}

#[test]
fn a_shared_text_still_finds_its_tables() {
    let tables = lake(200, 30, BOILERPLATE);
    let one = searcher(&tables, 1);
    let has_text = |name: &String| tables[..30].iter().any(|it| it.table.name == *name);
    let found = order(&one, "penguins", 1.0);
    assert!(found[..30].iter().all(has_text), "{found:?}");
    let answer = one.search(&Query::new("penguins")).unwrap();
    assert!(answer.unknown.is_empty(), "{:?}", answer.unknown);
    // A table that has the word itself comes first, and its word is as rare as without the text.
    let mut more = tables.clone();
    more.push(table("antarctic", "penguins counted", &[], &[], ""));
    for shards in [1, 4] {
        let more = searcher(&more, shards);
        let found = order(&more, "penguins", 1.0);
        assert_eq!(found[0], "antarctic");
        assert!(found[1..31].iter().all(has_text), "{found:?}");
    }
    // It does not depend on segments, nor on tables that nobody sees.
    let few = searcher(&tables[..20], 1);
    let seen = |key: &TableKey| tables[..20].iter().any(|it| it.table == *key);
    let restricted = searcher(&tables, 3).restricted(seen, Values::Searched);
    let asked = query("penguins in a river", 20, Mode::Limn);
    let of = |searcher: &Searcher| bits(&searcher.rank(&asked).unwrap());
    assert_eq!(of(&few), of(&restricted));
    assert_eq!(of(&one), of(&searcher(&tables, 4)));
}

#[test]
fn what_was_asked_before_changes_no_answer() {
    let german =
        "Teil des Lagers der Firma: jede Nacht werden die Häuser von den Besitzern gezählt.";
    let tables = lake(200, 30, german);
    let questions = ["Häuser", "Haus", "Besitzer", "penguins"];
    let asked = |questions: &[&str]| {
        let searcher = searcher(&tables, 2);
        let answers = questions.iter();
        answers
            .map(|asked| bits(&searcher.rank(&query(asked, 40, Mode::Limn)).unwrap()))
            .collect::<Vec<_>>()
    };
    let together = asked(&questions);
    for (at, question) in questions.iter().enumerate() {
        assert_eq!(asked(&[question])[0], together[at], "{question}");
    }
}

#[test]
fn words_of_shared_texts_are_not_lacked_and_cover_no_more_than_there_is() {
    let mut tables = lake(400, 25, BOILERPLATE);
    tables.push(table("antarctic", "station", &["penguins 7"], &[], ""));
    let searcher = searcher(&tables, 2);
    for question in ["penguins", "penguins warehouse", "warehouse of the company"] {
        let answer = searcher.search(&Query::new(question)).unwrap();
        assert!(answer.lacked.is_empty(), "{:?}", answer.lacked);
        for hit in &answer.results {
            assert!((0.0..=1.0).contains(&hit.covered), "{}", hit.covered);
        }
    }
}

#[test]
fn words_of_shared_texts_are_told_apart_in_explanations_and_features() {
    let searcher = searcher(&lake(60, 30, BOILERPLATE), 2);
    let question = EvalQuestion {
        question: "penguins of the river".to_owned(),
        tables: vec!["t0".to_owned()],
        kind: None,
    };
    let asked = query(&question.question, 5, Mode::Limn);
    let explained = explain(&searcher, &question, &[], &asked).unwrap();
    let words = &explained.missed[0].0.words;
    assert!(
        words["shared"].contains(&"penguins".to_owned()),
        "{words:?}"
    );
    assert!(!words.contains_key("contexts"), "{words:?}");
    let names = searcher.names();
    let features = features(&searcher, &names, &question, &asked).unwrap();
    for candidate in features.candidates {
        assert_eq!(candidate.traits.coverage["contexts"], 0.0, "{candidate:?}");
    }
}
