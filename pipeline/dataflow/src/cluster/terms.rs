//! Terms: what the leader has decided, and what every process must have alike.

use limn_lake::Filters;
use limn_models::Embedder;
use limn_segment::IndexStore;
use limn_store::Store;
use serde::{Deserialize, Serialize};

use crate::error::PipelineError;
use crate::options::{IndexSettings, RunOptions};

/// What a run is, the same in all its processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Terms {
    /// The lake's URL.
    pub lake: String,
    /// The index's URL.
    pub index: String,
    /// An object that the leader has put into an index on a disk: whose path may be another folder
    /// on another machine.
    pub mark: Option<String>,
    /// The snapshot that the run goes on from; none for a new index.
    pub snapshot: Option<u64>,
    /// What texts and vectors are made with.
    pub settings: IndexSettings,
    /// Which objects of the lake count.
    pub filters: Filters,
    /// How columns are put into words, by the leader's options.
    pub narrate: String,
    /// Whether the leader has a language model for this lake.
    pub narrates: bool,
    /// Shards of the index.
    pub shards: u32,
    /// The share of rows that have to change before a table's rows are drawn anew.
    pub resample_threshold: f64,
    /// Timely workers in each process.
    pub workers: usize,
}

impl Terms {
    /// How a process's options put columns into words.
    pub fn narrate(options: &RunOptions) -> String {
        format!("{:?}", options.narrate).to_lowercase()
    }

    /// Checks that a follower has the leader's options. The language model is the leader's alone.
    ///
    /// # Errors
    /// What differs.
    pub fn check(
        &self,
        lake: &Store,
        index: &IndexStore,
        embedder: &dyn Embedder,
        options: &RunOptions,
    ) -> Result<(), PipelineError> {
        let theirs = &self.settings;
        let own = IndexSettings::of_run(options, embedder, None);
        let narrate = Self::narrate(options);
        let number = |number: &dyn ToString| number.to_string();
        let shards = options.shards.unwrap_or(self.shards);
        let threshold = options.resample_threshold;
        let compared = [
            ("the lake", self.lake.clone(), lake.url().to_owned()),
            ("--index", self.index.clone(), index.store.url().to_owned()),
            ("the embedder", theirs.embedder.clone(), own.embedder),
            ("--narrate", self.narrate.clone(), narrate),
            ("--shards", number(&self.shards), number(&shards)),
            (
                "--resample-threshold",
                number(&self.resample_threshold),
                number(&threshold),
            ),
            (
                "--redact",
                number(&theirs.redact),
                number(&options.redact.unwrap_or(theirs.redact)),
            ),
            (
                "--sample-rows",
                number(&theirs.sample_rows),
                number(&own.sample_rows),
            ),
            (
                "--scan-budget",
                number(&theirs.scan_budget),
                number(&own.scan_budget),
            ),
            ("the seed", number(&theirs.seed), number(&own.seed)),
            (
                "the version of texts",
                number(&theirs.documents),
                number(&own.documents),
            ),
        ];
        let differs = compared.into_iter().find(|(_, leader, own)| leader != own);
        match differs {
            None => Ok(()),
            Some((what, leader, own)) => Err(PipelineError::Settings(format!(
                "{what} is {own} here and {leader} in process 0; start all processes with the same options"
            ))),
        }
    }
}
