//! JSON in lists: the rows are those that were described, of short files and of long ones.

use super::*;

fn budget(scan_budget: u64) -> ReadOptions {
    ReadOptions {
        scan_budget,
        ..ReadOptions::default()
    }
}

#[tokio::test]
async fn rows_of_wrappers_and_features_are_those_of_their_lists() {
    let wrapper = br#"{"meta": {"n": 2}, "data": [{"id": 1, "at": "2024-01-31"}, {"id": 2, "tags": ["x", "y"]}]}"#;
    let table_of_list = table(&[("w.json", wrapper.to_vec())]).await;
    assert_eq!(types(&table_of_list)[..2], ["id Int64", "at Date32"]);
    assert_eq!(all(&table_of_list).await, ["1|2024-01-31|-", "2|-|[x, y]"]);
    let features = br#"{"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": 7, "properties": {"name": "Bern"}, "geometry": {"type": "Point", "coordinates": [7.5, 47]}},
        {"type": "Feature", "properties": null, "geometry": null}]}"#;
    for path in ["f.geojson", "f.json"] {
        let table = table(&[(path, features.to_vec())]).await;
        assert_eq!(
            types(&table),
            [
                "name Utf8View",
                "id Int64",
                "geometry.type Utf8View",
                "geometry.min_x Float64",
                "geometry.min_y Float64",
                "geometry.max_x Float64",
                "geometry.max_y Float64"
            ]
        );
        assert_eq!(
            all(&table).await,
            ["Bern|7|Point|7.5|47.0|7.5|47.0", "-|-|-|-|-|-|-"]
        );
    }
}

#[tokio::test]
async fn rows_of_cells_and_of_keyed_objects_have_their_columns() {
    let split = br#"{"columns": ["id", "at"], "data": [[1, "2024-01-31"], [2, null]]}"#;
    let headed = br#"[["id", "at"], [1, "2024-01-31"], [2]]"#;
    for text in [split.as_slice(), headed] {
        let table = table(&[("x.json", text.to_vec())]).await;
        assert_eq!(types(&table), ["id Int64", "at Date32"]);
        assert_eq!(all(&table).await, ["1|2024-01-31", "2|-"]);
    }
    let keyed = (0..12).map(|id| format!("\"P{id:02}\": {{\"age\": {id}}}"));
    let keyed = format!("{{{}}}", keyed.collect::<Vec<_>>().join(","));
    let table = table(&[("k.json", keyed.into_bytes())]).await;
    assert_eq!(types(&table), ["key Utf8View", "age Int64"]);
    assert_eq!(all(&table).await[11], "P11|11");
}

/// Of long files the beginning is described, and all rows are read.
#[tokio::test]
async fn rows_of_long_lists_are_all_read() {
    let rows = 60_000;
    let text = |n: usize| format!("{n:080}");
    let objects: Vec<String> = (0..rows)
        .map(|n| format!("{{\"id\": {n}, \"text\": \"{}\"}}", text(n)))
        .collect();
    let features: Vec<String> = (0..rows)
        .map(|n| format!("{{ \"type\": \"Feature\", \"properties\": {{ \"id\": {n} }}, \"geometry\": {{ \"type\": \"Point\", \"coordinates\": [ {n}.5, 1 ] }} }}"))
        .collect();
    let wrapped = format!(
        "{{\"page\": 1, \"result\": {{\"rows\": [\n{}\n]}}, \"next\": [{{\"a\": 1}}]}}",
        objects.join(",\n")
    );
    let cells: Vec<String> = (0..rows)
        .map(|n| format!("[{n}, \"{}\"]", text(n)))
        .collect();
    let cells = format!("[[\"id\", \"text\"], {}]", cells.join(","));
    let packed = gzip(wrapped.as_bytes());
    let archive = readers::zip("in.json", wrapped.as_bytes());
    for (path, content) in [
        ("a.json", format!("[{}]", objects.join(",")).into_bytes()),
        ("b.json", wrapped.into_bytes()),
        ("b.json.gz", packed),
        ("b.zip", archive),
        (
            "c.geojson",
            format!(
                "{{\"type\": \"FeatureCollection\",\n\"features\": [\n{}\n]\n}}\n",
                features.join(",\n")
            )
            .into_bytes(),
        ),
        ("e.json", cells.into_bytes()),
        ("d.geojsonl", features.join("\n").into_bytes()),
    ] {
        let table = table_with(&[(path, content)], &budget(64 << 10)).await;
        assert!(table.0.files[0].1.approximate, "{path}");
        let request = Request {
            columns: Some(vec![0]),
            ..Request::default()
        };
        let (found, report) = batches(&table, request).await;
        let ids = shown(&found);
        assert_eq!((ids.len(), report.damaged()), (rows, Vec::new()), "{path}");
        assert!((0..rows).all(|n| ids[n] == n.to_string()), "{path}");
    }
}

/// A list that breaks off beyond what was described gives the rows before, and says so.
#[tokio::test]
async fn a_long_list_that_breaks_off_gives_the_rows_before() {
    let objects: Vec<String> = (0..60_000)
        .map(|n| format!("{{\"id\": {n}, \"text\": \"{n:080}\"}}"))
        .collect();
    let content = format!("[{}", objects.join(","));
    let table = table_with(&[("a.json", content.into_bytes())], &budget(64 << 10)).await;
    let (found, report) = batches(&table, Request::default()).await;
    assert_eq!(shown(&found).len(), 60_000);
    let damaged = report.damaged();
    assert!(damaged[0].contains("breaks off"), "{damaged:?}");
}
