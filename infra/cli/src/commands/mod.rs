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
pub mod encoders;
pub mod endpoint_embedder;
pub mod eval;
mod eval_files;
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
mod scores;
pub mod search;
pub mod serve;
pub mod sets;
pub mod show;
pub mod snapshots;
pub mod sql;
pub mod tables;
pub mod tune;
pub mod verify;
pub mod watch;
pub mod why;

use std::io::{self, Write};
use std::sync::Arc;

use limn_retrieval::{JoinGraphs, KnownJoins, Mode, Query, Searcher, Tuned, Weights};
use limn_segment::{IndexStore, Snapshot};

use crate::args::{EncoderPlace, RankingArg, SearchOptions};
use crate::progress::say;
use crate::text::plural;
pub use encoders::{embedder, embedder_name, embedder_of};

/// Prints one JSON value and a newline.
pub fn print_json<T: serde::Serialize>(value: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // As an I/O error: a reader that went away is recognised by its kind.
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()
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
pub async fn open_searcher(location: &str, encoder: &EncoderPlace) -> anyhow::Result<Searcher> {
    let index = IndexStore::open(location)?;
    let snapshot = newest(&index).await?;
    if let Err(error) = Tuned::of(&snapshot) {
        say(&format!("tables are ranked by limn's own weights: {error}"));
    }
    let embedder = embedder_of(&snapshot, encoder).await?;
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
        weights: match options.ranking {
            RankingArg::Learned => None,
            RankingArg::Formula => Some(Weights::FORMULA),
        },
        grading: judge::grading(&options.judging)?,
        ..Query::new(text)
    })
}
