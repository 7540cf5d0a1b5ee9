//! Lake and index on a real S3-compatible server, with the default embedder: same tables, texts and
//! scores as on local disk, and one clear line for what can be wrong with access.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_tests::s3::S3Server;
use limn_tests::{Run, lake, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

fn limn_on(server: &S3Server, arguments: &[&str]) -> Run {
    run(limn_command(arguments).envs(server.environment()))
}

/// Answers without what names the place.
fn answers(ask: impl Fn(&str) -> Run) -> Vec<Value> {
    [
        "sick leave of employees",
        "river water level",
        "moons of planets",
        "sales amount by day",
    ]
    .into_iter()
    .map(|question| {
        let mut answer = ask(question).ok();
        for hit in answer["results"].as_array_mut().unwrap() {
            hit["location"] = Value::Null;
        }
        answer
    })
    .collect()
}

#[test]
fn lake_and_index_on_s3_answer_as_on_local_disk() {
    let scratch = TempDir::new().unwrap();
    let local_lake = scratch.path().join("data");
    lake::varied(&local_lake);
    let local_index = scratch.path().join("local.limn");
    let arguments = [
        "index",
        text(&local_lake),
        "--index",
        text(&local_index),
        "--json",
    ];
    let local = limn_tests::limn(&arguments).ok();

    let server = S3Server::start();
    // By the server's own tool: limn does not write lakes.
    server.copy_in(&local_lake, "/buckets/lake");
    let arguments = [
        "index",
        "s3://lake/data",
        "--index",
        "s3://lake/index",
        "--json",
    ];
    let remote = limn_on(&server, &arguments).ok();
    assert_eq!(remote["tables"], local["tables"], "{remote}");
    assert_eq!(remote["model"], local["model"], "the same texts");

    let local_answers = answers(|question| {
        limn_tests::limn(&[
            "search",
            question,
            "--index",
            text(&local_index),
            "-k",
            "10",
            "--json",
        ])
    });
    let remote_answers = answers(|question| {
        limn_on(
            &server,
            &[
                "search",
                question,
                "--index",
                "s3://lake/index",
                "-k",
                "10",
                "--json",
            ],
        )
    });
    assert_eq!(local_answers, remote_answers);

    let again = limn_on(&server, &arguments).ok();
    assert_eq!(
        (&again["snapshot"], &again["objects"]["read"]),
        (&remote["snapshot"], &0.into()),
        "{again}"
    );

    // What can be wrong with access: one clear line each, and no secret in it.
    let wrong_key = run(limn_command(&arguments)
        .envs(server.environment())
        .env("AWS_SECRET_ACCESS_KEY", "not-the-secret"));
    clear(&wrong_key, &["AWS_ACCESS_KEY_ID"], "not-the-secret");
    let no_bucket = limn_on(
        &server,
        &[
            "index",
            "s3://nowhere/data",
            "--index",
            "s3://lake/other",
            "--embedder",
            "hashed-words",
        ],
    );
    clear(&no_bucket, &["nowhere"], limn_tests::s3::SECRET);
    let refused = run(limn_command(&arguments)
        .envs(server.environment())
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9"));
    clear(&refused, &["127.0.0.1:9"], limn_tests::s3::SECRET);
}

fn clear(run: &Run, wanted: &[&str], secret: &str) {
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(run.stderr.trim_end().lines().count(), 1, "{run:?}");
    assert!(!run.stderr.contains(secret), "{run:?}");
    for part in wanted {
        assert!(run.stderr.contains(part), "'{part}' expected: {run:?}");
    }
}
