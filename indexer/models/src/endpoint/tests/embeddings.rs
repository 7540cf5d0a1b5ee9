//! The embedder over an endpoint.

use serde_json::{Value, json};

use super::options;
use super::server::{Reply, Request, Server};
use crate::conformance::embedder_violations;
use crate::endpoint::EndpointEmbedder;
use crate::{Embedder, HashedWords, ModelError};

/// Hashed words, three times as long as they should be and in reverse order.
fn embeds(request: &Request, _: usize) -> Reply {
    let texts = request.body["input"].as_array().unwrap();
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| {
            let vector = HashedWords.embed_one(text.as_str().unwrap()).unwrap();
            let vector: Vec<f32> = vector.iter().map(|x| x * 3.0).collect();
            json!({"index": index, "embedding": vector})
        })
        .collect();
    Reply::json(
        200,
        &json!({"data": data, "usage": {"prompt_tokens": texts.len()}}),
    )
}

#[test]
fn it_conforms() {
    let server = Server::start(embeds);
    let mut options = options(&server);
    options.window = 64;
    let embedder = EndpointEmbedder::connect(&options).unwrap();
    let place = server.url.replace("http://", "");
    assert_eq!(
        embedder.id().as_str(),
        format!("endpoint:toy@{place}/v1-64d-64w")
    );
    assert_eq!(embedder_violations(&embedder), Vec::<String>::new());
    assert_eq!(server.seen()[0].path, "/v1/embeddings");
    assert!(embedder.usage().prompt_tokens > 100);
}

/// Callers are threads of any kind, those of a runtime among them.
#[tokio::test]
async fn many_texts_take_several_requests_also_on_a_runtimes_thread() {
    let server = Server::start(embeds);
    let embedder = EndpointEmbedder::connect(&options(&server)).unwrap();
    let texts: Vec<String> = (0..200).map(|i| format!("text {i}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        let expected = HashedWords.embed_one(text).unwrap();
        let near = vector
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near, "{text}");
    }
    let sizes = |request: &Request| request.body["input"].as_array().unwrap().len();
    assert_eq!(server.seen().iter().map(sizes).sum::<usize>(), 201);
    assert_eq!(server.seen().len(), 5);
    assert!(embedder.embed(&[]).unwrap().is_empty());
    assert_eq!(server.seen().len(), 5, "nothing is asked for nothing");
}

#[test]
fn vectors_of_another_length_and_refusals_are_errors() {
    let server = Server::start(|request, number| match number {
        0 => embeds(request, 0),
        1 => Reply::json(200, &json!({"data": [{"embedding": [1.0, 0.0]}]})),
        2 => Reply::json(200, &json!({"data": [{"embedding": vec![0.0; 64]}]})),
        3 => Reply::json(404, &json!({"error": {"message": "no such model"}})),
        _ => Reply::json(200, &json!({"data": []})),
    });
    let embedder = EndpointEmbedder::connect(&options(&server)).unwrap();
    for part in [
        "2 dimensions, not 64",
        "zero",
        "no such model",
        "0 vectors for 1",
    ] {
        let error = embedder.embed(&["a"]).unwrap_err();
        assert!(matches!(
            error,
            ModelError::Endpoint {
                transient: false,
                ..
            }
        ));
        assert!(error.to_string().contains(part), "{error}");
    }
    let nothing = Server::start(|_, _| Reply::json(401, &json!({})));
    let error = EndpointEmbedder::connect(&options(&nothing))
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("LIMN_ENDPOINT_KEY"), "{error}");
}

/// Tokens are estimated here: what a server finds too long is cut until it fits, alone.
#[test]
fn a_text_that_the_server_finds_too_long_is_cut_and_its_neighbours_are_not() {
    let server = Server::start(|request, number| {
        let texts = request.body["input"].as_array().unwrap();
        let words = |text: &Value| text.as_str().unwrap().split_whitespace().count();
        if texts.iter().any(|text| words(text) > 50) {
            let message = "This model's maximum context length is 50 tokens";
            return Reply::json(400, &json!({"error": {"message": message}}));
        }
        embeds(request, number)
    });
    let embedder = EndpointEmbedder::connect(&options(&server)).unwrap();
    let long = "lake ".repeat(120);
    let texts = ["a river", &long, "a town"];
    let vectors = embedder.embed(&texts).unwrap();
    let near = |text: &str, vector: &[f32]| {
        let expected = HashedWords.embed_one(text).unwrap();
        vector
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-5)
    };
    assert!(near("a river", &vectors[0]) && near("a town", &vectors[2]));
    assert!(near("lake", &vectors[1]));
    // The same alone.
    assert_eq!(embedder.embed_one(&long).unwrap(), vectors[1]);
}
