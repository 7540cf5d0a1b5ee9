//! A lake narrated by a real model behind an endpoint: killed, gone on with, and left alone.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use limn_tests::llama::{KEY, LlamaServer, WINDOW};
use limn_tests::{lake, limn, limn_command, run, text};
use tempfile::TempDir;

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
    files.flatten().flatten().count()
}

#[test]
fn a_run_killed_while_it_narrates_is_gone_on_with() {
    let server = LlamaServer::start();
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("lake.limn"),
    );
    for table in 0..TABLES {
        lake::write(
            &lake,
            &format!("station{table}/readings.csv"),
            &format!("station_{table},day,rainfall_mm,wind,observer\n1,2024-01-01,3.5,4,Ann\n"),
        );
    }
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
    assert!(shown.stdout.contains("in a model's words"), "{shown:?}");
}
