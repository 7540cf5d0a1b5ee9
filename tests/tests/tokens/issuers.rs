//! Issuers that are away, rotate keys or lie.

use super::*;

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
