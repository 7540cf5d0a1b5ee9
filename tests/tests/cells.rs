//! `limn cells`: the columns and cells that SQL for a question needs, spelled as the tables have
//! them.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use limn_segment::IndexStore;
use limn_tests::node::Node;
use limn_tests::{Run, index_hashed, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Orders, each with a code of its own; three of each batch. Of neither all are counted.
const ORDERS: usize = 36_000;
/// A value that would leave its literal, its line and its terminal's manners.
const HOSTILE: &str = "O'Neil\"); DROP\nTABLE \u{202e}x";

/// A lake of customers, with what nobody shall see, and of orders.
struct Shop {
    folder: TempDir,
}

impl Shop {
    fn new() -> Shop {
        let shop = Shop {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(shop.at("lake/shop")).unwrap();
        let names = [
            ("Basel", "Müller AG"),
            ("Bern", "Smith and Sons"),
            ("Basel", HOSTILE),
        ];
        let mut customers = "customer_id,town,name,email,since\n".to_owned();
        for (at, (town, name)) in names.iter().cycle().take(30).enumerate() {
            let name = name.replace('"', "\"\"");
            let day = 1 + at % 28;
            writeln!(
                customers,
                "C{at:02},{town},\"{name}\",person{at}@example.org,2024-03-{day:02}"
            )
            .unwrap();
        }
        fs::write(shop.at("lake/shop/customers.csv"), customers).unwrap();
        shop.write_orders("open");
        shop.index();
        shop
    }

    fn write_orders(&self, state: &str) {
        let mut orders = "code,batch,customer_id,state,amount\n".to_owned();
        for at in 0..ORDERS {
            let state = if at % 5 == 0 { "late" } else { state };
            let (batch, customer, amount) = (at / 3, at % 30, at % 400);
            // One code is a name.
            let code = match at {
                11_990 => "Xenon Aalto AG".to_owned(),
                at => format!("X-{at:05}"),
            };
            let row = format!("{code},B-{batch:05},C{customer:02},{state},{amount}.5");
            writeln!(orders, "{row}").unwrap();
        }
        fs::write(self.at("lake/shop/orders.csv"), orders).unwrap();
    }

    fn index(&self) {
        let (lake, index) = (self.at("lake"), self.at("index"));
        index_hashed(&lake, &index, &["--redact", "marked"]).code_is(0);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, question: &str, more: &[&str]) -> Run {
        let index = self.at("index");
        limn(&[&["cells", question, "--index", text(&index)], more].concat())
    }

    fn cells(&self, question: &str, table: &str) -> Value {
        self.run(question, &["--table", table, "--json"]).ok()
    }

    fn count(&self, statement: &str) -> Value {
        let index = self.at("index");
        limn(&["sql", statement, "--index", text(&index), "--json"]).ok()["rows"][0][0].clone()
    }

    /// The files that the index keeps of cells.
    fn kept(&self) -> Vec<PathBuf> {
        files(&self.at("index/cache/cells"))
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The cells of the first table: column, value, match and number of rows.
fn found(answer: &Value) -> Vec<(String, String, String, u64)> {
    let cells = answer["tables"][0]["cells"].as_array().unwrap().iter();
    let text = |cell: &Value, of: &str| cell[of].as_str().unwrap().to_owned();
    let cell = |it: &Value| {
        (
            text(it, "column"),
            text(it, "value"),
            text(it, "match"),
            it["count"].as_u64().unwrap(),
        )
    };
    cells.map(cell).collect()
}

fn found_values(answer: &Value) -> Vec<String> {
    found(answer)
        .into_iter()
        .map(|(_, value, ..)| value)
        .collect()
}

fn columns(answer: &Value) -> Vec<&str> {
    let columns = answer["tables"][0]["columns"].as_array().unwrap().iter();
    columns
        .map(|column| column["name"].as_str().unwrap())
        .collect()
}

#[test]
fn cells_are_spelled_as_sql_needs_them() {
    let shop = Shop::new();
    let answer = shop.cells(
        "since when are muller ag and Smth and Sons of 'Basel' customers?",
        "shop/customers",
    );
    let found = found(&answer);
    let cell = |column: &str, value: &str, how: &str, rows: u64| {
        (column.to_owned(), value.to_owned(), how.to_owned(), rows)
    };
    for wanted in [
        cell("town", "Basel", "exact", 20),
        cell("name", "Müller AG", "normalised", 10),
        cell("name", "Smith and Sons", "fuzzy", 10),
    ] {
        assert!(found.contains(&wanted), "{wanted:?}: {answer}");
    }
    let since = answer["tables"][0]["columns"].as_array().unwrap();
    let since = since
        .iter()
        .find(|column| column["name"] == "since")
        .unwrap();
    assert_eq!(since["range"], json!(["2024-03-01", "2024-03-28"]));
    // A hostile value stays in its literal, which SQL reads as the value.
    let printed = shop.run("what of O'Neil DROP TABLE?", &["--table", "shop/customers"]);
    printed.code_is(0);
    let line = printed.stdout.lines().find(|line| line.contains("O''Neil"));
    let line = line.unwrap_or_else(|| panic!("{printed:?}"));
    let literal = "'O''Neil\"); DROP' || chr(10) || 'TABLE ' || chr(8238) || 'x'";
    assert!(line.contains(literal), "{line}");
    let counted = format!("SELECT count(*) FROM shop.customers WHERE name = {literal}");
    assert_eq!(shop.count(&counted), 10);
    assert!(!printed.stdout.contains('\u{202e}'));
    // What is withheld is nowhere.
    let sought = shop.cells("email person3@example.org", "shop/customers");
    for answer in [answer, sought] {
        let shown = format!("{}{}", answer["tables"], answer["text"]);
        assert!(
            !shown.contains("email") && !shown.contains("example.org"),
            "{shown}"
        );
        let note = "1 column of 'shop/customers' is withheld, and is none for SQL";
        assert_eq!(answer["notes"], json!([note]));
    }
}

/// What the index keeps of cells, as it was before it was packed.
fn unpacked(index: &Path) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let contents = files(&index.join("cache/cells")).into_iter().map(|file| {
        let key = file.file_stem().unwrap().to_str().unwrap();
        let key = u128::from_str_radix(key, 16).unwrap();
        let index = IndexStore::open(text(index)).unwrap();
        let content = runtime.block_on(index.kept_cells(key)).unwrap().unwrap();
        String::from_utf8(content).unwrap()
    });
    contents.collect()
}

#[test]
fn a_private_value_of_another_column_is_kept_and_printed_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir_all(&lake).unwrap();
    // One remark of thirty: the column is not marked as a whole.
    let mut visits = "day,remark\n2020-01-02,write to <desk@lake.example> please\n".to_owned();
    for at in 1..30 {
        writeln!(visits, "2020-01-{at:02},all well in ward {at}").unwrap();
    }
    fs::write(lake.join("visits.csv"), visits).unwrap();
    let ask = || {
        let question = "remarks in 'write to <desk@lake.example> please' and ward 7";
        let run = limn(&["cells", question, "--index", text(&index), "--json"]).ok();
        (run["tables"].to_string(), run["text"].to_string())
    };
    index_hashed(&lake, &index, &["--redact", "off"]).code_is(0);
    assert!(ask().0.contains("desk@lake.example"));
    assert!(unpacked(&index).contains("desk@lake.example"));
    fs::remove_dir_all(index.join("cache/cells")).unwrap();
    index_hashed(&lake, &index, &["--redact", "marked"]).code_is(0);
    for _ in 0..2 {
        let (tables, text) = ask();
        assert!(tables.contains("all well in ward 7"), "{tables}");
        assert!(!tables.contains("lake.example") && !text.contains("lake.example"));
        let kept = unpacked(&index);
        assert!(kept.contains("all well in ward 7"), "{kept}");
        assert!(!kept.contains("lake.example"), "{kept}");
    }
}

#[test]
fn what_is_past_the_budget_is_looked_for() {
    let shop = Shop::new();
    let answer = shop.cells(
        "amount of x-11987 of batch B-11990 in state late",
        "shop/orders",
    );
    let found = found(&answer);
    assert_eq!(found[0].1, "late", "{answer}");
    assert_eq!(found[0].3, (ORDERS / 5) as u64);
    let code = (
        "code".to_owned(),
        "X-11987".to_owned(),
        "normalised".to_owned(),
        1,
    );
    assert!(found.contains(&code), "{answer}");
    let batch = (
        "batch".to_owned(),
        "B-11990".to_owned(),
        "exact".to_owned(),
        3,
    );
    assert!(found.contains(&batch), "{answer}");
    // A name that is the whole question is looked for; plain letters are not, and a note says so.
    let named = shop.cells("Xenon Aalto AG", "shop/orders");
    assert_eq!(found_values(&named), ["Xenon Aalto AG"], "{named}");
    assert_eq!(named["notes"], json!([]));
    let small = shop.cells("of xenon aalto", "shop/orders");
    let note = small["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("only ") && note.contains("quote a value"),
        "{note}"
    );
    assert_eq!(small["notes"].as_array().unwrap().len(), 1);
    // The values of a column that has few are all there, though the budget was spent.
    let state = answer["tables"][0]["columns"].as_array().unwrap();
    let state = state
        .iter()
        .find(|column| column["name"] == "state")
        .unwrap();
    assert_eq!(
        (&state["frequent"], &state["all"]),
        (&json!(["open", "late"]), &json!(true))
    );
    assert_eq!(
        answer["tokens"]["text"].as_u64(),
        answer["tables"][0]["tokens"].as_u64()
    );
}

#[test]
fn counted_cells_are_kept_for_as_long_as_they_hold() {
    let shop = Shop::new();
    let question = "which orders are open?";
    let first = shop.cells(question, "shop/orders");
    assert_eq!(shop.kept().len(), 1);
    // The second time no file of the lake is looked at.
    let away = shop.at("away.csv");
    fs::rename(shop.at("lake/shop/orders.csv"), &away).unwrap();
    assert_eq!(shop.cells(question, "shop/orders"), first);
    let run = shop.run(question, &["--table", "shop/orders", "--no-keep", "--json"]);
    run.code_is(1);
    let notes = run.json()["notes"].to_string();
    assert!(
        notes.contains("orders.csv is missing") && notes.contains("limn index"),
        "{notes}"
    );
    fs::rename(&away, shop.at("lake/shop/orders.csv")).unwrap();
    // Of another version others are counted; a damaged file is none.
    shop.write_orders("paid");
    shop.index();
    let second = shop.cells("which orders are paid?", "shop/orders");
    assert_eq!(found(&second)[0].1, "paid");
    assert_eq!(shop.kept().len(), 2);
    for file in shop.kept() {
        fs::write(&file, "no cells").unwrap();
    }
    assert_eq!(shop.cells("which orders are paid?", "shop/orders"), second);
    let index = shop.at("index");
    limn(&["verify", "--index", text(&index)]).code_is(0);
    // Old ones are garbage.
    limn(&["gc", "--index", text(&index)]).code_is(0);
    assert_eq!(shop.kept().len(), 2);
    let then = SystemTime::now() - Duration::from_secs(30 * 86_400);
    for file in shop.kept() {
        File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
    limn(&["gc", "--index", text(&index)]).code_is(0);
    assert!(shop.kept().is_empty());
    limn(&["verify", "--index", text(&index)]).code_is(0);
    assert_eq!(shop.cells("which orders are paid?", "shop/orders"), second);
}

#[test]
fn tables_are_found_and_how_they_join() {
    let shop = Shop::new();
    let answer = shop
        .run(
            "state of orders of customers of Bern",
            &["--join", "--json"],
        )
        .ok();
    let mut tables: Vec<&str> = answer["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["table"].as_str().unwrap())
        .collect();
    tables.sort_unstable();
    assert_eq!(tables, ["shop/customers", "shop/orders"]);
    let join = &answer["joins"][0];
    assert_eq!(
        (&join["left"]["table"], &join["left"]["column"]),
        (&json!("shop/orders"), &json!("customer_id"))
    );
    let written = answer["text"].as_str().unwrap();
    assert!(
        written.contains(
            "join \"shop/orders\".\"customer_id\" = \"shop/customers\".\"customer_id\"  -- n:1; "
        ),
        "{written}"
    );
    let evidence = join["evidence"].as_str().unwrap();
    assert!(
        written.ends_with(&format!("  -- n:1; {evidence}\n")),
        "{written}"
    );
    let plain = shop
        .run("state of orders of customers of Bern", &["--json"])
        .ok();
    assert!(!plain["tables"].as_array().unwrap().is_empty());
    let unknown = shop.run("anything", &["--table", "shop/ordres"]);
    unknown.code_is(2);
    assert!(
        unknown.stderr.contains("did you mean shop/orders?"),
        "{unknown:?}"
    );
    let folder = shop.run("anything", &["--table", "shop"]);
    folder.code_is(2);
    let hint = "there are 2 tables below it: limn tables --prefix 'shop'";
    assert!(folder.stderr.contains(hint), "{folder:?}");
    for k in ["0", "1000"] {
        let run = shop.run("anything", &["-k", k]);
        run.code_is(2);
        assert!(
            run.stderr.contains("is not a number from 1 to 50"),
            "{run:?}"
        );
    }
    let late = shop.run(
        "late",
        &["--table", "shop/orders", "--no-keep", "--timeout", "0"],
    );
    late.code_is(1);
    assert!(late.stderr.contains("--timeout"), "{late:?}");
}

#[test]
fn a_node_gives_each_caller_what_he_may_see() {
    let shop = Shop::new();
    let keys = shop.at("keys");
    let key = |more: &[&str]| {
        let made = limn(&[&["keys", "add", "--keys", text(&keys), "--json"], more].concat()).ok();
        made["key"].as_str().unwrap().to_owned()
    };
    let (all, names) = (key(&[]), key(&["--right", "search"]));
    let other = key(&["--prefix", "hr"]);
    let node = Node::start(text(&shop.at("index")), &["--keys", text(&keys)]);
    let ask = |key: &str, body: &Value| {
        let shown = format!("Bearer {key}");
        let headers = [("authorization", shown.as_str())];
        node.send("POST", "/v1/cells", &headers, Some(&body.to_string()))
    };
    let question = "amount of X-11987 in state late";
    let body = json!({"q": question, "tables": ["shop/orders"]});
    let by_command = shop.cells(question, "shop/orders");
    // A caller who may see values has what the command has, the first time and the second.
    for _ in 0..2 {
        assert_eq!(ask(&all, &body).ok(), by_command);
    }
    let blind = ask(&names, &body).ok();
    assert_eq!(columns(&blind), columns(&by_command));
    assert_eq!(blind["tables"][0]["cells"], json!([]));
    for column in blind["tables"][0]["columns"].as_array().unwrap() {
        assert!(
            column.get("range").is_none() && column.get("frequent").is_none(),
            "{column}"
        );
    }
    for value in ["late", "open", "X-11987", "C0"] {
        let shown = blind["text"].to_string() + &blind["tables"].to_string();
        assert!(!shown.contains(value), "{value}: {shown}");
    }
    // A table that he may not see is none.
    ask(&other, &body).is_error(404, "not_found");
    assert_eq!(
        ask(&other, &json!({"q": question})).ok()["tables"],
        json!([])
    );
    for wrong in [
        json!({"q": " "}),
        json!({"q": question, "k": 0}),
        json!({"q": question, "tables": vec!["shop/orders"; 11]}),
        json!({"q": question, "tables": ["shop/orders"], "mode": "set"}),
        json!({"q": question, "lake": "x"}),
        json!({"q": question, "limit": 3}),
    ] {
        ask(&all, &wrong).is_error(400, "bad_request");
    }
    // A node that reads no rows has what the index knows.
    let still = Node::start(text(&shop.at("index")), &["--no-sql"]);
    let known = still.post("/v1/cells", &body).ok();
    assert_eq!(known["tables"][0]["cells"][0]["value"], "late", "{known}");
    assert_eq!(known["tables"][0]["cells"][0]["count"], Value::Null);
}
