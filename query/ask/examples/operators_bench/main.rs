//! Semantic operators by a real model over real columns, part of which it does not see: what is
//! right, what was estimated and spent, what is gained by asking many at once, and what
//! hostile text turns.
//!
//! ```sh
//! cargo run --release -p limn-ask --example operators_bench -- truth|batches|injection TABLES OUT
//!     [--model NAME] [--endpoint URL] [--rows FILE] [--only STAGE,STAGE] [--part N]
//!     [--widths N,N]
//! ```
//! TABLES is a folder with Spider's tables as CSV. OUT gets the figures; `--rows` the rows of each
//! stage, so that two models can be compared (`tests/bench/endpoint_parity.py`); `--part` takes one
//! row in N; `--widths` are how many questions are asked at once. The key of an endpoint is in
//! `LIMN_ENDPOINT_KEY`.

mod batches;
mod data;
mod injection;
mod measured;
mod truth;
mod written;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use limn_models::{
    ALL_MINILM, Decoder, DecoderOptions, DeviceChoice, Devices, EndpointKey, EndpointModel,
    EndpointOptions, LanguageModel, ModelStore, QWEN_CODER,
};
use serde_json::{Value, json};

use measured::Bench;

pub(crate) type Failure = Box<dyn Error>;

/// Tokens of a prompt and its answer that an endpoint has room for.
const WINDOW: usize = 2048;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let (positional, named) = arguments();
    let [what, tables, out] = positional.as_slice() else {
        return Err("truth|batches|injection TABLES OUT".into());
    };
    let store = ModelStore::from_env();
    let model: Arc<dyn LanguageModel> = match named.get("endpoint") {
        Some(url) => Arc::new(EndpointModel::new(&endpoint(url))?),
        None => {
            let name = named.get("model").map_or(QWEN_CODER, String::as_str);
            let files = store.language_model_files(name, &|_| {})?;
            let options = DecoderOptions {
                devices: Devices::find(DeviceChoice::Auto)?,
                ..DecoderOptions::default()
            };
            Arc::new(Decoder::load(&files, &options)?)
        }
    };
    let only = named
        .get("only")
        .map(|it| it.split(',').map(str::to_owned).collect());
    let part = named.get("part").map_or(Ok(1), |it| it.parse())?;
    let embedder = store.embedder(ALL_MINILM, &|_| {})?;
    let bench = Bench::new(model, embedder, tables, only, part);
    println!("{what} by {}", bench.model.id());
    let figures = match what.as_str() {
        "truth" => {
            let mut figures = truth::all(&bench).await?;
            figures.extend(written::all(&bench).await?);
            Value::from(figures)
        }
        "batches" => batches::all(&bench, &widths(&named)?).await?,
        "injection" => injection::all(&bench).await?,
        _ => return Err("truth, batches or injection".into()),
    };
    let figures = json!({"model": bench.model.id().as_str(), what: figures});
    std::fs::write(out, serde_json::to_string_pretty(&figures)?)?;
    if let Some(path) = named.get("rows") {
        std::fs::write(path, serde_json::to_string(&bench.rows())?)?;
    }
    Ok(())
}

/// Questions that are asked at once, from one on.
fn widths(named: &HashMap<String, String>) -> Result<Vec<usize>, Failure> {
    let widths = named.get("widths").map_or("1,4,12,24", String::as_str);
    Ok(widths
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?)
}

fn arguments() -> (Vec<String>, HashMap<String, String>) {
    let (mut positional, mut named) = (Vec::new(), HashMap::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--") {
            Some(name) => {
                named.insert(name.to_owned(), arguments.next().unwrap_or_default());
            }
            None => positional.push(argument),
        }
    }
    (positional, named)
}

fn endpoint(url: &str) -> EndpointOptions {
    let mut options = EndpointOptions::new(url, "model");
    let key = std::env::var("LIMN_ENDPOINT_KEY").ok();
    options.key = key.as_deref().map(EndpointKey::new);
    options.window = WINDOW;
    // What waits for a place at the server waits within the time that a reply may take.
    options.concurrency = 2;
    options.timeout = std::time::Duration::from_secs(900);
    options
}
