//! Tables that join the first one come along; and why others are not found (`limn eval --explain`).

use std::path::Path;

use limn_tests::node::Node;
use limn_tests::{index_hashed, lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const QUESTION: &str = "amount of the orders by town";

/// Orders refer to customers, who have towns; a table of towns has the question's word, too, and
/// fits it better.
fn shop() -> TempDir {
    let scratch = TempDir::new().unwrap();
    let folder = scratch.path().join("lake");
    let write = |path: &str, header: &str, rows: usize, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..rows).map(|at| row(at) + "\n").collect();
        lake::write(&folder, path, &format!("{header}\n{rows}"));
    };
    write("sales/orders.csv", "order_no,buyer,amount", 300, &|at| {
        format!("o-{at},C{:03},{}.5", at % 150, at * 7 % 90)
    });
    let header = "code,surname,phone,segment,town";
    write("crm/customers.csv", header, 200, &|at| {
        format!(
            "C{at:03},name {at},{},kind {},place {}",
            5000 + at,
            at % 4,
            at % 40
        )
    });
    write("geo/places.csv", "town,mayor", 30, &|at| {
        format!("hamlet {at},person {at}")
    });
    // Scores are from the least to the best of the candidates: none of the others is the least.
    write("geo/peaks.csv", "peak,height", 9, &|at| {
        format!("rock {at},{}", 900 + at)
    });
    index_hashed(&folder, &scratch.path().join("index"), &[]).ok();
    scratch
}

/// The first three tables.
fn names(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap().iter().take(3);
    results.map(|it| it["table"].as_str().unwrap()).collect()
}

fn search(index: &Path, more: &[&str]) -> limn_tests::Run {
    limn(&[&["search", QUESTION, "--index", text(index)], more].concat())
}

#[test]
fn what_joins_the_first_table_comes_right_behind_it() {
    let scratch = shop();
    let index = scratch.path().join("index");
    let alone = search(&index, &["--json", "--alone"]).ok();
    assert_eq!(
        names(&alone),
        ["sales/orders", "geo/places", "crm/customers"]
    );
    let answer = search(&index, &["--json"]).ok();
    assert_eq!(
        names(&answer),
        ["sales/orders", "crm/customers", "geo/places"]
    );
    let mut joined = answer["results"][1]["joined"].clone();
    let bonus = joined["bonus"].take().as_f64().unwrap();
    // 0.1, and the share of the question that "town" is.
    assert!(bonus > 0.15 && bonus < 0.9, "{bonus}");
    let by = json!({
        "partner": "sales/orders", "columns": ["code"], "partner_columns": ["buyer"], "bonus": null
    });
    assert_eq!(joined, by);
    assert_eq!(answer["results"][2]["joined"], Value::Null);
    // Of one table there is nothing to come along.
    assert_eq!(names(&search(&index, &["--json", "-k", "1"]).ok()).len(), 1);
    // Scores are as they were.
    assert_eq!(answer["results"][1]["score"], alone["results"][2]["score"]);
    let shown = search(&index, &[]);
    let line = "joins sales/orders: code = buyer";
    assert!(shown.stdout.contains(line), "{shown:?}");
    // Below a prefix nothing else is reported.
    let below = search(&index, &["--json", "--prefix", "crm"]).ok();
    assert_eq!(names(&below), ["crm/customers"]);
    assert_eq!(below["results"][0]["joined"], Value::Null);
}

/// The sum of what a result's score is made of, and the names of its shares.
fn sum_of(result: &Value) -> (f64, Vec<&str>) {
    let shares = result["shares"].as_array().unwrap();
    let number = |share: &Value, of: &str| share[of].as_f64().unwrap();
    for share in shares {
        let product = number(share, "value") * number(share, "weight");
        assert!(
            (product - number(share, "contribution")).abs() < 1e-6,
            "{share}"
        );
        let is_side = share["name"].as_str().unwrap().starts_with("formula");
        assert!(is_side || number(share, "contribution") > 0.0, "{share}");
    }
    let sum = shares.iter().map(|it| number(it, "contribution")).sum();
    let names = shares.iter().map(|it| it["name"].as_str().unwrap());
    (sum, names.collect())
}

#[test]
fn a_score_is_the_sum_of_its_shares() {
    let scratch = shop();
    let index = scratch.path().join("index");
    let formula = ["formula_words", "formula_meaning"];
    // No context says anything of these tables: what contributes nothing is left out.
    let features = ["meaning", "covered", "name"];
    let learned = [formula.as_slice(), &features].concat();
    let ways: [(&[&str], &[&str]); 5] = [
        (&[], &learned),
        (&["--ranking", "formula"], &formula),
        (&["--plain"], &formula),
        (&["--alpha", "1"], &formula),
        (&["--join"], &learned),
    ];
    for (way, expected) in ways {
        let answer = search(&index, &[&["--json", "--why"], way].concat()).ok();
        let results = answer["results"].as_array().unwrap();
        assert!(results.len() > 1, "{answer}");
        for result in results {
            let (sum, names) = sum_of(result);
            let score = result["score"].as_f64().unwrap();
            assert!((sum - score).abs() < 1e-6, "{way:?}: {result}");
            let of_these = expected.iter().filter(|it| names.contains(*it));
            assert_eq!(names, of_these.copied().collect::<Vec<_>>(), "{way:?}");
            assert!(names.starts_with(&formula), "{way:?}");
        }
        let (_, first) = sum_of(&results[0]);
        assert_eq!(first, expected, "{way:?}");
    }
    // A table that the question names has the score 1, and a share for it.
    let named = ["search", "customers", "--index", text(&index), "--json"];
    let answer = limn(&named).ok();
    let (sum, names) = sum_of(&answer["results"][0]);
    assert_eq!(names.last(), Some(&"named"), "{answer}");
    assert!((sum - 1.0).abs() < 1e-6, "{answer}");
    let shown = search(&index, &["--why"]).stdout;
    for part in ["\n    score 0.", " words (", " + ", " its name (", " × 0."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("its place counts 0."), "{shown}");
    assert!(!search(&index, &[]).stdout.contains("score 0."));
}

#[test]
fn a_node_shows_joins_to_who_may_see_values() {
    let scratch = shop();
    let index = scratch.path().join("index");
    let keys = scratch.path().join("keys.json");
    let key = |more: &[&str]| {
        let added = limn(&[&["keys", "add", "--keys", text(&keys), "--json"], more].concat());
        added.ok()["key"].as_str().unwrap().to_owned()
    };
    let (all, blind) = (key(&[]), key(&["--right", "search"]));
    let node = Node::start(text(&index), &["--keys", text(&keys)]);
    let search = |key: &str, mode: &str| {
        let question = QUESTION.replace(' ', "+");
        node.get_with(key, &format!("/v1/search?q={question}{mode}"))
            .ok()
    };
    let answer = search(&all, "");
    assert_eq!(names(&answer)[1], "crm/customers");
    assert_eq!(answer["results"][1]["joined"]["columns"], json!(["code"]));
    let one_by_one = search(&all, "&mode=tables");
    assert_eq!(names(&one_by_one)[1], "geo/places");
    // That values agree would confirm a guess of them.
    let answer = search(&blind, "");
    let joined = answer["results"].as_array().unwrap().iter();
    assert!(
        joined.map(|it| &it["joined"]).all(Value::is_null),
        "{answer}"
    );
}

#[test]
fn a_backup_comes_after_what_it_is_a_part_of() {
    let scratch = shop();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let customers = std::fs::read_to_string(lake.join("crm/customers.csv")).unwrap();
    let lines: Vec<&str> = customers.lines().collect();
    let part = lines[..121].join("\n");
    lake::write(&lake, "backup/customers_old.csv", &part);
    lake::write(&lake, "backup/june/customers.csv", &part);
    index_hashed(&lake, &index, &[]).ok();
    let found = |question: &str, more: &[&str]| {
        let asked = [
            &["search", question, "--index", text(&index), "--json"],
            more,
        ];
        let answer = limn(&asked.concat()).ok();
        names(&answer)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    for question in ["C042", "\"name 42\"", "which customers are of kind 2"] {
        assert_eq!(found(question, &[])[0], "crm/customers", "{question}");
    }
    assert_eq!(found("C042", &["--alone"])[0], "backup/customers_old");
    // Nor does it come along with what joins both.
    let answer = limn(&["search", QUESTION, "--index", text(&index), "--json"]).ok();
    let joined = answer["results"].as_array().unwrap().iter();
    let joined = joined.filter(|it| !it["joined"].is_null());
    let joined: Vec<&str> = joined.map(|it| it["table"].as_str().unwrap()).collect();
    assert_eq!(joined, ["crm/customers"], "{answer}");
    // A superset that lies aside has rows that the table has not.
    let more = format!("{customers}D900,name 9,5900,kind 1,place 9\n");
    lake::write(&lake, "archive/old_customers.csv", &more);
    index_hashed(&lake, &index, &[]).ok();
    assert_eq!(found("D900", &[])[0], "archive/old_customers");
    // A question for the backup finds it.
    assert_eq!(
        found("backup customers old", &[])[0],
        "backup/customers_old"
    );
}

#[test]
fn a_miss_is_explained() {
    let scratch = shop();
    let index = scratch.path().join("index");
    let questions = scratch.path().join("questions.jsonl");
    let lines = [
        // One that no table answers has no place in a run.
        json!({"question": "winners of the lottery", "tables": []}),
        json!({"question": "amount of the orders", "tables": ["sales/orders"]}),
        json!({"question": "amount of orders by mayor zzgrubl", "tables": ["geo/places", "no/table"]}),
        json!({"question": "order amount", "tables": ["crm/customers"]}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&questions, lines.join("\n")).unwrap();
    let eval = |more: &[&str]| {
        let asked = [
            "eval",
            "--index",
            text(&index),
            "--questions",
            text(&questions),
        ];
        limn(&[&asked, &["-k", "1", "--explain"][..], more].concat())
    };
    let report = eval(&["--json"]).ok();
    let explained = report["explained"].as_array().unwrap();
    assert_eq!(explained.len(), 2, "{report}");
    let second = &explained[0];
    assert_eq!(second["unknown"], json!(["zzgrubl"]));
    assert_eq!(second["first"]["table"], "sales/orders");
    let [towns, reason] = second["missed"][0].as_array().unwrap().as_slice() else {
        panic!("{second}")
    };
    assert_eq!(towns["words"], json!({"names": ["mayor"]}));
    assert_eq!(towns["lacks"], json!(["amount", "orders"]));
    assert!(towns["rank"].as_u64() > Some(1), "{towns}");
    let lacks = "it lacks what 'sales/orders' has: amount, orders";
    assert_eq!(reason, lacks);
    let nowhere = &second["missed"][1];
    assert_eq!(nowhere[1], "the index has no table of this name");
    assert_eq!(
        explained[1]["missed"][0][1],
        "it has none of the question's words"
    );
    let shown = eval(&[]);
    assert!(shown.stdout.contains(lacks), "{shown:?}");
    // What nothing can be said of is refused.
    assert_eq!(eval(&["--plain"]).code, 2);
    assert_eq!(eval(&["--join"]).code, 2);
}
