#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn an_issuer_is_asked_with_tls_or_on_this_machine() {
    for (issuer, is_one) in [
        ("https://login.test", true),
        ("https://login.test/realms/a/", true),
        ("http://127.0.0.1:8080", true),
        ("http://[::1]:8080/x", true),
        ("http://localhost/", true),
        ("http://login.test", false),
        ("http://127.0.0.1.login.test", false),
        ("http://localhost.login.test", false),
        ("http://10.0.0.1", false),
        ("https://login.test/?tenant=1", false),
        ("https://login.test/#a", false),
        ("https://me:secret@login.test", false),
        ("ftp://login.test", false),
        ("login.test", false),
        ("", false),
    ] {
        let made = Issuer::new(IssuerOptions {
            issuer: issuer.to_owned(),
            audiences: vec!["limn".to_owned()],
            prefix_claim: "p".to_owned(),
            rights_claim: "r".to_owned(),
            roots: None,
        });
        assert_eq!(made.is_ok(), is_one, "{issuer}");
    }
}
