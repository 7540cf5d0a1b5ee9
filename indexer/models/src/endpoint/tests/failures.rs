//! Servers that fail, refuse, lie, and stay silent.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::future::join_all;
use serde_json::json;

use super::server::{Reply, Request, Server};
use super::{KEY, limits, model, options, prompt};
use crate::{EndpointModel, LanguageModel, ModelError};

/// Fails every prompt twice, each time in another way, and then answers it with its own words.
fn failing_twice() -> impl Fn(&Request, usize) -> Reply {
    let failures = Mutex::new(HashMap::<String, usize>::new());
    move |request, number| {
        let earlier = {
            let mut failures = failures.lock().unwrap();
            let count = failures.entry(request.user().to_owned()).or_default();
            *count += 1;
            *count - 1
        };
        std::thread::sleep(Duration::from_millis(5));
        if earlier >= 2 {
            return Reply::says(request.user());
        }
        match number % 6 {
            0 => Reply::Http(429, vec![("retry-after", "0".to_owned())], Vec::new()),
            1 => Reply::json(500, &json!({"error": "out of luck"})),
            2 => Reply::Raw(Vec::new()),
            3 => Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"cho".to_vec()),
            4 => Reply::json(503, &json!({"error": {"message": "Loading model"}})),
            _ => Reply::Silence(Duration::from_millis(1500)),
        }
    }
}

#[tokio::test]
async fn what_fails_and_passes_is_sent_again_and_every_prompt_answered_once() {
    let server = Server::start(failing_twice());
    let mut options = options(&server);
    options.concurrency = 6;
    options.timeout = Duration::from_secs(1);
    let model = EndpointModel::new(&options).unwrap();
    let limits = limits(9, &[]);
    let prompts: Vec<_> = (0..30).map(|i| prompt(&format!("number {i}."))).collect();
    let answers = join_all(prompts.iter().map(|it| model.generate(it, &limits))).await;
    for (i, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap().text, format!("About this: number {i}."));
    }
    assert_eq!(server.seen().len(), 90, "none is lost and none is doubled");
    let usage = model.usage();
    assert_eq!((usage.prompts, usage.retries), (30, 60));
    assert!(
        server.most_at_once() <= 6,
        "{} at once",
        server.most_at_once()
    );
    assert!(server.most_at_once() > 1);
    let bearer = format!("Bearer {KEY}");
    let keyed = |request: &Request| request.header("authorization") == Some(bearer.as_str());
    assert!(server.seen().iter().all(keyed));
}

#[tokio::test]
async fn a_server_is_given_the_time_it_asks_for() {
    for dated in [false, true] {
        let header = move || match dated {
            // The date has whole seconds.
            true => (Utc::now() + TimeDelta::seconds(2)).to_rfc2822(),
            false => "1".to_owned(),
        };
        let server = Server::start(move |_, number| match number {
            0 => Reply::Http(429, vec![("retry-after", header())], Vec::new()),
            _ => Reply::says("now"),
        });
        let started = Instant::now();
        let generated = model(&server).generate(&prompt(""), &limits(1, &[])).await;
        assert_eq!(generated.unwrap().text, "now");
        let waited = started.elapsed();
        assert!(waited >= Duration::from_millis(990) && waited < Duration::from_secs(5));
    }
    let server = Server::start(|_, _| {
        let body = br#"{"error": {"message": "the day's requests are used up"}}"#;
        Reply::Http(
            429,
            vec![("retry-after", "36000".to_owned())],
            body.to_vec(),
        )
    });
    let error = model(&server)
        .generate(&prompt(""), &limits(1, &[]))
        .await
        .unwrap_err();
    assert!(
        error.is_retryable() && error.to_string().contains("used up"),
        "{error}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn attempts_are_bounded_and_what_is_left_may_pass_later() {
    let silence = Duration::from_secs(3);
    for (reply, part) in [
        ("busy", "503"),
        ("silent", "no reply in time"),
        ("no server", "is it running, and is the address right?"),
    ] {
        let server = Server::start(move |_, _| match reply {
            "busy" => Reply::json(503, &json!({"error": {"message": "later"}})),
            "silent" => Reply::Silence(silence),
            _ => Reply::Raw(Vec::new()),
        });
        let mut options = options(&server);
        (options.attempts, options.timeout) = (2, Duration::from_millis(300));
        let model = EndpointModel::new(&options).unwrap();
        let error = model
            .generate(&prompt(""), &limits(1, &[]))
            .await
            .unwrap_err();
        assert!(
            error.is_retryable() && error.to_string().contains(part),
            "{error}"
        );
        assert_eq!(server.seen().len(), 2, "{reply}");
        assert_eq!((model.usage().retries, model.usage().prompts), (1, 0));
    }
    let mut nobody = options(&Server::start(|_, _| Reply::says("")));
    (nobody.url, nobody.attempts) = ("http://127.0.0.1:1/v1".to_owned(), 2);
    let model = EndpointModel::new(&nobody).unwrap();
    let error = model
        .generate(&prompt(""), &limits(1, &[]))
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error}");
}

#[tokio::test]
async fn a_refusal_is_not_sent_again_and_says_what_to_do_without_the_key() {
    for (status, part) in [
        (400, "refuses the request"),
        (401, "LIMN_ENDPOINT_KEY"),
        (404, "/v1"),
        (501, "failed"),
    ] {
        let server = Server::start(move |request, _| {
            // As hostile as can be: it repeats what it was given.
            let key = request.header("authorization").unwrap().to_owned();
            let message = format!("no\n\u{1b}[31m{key}: {}", "long ".repeat(1000));
            let body = json!({"error": {"message": message}}).to_string();
            // The key again, spelled in another way.
            let body = body.replace("sk-", "sk\\u002d");
            Reply::Http(status, Vec::new(), body.into_bytes())
        });
        let error = model(&server)
            .generate(&prompt(""), &limits(1, &[]))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("127.0.0.1"), "{text}");
        assert!(
            !text.contains(char::is_control) && text.len() < 500,
            "{text}"
        );
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        assert!(!error.is_retryable());
        assert_eq!(server.seen().len(), 1);
    }
}

/// A gateway may take its key in the query; one that repeats the address repeats it.
#[tokio::test]
async fn a_querys_values_are_not_repeated() {
    let server = Server::start(|_, _| {
        let message = "no route for /v1/chat/completions?code=gateway-s3cret&api-version=2024-10";
        Reply::json(404, &json!({"error": {"message": message}}))
    });
    let mut options = super::options(&server);
    options.url += "?code=gateway-s3cret&api-version=2024-10";
    let model = crate::EndpointModel::new(&options).unwrap();
    let error = model.generate(&prompt(""), &limits(1, &[])).await;
    let error = format!("{:?}", error.unwrap_err());
    assert!(!error.contains("s3cret"), "{error}");
    assert!(error.contains("2024-10"), "{error}");
}

#[tokio::test]
async fn the_key_is_not_carried_to_another_address() {
    let other = Server::start(|_, _| Reply::says("stolen"));
    let to = format!("{}/v1/chat/completions?token=s3cret", other.url);
    for status in [301, 302, 307, 308] {
        let to = to.clone();
        let server = Server::start(move |_, _| {
            Reply::Http(status, vec![("location", to.clone())], Vec::new())
        });
        let error = model(&server)
            .generate(&prompt(""), &limits(1, &[]))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("redirects to") && !text.contains("s3cret"),
            "{text}"
        );
    }
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn broken_replies_are_typed_errors() {
    let nested = "[".repeat(1 << 20);
    let long = format!(
        "{{\"choices\": [{{\"message\": {{\"content\": \"{}",
        "x".repeat(5 << 20)
    );
    let bodies: Vec<Vec<u8>> = [
        "",
        "hello",
        "null",
        "{",
        "{}",
        "\u{0}",
        r#"{"choices": {}}"#,
        r#"{"choices": [{"message": {"content": 7}}]}"#,
        r#"{"error": {"message": "behind the gateway"}}"#,
        &nested,
        &long,
    ]
    .map(|body| body.as_bytes().to_vec())
    .into_iter()
    .chain([vec![0xff; 1000]])
    .collect();
    let count = bodies.len();
    let server = Server::start(move |_, number| {
        Reply::Http(
            200,
            Vec::new(),
            bodies.get(number).cloned().unwrap_or_default(),
        )
    });
    let model = model(&server);
    for place in 0..count {
        let error = model
            .generate(&prompt(""), &limits(1, &[]))
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                ModelError::Endpoint {
                    transient: false,
                    ..
                }
            ),
            "{place}: {error}"
        );
        let text = error.to_string();
        assert!(
            text.chars().count() < 400 && !text.contains(char::is_control),
            "{place}: {text}"
        );
    }
    assert_eq!(
        server.seen().len(),
        count,
        "a broken reply is not asked for again"
    );
    let endless = Server::start(|_, _| Reply::Endless);
    let error = super::model(&endless)
        .generate(&prompt(""), &limits(1, &[]))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
    let garbage = Server::start(|_, _| Reply::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec()));
    let mut options = options(&garbage);
    options.attempts = 1;
    let error = EndpointModel::new(&options).unwrap();
    let error = error
        .generate(&prompt(""), &limits(1, &[]))
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Endpoint { .. }), "{error}");
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_reported_as_such() {
    let server = Server::start(|_, _| {
        let error = json!({"type": "exceed_context_size_error", "n_prompt_tokens": 70, "n_ctx": 64,
                           "message": "request (70 tokens) exceeds the available context size"});
        Reply::json(400, &json!({"error": error}))
    });
    let model = model(&server);
    let error = model
        .generate(&prompt("short"), &limits(5, &[]))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ModelError::TooLong {
                tokens: 75,
                window: 64,
                ..
            }
        ),
        "{error}"
    );
    let long = prompt(&"long ".repeat(10_000));
    let error = model.generate(&long, &limits(5, &[])).await.unwrap_err();
    assert!(
        matches!(error, ModelError::TooLong { window: 8192, .. }),
        "{error}"
    );
    assert_eq!(server.seen().len(), 1, "what cannot fit is not sent");
}

/// Giving a prompt up gives its place to the next.
#[tokio::test]
async fn a_prompt_that_is_given_up_frees_its_place() {
    let server = Server::start(|request, _| match request.user().contains("slow") {
        true => Reply::Silence(Duration::from_secs(20)),
        false => Reply::says("quick"),
    });
    let mut options = options(&server);
    options.concurrency = 1;
    let model = EndpointModel::new(&options).unwrap();
    let (slow, limits) = (prompt("slow"), limits(1, &[]));
    let given_up = tokio::time::timeout(Duration::from_millis(300), model.generate(&slow, &limits));
    assert!(given_up.await.is_err());
    let quick = prompt("quick");
    let next = tokio::time::timeout(Duration::from_secs(5), model.generate(&quick, &limits));
    assert_eq!(next.await.unwrap().unwrap().text, "quick");
    let busy = model.usage().busy;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(model.usage().busy, busy, "nobody waits");
}
