//! The task pages: their commands are run as they stand, over a real S3 server, a real queue and a
//! real server of language models; the messages that they explain are limn's own; their links lead
//! somewhere.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use limn_tests::llama::{KEY, LlamaServer, WINDOW};
use limn_tests::pages::{self, Shell};
use limn_tests::s3::S3Server;
use limn_tests::sqs::SqsServer;
use limn_tests::{lake, repository};

const PAGES: [&str; 6] = [
    "nightly.md",
    "changes.md",
    "access.md",
    "quality.md",
    "models.md",
    "troubleshooting.md",
];

fn by_names() -> (String, String) {
    ("LIMN_NARRATE".to_owned(), "names".to_owned())
}

fn on(server: &S3Server) -> Vec<(String, String)> {
    let environment = server.environment().into_iter();
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    environment.chain([by_names()]).collect()
}

/// A port that nobody listens on.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[test]
fn the_pages_about_a_bucket_do_what_they_say() {
    let server = S3Server::start_named("lake");
    server.copy_in(&repository().join("examples/lake"), "");
    thread::scope(|scope| {
        let server = &server;
        for page in [nightly, changes, access, quality] {
            scope.spawn(move || page(server));
        }
    });
}

fn nightly(server: &S3Server) {
    let place = [
        ("s3://acme-data/lake", "s3://lake/lake"),
        ("s3://acme-data/limn", "s3://lake/nightly.limn"),
        ("/usr/local/bin/limn", "limn"),
        ("/etc/limn.env", "./limn.env"),
    ];
    let mut shell = Shell::start(&on(server), &place);
    shell.run_page("nightly.md", |_, commands, said| {
        if commands.starts_with("limn index\nlimn search") {
            assert!(said.contains("22 added"), "{said}");
            assert!(said.contains(" 1. retail/orders"), "{said}");
        }
        if commands.starts_with("limn index --json") {
            assert!(said.contains("'unchanged': 22"), "{said}");
        }
    });
    // What the schedulers run.
    fs::write(shell.at("limn.env"), "").unwrap();
    let page = pages::blocks(&pages::read("nightly.md"));
    let mut scheduled = Vec::new();
    for block in &page {
        for line in block.text.lines() {
            let unit = line.strip_prefix("ExecStart");
            scheduled.extend(unit.and_then(|it| Some(it.split_once('=')?.1)));
            scheduled.extend(line.strip_prefix("15 2 * * * "));
        }
    }
    assert_eq!(scheduled.len(), 3, "{scheduled:?}");
    for command in scheduled {
        shell.run(command);
    }
}

fn changes(server: &S3Server) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sqs = runtime.block_on(SqsServer::start());
    let queue = runtime.block_on(sqs.create("lake-events"));
    let (events, open) = (free_port(), free_port());
    let place = [
        ("s3://acme-data/lake", "s3://lake/lake"),
        ("s3://acme-data/limn", "s3://lake/changes.limn"),
        (
            "https://sqs.eu-central-1.amazonaws.com/123456789012/lake-events",
            queue.as_str(),
        ),
        ("7710", events.as_str()),
        ("7711", open.as_str()),
    ];
    let mut environment = on(server);
    // The queue's region; the server of the bucket takes any.
    environment.push(("AWS_REGION".to_owned(), "eu-central-1".to_owned()));
    let mut shell = Shell::start(&environment, &place);
    let notification = r#"{"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "lake"}, "object": {"key": "lake/retail/products.csv"}}}]}"#;
    shell.run_page("changes.md", |shell, commands, said| {
        if commands.starts_with("limn watch ./lake") {
            shell.run("until_true limn show visitors --index lake.limn");
        }
        if commands.contains("lake/parcels.csv") {
            shell.run("until_true limn show parcels --index lake.limn");
        }
        if commands.contains("--queue") {
            runtime.block_on(async {
                sqs.send(&queue, &[notification.to_owned()]).await;
                let deadline = Instant::now() + Duration::from_secs(60);
                while sqs.count(&queue).await != (0, 0) {
                    let said = || fs::read_to_string(shell.at("background.log"));
                    assert!(Instant::now() < deadline, "{:?}", said());
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        }
        if commands.starts_with("curl") {
            assert!(said.contains(r#""accepted":1"#), "{said}");
        }
        if commands.starts_with("limn update") {
            assert!(said.contains("unchanged"), "{said}");
        }
    });
    // What it sends AWS is JSON, and JSON within.
    let page = pages::blocks(&pages::read("changes.md"));
    let policy = page.iter().find(|block| block.language == "json").unwrap();
    let policy: serde_json::Value = serde_json::from_str(&policy.text).unwrap();
    let policy: serde_json::Value =
        serde_json::from_str(policy["Policy"].as_str().unwrap()).unwrap();
    assert_eq!(policy["Statement"][0]["Action"], "sqs:SendMessage");
}

fn access(server: &S3Server) {
    let port = free_port();
    let place = [
        ("s3://acme-data/lake", "s3://lake/lake"),
        ("s3://acme-data/limn", "s3://lake/access.limn"),
        ("7700", port.as_str()),
    ];
    let mut shell = Shell::start(&on(server), &place);
    let ask = r#"[ "$(curl -s -o again.json -w '%{http_code}' -H "Authorization: Bearer $RETAIL" "http://127.0.0.1:7700/v1/search?q=orders")" = 401 ]"#;
    shell.run_page("access.md", |shell, commands, said| {
        if commands.contains("orders+by+phone") {
            assert!(said.contains("retail/orders"), "{said}");
        }
        if commands.contains("seen.json") {
            assert_eq!(said.trim(), "{'retail'}", "only the team's tables");
        }
        if commands.contains("refused.json") {
            assert_eq!(said.trim(), "401");
        }
        if commands.starts_with("limn keys remove") {
            shell.run(&format!("refused() {{ {ask}; }}\nuntil_true refused"));
        }
    });
}

fn quality(server: &S3Server) {
    let place = [
        ("s3://acme-data/lake", "s3://lake/lake"),
        ("s3://acme-data/limn", "s3://lake/quality.limn"),
    ];
    let mut shell = Shell::start(&on(server), &place);
    shell.run_page("quality.md", |_, commands, said| {
        if commands.contains("--save") {
            assert!(said.contains("5 questions"), "{said}");
        }
        if commands.contains("both.jsonl") {
            assert!(said.contains("3 unanswerable questions: "), "{said}");
        }
        if commands.contains("--against") {
            assert!(said.contains("95 % intervals"), "{said}");
        }
    });
}

#[test]
fn the_page_about_models_does_what_it_says() {
    let server = LlamaServer::start();
    let place = [
        ("s3://acme-data/lake", "lake"),
        ("s3://acme-data/limn", "lake.limn"),
        ("http://localhost:8000/v1", server.endpoint.as_str()),
        ("my-model", "smollm2"),
        ("my-key", KEY),
        // The texts that it makes up take half a minute.
        (
            "--model all-MiniLM-L6-v2",
            "--model all-MiniLM-L6-v2 --texts few.txt",
        ),
    ];
    let window = ("LIMN_ENDPOINT_WINDOW".to_owned(), WINDOW.to_string());
    let mut shell = Shell::start(&[window], &place);
    let root = shell.at("lake");
    lake::write(&root, "retail/orders.csv", "day,qty\n2024-05-01,3\n");
    fs::write(shell.at("few.txt"), "orders by day\n").unwrap();
    shell.run_page("models.md", |_, commands, said| {
        if commands.contains("--narrate llm") {
            assert!(said.contains("1 added"), "{said}");
        }
    });
}

#[test]
fn the_remedies_of_the_troubleshooting_page_work() {
    let variables = [
        by_names(),
        (
            "AWS_ENDPOINT_URL".to_owned(),
            "http://127.0.0.1:7700".to_owned(),
        ),
    ];
    let mut shell = Shell::start(&variables, &[]);
    let root = shell.at("lake");
    lake::write(&root, "orders.csv", "day,qty\n2024-05-01,3\n");
    lake::write(&root, "bad.csv", "{\"error\": \"timed out\"}\n");
    let failed = shell.run("limn index ./lake --index lake.limn || [ $? -eq 1 ]");
    assert!(failed.contains("bad.csv: it is named as"), "{failed}");
    // Any answer will do for the address that it has tried.
    shell.run("limn serve --index lake.limn --listen 127.0.0.1:0");
    let said = fs::read_to_string(shell.at("background.log")).unwrap();
    let address = said.split_whitespace().find(|it| it.starts_with("http:"));
    shell.run(&format!("AWS_ENDPOINT_URL={}", address.unwrap()));
    shell.run_page("troubleshooting.md", |_, commands, said| {
        if commands.contains(".limnignore") {
            assert!(!said.contains("failed"), "{said}");
        }
        if commands.starts_with("curl") {
            assert_eq!(said.trim().len(), 3, "a status: {said}");
        }
    });
}

/// Sources of what limn says, with the lines of a text joined as the compiler joins them.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut parts = text.split("\\\n");
            found.push_str(parts.next().unwrap_or_default());
            parts.for_each(|part| found.push_str(part.trim_start()));
        }
    }
}

#[test]
fn the_messages_that_are_explained_are_what_limn_says() {
    let mut said = String::new();
    for folder in ["pipeline", "indexer", "query", "infra"] {
        sources(&repository().join(folder), &mut said);
    }
    let page = pages::read("troubleshooting.md");
    let messages: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .collect();
    assert!(messages.len() > 20, "{messages:?}");
    let unknown = messages.iter().filter(|message| !said.contains(**message));
    let unknown: Vec<_> = unknown.collect();
    assert!(unknown.is_empty(), "limn says none of these: {unknown:?}");
}

#[test]
fn the_pages_are_linked_and_their_links_lead_somewhere() {
    let repository = repository();
    let readme = repository.join("README.md");
    let linked = pages::links(&fs::read_to_string(&readme).unwrap());
    for page in PAGES {
        let path = format!("docs/tasks/{page}");
        assert!(
            linked.iter().any(|(to, _)| *to == path),
            "README lacks {page}"
        );
    }
    let tasks: Vec<PathBuf> = PAGES
        .map(|page| repository.join("docs/tasks").join(page))
        .into();
    let there = fs::read_dir(repository.join("docs/tasks")).unwrap().count();
    assert_eq!(there, PAGES.len(), "a page that no test knows");
    let dead = tasks.iter().chain([&readme]);
    let dead: Vec<String> = dead.flat_map(|page| pages::dead_links(page)).collect();
    assert!(dead.is_empty(), "{dead:#?}");
}
