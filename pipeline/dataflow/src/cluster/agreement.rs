//! What every process of a cluster must have alike: its options agree with the leader's terms.

use limn_models::Embedder;
use limn_segment::IndexStore;
use limn_store::Store;

use super::terms::Terms;
use crate::error::PipelineError;
use crate::options::RunOptions;
use crate::settings::IndexSettings;

impl Terms {
    /// How a process's options describe columns.
    pub fn narrate(options: &RunOptions) -> String {
        format!("{:?}", options.narrate).to_lowercase()
    }

    /// A hash of the contexts that a process's options register and take away.
    pub fn contexts(options: &RunOptions) -> String {
        let contexts = format!("{:?}\0{:?}", options.contexts, options.forget);
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(contexts.as_bytes()))
    }

    /// Checks that a follower has the leader's options. It need not have the language model.
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
            (
                "what contexts say (a hash)",
                self.contexts.clone(),
                Self::contexts(options),
            ),
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
