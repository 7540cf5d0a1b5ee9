//! Keys of catalogs and of their buckets.

use super::*;

/// Whether any file below a folder has these bytes.
pub(super) fn holds(folder: &Path, secret: &str) -> bool {
    let mut found = fs::read_dir(folder).unwrap();
    found.any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, secret),
            false => {
                let bytes = fs::read(&path).unwrap();
                let mut windows = bytes.windows(secret.len());
                windows.any(|it| it == secret.as_bytes())
            }
        }
    })
}

#[test]
fn keys_that_the_catalog_gives_open_its_bucket_and_are_kept_nowhere() {
    const TOKEN: &str = "token-of-the-catalogs-test";
    const CREDENTIAL: &str = "limn:credential-of-the-test";
    let bucket = S3Server::start();
    let gives = json!({
        "s3.endpoint": bucket.endpoint,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.path-style-access": "true",
        "client.region": "us-east-1",
    });
    let mut client = gives.clone();
    client["token"] = json!(TOKEN);
    let environment = [
        ("CATALOG_TOKEN", TOKEN),
        ("CATALOG_CREDENTIAL", CREDENTIAL),
        ("CATALOG_VENDS", &gives.to_string()),
    ];
    let catalog =
        CatalogServer::start_with(&bucket.url("warehouse"), &environment, &client.to_string());
    catalog.tables(&json!([
        ["namespace", "a"],
        ["make", "a.t", 30],
        ["append", "a.t", 30, 30]
    ]));
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    let host = catalog.endpoint().trim_start_matches("http://");
    let location = catalog.location();
    let indexed = [
        "index",
        &location,
        "--index",
        text(&at),
        "--embedder",
        "hashed-words",
        "--json",
        "-vv",
    ];
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        run(limn_command(arguments).envs(variables.iter().copied()))
    };

    // Whoever is not named gets no token, whatever is set.
    let refused = with(
        &indexed,
        &[
            ("LIMN_ICEBERG_TOKEN", TOKEN),
            ("LIMN_ICEBERG_HOST", "catalog.example"),
        ],
    );
    refused.code_is(2);
    assert!(
        refused
            .stderr
            .contains("401 Unauthorized (not allowed: None)"),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains(&format!("LIMN_ICEBERG_HOST={host}")),
        "{refused:?}"
    );
    // A catalog that repeats what it was given has it repeated nowhere.
    let wrong = with(
        &indexed,
        &[
            ("LIMN_ICEBERG_TOKEN", "sEcReT"),
            ("LIMN_ICEBERG_HOST", host),
        ],
    );
    wrong.code_is(2);
    assert!(!format!("{wrong:?}").contains("sEcReT"), "{wrong:?}");

    let bearer = [("LIMN_ICEBERG_TOKEN", TOKEN), ("LIMN_ICEBERG_HOST", host)];
    let grant = [
        ("LIMN_ICEBERG_CREDENTIAL", CREDENTIAL),
        ("LIMN_ICEBERG_HOST", host),
    ];
    let counted = [
        "sql",
        "SELECT count(*), sum(id) FROM t",
        "--index",
        text(&at),
        "--json",
    ];
    let mut said = Vec::new();
    for variables in [bearer, grant] {
        let first = with(&indexed, &variables);
        first.ok();
        let read = with(&counted, &variables);
        assert_eq!(read.ok()["rows"], json!([[60, 1770]]));
        said.extend([first, read]);
    }
    // The environment's own keys come first.
    let mut own = bearer.to_vec();
    own.extend([
        ("AWS_ACCESS_KEY_ID", "nobody"),
        ("AWS_SECRET_ACCESS_KEY", "nothing"),
    ]);
    own.extend([
        ("AWS_ENDPOINT_URL", bucket.endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
    ]);
    let denied = with(
        &["sql", "SELECT min(id + 0) FROM t", "--index", text(&at)],
        &own,
    );
    assert!(denied.stderr.contains("access denied"), "{denied:?}");
    said.push(denied);
    for secret in [TOKEN, CREDENTIAL, "credential-of-the-test", SECRET] {
        assert!(!holds(&at, secret), "{secret} is in the index");
        assert!(
            !format!("{said:?}").contains(secret),
            "{secret} is in what was said"
        );
    }
    assert!(holds(&at, "a/t"), "what is in the index is found");
}

#[test]
fn a_catalog_that_wants_aws_signatures_gets_them_and_a_wrong_secret_is_one_line() {
    const SESSION: &str = "session-of-the-signers-test";
    const OTHER: &str = "another-secret-of-the-signers-test";
    for is_config_signed in [false, true] {
        let signed = json!({
            "key": KEY, "secret": SECRET, "token": SESSION,
            "name": "glue", "region": "eu-west-1", "config": is_config_signed,
        });
        // The tables are made by a client that signs with AWS's own library.
        let writer = json!({
            "rest.sigv4-enabled": "true", "rest.signing-name": "glue", "rest.signing-region": "eu-west-1",
            "client.access-key-id": KEY, "client.secret-access-key": SECRET,
            "client.session-token": SESSION,
        });
        let environment = [("CATALOG_SIGNED", signed.to_string())];
        let environment = environment
            .each_ref()
            .map(|(name, it)| (*name, it.as_str()));
        let catalog = CatalogServer::start_with("", &environment, &writer.to_string());
        catalog.tables(&json!([
            ["namespace", "odd (name)"],
            ["make", "odd (name).t", 7],
            ["namespace", "a"],
            ["make", "a.t", 30],
        ]));
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("index");
        let location = catalog.location();
        let host = catalog.endpoint().trim_start_matches("http://");
        let mut said = Vec::new();
        let mut with = |arguments: &[&str], variables: &[(&str, &str)]| {
            let done = run(limn_command(arguments).envs(variables.iter().copied()));
            said.push(format!("{done:?}"));
            done
        };
        let indexed = [
            "index",
            &location,
            "--index",
            text(&at),
            "--embedder",
            "hashed-words",
            "--json",
            "-vv",
        ];
        let mut own = vec![
            ("LIMN_ICEBERG_HOST", host),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", SESSION),
        ];
        if is_config_signed {
            let unsigned = with(&indexed, &own);
            unsigned.code_is(2);
            let remedy = "LIMN_ICEBERG_SIGNING_NAME";
            assert!(unsigned.stderr.contains(remedy), "{unsigned:?}");
            own.push(("LIMN_ICEBERG_SIGNING_NAME", "glue"));
            own.push(("LIMN_ICEBERG_SIGNING_REGION", "eu-west-1"));
        }
        with(&indexed, &own).ok();
        assert_eq!(names(&at), ["a/t", "odd (name)/t"]);
        let counted = [
            "sql",
            "SELECT count(*) FROM a.t",
            "--index",
            text(&at),
            "--json",
        ];
        assert_eq!(with(&counted, &own).ok()["rows"], json!([[30]]));

        // One line each, and nothing is lost.
        let but = |name: &'static str, value: &'static str| {
            let mut changed = own.clone();
            changed.retain(|(known, _)| *known != name);
            changed.push((name, value));
            changed
        };
        let mut nobody = but("AWS_ACCESS_KEY_ID", "");
        nobody.retain(|(name, _)| *name != "AWS_SECRET_ACCESS_KEY");
        nobody.push(("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1"));
        let quiet = &indexed[..indexed.len() - 1];
        let mut anonymous = quiet.to_vec();
        anonymous.push("--anonymous");
        let denied =
            "403 Forbidden (SignatureDoesNotMatch); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY";
        for (arguments, variables, words) in [
            (quiet, but("AWS_SECRET_ACCESS_KEY", OTHER), denied),
            (
                quiet,
                nobody,
                "no credentials of AWS were found to sign requests with; set AWS_ACCESS_KEY_ID",
            ),
            (
                quiet,
                but("LIMN_ICEBERG_HOST", "elsewhere.example"),
                "and LIMN_ICEBERG_HOST=127",
            ),
            (&anonymous, own.clone(), "--anonymous"),
        ] {
            let words = match (words, is_config_signed) {
                ("and LIMN_ICEBERG_HOST=127", false) => "(SigV4); set LIMN_ICEBERG_HOST=127",
                ("--anonymous", true) => "403 Forbidden",
                (words, _) => words,
            };
            let run = with(arguments, &variables);
            run.code_is(2);
            assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
            assert!(run.stderr.contains(words), "{words}: {run:?}");
            assert_eq!(names(&at).len(), 2);
        }
        with(&indexed, &but("AWS_SECRET_ACCESS_KEY", OTHER)).code_is(2);
        for secret in [SECRET, SESSION, OTHER] {
            assert!(!holds(&at, secret), "{secret} is in the index");
            let said = said.join("\n");
            assert!(
                !said.contains(secret),
                "{secret} is in what was said: {said}"
            );
        }
    }
}
