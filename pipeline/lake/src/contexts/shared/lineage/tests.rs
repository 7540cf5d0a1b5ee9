//! Events are as the OpenLineage integrations of Spark and dbt write them, with fewer facets.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use serde_json::{Value, json};

use super::super::{About, SharedKind, SharedText};

const SCHEMA: &str = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent";

fn shared(path: &str, text: &str) -> SharedText {
    let kind = SharedKind::of_path(path).unwrap();
    SharedText::of(path, kind, text.to_owned()).unwrap()
}

fn part(shared: &SharedText, table: &str) -> String {
    let about = About {
        paths: vec![table.to_owned()],
        ..About::default()
    };
    shared.part(&about).text
}

fn event(kind: &str, facets: &Value) -> Value {
    json!({
        "eventType": kind,
        "eventTime": "2024-05-01T10:53:00.000Z",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.9.1/integration/spark",
        "schemaURL": SCHEMA,
        "run": {"runId": "0176a8c2-fe01-7439-87e6-56a1a1b4029f", "facets": {"spark.logicalPlan": {"plan": ["x", {"y": []}]}}},
        "job": {"namespace": "shop", "name": "daily_orders",
            "facets": {"documentation": {"description": "Makes the orders of a day."}, "sql": {"query": "select"}}},
        "inputs": [
            {"namespace": "postgres://db:5432", "name": "shop.public.sales"},
            {"namespace": "s3://bucket", "name": "lake/raw/visits.parquet", "facets": {}}],
        "outputs": [{"namespace": "s3://bucket", "name": "lake/marts/orders", "facets": facets}],
    })
}

fn facets() -> Value {
    json!({
        "documentation": {"description": "What was sold\nin a day."},
        "schema": {"fields": [
            {"name": "id", "type": "bigint", "description": "The number"},
            {"name": "day", "type": "date"},
            {"name": "total", "type": "double"}]},
        "columnLineage": {"fields": {"total": {"inputFields": [
            {"namespace": "postgres://db:5432", "name": "shop.public.sales", "field": "amount", "transformations": []}]}}},
        "symlinks": {"identifiers": [{"namespace": "hive://metastore", "name": "web.daily_orders", "type": "TABLE"}]},
    })
}

#[test]
fn datasets_are_described_by_what_all_events_say() {
    let events = [
        event("START", &json!({})),
        event("COMPLETE", &facets()),
        json!({"eventTime": "2024-05-01T11:00:00Z", "schemaURL": SCHEMA, "producer": "x",
            "dataset": {"namespace": "s3://bucket", "name": "lake/raw/visits.parquet",
                "facets": {"documentation": {"description": "Who looked"}}}}),
    ];
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    let expected = "What was sold in a day.\n\
         Made of: sales, visits.\n\
         Written by: daily_orders (Makes the orders of a day.).\n\
         | column | type | description |\n|---|---|---|\n\
         | id | bigint | The number |\n| total | double | Made of sales.amount. |";
    for (path, text) in [
        ("openlineage.jsonl", lines.join("\n")),
        ("lineage/openlineage-2024.ndjson", lines.join("\n")),
        ("a.openlineage.json", json!(events).to_string()),
        (
            "openlineage.json",
            serde_json::to_string_pretty(&events[1]).unwrap(),
        ),
    ] {
        let shared = shared(path, &text);
        assert_eq!(part(&shared, "marts/orders"), expected, "{path}");
        assert_eq!(part(&shared, "web/daily_orders.csv"), expected, "{path}");
        assert_eq!(part(&shared, "other/orders.csv"), "", "{path}");
        let sales = part(&shared, "public/sales.csv");
        assert_eq!(sales, "Read by: daily_orders.", "{path}");
    }
    let visits = shared("openlineage.jsonl", &lines.join("\n"));
    assert_eq!(
        part(&visits, "raw/visits.parquet"),
        "Who looked\nRead by: daily_orders."
    );
}

#[test]
fn what_is_no_event_says_nothing_and_what_is_broken_is_reported() {
    for text in ["", "{}", "{\"eventTime\": 1, \"a\": 2}\n{}", "[1, 2]"] {
        assert_eq!(part(&shared("openlineage.jsonl", text), "orders.csv"), "");
    }
    let odd = json!({"eventTime": 5, "producer": [], "job": 7, "inputs": {"name": [7]}, "outputs": [[], 1, {"name": "a", "facets": [1]}]});
    assert_eq!(
        part(&shared("openlineage.jsonl", &odd.to_string()), "a.csv"),
        ""
    );
    let cut = event("COMPLETE", &facets()).to_string();
    let error = SharedText::of(
        "openlineage.jsonl",
        SharedKind::OpenLineage,
        cut[..cut.len() - 9].to_owned(),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("not JSON") && error.lines().count() == 1,
        "{error}"
    );
}
