//! Views of databases, read by the real binary in a process apart: whatever a view is like, it
//! costs itself, a while, and memory within bounds.

use std::fs;
use std::time::{Duration, Instant};

use limn_tests::{index_hashed, index_hashed_command, limn, measured, random, text};
use rusqlite::Connection;
use tempfile::TempDir;

/// What the process may take by its own limit, and what is not its own memory.
const MOST_MEMORY: u64 = (1 << 30) + (256 << 20);

/// Views that nobody can prepare: SQLite takes seconds to find the best order of sixty self-joins,
/// and does so for each of ten that another view has, before the first step is run and counted. And
/// views that each read the one before twice.
fn views() -> String {
    let mut drawn = 0..;
    let mut draw = |of| drawn.next().map_or(0, |n| random(n) % of);
    let mut sql = "CREATE TABLE wide (c0, c1, c2, c3);".to_owned();
    for (index, columns) in ["c0,c1,c2", "c1,c2,c3", "c2,c3,c0", "c3,c0,c1"]
        .iter()
        .enumerate()
    {
        sql += &format!("CREATE INDEX i{index} ON wide ({columns});");
    }
    let tables: Vec<String> = (0..60).map(|at| format!("wide x{at}")).collect();
    let equal: Vec<String> = (0..60 * 14)
        .map(|at| format!("x{}.c{}=x{}.c{}", at / 14, at % 4, draw(60), draw(4)))
        .collect();
    let (tables, equal) = (tables.join(","), equal.join(" AND "));
    sql += &format!("CREATE VIEW joined AS SELECT count(*) AS n FROM {tables} WHERE {equal};");
    let ten: Vec<String> = (0..10).map(|at| format!("joined j{at}")).collect();
    sql += &format!("CREATE VIEW many AS SELECT j0.n FROM {};", ten.join(","));
    sql += "CREATE VIEW v0 AS SELECT id FROM people;";
    for view in 1..60 {
        let below = view - 1;
        sql += &format!("CREATE VIEW v{view} AS SELECT x.id FROM v{below} x, v{below} y;");
    }
    sql
}

#[test]
fn views_that_nobody_can_prepare_cost_themselves() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir_all(&lake).unwrap();
    let database = Connection::open(lake.join("shop.sqlite")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
             INSERT INTO people VALUES (1, 'ada'), (2, 'bob');
             CREATE VIEW names AS SELECT upper(name) AS name FROM people;",
        )
        .unwrap();
    database.execute_batch(&views()).unwrap();
    drop(database);
    let begun = Instant::now();
    let (run, memory) = measured(&index_hashed_command(&lake, &index, &[]));
    let took = begun.elapsed();
    run.code_is(1);
    let failures = run.json()["failures"].to_string();
    for view in ["many", "v20", "v59"] {
        let name = format!("shop.sqlite//{view}:");
        assert!(failures.contains(&name), "{view}: {failures}");
    }
    assert!(!failures.contains("//names") && !failures.contains("//people"));
    let shown = limn(&[
        "show",
        "shop.sqlite//names",
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    assert_eq!(shown[0]["rows"], 2, "{shown}");
    assert!(took < Duration::from_secs(90), "took {took:?}");
    assert!(memory < MOST_MEMORY, "{} MiB", memory >> 20);
    // It is not read again while it is unchanged.
    let begun = Instant::now();
    index_hashed(&lake, &index, &[]).code_is(0);
    assert!(
        begun.elapsed() < took / 2,
        "{:?} of {took:?}",
        begun.elapsed()
    );
}
