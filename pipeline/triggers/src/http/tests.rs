#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::{Bursts, Coalesce, Triggers};

const TOKEN: &str = "a-token-of-sixteen";

async fn server(token: Option<&str>) -> (Bursts, SocketAddr) {
    let store = limn_store::Store::open_with("s3://lake/raw", []).unwrap();
    let coalesce = Coalesce {
        quiet: Duration::from_millis(50),
        ..Coalesce::default()
    };
    let mut triggers = Triggers::new(LakeRoot::of(&store), coalesce);
    let options = ListenOptions {
        address: ([127, 0, 0, 1], 0).into(),
        token: token.map(|token| Token::new(token).unwrap()),
    };
    let address = triggers.listen(options).await.unwrap();
    (triggers.bursts(), address)
}

/// Sends bytes, and reads status and JSON.
async fn raw(address: SocketAddr, request: &[u8]) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let mut answer = Vec::new();
    // The server may answer and close before it has read all.
    let (_, read) = tokio::join!(writing.write_all(request), reading.read_to_end(&mut answer));
    let answer = String::from_utf8(answer).unwrap();
    assert!(read.is_ok() || !answer.is_empty());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

async fn send(address: SocketAddr, line: &str, headers: &str, body: &str) -> (u16, Value) {
    let request = format!(
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    raw(address, request.as_bytes()).await
}

async fn post(address: SocketAddr, body: &Value) -> (u16, Value) {
    send(address, "POST /v1/events", "", &body.to_string()).await
}

#[tokio::test]
async fn events_are_taken_and_counted() {
    let (mut bursts, address) = server(None).await;
    let (status, answer) = post(address, &json!({"objects": ["a.csv"]})).await;
    assert_eq!(
        (status, answer),
        (202, json!({"accepted": 1, "ignored": 0}))
    );
    let object = |key| json!({"bucket": {"name": "lake"}, "object": {"key": key}});
    let events = json!([
        {"source": "aws.s3", "detail-type": "Object Created", "detail": object("raw/b c.csv")},
        {"source": "aws.s3", "detail-type": "Object Created", "detail": object("cooked/d.csv")},
    ]);
    assert_eq!(
        post(address, &events).await.1,
        json!({"accepted": 1, "ignored": 1})
    );
    let records = json!({"Records": [{"s3": object("raw/e+f.csv")}]});
    assert_eq!(post(address, &records).await.0, 202);
    let burst = bursts.next().await.unwrap();
    assert_eq!(
        burst.objects,
        ["a.csv", "b c.csv", "e f.csv"].map(str::to_owned).into()
    );
    burst.done().await.unwrap();

    let (status, health) = send(address, "GET /v1/health", "", "").await;
    assert_eq!(status, 200);
    let counts = |name: &str| health[name].as_u64().unwrap();
    assert_eq!(
        ["events", "ignored", "poison", "bursts"].map(counts),
        [3, 1, 0, 1]
    );
    assert!(health["last_event"].as_str().unwrap().starts_with("20"));
}

#[tokio::test]
async fn what_is_no_event_is_one_clear_error() {
    let (_bursts, address) = server(None).await;
    for (line, body, status, part) in [
        ("POST /v1/events", "{", 400, "no JSON"),
        ("POST /v1/events", "", 400, "no JSON"),
        ("POST /v1/events", "{\"x\": 1}", 400, "limn's own form"),
        (
            "POST /v1/events",
            "{\"Type\": \"SubscriptionConfirmation\", \"SubscribeURL\": \"http://127.0.0.1:1/\"}",
            400,
            "SQS queue",
        ),
        ("POST /v2/events", "{}", 404, "/v1/events"),
    ] {
        let (got, answer) = send(address, line, "", body).await;
        assert_eq!(got, status, "{body}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
    assert_eq!(send(address, "GET /v1/events", "", "").await.0, 405);
    let page = send(
        address,
        "POST /v1/events",
        "Origin: http://evil.example\r\n",
        "{}",
    )
    .await;
    assert_eq!(page.0, 403);
}

#[tokio::test]
async fn bodies_are_bounded_however_they_come() {
    let (_bursts, address) = server(None).await;
    let long = " ".repeat(BODY + 1);
    let (status, answer) = send(address, "POST /v1/events", "", &long).await;
    assert_eq!(status, 413);
    assert!(answer["error"].as_str().unwrap().contains("1 MiB"));
    // Without a length, in chunks.
    let mut chunked =
        b"POST /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..20 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend_from_slice(&[b' '; 0x10000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(raw(address, &chunked).await.0, 413);
    let just = format!("{}{{\"objects\": []}}", " ".repeat(BODY - 15));
    assert_eq!(send(address, "POST /v1/events", "", &just).await.0, 202);
}

#[tokio::test]
async fn who_has_no_token_announces_nothing() {
    let (mut bursts, address) = server(Some(TOKEN)).await;
    let body = json!({"objects": ["a.csv"]}).to_string();
    for shown in [
        "",
        "Bearer",
        "Bearer a-token-of-sixteeN",
        "Bearer a-token-of-sixteen2",
        "Basic a-token-of-sixteen",
    ] {
        let header = format!("Authorization: {shown}\r\n");
        let (status, answer) = send(address, "POST /v1/events", &header, &body).await;
        assert_eq!(status, 401, "{shown}");
        assert!(!answer.to_string().contains(TOKEN));
    }
    assert_eq!(send(address, "POST /v1/events", "", &body).await.0, 401);
    let waited = timeout(Duration::from_millis(200), bursts.next()).await;
    assert!(waited.is_err());
    let header = format!("authorization: bearer {TOKEN}\r\n");
    assert_eq!(
        send(address, "POST /v1/events", &header, &body).await.0,
        202
    );
    assert_eq!(bursts.next().await.unwrap().objects.len(), 1);
    assert_eq!(send(address, "GET /v1/health", "", "").await.0, 200);
}

#[tokio::test]
async fn an_open_address_needs_a_token_and_a_taken_one_is_reported() {
    let mut triggers = Triggers::new(LakeRoot::default(), Coalesce::default());
    for open in [
        "0.0.0.0:0",
        "[::]:0",
        "192.0.2.1:80",
        "[::ffff:192.0.2.1]:80",
    ] {
        let options = ListenOptions {
            address: open.parse().unwrap(),
            token: None,
        };
        let error = triggers.listen(options).await.unwrap_err().to_string();
        assert!(error.contains("set a token"), "{error}");
    }
    let (_bursts, address) = server(None).await;
    let options = ListenOptions {
        address,
        token: None,
    };
    let error = triggers.listen(options).await.unwrap_err();
    assert_eq!(error.kind(), TriggerErrorKind::Configuration);
    assert!(Token::new("short").is_err() && Token::new("with a space in it, long").is_err());
    assert_eq!(format!("{:?}", Token::new(TOKEN).unwrap()), "Token(…)");
}

#[tokio::test]
async fn a_storm_over_http_is_everything_in_bounded_memory() {
    let (mut bursts, address) = server(None).await;
    let paths: Vec<String> = (0..11_000).map(|n| format!("{n}.csv")).collect();
    assert_eq!(post(address, &json!({"objects": paths})).await.0, 202);
    let burst = bursts.next().await.unwrap();
    assert!(burst.everything && burst.objects.is_empty());
}
