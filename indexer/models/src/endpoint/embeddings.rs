//! An embedder over `/embeddings`.
//!
//! [`Embedder::embed`] computes on the calling thread, which here means waiting: the requests run
//! on a runtime of the embedder's own, so it works on a thread of any kind.

use std::sync::{Arc, mpsc};

use futures::future::try_join_all;
use serde_json::json;
use tokio::runtime::Runtime;

use super::client::{Client, Failure};
use super::meter::Tokens;
use super::options::EndpointOptions;
use super::{reply, tokens};
use crate::{Embedder, ModelError, ModelId, Usage};

/// No number of a vector takes more bytes in a reply; and what stands around the vectors.
const NUMBER_BYTES: usize = 32;
const REPLY_BYTES: usize = 1 << 20;
/// The most dimensions that a vector may have, until they are known.
const DIMENSIONS: usize = 16_384;
/// A text that the server finds too long is not cut below so many estimated tokens.
const SHORTEST: usize = 16;
/// The most texts of a request, and their estimated tokens.
const TEXTS: usize = 64;
const TOKENS: usize = 100_000;

/// An embedder behind an OpenAI-compatible endpoint.
///
/// Its id is `endpoint:MODEL@HOST/PATH-384d-512w`, with its dimensions and its window. Vectors are
/// brought to length one here; whether the same text has the same vector in any batch is the
/// server's affair.
pub struct EndpointEmbedder {
    id: ModelId,
    dimensions: usize,
    window: usize,
    client: Arc<Client>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl EndpointEmbedder {
    /// Connects, and embeds one word to learn how long the vectors are.
    ///
    /// # Errors
    /// [`ModelError::Endpoint`] where the settings cannot be used or the endpoint does not answer.
    pub fn connect(options: &EndpointOptions) -> Result<Self, ModelError> {
        let client = Arc::new(Client::new(options)?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("limn-endpoint")
            .enable_all()
            .build()
            .map_err(|error| client.error(&format!("no thread for it: {error}"), true))?;
        let mut embedder = Self {
            id: ModelId::new(String::new()),
            dimensions: 0,
            window: options.window.max(1),
            client,
            runtime: Some(runtime),
        };
        embedder.dimensions = embedder.embed_one("table")?.len();
        embedder.id = ModelId::new(format!(
            "endpoint:{}@{}-{}d-{}w",
            options.model,
            embedder.client.address.place(),
            embedder.dimensions,
            embedder.window
        ));
        Ok(embedder)
    }

    /// What has been used so far.
    pub fn usage(&self) -> Usage {
        self.client.meter.usage()
    }

    /// Texts of one request each.
    fn requests(&self, texts: &[&str]) -> Vec<Vec<String>> {
        let mut requests: Vec<Vec<String>> = Vec::new();
        let mut room = 0;
        for text in texts {
            let text = tokens::cut(text, self.window);
            let cost = tokens::estimate(text);
            // Servers refuse a text of nothing.
            let text = if text.is_empty() { " " } else { text }.to_owned();
            match requests.last_mut() {
                Some(last) if last.len() < TEXTS && cost <= room => {
                    last.push(text);
                    room -= cost;
                }
                _ => {
                    requests.push(vec![text]);
                    room = TOKENS.saturating_sub(cost);
                }
            }
        }
        requests
    }
}

impl Drop for EndpointEmbedder {
    fn drop(&mut self) {
        // A runtime may not be waited for on a thread of another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Embedder for EndpointEmbedder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn window(&self) -> usize {
        self.window
    }

    fn count_tokens(&self, text: &str) -> usize {
        tokens::estimate(text)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let requests = self.requests(texts);
        let client = Arc::clone(&self.client);
        let dimensions = self.dimensions;
        let (done, result) = mpsc::channel();
        let runtime = self.runtime.as_ref().ok_or(ModelError::Stopped)?;
        runtime.spawn(async move {
            let _waiting = client.meter.waiting();
            let requests = requests
                .iter()
                .map(|texts| embedded(&client, texts, dimensions));
            // The receiver waits for as long as this runs.
            let _ = done.send(try_join_all(requests).await);
        });
        let vectors = result.recv().map_err(|_| ModelError::Stopped)??;
        Ok(vectors.into_iter().flatten().collect())
    }
}

/// The unit vectors of the texts. Where the server finds one too long (tokens are estimated here),
/// they are sent one by one, and that one cut: what is cut depends on the text alone.
async fn embedded(
    client: &Client,
    texts: &[String],
    dimensions: usize,
) -> Result<Vec<Vec<f32>>, ModelError> {
    match request(client, texts, dimensions).await {
        Err(Failure::Refused(refusal)) if refusal.is_too_long() => {}
        replied => return replied.map_err(|failure| to_error(client, failure)),
    }
    let mut vectors = Vec::with_capacity(texts.len());
    for text in texts {
        let mut window = tokens::estimate(text);
        let mut shorter = text.clone();
        let vector = loop {
            match request(client, std::slice::from_ref(&shorter), dimensions).await {
                Err(Failure::Refused(refusal)) if refusal.is_too_long() && window > SHORTEST => {
                    window = window * 3 / 4;
                    shorter = tokens::cut(text, window).to_owned();
                }
                replied => break replied.map_err(|failure| to_error(client, failure))?,
            }
        };
        vectors.extend(vector);
    }
    Ok(vectors)
}

fn to_error(client: &Client, failure: Failure) -> ModelError {
    match failure {
        Failure::Other(error) => error,
        Failure::Refused(refusal) => client.explain_refusal(&refusal),
    }
}

/// The unit vectors of the texts of one request; `dimensions` is 0 where they are not known yet.
async fn request(
    client: &Client,
    texts: &[String],
    dimensions: usize,
) -> Result<Vec<Vec<f32>>, Failure> {
    let body = json!({"model": client.model, "input": texts, "encoding_format": "float"});
    let numbers = if dimensions == 0 {
        DIMENSIONS
    } else {
        dimensions
    };
    let limit = REPLY_BYTES + texts.len() * numbers * NUMBER_BYTES;
    let reply = client.post("embeddings", &body, limit).await?;
    let estimate = || texts.iter().map(|text| tokens::estimate(text) as u64).sum();
    client
        .meter
        .replied(reply::tokens(&reply).unwrap_or_else(|| Tokens {
            prompt: estimate(),
            ..Tokens::default()
        }));
    let unusable = |detail: String| {
        Failure::Other(client.error(&format!("its reply cannot be used: {detail}"), false))
    };
    let mut vectors =
        reply::vectors(&reply, texts.len()).map_err(|error| unusable(error.to_string()))?;
    for vector in &mut vectors {
        if dimensions != 0 && vector.len() != dimensions {
            let detail = format!("a vector has {} dimensions, not {dimensions}", vector.len());
            return Err(unusable(detail));
        }
        let length = vector
            .iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt();
        if length == 0.0 {
            return Err(unusable("a vector is zero".to_owned()));
        }
        for x in vector.iter_mut() {
            *x = (f64::from(*x) / length) as f32;
        }
        client.meter.answered();
    }
    Ok(vectors)
}
