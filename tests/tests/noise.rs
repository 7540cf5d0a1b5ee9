//! What would fill an answer with noise: copies, texts about folders, and sheets of years.

use std::path::{Path, PathBuf};

use limn_tests::node::{Node, escaped};
use limn_tests::{index_hashed, lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const ORDERS: &str = "order_id,promo_code,amount\n1,SPRING,10.5\n2,SUMMER,20\n3,,7.25\n";
const BOOK: &str = "finance/budget.fods";

/// A spreadsheet with these sheets of rows.
fn book(sheets: &[(&str, &[&[&str]])]) -> String {
    let cell = |cell: &&str| {
        format!(
            r#"<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>"#
        )
    };
    let row = |row: &&[&str]| {
        let cells: String = row.iter().map(cell).collect();
        format!("<table:table-row>{cells}</table:table-row>")
    };
    let sheet = |(name, rows): &(&str, &[&[&str]])| {
        let rows: String = rows.iter().map(row).collect();
        format!(r#"<table:table table:name="{name}"><table:table-column/>{rows}</table:table>"#)
    };
    let sheets: String = sheets.iter().map(sheet).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body></office:document>"#
    )
}

struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new(files: &[(&str, &str)]) -> Ground {
        let ground = Ground {
            folder: TempDir::new().unwrap(),
        };
        for (path, content) in files {
            lake::write(&ground.lake(), path, content);
        }
        ground
    }

    fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn index(&self) -> PathBuf {
        let index = self.at("index");
        index_hashed(&self.lake(), &index, &[]).code_is(0);
        index
    }
}

fn search(index: &Path, question: &str, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["search", question, "--index", text(index), "--json"];
    arguments.extend(more);
    let answer = limn(&arguments).ok();
    answer["results"].as_array().unwrap().clone()
}

/// The tables of an answer with their copies.
fn found(results: &[Value]) -> Vec<(String, Value)> {
    let name = |result: &Value| result["table"].as_str().unwrap().to_owned();
    let pairs = results.iter().map(|it| (name(it), it["copies"].clone()));
    pairs.collect()
}

#[test]
fn copies_are_one_result_and_the_one_in_use_stands_for_them() {
    let ground = Ground::new(&[
        ("sales/2024/orders.csv", ORDERS),
        ("backup_2024/orders.csv", ORDERS),
        ("tmp/orders (1).csv", ORDERS),
        ("sales/returns.csv", "order_id,reason\n1,broken\n2,late\n"),
        (
            "sales/discounts.csv",
            "promo_code,percent\nSPRING,5\nSUMMER,10\n",
        ),
    ]);
    let index = ground.index();
    let results = search(&index, "amount of orders", &["-k", "3"]);
    let orders = (
        "sales/2024/orders".to_owned(),
        json!(["tmp/orders (1)", "backup_2024/orders"]),
    );
    let got = found(&results);
    assert_eq!(got[0], orders, "{got:?}");
    assert_eq!(got.len(), 3, "{got:?}");
    assert!(
        got[1..].iter().all(|(_, copies)| *copies == json!([])),
        "{got:?}"
    );
    // One that is asked for by its place is found there, alone.
    let below = search(&index, "amount of orders", &["--prefix", "backup_2024"]);
    assert_eq!(
        found(&below),
        [("backup_2024/orders".to_owned(), json!([]))]
    );
    let shown = limn(&["search", "amount of orders", "--index", text(&index)]);
    assert!(
        shown
            .stdout
            .contains("copies: tmp/orders (1), backup_2024/orders"),
        "{}",
        shown.stdout
    );

    // What was removed stands for nothing, and an index that is kept answers as one made anew.
    std::fs::remove_file(ground.lake().join("sales/2024/orders.csv")).unwrap();
    lake::write(
        &ground.lake(),
        "tmp/returns.csv",
        "order_id,reason\n1,broken\n2,late\n",
    );
    let kept = found(&search(&ground.index(), "amount of orders", &["-k", "3"]));
    assert_eq!(
        kept[0],
        ("tmp/orders (1)".to_owned(), json!(["backup_2024/orders"]))
    );
    let anew = ground.at("anew");
    index_hashed(&ground.lake(), &anew, &[]).code_is(0);
    assert_eq!(
        found(&search(&anew, "amount of orders", &["-k", "3"])),
        kept
    );
}

#[test]
fn who_may_not_see_a_table_finds_its_copy() {
    let ground = Ground::new(&[
        ("sales/orders.csv", ORDERS),
        ("backup/orders.csv", ORDERS),
        ("backup/old/orders.csv", ORDERS),
        ("backup/parts.csv", "part,weight\nbolt,3\nnut,1\n"),
    ]);
    let (index, keys) = (ground.index(), ground.at("keys.yaml"));
    let add = ["keys", "add", "--keys", text(&keys), "--json"];
    let made = |more: &[&str]| {
        limn(&[&add[..], more].concat()).ok()["key"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (all, some) = (made(&[]), made(&["--prefix", "backup"]));
    let node = Node::start(text(&index), &["--keys", text(&keys)]);
    let question = escaped("amount of orders");
    let asked = |key: &str| {
        node.get_with(key, &format!("/v1/search?q={question}&k=2"))
            .ok()
    };
    let got = found(asked(&all)["results"].as_array().unwrap());
    assert_eq!(got[0].0, "sales/orders");
    assert_eq!(got[0].1, json!(["backup/orders", "backup/old/orders"]));
    let got = found(asked(&some)["results"].as_array().unwrap());
    assert_eq!(
        got[0],
        ("backup/orders".to_owned(), json!(["backup/old/orders"]))
    );
    assert_eq!(got.len(), 2);

    let similar = node
        .get_with(&all, "/v1/table/similar?table=backup/orders&k=2")
        .ok();
    let first = &similar["results"][0];
    assert_eq!(
        (&first["table"], &first["copy"]),
        (&json!("sales/orders"), &json!(true))
    );
    assert_eq!(first["copies"], json!(["backup/old/orders"]));
    assert_eq!(similar["results"][1]["copy"], json!(false));
}

#[test]
fn sheets_of_years_are_one_table_of_one_file() {
    let header: &[&str] = &["cost_centre", "budget"];
    let rows: [&[&[&str]]; 3] = [
        &[header, &["it", "100"], &["hr", "50"]],
        &[header, &["it", "120"], &["hr", "60"]],
        &[&["topic", "page"], &["rates", "12"], &["taxes", "7"]],
    ];
    let content = book(&[("2023", rows[0]), ("2024", rows[1]), ("Notes", rows[2])]);
    let ground = Ground::new(&[(BOOK, &content)]);
    let index = ground.index();
    let listed = limn(&["tables", "--index", text(&index), "--json"]).ok();
    let listed: Vec<Value> = listed.as_array().unwrap().clone();
    let got: Vec<_> = listed
        .iter()
        .map(|it| (&it["table"], &it["rows"], &it["files"]))
        .collect();
    let notes = format!("{BOOK}//Notes");
    assert_eq!(
        got,
        [
            (&json!(BOOK), &json!(4), &json!(1)),
            (&json!(notes), &json!(2), &json!(1)),
        ]
    );
    let shown = limn(&["show", BOOK, "--index", text(&index), "--json"]).ok();
    let columns = shown[0]["columns"].as_array().unwrap();
    let names: Vec<_> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cost_centre", "budget", "year"]);
    let years = columns[2]["frequent"].as_array().unwrap();
    assert_eq!(years.len(), 2, "{years:?}");
    for row in shown[0]["sample"].as_array().unwrap() {
        assert!(
            ["2023", "2024"].contains(&row[2].as_str().unwrap()),
            "{row}"
        );
    }
    let shown = limn(&["show", BOOK, "--index", text(&index)]);
    assert!(
        shown.stdout.contains("3 columns, 1 file\n"),
        "{}",
        shown.stdout
    );
    let again = limn(&[
        "index",
        text(&ground.lake()),
        "--index",
        text(&ground.at("other")),
        "--embedder",
        "hashed-words",
    ]);
    assert!(
        again.stdout.contains("read 1 data file,"),
        "{}",
        again.stdout
    );
}

#[test]
fn a_readme_is_no_text_about_tables_that_it_passes_over() {
    let readme = "# Shop\n\nWhat the shop keeps.\n\n- `orders`: what was sold, with the voucher\n\n## eu\n\nGoods of the continental depot.\n";
    let ground = Ground::new(&[
        ("shop/README.md", readme),
        ("shop/orders.csv", ORDERS),
        ("shop/people.csv", "name,city\nada,Bern\nbob,Chur\n"),
        ("shop/eu/stock.csv", "item,count\nbolt,3\nnut,4\n"),
        ("lab/README.md", "Measured by the spectrometer.\n"),
        ("lab/red.csv", "wave,power\n1,2\n3,4\n"),
        ("lab/blue.csv", "length,strength\n5,6\n7,8\n"),
        ("lab/blue.md", "The spectrometer's beam in blue.\n"),
    ]);
    let index = ground.index();
    let contexts = |table: &str| -> Vec<(String, bool)> {
        let shown = limn(&["show", table, "--index", text(&index), "--json"]).ok();
        let contexts = shown[0]["contexts"].as_array().unwrap().clone();
        let got = contexts.iter().map(|it| {
            let text = it["text"].as_str().unwrap().trim().to_owned();
            (text, it["of_folder"].as_bool().unwrap())
        });
        got.filter(|(text, _)| !text.is_empty()).collect()
    };
    let orders = "- `orders`: what was sold, with the voucher".to_owned();
    assert_eq!(contexts("shop/orders"), [(orders, false)]);
    // It has what is about the folder as a whole, as a text about that.
    let shop = "# Shop\n\nWhat the shop keeps.\n\n\n## eu\n\nGoods of the continental depot.";
    assert_eq!(contexts("shop/people"), [(shop.to_owned(), true)]);
    let eu = "## eu\n\nGoods of the continental depot.".to_owned();
    assert_eq!(contexts("shop/eu/stock"), [(eu, true)]);
    assert_eq!(
        contexts("lab/red"),
        [("Measured by the spectrometer.".to_owned(), true)]
    );
    // Its own text makes a table come before one that only has its folder's.
    let results = search(&index, "spectrometer", &["-k", "2", "--alpha", "1"]);
    assert_eq!(found(&results)[0].0, "lab/blue");
}

/// A README that speaks of sales at length made every table of its folder an answer about sales.
#[test]
fn a_readme_about_sales_makes_no_voucher_table_an_answer_about_sales() {
    let readme = "# Sales\n\nRevenue by region, revenue after refunds, and refunds by region. All sales of the shops: revenue, \
        refunds and what is left of revenue after refunds.\n\n- Revenue is in euros.\n- Refunds are in euros.\n- Regions are those of \
        the sales team.\n\n## eu/\n\nRevenue and refunds of Europe.\n";
    let ground = Ground::new(&[
        ("sales/README.md", readme),
        (
            "sales/vouchers.csv",
            "code,issued_on,face_value\nV1,2024-01-02,50\nV2,2024-01-03,20\n",
        ),
        (
            "sales/shops.csv",
            "shop,city,manager\n7,Bern,ada\n8,Chur,bob\n",
        ),
        (
            "finance/ledger_2024.csv",
            "entry_id,booked_on,region,cost_centre,currency,revenue,refunds,tax,discount,auditor,comment,approved_by\n1,2024-01-02,north,c1,EUR,100,5,1,2,ada,ok,bob\n2,2024-02-02,south,c2,EUR,80,2,1,2,cyd,late,bob\n",
        ),
        ("hr/people.csv", "name,city\nada,Bern\nbob,Chur\n"),
    ]);
    let index = ground.index();
    for alpha in ["0", "0.5", "1"] {
        let results = search(
            &index,
            "revenue by region and refunds",
            &["-k", "4", "--alpha", alpha],
        );
        assert_eq!(found(&results)[0].0, "finance/ledger_2024", "alpha {alpha}");
        let grades: Vec<_> = results.iter().map(|it| &it["grade"]).collect();
        assert_eq!(
            grades[..3],
            [&json!("strong"), &json!("weak"), &json!("weak")]
        );
    }
    // What is asked of the folder is found in it.
    let results = search(&index, "sales team", &["-k", "1"]);
    assert!(found(&results)[0].0.starts_with("sales/"));
    let shown = limn(&["show", "sales/vouchers", "--index", text(&index), "--json"]).ok();
    let context = &shown[0]["contexts"][0];
    assert_eq!(context["of_folder"], true);
    assert!(!context["text"].as_str().unwrap().contains("Europe"));
}
