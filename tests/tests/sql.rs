//! `limn sql` by hand: what people write and where they want the rows, and what they read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use limn_tests::{Run, lake, limn, text};
use tempfile::TempDir;

/// A lake and its index.
struct Asked {
    folder: TempDir,
}

impl Asked {
    fn new() -> Asked {
        let asked = Asked {
            folder: TempDir::new().unwrap(),
        };
        let orders = "order_id,amount\n1,5\n2,7\n3,11\n";
        lake::write(&asked.at("the lake"), "orders.csv", orders);
        let database = rusqlite::Connection::open(asked.at("the lake").join("shop.db")).unwrap();
        database
            .execute_batch("CREATE TABLE staff (id INTEGER); INSERT INTO staff VALUES (1), (2)")
            .unwrap();
        let (lake, index) = (asked.at("the lake"), asked.at("index"));
        limn(&["index", text(&lake), "--index", text(&index)]).code_is(0);
        asked
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sql(&self, statement: &str, more: &[&str]) -> Run {
        let index = self.at("index");
        limn(&[&["sql", statement, "--index", text(&index)], more].concat())
    }
}

#[test]
fn rows_have_names_of_their_own_wherever_they_go() {
    let asked = Asked::new();
    let all = asked.sql("FROM orders ORDER BY order_id", &["--json"]).ok();
    assert_eq!(all["rows"], serde_json::json!([[1, 5], [2, 7], [3, 11]]));
    // What the engine prints of its own where it is logged in detail is on no output.
    let few = "SELECT DISTINCT amount FROM orders ORDER BY amount LIMIT 2";
    let few = asked.sql(few, &["--json"]).ok();
    assert_eq!(few["rows"], serde_json::json!([[5], [7]]));
    let statement = "SELECT a.order_id, b.order_id FROM orders a JOIN orders b \
                     ON a.order_id = b.order_id ORDER BY 1 LIMIT 1";
    let answered = asked.sql(statement, &["--json"]).ok();
    let names = ["order_id", "order_id_2"];
    assert_eq!(answered["columns"][0]["name"], names[0]);
    assert_eq!(answered["columns"][1]["name"], names[1]);
    for (file, wanted) in [
        ("rows.csv", "order_id,order_id_2\n1,1\n"),
        ("rows.jsonl", "{\"order_id\":1,\"order_id_2\":1}\n"),
    ] {
        let path = asked.at(file);
        asked.sql(statement, &["--output", text(&path)]).code_is(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
    }
    for file in ["rows.parquet", "rows.arrow"] {
        let path = asked.at(&format!("{file}/{file}"));
        fs::create_dir(path.parent().unwrap()).unwrap();
        asked.sql(statement, &["--output", text(&path)]).code_is(0);
        // What limn wrote, it reads.
        let (lake, index) = (path.parent().unwrap(), asked.at(&format!("{file}.index")));
        limn(&["index", text(lake), "--index", text(&index)]).code_is(0);
        let read = limn(&["sql", "FROM rows", "--index", text(&index), "--json"]).ok();
        assert_eq!(read["columns"], answered["columns"], "{file}");
        assert_eq!(read["rows"], answered["rows"], "{file}");
    }
}

#[test]
fn a_time_without_a_unit_is_of_seconds() {
    let asked = Asked::new();
    for (time, code) in [("5", 0), ("2.5", 0), ("1min", 0), ("-1", 2), ("soon", 2)] {
        let time = format!("--timeout={time}");
        asked.sql("SELECT 1", &[&time]).code_is(code);
    }
    let run = asked.sql("FROM orders, orders b, orders c", &["--timeout", "0"]);
    assert!(run.stderr.contains("stopped after 0s"), "{run:?}");
}

#[test]
fn a_file_of_rows_is_one_like_others() {
    let asked = Asked::new();
    let mode = |name: &str| fs::metadata(asked.at(name)).unwrap().permissions().mode() & 0o777;
    fs::write(asked.at("usual"), "").unwrap();
    let output = |path: &PathBuf| asked.sql("FROM orders", &["--output", text(path)]);
    output(&asked.at("rows.csv")).code_is(0);
    assert_eq!(mode("rows.csv"), mode("usual"));
    fs::set_permissions(asked.at("rows.csv"), fs::Permissions::from_mode(0o640)).unwrap();
    output(&asked.at("rows.csv")).code_is(0);
    assert_eq!(mode("rows.csv"), 0o640);
    // A lake is not written to.
    let before = fs::read(asked.at("the lake/orders.csv")).unwrap();
    for name in ["the lake/orders.csv", "the lake/new.csv"] {
        let run = output(&asked.at(name));
        run.code_is(2);
        assert!(run.stderr.contains("choose another place"), "{run:?}");
    }
    assert_eq!(fs::read(asked.at("the lake/orders.csv")).unwrap(), before);
    assert!(!asked.at("the lake/new.csv").exists());
    let run = output(&asked.at("nowhere/rows.csv"));
    run.code_is(2);
    assert!(run.stderr.contains("its folder is not there"), "{run:?}");
    fs::create_dir(asked.at("folder.csv")).unwrap();
    let run = output(&asked.at("folder.csv"));
    run.code_is(2);
    assert!(run.stderr.contains("cannot be written: "), "{run:?}");
}

#[test]
fn a_lake_that_has_changed_is_reported_with_the_command_that_helps() {
    let asked = Asked::new();
    let counted = asked.sql("SELECT count(*) FROM orders", &["--json"]).ok();
    let note = "'orders' was answered from the index: its files were not looked at";
    assert_eq!(counted["notes"], serde_json::json!([note]));
    lake::write(
        &asked.at("the lake"),
        "orders.csv",
        "order_id,amount\n1,6\n",
    );
    let (lake, index) = (asked.at("the lake"), asked.at("index"));
    let run = asked.sql("FROM orders", &[]);
    run.code_is(2);
    let canonical = lake.canonicalize().unwrap();
    let command = format!(
        "limn update orders --lake '{}' --index {}",
        canonical.display(),
        index.display()
    );
    assert!(run.stderr.contains(&command), "{run:?}");
    limn(&[
        "update",
        "orders",
        "--lake",
        text(&canonical),
        "--index",
        text(&index),
    ])
    .code_is(0);
    let rows = asked.sql("FROM orders", &["--json"]).ok()["rows"].clone();
    assert_eq!(rows, serde_json::json!([[1, 6]]));
    let database = rusqlite::Connection::open(lake.join("shop.db")).unwrap();
    database
        .execute_batch("INSERT INTO staff VALUES (3)")
        .unwrap();
    let run = asked.sql("FROM staff", &[]);
    run.code_is(2);
    assert!(run.stderr.contains("all tables that are in it"), "{run:?}");
    assert!(run.stderr.contains("limn index '"), "{run:?}");
    fs::remove_file(lake.join("orders.csv")).unwrap();
    let run = asked.sql("FROM orders", &[]);
    run.code_is(2);
    assert!(run.stderr.contains("orders.csv is missing"), "{run:?}");
}
