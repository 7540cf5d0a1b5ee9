//! Names, values and codes that are asked for as a whole; words that are spelled wrongly.

use std::sync::{Arc, Mutex};

use limn_models::{Embedder, HashedWords, ModelError, ModelId};
use limn_segment::TableBlocks;

use super::{query, searcher, searcher_with, table};
use crate::eval::{EvalOptions, EvalQuestion, evaluate};
use crate::{Answer, Grade, Mode, Query, Searcher, Values};

fn names(answer: &Answer) -> Vec<&str> {
    let hits = answer.results.iter();
    hits.map(|hit| hit.table.as_str()).collect()
}

fn ask(searcher: &Searcher, question: &str) -> Answer {
    searcher.search(&query(question, 5, Mode::Limn)).unwrap()
}

/// Tables with a column of this name among others, one that talks of it a lot, and one that is
/// called so.
fn promo_codes() -> Vec<TableBlocks> {
    let mut tables: Vec<TableBlocks> = (0..12)
        .map(|at| {
            table(
                &format!("sales/y{at}/orders"),
                &format!("\torders\norder_id\ncustomer name\namount of the order {at}\nPromoCode"),
                &["1 | Ann | 12"],
                &[],
                "",
            )
        })
        .collect();
    tables.push(table(
        "docs/readme",
        "\treadme\npromo\ncode\npromo code of what",
        &["promo code | promo code"],
        &["promo code promo code: what a promo code is, and how a promo code is used"],
        "promo code promo",
    ));
    tables.push(table(
        "marketing/promo_code",
        "\tpromo code\nvalid from\nvalid to",
        &[],
        &[],
        "",
    ));
    tables
}

#[test]
fn a_name_that_is_asked_for_comes_first_tables_before_columns() {
    for shards in [1, 4] {
        let searcher = searcher(&promo_codes(), shards);
        for question in ["promo_code", "Promo Code", "PROMOCODE"] {
            let answer = searcher.search(&query(question, 20, Mode::Limn)).unwrap();
            let found = names(&answer);
            assert_eq!(found[0], "marketing/promo_code", "{question}");
            assert_eq!(found[13], "docs/readme", "{question}: {found:?}");
            assert_eq!(answer.results[0].exact, [format!("table {question}")]);
            assert_eq!(answer.results[1].exact, [format!("column {question}")]);
            assert_eq!(
                (answer.results[0].score, answer.results[12].score),
                (1.0, 1.0)
            );
        }
        let columns = ask(&searcher, "the column promo_code");
        assert!(
            columns
                .results
                .iter()
                .all(|hit| hit.exact == ["column promo_code"])
        );
        let quoted = ask(&searcher, "when was a \"promo code\" valid?");
        assert_eq!(names(&quoted)[0], "marketing/promo_code");
        let written = ask(&searcher, "what is promo_code good for?");
        assert_eq!(names(&written)[0], "marketing/promo_code");
        // Words are no names in a longer question.
        let words = ask(&searcher, "what is a promo code, and how is it used?");
        assert_eq!(names(&words)[0], "docs/readme");
        let part = ask(&searcher, "y3/orders");
        assert_eq!(names(&part)[0], "sales/y3/orders");
        let file = ask(&searcher, "promo_code.csv");
        assert_eq!(file.results[0].exact, ["file promo_code.csv"]);
    }
}

#[test]
fn a_name_of_hidden_tables_is_none_and_a_filter_holds_for_names() {
    let all = searcher(&promo_codes(), 3);
    let docs = all.restricted(|key| key.name.starts_with("docs/"), Values::Searched);
    let answer = ask(&docs, "promo_code");
    assert_eq!(answer.results[0].exact, ["value promo_code"], "{answer:?}");
    let below = Query {
        prefix: Some("sales/y7".into()),
        ..query("promo_code", 5, Mode::Limn)
    };
    assert_eq!(names(&all.search(&below).unwrap()), ["sales/y7/orders"]);
}

/// Tables of codes that fall into the same parts, one of which has the very code.
fn codes() -> Vec<TableBlocks> {
    let mut tables: Vec<TableBlocks> = (0..30)
        .map(|at| {
            table(
                &format!("t{at}"),
                "\tlog\nid\nevent of a session",
                &[],
                &["a 3 f 2 b 9 e 4 c 7 d 1"],
                &format!("3f2b9e{at}4c7d1a | 3f | 2b9e | 4c7d1a | 9e | Anna {at} | Kessler"),
            )
        })
        .collect();
    tables.push(table(
        "z/persons",
        "\tpersons\nname of each person, and what they did\nnumber",
        &[],
        &[],
        "Anna Kessler | Bob Jones\n3f2b-9e4c-7d1a | US-10,123,456 B2",
    ));
    tables
}

#[test]
fn a_code_and_a_value_are_found_as_a_whole() {
    for shards in [1, 4] {
        let searcher = searcher(&codes(), shards);
        for question in [
            "3f2b9e4c7d1a",
            "3F2B-9E4C-7D1A",
            "US10123456B2",
            "Anna Kessler",
            "what did Anna Kessler do?",
        ] {
            let answer = ask(&searcher, question);
            assert_eq!(names(&answer)[0], "z/persons", "{question}");
            let exact = &answer.results[0].exact;
            let kind = if question.contains(' ') {
                "value "
            } else {
                "code "
            };
            assert!(exact[0].starts_with(kind), "{question}: {exact:?}");
        }
        let answer = ask(&searcher, "3f2b9e4c7d1b");
        assert_eq!(
            answer.unknown,
            ["3f2b9e4c7d1b"],
            "a code that nobody has is unknown, whatever its parts"
        );
        let hidden = searcher.restricted(|_| true, Values::Hidden);
        let answer = ask(&hidden, "3f2b9e4c7d1a");
        assert!(answer.results.iter().all(|hit| hit.exact.is_empty()));
        assert_eq!(answer.unknown, ["3f2b9e4c7d1a"]);
    }
}

#[test]
fn the_parts_of_a_code_count_as_one_word() {
    let tables = [
        table("parts", "\tparts\na b c d 1 2 3 4", &[], &[], ""),
        table("word", "\tword\nshipment", &[], &[], ""),
        table("other", "\tother\nsomething else", &[], &[], ""),
    ];
    let answer = ask(&searcher(&tables, 1), "a1b2c3d4 shipment");
    let lexical = |name: &str| {
        let mut hits = answer.results.iter();
        hits.find(|hit| hit.table == name).unwrap().lexical
    };
    // Eight parts, of which seven are no stop words.
    assert!(lexical("word") > 0.3, "{answer:?}");
}

#[test]
fn a_misspelt_word_is_searched_as_what_is_meant() {
    let tables = [
        table(
            "crm/people",
            "\tpeople\ncustomer name\ncountry",
            &[],
            &["customers of the shop"],
            "Leipzig",
        ),
        table("hr/staff", "\tstaff\nemployee", &[], &[], "Custer | A17b"),
    ];
    let all = searcher(&tables, 2);
    for (question, note) in [
        ("custommer", "searched \"custommer\" as \"customer\""),
        ("which Contry?", "searched \"Contry\" as \"country\""),
        (
            "customers from Leipzg",
            "searched \"Leipzg\" as \"leipzig\"",
        ),
    ] {
        let answer = ask(&all, question);
        assert!(
            answer.notes.iter().any(|it| it == note),
            "{question}: {:?}",
            answer.notes
        );
        assert_eq!(names(&answer)[0], "crm/people", "{question}");
    }
    // What is written right is worth more.
    let lexical = |question: &str, at: &str| {
        let answer = ask(&all, &format!("{question} employee"));
        answer
            .results
            .iter()
            .find(|hit| hit.table == at)
            .unwrap()
            .lexical
    };
    assert!(
        lexical("custommer", "crm/people") < lexical("customer", "crm/people")
            || lexical("custommer", "hr/staff") > lexical("customer", "hr/staff")
    );
    // Neither codes nor numbers nor short words are others.
    for question in ["A17c", "1234", "cit", "\"custommer\" of shop"] {
        let answer = ask(&all, question);
        assert!(
            !answer.notes.iter().any(|note| note.starts_with("searched")),
            "{:?}",
            answer.notes
        );
    }
    // Hidden tables' words are not there.
    let staff = all.restricted(|key| key.name == "hr/staff", Values::Searched);
    assert_eq!(ask(&staff, "countrry").unknown, ["countrry"]);
    let names_only = all.restricted(|_| true, Values::Hidden);
    assert_eq!(ask(&names_only, "Leipzg").unknown, ["Leipzg"]);
}

#[test]
fn how_much_of_a_question_a_table_has_is_given() {
    let tables = [
        table("a", "\ta\nriver depth", &[], &[], ""),
        table("b", "\tb\nriver", &[], &[], ""),
    ];
    let answer = ask(&searcher(&tables, 1), "river depth");
    let covered: Vec<f32> = answer.results.iter().map(|hit| hit.covered).collect();
    assert_eq!(covered[0], 1.0);
    assert!(covered[1] > 0.0 && covered[1] < 0.5, "{covered:?}");
    let answer = ask(&searcher(&tables, 1), "river zzyzx");
    assert!(answer.results[0].covered < 0.5);
    assert_eq!(answer.unknown, ["zzyzx"]);
}

#[test]
fn a_misspelt_name_is_a_name() {
    let searcher = searcher(
        &[
            table(
                "crm/chances",
                "\tchances\nof employees\nemployees seen",
                &["employees | employees"],
                &["what employees see in employees"],
                "",
            ),
            table("hr/employees", "\temployees\nborn", &[], &[], ""),
        ],
        1,
    );
    let answer = ask(&searcher, "emploees");
    assert_eq!(names(&answer)[0], "hr/employees");
    assert_eq!(answer.results[0].grade, Some(Grade::Strong));
    assert!(answer.notes[0].starts_with("searched \"emploees\" as \"employee"));
}

/// An embedder that keeps what it is asked for.
#[derive(Default)]
struct Recording(Mutex<Vec<String>>);

impl Embedder for Recording {
    fn id(&self) -> &ModelId {
        HashedWords.id()
    }
    fn dimensions(&self) -> usize {
        HashedWords.dimensions()
    }
    fn window(&self) -> usize {
        HashedWords.window()
    }
    fn count_tokens(&self, text: &str) -> usize {
        HashedWords.count_tokens(text)
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut asked = self.0.lock().unwrap();
        asked.extend(texts.iter().map(|text| (*text).to_owned()));
        HashedWords.embed(texts)
    }
}

#[test]
fn a_question_is_embedded_once_as_it_is_meant_and_not_where_nothing_is_searched() {
    let recording = Arc::new(Recording::default());
    let tables = [table("people", "\tpeople\ncustomer", &[], &[], "")];
    let all = searcher_with(&tables, 1, recording.clone());
    let embedded = |of: &dyn Fn()| {
        recording.0.lock().unwrap().clear();
        of();
        recording.0.lock().unwrap().clone()
    };
    let asked = |question: &str| embedded(&|| drop(ask(&all, question)));
    assert_eq!(asked("which customer"), ["which customer"]);
    assert_eq!(asked("which custommer"), ["which customer"]);
    let question = |question: &str| EvalQuestion {
        question: question.to_owned(),
        tables: vec!["people".to_owned()],
        kind: None,
    };
    let measured = embedded(&|| {
        let options = EvalOptions {
            k: vec![1],
            query: query("", 1, Mode::Limn),
            threads: 1,
            vectors_given: false,
            progress: Arc::default(),
        };
        // The first is asked once more, before the clock.
        let questions = [question("people"), question("custommer")];
        evaluate(&all, &questions, &options).unwrap();
    });
    assert_eq!(measured, ["people", "people", "customer"]);
    let none = all.restricted(|_| false, Values::Searched);
    assert!(embedded(&|| drop(ask(&none, "which customer"))).is_empty());
}
