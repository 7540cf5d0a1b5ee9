//! How soon a node answers that has nothing of an index in an object store.
//!
//! Copies an index (of a local folder) into a real S3-compatible server, puts a proxy before it
//! that lets every request take some milliseconds longer, and serves it with an empty cache; then
//! again with what is in the cache by then. Prints JSON: when the node listens, when the first
//! question is answered, what the following ones take, and how many requests and bytes came by
//! then. A node brings what questions read while it answers already: what came until the first
//! answer has that in it, as far as it had come.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use limn_tests::faulty::FaultyServer;
use limn_tests::node::{Node, escaped};
use limn_tests::s3::S3Server;
use limn_tests::text;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Measures how soon a node answers that has nothing of an index in an object store.
#[derive(Parser)]
struct Arguments {
    /// The index, a local folder
    index: PathBuf,
    /// Questions, a JSON object with a `question` a line
    #[arg(long)]
    questions: PathBuf,
    /// Milliseconds that every request takes longer
    #[arg(long, default_value_t = 30)]
    latency: u64,
    /// Questions asked
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Requests and bytes.
fn traffic(proxy: &FaultyServer) -> (u64, u64) {
    (proxy.counts().0, proxy.bytes())
}

/// What came since, as JSON.
fn since(proxy: &FaultyServer, (requests, bytes): (u64, u64)) -> Value {
    let now = traffic(proxy);
    json!({"requests": now.0 - requests, "mb": rounded((now.1 - bytes) as f64 / 1e6)})
}

/// Waits until nothing has come for a second.
fn settle(proxy: &FaultyServer) {
    let mut before = traffic(proxy);
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = traffic(proxy);
        if now == before {
            return;
        }
        before = now;
    }
}

fn main() {
    let arguments = Arguments::parse();
    let (index, latency) = (&arguments.index, arguments.latency);
    let questions: Vec<String> = std::fs::read_to_string(&arguments.questions)
        .unwrap()
        .lines()
        .take(arguments.limit)
        .map(|line| {
            let question: Value = serde_json::from_str(line).unwrap();
            format!(
                "/v1/search?q={}",
                escaped(question["question"].as_str().unwrap())
            )
        })
        .collect();

    let server = S3Server::start();
    server.copy_in(index, "");
    let name = index.file_name().unwrap().to_string_lossy();
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

    let mut got = serde_json::Map::new();
    for round in ["empty_cache", "its_own_cache"] {
        let before = traffic(&proxy);
        let started = Instant::now();
        let node = Node::start_in(
            &server.url(&name),
            &["--cache", text(&cache), "--no-question-cache"],
            &environment,
        );
        let open = started.elapsed();
        let to_open = since(&proxy, before);
        let ask = |path: &String| {
            let asked = Instant::now();
            node.get(path).ok();
            asked.elapsed().as_secs_f64() * 1e3
        };
        let first = ask(&questions[0]);
        let (to_answer, answered) = (since(&proxy, before), started.elapsed());
        settle(&proxy);
        let to_rest = since(&proxy, before);
        let then = traffic(&proxy);
        let mut following: Vec<f64> = questions[1..].iter().map(ask).collect();
        let last = following.split_off(following.len() / 2);
        got.insert(
            round.to_owned(),
            json!({
                "listens_after_s": rounded(open.as_secs_f64()),
                "first_answer_after_s": rounded(answered.as_secs_f64()),
                "first_question_ms": rounded(first),
                "first_half_of_questions_ms": median(following),
                "second_half_of_questions_ms": median(last),
                "until_it_listens": to_open,
                "until_the_first_answer": to_answer,
                "until_all_is_brought": to_rest,
                "of_the_other_questions": since(&proxy, then),
                "memory_mib": node.memory() >> 20,
            }),
        );
        node.end();
    }
    let entries = walk(index);
    got.insert(
        "index_mb".to_owned(),
        json!(rounded(entries.iter().sum::<u64>() as f64 / 1e6)),
    );
    got.insert("objects".to_owned(), json!(entries.len()));
    got.insert("latency_ms".to_owned(), json!(latency));
    got.insert("questions".to_owned(), json!(questions.len()));
    println!("{}", serde_json::to_string_pretty(&got).unwrap());
}

/// The sizes of the files in a folder and below it.
fn walk(folder: &Path) -> Vec<u64> {
    let mut sizes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.metadata().unwrap() {
            data if data.is_dir() => sizes.extend(walk(&entry.path())),
            data => sizes.push(data.len()),
        }
    }
    sizes
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    rounded(times.get(times.len() / 2).copied().unwrap_or_default())
}

fn rounded(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}
