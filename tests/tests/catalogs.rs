//! Iceberg REST catalogs: tables by their names, at the cost of what changed; what is wrong with
//! one costs itself; a hostile catalog costs an error; secrets stay where they are.

mod keys;
mod refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use limn_tests::answers::everything;
use limn_tests::catalog::{CatalogServer, WeedCatalog};
use limn_tests::s3::{KEY, S3Server, SECRET};
use limn_tests::{Run, index_hashed, limn, limn_command, run, text};
use serde_json::{Value, json};
use tempfile::TempDir;

use keys::holds;

/// Indexes the catalog's tables.
fn index(catalog: &CatalogServer, index: &Path) -> Run {
    index_hashed(Path::new(&catalog.location()), index, &[])
}

fn names(index: &Path) -> Vec<String> {
    let tables = limn(&["tables", "--index", text(index), "--json"]).ok();
    let names = tables.as_array().unwrap().iter();
    let names = names.map(|it| it["table"].as_str().unwrap().to_owned());
    names.collect()
}

fn sql(index: &Path, statement: &str) -> Value {
    let answer = limn(&["sql", statement, "--index", text(index), "--json"]).ok();
    answer["rows"].clone()
}

/// The requests for one kind of thing.
fn of<'a>(asked: &'a [String], end: &str) -> Vec<&'a String> {
    let is_one = |it: &&String| it.split('?').next().unwrap().ends_with(end);
    asked.iter().filter(is_one).collect()
}

/// Gives all files below a folder that have no metadata in JSON (these the catalog reads) another
/// name; from which name to which.
fn move_away(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let found = fs::read_dir(folder).unwrap();
    let found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    let mut moved = Vec::new();
    for path in found {
        let kind = path.extension().and_then(|it| it.to_str());
        if path.is_dir() {
            moved.extend(move_away(&path));
        } else if matches!(kind, Some("avro" | "parquet")) {
            let away = path.with_extension("away");
            fs::rename(&path, &away).unwrap();
            moved.push((path, away));
        }
    }
    moved
}

fn shop() -> Value {
    json!([
        ["namespace", "sales"],
        ["namespace", "sales.eu"],
        ["namespace", "empty"],
        ["make", "sales.orders", 50],
        ["append", "sales.orders", 50, 10],
        ["make", "sales.returns", 5],
        ["make", "sales.more", 6],
        ["make", "sales.eu.orders", 7],
    ])
}

#[test]
fn tables_are_called_as_the_catalog_calls_them_and_cost_what_changed() {
    let catalog = CatalogServer::start();
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    catalog.tables(&shop());
    // What lies there and is of no table is none.
    let stray = catalog.folder.path().join("sales/stray");
    fs::create_dir_all(&stray).unwrap();
    fs::write(stray.join("stray.csv"), "a,b\n1,2\n").unwrap();

    let report = index(&catalog, &at).ok();
    assert_eq!(report["objects"]["read"], 5, "{report}");
    let all = [
        "sales/eu/orders",
        "sales/more",
        "sales/orders",
        "sales/returns",
    ];
    assert_eq!(names(&at), all);
    let counted = "SELECT count(*), sum(id), min(name) FROM sales.orders";
    assert_eq!(sql(&at, counted), json!([[60, 1770, "row00000"]]));
    let counted = "SELECT count(*) FROM sales.eu.orders";
    assert_eq!(sql(&at, counted), json!([[7]]));
    let shown = limn(&["show", "sales/orders", "--index", text(&at), "--json"]).ok();
    assert_eq!(shown[0]["format"], "iceberg");
    assert_eq!(shown[0]["rows"], 60);

    // As it is: its lists and a request a table, and no read of the store.
    catalog.asked();
    let moved = move_away(catalog.folder.path());
    let report = index(&catalog, &at).ok();
    moved
        .iter()
        .for_each(|(from, to)| fs::rename(to, from).unwrap());
    let asked = catalog.asked();
    assert_eq!(report["tables"]["unchanged"], 4, "{report}");
    assert_eq!(of(&asked, "/config").len(), 1, "{asked:?}");
    // Pages of two: of namespaces `empty` and `sales`; below these; of tables; and four tables.
    assert_eq!(of(&asked, "/namespaces").len(), 4, "{asked:?}");
    assert_eq!(of(&asked, "/tables").len(), 4, "{asked:?}");
    assert_eq!(asked.len(), 13, "{asked:?}");
    // And one of the index.
    assert_eq!(report["requests"]["list"], 13 + 1, "{report}");
    assert_eq!(report["requests"]["head"], 0, "{report}");

    // A commit costs the files that it adds.
    catalog.tables(&json!([["append", "sales.orders", 60, 40]]));
    let report = index(&catalog, &at).ok();
    assert_eq!(report["objects"]["read"], 1, "{report}");
    assert_eq!(report["tables"]["changed"], 1, "{report}");
    assert_eq!(
        sql(&at, "SELECT count(*) FROM sales.orders"),
        json!([[100]])
    );

    // Another name costs no reading, and a table that was dropped is removed.
    catalog.tables(&json!([
        ["rename", "sales.orders", "sales.purchases"],
        ["drop", "sales.more"],
    ]));
    let report = index(&catalog, &at).ok();
    assert_eq!(report["objects"]["read"], 0, "{report}");
    let now = ["sales/eu/orders", "sales/purchases", "sales/returns"];
    assert_eq!(names(&at), now);
    assert_eq!(sql(&at, "SELECT count(*) FROM purchases"), json!([[100]]));
    let diff = limn(&["diff", "1", "--index", text(&at)]).stdout;
    assert!(diff.contains("sales/purchases"), "{diff}");

    // Nobody announces changes of a catalog.
    let location = catalog.location();
    let watched = [
        "watch",
        &location,
        "--index",
        text(&at),
        "--embedder",
        "hashed-words",
        "--listen",
        "127.0.0.1:0",
    ];
    let watched = limn(&watched);
    watched.code_is(2);
    assert!(
        watched.stderr.contains("leave --queue and --listen away"),
        "{watched:?}"
    );

    // One table alone, and filters by names.
    catalog.tables(&json!([
        ["append", "sales.eu.orders", 7, 3],
        ["append", "sales.returns", 5, 5]
    ]));
    let updated = [
        "update",
        "sales/eu/orders",
        "--index",
        text(&at),
        "--embedder",
        "hashed-words",
        "--json",
    ];
    let report = limn(&updated).ok();
    assert_eq!(report["objects"]["read"], 1, "{report}");
    assert_eq!(
        sql(&at, "SELECT count(*) FROM sales.eu.orders"),
        json!([[10]])
    );
    assert_eq!(sql(&at, "SELECT count(*) FROM sales.returns"), json!([[5]]));
    index(&catalog, &at).ok();
    let scratch = folder.path().join("scratch");
    index(&catalog, &scratch).ok();
    assert_eq!(everything(&at), everything(&scratch));
    let filtered = folder.path().join("filtered");
    index_hashed(
        Path::new(&location),
        &filtered,
        &["--include", "sales/eu/**"],
    )
    .ok();
    assert_eq!(names(&filtered), ["sales/eu/orders"]);
}

#[test]
fn values_of_a_renamed_table_are_found_and_nothing_is_read_for_them() {
    let catalog = CatalogServer::start();
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    catalog.tables(&json!([
        ["namespace", "sales"],
        ["make", "sales.orders", 400],
        ["append", "sales.orders", 400, 10],
    ]));
    index(&catalog, &at).ok();
    let asked = || {
        let search = ["search", "\"row00333\"", "--index", text(&at), "--json"];
        limn(&search).ok()["results"][0].clone()
    };
    let shown = json!(["code row00333 in name"]);
    assert_eq!(asked()["exact"], shown, "{}", asked());
    for name in ["purchases", "bought"] {
        let before = names(&at)[0].replace('/', ".");
        catalog.tables(&json!([["rename", before, format!("sales.{name}")]]));
        let report = index(&catalog, &at).ok();
        assert_eq!(report["objects"]["read"], 0, "{report}");
        let found = asked();
        assert_eq!(found["table"], format!("sales/{name}"), "{found}");
        assert_eq!(found["exact"], shown, "{found}");
    }
}

#[test]
fn a_statement_reads_the_files_that_were_indexed() {
    let catalog = CatalogServer::start();
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    catalog.tables(&json!([["namespace", "a"], ["make", "a.t", 20]]));
    index(&catalog, &at).ok();
    catalog.tables(&json!([
        ["append", "a.t", 20, 20],
        ["delete", "a.t", "id < 5"]
    ]));
    assert_eq!(
        sql(&at, "SELECT count(*), min(id) FROM t"),
        json!([[20, 0]])
    );
    index(&catalog, &at).ok();
    assert_eq!(
        sql(&at, "SELECT count(*), min(id) FROM t"),
        json!([[35, 5]])
    );
    // A removed table is no table without rows.
    catalog.tables(&json!([["drop", "a.t"]]));
    let missing = limn(&["sql", "SELECT min(id + 0) FROM t", "--index", text(&at)]);
    assert_ne!(missing.code, 0, "{missing:?}");
    assert!(missing.stderr.contains("limn index"), "{missing:?}");
}

#[test]
fn what_is_wrong_with_a_table_costs_that_table_nothing_but_what_is_new() {
    let catalog = CatalogServer::start();
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    catalog.tables(&json!([
        ["namespace", "a"],
        ["make", "a.good", 3],
        ["make", "a.bad", 4]
    ]));
    index(&catalog, &at).ok();
    catalog.tables(&json!([
        ["append", "a.bad", 4, 4],
        ["append", "a.good", 3, 1]
    ]));
    let about = "tables/bad";
    let elsewhere = json!({"format-version": 2, "location": "/elsewhere/bad"});
    let bucketless = json!({"format-version": 2, "location": "hdfs://node/bad"});
    let own = catalog.folder.path().join("a/bad");
    let outside = json!({"format-version": 2, "location": own.join("deeper")});
    let lies = [
        (
            json!({"metadata": elsewhere}),
            "is outside of its location /elsewhere/bad",
        ),
        (json!({"metadata": bucketless}), "where limn cannot read"),
        (json!({"metadata": outside}), "is outside of its location"),
        (
            json!({"metadata-location": "/etc/passwd"}),
            "is outside of its location",
        ),
        (json!({"metadata-location": null}), "does not say where"),
        (
            json!({"metadata-location": own.join("metadata/gone.metadata.json")}),
            "no longer exists",
        ),
    ];
    let faults = [
        (json!({"on": about, "status": 403}), "403 Forbidden"),
        (
            json!({"on": about, "status": 500}),
            "500 Internal Server Error",
        ),
        (json!({"on": about, "body": "<html>"}), "it is no JSON"),
        (
            json!({"on": about, "body": "{\"metadata\": 7}"}),
            "it lacks what",
        ),
        (
            json!({"on": about, "bytes": 1 << 30}),
            "more than 33554432 bytes",
        ),
    ];
    let lies = lies
        .into_iter()
        .map(|(lie, words)| (json!({"a.bad": lie}), json!([]), words));
    let faults = faults
        .into_iter()
        .map(|(fault, words)| (json!({}), json!([fault]), words));
    for (lie, fault, words) in lies.chain(faults) {
        catalog.lie(&lie);
        catalog.faults(&fault);
        let run = index(&catalog, &at);
        run.code_is(1);
        let report = run.json();
        let failures = report["failures"].as_array().unwrap();
        assert_eq!(failures.len(), 1, "{report}");
        let error = failures[0]["error"].as_str().unwrap();
        assert!(error.contains(words) && error.contains("a/bad"), "{error}");
        let rows = |table: &str| {
            let shown = limn(&["show", table, "--index", text(&at), "--json"]).ok();
            shown[0]["rows"].as_u64().unwrap()
        };
        assert_eq!((rows("a/bad"), rows("a/good")), (4, 4), "{error}");
    }
    catalog.lie(&json!({}));
    catalog.faults(
        &json!([{"on": about, "status": 429, "headers": {"Retry-After": "1"}, "times": 1}]),
    );
    index(&catalog, &at).ok();
    assert_eq!(sql(&at, "SELECT count(*) FROM bad"), json!([[8]]));
    // Between the list and the question it went.
    catalog.faults(&json!([{"on": about, "status": 404}]));
    index(&catalog, &at).ok();
    assert_eq!(names(&at), ["a/good"]);
}

#[test]
fn the_tables_of_a_real_catalog_are_followed() {
    let catalog = WeedCatalog::start("lakehouse");
    catalog.tables(&json!([
        ["namespace", "sales"],
        ["make", "sales.orders", 40],
        ["append", "sales.orders", 40, 20],
        ["make", "sales.returns", 5],
    ]));
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    let mut variables = catalog.environment();
    variables.extend(catalog.server.environment());
    let with = |arguments: &[&str]| run(limn_command(arguments).envs(variables.clone()));
    let location = catalog.location();
    let followed = || {
        with(&[
            "index",
            &location,
            "--index",
            text(&at),
            "--embedder",
            "hashed-words",
            "--json",
        ])
        .ok()
    };
    let rows = |statement: &str| {
        let answer = with(&["sql", statement, "--index", text(&at), "--json"]).ok();
        answer["rows"].clone()
    };
    let report = followed();
    assert_eq!(report["objects"]["read"], 3, "{report}");
    assert_eq!(names(&at), ["sales/orders", "sales/returns"]);
    assert_eq!(
        rows("SELECT count(*), sum(id) FROM sales.orders"),
        json!([[60, 1770]])
    );
    let report = followed();
    assert_eq!(report["objects"]["read"], 0, "{report}");
    assert_eq!(report["tables"]["unchanged"], 2, "{report}");
    let requests = &report["requests"];
    assert_eq!(requests["head"], 0, "{report}");
    catalog.tables(&json!([
        ["append", "sales.orders", 60, 5],
        ["delete", "sales.returns", "id < 2"]
    ]));
    followed();
    assert_eq!(rows("SELECT count(*) FROM sales.orders"), json!([[65]]));
    assert_eq!(
        rows("SELECT count(*), min(id) FROM returns"),
        json!([[3, 2]])
    );
    // Made anew under its name, with a metadata file of the same name.
    catalog.tables(&json!([
        ["drop", "sales.returns"],
        ["make", "sales.returns", 9]
    ]));
    followed();
    assert_eq!(
        rows("SELECT count(*), min(id) FROM returns"),
        json!([[9, 0]])
    );
    catalog.tables(&json!([["drop", "sales.returns"]]));
    followed();
    assert_eq!(names(&at), ["sales/orders"]);
    assert!(!holds(&at, SECRET));
}
