//! `limn serve` on the real binary: what it answers is what the command finds, what it is asked
//! wrongly it says, and it follows its index without failing a request.

mod feedback;
mod load;
mod refused;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use limn_tests::node::{Node, escaped};
use limn_tests::s3::S3Server;
use limn_tests::{lake, limn, limn_command, run, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const QUESTIONS: [&str; 4] = [
    "sick leave of employees",
    "river water level",
    "moons of planets and cheese",
    "amount by customer and day",
];

/// A varied lake with an index of it.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let folder = TempDir::new().unwrap();
        lake::varied(&folder.path().join("lake"));
        let ground = Ground { folder };
        ground.index();
        ground
    }

    fn lake(&self) -> String {
        text(&self.folder.path().join("lake")).to_owned()
    }

    fn at(&self, name: &str) -> String {
        text(&self.folder.path().join(name)).to_owned()
    }

    fn index(&self) {
        self.index_at("index");
    }

    fn index_at(&self, name: &str) {
        let (lake, index) = (self.lake(), self.at(name));
        limn(&[
            "index",
            &lake,
            "--index",
            &index,
            "--embedder",
            "hashed-words",
        ])
        .code_is(0);
    }
}

fn search(question: &str) -> String {
    format!("/v1/search?q={}&k=5", escaped(question))
}

#[test]
fn answers_are_those_of_the_command() {
    let ground = Ground::new();
    let index = ground.at("index");
    let node = Node::start(&index, &[]);
    for question in QUESTIONS {
        let by_command = limn(&["search", question, "--index", &index, "--json"]).ok();
        for served in [
            node.get(&search(question)).ok(),
            node.post("/v1/search", &json!({"q": question})).ok(),
        ] {
            assert_eq!(served["snapshot"], by_command["snapshot"]);
            let pairs = served["results"].as_array().unwrap().iter();
            let wanted = by_command["results"].as_array().unwrap();
            assert_eq!(pairs.len(), wanted.len());
            for (served, wanted) in pairs.zip(wanted) {
                for field in [
                    "table", "lake", "location", "score", "lexical", "semantic", "blocks",
                ] {
                    assert_eq!(served[field], wanted[field], "{question}: {field}");
                }
            }
        }
    }
    let listed = limn(&["tables", "--index", &index, "--json"]).ok();
    let tables = node.get("/v1/tables").ok();
    assert_eq!(tables["count"], listed.as_array().unwrap().len());
    for table in listed.as_array().unwrap() {
        let name = table["table"].as_str().unwrap();
        let served = node.get(&format!("/v1/table?table={}", escaped(name))).ok();
        let shown = limn(&["show", name, "--index", &index, "--json"]).ok();
        assert_eq!(served["sample"], shown[0]["sample"]);
        assert_eq!(served["column_count"], table["columns"]);
        let history = node
            .get(&format!("/v1/table/history?table={}", escaped(name)))
            .ok();
        assert_eq!(history["history"][0]["change"], "appeared", "{history}");
        let similar = node
            .get(&format!("/v1/table/similar?table={}&k=3", escaped(name)))
            .ok();
        let names = similar["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["table"]);
        assert!(
            names.clone().count() > 0 && names.clone().all(|it| it != name),
            "{similar}"
        );
    }
    assert_eq!(node.end(), Some(0));
}

#[test]
fn lists_go_on_and_filters_hold() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    let mut names = Vec::new();
    let mut path = "/v1/tables?limit=3".to_owned();
    loop {
        let page = node.get(&path).ok();
        let tables = page["tables"].as_array().unwrap().iter();
        names.extend(tables.map(|table| table["table"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/tables?limit=3&after={}", escaped(next)),
            None => break,
        }
    }
    let count = node.get("/v1/tables").ok()["count"].as_u64().unwrap();
    assert_eq!(names.len() as u64, count);
    names.dedup();
    assert_eq!(names.len() as u64, count);

    let found = |filter: &str| -> Vec<Value> {
        let answer = node
            .get(&format!(
                "/v1/search?q=day+amount+customer+river+water+level&k=20{filter}"
            ))
            .ok();
        let results = answer["results"].as_array().unwrap().clone();
        if results.is_empty() {
            assert!(
                !answer["notes"].as_array().unwrap().is_empty(),
                "it says why"
            );
        }
        results
    };
    assert!(found("").len() > 3);
    assert!(
        found("&format=parquet")
            .iter()
            .all(|it| it["format"] == "parquet")
    );
    assert_eq!(found("&format=parquet").len(), 1);
    assert_eq!(found("&prefix=shop").len(), 1);
    assert_eq!(found("&min_rows=90").len(), 1);
    assert!(
        found("&max_rows=2")
            .iter()
            .all(|it| it["rows"].as_u64().unwrap() <= 2)
    );
    assert_eq!(found("&modified_before=2001-01-01T00:00:00Z").len(), 0);
    let with_floats = found("&column_type=float");
    assert!(!with_floats.is_empty() && with_floats.len() < count as usize);
    let root = node.get("/v1/tree").ok();
    assert_eq!(root["count"], count);
    let names = |tree: &Value, kind: &str, field: &str| -> Vec<String> {
        let found = tree[kind].as_array().unwrap().iter();
        found
            .map(|it| it[field].as_str().unwrap().to_owned())
            .collect()
    };
    let (mut folders, mut tables) = (Vec::new(), Vec::new());
    let mut path = "/v1/tree?limit=2".to_owned();
    loop {
        let step = node.get(&path).ok();
        assert_eq!(step["count"], count);
        folders.extend(names(&step, "folders", "path"));
        tables.extend(names(&step, "tables", "table"));
        match step["next"].as_str() {
            Some(next) => path = format!("/v1/tree?limit=2&after={}", escaped(next)),
            None => break,
        }
    }
    assert_eq!(folders, names(&root, "folders", "path"));
    assert_eq!(tables, names(&root, "tables", "table"));
    assert!(folders.len() + tables.len() > 4 && root["next"].is_null());
    let hr = node.get("/v1/tree?prefix=hr").ok();
    assert_eq!(
        (&hr["count"], &hr["tables"][0]["table"]),
        (&json!(1), &json!("hr/employees"))
    );
    let suggested = node.get("/v1/suggest?q=employ").ok();
    assert_eq!(suggested["suggestions"][0]["table"], "hr/employees");
}

#[test]
fn texts_are_given_as_many_as_are_asked_for() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    for question in QUESTIONS {
        let got = node.get(&search(question)).ok();
        for most in [0, 1, 2] {
            let fewer = node.post(
                "/v1/search",
                &json!({"q": question, "k": 5, "blocks": most}),
            );
            let mut fewer = fewer.ok();
            let results = fewer["results"].as_array_mut().unwrap();
            assert_eq!(results.len(), got["results"].as_array().unwrap().len());
            for (fewer, got) in results.iter_mut().zip(got["results"].as_array().unwrap()) {
                let blocks = got["blocks"].as_array().unwrap();
                let first = &blocks[..blocks.len().min(most)];
                assert_eq!(fewer["blocks"], json!(first), "{question}");
                fewer["blocks"] = got["blocks"].clone();
                assert_eq!(fewer, got, "{question}");
            }
        }
    }
    node.get("/v1/search?q=x&blocks=11")
        .is_error(400, "bad_request");
}

#[test]
fn newer_snapshots_are_served_and_no_request_fails() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &["--follow", "100ms"]);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for question in QUESTIONS {
            scope.spawn({
                let (node, stop, answered) = (&node, &stop, &answered);
                move || {
                    while !stop.load(Ordering::Relaxed) {
                        node.get(&search(question)).ok();
                        node.get("/v1/table?table=hr/employees").ok();
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 0..6 {
            let name = format!("new/table{round}.csv");
            lake::write(
                Path::new(&ground.lake()),
                &name,
                &format!("glacier{round},x\n1,2\n"),
            );
            ground.index();
            let path = format!("/v1/table?table=new/table{round}");
            let started = Instant::now();
            while node.get(&path).status != 200 {
                assert!(started.elapsed() < Duration::from_secs(20), "round {round}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(answered.load(Ordering::Relaxed) > 20);
    let changes = node.get("/v1/diff?from=1").ok();
    assert_eq!(changes["appeared"].as_array().unwrap().len(), 6);
    let first = node.get("/v1/diff?from=1&limit=2").ok();
    assert_eq!(first["appeared"].as_array().unwrap().len(), 2);
    assert_eq!(first["counts"]["appeared"], 6);
    assert_eq!(first["counts"], changes["counts"]);
    // With the index removed, what is open is served, and what is not is reported.
    std::fs::rename(ground.at("index"), ground.at("away")).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    node.get(&search(QUESTIONS[0])).ok();
    node.get("/v1/table?table=hr/employees")
        .is_error(503, "unavailable");
    node.get("/v1/snapshots").is_error(503, "unavailable");
    let metrics = node.get("/metrics").body;
    let missed = metrics
        .lines()
        .find_map(|line| line.strip_prefix("limn_snapshot_errors_total "));
    assert!(missed.unwrap().parse::<u64>().unwrap() > 0, "{metrics}");
    std::fs::rename(ground.at("away"), ground.at("index")).unwrap();
    node.get("/v1/table?table=hr/employees").ok();
    assert_eq!(node.end(), Some(0));
}

#[test]
fn an_index_on_s3_is_served_from_a_cache_that_outlives_the_node() {
    let server = S3Server::start();
    let environment: Vec<(String, String)> = server
        .environment()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let folder = TempDir::new().unwrap();
    lake::varied(&folder.path().join("lake"));
    let index = &server.url("index");
    let lake = text(&folder.path().join("lake")).to_owned();
    let arguments = [
        "index",
        &lake,
        "--index",
        index,
        "--embedder",
        "hashed-words",
    ];
    run(limn_command(&arguments).envs(environment.iter().cloned())).code_is(0);
    let cache = text(&folder.path().join("cache")).to_owned();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let node = Node::start_in(
            index,
            &["--cache", &cache, "--cache-size", "1MiB"],
            &environment,
        );
        let found = QUESTIONS.map(|question| node.get(&search(question)).ok()["results"].clone());
        answers.push(found);
        assert_eq!(node.end(), Some(0));
    }
    assert_eq!(answers[0], answers[1]);
    assert!(std::fs::read_dir(&cache).unwrap().count() > 0);
}

#[test]
fn a_node_that_others_can_reach_asks_for_keys() {
    let ground = Ground::new();
    let index = ground.at("index");
    let refused = limn(&["serve", "--index", &index, "--listen", "0.0.0.0:0"]);
    refused.code_is(2);
    assert!(refused.stderr.contains("--keys") && refused.stderr.contains("--open-to-all"));
    let none = limn(&[
        "serve",
        "--index",
        &ground.at("nothing"),
        "--listen",
        "127.0.0.1:0",
    ]);
    none.code_is(2);
    assert!(none.stderr.contains("no index at"), "{none:?}");
}
