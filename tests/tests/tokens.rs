//! Tokens of an issuer: what they may see and do is what their claims say, whatever is wrong with
//! one is found, and neither an issuer that is away nor tokens that are made up do any harm.

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
fn keys_are_taken_over_when_they_change_and_made_up_ones_do_not_hammer_the_issuer() {
    let ground = Ground::new();
    let [one, two, three] = ["one", "two", "three"].map(TokenKey::p256);
    let issuer = IssuerServer::start(&[&one]);
    let node = ground.node(&issuer, &[]);
    let asks = |key: &TokenKey| {
        let token = key.token("ES256", &claims(&issuer, json!({})));
        node.get_with(&token, "/v1/status")
    };
    asks(&one).ok();
    issuer.publish(&[&one, &two]);
    asks(&two).ok();
    asks(&one).ok();
    // One that is withdrawn is refused as soon as keys were asked for again.
    issuer.publish(&[&two, &three]);
    asks(&three).ok();
    asks(&one).is_error(401, "unauthorized");
    asks(&two).ok();
    // At the start and for each unknown key, a discovery document and a set.
    assert_eq!(issuer.asked(), 2 * 4);

    let begun = Instant::now();
    for n in 0..200 {
        asks(&TokenKey::p256(&format!("made up {n}"))).is_error(401, "unauthorized");
    }
    // Once in ten seconds.
    let bound = 2 * (5 + begun.elapsed().as_secs() as usize / 10);
    assert!(issuer.asked() <= bound, "{}", issuer.asked());
    asks(&two).ok();
}

#[test]
fn an_issuer_that_is_away_costs_only_tokens_and_keys_that_are_known_hold() {
    let ground = Ground::new();
    let (one, two) = (TokenKey::p256("one"), TokenKey::p256("two"));
    let issuer = IssuerServer::start(&[&one]);
    issuer.be_away(true);
    let api_key = ground.key(&[]);
    let node = ground.node(&issuer, &["--keys", &ground.at("keys")]);
    assert!(node.said().contains("the issuer of tokens cannot be asked"));
    let asks = |key: &TokenKey| {
        let token = key.token("ES256", &claims(&issuer, json!({})));
        node.get_with(&token, "/v1/status")
    };
    let refused = asks(&one);
    refused.is_error(503, "unavailable");
    assert!(refused.headers.contains_key("retry-after"));
    node.get_with(&api_key, "/v1/status").ok();
    assert_eq!(node.get("/health/ready").status, 204);

    issuer.be_away(false);
    let until = |key: &TokenKey, status: u16| {
        let end = Instant::now() + Duration::from_secs(40);
        while asks(key).status != status {
            assert!(Instant::now() < end, "{:?}", asks(key));
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    until(&one, 200);
    issuer.be_away(true);
    asks(&one).ok();
    // Whether an unknown key is a new one cannot be known now.
    until(&two, 503);
    asks(&one).ok();
    issuer.be_away(false);
    issuer.publish(&[&one, &two]);
    until(&two, 200);
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

/// Asks an issuer for its keys; why it has none that can be used.
async fn trouble(url: &str, roots: Option<&str>) -> Result<(), String> {
    let issuer = Issuer::new(IssuerOptions {
        issuer: url.to_owned(),
        audiences: vec![AUDIENCE.to_owned()],
        prefix_claim: "limn_prefixes".to_owned(),
        rights_claim: "limn_rights".to_owned(),
        roots: roots.map(Into::into),
    });
    let started = Arc::new(issuer.unwrap()).start().await;
    started.map_err(|trouble| trouble.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_an_issuer_are_bounded_and_come_from_itself() {
    let key = TokenKey::p256("one");
    let issuer = IssuerServer::start(&[&key]);
    let other = IssuerServer::start(&[&key]);
    trouble(&issuer.url, None).await.unwrap();
    // A path is a part of who it is.
    let below = issuer.at("/realms/a/");
    let document = json!({"issuer": below, "jwks_uri": issuer.at("/keys")});
    issuer.set(
        "/realms/a/.well-known/openid-configuration",
        Served::Document(document.to_string()),
    );
    trouble(&below, None).await.unwrap();

    let asked = other.asked();
    let discovery = |issuer: &str, keys: &str| {
        Served::Document(json!({"issuer": issuer, "jwks_uri": keys}).to_string())
    };
    let keys = issuer.at("/keys");
    for (served, got) in [
        (Served::Elsewhere(other.at("/keys")), "status 302"),
        (discovery(&other.url, &keys), "--oidc-issuer"),
        (
            discovery(&format!("{}/", issuer.url), &keys),
            "--oidc-issuer",
        ),
        (discovery(&issuer.url, "http://keys.test/"), "without TLS"),
        (discovery(&issuer.url, &issuer.at("/no")), "status 404"),
        (Served::Document("{}".to_owned()), "cannot be read"),
        (Served::Document("x".repeat(300 << 10)), "bytes"),
        (Served::Silence, "timed out"),
    ] {
        issuer.set_discovery(served);
        let begun = Instant::now();
        let trouble = trouble(&issuer.url, None).await.unwrap_err();
        assert!(trouble.contains(got), "{got}: {trouble}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{got}");
    }
    assert_eq!(other.asked(), asked);
    issuer.set_discovery(discovery(&issuer.url, &keys));
    let many = vec![key.jwk(); 101];
    for (text, got) in [
        (json!({ "keys": many }).to_string(), "101 keys"),
        ("[".repeat(200_000), "no JSON Web Key Set"),
        (
            format!("{{\"keys\":[\"{}\"]}}", "x".repeat(300 << 10)),
            "bytes",
        ),
    ] {
        issuer.publish_text(&text);
        let trouble = trouble(&issuer.url, None).await.unwrap_err();
        assert!(trouble.contains(got), "{got}: {trouble}");
    }
}

#[test]
fn an_issuer_with_a_certificate_of_its_own_is_believed_when_that_is_given() {
    let ground = Ground::new();
    let key = TokenKey::rsa("r");
    let certificate = Certificate::make();
    let issuer = IssuerServer::start_tls(&[&key], certificate.server());
    std::fs::write(ground.at("ca.pem"), &certificate.certificate).unwrap();
    std::fs::write(ground.at("other.pem"), Certificate::make().certificate).unwrap();
    let good = key.token("RS256", &claims(&issuer, json!({})));
    let node = ground.node(&issuer, &["--oidc-ca", &ground.at("ca.pem")]);
    node.get_with(&good, "/v1/status").ok();
    for more in [&[][..], &["--oidc-ca", &ground.at("other.pem")]] {
        let node = ground.node(&issuer, more);
        assert!(node.said().contains("certificate"), "{}", node.said());
        node.get_with(&good, "/v1/status")
            .is_error(503, "unavailable");
    }
    // Keys that come without TLS are nobody's.
    issuer.discovery(&json!({"issuer": issuer.url, "jwks_uri": "http://keys.test/keys"}));
    let node = ground.node(&issuer, &["--oidc-ca", &ground.at("ca.pem")]);
    assert!(node.said().contains("without TLS"), "{}", node.said());
}
