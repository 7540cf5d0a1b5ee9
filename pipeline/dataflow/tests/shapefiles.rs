//! A shapefile is one table of several files: a change of any of them is one of the table, and is
//! what a build anew would have. DuckDB databases are named in every run.

use crate::common;

use common::narrated::records;
use common::{Lab, seen, tar};

/// A dBase table of one column of numbers. All its bytes are ASCII's, so that archives of text can
/// have it.
fn dbf(rows: &[u32]) -> String {
    let head = format!(
        "\u{3}{}{}\0\0\0\u{41}\0\u{5}\0{}",
        "\u{1}".repeat(3),
        char::from(rows.len() as u8),
        "\0".repeat(20)
    );
    let field = format!("ID{}N\0\0\0\0\u{4}{}", "\0".repeat(9), "\0".repeat(15));
    let rows: String = rows.iter().map(|row| format!(" {row:4}")).collect();
    format!("{head}{field}\r{rows}")
}

/// As many points at (2, y), of which y is a power of two that is all ASCII.
fn shp(count: usize, y: &str) -> String {
    let head = format!("\0\0\u{27}\n{}", "\0".repeat(96));
    let point = format!(
        "\0\0\0\u{1}\0\0\0\n\u{1}\0\0\0{}\u{40}{}{y}",
        "\0".repeat(7),
        "\0".repeat(6)
    );
    head + &point.repeat(count)
}

/// `2` and `32`, but for their first six bytes, which are zero.
const TWO: &str = "\0\u{40}";
const MORE: &str = "\u{40}\u{40}";

/// The greatest y of a table, if it has shapes.
async fn top(lab: &Lab, table: &str) -> Option<String> {
    let records = records(lab).await;
    let table = records.into_values().find(|it| it.name == table).unwrap();
    let column = table.columns.iter().find(|it| it.name == "geometry.max_y");
    column.and_then(|it| it.max.clone())
}

/// The published tables are those of a build anew.
async fn is_as_anew(lab: &Lab) {
    let mut anew = Lab::new();
    anew.lake = lab.lake.clone();
    anew.run().await;
    let rows = async |lab: &Lab| -> Vec<String> {
        let records = records(lab).await.into_values();
        let shown = records.map(|it| format!("{} {:?} {:?}", it.name, it.rows, it.columns));
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown
    };
    assert_eq!(rows(lab).await, rows(&anew).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_shapes_alone_is_one_of_the_table() {
    let lab = Lab::new();
    lab.put("d/roads.dbf", &dbf(&[1, 2, 3])).await;
    lab.put("d/other.csv", "a\n1\n").await;
    let report = lab.run().await;
    assert_eq!(report.failures, []);
    lab.expect([("d/other", seen(1)), ("d/roads", seen(3))])
        .await;
    assert_eq!(top(&lab, "d/roads").await, None);
    for (path, content, expected) in [
        ("d/roads.shp", Some(shp(3, TWO)), Some("2.0")),
        ("d/roads.shp", Some(shp(3, MORE)), Some("32.0")),
        ("d/roads.cpg", Some("UTF-8".to_owned()), Some("32.0")),
        ("d/roads.shp", None, None),
        ("d/roads.cpg", None, None),
    ] {
        match content {
            Some(content) => lab.put(path, &content).await,
            None => lab.remove(path).await,
        }
        let report = lab.run().await;
        assert_eq!(
            (report.objects.read, report.failures.len()),
            (1, 0),
            "{path}"
        );
        assert_eq!(top(&lab, "d/roads").await.as_deref(), expected, "{path}");
        is_as_anew(&lab).await;
        let before = lab.lake.counts();
        lab.run_is_idle().await;
        let since = lab.lake.counts().since(&before);
        assert_eq!((since.get, since.head), (0, 0), "a listing is enough");
    }
    // Files of which nothing is read are no change, and none that is skipped.
    for path in [
        "d/roads.prj",
        "d/roads.shx",
        "d/roads.sbn",
        "d/roads.shp.xml",
    ] {
        lab.put(path, "x").await;
    }
    let report = lab.run().await;
    assert_eq!(
        (report.objects.read, report.objects.skipped.len()),
        (0, 0),
        "{report:?}"
    );
    // Without the table they are.
    lab.remove("d/roads.dbf").await;
    lab.put("d/roads.shp", "x").await;
    let skipped = lab.run().await.objects.skipped;
    let skipped: Vec<&str> = skipped.iter().map(|it| it.extension.as_str()).collect();
    assert_eq!(skipped.len(), 5, "{skipped:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shapefile_in_an_archive_is_known_without_opening_it() {
    let lab = Lab::new();
    let members = |y| {
        let (table, shapes) = (dbf(&[1, 2]), shp(2, y));
        tar(&[
            ("roads.dbf", &table),
            ("roads.shp", &shapes),
            ("roads.cpg", "UTF-8"),
            ("roads.prj", "x"),
            ("lone.shp", &shapes),
        ])
    };
    lab.put("x.tar", &members(TWO)).await;
    let report = lab.run().await;
    assert_eq!(report.failures, []);
    lab.expect([("x.tar//roads", seen(2))]).await;
    assert_eq!(top(&lab, "x.tar//roads").await.as_deref(), Some("2.0"));
    let is_known = async || {
        let before = lab.lake.counts();
        lab.run_is_idle().await;
        let since = lab.lake.counts().since(&before);
        assert_eq!((since.get, since.head), (0, 0), "a listing is enough");
    };
    is_known().await;
    lab.put("x.tar", &members(MORE)).await;
    lab.run().await;
    assert_eq!(top(&lab, "x.tar//roads").await.as_deref(), Some("32.0"));
    is_known().await;
    // Filters that leave out the table leave out its shapes.
    let mut lab = lab;
    for exclude in ["*.shp", "*.dbf"] {
        lab.options.filters = Some(limn_lake::Filters {
            exclude: vec![exclude.to_owned()],
            ..Default::default()
        });
        lab.run().await;
        let before = lab.lake.counts();
        lab.run_is_idle().await;
        let since = lab.lake.counts().since(&before);
        assert_eq!((since.get, since.head), (0, 0), "{exclude}");
    }
    lab.expect([]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duckdb_databases_are_named_in_every_run() {
    let lab = Lab::new();
    let database = format!("{}DUCK\u{40}{}", "\u{1}".repeat(8), "\0".repeat(40));
    lab.put("t.csv", "a\n1\n").await;
    let note = |report: &limn_pipeline::Report| {
        let notes = report.notes.iter().filter(|it| it.contains("DuckDB"));
        notes.cloned().collect::<Vec<_>>()
    };
    assert_eq!(note(&lab.run().await), [""; 0]);
    lab.put("b/shop.duckdb", &database).await;
    let remedy =
        "in DuckDB, EXPORT DATABASE 'folder' (FORMAT parquet) writes the tables as files that are";
    let one = format!("1 DuckDB database is not read: b/shop.duckdb; {remedy}");
    for _ in 0..2 {
        let report = lab.run().await;
        assert_eq!(
            (note(&report), report.failures.len()),
            (vec![one.clone()], 0)
        );
    }
    // Others by their content, which is looked at once.
    lab.put("a.db", &database).await;
    lab.put("c/d.DDB", &database).await;
    lab.put("e.duckdb", "x").await;
    lab.put("f.db", "another program's").await;
    let four =
        format!("4 DuckDB databases are not read: a.db, b/shop.duckdb, c/d.DDB, …; {remedy}");
    for _ in 0..2 {
        let report = lab.run().await;
        assert_eq!(
            (note(&report), report.failures.len()),
            (vec![four.clone()], 0)
        );
    }
    let before = lab.lake.counts();
    lab.run_is_idle().await;
    assert_eq!(lab.lake.counts().since(&before).get, 0);
    // One with the name of another program's is a failure.
    lab.put("g.sqlite", &database).await;
    let report = lab.run().await;
    assert!(
        report.failures[0].error.contains("EXPORT DATABASE"),
        "{report:?}"
    );
}
