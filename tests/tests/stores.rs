//! Lakes and indexes in Google's and Azure's storage, and lakes on web servers, on real servers of
//! each kind: the same tables, texts and scores as on local disk, and one clear line for what can
//! be wrong with access.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use futures::TryStreamExt;
use limn_store::Store;
use limn_tests::azurite::{self, AzureServer};
use limn_tests::google::GoogleServer;
use limn_tests::web::WebServer;
use limn_tests::{Run, lake, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

type Environment = Vec<(&'static str, String)>;

fn limn_in(environment: &Environment, arguments: &[&str]) -> Run {
    run(limn_command(arguments).envs(environment.iter().map(|(name, value)| (name, value))))
}

fn index<'a>(lake: &'a str, index: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["index", lake, "--index", index];
    arguments.extend(["--embedder", "hashed-words", "--json"]);
    arguments.extend(more);
    arguments
}

/// What an index says, without what names the place.
fn answers(environment: &Environment, index: &str) -> Vec<Value> {
    let mut answers = Vec::new();
    for question in [
        "sick leave of employees",
        "river water level",
        "moons of planets",
    ] {
        let asked = ["search", question, "--index", index, "-k", "10", "--json"];
        let mut answer = limn_in(environment, &asked).ok();
        for hit in answer["results"].as_array_mut().unwrap() {
            (hit["location"], hit["lake"]) = (Value::Null, Value::Null);
        }
        answers.push(answer);
    }
    answers
}

/// Copies a folder into a store.
fn fill(folder: &Path, location: &str, environment: &Environment) {
    let from = Store::open(text(folder)).unwrap();
    let variables = environment.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), value.clone()));
    let to = Store::open_with(location, variables).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let objects: Vec<_> = from.list("").try_collect().await.unwrap();
        for object in objects {
            let content = from.get(&object.path).await.unwrap();
            to.put(&object.path, content).await.unwrap();
        }
    });
}

/// A lake with names that need care.
fn make_lake(folder: &Path) {
    lake::varied(folder);
    lake::write(
        folder,
        "odd names/ü 100% #1 & 😀.csv",
        "price,city\n1,Bern\n2,Rom\n",
    );
    lake::write(
        folder,
        "odd names/a%2Fb+c;d.csv",
        "weight,metal\n1,tin\n2,zinc\n",
    );
    lake::write(
        folder,
        "odd names/\u{200f}שלום.csv",
        "word,tongue\na,b\nc,d\n",
    );
    lake::write(folder, "docs/report.pdf", "%PDF");
    lake::write(folder, "out/_SUCCESS", "");
}

/// One line that names what it should, and no secret.
fn is_clear(run: &Run, wanted: &[&str], secret: &str) {
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(run.stderr.trim_end().lines().count(), 1, "{run:?}");
    assert!(!run.stderr.contains(secret), "{run:?}");
    for part in wanted {
        assert!(run.stderr.contains(part), "'{part}' expected: {run:?}");
    }
}

/// That lake and index in a store say what they say on local disk, from the first run to an edited
/// lake.
fn is_as_on_disk(folder: &Path, environment: &Environment, lake_url: &str, index_url: &str) {
    let scratch = TempDir::new().unwrap();
    let local_index = scratch.path().join("local.limn");
    let none = Environment::new();
    let local = index(text(folder), text(&local_index), &[]);
    let first = limn_in(&none, &local).ok();
    fill(folder, lake_url, environment);
    let remote = index(lake_url, index_url, &[]);
    let report = limn_in(environment, &remote).ok();
    for same in ["tables", "objects", "model"] {
        assert_eq!(report[same], first[same], "{same}: {report}");
    }
    assert_eq!(
        answers(environment, index_url),
        answers(&none, text(&local_index))
    );
    let again = limn_in(environment, &remote).ok();
    assert_eq!(
        (
            &again["snapshot"],
            &again["objects"]["read"],
            &again["requests"]["put"]
        ),
        (&report["snapshot"], &0.into(), &0.into()),
        "{again}"
    );

    lake::write(
        folder,
        "hr/employees.csv",
        "EmployeeID,FullName,SickLeaveHours\n7,Barbara Liskov,2\n",
    );
    limn_in(&none, &local).ok();
    fill(&folder.join("hr"), &format!("{lake_url}/hr"), environment);
    let edited = limn_in(environment, &remote).ok();
    assert_eq!(edited["tables"]["changed"], 1, "{edited}");
    assert_eq!(
        answers(environment, index_url),
        answers(&none, text(&local_index))
    );
    limn_in(environment, &["verify", "--index", index_url, "--json"]).ok();
    limn_in(
        environment,
        &["compact", "--full", "--index", index_url, "--json"],
    )
    .ok();
    limn_in(
        environment,
        &["gc", "--index", index_url, "--dry-run", "--json"],
    )
    .ok();
    let compacted = answers(environment, index_url);
    for (compacted, before) in compacted.iter().zip(answers(&none, text(&local_index))) {
        assert_eq!(compacted["results"], before["results"], "{compacted}");
    }
}

#[test]
fn lake_and_index_in_googles_storage_answer_as_on_local_disk() {
    let scratch = TempDir::new().unwrap();
    let folder = scratch.path().join("data");
    make_lake(&folder);
    let server = GoogleServer::start();
    let environment = server.environment();
    is_as_on_disk(&folder, &environment, "gs://lake/data", "gs://lake/index");

    let other = scratch.path().join("other.limn");
    let of = |lake: &str, more: &[&str], environment: &Environment| {
        limn_in(environment, &index(lake, text(&other), more))
    };
    is_clear(
        &of("gs://nowhere/x", &[], &environment),
        &["bucket 'nowhere' does not exist"],
        "SeCrEt",
    );
    is_clear(
        &of("gs://locked/x", &[], &environment),
        &[
            "access denied (AuthenticationRequired)",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ],
        "SeCrEt",
    );
    is_clear(
        &of("gs://paid/x", &[], &environment),
        &["--requester-pays"],
        "SeCrEt",
    );
    is_clear(
        &of("gs://paid/x", &["--requester-pays"], &environment),
        &["no project is named", "GOOGLE_CLOUD_QUOTA_PROJECT"],
        "SeCrEt",
    );
    let mut payer = environment.clone();
    payer.push(("GOOGLE_CLOUD_QUOTA_PROJECT", "my-project".to_owned()));
    let paid = of(
        "gs://paid/x",
        &["--requester-pays", "--allow-empty"],
        &payer,
    );
    assert_eq!(paid.code, 0, "{paid:?}");

    let endpoint = ("GOOGLE_BASE_URL", server.endpoint().to_owned());
    // A key that is none is not repeated.
    let broken = vec![
        endpoint.clone(),
        (
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "{\"private_key\": \"SeCrEt\"}".to_owned(),
        ),
    ];
    is_clear(
        &of("gs://lake/data", &[], &broken),
        &["gs://lake/data", "GOOGLE_*"],
        "SeCrEt",
    );
    // No credentials are looked for where none are wanted.
    let anonymous = of("gs://lake/data", &["--anonymous"], &vec![endpoint]);
    assert!(
        anonymous.ok()["tables"]["added"].as_u64() > Some(8),
        "{anonymous:?}"
    );
    let away = vec![
        ("GOOGLE_BASE_URL", "http://127.0.0.1:9".to_owned()),
        ("GOOGLE_SKIP_SIGNATURE", "true".to_owned()),
    ];
    is_clear(
        &of("gs://lake/data", &[], &away),
        &["http://127.0.0.1:9", "GOOGLE_BASE_URL"],
        "SeCrEt",
    );
}

#[test]
fn lake_and_index_in_azures_storage_answer_as_on_local_disk() {
    let scratch = TempDir::new().unwrap();
    let folder = scratch.path().join("data");
    make_lake(&folder);
    let server = AzureServer::start();
    let environment = server.environment();
    is_as_on_disk(&folder, &environment, "az://lake/data", "az://lake/index");

    let other = scratch.path().join("other.limn");
    let of = |lake: &str, more: &[&str], environment: &Environment| {
        limn_in(environment, &index(lake, text(&other), more))
    };
    is_clear(
        &of("az://nowhere/x", &[], &environment),
        &["container 'nowhere' does not exist"],
        "SeCrEt",
    );
    let mut wrong = environment.clone();
    wrong[1].1 = "d3JvbmdTZUNyRXQ=".to_owned();
    is_clear(
        &of("az://lake/data", &[], &wrong),
        &["access denied", "AZURE_STORAGE_ACCOUNT_KEY"],
        "d3Jvbmd",
    );
    wrong[1].1 = "no base64, SeCrEt".to_owned();
    is_clear(
        &of("az://lake/data", &[], &wrong),
        &["az://lake/data", "AZURE_*"],
        "SeCrEt",
    );
    is_clear(
        &of("az://lake/data", &["--requester-pays"], &environment),
        &["nobody pays"],
        azurite::KEY,
    );
    let unnamed = environment[1..2].to_vec();
    is_clear(
        &of("az://lake/data", &[], &unnamed),
        &["account is not named", "AZURE_STORAGE_ACCOUNT_NAME"],
        azurite::KEY,
    );

    fill(&folder, "az://open/data", &environment);
    let mut anonymous = environment.clone();
    anonymous.remove(1);
    let read = of("az://open/data", &["--anonymous"], &anonymous);
    assert!(read.ok()["tables"]["added"].as_u64() > Some(8), "{read:?}");
    is_clear(
        &of("az://lake/data", &["--anonymous"], &anonymous),
        &["az://lake/data", "denied"],
        "SeCrEt",
    );
}

#[test]
fn lakes_on_web_servers_are_as_on_local_disk() {
    let none = Environment::new();
    for is_plain in [true, false] {
        let scratch = TempDir::new().unwrap();
        let folder = scratch.path().join("data");
        make_lake(&folder);
        let local_index = scratch.path().join("local.limn");
        let local = limn_in(&none, &index(text(&folder), text(&local_index), &[])).ok();
        let server = match is_plain {
            true => WebServer::plain(scratch.path()),
            false => WebServer::nginx(scratch.path()),
        };
        let lake_url = format!("{}/data/", server.endpoint());
        let web_index = scratch.path().join("web.limn");
        let arguments = index(&lake_url, text(&web_index), &[]);
        let web = limn_in(&none, &arguments).ok();
        for same in ["tables", "objects", "model"] {
            assert_eq!(web[same], local[same], "{same}: {web}");
        }
        assert_eq!(
            answers(&none, text(&web_index)),
            answers(&none, text(&local_index))
        );
        // Locations are addresses that work.
        let found = limn_in(
            &none,
            &[
                "search",
                "tin zinc weight",
                "--index",
                text(&web_index),
                "--json",
            ],
        )
        .ok();
        assert_eq!(
            found["results"][0]["location"],
            format!("{lake_url}odd%20names/a%252Fb+c;d.csv"),
            "{found}"
        );
        let again = limn_in(&none, &arguments).ok();
        assert_eq!(
            (&again["snapshot"], &again["objects"]["read"]),
            (&web["snapshot"], &0.into()),
            "{again}"
        );
        lake::write(
            &folder,
            "hr/employees.csv",
            "EmployeeID,FullName\n7,Barbara Liskov\n",
        );
        fs::remove_file(folder.join("music/songs.tsv")).unwrap();
        let update = [
            "update",
            "hr/employees",
            "--lake",
            &lake_url,
            "--index",
            text(&web_index),
        ];
        let update = [&update[..], &["--embedder", "hashed-words", "--json"]].concat();
        let updated = limn_in(&none, &update).ok();
        assert_eq!(updated["tables"]["changed"], 1, "{updated}");
        let edited = limn_in(&none, &arguments).ok();
        assert_eq!(
            (&edited["tables"]["changed"], &edited["tables"]["removed"]),
            (&0.into(), &1.into()),
            "{edited}"
        );
    }
}

#[test]
fn a_file_on_the_web_is_a_lake_and_what_is_none_is_reported() {
    let none = Environment::new();
    let scratch = TempDir::new().unwrap();
    lake::varied(scratch.path());
    lake::write_parquet(scratch.path(), "big/rivers.parquet", 20_000);
    let server = WebServer::plain(scratch.path());
    let at = |path: &str| format!("{}/{path}", server.endpoint());
    let place = scratch.path().join("one.limn");
    for (number, path) in [(1, "hr/employees.csv"), (2, "big/rivers.parquet")] {
        let url = at(path);
        let report = limn_in(&none, &index(&url, text(&place), &[])).ok();
        assert_eq!(report["tables"]["added"], 1, "{report}");
        assert_eq!(
            report["snapshot"], number,
            "each file is a lake of its own: {report}"
        );
        assert_eq!(report["objects"]["listed"], 1, "{report}");
    }
    let tables = limn_in(&none, &["tables", "--index", text(&place), "--json"]).ok();
    let locations = tables
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["location"].as_str().unwrap().to_owned());
    assert_eq!(
        locations.collect::<BTreeSet<_>>(),
        BTreeSet::from([at("hr/employees.csv"), at("big/rivers.parquet")]),
        "{tables}"
    );

    let other = scratch.path().join("other.limn");
    for (lake, parts) in [
        (
            at("nowhere/"),
            vec!["nowhere", "does not exist", "check the address"],
        ),
        (at("hr/employees.csv/"), vec!["hr/employees.csv"]),
        (
            "http://127.0.0.1:9/".to_owned(),
            vec!["cannot reach http://127.0.0.1:9", "connection refused"],
        ),
        (
            "https://me:SeCrEt@host/".to_owned(),
            vec!["credentials do not belong"],
        ),
        (
            format!("{}?token=SeCrEt", at("hr/employees.csv")),
            vec!["query"],
        ),
    ] {
        is_clear(
            &limn_in(&none, &index(&lake, text(&other), &[])),
            &parts,
            "SeCrEt",
        );
    }
    let to_web = limn_in(&none, &index(text(scratch.path()), &at("index"), &[]));
    is_clear(
        &to_web,
        &["cannot be written to a web server", "--index"],
        "SeCrEt",
    );
    is_clear(
        &limn_in(
            &none,
            &index(text(scratch.path()), text(&other), &["--anonymous"]),
        ),
        &["no credentials are used"],
        "SeCrEt",
    );
}
