//! The node's tools, called by the protocol's own client: over standard input and output, and over HTTP with
//! keys.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use limn_tests::node::Node;
use limn_tests::{binary, lake, limn, repository, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Calls tools, and gives what the client prints.
fn call(server: &Value, calls: &Value) -> Value {
    let python = std::env::home_dir().unwrap().join(".cache/limn/python");
    let mut client = Command::new("python3")
        .arg(repository().join("tests/mcp_client.py"))
        .arg(server.to_string())
        .env("PYTHONPATH", python)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    input.write_all(calls.to_string().as_bytes()).unwrap();
    drop(input);
    let output = client.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "the client failed; infra/python-tools installs it"
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn indexed() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let (at, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake::varied(&at);
    let wide: Vec<String> = (0..200).map(|number| format!("column_{number}")).collect();
    lake::write(
        &at,
        "shop/wide.csv",
        &format!("{}\n{}\n", wide.join(","), vec!["1"; 200].join(",")),
    );
    let index = text(&index).to_owned();
    limn(&[
        "index",
        text(&at),
        "--index",
        &index,
        "--embedder",
        "hashed-words",
    ])
    .code_is(0);
    (folder, index)
}

fn calls() -> Value {
    json!([
        ["find_tables", {"question": "sick leave of employees", "k": 2}],
        ["find_tables", {"question": "sick leave of employees", "k": 2, "more": true}],
        ["find_tables", {"question": "qwertyuiop zxcvbnm"}],
        ["describe_table", {"table": "shop/wide"}],
        ["describe_table", {"table": "shop/wide", "columns": ["column_199"]}],
        ["sample_rows", {"table": "hr/employees", "limit": 2}],
        ["list_tables", {"limit": 3}],
        ["lake_changes", {}],
        ["describe_table", {"table": "nowhere"}],
        ["lake_changes", {"since": "soon"}],
    ])
}

fn check(told: &Value) {
    let names: Vec<&String> = told["tools"].as_object().unwrap().keys().collect();
    let wanted = [
        "describe_table",
        "find_tables",
        "lake_changes",
        "list_tables",
        "sample_rows",
    ];
    assert_eq!(names, wanted);
    let answers = told["answers"].as_array().unwrap();
    let answer = |at: usize| {
        assert_eq!(answers[at]["error"], false, "{}", answers[at]);
        &answers[at]["answer"]
    };
    assert_eq!(answer(0)["tables"][0]["table"], "hr/employees");
    assert_eq!(
        answer(0)["retrieval"],
        json!({"lexical": true, "semantic": true, "judge": false})
    );
    assert!(answer(1).to_string().len() > answer(0).to_string().len());
    assert_eq!(answer(2)["tables"], json!([]));
    assert!(
        answer(2)["notes"].to_string().contains("nothing relevant"),
        "{}",
        answer(2)
    );
    assert_eq!(answer(3)["columns"].as_array().unwrap().len(), 30);
    assert_eq!(answer(3)["columns_left_out"], 170);
    assert!(answer(3).to_string().len() < 8_000, "small by default");
    assert_eq!(answer(4)["columns"][0]["name"], "column_199");
    assert_eq!(answer(5)["rows"].as_array().unwrap().len(), 2);
    assert_eq!(answer(6)["tables"].as_array().unwrap().len(), 3);
    assert!(answer(6)["next"].is_string());
    for (at, word) in [(8, "no table"), (9, "since")] {
        assert_eq!(answers[at]["error"], true);
        let told = &answers[at]["answer"];
        assert!(told["error"].as_str().unwrap().contains(word), "{told}");
        assert!(!told["remedy"].as_str().unwrap().is_empty());
    }
}

#[test]
fn tools_on_standard_input_and_output() {
    let (_folder, index) = indexed();
    let server = json!({"command": [text(&binary()), "mcp", "--index", index]});
    let told = call(&server, &json!([["lake_changes", {}]]));
    // An index of one snapshot has nothing to compare with, and says so.
    assert_eq!(told["answers"][0]["error"], true);
    lake::write(
        &Path::new(&index).with_file_name("lake"),
        "new.csv",
        "glacier,x\n1,2\n",
    );
    let lake = Path::new(&index).with_file_name("lake");
    limn(&[
        "index",
        text(&lake),
        "--index",
        &index,
        "--embedder",
        "hashed-words",
    ])
    .code_is(0);
    let told = call(&server, &calls());
    check(&told);
    assert_eq!(told["answers"][7]["answer"]["appeared"], json!(["new"]));
}

#[test]
fn tools_over_http_see_what_the_key_may_see() {
    let (folder, index) = indexed();
    lake::write(&folder.path().join("lake"), "new.csv", "glacier,x\n1,2\n");
    let lake = folder.path().join("lake");
    limn(&[
        "index",
        text(&lake),
        "--index",
        &index,
        "--embedder",
        "hashed-words",
    ])
    .code_is(0);
    let keys = text(&folder.path().join("keys")).to_owned();
    let key = |more: &[&str]| {
        let mut arguments = vec!["keys", "add", "--keys", &keys, "--json"];
        arguments.extend(more);
        limn(&arguments).ok()["key"].clone()
    };
    let (all, hr) = (key(&[]), key(&["--prefix", "hr", "--right", "search"]));
    let node = Node::start(&index, &["--keys", &keys]);
    let url = format!("{}/mcp", node.url);
    check(&call(&json!({"url": url, "key": all}), &calls()));

    let told = call(&json!({"url": url, "key": hr}), &calls());
    let answers = told["answers"].as_array().unwrap();
    assert_eq!(answers[0]["answer"]["tables_searched"], 1);
    // No right to see rows.
    assert_eq!(answers[5]["answer"]["rows"], json!([]));
    assert!(answers[5]["answer"]["note"].is_string());
    assert_eq!(answers[6]["answer"]["count"], 1);
    assert_eq!(answers[7]["answer"]["appeared"], json!([]));
    assert_eq!(
        answers[3]["answer"]["error"],
        "there is no table 'shop/wide'"
    );
    let told = told["answers"].to_string();
    for hidden in [
        "column_1", "orders", "glacier", "Nakamura", "Hopper", "rivers",
    ] {
        assert!(!told.contains(hidden), "{hidden}: {told}");
    }
    node.send("POST", "/mcp", &[], Some("{}"))
        .is_error(401, "unauthorized");
}
