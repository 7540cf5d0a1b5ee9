//! Catalogs that cannot be read, and locations that make no sense.

use super::*;

#[test]
fn a_catalog_that_cannot_be_read_costs_one_line_and_nothing_in_the_index() {
    let catalog = CatalogServer::start();
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("index");
    catalog.tables(&json!([["namespace", "a"], ["make", "a.t", 3]]));
    index(&catalog, &at).ok();
    let elsewhere = CatalogServer::start();
    let (away, none) = (elsewhere.endpoint(), json!([]));
    let page = json!({"namespaces": [["a"]], "next-page-token": "more"}).to_string();
    let many: Vec<[String; 1]> = (0..10_001).map(|it| [format!("n{it}")]).collect();
    let many = json!({"namespaces": many}).to_string();
    for (on, fault, words) in [
        (
            "config",
            json!({"status": 500}),
            "500 Internal Server Error",
        ),
        ("config", json!({"status": 503}), "503 Service Unavailable"),
        (
            "config",
            json!({"body": "{\"overrides\": 7}"}),
            "it lacks what",
        ),
        (
            "config",
            json!({"bytes": 1 << 30}),
            "more than 33554432 bytes",
        ),
        (
            "config",
            json!({"status": 307, "headers": {"Location": format!("{away}/v1/config")}}),
            "the catalog redirects to http://127.0.0.1",
        ),
        (
            "config",
            json!({"body": json!({"overrides": {"uri": away}}).to_string()}),
            "the catalog redirects to http://127.0.0.1",
        ),
        (
            "config",
            json!({"body": json!({"overrides": {"rest.sigv4-enabled": "true"}}).to_string()}),
            "requests signed by AWS (SigV4); set LIMN_ICEBERG_HOST=127.0.0.1:",
        ),
        (
            "config",
            json!({"body": json!({"overrides": {"prefix": "../.."}}).to_string()}),
            "prefix",
        ),
        ("config", json!({"status": 401}), "LIMN_ICEBERG_TOKEN"),
        ("/namespaces", json!({"body": page}), "more than 1000 pages"),
        (
            "/namespaces",
            json!({"body": many}),
            "more than 10000 namespaces",
        ),
        ("/tables$", json!({"status": 502}), "502 Bad Gateway"),
    ] {
        let mut fault = fault;
        fault["on"] = json!(on);
        catalog.faults(&json!([fault]));
        let started = Instant::now();
        let run = index(&catalog, &at);
        run.code_is(2);
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].contains(words),
            "{words}: {run:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(60), "{words}");
        assert_eq!(names(&at), ["a/t"]);
    }
    assert_eq!(
        json!(elsewhere.asked()),
        none,
        "nothing goes to another server"
    );
    let location = catalog.location();
    drop(catalog);
    let run = index_hashed(Path::new(&location), &at, &[]);
    run.code_is(2);
    assert!(
        run.stderr
            .contains("cannot reach the catalog: connection refused"),
        "{run:?}"
    );
    assert_eq!(names(&at), ["a/t"]);
}

#[test]
fn locations_that_make_no_sense_say_so_and_repeat_no_secret() {
    for (location, words) in [
        ("iceberg+https://", "no address of a catalog"),
        (
            "iceberg+https://me:sEcReT@catalog.example/",
            "credentials do not belong",
        ),
        (
            "iceberg+https://catalog.example/?token=sEcReT",
            "one warehouse in its query",
        ),
    ] {
        let run = index_hashed(Path::new(location), Path::new("/nowhere/index"), &[]);
        run.code_is(2);
        assert!(run.stderr.contains(words), "{location}: {run:?}");
        assert!(!run.stderr.contains("sEcReT"), "{run:?}");
    }
}
