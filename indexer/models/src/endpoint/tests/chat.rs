//! What is sent, and what is made of good replies.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{Reply, Request, Server};
use super::{KEY, limits, model, options, prompt};
use crate::conformance::language_model_violations;
use crate::endpoint::Prices;
use crate::{EndpointModel, Finish, LanguageModel, ModelError, Prompt};

#[tokio::test]
async fn a_prompt_is_sent_as_the_protocol_says() {
    let server = Server::start(|_, _| Reply::says("Paris"));
    let mut options = options(&server);
    options.url += "?api=2&more=3";
    let model = EndpointModel::new(&options).unwrap();
    let limits = limits(7, &["a1", "", "a2", "a3", "a4", "a5"]);
    let generated = model.generate(&prompt("France"), &limits).await.unwrap();
    assert_eq!(
        (generated.text.as_str(), generated.finish),
        ("Paris", Finish::Stopped)
    );
    assert_eq!(
        (generated.prompt_tokens, generated.generated_tokens),
        (11, 3)
    );
    let request = &server.seen()[0];
    assert_eq!(request.path, "/v1/chat/completions?api=2&more=3");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(request.header("authorization"), Some(bearer.as_str()));
    assert_eq!(
        request.body,
        json!({
            "model": "toy",
            "messages": [
                {"role": "system", "content": "You answer."},
                {"role": "user", "content": "About this: France"},
            ],
            "stream": false, "max_tokens": 7, "temperature": 0,
            "stop": ["a1", "a2", "a3", "a4"],
        })
    );
    let place = server.url.replace("http://", "");
    assert_eq!(model.id().as_str(), format!("endpoint:toy@{place}/v1"));
    let bare = Prompt {
        system: Arc::from(""),
        ..prompt("x")
    };
    model.generate(&bare, &super::limits(1, &[])).await.unwrap();
    assert_eq!(
        server.seen()[1].body["messages"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_stop_text_that_the_server_ignores_ends_the_answer_all_the_same() {
    let server = Server::start(|_, _| Reply::says("one two\nthree END"));
    let model = model(&server);
    for (stop, text) in [
        (&["END", "\n"][..], "one two"),
        (&["1", "2", "3", "4", "two"], "one "),
        (&["one"], ""),
    ] {
        let generated = model.generate(&prompt(""), &limits(9, stop)).await.unwrap();
        assert_eq!(
            (generated.text.as_str(), generated.finish),
            (text, Finish::Stopped)
        );
    }
}

/// A reply to a request for probabilities, from a server that gives them.
fn with_probabilities(first: &str, listed: &[(&str, f64)]) -> Reply {
    let top: Vec<Value> = listed
        .iter()
        .map(|(token, p)| json!({"token": token, "logprob": p.ln()}))
        .collect();
    Reply::json(
        200,
        &json!({
            "choices": [{
                "message": {"content": first}, "finish_reason": "length",
                "logprobs": {"content": [{"token": first, "logprob": -0.1, "top_logprobs": top}]},
            }],
            "usage": {"prompt_tokens": 20, "completion_tokens": 1},
        }),
    )
}

#[tokio::test]
async fn a_choice_is_made_of_the_first_tokens_probabilities() {
    let server = Server::start(|_, _| {
        with_probabilities(
            "No",
            &[("No", 0.4), ("Yes", 0.3), (" yes", 0.2), ("The", 0.05)],
        )
    });
    let model = model(&server);
    let chosen = model.classify(&prompt(""), &["yes", "no"]).await.unwrap();
    assert_eq!((chosen.choice, chosen.prompt_tokens), (0, 20));
    let logs = chosen.log_probabilities.unwrap();
    assert!((logs[0].exp() - 0.5).abs() < 1e-4 && (logs[1].exp() - 0.4).abs() < 1e-4);
    let body = &server.seen()[0].body;
    assert_eq!(
        (
            &body["max_tokens"],
            &body["logprobs"],
            &body["top_logprobs"]
        ),
        (&json!(1), &json!(true), &json!(20))
    );
    let error = model.classify(&prompt(""), &["left", "right"]).await;
    assert!(
        matches!(error, Err(ModelError::NoChoice { .. })),
        "{error:?}"
    );
}

/// A server that gives none, or refuses to, is not asked for them again.
#[tokio::test]
async fn without_probabilities_the_first_word_is_the_choice() {
    let silent = |_: &Request, _: usize| Reply::says("**No**, it is not.");
    let refusing = |request: &Request, _: usize| match request.body.get("logprobs") {
        Some(_) => Reply::json(
            400,
            &json!({"error": {"message": "logprobs are not supported"}}),
        ),
        None => Reply::says("No."),
    };
    for (server, first) in [(Server::start(silent), 2), (Server::start(refusing), 4)] {
        let model = model(&server);
        for asked in [first, first + 1] {
            let chosen = model.classify(&prompt(""), &["yes", "no"]).await.unwrap();
            assert_eq!((chosen.choice, chosen.log_probabilities), (1, None));
            assert_eq!(server.seen().len(), asked);
        }
        assert_eq!(model.usage().prompts, 2);
    }
}

#[tokio::test]
async fn a_server_that_lists_five_tokens_is_asked_for_five() {
    let server = Server::start(|request, _| match request.body["top_logprobs"].as_u64() {
        Some(20) => Reply::json(
            400,
            &json!({"error": {"message": "Requested top_logprobs is above 5", "param": "top_logprobs"}}),
        ),
        _ => with_probabilities("Yes", &[("Yes", 0.9)]),
    });
    let model = model(&server);
    for asked in [2, 3] {
        let chosen = model.classify(&prompt(""), &["yes", "no"]).await.unwrap();
        assert!(chosen.log_probabilities.is_some());
        assert_eq!(server.seen().len(), asked);
    }
}

/// As OpenAI's newer models want it.
#[tokio::test]
async fn parameters_that_a_model_refuses_are_left_out_from_then_on() {
    let server = Server::start(|request, _| {
        if request.body["messages"].as_array().unwrap().len() > 1 {
            return Reply::json(400, &json!({"message": "System role not supported"}));
        }
        let refused = ["max_tokens", "temperature"];
        match refused
            .into_iter()
            .find(|name| request.body.get(name).is_some())
        {
            Some(name) => Reply::json(
                400,
                &json!({"error": {"code": "unsupported_parameter", "param": name, "message": "no"}}),
            ),
            None => Reply::says("fine"),
        }
    });
    let model = model(&server);
    for asked in [4, 5] {
        let generated = model.generate(&prompt("x"), &limits(5, &[])).await.unwrap();
        assert_eq!(generated.text, "fine");
        assert_eq!(server.seen().len(), asked);
    }
    let last = &server.seen()[4];
    assert_eq!(last.body["max_completion_tokens"], 5);
    assert_eq!(last.user(), "You answer.\n\nAbout this: x");
}

#[tokio::test]
async fn what_is_used_is_counted_and_priced() {
    let server = Server::start(|_, _| {
        Reply::json(
            200,
            &json!({
                "choices": [{"message": {"content": "x"}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 5,
                          "prompt_tokens_details": {"cached_tokens": 80}},
            }),
        )
    });
    let mut options = options(&server);
    options.prices = Some(Prices {
        prompt: 1.0,
        cached: 0.1,
        generated: 4.0,
    });
    let model = EndpointModel::new(&options).unwrap();
    for _ in 0..2 {
        let generated = model.generate(&prompt(""), &limits(5, &[])).await.unwrap();
        assert_eq!(generated.finish, Finish::Length);
    }
    let usage = model.usage();
    assert_eq!((usage.prompts, usage.prompt_tokens), (2, 200));
    assert_eq!(
        (usage.computed_prompt_tokens, usage.generated_tokens),
        (40, 10)
    );
    assert!((usage.cost.unwrap() - 2.0 * (20.0 + 8.0 + 20.0) / 1e6).abs() < 1e-12);
    assert!(!usage.busy.is_zero());
}

#[tokio::test]
async fn tokens_are_estimated_where_the_server_counts_none() {
    let server = Server::start(|_, _| {
        Reply::json(
            200,
            &json!({"choices": [{"message": {"content": "two words"}}]}),
        )
    });
    let generated = model(&server)
        .generate(&prompt("x"), &limits(50, &[]))
        .await;
    let generated = generated.unwrap();
    assert!(generated.prompt_tokens > 10 && generated.generated_tokens == 3);
}

/// A model whose answer follows from the prompt: words of its own hash.
fn toy(request: &Request, _: usize) -> Reply {
    let prompt = request.body["messages"].to_string();
    let mut state = prompt.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ["yes", "no", "red", "blue", "sea"][(state >> 33) as usize % 5]
    };
    let most = request.body["max_tokens"].as_u64().unwrap() as usize;
    let words: Vec<&str> = (0..most).map(|_| next()).collect();
    let text = words.join(" ");
    let stops = request.body["stop"].as_array().cloned().unwrap_or_default();
    let cut = stops
        .iter()
        .filter_map(|stop| text.find(stop.as_str().unwrap()))
        .min();
    let finish = if cut.is_some() { "stop" } else { "length" };
    let listed = [("yes", 0.3), ("No", 0.2), (words[0], 0.4)]
        .map(|(token, p): (&str, f64)| json!({"token": token, "logprob": p.ln()}));
    let mut choice = json!({
        "message": {"content": &text[..cut.unwrap_or(text.len())]}, "finish_reason": finish,
    });
    if request.body.get("logprobs").is_some() {
        choice["logprobs"] = json!({"content": [{"token": words[0], "logprob": -0.5,
                                                 "top_logprobs": listed}]});
    }
    let usage = json!({"prompt_tokens": prompt.len() / 4, "completion_tokens": most});
    Reply::json(200, &json!({"choices": [choice], "usage": usage}))
}

#[tokio::test]
async fn it_conforms() {
    let server = Server::start(toy);
    let broken = language_model_violations(&model(&server)).await;
    assert_eq!(broken, Vec::<String>::new());
}
