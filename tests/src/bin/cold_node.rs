//! How soon a node answers that has nothing of an index in an object store.
//!
//! `cold_node INDEX --questions QUESTIONS.jsonl [--latency 30] [--limit 50]` copies an index (of a local folder) into a real S3-compatible
//! server, puts a proxy before it that lets every request take so many milliseconds longer, and serves it with an empty cache; then
//! again with what is in the cache by then. Prints JSON: when the node listens, when the first question is answered, what the following ones
//! take, and how many requests came.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use limn_tests::faulty::FaultyServer;
use limn_tests::node::{Node, escaped};
use limn_tests::s3::S3Server;
use limn_tests::text;
use serde_json::{Value, json};
use tempfile::TempDir;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default: u64| {
        option(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (Some(index), Some(questions)) = (arguments.first(), option("--questions")) else {
        eprintln!("usage: cold_node INDEX --questions QUESTIONS.jsonl [--latency 30] [--limit 50]");
        std::process::exit(2);
    };
    let latency = number("--latency", 30);
    let questions: Vec<String> = std::fs::read_to_string(questions)
        .unwrap()
        .lines()
        .take(number("--limit", 50) as usize)
        .map(|line| {
            let question: Value = serde_json::from_str(line).unwrap();
            format!(
                "/v1/search?q={}",
                escaped(question["question"].as_str().unwrap())
            )
        })
        .collect();

    let server = S3Server::start();
    server.copy_in(Path::new(index), "/buckets/lake");
    let name = Path::new(index).file_name().unwrap().to_string_lossy();
    let proxy = FaultyServer::before(&server.endpoint, 1);
    proxy.set_latency(Duration::from_millis(latency));
    let mut environment: Vec<(String, String)> = server
        .environment()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    environment.push(("AWS_ENDPOINT_URL".to_owned(), proxy.endpoint.clone()));
    let scratch = TempDir::new().unwrap();
    let cache = scratch.path().join("cache");

    let mut told = serde_json::Map::new();
    for round in ["empty_cache", "its_own_cache"] {
        let before = proxy.counts().0;
        let started = Instant::now();
        let node = Node::start_in(
            &format!("s3://lake/{name}"),
            &["--cache", text(&cache), "--no-question-cache"],
            &environment,
        );
        let open = started.elapsed();
        let to_open = proxy.counts().0 - before;
        let ask = |path: &String| {
            let asked = Instant::now();
            node.get(path).ok();
            asked.elapsed().as_secs_f64() * 1e3
        };
        let first = ask(&questions[0]);
        let to_answer = proxy.counts().0 - before - to_open;
        let mut following: Vec<f64> = questions[1..].iter().map(ask).collect();
        let last = following.split_off(following.len() / 2);
        told.insert(
            round.to_owned(),
            json!({
                "listens_after_s": rounded(open.as_secs_f64()),
                "first_question_ms": rounded(first),
                "first_half_of_questions_ms": median(following),
                "second_half_of_questions_ms": median(last),
                "requests_to_open": to_open,
                "requests_of_first_question": to_answer,
                "requests_of_others": proxy.counts().0 - before - to_open - to_answer,
                "memory_mib": node.memory() >> 20,
            }),
        );
        node.end();
    }
    told.insert("latency_ms".to_owned(), json!(latency));
    told.insert("questions".to_owned(), json!(questions.len()));
    println!("{}", serde_json::to_string_pretty(&told).unwrap());
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    rounded(times.get(times.len() / 2).copied().unwrap_or_default())
}

fn rounded(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}
