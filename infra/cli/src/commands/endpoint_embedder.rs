//! `--embedder endpoint`: vectors from an OpenAI-compatible endpoint.
//!
//! Its settings come from the environment, so that searches find them as indexing did. An index
//! names the endpoint that its vectors are from, but never says where to connect: an index that
//! somebody else wrote could have the key sent to them.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use limn_models::{Embedder, EndpointEmbedder, EndpointKey, EndpointOptions};

/// The name that means an endpoint.
pub const ENDPOINT: &str = "endpoint";
/// How the ids of its vectors begin.
const ID_BEGINS: &str = "endpoint:";
/// Tokens of a text where LIMN_EMBED_WINDOW says nothing: as much as most embedders take.
const WINDOW: usize = 512;

/// Whether vectors of this id are from an endpoint.
pub fn made(id: &str) -> bool {
    id.starts_with(ID_BEGINS)
}

/// Connects to the endpoint that the environment describes.
pub async fn connect() -> anyhow::Result<Arc<dyn Embedder>> {
    let options = options()?;
    let connected = tokio::task::spawn_blocking(move || EndpointEmbedder::connect(&options));
    let embedder = connected
        .await
        .context("the embedder's connection died")??;
    Ok(Arc::new(embedder))
}

/// Connects to the endpoint that an index was made with, if it is the one the environment
/// describes.
pub async fn connect_to(id: &str) -> anyhow::Result<Arc<dyn Embedder>> {
    let connected = connect().await;
    let embedder =
        connected.map_err(|error| anyhow!("the index was made with embedder '{id}': {error}"))?;
    if embedder.id().as_str() != id {
        bail!(
            "the index was made with embedder '{id}', and LIMN_EMBED_ENDPOINT, LIMN_EMBED_MODEL and LIMN_EMBED_WINDOW describe '{}'; set them as they were, or index the lake again",
            embedder.id()
        );
    }
    Ok(embedder)
}

fn options() -> anyhow::Result<EndpointOptions> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let url = set("LIMN_EMBED_ENDPOINT").or_else(|| set("LIMN_ENDPOINT"));
    let url = url.context(
        "embedder 'endpoint' needs an address: set LIMN_EMBED_ENDPOINT, such as http://localhost:8000/v1",
    )?;
    let model = set("LIMN_EMBED_MODEL")
        .context("embedder 'endpoint' needs the model's name there: set LIMN_EMBED_MODEL")?;
    let mut options = EndpointOptions::new(url, model);
    options.key = EndpointKey::from_env();
    options.window = number("LIMN_EMBED_WINDOW", WINDOW as u64, 8)? as usize;
    options.concurrency =
        number("LIMN_ENDPOINT_CONCURRENCY", options.concurrency as u64, 1)? as usize;
    options.attempts = u32::try_from(number(
        "LIMN_ENDPOINT_ATTEMPTS",
        options.attempts.into(),
        1,
    )?)?;
    let seconds = number("LIMN_ENDPOINT_TIMEOUT", options.timeout.as_secs(), 1)?;
    options.timeout = Duration::from_secs(seconds);
    Ok(options)
}

fn number(name: &str, default: u64, least: u64) -> anyhow::Result<u64> {
    let Some(text) = env::var(name).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(default);
    };
    match text.trim().parse() {
        Ok(number) if (least..=1_000_000).contains(&number) => Ok(number),
        _ => bail!("{name}: '{text}' is not a number from {least} to 1000000"),
    }
}
