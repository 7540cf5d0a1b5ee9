//! JSON whose rows are in a list: by itself, in a wrapper, as GeoJSON.

use std::sync::Arc;

use limn_profile::DeclaredReading;

use super::*;
use crate::declaration::Declaration;

/// The schema, the rows of the sample and the notes of a file.
fn shown(path: &str, content: &str) -> (String, Vec<String>, Vec<String>) {
    let summary = read(path, content.to_owned());
    assert!(summary.rows_exact && !summary.approximate);
    (schema(&summary), sample(&summary), summary.notes)
}

fn taken_from(path: &str) -> String {
    format!("its rows are the objects of the list {path}; what else the file holds is not read")
}

#[test]
fn a_wrapper_is_the_table_of_its_list() {
    let (columns, rows, notes) = shown(
        "x.json",
        "{\n \"meta\": {\"count\": 2, \"pages\": [1]},\n \"data\": [\n  {\"id\": 1, \"at\": {\"city\": \"Bern\"}},\n  {\"id\": 2.5, \"tags\": [\"a\"]}\n ]\n}\n",
    );
    assert_eq!(columns, "id:float at.city:text tags[]:text");
    assert_eq!(rows, ["1|Bern|-", r#"2.5|-|["a"]"#]);
    assert_eq!(notes, [taken_from("data")]);
    let (columns, rows, notes) = shown(
        "x.json",
        r#"{"response": {"items": [{"a": 1}, {"a": NaN}, 5], "n": 3}, "ok": true}"#,
    );
    assert_eq!(
        (columns.as_str(), rows),
        ("a:integer", vec!["1".into(), "-".into()])
    );
    assert_eq!(
        notes,
        [
            "1 line left out without a JSON object: element 3: it is no object".to_owned(),
            taken_from("response.items")
        ]
    );
}

#[test]
fn what_is_no_wrapper_stays_one_row() {
    for (path, content, columns) in [
        (
            "x.json",
            r#"{"id": 1, "a": [{"x": 1}], "b": [{"x": 2}]}"#,
            "id:integer a[].x:integer b[].x:integer",
        ),
        (
            "x.json",
            r#"{"name": "x", "tags": []}"#,
            "name:text tags[]:unknown",
        ),
        (
            "x.json",
            r#"{"a": {"b": {"c": [{"x": 1}]}}}"#,
            "a.b.c[].x:integer",
        ),
        // An object a line.
        (
            "x.jsonl",
            r#"{"id": 1, "items": [{"sku": "x"}, {"sku": "y"}]}"#,
            "id:integer items[].sku:text",
        ),
    ] {
        let summary = read(path, content.to_owned());
        assert_eq!(
            (summary.rows, schema(&summary).as_str()),
            (1, columns),
            "{content}"
        );
    }
    let two = read("x.json", "{\"a\": [{\"x\": 1}]}\n{\"a\": [{\"x\": 2}]}\n");
    assert_eq!((two.rows, schema(&two).as_str()), (2, "a[].x:integer"));
}

#[test]
fn a_wrapper_of_nothing_has_no_rows_as_an_empty_list_has_none() {
    for content in [
        "[]",
        "{\"data\": []}",
        "{\"type\": \"FeatureCollection\", \"features\": []}",
    ] {
        let error = failure("x.json", content);
        assert_eq!(
            (error.kind, error.cause.as_str()),
            (
                FileErrorKind::NoTable,
                "its list is empty: it holds no rows"
            ),
            "{content}"
        );
    }
}

#[test]
fn broken_lists_are_errors_and_broken_elements_are_left_out() {
    for (content, cause) in [
        ("[{\"a\": 1}, {\"a\": 2}", "its end is missing"),
        ("[{\"a\": 1} {\"a\": 2}]", "at byte 9"),
        ("[{\"a\": 1}] x", "more follows at byte 10"),
        ("[1]\n[2]\n", "its lines are arrays"),
    ] {
        let error = failure("x.json", content);
        assert!(error.cause.contains(cause), "{error}");
    }
    let summary = read("x.json", "[{\"a\": 1}, {\"a\": tru}, {\"a\": 2}]");
    assert_eq!(summary.rows, 2);
    // As deep as can be, and a great many lists.
    let deep = format!(
        "{{\"data\": [{{\"a\": 1}}, {{\"a\": {}{}}}, {{\"a\": 3}}]}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(read("x.json", deep).rows, 2);
    let many: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\": [{{}}]")).collect();
    let error = failure("x.json", format!("{{{}}}", many.join(",")));
    assert!(error.cause.contains("keys"), "{error}");
}

#[test]
fn of_a_long_list_the_beginning_is_read() {
    let rows: Vec<String> = (0..150_000)
        .map(|n| format!("{{\"id\":{n},\"name\":\"name {}\"}}", n % 10))
        .collect();
    for (content, note) in [
        (format!("[{}]", rows.join(",")), None),
        (
            format!(
                "{{\"n\": 1, \"data\": [{}], \"end\": true}}",
                rows.join(",\n")
            ),
            Some(taken_from("data")),
        ),
    ] {
        let (size, (summary, counts)) = (
            content.len() as u64,
            read_with("x.json", content, &budget(64 << 10)),
        );
        let summary = summary.unwrap();
        assert!(size > 4 << 20 && counts.bytes_read <= (1 << 20) + (64 << 10));
        assert!(summary.approximate && !summary.rows_exact);
        assert!(summary.rows.abs_diff(150_000) < 5_000, "{}", summary.rows);
        assert_eq!(schema(&summary), "id:integer name:text");
        assert_eq!(
            summary.notes.iter().find(|it| it.contains("its rows are")),
            note.as_ref()
        );
    }
    // An element that is longer than what is read.
    let long = format!("{{\"data\": [{{\"a\": \"{}\"}}]}}", "x".repeat(3 << 20));
    let error = read_with("x.json", long, &budget(64 << 10)).0.unwrap_err();
    assert!(error.cause.contains("longer than"), "{error}");
}

const COLLECTION: &str = r#"{"type": "FeatureCollection", "name": "places",
 "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
 "features": [
 {"type": "Feature", "id": 7, "bbox": [0, 0, 1, 1], "properties": {"name": "Bern", "at": {"zip": "3000"}}, "geometry": {"type": "Point", "coordinates": [7.45, 46.95, 540.0]}},
 {"type": "Feature", "properties": {"name": "Lake", "id": "own"}, "geometry": {"type": "Polygon", "coordinates": [[[1, 2], [5, -2.5], [3, 9], [1, 2]], [[2, 2], [2, 3], [3, 3], [2, 2]]]}},
 {"type": "Feature", "id": 9, "properties": null, "geometry": null},
 {"geometry": {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [-1, 1]}, {"type": "LineString", "coordinates": [[0, 0], [2, 1]]}]}, "type": "Feature", "properties": {"name": "Both"}, "title": "foreign"}
 ]}"#;

#[test]
fn a_feature_is_a_row_of_its_properties_and_of_what_its_geometry_spans() {
    for path in ["places.geojson", "places.json"] {
        let (columns, rows, notes) = shown(path, COLLECTION);
        assert_eq!(
            columns,
            "name:text at.zip:text id:text geometry.type:text geometry.min_x:float geometry.min_y:float geometry.max_x:float geometry.max_y:float title:text"
        );
        assert_eq!(
            rows,
            [
                "Bern|3000|7|Point|7.45|46.95|7.45|46.95|-",
                "Lake|-|own|Polygon|1.0|-2.5|5.0|9.0|-",
                "-|-|9|-|-|-|-|-|-",
                "Both|-|-|GeometryCollection|-1.0|0.0|2.0|1.0|foreign"
            ]
        );
        assert_eq!(notes, [taken_from("features")]);
    }
}

#[test]
fn features_stand_in_lines_too() {
    let line = |n: u32, end: &str| {
        format!(
            "{{\"type\":\"Feature\",\"properties\":{{\"n\":{n}}},\"geometry\":{{\"type\":\"Point\",\"coordinates\":[{n},0.5]}}}}{end}"
        )
    };
    let columns = "n:integer geometry.type:text geometry.min_x:float geometry.min_y:float geometry.max_x:float geometry.max_y:float";
    let lines = line(1, "\n") + &line(2, "\n");
    let sequence = format!("\u{1e}{}\u{1e}{}", line(1, "\n"), line(2, "\n"));
    for (path, content) in [
        ("x.geojsonl", lines.clone()),
        ("x.jsonl", lines),
        ("x.geojsons", sequence),
        ("x.json", format!("[{},{}]", line(1, ""), line(2, ""))),
    ] {
        let (found, rows, _) = shown(path, &content);
        assert_eq!(found, columns, "{path}");
        assert_eq!(
            rows,
            ["1|Point|1.0|0.5|1.0|0.5", "2|Point|2.0|0.5|2.0|0.5"],
            "{path}"
        );
    }
    // One alone is a row, and an object that is none has its own keys.
    let (found, rows, _) = shown("x.geojson", &line(1, ""));
    assert_eq!((found.as_str(), rows.len()), (columns, 1));
    let other = read("x.geojsonl", line(1, "\n") + "{\"m\": 2}\n");
    assert_eq!(sample(&other)[1], "-|-|-|-|-|-|2");
}

#[test]
fn odd_features_cost_themselves() {
    let feature = |properties: &str, geometry: &str| {
        format!("{{\"type\":\"Feature\",\"properties\":{properties},\"geometry\":{geometry}}}")
    };
    let deep = format!("{}1,2{}", "[".repeat(10_000), "]".repeat(10_000));
    let features = [
        feature("{\"n\":1}", "{\"type\":\"Point\",\"coordinates\":[1,2]}"),
        feature(
            "{\"n\":2}",
            &format!("{{\"type\":\"Polygon\",\"coordinates\":{deep}}}"),
        ),
        feature("{\"n\":3}", "{\"type\":\"Point\",\"coordinates\":[]}"),
        feature(
            "{\"n\":4}",
            "{\"type\":\"Point\",\"coordinates\":[\"a\",null]}",
        ),
        feature("{\"n\":5}", "{\"type\":\"Blob\",\"coordinates\":[1,2]}"),
        feature("{\"n\":6}", "{\"coordinates\":[1,2]}"),
        feature(
            "{\"n\":7,\"geometry\":{\"type\":\"mine\",\"srid\":4326}}",
            "{\"type\":\"Point\",\"coordinates\":[3,NaN]}",
        ),
        feature("{\"n\":8,\"geometry\":\"mine\"}", "null"),
        feature("{\"n\":9}", "\"POINT (1 2)\""),
        feature("{\"n\":10}", "[1, 2]"),
        "5".to_owned(),
        "[1]".to_owned(),
        feature("3", "null"),
    ];
    let content = format!(
        "{{\"type\":\"FeatureCollection\",\"features\":[{}]}}",
        features.join(",")
    );
    let summary = read_with(
        "x.geojson",
        content,
        &ReadOptions {
            sample_rows: 20,
            ..ReadOptions::default()
        },
    )
    .0
    .unwrap();
    let rows = sample(&summary);
    assert_eq!(
        schema(&summary),
        "n:integer geometry:text geometry.type:text geometry.min_x:float geometry.min_y:float geometry.max_x:float geometry.max_y:float geometry.srid:integer"
    );
    assert_eq!(
        rows,
        [
            "1|-|Point|1.0|2.0|1.0|2.0|-",
            "3|-|Point|-|-|-|-|-",
            "4|-|Point|-|-|-|-|-",
            "5|-|-|-|-|-|-|-",
            "6|-|-|-|-|-|-|-",
            "7|-|Point|-|-|-|-|4326",
            "8|mine|-|-|-|-|-|-",
            "9|-|-|-|-|-|-|-",
            "10|-|-|-|-|-|-|-"
        ]
    );
    assert!(
        summary.notes[0]
            .starts_with("4 lines left out without a JSON object: element 2: recursion limit"),
        "{:?}",
        summary.notes
    );
}

mod any_bytes {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever bytes of a collection become, there is a summary or one line.
        #[test]
        fn changed_bytes_end_in_a_summary_or_a_line(
            changes in proptest::collection::vec((0usize..2000, prop_oneof![any::<u8>(), Just(b'['), Just(b'}'), Just(b'"')]), 1..6),
            cut in 0usize..4000,
        ) {
            let mut text = COLLECTION.as_bytes().to_vec();
            for (at, byte) in changes {
                let length = text.len();
                text[at % length] = byte;
            }
            text.truncate(cut);
            for scan_budget in [1 << 20, 64] {
                match read_with("x.geojson", text.clone(), &budget(scan_budget)).0 {
                    Ok(summary) => {
                        for row in &summary.sample.rows {
                            prop_assert_eq!(row.values.len(), summary.columns.len());
                        }
                    }
                    Err(error) => {
                        prop_assert!(error.kind != FileErrorKind::Panicked, "{}", error);
                        prop_assert!(!error.to_string().contains('\n'));
                    }
                }
            }
        }
    }
}

#[test]
fn a_document_is_a_table_where_it_is_declared_how_it_is_read() {
    let settings = r#"{"compilerOptions": {"strict": true}, "id": "none"}"#;
    assert_eq!(failure("x.json", settings).kind, FileErrorKind::NoTable);
    let declared = Declaration {
        reading: DeclaredReading {
            nulls: Some(vec!["none".into()]),
            ..DeclaredReading::default()
        },
        ..Declaration::default()
    };
    let file = DataFile {
        declared: Some(Arc::new(declared)),
        ..data_file("x.json", settings.len())
    };
    let store = Store::in_memory();
    let read = async {
        store.put("x.json", settings.into()).await.unwrap();
        summarise_file(&store, &file, &ReadOptions::default()).await
    };
    assert_eq!(
        tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(read)
            .unwrap()
            .rows,
        1
    );
}

#[test]
fn lists_of_cells_are_rows_where_their_columns_have_names() {
    let expected = ["1|Bern|-", "2|-|true"].map(str::to_owned);
    for (text, path) in [
        (
            r#"[["id", "city", "on"], [1, "Bern"], [2, null, true]]"#,
            None,
        ),
        (
            r#"{"columns": ["id", "city", "on"], "index": [0, 1], "data": [[1, "Bern", null], [2, null, true]]}"#,
            Some("data"),
        ),
        (
            r#"{"data": [[1, "Bern", null], [2, null, true]], "meta": {"view": {"columns": [{"name": "id"}, {"name": "city"}, {"name": "on"}]}}}"#,
            Some("data"),
        ),
        (
            r#"{"result": {"fields": [{"name": "id", "type": "int"}, {"name": "city"}, {"name": "on"}], "rows": [[1, "Bern", null], [2, null, true]]}}"#,
            Some("result.rows"),
        ),
        (
            r#"{"range": "A1:C3", "values": [["id", "city", "on"], [1, "Bern"], [2, null, true]]}"#,
            Some("values"),
        ),
    ] {
        let (columns, mut rows, notes) = shown("x.json", text);
        rows.sort();
        assert_eq!(columns, "id:integer city:text on:boolean", "{text}");
        assert_eq!(rows, expected, "{text}");
        assert_eq!(notes, path.map(taken_from).into_iter().collect::<Vec<_>>());
    }
    // A row of too many cells is left out; of lists without names none is a row.
    let long = read("x.json", r#"[["a", "b"], [1, 2], [3, 4, 5], [6, 7]]"#);
    assert_eq!(long.rows, 2);
    for text in [
        "[[1, 2], [3, 4]]",
        r#"[["a", "a"], [1, 2]]"#,
        r#"[["a", "b"]]"#,
    ] {
        assert_eq!(failure("x.json", text).kind, FileErrorKind::NotItsFormat);
    }
}

#[test]
fn objects_by_their_keys_are_rows() {
    let person = |id: u32| format!(r#""P{id}": {{"age": {id}, "ward": "x"}}"#);
    let people = |count| (0..count).map(person).collect::<Vec<_>>().join(", ");
    let summary = read("x.json", format!("{{{}}}", people(12)));
    assert_eq!(schema(&summary), "key:text age:integer ward:text");
    assert_eq!(summary.rows, 12);
    // A few are settings, as are unlike ones.
    assert_eq!(read("x.json", format!("{{{}}}", people(9))).rows, 1);
    let unlike = format!(r#"{{{}, "other": {{"rate": 5}}}}"#, people(12));
    assert_eq!(read("x.json", unlike).rows, 1);
}
