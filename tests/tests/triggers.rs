//! Changes announced over a real queue: nothing lost, nothing announced for ever, nothing in
//! anybody's way.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use limn_store::Store;
use limn_tests::sqs::SqsServer;
use limn_triggers::{Burst, Bursts, Coalesce, LakeRoot, QueueOptions, TriggerErrorKind, Triggers};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(60);

fn options(url: &str) -> QueueOptions {
    QueueOptions {
        visibility: Duration::from_secs(2),
        tries: 3,
        ..QueueOptions::new(url)
    }
}

fn triggers() -> Triggers {
    let store = Store::open_with("s3://lake/raw", []).unwrap();
    let coalesce = Coalesce {
        // The server is no quick one.
        quiet: Duration::from_secs(3),
        ..Coalesce::default()
    };
    Triggers::new(LakeRoot::of(&store), coalesce)
}

async fn watch(server: &SqsServer, options: QueueOptions) -> Bursts {
    let mut triggers = triggers();
    triggers
        .queue_with(options, server.environment())
        .await
        .unwrap();
    triggers.bursts()
}

fn record(event: &str, key: &str) -> Value {
    let s3 = json!({"bucket": {"name": "lake"}, "object": {"key": key}});
    json!({"eventSource": "aws:s3", "eventName": event, "s3": s3})
}

fn notification(event: &str, key: &str) -> String {
    json!({"Records": [record(event, key)]}).to_string()
}

/// Waits until a queue has so many messages, visible or not.
async fn until(server: &SqsServer, queue: &str, expected: (u64, u64)) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let count = server.count(queue).await;
        if count == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{count:?}, not {expected:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_is_one_burst_and_its_messages_end_with_it() {
    let server = SqsServer::start().await;
    let queue = server.create("lake").await;
    let records = vec![record("ObjectCreated:Put", "raw/a+b.csv"); 5];
    let storm = vec![json!({"Records": records}).to_string(); 100];
    server.send(&queue, &storm).await;
    let others = [
        notification("ObjectRemoved:Delete", "raw/gone.csv"),
        notification("ObjectCreated:Put", "cooked/c.csv"),
        json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "lake"}).to_string(),
    ];
    server.send(&queue, &others).await;

    let start = Instant::now();
    let options = QueueOptions {
        visibility: Duration::from_secs(8),
        ..options(&queue)
    };
    let mut bursts = watch(&server, options).await;
    // One, unless the server is slower than the quiet time.
    let mut held = Vec::new();
    while held.iter().map(Burst::messages).sum::<usize>() < 101 {
        held.push(timeout(PATIENCE, bursts.next()).await.unwrap().unwrap());
    }
    println!(
        "103 messages: {} bursts after {:?}",
        held.len(),
        start.elapsed()
    );
    assert!(held.len() <= 5 && held.iter().all(|burst| !burst.everything));
    let objects: BTreeSet<&str> = held
        .iter()
        .flat_map(|burst| &burst.objects)
        .map(String::as_str)
        .collect();
    assert_eq!(objects, ["a b.csv", "gone.csv"].into());
    // What names nothing of the lake is deleted at once; what names something stays, and stays
    // hidden for longer than the queue was asked to hide it.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(12) {
        assert_eq!(server.count(&queue).await, (0, 101));
        sleep(Duration::from_millis(200)).await;
    }
    let start = Instant::now();
    for burst in held {
        burst.done().await.unwrap();
    }
    println!("101 messages deleted in {:?}", start.elapsed());
    assert_eq!(server.count(&queue).await, (0, 0));
    let counts = bursts.counts();
    assert_eq!((counts.events, counts.ignored, counts.poison), (501, 2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_burst_comes_again() {
    let server = SqsServer::start().await;
    let queue = server.create("lake").await;
    let mut bursts = watch(&server, options(&queue)).await;
    server
        .send(&queue, &[notification("ObjectCreated:Put", "raw/a.csv")])
        .await;
    for done in [false, false, true] {
        let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
        assert_eq!(burst.objects.iter().collect::<Vec<_>>(), ["a.csv"]);
        if done {
            burst.done().await.unwrap();
        }
    }
    assert_eq!(server.count(&queue).await, (0, 0));
    // Nor is it lost where everything ends.
    server
        .send(&queue, &[notification("ObjectCreated:Put", "raw/b.csv")])
        .await;
    let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
    drop(bursts);
    drop(burst);
    let mut bursts = watch(&server, options(&queue)).await;
    let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
    assert_eq!(burst.objects.iter().collect::<Vec<_>>(), ["b.csv"]);
    burst.done().await.unwrap();
    assert_eq!(server.count(&queue).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_set_aside_after_some_tries() {
    let server = SqsServer::start().await;
    let poison = "{\"hello\": \u{1b}[31m".to_owned();
    let queue = server.create("lake").await;
    let aside = server.create("aside").await;
    let options = QueueOptions {
        set_aside: Some(aside.clone()),
        ..options(&queue)
    };
    let mut bursts = watch(&server, options).await;
    let good = notification("ObjectCreated:Put", "raw/a.csv");
    let start = Instant::now();
    server.send(&queue, &[poison.clone(), good]).await;
    // It stands in nobody's way.
    let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
    assert_eq!(burst.objects.len(), 1);
    burst.done().await.unwrap();
    assert_eq!(server.count(&aside).await, (0, 0));
    until(&server, &aside, (1, 0)).await;
    until(&server, &queue, (0, 0)).await;
    assert!(start.elapsed() > Duration::from_secs(4), "two times hidden");
    assert_eq!(server.bodies(&aside).await, [poison]);
    assert_eq!(bursts.counts().poison, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_deleted_where_there_is_no_place_for_it() {
    let server = SqsServer::start().await;
    let queue = server.create("lake").await;
    let confirm =
        json!({"Type": "SubscriptionConfirmation", "SubscribeURL": "http://127.0.0.1:1/"});
    server
        .send(&queue, &["x".to_owned(), confirm.to_string()])
        .await;
    let bursts = watch(&server, options(&queue)).await;
    until(&server, &queue, (0, 0)).await;
    assert_eq!(bursts.counts().poison, 6);
    assert_eq!(bursts.counts().events, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_signed_and_wrong_access_is_reported() {
    let server = SqsServer::start().await;
    let queue = server.create("lake").await;
    server
        .send(&queue, &[notification("ObjectCreated:Put", "raw/a.csv")])
        .await;
    server.check_signatures().await;
    let error = |url: String, variables: Vec<(String, String)>| async move {
        let mut triggers = triggers();
        let asked = triggers.queue_with(QueueOptions::new(url), variables).await;
        asked.unwrap_err()
    };

    let mut wrong = server.environment();
    wrong[1].1 = "sEcReT".to_owned();
    let denied = error(queue.clone(), wrong).await;
    assert_eq!(denied.kind(), TriggerErrorKind::AccessDenied, "{denied}");
    let text = format!("{denied} {denied:?}");
    assert!(text.contains("AWS_SECRET_ACCESS_KEY"), "{text}");
    let signature = ["sEcReT", "Credential=", server.user.0.as_str()];
    assert!(!signature.iter().any(|part| text.contains(part)), "{text}");

    let missing = error(format!("{queue}2"), server.environment()).await;
    assert_eq!(missing.kind(), TriggerErrorKind::NoSuchQueue, "{missing}");
    assert!(missing.to_string().contains("create it"), "{missing}");

    // The server computes the signature of each request itself, and finds it right.
    let mut bursts = watch(&server, options(&queue)).await;
    let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
    assert_eq!(burst.objects.len(), 1);
    burst.done().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_away_is_asked_again() {
    let server = SqsServer::start().await;
    let queue = server.create("lake").await;
    // Nobody listens there.
    let mut triggers = triggers();
    let away = QueueOptions::new("http://127.0.0.1:1/1/lake");
    triggers
        .queue_with(away, server.environment())
        .await
        .unwrap();
    triggers
        .queue_with(options(&queue), server.environment())
        .await
        .unwrap();
    let mut bursts = triggers.bursts();
    server
        .send(&queue, &[notification("ObjectCreated:Put", "raw/a.csv")])
        .await;
    let burst = timeout(PATIENCE, bursts.next()).await.unwrap().unwrap();
    drop(server);
    let error = burst.done().await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let waiting = timeout(Duration::from_secs(3), bursts.next()).await;
    assert!(waiting.is_err(), "the watch goes on");
}
