//! Files that were overlooked or misread once: JSON in wrappers, GeoJSON, shapefiles, DuckDB
//! databases. Each is indexed, asked in SQL and explained, or named with what to do.

use std::fs;
use std::io::{Cursor, Write};

use limn_tests::{lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const ORDERS: &str = "{\n \"page\": {\"number\": 1},\n \"orders\": [\n  {\"id\": 1, \"paid\": true},\n  {\"id\": 2, \"paid\": null}\n ]\n}\n";
const PEAKS: &str = r#"{"type": "FeatureCollection", "features": [
 {"type": "Feature", "properties": {"name": "Rigi"}, "geometry": {"type": "Point", "coordinates": [8.5, 47.25]}},
 {"type": "Feature", "properties": {"name": "Nowhere"}, "geometry": null}]}"#;

fn data(name: &str) -> Vec<u8> {
    let data = limn_tests::repository().join("pipeline/formats/tests/data");
    fs::read(data.join(name)).unwrap()
}

#[test]
fn files_that_vanished_are_tables_with_rows_or_named() {
    let folder = TempDir::new().unwrap();
    let (root, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake::write(&root, "api/orders.json", ORDERS);
    lake::write(&root, "maps/peaks.geojson", PEAKS);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in [
        "places.dbf",
        "places.shp",
        "places.shx",
        "places.prj",
        "places.cpg",
    ] {
        fs::write(root.join("maps").join(name), data(name)).unwrap();
        archive
            .start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(&data(name)).unwrap();
    }
    fs::write(
        root.join("maps/shipped.zip"),
        archive.finish().unwrap().into_inner(),
    )
    .unwrap();
    for name in ["shop.duckdb", "other.db"] {
        fs::write(root.join(name), b"\x01\x01\x01\x01\x01\x01\x01\x01DUCK\x40").unwrap();
    }
    let run = limn(&["index", text(&root), "--index", text(&index), "--json"]);
    let report = run.ok();
    assert_eq!(report["failures"], json!([]));
    let note = "2 DuckDB databases are not read: other.db, shop.duckdb; in DuckDB, EXPORT DATABASE 'folder' (FORMAT parquet) writes the tables as files that are";
    let notes = report["notes"].as_array().unwrap();
    assert!(notes.contains(&json!(note)), "{notes:?}");
    let again = limn(&["index", text(&root), "--index", text(&index)]);
    again.code_is(0);
    assert!(
        format!("{}{}", again.stdout, again.stderr).contains(note),
        "{again:?}"
    );

    let sql = |statement: &str| -> Value {
        limn(&["sql", statement, "--index", text(&index), "--json"]).ok()["rows"].clone()
    };
    assert_eq!(
        sql("SELECT id, paid FROM \"api/orders\" ORDER BY id"),
        json!([[1, true], [2, null]])
    );
    assert_eq!(
        sql(
            "SELECT name, \"geometry.type\", \"geometry.min_x\", \"geometry.max_y\" FROM \"maps/peaks\" ORDER BY name"
        ),
        json!([["Nowhere", null, null, null], ["Rigi", "Point", 8.5, 47.25]])
    );
    for table in ["maps/places", "maps/shipped.zip//places"] {
        assert_eq!(
            sql(&format!(
                "SELECT \"NAME\", \"PEOPLE\", \"geometry.type\", \"geometry.max_x\" FROM \"{table}\" WHERE \"PEOPLE\" > 200000"
            )),
            json!([["Zürich", 421_878, "Point", 8.54]]),
            "{table}"
        );
    }
    let why = |table: &str| {
        let run = limn(&["show", table, "--why", "--index", text(&index)]);
        run.code_is(0);
        run.stdout
    };
    assert!(
        why("api/orders").contains("its rows are the objects of the list orders;"),
        "{}",
        why("api/orders")
    );
    let places = why("maps/places");
    assert!(
        places.contains(
            "dbf, encoding of the .cpg file beside it, geometry of the .shp file beside it"
        ),
        "{places}"
    );
    assert!(!places.contains("people declare"), "{places}");
}
