//! Retrieval quality on corpora that are kept beside the repository: ignored by `cargo test`, run by
//! `infra/test` where they are. The large ones are measured by `tests/bench/corpora.py` instead.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_tests::{corpora, limn, text};
use serde_json::Value;
use tempfile::TempDir;

/// Indexes a corpus with the default configuration and asks all its questions.
fn measure(corpus: &str) -> Value {
    let folder = corpora().join(corpus);
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    limn(&[
        "index",
        text(&folder.join("tables")),
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    let questions = folder.join("questions.jsonl");
    limn(&[
        "eval",
        "--index",
        text(&index),
        "--questions",
        text(&questions),
        "-k",
        "1,5",
        "--json",
    ])
    .ok()
}

fn at_least(scores: &Value, k: &str, share: &str, floor: f64) {
    let got = 100.0 * scores["k"][k][share].as_f64().unwrap();
    assert!(
        got >= floor,
        "{share}@{k} is {got:.1}, below {floor}: {scores}"
    );
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn bird_schema_is_answered_as_promised() {
    let scores = measure("bird_schema");
    at_least(&scores, "1", "hit", 81.0);
    at_least(&scores, "5", "hit", 98.0);
    at_least(&scores, "5", "full", 79.0);
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn spider_is_answered_as_promised() {
    let scores = measure("spider");
    at_least(&scores, "1", "hit", 79.0);
    at_least(&scores, "5", "hit", 96.0);
    at_least(&scores, "5", "full", 86.0);
}
