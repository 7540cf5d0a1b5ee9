//! `limn search --join`: the tables that answer a question together, how they join, and SQL that
//! joins them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use limn_tests::node::Node;
use limn_tests::oracle::Oracle;
use limn_tests::{index_hashed, lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A shop whose orders refer to customers and products, and tables that nothing joins.
fn shop() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    fs::create_dir_all(lake.join("shop")).unwrap();
    let write = |name: &str, header: &str, rows: &mut dyn FnMut(usize) -> String, count: usize| {
        let mut csv = format!("{header}\n");
        for row in 0..count {
            writeln!(csv, "{}", rows(row)).unwrap();
        }
        fs::write(lake.join(name), csv).unwrap();
    };
    let customer = |n: usize| format!("C{:03},Name {n},Town {}", 100 + n, n % 7);
    write(
        "shop/customers.csv",
        "customer_id,name,town",
        &mut { customer },
        60,
    );
    let product = |n: usize| format!("P{:03},Thing {n},{}.50", 500 + n, n + 1);
    write(
        "shop/products.csv",
        "product_id,title,price",
        &mut { product },
        40,
    );
    let order = |n: usize| {
        let (customer, product) = (100 + n * 7 % 60, 500 + n * 11 % 40);
        format!("O{n:04},C{customer},P{product},2024-01-{:02}", 1 + n % 28)
    };
    write(
        "shop/orders.csv",
        "order_id,customer_id,product_id,day",
        &mut { order },
        300,
    );
    let moon = |n: usize| format!("Moon {n},{}", n * 1000);
    write("moons.csv", "moon,radius", &mut { moon }, 12);
    index_hashed(&lake, &folder.path().join("index"), &[]).ok();
    folder
}

fn search(index: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["search", "--index", text(index), "--join", "--json"];
    all.extend(arguments);
    limn(&all).ok()
}

fn tables(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap().iter();
    let mut tables: Vec<&str> = results.map(|it| it["table"].as_str().unwrap()).collect();
    tables.sort_unstable();
    tables
}

#[test]
fn a_set_has_a_plan_whose_sql_runs() {
    let folder = shop();
    let index = folder.path().join("index");
    let question = "names of customers and titles of products of their orders";
    let answer = search(&index, &[question, "-k", "3"]);
    assert_eq!(
        tables(&answer),
        ["shop/customers", "shop/orders", "shop/products"]
    );
    let plan = &answer["plan"];
    let joins = plan["joins"].as_array().unwrap();
    let ends = |join: &Value| {
        let end = |side: &str| {
            let of = &join[side];
            format!(
                "{}.{}",
                of["table"].as_str().unwrap(),
                of["column"].as_str().unwrap()
            )
        };
        (end("left"), end("right"))
    };
    let mut found: Vec<_> = joins.iter().map(ends).collect();
    found.sort_unstable();
    let join = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    assert_eq!(
        found,
        [
            join("shop/orders.customer_id", "shop/customers.customer_id"),
            join("shop/orders.product_id", "shop/products.product_id"),
        ]
    );
    for join in joins {
        assert_eq!(join["cardinality"], "n:1");
        assert_eq!(join["containment"], 1.0);
    }
    assert_eq!(
        (&plan["disconnected"], &plan["warnings"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(answer["gap"], 0.0);
    let sql = plan["sql"].as_str().unwrap();
    let rows = limn(&["sql", sql, "--index", text(&index), "--json"]).ok();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 100);
    let printed = limn(&[
        "search",
        question,
        "--join",
        "-k",
        "3",
        "--index",
        text(&index),
    ]);
    assert!(
        printed
            .stdout
            .contains("shop/orders.customer_id -> shop/customers.customer_id")
    );
}

#[test]
fn what_a_join_leaves_out_and_what_a_set_lacks_are_said() {
    let folder = shop();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    let mut returns = String::from("return_no,order_id,reason\n");
    for n in 0..60 {
        writeln!(
            returns,
            "R{n:03},O{:04},too {}",
            n * 5,
            ["loud", "small"][n % 2]
        )
        .unwrap();
    }
    fs::write(lake.join("shop/returns.csv"), returns).unwrap();
    index_hashed(&lake, &index, &[]).ok();
    let answer = search(
        &index,
        &[
            "reason of the returns of orders by day and radius",
            "-k",
            "2",
        ],
    );
    assert_eq!(tables(&answer), ["shop/orders", "shop/returns"]);
    let warnings = answer["plan"]["warnings"].to_string();
    let left_out = "at least 77 % of the rows of shop/orders have none in shop/returns";
    assert!(warnings.contains(left_out), "{warnings}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("which others have: radius\""), "{notes}");
    assert_eq!(answer["lacked"], json!(["radius"]));
    // What fits best is in the set, though nothing joins it.
    for k in ["1", "2", "4"] {
        let answer = search(&index, &["moons and their radius", "-k", k]);
        assert!(tables(&answer).contains(&"moons"), "{k}: {answer}");
        assert_eq!(tables(&answer).len().to_string(), k);
    }
}

/// A view has the columns and some of the rows of its table, a backup of row numbers the same
/// columns.
#[test]
fn a_view_and_a_backup_stand_beside_no_table_of_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let write = |name: &str, rows: std::ops::Range<usize>, step: usize| {
        let mut csv = String::from("sample,farm,fat\n");
        for row in rows.step_by(step) {
            writeln!(
                csv,
                "S{row:04},F{:02},{}.{}",
                row % 40,
                3 + row % 3,
                row % 10
            )
            .unwrap();
        }
        lake::write(&lake, name, &csv);
    };
    write("lab/samples.csv", 0..600, 1);
    write("lab/failing.csv", 0..600, 4);
    let mut farms = String::from("farm,owner\n");
    (0..40).for_each(|farm| writeln!(farms, "F{farm:02},Owner {farm}").unwrap());
    lake::write(&lake, "farms.csv", &farms);
    for (name, rows) in [("visits.csv", 1..400), ("backup/visits.csv", 1..300)] {
        let mut csv = String::from("visit,farm,minutes\n");
        rows.for_each(|row| writeln!(csv, "{row},F{:02},{}", row % 40, row % 17).unwrap());
        lake::write(&lake, name, &csv);
    }
    let index = folder.path().join("index");
    index_hashed(&lake, &index, &[]).ok();
    let set = |question: &str| {
        let answer = search(&index, &[question, "-k", "5"]);
        let found: Vec<String> = tables(&answer).into_iter().map(str::to_owned).collect();
        (found, answer["notes"].to_string())
    };
    let (found, notes) = set("fat of the lab samples by farm owner");
    assert_eq!(found, ["farms", "lab/samples", "visits"], "{notes}");
    assert!(
        notes.contains("'lab/failing' has the same columns as 'lab/samples'"),
        "{notes}"
    );
    assert!(
        notes.contains("'backup/visits' is kept aside and has the same columns as 'visits'"),
        "{notes}"
    );
    // What fits better stands for its whole.
    let (found, notes) = set("failing");
    assert!(found.contains(&"lab/failing".to_owned()), "{found:?}");
    assert!(!found.contains(&"lab/samples".to_owned()), "{found:?}");
    assert!(
        notes.contains("'lab/failing', which fits the question better"),
        "{notes}"
    );
}

#[test]
fn sets_end_where_the_lake_does() {
    let folder = shop();
    let index = folder.path().join("index");
    // More than there are: all, and the one that nothing connects is named.
    let all = search(&index, &["customers and moons", "-k", "10"]);
    assert_eq!(tables(&all).len(), 4, "{all}");
    let joins = all["plan"]["joins"].as_array().unwrap().len();
    let apart = all["plan"]["disconnected"].as_array().unwrap().len();
    assert_eq!(joins + 1 + apart, 4, "{all}");
    let one = search(&index, &["moons"]);
    assert!(tables(&one).contains(&"moons"), "{one}");
    let long = "customers of products and orders, ".repeat(400);
    assert!(!tables(&search(&index, &[&long])).is_empty());
    let outside = limn(&["search", "moons", "-k", "auto", "--index", text(&index)]);
    outside.code_is(2);
    assert!(outside.stderr.contains("--join"), "{outside:?}");
    let under = search(&index, &["moons", "-k", "2", "--prefix", "shop"]);
    assert!(
        tables(&under).iter().all(|it| it.starts_with("shop/")),
        "{under}"
    );
}

#[test]
fn a_table_that_no_word_finds_connects_two_that_words_find() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    let write = |path: &str, header: &str, count: usize, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..count).map(|at| row(at) + "\n").collect();
        lake::write(&lake, path, &format!("{header}\n{rows}"));
    };
    let row = |at: usize| format!("s-{at:03},Student {at}");
    write("school/students.csv", "student,name", 80, &row);
    let row = |at: usize| format!("c-{at:03},Club {at}");
    write("school/clubs.csv", "club,title", 30, &row);
    let row = |at: usize| format!("s-{:03},c-{:03}", at * 7 % 80, at * 11 % 30);
    write("misc/xq.csv", "xa,xb", 200, &row);
    // More tables that the question's words find than are ranked.
    for at in 0..120 {
        let header = format!("student remark {at},club remark {at}");
        let row = |row: usize| format!("students {at} {row},clubs {at} {row}");
        write(&format!("remarks/{at}.csv"), &header, 3, &row);
    }
    index_hashed(&lake, &index, &[]).ok();
    let found = search(
        &index,
        &["names of students and titles of clubs", "-k", "3"],
    );
    assert_eq!(
        tables(&found),
        ["misc/xq", "school/clubs", "school/students"],
        "{found}"
    );
    assert_eq!(found["plan"]["disconnected"], json!([]));
    // Likes of one folder are one candidate.
    for place in ["north", "south", "east"] {
        let row = |at: usize| format!("{place} {at},{at}");
        write(
            &format!("fairs/stall_{place}.csv"),
            "fair stall,visitors",
            5,
            &row,
        );
    }
    index_hashed(&lake, &index, &[]).ok();
    let fairs = search(&index, &["visitors of fair stalls", "-k", "1"]);
    let notes = fairs["notes"].to_string();
    assert!(notes.contains("stands for 3 tables"), "{fairs}");
    let like = limn(&[
        "tables",
        "--like",
        tables(&fairs)[0],
        "--index",
        text(&index),
        "--json",
    ]);
    assert_eq!(like.ok().as_array().unwrap().len(), 3);
    let sql = found["plan"]["sql"].as_str().unwrap();
    let rows = limn(&["sql", sql, "--index", text(&index), "--json"]).ok();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 100);
    let under = [
        "names of students and titles of clubs",
        "-k",
        "3",
        "--prefix",
        "school",
    ];
    assert_eq!(tables(&search(&index, &under)).len(), 2);
}

#[test]
fn sets_are_measured() {
    let folder = shop();
    let index = folder.path().join("index");
    let questions = folder.path().join("questions.jsonl");
    let question = "names of customers and titles of products of their orders";
    let needed = ["shop/customers", "shop/orders", "shop/products"];
    let line = json!({"question": question, "tables": needed});
    fs::write(&questions, format!("{line}\n")).unwrap();
    let parts = folder.path().join("parts.jsonl");
    let line =
        json!({"question": question, "parts": ["customers:name", "products:title", "orders"]});
    fs::write(&parts, format!("{line}\n")).unwrap();
    let (index, questions) = (text(&index), text(&questions));
    let asked = [
        "eval",
        "--index",
        index,
        "--questions",
        questions,
        "--join",
        "--json",
    ];
    let given = ["-k", "3,auto", "--decompositions", text(&parts)];
    let measured = limn(&[asked.as_slice(), &given].concat()).ok();
    let whole = json!({"precision": 1.0, "recall": 1.0, "f1": 1.0, "full": 1.0, "tables": 3.0});
    assert_eq!(measured["k"]["3"], whole, "{measured}");
    assert!(measured["k"]["auto"]["precision"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_model_takes_questions_apart() {
    let folder = shop();
    let index = folder.path().join("index");
    let question = "Which products were ordered by customers?";
    let oracle = Oracle::start(|asked| {
        assert!(
            asked
                .user
                .ends_with("Question: Which products were ordered by customers?\n"),
            "{asked:?}"
        );
        Some("customer: name\norder: product\nproduct: title".to_owned())
    });
    let by_model = |oracle: &Oracle| {
        let index = text(&index);
        let all = ["search", question, "--index", index, "--join", "-k", "3"];
        limn(&[&all[..], &["--json", "--parts", "llm"], &oracle.options()].concat())
    };
    let answer = by_model(&oracle).ok();
    let parts = json!(["customer: name", "order: product", "product: title"]);
    assert_eq!(answer["parts"], parts);
    let found = tables(&answer);
    assert_eq!(found, ["shop/customers", "shop/orders", "shop/products"]);

    let talker = Oracle::start(|_| Some("?".to_owned()));
    let answer = by_model(&talker);
    assert!(answer.stderr.contains("it is read by rules"), "{answer:?}");
    assert_eq!(answer.ok()["parts"], json!(["products", "customers"]));
    let dead = by_model(&Oracle::start(|_| None));
    dead.code_is(2);
    assert!(
        dead.stderr.contains("--parts rules asks no model"),
        "{dead:?}"
    );
}

#[test]
fn a_node_answers_with_sets() {
    let folder = shop();
    let node = Node::start(text(&folder.path().join("index")), &[]);
    let question = "names of customers and titles of products of their orders";
    let asked = json!({"q": question, "mode": "set", "k": 3});
    let answer = node.post("/v1/search", &asked).json();
    assert_eq!(
        answer["plan"]["joins"].as_array().unwrap().len(),
        2,
        "{answer}"
    );
    let joined = node
        .post("/v1/sql", &json!({"sql": answer["plan"]["sql"]}))
        .json();
    assert_eq!(joined["rows"].as_array().unwrap().len(), 100);
    let plain = node.post("/v1/search", &json!({"q": question})).json();
    assert_eq!(plain["plan"], Value::Null);
    let judged = json!({"q": question, "mode": "set", "judge": true});
    assert_eq!(node.post("/v1/search", &judged).status, 400);
    // Without values there are names.
    let blind = Node::start(text(&folder.path().join("index")), &["--no-previews"]);
    let answer = blind.post("/v1/search", &asked).json();
    for join in answer["plan"]["joins"].as_array().unwrap() {
        assert_eq!(
            (&join["containment"], &join["cardinality"]),
            (&Value::Null, &json!("unknown"))
        );
    }
}
