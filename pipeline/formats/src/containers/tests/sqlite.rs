use limn_profile::{DataType, DeclaredKeys, Reference};
use rusqlite::Connection;

use super::*;
use crate::containers::sqlite::view;

pub(super) fn database(sql: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection.serialize("main").unwrap().to_vec()
}

/// A table as any other; a view as the process that reads views does, if the command is there.
async fn read(store: &Store, member: &ObjectRecord) -> Result<FileSummary, FileError> {
    let refused = match super::read(store, member).await {
        Err(error) if error.cause.contains("in a process of its own") => error,
        read => return read,
    };
    let Some(&MemberPlace::Table(id)) = member.member().map(|it| &it.place) else {
        return Err(refused);
    };
    let path = member::outside(&member.path);
    let size = store.head(path).await.unwrap().size;
    let database = store.get_range(path, 0..size).await.unwrap();
    let options = ReadOptions::default();
    let mut given = view::request(&database, id, &member.path, &options).unwrap();
    given.extend(&database);
    let answer = view::answer_view(&given[..]).unwrap();
    let cut = view::answer_view(&given[..given.len() - 1]);
    assert_eq!(cut, None, "not what was given");
    view::taken(&answer).map_err(|failure| failure.about(&member.path))
}

fn names(opened: &Listed) -> Vec<&str> {
    let names = opened.members.iter();
    names
        .map(|it| it.path.split_once("//").unwrap().1)
        .collect()
}

pub(super) const SHOP: &str = "
CREATE TABLE Customers (id INTEGER PRIMARY KEY, name TEXT, born TEXT, photo BLOB);
INSERT INTO Customers VALUES (1, 'ada', '1815-12-10', x'00ff'), (2, 'bob', '1990-01-02', NULL);
CREATE TABLE \"order lines\" (a INT, b INT, customer INT REFERENCES customers(id), price REAL, PRIMARY KEY (a, b), UNIQUE (b, price));
CREATE UNIQUE INDEX half ON \"order lines\" (a) WHERE a > 1;
CREATE UNIQUE INDEX made ON \"order lines\" (a + b);
INSERT INTO \"order lines\" VALUES (1, 1, 1, 2.5), (1, 2, 2, 3);
CREATE VIEW rich AS SELECT upper(name) AS name FROM Customers WHERE id = 1;
CREATE VIRTUAL TABLE docs USING fts5(text);
INSERT INTO docs VALUES ('hello');
CREATE TABLE empty (a, b);
";

#[tokio::test]
async fn tables_and_views_are_read_with_their_types_and_keys() {
    for path in ["shop.sqlite", "shop.DB"] {
        let (store, opened) = open(path, database(SHOP)).await;
        let opened = opened.unwrap();
        assert_eq!(
            names(&opened),
            ["Customers", "empty", "order lines", "rich"]
        );
        let customers = read(&store, &opened.members[0]).await.unwrap();
        assert_eq!((customers.rows, customers.rows_exact), (2, true));
        let types: Vec<&DataType> = customers.columns.iter().map(|it| &it.data_type).collect();
        let expected = [
            &DataType::Integer,
            &DataType::Text,
            &DataType::Date,
            &DataType::Binary,
        ];
        assert_eq!(types, expected);
        assert_eq!(customers.keys.primary, ["id"]);
        assert_eq!(read(&store, &opened.members[1]).await.unwrap().rows, 0);
        let lines = read(&store, &opened.members[2]).await.unwrap();
        assert!(lines.notes.is_empty(), "{:?}", lines.notes);
        let to_customers = Reference {
            columns: vec!["customer".to_owned()],
            table: "Customers".to_owned(),
            to: vec!["id".to_owned()],
        };
        let declared = DeclaredKeys {
            primary: vec!["a".to_owned(), "b".to_owned()],
            unique: vec![vec!["b".to_owned(), "price".to_owned()]],
            references: vec![to_customers],
        };
        assert_eq!(lines.keys, declared);
        assert_eq!(lines.to_stored().unwrap().read().unwrap(), lines);
        assert_eq!(lines.columns[3].data_type, DataType::Float);
        let rich = read(&store, &opened.members[3]).await.unwrap();
        assert_eq!(rich.sample.rows[0].values, [Some("ADA".to_owned())]);
    }
}

#[tokio::test]
async fn comments_of_definitions_are_kept() {
    let sql = "
        CREATE TABLE people ( -- who buys here
            id INTEGER PRIMARY KEY, -- customer's number
            /* customer's birth date */
            Born TEXT,
            note TEXT DEFAULT '-- none'
        );
        CREATE VIEW adults AS -- those of age
        SELECT id, -- their number
               upper(note) AS remark FROM people;
        CREATE TABLE plain (a, b); -- not of it";
    let (store, opened) = open("x.sqlite", database(sql)).await;
    let mut described = Vec::new();
    for member in &opened.unwrap().members {
        let summary = read(&store, member).await.unwrap();
        let columns = summary.columns.into_iter().map(|it| it.description);
        let said: Vec<String> = std::iter::once(summary.description)
            .chain(columns)
            .map(Option::unwrap_or_default)
            .collect();
        described.push(said.join("|"));
    }
    assert_eq!(
        described,
        [
            "those of age|their number|",
            "who buys here|customer's number|customer's birth date|",
            "||"
        ]
    );
}

/// Views, each of which reads the one before twice.
fn doubling(views: u32, what: &str) -> String {
    let view = |i| {
        let below = i - 1;
        format!("CREATE VIEW v{i} AS SELECT {what} FROM v{below} x, v{below} y;")
    };
    (1..views).map(view).collect()
}

#[tokio::test]
async fn views_of_views_are_refused_before_they_are_prepared() {
    let joins = doubling(60, "x.a");
    let sql = format!(
        "CREATE TABLE good (a); INSERT INTO good VALUES (1); CREATE VIEW v0 AS SELECT a FROM good; {joins}"
    );
    let (store, opened) = open("x.sqlite3", database(&sql)).await;
    let begun = std::time::Instant::now();
    for member in &opened.unwrap().members {
        let name = member.path.split_once("//").unwrap().1;
        let level: u32 = name
            .trim_start_matches(['v', 'g', 'o', 'd'])
            .parse()
            .unwrap_or(0);
        match read(&store, member).await {
            Ok(summary) => assert_eq!(summary.rows, 1, "{name}"),
            Err(error) => {
                assert!(level > 5, "{error}");
                assert_eq!(error.kind, FileErrorKind::Unsupported, "{error}");
                if level > 8 {
                    assert!(error.cause.contains("256 queries"), "{error}");
                }
            }
        }
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(20), "took {took:?}");
}

#[tokio::test]
async fn hostile_views_cost_themselves() {
    let sql = String::from(
        "CREATE TABLE good (a); INSERT INTO good VALUES (1);
         CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;
         CREATE VIEW rows AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;
         CREATE VIEW code AS SELECT load_extension('x') AS a;
         CREATE VIEW long AS SELECT zeroblob(1000000000) AS a;
         CREATE VIEW schema AS SELECT * FROM pragma_database_list;
         CREATE VIEW v0 AS SELECT a, count(*) AS n FROM good;",
    );
    let sql = sql + &doubling(40, "x.a, max(x.n) AS n");
    let (store, opened) = open("x.sqlite3", database(&sql)).await;
    let opened = opened.unwrap();
    for member in &opened.members {
        let name = member.path.split_once("//").unwrap().1;
        let deep = name.strip_prefix('v').and_then(|it| it.parse::<u32>().ok());
        match (name, deep) {
            ("good", _) => assert_eq!(read(&store, member).await.unwrap().rows, 1),
            ("rows", _) => assert!(!read(&store, member).await.unwrap().rows_exact),
            (_, None | Some(39)) => {
                let error = read(&store, member).await.unwrap_err();
                assert_eq!(error.kind, FileErrorKind::Unsupported, "{error}");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_is_no_database_is_reported_or_passed_over() {
    let (_, opened) = open("x.db", b"some other program's file".to_vec()).await;
    let opened = opened.unwrap();
    let kind = member::refusal(&opened.members[0]).unwrap().kind;
    assert_eq!((opened.total, kind), (1, FileErrorKind::NoTable));
    let (_, opened) = open("x.sqlite", b"some other program's file".to_vec()).await;
    assert_eq!(opened.unwrap_err().kind, FileErrorKind::NotItsFormat);
}

#[tokio::test]
async fn a_cut_off_database_is_a_file_to_copy_again() {
    let bytes = database("CREATE TABLE t (a INTEGER); CREATE TABLE u (b TEXT);");
    let (store, opened) = open("x.sqlite", bytes[..bytes.len() / 2].to_vec()).await;
    let mut errors = Vec::new();
    match opened {
        Err(error) => errors.push(error),
        Ok(opened) => {
            for member in &opened.members {
                errors.extend(read(&store, member).await.err());
            }
        }
    }
    assert!(!errors.is_empty());
    for error in errors {
        assert!(!error.remedy.contains("archive"), "{error}");
    }
}

#[tokio::test]
async fn damaged_pages_are_errors() {
    let rows: String = (0..500)
        .map(|i| format!("INSERT INTO t VALUES ({i}, 'text {i}');"))
        .collect();
    let bytes = database(&format!(
        "CREATE TABLE t (a INTEGER, b TEXT); BEGIN; {rows} COMMIT;"
    ));
    let mut failed = 0;
    for at in (0..bytes.len()).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let (store, opened) = open("x.sqlite", flipped).await;
        let no_panic = |error: &FileError| {
            assert_ne!(error.kind, FileErrorKind::Panicked, "{at}: {error}");
        };
        match opened {
            Err(error) => no_panic(&error),
            Ok(opened) => {
                for member in &opened.members {
                    if let Err(error) = read(&store, member).await {
                        no_panic(&error);
                        failed += 1;
                    }
                }
            }
        }
    }
    assert!(failed > 0);
    let (store, opened) = open("x.sqlite", bytes[..bytes.len() / 2].to_vec()).await;
    for member in opened.map(|it| it.members).unwrap_or_default() {
        assert!(read(&store, &member).await.is_err());
    }
}

#[tokio::test]
async fn a_database_is_fetched_once_for_all_its_tables() {
    let store = Store::in_memory();
    store.put("shop.db", database(SHOP).into()).await.unwrap();
    let container = ObjectRecord::from(store.head("shop.db").await.unwrap());
    let options = ReadOptions {
        containers: OpenContainers::keeping(1 << 20),
        ..ReadOptions::default()
    };
    let opened = open_container(&store, &container, NAMES, &options).await;
    let tables = opened.unwrap().members;
    let read = tables[..3]
        .iter()
        .map(|table| read_with(&store, table, &options));
    let read = futures::future::join_all(read).await;
    assert!(read.iter().all(Result::is_ok));
    // What it begins with, and all of it.
    assert_eq!(store.counts().get, 2);
    let small = ReadOptions {
        containers: OpenContainers::keeping(1 << 10),
        ..options
    };
    read_with(&store, &tables[0], &small).await.unwrap();
    assert_eq!(store.counts().get, 3, "none is kept that is too large");
}
