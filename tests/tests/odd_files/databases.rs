//! SQLite databases: their schema is a program of a stranger.

use rusqlite::Connection;

use super::{Odd, ignores, noted, reads, refuses};

fn database(sql: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection.serialize("main").unwrap().to_vec()
}

/// A table, and beside it this.
fn beside_good(sql: &str) -> Vec<u8> {
    database(&format!(
        "CREATE TABLE good (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO good VALUES (1, 'ada'), (2, 'bob'); {sql}"
    ))
}

/// The database with other bytes in the place of some of its text, of the same length.
fn with_text(mut database: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut windows = database.windows(from.len());
    let at = windows.position(|it| it == from.as_bytes()).unwrap();
    database[at..at + to.len()].copy_from_slice(to.as_bytes());
    database
}

pub fn files() -> Vec<Odd> {
    let good = beside_good("");
    let view = |path: &str, sql: &str, name: &'static str, why: &'static str| {
        refuses(path, beside_good(sql), why).within(name)
    };
    let mut with_log = good.clone();
    with_log[18..20].fill(2);
    let mut damaged = beside_good(&format!(
        "CREATE TABLE long (text); INSERT INTO long VALUES ('{}');",
        "x".repeat(20_000)
    ));
    // All pages but those of the schema and of the good table.
    damaged[2 * 4096..].fill(0xff);
    vec![
        reads("people.sqlite", good.clone(), "id:integer name:text", 2).within("//good"),
        reads("PEOPLE.DB", good.clone(), "id:integer name:text", 2).within("//good"),
        reads("logged.sqlite3", with_log, "id:integer name:text", 2).within("//good"),
        reads(
            "odd names.db3",
            database("CREATE TABLE \"a.b/c; DROP TABLE x--\" (\"select\", \"\", \"<b>\"); INSERT INTO \"a.b/c; DROP TABLE x--\" VALUES (1, 'x', 2.5)"),
            "select:integer column_2:text <b>:float",
            1,
        )
        .within("//a.b/c; DROP TABLE x--"),
        ignores("empty.sqlite", database("VACUUM")),
        ignores("thumbs.db", "some other program's file"),
        refuses("words.sqlite", "these are words", "SQLite"),
        refuses("zero.sqlite", "", ""),
        refuses("cut.sqlite", &good[..60], ""),
        refuses("damaged.sqlite", damaged, "damaged").within("//long"),
        view(
            "endless.sqlite",
            "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
            "//endless",
            "more steps",
        ),
        noted(
            "rows.sqlite",
            beside_good("CREATE VIEW rows AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 1 AS one FROM c LIMIT 3"),
            "one:integer",
            3,
            "",
        )
        .within("//rows"),
        view(
            "loads.sqlite",
            "CREATE VIEW loads AS SELECT load_extension('/tmp/x.so') AS a",
            "//loads",
            "not run here",
        ),
        view(
            "long.sqlite",
            "CREATE VIEW long AS SELECT zeroblob(1000000000) AS a",
            "//long",
            "not run here",
        ),
        view(
            "pragma.sqlite",
            "CREATE VIEW pragma AS SELECT * FROM pragma_database_list",
            "//pragma",
            "not run here",
        ),
        view(
            "nowhere.sqlite",
            "CREATE VIEW nowhere AS SELECT * FROM gone",
            "//nowhere",
            "no such table",
        ),
        refuses(
            "no_schema.sqlite",
            with_text(good, "CREATE TABLE good", "CREATE TROUBLE go"),
            "",
        ),
    ]
}
