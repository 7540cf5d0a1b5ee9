//! Lake and index on a real S3-compatible server, with the default embedder: same tables, texts and
//! scores as on local disk, and one clear line for what can be wrong with access.

use futures::TryStreamExt;
use limn_tests::s3::S3Server;
use limn_tests::{Run, lake, limn_command, repository, run, text};
use serde_json::Value;
use tempfile::TempDir;

fn limn_on(server: &S3Server, arguments: &[&str]) -> Run {
    run(limn_command(arguments).envs(server.environment()))
}

/// Collects the garbage of an index as if a year had gone by.
fn a_year_later(server: &S3Server, index: &str) {
    const YEAR: i64 = 365 * 86_400_000;
    let variables = server.environment().into_iter();
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let store = limn_store::Store::open_with(index, variables).unwrap();
    let index = limn_segment::IndexStore::new(store);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let retention = limn_segment::Retention {
            older_than: std::time::Duration::from_secs(86_400),
            keep: 1,
        };
        let now = chrono::Utc::now().timestamp_millis() + YEAR;
        let garbage = index.garbage(retention, now).await.unwrap();
        assert!(
            garbage.snapshots.len() == 1 && !garbage.objects.is_empty(),
            "{garbage:?}"
        );
        index.remove_garbage(&garbage, &|| {}).await.unwrap();
        let left = index.garbage(retention, now).await.unwrap();
        assert_eq!(
            (left.snapshots.len(), left.objects.len()),
            (0, 0),
            "{left:?}"
        );
        assert_eq!(left.retained, [2]);
    });
}

/// Answers of an index, without what names the place.
fn answers(run: impl Fn(&[&str]) -> Run, index: &str) -> Vec<Value> {
    [
        "sick leave of employees",
        "river water level",
        "moons of planets",
        "sales amount by day",
    ]
    .into_iter()
    .map(|question| {
        let mut answer = run(&["search", question, "--index", index, "-k", "10", "--json"]).ok();
        for hit in answer["results"].as_array_mut().unwrap() {
            hit["location"] = Value::Null;
            hit["lake"] = Value::Null;
        }
        answer
    })
    .collect()
}

#[test]
fn a_large_lake_is_listed_by_its_folders_and_nothing_is_missed() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("data");
    // Names of which servers with an order of folders have another order than that of keys.
    let folders = ["area", "area-b", "area.c/d e", "area/ü"];
    for object in 0..6000 {
        let folder = folders[object % folders.len()];
        lake::write(&lake, &format!("{folder}/{object}.csv"), "a\n1\n");
    }
    lake::write(&lake, "area.csv", "a\n1\n");
    let server = S3Server::start();
    server.copy_in(&lake, "");
    let variables = server.environment().into_iter();
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let store = limn_store::Store::open_with(&server.url("data"), variables).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut listings = Vec::new();
        for listing in [store.list(""), store.list_unordered("")] {
            let before = store.counts().list;
            let mut paths: Vec<String> = listing.map_ok(|it| it.path).try_collect().await.unwrap();
            paths.sort_unstable();
            listings.push((paths, store.counts().list - before));
        }
        assert_eq!(listings[0].0.len(), 6001);
        assert_eq!(listings[0].0, listings[1].0);
        // The root is looked into, and its folders are listed on their own.
        assert!(listings[1].1 > listings[0].1, "{}", listings[1].1);
    });
}

#[test]
fn lake_and_index_on_s3_answer_as_on_local_disk() {
    let scratch = TempDir::new().unwrap();
    let local_lake = scratch.path().join("data");
    lake::varied(&local_lake);
    let local_index = scratch.path().join("local.limn");
    let local_arguments = [
        "index",
        text(&local_lake),
        "--index",
        text(&local_index),
        "--json",
    ];
    let local = limn_tests::limn(&local_arguments).ok();

    let server = S3Server::start();
    // By the server's own tool: limn does not write lakes.
    server.copy_in(&local_lake, "");
    let (lake, index) = (server.url("data"), server.url("index"));
    let (lake, index) = (lake.as_str(), index.as_str());
    let arguments = ["index", lake, "--index", index, "--json"];
    let remote = limn_on(&server, &arguments).ok();
    assert_eq!(remote["tables"], local["tables"], "{remote}");
    assert_eq!(remote["model"], local["model"], "the same texts");

    let same_answers = || {
        assert_eq!(
            answers(limn_tests::limn, text(&local_index)),
            answers(|asked| limn_on(&server, asked), index)
        );
    };
    same_answers();

    let again = limn_on(&server, &arguments).ok();
    assert_eq!(
        (&again["snapshot"], &again["objects"]["read"]),
        (&remote["snapshot"], &0.into()),
        "{again}"
    );

    // An edited table and a context: what was embedded before is found in the index on S3.
    lake::write(
        &local_lake,
        "hr/employees.md",
        "Leave days of the staff, by person.",
    );
    let csv = local_lake.join("hr/employees.csv");
    let mut rows = std::fs::read_to_string(&csv).unwrap();
    rows.push_str(rows.clone().lines().last().unwrap());
    std::fs::write(&csv, rows + "\n").unwrap();
    server.copy_in(&local_lake, "");
    limn_tests::limn(&local_arguments).ok();
    let edited = limn_on(&server, &arguments).ok();
    assert_eq!(edited["snapshot"], 2, "{edited}");
    let since = limn_on(&server, &["diff", "--index", index, "--json"]).ok();
    // All files were written again; one has another content.
    assert_eq!(since["changed"].as_array().unwrap().len(), 1, "{since}");
    assert_eq!(since["changed"][0]["table"], "hr/employees", "{since}");
    let verified = |more: &[&str]| {
        let asked = [&["verify", "--index", index, "--json"], more].concat();
        limn_on(&server, &asked).ok()
    };
    verified(&["--snapshot", "1"]);
    a_year_later(&server, index);
    assert_eq!(verified(&[])["snapshot"], 2);
    assert_eq!(edited["tables"]["added"], 0, "{edited}");
    same_answers();

    // Contexts for many tables at once: many texts are looked up in the index at once.
    let examples = repository().join("examples");
    server.copy_in(&examples.join("lake"), "");
    let (lake, index) = (server.url("lake"), server.url("examples"));
    let mut arguments_of_many = vec!["index", &lake, "--index", &index, "--json"];
    limn_on(&server, &arguments_of_many).ok();
    let contexts = examples.join("contexts.jsonl");
    arguments_of_many.extend(["--contexts", text(&contexts)]);
    let many = limn_on(&server, &arguments_of_many).ok();
    assert_eq!(many["snapshot"], 2, "{many}");

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
            &server.url("other"),
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
