//! `limn joins`: a table's partners, and the way to another table.

use limn_tests::{index_hashed, lake, limn, text};
use tempfile::TempDir;

fn lines(header: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    let rows: String = (0..rows).map(|at| row(at) + "\n").collect();
    format!("{header}\n{rows}")
}

#[test]
fn partners_and_ways_are_listed() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let write = |path: &str, rows: &str| lake::write(&lake, path, rows);
    let orders = lines("order_no,buyer", 300, |at| {
        format!("o-{at},C{:03}", at % 150)
    });
    write("sales/orders.csv", &orders);
    write("backup/orders.csv", &orders);
    write(
        "crm/customers.csv",
        &lines("code,zone", 200, |at| format!("C{at:03},Z{}", at % 40)),
    );
    write(
        "crm/zones.csv",
        &lines("zone,manager", 40, |at| format!("Z{at},person {at}")),
    );
    assert_eq!(
        index_hashed(&lake, &index, &["--join-tables", "1000"]).code,
        0
    );
    let joins = |more: &[&str]| limn(&[&["joins", "--index", text(&index)], more].concat());

    let found = joins(&["sales/orders", "--json"]).ok();
    let partners = found["partners"].as_array().unwrap();
    let customers = partners
        .iter()
        .find(|it| it["partner"] == "crm/customers")
        .unwrap();
    assert_eq!(
        (&customers["columns"][0], &customers["partner_columns"][0]),
        (&"buyer".into(), &"code".into())
    );
    assert_eq!(
        (&customers["direction"], &customers["cardinality"]),
        (&"refers_to".into(), &"n:1".into())
    );
    assert_eq!(customers["evidence"], "values");
    let copies = joins(&["sales/orders", "--kind", "copy", "--json"]).ok();
    assert_eq!(copies["partners"][0]["partner"], "backup/orders");
    assert_eq!(copies["partners"].as_array().unwrap().len(), 1);

    let shown = joins(&["crm/customers"]);
    assert!(
        shown.stdout.contains("referred to by  sales/orders"),
        "{shown:?}"
    );
    let way = joins(&["sales/orders", "--with", "crm/zones", "--json"]).ok();
    let by: Vec<&str> = way["path"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["partner"].as_str())
        .collect();
    assert_eq!(by, ["crm/customers", "crm/zones"]);
    // What is not to be seen leads nowhere.
    let hidden = joins(&[
        "sales/orders",
        "--with",
        "crm/zones",
        "--prefix",
        "backup",
        "--json",
    ]);
    assert!(hidden.stderr.contains("no way of 4 joins"), "{hidden:?}");
    assert!(hidden.ok()["path"].is_null());
    let hidden = joins(&["sales/orders", "--prefix", "backup", "--json"]).ok();
    assert_eq!(hidden["partners"].as_array().unwrap().len(), 1);

    let unknown = joins(&["sales/order"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("sales/orders"), "{unknown:?}");
}
