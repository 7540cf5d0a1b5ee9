//! Tokens of an issuer: what they may see and do is what their claims say, whatever is wrong with
//! one is found, and neither an issuer that is away nor tokens that are made up do any harm.

mod issuers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use limn_node::access::{Issuer, IssuerOptions};
use limn_tests::certificates::Certificate;
use limn_tests::issuer::{IssuerServer, Served, TokenKey, base64, token};
use limn_tests::node::{Node, Reply};
use limn_tests::{limn, text, varied_index};
use ring::hmac;
use serde_json::{Value, json};
use tempfile::TempDir;

const AUDIENCE: &str = "limn-test";

/// A varied lake with an index of it.
struct Ground(TempDir);

impl Ground {
    fn new() -> Ground {
        Ground(varied_index())
    }

    fn at(&self, name: &str) -> String {
        text(&self.0.path().join(name)).to_owned()
    }

    fn node(&self, issuer: &IssuerServer, more: &[&str]) -> Node {
        let mut arguments = vec![
            "--oidc-issuer",
            issuer.url.as_str(),
            "--oidc-audience",
            AUDIENCE,
        ];
        arguments.extend(more);
        Node::start(&self.at("index"), &arguments)
    }

    fn key(&self, more: &[&str]) -> String {
        let file = self.at("keys");
        let mut arguments = vec!["keys", "add", "--keys", &file, "--json"];
        arguments.extend(more);
        limn(&arguments).ok()["key"].as_str().unwrap().to_owned()
    }
}

/// Claims of a good token, with these in the place of some.
fn claims(issuer: &IssuerServer, more: Value) -> Value {
    let now = Utc::now().timestamp();
    let mut claims = json!({
        "iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "iat": now, "nbf": now, "exp": now + 600,
        "limn_prefixes": ["hr"],
    });
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// An answer without what differs from one request to another.
fn essence(reply: &Reply) -> (u16, Value) {
    let mut got = reply.json();
    for name in ["took_ms", "request_id", "seen_s", "uptime_s"] {
        got.as_object_mut().unwrap().remove(name);
    }
    (reply.status, got)
}

#[test]
fn a_token_sees_and_does_what_its_claims_say_as_a_key_does() {
    let ground = Ground::new();
    let keys = [
        TokenKey::rsa("r"),
        TokenKey::p256("p"),
        TokenKey::p384("q"),
        TokenKey::ed25519("e"),
    ];
    let issuer = IssuerServer::start(&keys.each_ref());
    let [rsa, p256, ..] = &keys;
    let hr_key = ground.key(&["--prefix", "hr", "--right", "search"]);
    let rows_key = ground.key(&["--prefix", "hr", "--prefix", "shop"]);
    let all_key = ground.key(&["--right", "search", "--right", "rows", "--right", "admin"]);
    let node = ground.node(&issuer, &["--keys", &ground.at("keys")]);

    let tokens = |more: Value| p256.token("ES256", &claims(&issuer, more));
    let hr = tokens(json!({}));
    let rows = tokens(json!({"limn_prefixes": ["shop", "hr"], "limn_rights": "search rows"}));
    let all = tokens(json!({"limn_prefixes": "*", "limn_rights": ["search", "rows", "admin"]}));
    let paths = [
        "/v1/status",
        "/v1/tables",
        "/v1/tree",
        "/v1/search?q=sick+leave+of+employees&k=20",
        "/v1/search?q=Nakamura&k=20",
        "/v1/search?q=cheese+of+Gruyere&k=20",
        "/v1/suggest?q=s",
        "/v1/table?table=hr/employees",
        "/v1/table?table=shop/orders",
        "/v1/table/similar?table=hr/employees&k=50",
        "/metrics",
    ];
    for (token, key) in [(&hr, &hr_key), (&rows, &rows_key), (&all, &all_key)] {
        for path in paths {
            let (got, wanted) = (node.get_with(token, path), node.get_with(key, path));
            if path == "/metrics" {
                assert_eq!(got.status, wanted.status);
                continue;
            }
            assert_eq!(essence(&got), essence(&wanted), "{path}");
        }
    }
    let sees = |token: &str| node.get_with(token, "/v1/tables").body;
    assert!(sees(&hr).contains("hr/employees") && !sees(&hr).contains("shop/orders"));
    assert!(sees(&all).contains("shop/orders") && sees(&all).contains("rivers"));
    assert_eq!(node.get_with(&all, "/metrics").status, 200);
    node.get_with(&hr, "/metrics").is_error(403, "forbidden");
    let status = node.get_with(&hr, "/v1/status").ok();
    assert_eq!(status["rights"], json!(["search"]));

    // What the next token says holds for the next request.
    let narrowed = tokens(json!({"limn_prefixes": ["shop"]}));
    assert!(sees(&narrowed).contains("shop/orders") && !sees(&narrowed).contains("hr/"));

    for (key, algorithms) in keys.iter().zip([
        &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"][..],
        &["ES256"],
        &["ES384"],
        &["EdDSA"],
    ]) {
        for algorithm in algorithms {
            let token = key.token(algorithm, &claims(&issuer, json!({})));
            node.get_with(&token, "/v1/status").ok();
        }
    }
    // One of several audiences, one that has just begun and one that is nearly over, without a name
    // of its key.
    let now = Utc::now().timestamp();
    let odd = claims(
        &issuer,
        json!({"aud": ["other", AUDIENCE], "nbf": now + 10, "exp": now - 10}),
    );
    let header = json!({"alg": "RS256", "typ": "at+jwt"});
    let odd = token(&header, &odd, |message| rsa.sign("RS256", message));
    node.get_with(&odd, "/v1/status").ok();
    // Keys were asked for once: a discovery document and a set.
    assert_eq!(issuer.asked(), 2);

    // The claims have other names, and no key is known here.
    let named = ground.node(
        &issuer,
        &[
            "--oidc-prefix-claim",
            "https://limn.test/paths",
            "--oidc-rights-claim",
            "scope",
        ],
    );
    let scoped = tokens(json!({"https://limn.test/paths": "shop", "scope": "openid search rows"}));
    let status = named.get_with(&scoped, "/v1/status").ok();
    assert_eq!(status["prefixes"], json!(["shop"]));
    assert_eq!(status["rights"], json!(["search", "rows"]));
    named
        .get_with(&all_key, "/v1/status")
        .is_error(401, "unauthorized");
    named.get("/v1/status").is_error(401, "unauthorized");
    named.get_with(&hr, "/v1/status").is_error(403, "forbidden");
}

#[test]
fn callers_with_tokens_have_rates_of_their_own() {
    let ground = Ground::new();
    let key = TokenKey::ed25519("e");
    let issuer = IssuerServer::start(&[&key]);
    let node = ground.node(&issuer, &["--per-minute", "3"]);
    let of = |subject: &str| key.token("EdDSA", &claims(&issuer, json!({"sub": subject})));
    for _ in 0..3 {
        node.get_with(&of("ada"), "/v1/status").ok();
    }
    // Another token of the same subject is the same caller.
    let renewed = claims(&issuer, json!({"jti": "another"}));
    node.get_with(&key.token("EdDSA", &renewed), "/v1/status")
        .is_error(429, "too_many_requests");
    node.get_with(&of("grace"), "/v1/status").ok();
}

#[test]
fn a_token_that_is_not_in_order_is_refused() {
    let ground = Ground::new();
    let (rsa, p256) = (TokenKey::rsa("r"), TokenKey::p256("p"));
    let issuer = IssuerServer::start(&[&rsa, &p256]);
    let node = ground.node(&issuer, &[]);
    let good = claims(&issuer, json!({}));
    let header = json!({"alg": "RS256", "kid": "r"});
    let signed = |header: &Value| token(header, &good, |message| rsa.sign("RS256", message));
    node.get_with(&signed(&header), "/v1/status").ok();

    let now = Utc::now().timestamp();
    let with_claims = |more: Value| rsa.token("RS256", &claims(&issuer, more));
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        signed(&header)
    };
    let whole = signed(&header);
    let [head, body, signature] = whole.split('.').collect::<Vec<_>>()[..] else {
        panic!("{whole}");
    };
    let richer = base64(claims(&issuer, json!({"limn_prefixes": "*"})).to_string());
    // What is public is no secret to sign with.
    let public = rsa.jwk();
    let shared = |secret: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let header = json!({"alg": "HS256", "kid": "r"});
        token(&header, &good, |message| {
            hmac::sign(&key, message).as_ref().to_vec()
        })
    };
    let stranger = TokenKey::p256("p");
    let refused = [
        ("another audience", with_claims(json!({"aud": "other"}))),
        ("other audiences", with_claims(json!({"aud": ["a", "b"]}))),
        ("no audience", with_claims(json!({"aud": null}))),
        ("an audience that is none", with_claims(json!({"aud": 7}))),
        (
            "another issuer",
            with_claims(json!({"iss": "https://other.test"})),
        ),
        (
            "an issuer of another form",
            with_claims(json!({"iss": format!("{}/", issuer.url)})),
        ),
        (
            "several issuers",
            with_claims(json!({"iss": [issuer.url, "https://other.test"]})),
        ),
        ("no issuer", with_claims(json!({"iss": null}))),
        ("over", with_claims(json!({"exp": now - 60}))),
        ("no end", with_claims(json!({"exp": null}))),
        (
            "an end that is none",
            with_claims(json!({"exp": "tomorrow"})),
        ),
        ("not yet", with_claims(json!({"nbf": now + 60}))),
        (
            "a beginning that is none",
            with_claims(json!({"nbf": "yesterday"})),
        ),
        ("nobody's", with_claims(json!({"sub": null}))),
        ("bound to a key", with_claims(json!({"cnf": {"jkt": "x"}}))),
        (
            "alg none",
            format!(
                "{}.{body}.",
                base64(json!({"alg": "none", "kid": "r"}).to_string())
            ),
        ),
        ("alg none, signed", with("alg", json!("none"))),
        ("alg None", with("alg", json!("None"))),
        ("no alg", signed(&json!({"kid": "r"}))),
        (
            "HS256 by the modulus",
            shared(public["n"].as_str().unwrap().as_bytes()),
        ),
        (
            "HS256 by the key as published",
            shared(public.to_string().as_bytes()),
        ),
        ("HS256 by nothing", shared(b"")),
        ("of another key", token(&header, &good, |_| vec![7; 256])),
        (
            "of a stranger's key of the same name",
            stranger.token("ES256", &good),
        ),
        ("an algorithm of another key", with("alg", json!("ES256"))),
        ("another algorithm of the key", with("alg", json!("PS256"))),
        ("another key", with("kid", json!("p"))),
        ("an unknown key", with("kid", json!("x"))),
        (
            "its own key",
            token(
                &json!({"alg": "ES256", "kid": "p", "jwk": stranger.jwk()}),
                &good,
                |message| stranger.sign("ES256", message),
            ),
        ),
        ("other claims", format!("{head}.{richer}.{signature}")),
        ("no signature", format!("{head}.{body}.")),
        ("two parts", format!("{head}.{body}")),
        ("four parts", format!("{whole}.{signature}")),
        ("padding", format!("{whole}=")),
        ("no JSON", format!("{head}.{}.{signature}", base64("{"))),
        (
            "a list of claims",
            format!("{head}.{}.{signature}", base64("[]")),
        ),
        ("an encrypted one", with("enc", json!("A128GCM"))),
        (
            "extensions that must be known",
            with("crit", json!(["b64"])),
        ),
        ("another kind", with("typ", json!("logout+jwt"))),
        (
            "too long",
            with_claims(json!({"more": "x".repeat(17 << 10)})),
        ),
        ("no token", "x".to_owned()),
        ("an API key", format!("limn_00000000_{}", "0".repeat(64))),
    ];
    for (what, token) in &refused {
        let reply = node.get_with(token, "/v1/status");
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
        reply.is_error(401, "unauthorized");
        assert_eq!(reply.headers["www-authenticate"], "Bearer", "{what}");
    }
    // The faults are what they were refused for.
    for (what, got) in [
        ("another audience", "audience"),
        ("another issuer", "issuer"),
        ("over", "over"),
        ("not yet", "not valid yet"),
        ("no end", "'exp'"),
        ("HS256 by nothing", "shared secret"),
        ("of another key", "signature"),
        ("an unknown key", "does not publish"),
    ] {
        let (_, token) = refused.iter().find(|(name, _)| *name == what).unwrap();
        let reply = node.get_with(token, "/v1/status").json();
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(got), "{what}: {message}");
    }
    for (what, more) in [
        ("no paths", json!({"limn_prefixes": null})),
        ("an empty list", json!({"limn_prefixes": []})),
        ("a pattern", json!({"limn_prefixes": "hr/*"})),
        ("a path of nothing", json!({"limn_prefixes": ["hr", "/"]})),
        ("no list", json!({"limn_prefixes": {"hr": true}})),
    ] {
        let reply = node.get_with(&with_claims(more), "/v1/status");
        reply.is_error(403, "forbidden");
        assert!(reply.body.contains("limn_prefixes"), "{what}: {reply:?}");
    }
    let rightless = with_claims(json!({"limn_rights": "openid"}));
    node.get_with(&rightless, "/v1/status")
        .is_error(403, "forbidden");
    node.get_with(&signed(&header), "/v1/status").ok();
}

#[test]
fn what_the_flags_leave_open_is_asked_for() {
    let ground = Ground::new();
    let index = ground.at("index");
    let serve = |more: &[&str]| {
        let mut arguments = vec!["serve", "--index", &index, "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let run = limn(&arguments);
        run.code_is(2);
        run.stderr
    };
    let issuer = ["--oidc-issuer", "https://login.test"];
    assert!(serve(&issuer).contains("--oidc-audience"));
    assert!(serve(&["--oidc-audience", "limn"]).contains("--oidc-issuer"));
    let both = [&issuer[..], &["--oidc-audience", "limn"]].concat();
    let open = serve(&[&both[..], &["--open-to-all"]].concat());
    assert!(open.contains("cannot be used with"), "{open}");
    let plain = ["--oidc-issuer", "http://login.test", "--oidc-audience", "x"];
    assert!(serve(&plain).contains("without TLS"));
    let roots = serve(&[&both[..], &["--oidc-ca", &ground.at("nothing")]].concat());
    assert!(roots.contains("certificates in PEM"), "{roots}");
}
