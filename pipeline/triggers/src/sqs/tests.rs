#![allow(clippy::unwrap_used)]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::held::Held;
use super::*;

/// A server that gives every request this answer, and the URL of a queue of it.
async fn server(status: &str, headers: &str, body: &[u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n");
    let answer = [head.as_bytes(), body].concat();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1 << 16];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    });
    format!("http://{address}/1/q")
}

fn variables() -> Vec<(String, String)> {
    [
        ("AWS_ACCESS_KEY_ID", "AKIAKEY"),
        ("AWS_SECRET_ACCESS_KEY", "sEcReT"),
        ("AWS_SESSION_TOKEN", "t0kEn"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

async fn call(url: &str) -> Result<(), TriggerError> {
    let variables = variables();
    let credentials = access::credentials(&variables).unwrap();
    let client = Client::new(url, &variables, credentials).unwrap();
    let answer = client
        .call("ReceiveMessage", &json!({}), Duration::ZERO)
        .await?;
    client.read::<wire::Messages>(&answer).map(drop)
}

#[tokio::test]
async fn every_failure_is_one_line_without_a_secret() {
    let error =
        |kind: &str| json!({"__type": kind, "message": "x-amz-security-token:t0kEn AKIAKEY"});
    let error = |kind: &str| error(kind).to_string().into_bytes();
    use TriggerErrorKind as Kind;
    for (status, body, kind) in [
        ("500 Internal", b"oops".to_vec(), Kind::Unavailable),
        ("503 Slow", error("ServiceUnavailable"), Kind::Unavailable),
        (
            "400 Bad",
            error("com.amazon.coral.availability#ThrottlingException"),
            Kind::Unavailable,
        ),
        ("429 Many", vec![], Kind::Unavailable),
        (
            "400 Bad",
            error("com.amazonaws.sqs#QueueDoesNotExist"),
            Kind::NoSuchQueue,
        ),
        ("403 No", error("SignatureDoesNotMatch"), Kind::AccessDenied),
        (
            "400 Bad",
            error("com.amazon.coral.service#UnrecognizedClientException"),
            Kind::AccessDenied,
        ),
        (
            "400 Bad",
            error("com.amazon.coral.service#ExpiredTokenException"),
            Kind::AccessDenied,
        ),
        ("403 No", b"<html>".to_vec(), Kind::AccessDenied),
        ("404 Not Found", b"<html>".to_vec(), Kind::Other),
        ("400 Bad", error("x#\u{1b}[2J"), Kind::Other),
        ("200 OK", b"<html>".to_vec(), Kind::Other),
        ("200 OK", vec![b' '; 9 << 20], Kind::Other),
    ] {
        let failed = call(&server(status, "", &body).await).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{status} {failed}");
        let text = format!("{failed} {failed:?}");
        for secret in ["AKIAKEY", "sEcReT", "t0kEn", "\u{1b}", "\n"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    call(&server("200 OK", "", b"{}").await).await.unwrap();
}

#[tokio::test]
async fn what_is_signed_goes_to_the_named_address_only() {
    let other = server("200 OK", "", b"{}").await;
    let redirecting = server("307 There", &format!("Location: {other}\r\n"), b"").await;
    let error = call(&redirecting).await.unwrap_err();
    assert_eq!(error.kind(), TriggerErrorKind::Other, "{error}");
}

#[test]
fn waits_grow_to_a_minute() {
    for failures in [1, 2, 3, 7, 1000, u32::MAX] {
        let bound = 2_f64.powi(failures.min(30) as i32 - 1).min(60.0);
        let wait = backoff(FIRST_WAIT, failures).as_secs_f64();
        assert!(wait <= bound && wait >= bound / 2.0, "{failures} {wait}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_is_held_once_by_its_last_receipt() {
    let held = Held::default();
    let until = |seconds| Instant::now() + Duration::from_secs(seconds);
    assert!(held.hold("a".to_owned(), "1".to_owned(), until(1)));
    assert!(!held.hold("a".to_owned(), "2".to_owned(), until(5)));
    assert_eq!(held.receipt("a").unwrap(), "2");
    assert!(held.ending(until(4)).is_empty());
    let ending = held.ending(until(5));
    assert_eq!(ending.len(), 1);
    held.prolong(&ending, until(9));
    assert!(held.ending(until(8)).is_empty());
    held.release("a");
    assert_eq!(held.receipt("a"), None);
}
