//! What the page is made of: lists that are filtered, sorted, folded and counted; previews of what
//! matches; questions to begin with; and descriptions that people write through a node.

use std::path::PathBuf;

use limn_tests::node::{Node, escaped};
use limn_tests::{lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let ground = Ground {
            folder: TempDir::new().unwrap(),
        };
        let at = ground.lake();
        for (table, rows) in [("north", 1), ("south", 2), ("west", 3), ("east", 4)] {
            let lines: String = (0..rows)
                .map(|row| format!("{table}{row},{row}.5\n"))
                .collect();
            lake::write(
                &at,
                &format!("lab/runs/{table}.csv"),
                &format!("sample,viscosity\n{lines}"),
            );
        }
        lake::write(
            &at,
            "lab/runs/README.md",
            "# Laboratory\n\nWhat the laboratory measures. Ask Ines.\n",
        );
        lake::write(
            &at,
            "shop/orders.csv",
            "orderId,customer,amount\n1,Ada,3.5\n2,Grace Hopper,4.5\n",
        );
        lake::write(
            &at,
            "shop/orders.md",
            "Orders of the web shop, one row each. No taxes.\n",
        );
        lake::write_parquet(&at, "rivers.parquet", 200);
        lake::write(&at, "shop/damaged.parquet", "these are no columns");
        ground.index(1);
        ground
    }

    fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn at(&self, name: &str) -> String {
        text(&self.folder.path().join(name)).to_owned()
    }

    fn index(&self, code: i32) {
        let (lake, index) = (self.lake(), self.at("index"));
        let embedder = ["--embedder", "hashed-words"];
        limn(&[&["index", text(&lake), "--index", &index], &embedder[..]].concat()).code_is(code);
    }

    fn node(&self, more: &[&str]) -> Node {
        Node::start(&self.at("index"), more)
    }

    fn key(&self, more: &[&str]) -> String {
        let keys = self.at("keys.jsonl");
        let mut arguments = vec!["keys", "add", "--keys", &keys, "--json"];
        arguments.extend(more);
        limn(&arguments).ok()["key"].as_str().unwrap().to_owned()
    }
}

fn names(listing: &Value) -> Vec<&str> {
    let tables = listing["tables"].as_array().unwrap().iter();
    tables
        .map(|table| table["table"].as_str().unwrap())
        .collect()
}

#[test]
fn tables_are_filtered_sorted_folded_and_counted() {
    let ground = Ground::new();
    let node = ground.node(&[]);
    let get = |query: &str| node.get(&format!("/v1/tables?{query}")).ok();

    let all = get("");
    assert_eq!((all["count"].as_u64(), names(&all).len()), (Some(7), 7));
    assert_eq!(node.get("/v1/status").ok()["tables"], 7);
    assert_eq!(node.get("/v1/tree").ok()["count"], 7);
    let search = node.get("/v1/search?q=orders").ok();
    assert_eq!(
        (&search["tables"], &search["tables_searched"]),
        (&json!(7), &json!(6))
    );

    let rows = get("sort=rows&descending=true");
    assert_eq!(names(&rows)[..2], ["rivers", "lab/runs/east"]);
    assert_eq!(
        names(&rows).last(),
        Some(&"shop/damaged"),
        "what is not known comes last"
    );
    assert_eq!(names(&get("sort=rows")).last(), Some(&"shop/damaged"));
    assert_eq!(names(&get("descending=true"))[0], "shop/orders");

    // Found by a name, a description, a column; each word has to fit.
    for (words, found) in [
        ("ORDERS", vec!["shop/orders"]),
        ("web+shop", vec!["shop/orders"]),
        ("visco+north", vec!["lab/runs/north"]),
        ("web+viscosity", vec![]),
    ] {
        assert_eq!(names(&get(&format!("q={words}"))), found, "{words}");
    }
    assert_eq!(
        names(&get("min_rows=3&max_rows=4")),
        ["lab/runs/east", "lab/runs/west"]
    );
    assert_eq!(get("modified_after=2999-01-01")["count"], 0);

    // A family is one line, and counts as many tables.
    let folded = get("fold=true");
    assert_eq!(folded["count"], 7);
    assert_eq!(
        names(&folded),
        ["lab/runs/east", "rivers", "shop/damaged", "shop/orders"]
    );
    let family = &folded["tables"][0]["family"];
    assert_eq!((&family["count"], &family["rows"]), (&json!(4), &json!(10)));
    let members = get(&format!(
        "fold=true&family={}",
        family["id"].as_str().unwrap()
    ));
    assert_eq!(members["count"], 4);
    assert!(
        names(&members)
            .iter()
            .all(|name| name.starts_with("lab/runs/"))
    );
    let two = get("fold=true&min_rows=3&prefix=lab");
    assert_eq!(names(&two).len(), 2, "two are no family");
    node.get("/v1/tables?family=x").is_error(400, "bad_request");

    // Page by page it is the same list.
    let mut paged = Vec::new();
    let mut after = String::new();
    loop {
        let page = get(&format!("sort=rows&descending=true&limit=2{after}"));
        paged.extend(names(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", escaped(next)),
            None => break,
        }
    }
    assert_eq!(paged, names(&rows));
}

#[test]
fn every_count_of_a_filter_is_the_length_of_its_list() {
    let ground = Ground::new();
    let node = ground.node(&[]);
    let get = |query: &str| node.get(&format!("/v1/tables?{query}")).ok();
    for with in ["", "&format=csv", "&prefix=lab", "&min_rows=2", "&q=sample"] {
        let facets = get(&format!("facets=true{with}"))["facets"].clone();
        let each = |kind: &str| facets[kind].as_array().unwrap().clone();
        let mut checked = 0;
        for one in each("formats") {
            // Each list counts what fits the other filters.
            let others = with.replace("&format=csv", "");
            let listed = get(&format!(
                "format={}{others}",
                one["value"].as_str().unwrap()
            ));
            assert_eq!(listed["count"], one["count"], "{one} {with}");
            checked += 1;
        }
        for one in each("folders") {
            let others = with.replace("&prefix=lab", "");
            let listed = get(&format!(
                "prefix={}{others}",
                one["value"].as_str().unwrap()
            ));
            assert_eq!(listed["count"], one["count"], "{one} {with}");
        }
        for one in each("rows") {
            let others = with.replace("&min_rows=2", "");
            let most = one["max"].as_u64().map(|most| format!("&max_rows={most}"));
            let listed = get(&format!(
                "min_rows={}{}{others}",
                one["min"],
                most.unwrap_or_default()
            ));
            assert_eq!(listed["count"], one["count"], "{one} {with}");
        }
        assert!(checked > 0 && each("modified").len() == 4);
    }
}

#[test]
fn lines_say_what_tables_and_folders_are() {
    let ground = Ground::new();
    let node = ground.node(&[]);
    let orders = node.get("/v1/tables?prefix=shop/orders").ok();
    let got = &orders["tables"][0];
    assert_eq!(got["description"], "Orders of the web shop, one row each");
    assert_eq!(got["columns"], json!(["orderId", "customer", "amount"]));
    let tree = node.get("/v1/tree?prefix=lab").ok();
    let runs = &tree["folders"][0];
    assert_eq!(runs["description"], "What the laboratory measures");
    assert_eq!(runs["first"][0], "lab/runs/east");
    let questions = node.get("/v1/examples").ok();
    let questions = questions["questions"].as_array().unwrap().clone();
    assert!(
        questions.contains(&json!("amount of orders by customer")),
        "{questions:?}"
    );
}

#[test]
fn a_preview_shows_what_matches_to_whom_may_see_values() {
    let ground = Ground::new();
    let (all, names_only) = (ground.key(&[]), ground.key(&["--right", "search"]));
    let node = ground.node(&["--keys", &ground.at("keys.jsonl")]);
    let path = "/v1/search?q=Hopper+amount&prefix=shop&preview_rows=1";
    let found = node.get_with(&all, path).ok();
    let preview = &found["results"][0]["preview"];
    assert_eq!(preview["rows"], json!([["2", "Grace Hopper", "4.5"]]));
    let matching = |preview: &Value| -> Vec<bool> {
        let columns = preview["columns"].as_array().unwrap().iter();
        columns
            .map(|column| column["matches"].as_bool().unwrap())
            .collect()
    };
    assert_eq!(matching(preview), [false, true, true]);
    let hidden = node.get_with(&names_only, path).ok();
    let preview = &hidden["results"][0]["preview"];
    assert_eq!(preview["rows"], json!([]));
    assert_eq!(
        matching(preview),
        [false, false, true],
        "values reveal nothing"
    );
    let without = node.get_with(&all, "/v1/search?q=Hopper").ok();
    assert!(without["results"][0]["preview"].is_null());
    let got = node.get_with(&all, "/v1/search?q=x&preview_rows=11");
    got.is_error(400, "bad_request");
}

#[test]
fn descriptions_are_written_by_who_may_where_the_node_takes_them() {
    let ground = Ground::new();
    let may = ground.key(&[
        "--right", "search", "--right", "describe", "--prefix", "shop",
    ]);
    let may_not = ground.key(&[]);
    let keys = ground.at("keys.jsonl");
    let put = |node: &Node, key: &str, body: Value| {
        let shown = format!("Bearer {key}");
        let headers = [("authorization", shown.as_str())];
        node.send(
            "PUT",
            "/v1/table/description",
            &headers,
            Some(&body.to_string()),
        )
    };
    let words =
        json!({"table": "shop/orders", "text": "Purchases by zebra keepers.\namount: in pistoles"});

    let without = ground.node(&["--keys", &keys]);
    put(&without, &may, words.clone()).is_error(404, "not_found");
    assert_eq!(
        without.get_with(&may, "/v1/status").ok()["descriptions"],
        false
    );
    drop(without);

    let node = ground.node(&["--keys", &keys, "--descriptions"]);
    put(&node, &may_not, words.clone()).is_error(403, "forbidden");
    assert_eq!(
        node.get_with(&may_not, "/v1/status").ok()["descriptions"],
        false
    );
    assert_eq!(node.get_with(&may, "/v1/status").ok()["descriptions"], true);
    put(&node, &may, json!({"table": "lab/runs/east", "text": "x"})).is_error(404, "not_found");
    put(&node, &may, json!({"table": "shop/orders", "text": " "})).is_error(400, "bad_request");
    let lost = json!({"table": "shop/orders", "text": "x", "replaces": "never said"});
    put(&node, &may, lost).is_error(400, "bad_request");

    // Added: it is served when the answer is there, and found.
    put(&node, &may, words.clone()).ok();
    let table = || node.get_with(&may, "/v1/table?table=shop/orders").ok();
    assert_eq!(table()["description"], "Purchases by zebra keepers");
    assert_eq!(table()["columns"][2]["description"], "in pistoles");
    let found = node.get_with(&may_not, "/v1/search?q=zebra").ok();
    assert_eq!(found["results"][0]["table"], "shop/orders");
    let changes = node.get_with(&may_not, "/v1/diff").ok();
    assert_eq!(changes["changed"][0]["contexts_added"], 1);

    // Changed: in one snapshot. Taken back: the text beside the file stays.
    let old = words["text"].as_str().unwrap();
    put(
        &node,
        &may,
        json!({"table": "shop/orders", "text": "Orders.", "replaces": old}),
    )
    .ok();
    let registered = |table: Value| -> Vec<Value> {
        let contexts = table["contexts"].as_array().unwrap().clone();
        let ours = contexts
            .into_iter()
            .filter(|it| it["source"] == "registered");
        ours.map(|it| it["text"].clone()).collect()
    };
    assert_eq!(registered(table()), ["Orders."]);
    put(
        &node,
        &may,
        json!({"table": "shop/orders", "text": "", "replaces": "Orders."}),
    )
    .ok();
    assert!(registered(table()).is_empty());
    assert_eq!(
        table()["description"],
        "Orders of the web shop, one row each"
    );
    assert!(
        !node.said().contains("zebra"),
        "the log does not have the text"
    );
}
