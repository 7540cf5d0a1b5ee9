//! The node's tools, called by the protocol's own client: over standard input and output, and over
//! HTTP with keys.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use limn_tests::node::Node;
use limn_tests::{binary, lake, limn, limn_command, repository, run, text};
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
        ["lake_changes", {"from": 1}],
        ["describe_table", {"table": "nowhere"}],
        ["lake_changes", {"since": "soon"}],
        ["find_tables", {"question": "sick leave", "format": "xlsx"}],
        ["list_tables", {"format": "xlsx"}],
        ["describe_table", {"table": ""}],
        ["lake_changes", {"from": 999}],
        ["sql", {"sql": "SELECT count(*) AS n FROM \"hr/employees\""}],
        ["find_cells", {"question": "leave of 'ada byron'", "tables": ["hr/employees"]}],
    ])
}

fn check(got: &Value) {
    let names: Vec<&String> = got["tools"].as_object().unwrap().keys().collect();
    let wanted = [
        "ask",
        "describe_table",
        "find_cells",
        "find_tables",
        "lake_changes",
        "list_tables",
        "sample_rows",
        "sql",
        "table_joins",
    ];
    assert_eq!(names, wanted);
    let answers = got["answers"].as_array().unwrap();
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
    assert_eq!(answer(14)["rows"], json!([[3]]), "{}", answer(14));
    let cells = answer(15);
    assert_eq!(cells["cells"][0]["value"], "Ada Byron", "{cells}");
    assert_eq!(cells["cells"][0]["match"], "normalised", "{cells}");
    assert!(
        cells["text"]
            .as_str()
            .unwrap()
            .contains("match 'Ada Byron'"),
        "{cells}"
    );
    for (at, word) in [
        (8, "no table"),
        (9, "since"),
        (10, "format is 'xlsx'"),
        (11, "format is 'xlsx'"),
        (12, "empty"),
        (13, "no snapshot 999"),
    ] {
        assert_eq!(answers[at]["error"], true);
        let got = &answers[at]["answer"];
        assert!(got["error"].as_str().unwrap().contains(word), "{got}");
        let remedy = got["remedy"].as_str().unwrap();
        // Addresses of HTTP mean nothing here.
        assert!(!remedy.is_empty() && !remedy.contains('/'), "{remedy}");
    }
}

#[test]
fn tools_on_standard_input_and_output() {
    let (_folder, index) = indexed();
    let server = json!({"command": [text(&binary()), "mcp", "--index", index]});
    let got = call(&server, &json!([["lake_changes", {}], ["list_tables", {}]]));
    // Before an index's first snapshot there was nothing.
    let [changes, tables] = [0, 1].map(|at| &got["answers"][at]["answer"]);
    assert_eq!(changes["counts"]["appeared"], tables["count"], "{got}");
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
    let got = call(&server, &calls());
    check(&got);
    assert_eq!(got["answers"][7]["answer"]["appeared"], json!(["new"]));
}

/// `limn mcp`, spoken to line by line; killed when dropped.
struct Spoken {
    process: Child,
    said: Option<ChildStdin>,
    heard: BufReader<ChildStdout>,
}

impl Spoken {
    fn start(index: &str) -> Spoken {
        let mut process = limn_command(&["mcp", "--index", index])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Spoken {
            said: process.stdin.take(),
            heard: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    fn say(&mut self, line: &str) {
        let said = self.said.as_mut().unwrap();
        said.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, line: &str) -> Value {
        self.say(line);
        let mut answer = String::new();
        self.heard.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn end(mut self) -> Option<i32> {
        drop(self.said.take());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

const LIST: &str = r#"{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}"#;

#[test]
fn what_is_no_message_is_answered_and_a_session_goes_on() {
    let (_folder, index) = indexed();
    let mut agent = Spoken::start(&index);
    let is = |answer: &Value, code: i32, id: &Value| {
        let got = (&answer["error"]["code"], answer.get("id"));
        assert_eq!(got, (&json!(code), Some(id)), "{answer}");
        let remedy = &answer["error"]["data"]["remedy"];
        assert!(remedy.as_str().is_some_and(|it| !it.is_empty()), "{answer}");
    };
    // Before a session has begun.
    let early = agent.ask(LIST);
    is(&early, -32600, &json!(5));
    assert!(
        early["error"]["data"]["remedy"]
            .to_string()
            .contains("initialize")
    );
    is(&agent.ask("{bad"), -32700, &Value::Null);
    agent.say(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    is(
        &agent.ask(&request(1, "initialize", &json!({}))),
        -32602,
        &json!(1),
    );
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let begun = agent.ask(&request(2, "initialize", &hello));
    assert_eq!(begun["result"]["serverInfo"]["name"], "limn", "{begun}");
    agent.say(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    // And in the midst of it.
    is(&agent.ask("{bad"), -32700, &Value::Null);
    is(&agent.ask("[]"), -32600, &Value::Null);
    is(&agent.ask(r#"{"id": 7}"#), -32600, &json!(7));
    is(&agent.ask(&"x".repeat(3 << 20)), -32600, &Value::Null);
    for (id, method) in [
        (8, "tables/find"),
        (9, "prompts/list"),
        (10, "resources/list"),
    ] {
        let unknown = agent.ask(&request(id, method, &json!({})));
        is(&unknown, -32601, &json!(id));
        let message = unknown["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("there is no method") && message.contains(method),
            "{message}"
        );
    }
    for wrong in [json!([]), json!({})] {
        let asked = agent.ask(&request(11, "tools/call", &wrong));
        is(&asked, -32602, &json!(11));
    }
    let tools = agent.ask(LIST);
    assert_eq!(
        tools["result"]["tools"].as_array().unwrap().len(),
        9,
        "{tools}"
    );
    let listed = json!({"name": "list_tables", "arguments": {"limit": 1}});
    let listed = agent.ask(&request(12, "tools/call", &listed));
    assert_eq!(listed["result"]["isError"], false, "{listed}");
    assert_eq!(agent.end(), Some(0));

    // Nobody speaks.
    let silent = run(limn_command(&["mcp", "--index", &index]).stdin(Stdio::null()));
    silent.code_is(0);
    assert!(silent.stdout.is_empty(), "{silent:?}");
    assert_eq!(silent.stderr.lines().count(), 1, "{silent:?}");
    assert!(
        silent.stderr.contains("an agent is expected to speak MCP"),
        "{silent:?}"
    );
}

#[test]
fn what_is_asked_wrongly_over_http_is_answered_as_json() {
    let (_folder, index) = indexed();
    let node = Node::start(&index, &[]);
    let accept = ("accept", "application/json, text/event-stream");
    for method in ["GET", "DELETE", "PUT"] {
        let refused = node.send(method, "/mcp", &[accept], None);
        refused.is_error(405, "method_not_allowed");
        assert_eq!(refused.headers["allow"], "POST");
    }
    for taken in ["application/json", "text/html", "*/*"] {
        let refused = node.send("POST", "/mcp", &[("accept", taken)], Some(LIST));
        refused.is_error(406, "not_acceptable");
        let remedy = refused.json()["error"]["remedy"].to_string();
        assert!(remedy.contains(accept.1), "{remedy}");
    }
    let version = ("mcp-protocol-version", "2099-01-01");
    let refused = node.send("POST", "/mcp", &[accept, version], Some(LIST));
    refused.is_error(400, "bad_request");
    node.send(
        "POST",
        "/mcp",
        &[accept, ("content-type", "text/plain")],
        None,
    )
    .is_error(415, "unsupported_media_type");
    for (body, code, id) in [
        ("{bad", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"id": 7, "method": 1}"#, -32600, json!(7)),
    ] {
        let refused = node.send("POST", "/mcp", &[accept], Some(body));
        assert_eq!(refused.status, 400, "{refused:?}");
        let got = refused.json();
        assert_eq!(got["jsonrpc"], "2.0");
        assert_eq!(
            (&got["error"]["code"], got.get("id")),
            (&json!(code), Some(&id)),
            "{got}"
        );
        assert!(got["error"]["data"]["remedy"].is_string(), "{got}");
    }
    let unknown = request(3, "tables/find", &json!({}));
    let unknown = node.send("POST", "/mcp", &[accept], Some(&unknown)).json();
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert!(
        unknown["error"]["message"]
            .to_string()
            .contains("there is no method"),
        "{unknown}"
    );
    let tools = node.send("POST", "/mcp", &[accept], Some(LIST)).ok();
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 9);
    let vast = format!("\"{}\"", "x".repeat(100_000));
    node.send("POST", "/mcp", &[accept], Some(&vast))
        .is_error(413, "too_large");
    assert_eq!(node.end(), Some(0));
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

    let got = call(&json!({"url": url, "key": hr}), &calls());
    let answers = got["answers"].as_array().unwrap();
    assert_eq!(answers[0]["answer"]["tables_searched"], 1);
    // No right to see rows.
    assert_eq!(answers[5]["answer"]["rows"], json!([]));
    assert!(answers[5]["answer"]["note"].is_string());
    assert_eq!(answers[14]["error"], true);
    assert_eq!(answers[6]["answer"]["count"], 1);
    assert_eq!(answers[7]["answer"]["appeared"], json!([]));
    assert_eq!(
        answers[3]["answer"]["error"],
        "there is no table 'shop/wide'"
    );
    let got = got["answers"].to_string();
    for hidden in [
        "column_1", "orders", "glacier", "Nakamura", "Hopper", "rivers",
    ] {
        assert!(!got.contains(hidden), "{hidden}: {got}");
    }
    node.send("POST", "/mcp", &[], Some("{}"))
        .is_error(401, "unauthorized");
}
