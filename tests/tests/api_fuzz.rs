//! The API against its own description: whatever a program makes of it, no request makes the node
//! fail or hang, and every answer is as described.

use std::process::Command;

use limn_tests::node::Node;
use limn_tests::{text, varied_index};

/// What is checked of each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance";

#[test]
fn requests_made_from_the_description_are_answered_as_described() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let node = Node::start(&at("index"), &["--feedback", &at("feedback.jsonl")]);
    let tools = std::env::home_dir().unwrap().join(".cache/limn/python");
    let made = Command::new("python3")
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("{}/openapi.json", node.url))
        .args(["--phases", "coverage,fuzzing", "--checks", CHECKS])
        // The same requests in every run.
        .args(["--max-examples", "15", "--seed", "1"])
        .args(["--request-timeout", "20", "--no-color"])
        .env("PYTHONPATH", tools)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let got = String::from_utf8_lossy(&made.stdout);
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{got}\n{errors}");
    // It did make some: a description that cannot be read would make none.
    let generated: u32 = got
        .lines()
        .filter_map(|line| line.trim().split_once(" generated,"))
        .find_map(|(count, _)| count.parse().ok())
        .unwrap_or_else(|| panic!("{got}\n{errors}"));
    assert!(generated > 300, "{got}");
    assert_eq!(node.get("/health/ready").status, 204);
    node.get("/v1/search?q=sick+leave").ok();
    assert_eq!(node.end(), Some(0));
}
