//! What programs write about tables (dbt, OpenLineage, Spark) is no table, and what it says goes to
//! the tables that it is about.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::Lab;
use common::narrated::records;
use limn_pipeline::Scope;
use limn_segment::TableRecord;

const ORDERS: &str = "order_id,customer_id\n1,7\n2,7\n";

/// A manifest of two models, as dbt writes it, with these descriptions.
fn manifest(orders: &str, customers: &str) -> String {
    let node = |name: &str, said: &str| {
        format!(
            r#""model.shop.{name}": {{"resource_type": "model", "database": "shop", "schema": "marts", "name": "{name}", "alias": "{name}", "description": "{said}", "raw_code": "select 1", "columns": {{}}, "depends_on": {{"nodes": []}}}}"#
        )
    };
    let test = r#""test.shop.r": {"resource_type": "test", "attached_node": "model.shop.orders", "test_metadata": {"name": "relationships", "kwargs": {"to": "ref('customers')", "field": "customer_id", "column_name": "customer_id"}}}"#;
    format!(
        r#"{{"metadata": {{"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}}, "nodes": {{{}, {}, {test}}}, "macros": {{"m": {{"macro_sql": "x"}}}}}}"#,
        node("orders", orders),
        node("customers", customers)
    )
}

async fn filled() -> Lab {
    let lab = Lab::new();
    for (path, text) in [
        ("marts/orders.csv", ORDERS),
        ("marts/customers.csv", "customer_id,name\n7,ada\n"),
        ("raw/orders.csv", "id,who\n1,7\n"),
        ("raw/other.csv", "a,b\n1,2\n"),
        ("dbt/target/manifest.json", &manifest("Sold", "Who buys")),
        (
            "dbt/target/run_results.json",
            r#"{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"}, "results": [{"status": "success"}, {"status": "success"}]}"#,
        ),
        (
            "dbt/target/semantic_manifest.json",
            r#"{"semantic_models": [], "metrics": []}"#,
        ),
        (
            "events/openlineage.jsonl",
            r#"{"eventType": "COMPLETE", "eventTime": "2024-05-01T10:53:00Z", "producer": "https://x.org", "job": {"name": "load"}, "outputs": [{"namespace": "s3://lake", "name": "raw/other.csv", "facets": {"documentation": {"description": "Loaded by night"}}}]}"#,
        ),
        // What Spark and Hadoop leave: the manifest of an S3A committer, and Parquet's summaries.
        (
            "out/_SUCCESS",
            r#"{"name": "org.apache.hadoop.fs.s3a.commit.files.SuccessData/1", "success": true, "filenames": ["/out/part-00000.csv"]}"#,
        ),
        ("out/_metadata", "PAR1"),
        ("out/_common_metadata", "PAR1"),
        ("out/part-00000.csv", "x,y\n1,2\n"),
    ] {
        lab.put(path, text).await;
    }
    lab
}

/// What contexts say of each table.
fn said(records: &BTreeMap<String, TableRecord>) -> Vec<(&str, String)> {
    let said = records.iter().map(|(name, row)| {
        let texts = row.contexts.iter().map(|context| context.text.as_str());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        (name.as_str(), texts.join("\n"))
    });
    said.collect()
}

fn expected(orders: &str) -> Vec<(&'static str, String)> {
    let orders = format!(
        "{orders}\n| column | description |\n|---|---|\n| customer_id | Refers to customers.customer_id. |"
    );
    vec![
        ("marts/customers", "Who buys".to_owned()),
        ("marts/orders", orders),
        ("out", String::new()),
        ("raw/orders", String::new()),
        ("raw/other", "Loaded by night\nWritten by: load.".to_owned()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_describe_tables_and_are_none() {
    let mut lab = filled().await;
    // The project has a schema of that name, too.
    let with_raw = |text: String| {
        text.replace(
            r#""nodes": {"#,
            r#""sources": {"source.shop.raw.none": {"resource_type": "source", "schema": "raw", "name": "none", "description": "-"}}, "nodes": {"#,
        )
    };
    let manifest = |orders: &str| with_raw(manifest(orders, "Who buys"));
    lab.put("dbt/target/manifest.json", &manifest("Sold")).await;
    let report = lab.run().await;
    assert_eq!(
        (report.tables.added, report.failures.len()),
        (5, 0),
        "{report:?}"
    );
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let before = records(&lab).await;
    assert_eq!(said(&before), expected("Sold"));
    let column = &before["marts/orders"].columns[1];
    assert_eq!(
        column.description.as_deref(),
        Some("Refers to customers.customer_id.")
    );
    lab.run_is_idle().await;

    // One node of it.
    lab.put("dbt/target/manifest.json", &manifest("What was sold"))
        .await;
    let report = lab.run().await;
    let tables = &report.tables;
    assert_eq!(
        (tables.added, tables.changed, tables.removed),
        (0, 1, 0),
        "{report:?}"
    );
    let after = records(&lab).await;
    assert_eq!(said(&after), expected("What was sold"));
    for name in ["marts/customers", "out", "raw/orders", "raw/other"] {
        let place = |row: &TableRecord| (row.segment.clone(), row.first_block);
        assert_eq!(place(&before[name]), place(&after[name]), "{name}");
    }
    lab.run_is_idle().await;
    let anew = filled().await;
    anew.put("dbt/target/manifest.json", &manifest("What was sold"))
        .await;
    anew.run().await;
    assert_eq!(said(&records(&anew).await), said(&after));

    // A run over a part of the lake knows what is said from elsewhere.
    lab.put("marts/orders.csv", &format!("{ORDERS}3,8\n")).await;
    let changed = BTreeSet::from(["marts/orders.csv".to_owned()]);
    lab.options.scope = Scope::Objects(changed);
    let report = lab.run().await;
    assert_eq!(report.tables.changed, 1, "{report:?}");
    assert_eq!(said(&records(&lab).await), expected("What was sold"));
    // And a change of what is said reaches tables elsewhere.
    lab.put("dbt/target/manifest.json", &manifest("Sold again"))
        .await;
    let changed = BTreeSet::from(["dbt/target/manifest.json".to_owned()]);
    lab.options.scope = Scope::Objects(changed);
    lab.run().await;
    assert_eq!(said(&records(&lab).await), expected("Sold again"));
    lab.options.scope = Scope::Lake;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_broken_costs_itself_and_one_that_is_another_is_a_table() {
    let lab = filled().await;
    lab.run().await;
    let before = records(&lab).await;
    let whole = manifest("Sold", "Who buys");
    lab.put("dbt/target/manifest.json", &whole[..whole.len() - 40])
        .await;
    let report = lab.run().await;
    let errors: BTreeSet<&str> = report.failures.iter().map(|it| it.error.as_str()).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.first().unwrap();
    assert!(
        error.starts_with("dbt/target/manifest.json: it is not JSON"),
        "{error}"
    );
    // The last that could be read holds, and no table is lost.
    assert_eq!(said(&records(&lab).await), said(&before));

    // Nobody's manifest: a table as any other, and it says nothing.
    lab.put("dbt/target/manifest.json", "{\"page\": 1}\n{\"page\": 2}\n")
        .await;
    let report = lab.run().await;
    assert!(report.failures.is_empty(), "{report:?}");
    let tables = lab.tables().await;
    assert!(tables.contains_key("dbt/target/manifest"), "{tables:?}");
    let texts: Vec<String> = said(&records(&lab).await)
        .into_iter()
        .filter(|(name, _)| name.starts_with("marts/"))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["", ""]);
}
