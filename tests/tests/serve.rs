//! `limn serve` on the real binary: what it answers is what the command finds, what it is asked
//! wrongly it says, and it follows its index without failing a request.

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
fn what_is_asked_wrongly_is_refused_and_costs_nothing() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    for (path, status, code) in [
        ("/v1/search", 400, "bad_request"),
        ("/v1/search?q=", 400, "bad_request"),
        ("/v1/search?q=%20%20", 400, "bad_request"),
        ("/v1/search?q=x&k=1000000000", 400, "bad_request"),
        ("/v1/search?q=x&k=0", 400, "bad_request"),
        ("/v1/search?q=x&k=many", 400, "bad_request"),
        ("/v1/search?q=x&alpha=-0.5", 400, "bad_request"),
        ("/v1/search?q=x&alpha=NaN", 400, "bad_request"),
        (
            "/v1/search?q=x&modified_after=yesterday",
            400,
            "bad_request",
        ),
        ("/v1/search?q=x&colour=red", 400, "bad_request"),
        ("/v1/table?table=nowhere", 404, "not_found"),
        ("/v1/table?table=", 400, "bad_request"),
        ("/v1/table/similar?table=nowhere", 404, "not_found"),
        ("/v1/table/history?table=nowhere", 404, "not_found"),
        ("/v1/diff?from=999999", 404, "not_found"),
        ("/v1/diff?from=1&since=1d", 400, "bad_request"),
        ("/v1/diff?since=soon", 400, "bad_request"),
        ("/v1/diff?limit=0", 400, "bad_request"),
        ("/v1/tables?after=x", 400, "bad_request"),
        ("/v2/search?q=x", 404, "not_found"),
        ("/assets/nothing.js", 404, "not_found"),
        ("/assets/..%2Findex.html", 404, "not_found"),
    ] {
        node.get(path).is_error(status, code);
    }
    node.send("DELETE", "/v1/search", &[], None)
        .is_error(405, "method_not_allowed");
    node.send("POST", "/v1/search", &[], Some("{\"q\": "))
        .is_error(400, "bad_request");
    let plain = [("content-type", "text/plain")];
    node.send("POST", "/v1/search", &plain, None)
        .is_error(415, "unsupported_media_type");
    // A judge that is not there is missed by who asks for one.
    let judged = node.post("/v1/search", &json!({"q": "water", "judge": true}));
    let judged = judged.ok();
    assert!(judged["notes"].to_string().contains("no judge"), "{judged}");
    let vast = json!({"q": "x".repeat(10_000_000)});
    node.post("/v1/search", &vast).is_error(413, "too_large");
    let words = json!({"q": "many words ".repeat(5_000)});
    node.post("/v1/search", &words).is_error(400, "bad_request");
    node.post("/v1/events", &json!({"Records": []}))
        .is_error(404, "not_found");
    let feedback = json!({"question": "x", "table": "hr/employees", "verdict": "right"});
    node.post("/v1/feedback", &feedback)
        .is_error(404, "not_found");
    // Another site's page that has taken this node's address for its own name.
    let other = [("host", "evil.test")];
    node.send("GET", "/v1/status", &other, None)
        .is_error(403, "forbidden");
    // What is odd and no mistake is answered.
    for odd in [
        "🦀 🧀",
        "مياه الأنهار",
        "\u{200b}\u{200b}water",
        "a\u{0}b",
        "'; DROP TABLE x --",
    ] {
        node.get(&search(odd)).ok();
    }
    let given = [("x-request-id", "mine-1")];
    let answer = node.send("GET", "/health/live", &given, None);
    assert_eq!(
        (answer.status, answer.headers["x-request-id"].as_bytes()),
        (204, &b"mine-1"[..])
    );
    let page = node.get("/");
    assert!(page.body.contains("<title>limn</title>"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    let described = node.get("/openapi.json").ok();
    assert!(described["paths"]["/v1/search"]["get"].is_object());
    let metrics = node.get("/metrics").body;
    assert!(metrics.contains("route=\"/v1/search\",status=\"400\"") && metrics.contains("# EOF"));
    assert_eq!(node.end(), Some(0));
}

#[test]
fn what_is_wrong_is_said_in_a_callers_words() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    let whole = "a whole number from 1 to 1000 is expected";
    for (asked, message) in [
        ("search?q=x&k=1e9", format!("k is '1e9': {whole}")),
        ("search?q=x&k=-1", format!("k is '-1': {whole}")),
        ("search?q=x&k=", format!("k is '': {whole}")),
        ("tables?limit=many", format!("limit is 'many': {whole}")),
        (
            "search?q=x&alpha=half",
            "alpha is 'half': a number from 0 to 1 is expected".to_owned(),
        ),
        (
            "search?q=x&judge=yes",
            "judge is 'yes': true or false is expected".to_owned(),
        ),
        (
            "search?q=x&min_rows=-5",
            "min_rows is '-5': a whole number of at least 0 is expected".to_owned(),
        ),
        (
            "search?q=x&modified_after=yesterday",
            "modified_after is 'yesterday': write a time as 2026-01-31T12:00:00Z or a date as 2026-01-31".to_owned(),
        ),
        ("search?q=x&colour=red", "unknown field `colour`".to_owned()),
        ("search?q=x&k=1&k=2", "duplicate field `k`".to_owned()),
        ("search?k=1", "missing field `q`".to_owned()),
        ("table?table=", "the table's name is empty".to_owned()),
    ] {
        let got = node.get(&format!("/v1/{asked}"));
        got.is_error(400, "bad_request");
        let error = &got.json()["error"]["message"];
        assert!(error.as_str().unwrap().contains(&message), "{asked}: {error}");
    }
    for (body, message) in [
        (r#"["x", 5]"#, "no object"),
        (r#""x""#, "no object"),
        ("", "no object"),
        (r#"{"q": "#, "no JSON"),
        (
            r#"{"q": "x", "k": "5"}"#,
            "k is \"5\": a whole number from 1 to 1000",
        ),
        (
            r#"{"q": "x", "k": 1e9}"#,
            "k is 1000000000.0: a whole number",
        ),
        (
            r#"{"q": "x", "modified_before": "soon"}"#,
            "modified_before is \"soon\": write a time as",
        ),
        (r#"{"q": 5}"#, "q is 5: "),
        (r#"{"q": "x", "colour": 1}"#, "unknown field `colour`"),
        (r#"{"q": "x", "q": "y"}"#, "duplicate field `q`"),
    ] {
        let got = node.send("POST", "/v1/search", &[], Some(body));
        got.is_error(400, "bad_request");
        let error = &got.json()["error"]["message"];
        assert!(error.as_str().unwrap().contains(message), "{body}: {error}");
    }
    let list = r#"["x", "hr/employees", "right"]"#;
    node.send("POST", "/v1/feedback", &[], Some(list))
        .is_error(400, "bad_request");
    let count = |path: &str| {
        let answer = node.get(path).ok();
        answer["results"].as_array().unwrap().len()
    };
    let water = "/v1/search?q=water";
    assert!(count(water) > 0);
    assert_eq!(
        count(&format!("{water}&modified_after=2001-01-01")),
        count(water)
    );
    assert_eq!(count(&format!("{water}&modified_before=2001-01-01")), 0);
    let since = json!({"q": "water", "modified_after": "2001-01-01"});
    assert!(
        !node.post("/v1/search", &since).ok()["results"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    // A word for no format would find nothing and not say why. What case it has does not count.
    for asked in [
        "search?q=x&format=xlsx",
        "search?q=x&format=",
        "search?q=x&column_type=int",
        "tables?format=jsonl",
    ] {
        let got = node.get(&format!("/v1/{asked}"));
        got.is_error(400, "bad_request");
        let remedy = got.json()["error"]["remedy"].to_string();
        let known = ["parquet", "integer"]
            .iter()
            .any(|word| remedy.contains(word));
        assert!(known, "{asked}: {remedy}");
    }
    for asked in [
        "search?q=x&format=Parquet&column_type=INTEGER",
        "tables?format=JSONLines",
    ] {
        node.get(&format!("/v1/{asked}")).ok();
    }

    for (asked, meant) in [
        ("/health", "did you mean /health/live or /health/ready?"),
        ("/v1/tabels", "did you mean /v1/tables?"),
        ("/search?q=x", "did you mean /v1/search?"),
        ("/nothing/like/it", "see /openapi.json"),
    ] {
        let got = node.get(asked);
        got.is_error(404, "not_found");
        let remedy = &got.json()["error"]["remedy"];
        assert!(
            remedy.as_str().unwrap().starts_with(meant),
            "{asked}: {remedy}"
        );
    }
    let refused = node.send("DELETE", "/v1/search", &[], None);
    let methods = refused.headers["allow"].to_str().unwrap();
    assert!(
        methods.contains("GET") && methods.contains("POST"),
        "{methods}"
    );
    assert_eq!(node.end(), Some(0));
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

/// Requests under way are bounded for all and for each caller, and too many are refused.
#[test]
fn a_busy_node_says_so_and_is_well_afterwards() {
    let ground = Ground::new();
    let keys = ground.at("keys");
    let key = || {
        let made = limn(&["keys", "add", "--keys", &keys, "--json"]).ok();
        made["key"].as_str().unwrap().to_owned()
    };
    let [first, second, third] = [key(), key(), key()];
    let node = Node::start(
        &ground.at("index"),
        &["--keys", &keys, "--concurrency", "2"],
    );
    let address = node.url.trim_start_matches("http://").to_owned();
    // A request whose body does not come has its place meanwhile.
    let hold = |key: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!(
            "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let until = |key: &str, status: u16| {
        let asked = Instant::now();
        loop {
            let reply = node.get_with(key, "/v1/status");
            if reply.status == status {
                return reply;
            }
            assert!(asked.elapsed() < Duration::from_secs(20), "{reply:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // It may come while the request that looks for it is being answered, and be refused itself:
    // then another one holds.
    let held_by = |key: &str| {
        for _ in 0..50 {
            let stream = hold(key);
            std::thread::sleep(Duration::from_millis(200));
            let reply = node.get_with(key, "/v1/status");
            if reply.status == 429 {
                return (stream, reply);
            }
        }
        panic!("no request is held");
    };
    let (one, refused) = held_by(&first);
    refused.is_error(429, "too_many_requests");
    assert!(refused.headers.contains_key("retry-after"));
    node.get_with(&second, "/v1/status").ok();
    let (other, _) = held_by(&second);
    let refused = until(&third, 503);
    refused.is_error(503, "busy");
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(node.get("/health/live").status, 204);
    drop((one, other));
    for key in [&first, &second, &third] {
        until(key, 200);
    }
    assert_eq!(node.end(), Some(0));
}

/// Clients that send their request byte by byte, or never, hold nobody up, and are left in time.
#[test]
fn a_slow_client_holds_nobody_up() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    let address = node.url.trim_start_matches("http://").to_owned();
    let mut slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream
                .write_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-A: ")
                .unwrap();
            stream
        })
        .collect();
    // These send nothing at all, or the first letter.
    for first in [&b""[..], b"P"] {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(first).unwrap();
        slow.push(stream);
    }
    let mut body = TcpStream::connect(&address).unwrap();
    let head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    body.write_all(head.as_bytes()).unwrap();
    let started = Instant::now();
    for question in QUESTIONS {
        node.get(&search(question)).ok();
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    let mut answer = String::new();
    body.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut buffer = [0; 4096];
    let read = body.read(&mut buffer).unwrap();
    answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    for stream in &mut slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut rest = Vec::new();
        // The end of the connection, in whatever manner.
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "{:?}",
        started.elapsed()
    );
    node.get("/health/ready");
    let zipped = node.send("GET", "/openapi.json", &[("accept-encoding", "gzip")], None);
    assert_eq!(zipped.headers["content-encoding"], "gzip");
    let head = node.send("HEAD", "/v1/status", &[], None);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_ne!(head.headers["content-length"], "0");
    assert_eq!(node.end(), Some(0));
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
fn feedback_becomes_questions_to_measure_by() {
    let ground = Ground::new();
    let file = ground.at("feedback.jsonl");
    let index = ground.at("index");
    let node = Node::start(&index, &["--feedback", &file]);
    let said = |table: &str, verdict: &str| json!({"question": "sick leave of employees", "table": table, "verdict": verdict});
    assert_eq!(
        node.post("/v1/feedback", &said("hr/employees", "right"))
            .status,
        204
    );
    assert_eq!(
        node.post("/v1/feedback", &said("shop/orders", "wrong"))
            .status,
        204
    );
    node.post("/v1/feedback", &said("nowhere", "right"))
        .is_error(404, "not_found");
    node.post("/v1/feedback", &said("hr/employees", "maybe"))
        .is_error(400, "bad_request");
    let lines = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["tables"], json!(["hr/employees"]));
    assert_eq!(lines[1]["tables"], json!([]));
}

#[test]
fn a_full_file_of_feedback_loses_nothing_and_is_begun_anew_when_it_is_moved() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let (file, moved) = (ground.at("feedback.jsonl"), ground.at("moved.jsonl"));
    let flags = ["--feedback", &file, "--feedback-size", "2KiB"];
    let node = Node::start(&ground.at("index"), &flags);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut said = Vec::new();
    let refused = loop {
        let question = format!("question {} {}", said.len(), "x".repeat(200));
        let feedback = json!({"question": question, "table": "hr/employees", "verdict": "right"});
        match node.post("/v1/feedback", &feedback) {
            reply if reply.status == 204 => said.push(question),
            reply => break reply,
        }
        assert!(said.len() < 100);
    };
    refused.is_error(503, "unavailable");
    assert!(refused.body.contains("--feedback-size"));
    // What a node says may be read a little later than what it answers.
    let refused_at = Instant::now();
    while !node.said().contains("--feedback-size") {
        assert!(refused_at.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    let kept = |file: &str| -> Vec<String> {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.len() <= 2 << 10, "{}", text.len());
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let questions = lines.map(|line| line["question"].as_str().unwrap().to_owned());
        questions.collect()
    };
    assert!(said.len() > 2);
    assert_eq!(kept(&file), said);
    std::fs::rename(&file, &moved).unwrap();
    let feedback = json!({"question": "new", "table": "hr/employees", "verdict": "right"});
    assert_eq!(node.post("/v1/feedback", &feedback).status, 204);
    assert_eq!((kept(&file), kept(&moved)), (vec!["new".to_owned()], said));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
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
