//! Artifacts in `fixtures/` are of dbt-core 1.9.11 with dbt-duckdb 1.9, written by `dbt build` and
//! `dbt docs generate` over a small project of two seeds, two views, two tables, an external model
//! and a source; members without a value, and all but one macro, were taken out.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{About, SharedKind, SharedText};
use crate::contexts::column_descriptions;

const MANIFEST: &str = include_str!("../fixtures/manifest.json");
const CATALOG: &str = include_str!("../fixtures/catalog.json");
const RUN_RESULTS: &str = include_str!("../fixtures/run_results.json");

fn shared(path: &str, text: &str) -> SharedText {
    let kind = SharedKind::of_path(path).unwrap();
    SharedText::of(path, kind, text.to_owned()).unwrap()
}

fn part(shared: &SharedText, table: &str) -> String {
    let about = About {
        paths: vec![table.to_owned()],
        ..About::default()
    };
    let part = shared.part(&about);
    assert!(!part.of_folder);
    part.text
}

#[test]
fn a_manifest_says_what_its_nodes_tests_and_exposures_do() {
    let manifest = shared("dbt/target/manifest.json", MANIFEST);
    let orders = part(&manifest, "lake/marts/orders.parquet");
    assert_eq!(
        orders,
        "What was sold, one row an order; refunds stay in it.\n\
         Made of: customers, stg_orders.\n\
         Used for: exported.\n\
         Used in the dashboard Weekly KPIs: What leaders look at on Mondays.\n\
         Primary key: order_id.\n\
         | column | type | description |\n|---|---|---|\n\
         | order_id | integer | The number that the till gives. Never empty. Unique. |\n\
         | customer_id | integer | Who bought. Refers to customers.customer_id. |\n\
         | status | varchar | One of: placed, shipped, returned. |\n\
         | amount | double | In euros, with tax. |"
    );
    let columns = ["status", "customer_id", "name"];
    assert_eq!(
        column_descriptions(&[&orders], &columns),
        [
            Some("One of: placed, shipped, returned.".to_owned()),
            Some("Who bought. Refers to customers.customer_id.".to_owned()),
            None
        ]
    );
    // The schema as the database has it, and as the project does.
    assert_eq!(part(&manifest, "main_marts/orders"), orders);
    let seed = part(&manifest, "raw/raw_orders.csv");
    assert_eq!(seed, "Orders as the till has them.\nUsed for: stg_orders.");
    // By its place: its name there is another one.
    let exported = part(&manifest, "exports/order_export.parquet");
    assert_eq!(exported, "Orders as partners get them.\nMade of: orders.");
    let visits = "What other systems drop.\nWho looked at the page.\n| column | description |\n|---|---|\n| at | When it was. |";
    assert_eq!(part(&manifest, "landing/visits.parquet"), visits);
    assert_eq!(part(&manifest, "landing/web_visits.csv"), visits);
    for other in [
        "raw/orders.csv",
        "exports/orders.csv.d/x",
        "status.csv",
        "ada",
    ] {
        let found = part(&manifest, other);
        assert_eq!(found, "", "{other}");
    }
    assert!(MANIFEST.contains("ada@example.com") && !orders.contains("ada@"));
}

#[test]
fn what_is_sent_of_a_manifest_says_the_same_of_its_tables() {
    let manifest = shared("dbt/target/manifest.json", MANIFEST);
    let tables = [
        "marts/orders.parquet",
        "marts/orders",
        "raw/raw_orders.csv",
        "none.csv",
    ];
    let few = manifest.of_tables(tables.into_iter());
    for table in tables {
        assert_eq!(part(&few, table), part(&manifest, table), "{table}");
    }
    assert_eq!(part(&few, "marts/customers.csv"), "");
    assert!(few.held() < manifest.held() / 2);
}

#[test]
fn a_catalog_has_comments_and_other_artifacts_say_nothing() {
    let catalog = shared("target/catalog.json", CATALOG);
    let orders = part(&catalog, "marts.duckdb/main_marts/orders");
    assert!(
        orders.starts_with("What was sold, one row an order; refunds stay in it.\n| column | type"),
        "{orders}"
    );
    assert!(orders.contains("| amount | DOUBLE | In euros, with tax. |"));
    assert!(!orders.contains("status"));
    // Nothing is said of it.
    assert_eq!(part(&catalog, "main_raw/raw_customers.csv"), "");
    for other in [
        RUN_RESULTS,
        "{}",
        "[1, 2]",
        "",
        "{\"manifest_version\": 3, ",
        "no JSON",
    ] {
        let other = shared("manifest.json", other);
        assert_eq!(part(&other, "orders.csv"), "");
    }
}

/// A manifest of these nodes.
fn manifest(nodes: &Value) -> String {
    let schema = "https://schemas.getdbt.com/dbt/manifest/v12.json";
    json!({"metadata": {"dbt_schema_version": schema}, "nodes": nodes}).to_string()
}

#[test]
fn a_change_of_one_node_is_a_change_of_one_part() {
    let text = |said: &str| {
        let node = |name: &str, said: &str| json!({"resource_type": "model", "name": name, "schema": "s", "description": said, "depends_on": {"nodes": []}});
        shared(
            "manifest.json",
            &manifest(&json!({"m.a": node("a", said), "m.b": node("b", "B")})),
        )
    };
    let (before, after) = (text("one"), text("two"));
    assert_ne!(part(&before, "a.csv"), part(&after, "a.csv"));
    assert_eq!(part(&before, "b.csv"), part(&after, "b.csv"));
}

#[test]
fn constraints_and_older_tests_declare_the_same() {
    let nodes = json!({
        "model.p.a": {"resource_type": "model", "name": "a", "schema": "s", "constraints": [
            {"type": "unique", "columns": ["x", "y"]},
            {"type": "foreign_key", "columns": ["x"], "to": "ref('b')", "to_columns": ["id"]},
            {"type": "foreign_key", "columns": ["y"], "to": "\"db\".\"s\".\"c\""},
            {"type": "check", "expression": "x > 1"}],
            "columns": {"x": {"name": "x", "constraints": [{"type": "not_null"}, {"type": "primary_key"}]}}},
        "model.p.b": {"resource_type": "model", "alias": "bees", "name": "b", "schema": "s", "config": {"materialized": "ephemeral"}},
        "test.1": {"resource_type": "test", "depends_on": {"nodes": ["model.p.b", "model.p.a"]},
            "test_metadata": {"name": "unique", "kwargs": {"column_name": "z", "model": "{{ get_where_subquery(ref('a')) }}"}}},
        "test.2": {"resource_type": "test", "attached_node": "model.p.a",
            "test_metadata": {"name": "unique_combination_of_columns", "kwargs": {"combination_of_columns": ["x", "z"]}}},
        "test.3": {"resource_type": "test", "attached_node": "model.p.a", "test_metadata": {"name": "own", "kwargs": {"column_name": "x"}}},
    });
    let manifest = shared("manifest.json", &manifest(&nodes));
    assert_eq!(
        part(&manifest, "a.csv"),
        "Primary key: x.\nUnique together: x, y.\nUnique together: x, z.\n\
         | column | description |\n|---|---|\n\
         | x | Never empty. Refers to b.id. |\n| z | Unique. |\n| y | Refers to c. |"
    );
    // It is in no database.
    assert_eq!(part(&manifest, "bees.csv"), "");
}

#[test]
fn hostile_manifests_cost_little() {
    // Lineage in a circle, and one node that all others depend on.
    let nodes: serde_json::Map<String, Value> = (0..50_000)
        .map(|i| {
            let parents = ["m.0".to_owned(), format!("m.{}", (i + 1) % 50_000)];
            let node = json!({"resource_type": "model", "name": format!("t{i}"), "schema": "s", "depends_on": {"nodes": parents}});
            (format!("m.{i}"), node)
        })
        .collect();
    let text = manifest(&Value::Object(nodes));
    let start = std::time::Instant::now();
    let manifest = shared("manifest.json", &text);
    let hub = part(&manifest, "t0.csv");
    assert!(hub.contains("and 49990 more.") && hub.len() < 500, "{hub}");
    for i in 0..50_000 {
        assert!(!part(&manifest, &format!("s/t{i}.csv")).is_empty());
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());

    let kind = SharedKind::DbtManifest;
    let cut = &text[..text.len() / 2];
    let error = SharedText::of("d/manifest.json", kind, cut.to_owned()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("d/manifest.json: it is not JSON (EOF"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

fn some_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z'/{}.*]{0,8}".prop_map(Value::from),
        Just(json!("model.p.a")),
        Just(json!("ref('a')")),
        prop::sample::select(vec![
            "model",
            "test",
            "source",
            "unique",
            "relationships",
            "foreign_key"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "resource_type",
        "name",
        "schema",
        "columns",
        "constraints",
        "type",
        "test_metadata",
        "kwargs",
        "column_name",
        "to",
        "depends_on",
        "nodes",
        "config",
        "meta",
        "external_location",
        "location_root",
        "attached_node",
        "primary_key",
        "description",
        "model.p.a",
        "relation_name",
        "model",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
                let members = members.into_iter();
                Value::Object(
                    members
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    /// Whatever types its members have, it is read.
    #[test]
    fn any_node_is_taken(nodes in prop::collection::vec(some_json(), 0..6), sources in some_json(), exposures in some_json(), whole in some_json()) {
        let ids = ["model.p.a", "m.b", "test.c", "m.d", "m.e", "m.f"];
        let nodes: serde_json::Map<String, Value> = ids.iter().map(|id| (*id).to_owned()).zip(nodes).collect();
        let schema = |what: &str| json!({"dbt_schema_version": format!("https://schemas.getdbt.com/dbt/{what}/v1.json")});
        for what in ["manifest", "catalog"] {
            for (nodes, name) in [(Value::Object(nodes.clone()), what), (whole.clone(), what)] {
                let text = json!({"metadata": schema(name), "nodes": nodes, "sources": {"s": sources.clone()}, "exposures": {"e": exposures.clone()}});
                let shared = shared(&format!("{what}.json"), &text.to_string());
                let wire = serde_json::to_vec(&shared).unwrap();
                prop_assert_eq!(&serde_json::from_slice::<SharedText>(&wire).unwrap(), &shared);
                part(&shared, "s/a.csv");
            }
        }
    }
}
