//! `limn joins`: a table's partners, and the way to another table.

use limn_tests::node::Node;
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
    let found = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(found["snapshot"], 1, "the joins are in the run's own");
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
    let back = joins(&["crm/zones", "--with", "sales/orders"]);
    let multiplied = "several of 'sales/orders' may go with one of 'crm/customers'";
    assert!(back.stderr.contains(multiplied), "{back:?}");
    let itself = joins(&["crm/zones", "--with", "crm/zones"]);
    assert!(
        itself.stderr.contains("not joined with itself"),
        "{itself:?}"
    );
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

    // A run is one snapshot, which knows its joins: what changed is between the newest two.
    write("sales/orders.csv", &orders.replace(",C", ",X"));
    assert_eq!(index_hashed(&lake, &index, &[]).ok()["snapshot"], 2);
    let changed = limn(&["diff", "--index", text(&index), "--json"]);
    assert!(changed.stdout.contains("sales/orders"), "{changed:?}");
    let now = joins(&["sales/orders", "--json"]).ok();
    let partners = now["partners"].as_array().unwrap().iter();
    let partners: Vec<_> = partners.map(|it| &it["partner"]).collect();
    assert_eq!(partners, ["backup/orders"]);

    let unknown = joins(&["sales/order"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("sales/orders"), "{unknown:?}");
}

#[test]
fn a_node_gives_the_joins_that_a_key_may_see() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let write = |path: &str, rows: &str| lake::write(&lake, path, rows);
    let buyer = |at: usize| format!("o-{at},C{:03}", at % 150);
    write("sales/orders.csv", &lines("order_no,buyer", 300, buyer));
    let customer = |at: usize| format!("C{at:03},Z{}", at % 40);
    write("crm/customers.csv", &lines("code,zone", 200, customer));
    let zone = |at: usize| format!("Z{at},person {at}");
    write("crm/zones.csv", &lines("zone,manager", 40, zone));
    index_hashed(&lake, &index, &[]).ok();
    let keys = scratch.path().join("keys.json");
    let key = |more: &[&str]| {
        let added = limn(&[&["keys", "add", "--keys", text(&keys), "--json"], more].concat());
        added.ok()["key"].as_str().unwrap().to_owned()
    };
    let (all, crm) = (key(&[]), key(&["--prefix", "crm"]));
    let blind = key(&["--right", "search"]);
    let node = Node::start(text(&index), &["--keys", text(&keys)]);
    let partners = |key: &str, path: &str| {
        let answer = node.get_with(key, path).ok();
        let partners = answer["partners"].as_array().unwrap().iter();
        let names = partners.map(|it| it["partner"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), answer)
    };
    let path = "/v1/joins?table=crm/customers";
    let (mut names, _) = partners(&all, path);
    names.sort_unstable();
    assert_eq!(names, ["crm/zones", "sales/orders"]);
    assert_eq!(partners(&crm, path).0, ["crm/zones"]);
    // Values have shown these joins.
    let (names, answer) = partners(&blind, path);
    assert!(
        names.is_empty() && answer["notes"].as_array().unwrap().len() == 1,
        "{answer}"
    );
    let way = "/v1/joins?table=sales/orders&with=crm/zones";
    // The command says the same, but for notes, which it writes elsewhere.
    let command = |more: &[&str]| limn(&[&["joins", "--index", text(&index)], more].concat()).ok();
    for (path, more) in [
        (path, &["crm/customers", "--json"][..]),
        (way, &["sales/orders", "--with", "crm/zones", "--json"]),
        (
            "/v1/joins?table=crm/zones&with=crm/zones",
            &["crm/zones", "--with", "crm/zones", "--json"],
        ),
    ] {
        let mut answer = node.get_with(&all, path).ok();
        answer.as_object_mut().unwrap().remove("notes").unwrap();
        assert_eq!(answer, command(more));
    }
    let steps = node.get_with(&all, way).ok();
    let steps = steps["path"].as_array().unwrap();
    assert_eq!(
        (steps.len(), &steps[1]["partner"]),
        (2, &"crm/zones".into())
    );
    assert_eq!(node.get_with(&crm, way).status, 404);
    assert_eq!(
        node.get_with(&all, &format!("{path}&kind=cousin")).status,
        400
    );
}
