//! A lake narrated by a real model behind an endpoint: killed, resumed, and left alone.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use limn_tests::llama::{KEY, LlamaServer, WINDOW};
use limn_tests::{lake, limn, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::hosts;

const TABLES: usize = 4;
const COLUMNS: u64 = 5;

/// `limn index` with what `--narrate auto` finds: an endpoint.
fn command(server: &LlamaServer, lake: &Path, index: &Path) -> Command {
    let mut command = limn_command(&[
        "index",
        text(lake),
        "--index",
        text(index),
        "--embedder",
        "hashed-words",
        "--json",
    ]);
    command
        .env_remove("LIMN_NARRATE")
        .env("LIMN_ENDPOINT", &server.endpoint)
        .env("LIMN_ENDPOINT_MODEL", "smollm2")
        .env("LIMN_ENDPOINT_KEY", KEY)
        .env("LIMN_ENDPOINT_WINDOW", WINDOW.to_string());
    command
}

fn narration_files(index: &Path) -> usize {
    let folders = std::fs::read_dir(index.join("cache/narrations"));
    let folders = folders.into_iter().flatten().flatten();
    let files = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    let files = files.flatten().flatten();
    // A file that is being written has another name until it is whole.
    let whole = files.filter(|file| file.path().extension().is_some_and(|it| it == "parquet"));
    whole.count()
}

/// A lake of `tables` tables, none of whose schemas is another's.
fn stations(lake: &Path, tables: usize) {
    for table in 0..tables {
        lake::write(
            lake,
            &format!("station{table}/readings.csv"),
            &format!("station_{table},day,rainfall_mm,wind,observer\n1,2024-01-01,3.5,4,Ann\n"),
        );
    }
}

#[test]
fn an_interrupted_run_says_what_it_keeps_and_is_resumed() {
    let server = LlamaServer::start();
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("lake.limn"),
    );
    stations(&lake, 5);
    let mut command = command(&server, &lake, &index);
    command.env("LIMN_ENDPOINT_CONCURRENCY", "2");
    let mut interrupted = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // When narrating begins, the lake is published.
    let mut stderr = BufReader::new(interrupted.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("narrating 25 columns"), "{line}");
    let started = Instant::now();
    while narration_files(&index) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no narration");
        std::thread::sleep(Duration::from_millis(5));
    }
    let signalled = Command::new("kill")
        .args(["-INT", &interrupted.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert!(said.contains("interrupt again to end at once"), "{said}");
    let ended = interrupted.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(report["stopped"], true, "{report}");
    assert_eq!(report["tables"]["added"], 5, "{report}");
    let first = report["model"]["narrated_columns"].as_u64().unwrap();
    assert!(first > 0, "{report}");
    let note = report["notes"][0].as_str().unwrap();
    assert!(
        note.contains(&format!("of 25 columns to be narrated, {first} are")),
        "{note}"
    );

    let rest = run(&mut command).ok();
    assert_eq!(rest["stopped"], false, "{rest}");
    assert_eq!(rest["model"]["narrated_columns"], 25 - first, "{rest}");
    assert_eq!(rest["objects"]["read"], 0, "{rest}");

    // A model that does not answer takes nothing of this away.
    let narrated = |index: &Path| -> u64 {
        let tables = limn(&["tables", "--index", text(index), "--json"]).ok();
        let tables = tables.as_array().unwrap().iter();
        tables
            .map(|it| it["narrated_columns"].as_u64().unwrap())
            .sum()
    };
    let before = narrated(&index);
    command
        .args(["--narrate", "llm"])
        .env("LIMN_ENDPOINT_MODEL", "another")
        .env("LIMN_ENDPOINT", "http://127.0.0.1:9/v1")
        .env("LIMN_ENDPOINT_ATTEMPTS", "1");
    let dead = run(&mut command);
    assert_eq!(dead.code, 2, "{dead:?}");
    assert!(dead.stderr.contains("the index is as it was"), "{dead:?}");
    assert!(before > 0 && narrated(&index) == before);
}

#[test]
fn each_process_asks_for_its_part_and_one_that_is_refused_costs_its_own() {
    let server = LlamaServer::start();
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("lake.limn"),
    );
    stations(&lake, 3);
    let hosts = hosts(2);
    let processes = ["0", "1"].map(|process| {
        let mut command = command(&server, &lake, &index);
        command.args(["--hosts", &hosts, "--process", process]);
        if process == "1" {
            command.env("LIMN_ENDPOINT_KEY", "another");
        }
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    let [leader, follower] = processes.map(|it| it.wait_with_output().unwrap());
    assert!(follower.stdout.is_empty(), "{follower:?}");
    let report: Value = serde_json::from_slice(&leader.stdout).unwrap();
    assert_eq!(report["tables"]["added"], 3, "{report}");
    let of_model = |name: &str| report["model"][name].as_u64().unwrap();
    let (narrated, failed) = (of_model("narrated_columns"), of_model("failed_columns"));
    assert!(narrated > 0 && failed > 0, "{report}");
    assert_eq!(narrated + failed, 15);
}

#[test]
fn a_run_killed_while_it_narrates_is_resumed() {
    let server = LlamaServer::start();
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("lake.limn"),
    );
    stations(&lake, TABLES);
    let mut killed = command(&server, &lake, &index)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while narration_files(&index) == 0 {
        assert!(started.elapsed() < Duration::from_secs(120), "no narration");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();

    // What it published is searchable: by names, as far as it was not narrated.
    let found = limn(&["search", "rainfall", "--index", text(&index), "--json"]).ok();
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");

    let second = run(&mut command(&server, &lake, &index));
    let report = second.ok();
    let narrated = report["model"]["narrated_columns"].as_u64().unwrap();
    let all = TABLES as u64 * COLUMNS;
    assert!(
        narrated < all,
        "what was stored is not asked again: {narrated} of {all}"
    );
    assert_eq!(report["tables"]["failed"], 0, "{report}");
    assert_eq!(report["objects"]["read"], 0, "{report}");
    if narrated > 0 {
        assert!(second.stderr.contains("--narrate names"), "{second:?}");
    }

    let third = run(&mut command(&server, &lake, &index)).ok();
    assert_eq!(third["model"]["narrated_columns"], 0);
    assert_eq!(third["requests"]["put"], 0, "{third}");
    let shown = limn(&[
        "show",
        "station3/readings",
        "--index",
        text(&index),
        "--json",
    ]);
    let shown = shown.ok();
    assert_eq!(shown[0]["awaits_narration"], false, "{shown}");
    let columns = shown[0]["columns"].as_array().unwrap();
    assert!(
        columns.iter().any(|column| column["narration"].is_string()),
        "{shown}"
    );
    let shown = limn(&["show", "station3/readings", "--index", text(&index)]);
    assert!(
        shown.stdout.contains("in the words of endpoint:smollm2"),
        "{shown:?}"
    );
}
