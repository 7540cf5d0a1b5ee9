//! A node with TLS: both versions of HTTP, and a certificate that is renewed while it runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use limn_tests::certificates::Certificate;
use limn_tests::node::Node;
use limn_tests::{limn, text, varied_index};
use reqwest::{Response, Version};
use serde_json::Value;
use tempfile::TempDir;

/// Puts a file in the place of another, as tools that renew certificates do.
fn put(path: &Path, content: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, content).unwrap();
    fs::rename(&beside, path).unwrap();
}

async fn asked(client: &reqwest::Client, node: &Node) -> reqwest::Result<Response> {
    let url = format!("{}/v1/search?q=sick+leave&k=3", node.url);
    client.get(url).send().await
}

/// Whether a new connection is made by somebody who trusts this certificate alone.
async fn is_trusted(certificate: &Certificate, node: &Node) -> bool {
    let client = certificate.client().build().unwrap();
    match asked(&client, node).await {
        Ok(answer) => {
            assert_eq!(answer.status(), 200);
            true
        }
        Err(error) => {
            let got = format!("{error:?}").to_lowercase();
            assert!(error.is_connect() && got.contains("certificate"), "{got}");
            false
        }
    }
}

async fn becomes_trusted(certificate: &Certificate, node: &Node) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_trusted(certificate, node).await {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn a_node_with_tls_answers_in_both_versions_and_takes_over_a_new_certificate() {
    let folder = varied_index();
    let at = |name: &str| folder.path().join(name);
    let (cert, key) = (at("cert.pem"), at("key.pem"));
    let made = [(); 3].map(|()| Certificate::make());
    put(&cert, &made[0].certificate);
    put(&key, &made[0].key);
    let flags = ["--tls-cert", text(&cert), "--tls-key", text(&key)];
    let node = Node::start(text(&at("index")), &flags);
    assert!(node.url.starts_with("https://127.0.0.1:"), "{}", node.url);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        both_versions(&node, &made[0]).await;
        renewal(&node, folder.path(), &made).await;
    });
}

async fn both_versions(node: &Node, certificate: &Certificate) {
    let newer = certificate.client().build().unwrap();
    let older = certificate.client().http1_only().build().unwrap();
    let mut answers = Vec::new();
    for (client, version) in [(&newer, Version::HTTP_2), (&older, Version::HTTP_11)] {
        let answer = asked(client, node).await.unwrap();
        assert_eq!((answer.version(), answer.status().as_u16()), (version, 200));
        let got: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        answers.push(got["results"].clone());
    }
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0][0]["table"].is_string());
    // A client that speaks without TLS is not answered.
    let plain = node.url.replace("https://", "http://");
    assert!(reqwest::get(plain).await.is_err());
}

/// The files hold one after the other of these certificates.
async fn renewal(node: &Node, folder: &Path, made: &[Certificate; 3]) {
    let [first, second, third] = made;
    let at = |name: &str| folder.join(name);
    let (cert, key) = (at("cert.pem"), at("key.pem"));
    let before = first.client().build().unwrap();
    assert_eq!(asked(&before, node).await.unwrap().status(), 200);
    assert!(!is_trusted(second, node).await);
    // A certificate whose key has not come yet, a key that is none, half a file, no file: the one
    // before is used.
    let troubles = || {
        let said = node.said();
        said.matches("cannot be used: the one before").count()
    };
    let noticed = async |times: usize| {
        let since = Instant::now();
        // Whoever connects has the files looked at.
        while troubles() < times {
            assert!(is_trusted(first, node).await);
            assert!(since.elapsed() < Duration::from_secs(20), "{}", node.said());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let unusable = [
        (second.certificate.as_str(), first.key.as_str()),
        (&second.certificate, "no key"),
        ("", &first.key),
        (&second.certificate[..200], &second.key),
    ];
    for (times, (certificate, secret)) in (1..).zip(unusable) {
        put(&cert, certificate);
        put(&key, secret);
        noticed(times).await;
        assert!(is_trusted(first, node).await && !is_trusted(second, node).await);
    }
    fs::remove_file(&cert).unwrap();
    noticed(5).await;
    assert!(is_trusted(first, node).await);

    put(&cert, &second.certificate);
    put(&key, &second.key);
    becomes_trusted(second, node).await;
    assert!(!is_trusted(first, node).await);
    // Connections that were there before stay.
    assert_eq!(asked(&before, node).await.unwrap().status(), 200);

    // Links that are turned, as Kubernetes does.
    for (name, made) in [("one", second), ("two", third)] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("cert.pem"), &made.certificate).unwrap();
        fs::write(at(name).join("key.pem"), &made.key).unwrap();
    }
    std::os::unix::fs::symlink(at("one"), at("now")).unwrap();
    for file in [&cert, &key] {
        fs::remove_file(file).unwrap();
        let target = at("now").join(file.file_name().unwrap());
        std::os::unix::fs::symlink(target, file).unwrap();
    }
    // The same certificate: nothing that could be waited for.
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    assert!(is_trusted(second, node).await);
    std::os::unix::fs::symlink(at("two"), at("next")).unwrap();
    fs::rename(at("next"), at("now")).unwrap();
    becomes_trusted(third, node).await;
    assert_eq!(troubles(), 5, "{}", node.said());
}

#[test]
fn a_certificate_that_cannot_be_used_at_the_start_is_reported() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let (one, other) = (Certificate::make(), Certificate::make());
    fs::write(at("cert"), &one.certificate).unwrap();
    fs::write(at("key"), &one.key).unwrap();
    fs::write(at("other"), &other.key).unwrap();
    for (cert, key, named) in [
        ("cert", "other", "other"),
        ("key", "key", "key"),
        ("cert", "cert", "cert"),
        ("nothing", "key", "nothing"),
    ] {
        let (cert, key) = (at(cert), at(key));
        let run = limn(&[
            "serve",
            "--index",
            &at("index"),
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            &cert,
            "--tls-key",
            &key,
        ]);
        run.code_is(2);
        let got = format!("{} cannot be used for TLS", at(named));
        assert!(run.stderr.contains(&got), "{run:?}");
        assert!(!run.stderr.contains("PRIVATE KEY"), "{run:?}");
    }
}
