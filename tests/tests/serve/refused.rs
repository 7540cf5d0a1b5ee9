//! What is asked wrongly, and what is wrong with an index.

use super::*;

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
