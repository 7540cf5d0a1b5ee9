//! One file per command: parse, call the libraries, print.

pub mod ask;
pub mod bench;
pub mod cells;
mod cluster;
pub mod compact;
pub mod context;
pub mod describer;
pub mod diff;
pub mod embedder_bench;
pub mod endpoint_embedder;
pub mod eval;
mod explained;
pub mod gc;
pub mod index;
pub mod joins;
pub mod judge;
pub mod keys;
pub mod known;
pub mod language_model;
mod limits;
pub mod mcp;
pub mod models;
pub mod models_bench;
pub mod pdf_text;
pub mod processes;
pub mod read_book;
pub mod read_view;
pub mod search;
pub mod serve;
pub mod sets;
pub mod show;
pub mod snapshots;
pub mod sql;
pub mod tables;
pub mod verify;
pub mod watch;
pub mod why;

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Context, bail};
use limn_models::{Devices, Embedder, ModelKind, ModelStore};
use limn_retrieval::{JoinGraphs, KnownJoins, Mode, Query, Searcher};
use limn_segment::{IndexStore, Snapshot};

use crate::args::SearchOptions;
use crate::progress::{model_progress, say};
use crate::text::plural;

/// Prints one JSON value and a newline.
pub fn print_json<T: serde::Serialize>(value: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // As an I/O error: a reader that went away is recognised by its kind.
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()
}

/// The embedder by name, fetched at first use, on these devices.
pub async fn embedder(name: &str, devices: Devices) -> anyhow::Result<Arc<dyn Embedder>> {
    if name == endpoint_embedder::ENDPOINT {
        return endpoint_embedder::connect().await;
    }
    let name = name.to_owned();
    tokio::task::spawn_blocking(move || {
        let progress = model_progress();
        let store = ModelStore::from_env().with_devices(devices);
        let embedder = store.embedder(&name, &|event| progress.on(&event));
        progress.finish();
        embedder
    })
    .await
    .context("the model loader died")?
    .map_err(Into::into)
}

/// The embedder that an index was made with.
pub async fn embedder_of(snapshot: &Snapshot) -> anyhow::Result<Arc<dyn Embedder>> {
    if endpoint_embedder::made(&snapshot.embedder) {
        return endpoint_embedder::connect_to(&snapshot.embedder).await;
    }
    // One question is embedded sooner than a GPU is ready.
    embedder(embedder_name(snapshot)?, Devices::default()).await
}

/// What `--embedder` calls the embedder of a snapshot.
pub fn embedder_name(snapshot: &Snapshot) -> anyhow::Result<&'static str> {
    if endpoint_embedder::made(&snapshot.embedder) {
        return Ok(endpoint_embedder::ENDPOINT);
    }
    let Some(card) = ModelStore::card_of_id(&snapshot.embedder) else {
        let ids: Vec<String> = ModelStore::cards()
            .iter()
            .filter(|card| card.kind == ModelKind::Embedder)
            .map(|card| card.id().to_string())
            .collect();
        bail!(
            "the index was made with embedder '{}', and this limn has {}; index the lake again with this limn",
            snapshot.embedder,
            ids.join(", ")
        );
    };
    Ok(card.name)
}

/// The newest snapshot of an index that is whole. Damaged newer ones are warned of.
pub async fn newest(index: &IndexStore) -> anyhow::Result<Snapshot> {
    let snapshot = index.require_newest().await?;
    warn_passed_over(&snapshot, index.store.url());
    Ok(snapshot)
}

/// Says that snapshots newer than this one are damaged, where there are any.
pub fn warn_passed_over(snapshot: &Snapshot, location: &str) {
    let (number, damaged) = (snapshot.number, snapshot.passed_over);
    if damaged > 0 {
        let what = plural(damaged, "newer snapshot");
        let are = if damaged == 1 { "is" } else { "are" };
        say(&format!(
            "snapshot {number} is used: {what} {are} damaged; `limn verify --repair --index {location}` sets damaged ones aside"
        ));
    }
}

/// Opens the newest snapshot of an index for questions.
pub async fn open_searcher(location: &str) -> anyhow::Result<Searcher> {
    let index = IndexStore::open(location)?;
    let snapshot = newest(&index).await?;
    let embedder = embedder_of(&snapshot).await?;
    Ok(Searcher::open(&index, snapshot, embedder).await?)
}

/// The joins of an index that a question is searched with; none where tables are ranked one by one.
pub async fn joins_of(
    location: &str,
    snapshot: &Snapshot,
    options: &SearchOptions,
) -> anyhow::Result<Option<KnownJoins>> {
    if options.alone || options.plain {
        return Ok(None);
    }
    let index = IndexStore::open(location)?;
    let graphs = JoinGraphs::read(&index, snapshot).await?;
    Ok(Some(KnownJoins::new(Arc::new(graphs), true)))
}

/// A query as the search options say, without a judge or joins.
pub fn query(text: &str, k: usize, options: &SearchOptions) -> anyhow::Result<Query> {
    Ok(Query {
        k,
        alpha: options.alpha,
        candidates: options.candidates,
        prefix: options.under.prefix.clone(),
        mode: if options.plain {
            Mode::Plain
        } else {
            Mode::Limn
        },
        grading: judge::grading(&options.judging)?,
        ..Query::new(text)
    })
}
