//! The options of a run.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use limn_lake::{Contexts, Filters};
use limn_models::{LanguageModel, ModelError, ModelId};
use limn_profile::{Redact, SUMMARY_VERSION};
use limn_segment::analyzer::ANALYZER_VERSION;
use limn_segment::{Narrator, Snapshot};
use limn_summary::narration::NARRATION_PROMPT_VERSION;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::error::PipelineError;
use crate::scope::Scope;
use crate::settings::{DEFAULT_VALUES, DOCUMENTS_VERSION, IndexSettings, Words};

/// Shards of a new index by default.
pub const DEFAULT_SHARDS: u32 = 2;

/// How a run is carried out. The last five fields decide what the texts are made of; the others
/// change nothing in the index.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Which part of the lake the run looks at.
    pub scope: Scope,
    /// Timely workers in this process; in a cluster the leader's number holds for all processes.
    pub workers: usize,
    /// The other processes, if there are any.
    pub cluster: Option<Arc<Cluster>>,
    /// Threads that embed, each on batches of its own.
    pub embed_threads: usize,
    /// Bytes of lake data that may be in memory at once, over all readers.
    pub read_memory: u64,
    /// Bytes of tables, from where their files are read to where their segment is written, that may
    /// be in memory at once: with more, no file is read.
    pub held_memory: u64,
    /// An epoch is cut after this many objects…
    pub epoch_objects: usize,
    /// …or after this many bytes of objects, whichever comes first; never inside a group.
    pub epoch_bytes: u64,
    /// Epochs that may be under way at once.
    pub epochs_in_flight: u64,
    /// Vectors of epochs that are not published yet are kept in the index every so often, for the
    /// run that goes on if this one is killed.
    pub keep_vectors_after: Duration,
    /// Which objects of the lake count; `None` goes on with what the index remembers.
    pub filters: Option<Filters>,
    /// Contexts to register in this run, beside those already registered.
    pub contexts: Contexts,
    /// Registered contexts that this run takes away, by the name they were registered for. What is
    /// in `contexts`, too, stays.
    pub forget: Contexts,
    /// Whether a lake that lists nothing may empty the index.
    pub allow_empty: bool,
    /// Whether a run that published something compacts the index at its end.
    pub compact: bool,
    /// Cancelled, the run stops: epochs under way are published, what models have said is kept, and
    /// nothing else is begun.
    pub stop: CancellationToken,
    /// The program that reads PDFs about tables, spreadsheets and views of databases
    /// ([`limn_formats::Confined`]); without one they are refused.
    pub confined_program: Option<PathBuf>,
    /// Shards of the index; `None` keeps the index's own, or the default for a new one.
    pub shards: Option<u32>,
    /// How columns are described.
    pub narrate: Narrate,
    /// The language model that narrates, where `narrate` lets one; the texts depend on its identity
    /// only.
    pub narrator: Option<NarrateWith>,
    /// A table's rows are drawn anew when more than this share of them came or went since they were
    /// drawn last; 0 draws at every change.
    pub resample_threshold: f64,
    /// Whose values are kept out of the index; `None` goes on with what the index remembers, at
    /// first with nobody's.
    pub redact: Option<Redact>,
    /// Rows drawn from each table.
    pub sample_rows: usize,
    /// Bytes read of one file for its profile.
    pub scan_budget: u64,
    /// By how many values of a file, beyond those that its profile keeps whole, its table is found;
    /// `None` goes on with what the index remembers, at first [`DEFAULT_VALUES`].
    pub values: Option<u32>,
    /// Joins are looked for in lakes of up to so many tables with ten columns each, at about 6 KB
    /// of memory a column; 0 looks for none.
    pub join_tables: u64,
    /// Seed of the row priorities.
    pub seed: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            scope: Scope::Lake,
            workers: cores.min(4),
            cluster: None,
            embed_threads: cores,
            read_memory: 256 << 20,
            held_memory: 160 << 20,
            epoch_objects: 16_384,
            epoch_bytes: 2 << 30,
            epochs_in_flight: 2,
            keep_vectors_after: Duration::from_secs(30),
            filters: None,
            contexts: Contexts::new(),
            forget: Contexts::new(),
            allow_empty: false,
            compact: true,
            stop: CancellationToken::new(),
            confined_program: None,
            shards: None,
            narrate: Narrate::Auto,
            narrator: None,
            resample_threshold: 0.0,
            redact: None,
            sample_rows: 5,
            scan_budget: 16 << 20,
            values: None,
            join_tables: 10_000,
            seed: 0,
        }
    }
}

/// How columns are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrate {
    /// By the run's language model, unless another one narrated the lake's tables in the index.
    /// Then, and without a model, as the index is: with the narrations that are there, or by names.
    Auto,
    /// By the run's language model; if another one narrated the lake, it is narrated anew.
    Llm,
    /// By names, types and values.
    Names,
    /// By bare names.
    Off,
}

/// Opens a language model.
type Open =
    dyn Fn() -> BoxFuture<'static, Result<Arc<dyn LanguageModel>, ModelError>> + Send + Sync;

/// A language model that narrates, and how its work is cut.
#[derive(Clone)]
pub struct NarrateWith {
    /// The model's identity.
    pub model: ModelId,
    /// The version of the prompts that it is asked with.
    pub prompt: u32,
    /// Whether a person named the model: then a note says where it narrates nothing.
    pub named: bool,
    /// Opens it: not before something is to be narrated.
    pub open: Arc<Open>,
    /// Narrations are stored when so many have come…
    pub flush_columns: usize,
    /// …or after this time.
    pub flush_after: Duration,
    /// Tables are described anew when so many are completely narrated in all processes together;
    /// each describes as many at a time at most…
    pub batch_tables: usize,
    /// …or after this time.
    pub batch_after: Duration,
}

impl NarrateWith {
    /// The model with the default cuts: 64 narrations or 5 seconds, 512 tables or 30 seconds.
    pub fn new(model: Arc<dyn LanguageModel>) -> Self {
        let open = Arc::clone(&model);
        Self::opened_by(model.id().clone(), move || {
            let model = Arc::clone(&open);
            async move { Ok(model) }.boxed()
        })
    }

    /// As [`new`](Self::new), with a model that `open` loads when something is to be narrated: a
    /// run over an unchanged lake loads none.
    pub fn opened_by(
        model: ModelId,
        open: impl Fn() -> BoxFuture<'static, Result<Arc<dyn LanguageModel>, ModelError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            model,
            prompt: NARRATION_PROMPT_VERSION,
            named: false,
            open: Arc::new(open),
            flush_columns: 64,
            flush_after: Duration::from_secs(5),
            batch_tables: 512,
            batch_after: Duration::from_secs(30),
        }
    }

    /// Whose narrations the model's are.
    pub fn narrator(&self) -> Narrator {
        Narrator {
            model: self.model.to_string(),
            prompt: self.prompt,
        }
    }
}

impl fmt::Debug for NarrateWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NarrateWith")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl IndexSettings {
    /// The settings of a run over a lake whose tables in the index were made with those of
    /// `before`.
    pub fn of_run(
        options: &RunOptions,
        embedder: &dyn limn_models::Embedder,
        before: Option<&Self>,
    ) -> Self {
        let here = options.narrator.as_ref().map(NarrateWith::narrator);
        let narrator = match options.narrate {
            Narrate::Auto => {
                // What a model has said stays, even where the model is not here.
                let before = before.and_then(|before| before.narrator.clone());
                let is_other = |here: &Narrator| {
                    let before = before.as_ref();
                    before.is_some_and(|before| before.model != here.model)
                };
                here.filter(|here| !is_other(here)).or(before)
            }
            Narrate::Llm => here,
            Narrate::Names | Narrate::Off => None,
        };
        Self {
            embedder: embedder.id().to_string(),
            dimensions: embedder.dimensions(),
            narrate: if options.narrate == Narrate::Off {
                Words::Off
            } else {
                Words::Names
            },
            narrator,
            sample_rows: options.sample_rows,
            scan_budget: options.scan_budget,
            values: options
                .values
                .or(before.map(|before| before.values))
                .unwrap_or(DEFAULT_VALUES),
            seed: options.seed,
            // Remembered, as filters are: a run without the option must not bring values back.
            redact: options
                .redact
                .or(before.map(|before| before.redact))
                .unwrap_or_default(),
            documents: DOCUMENTS_VERSION,
            summaries: SUMMARY_VERSION,
            analyzer: ANALYZER_VERSION,
        }
    }
}

/// The number of shards to use: the index's own, which an explicit request must match.
pub fn shards(options: &RunOptions, snapshot: Option<&Snapshot>) -> Result<u32, PipelineError> {
    match (options.shards, snapshot) {
        (Some(0), _) => Err(PipelineError::Settings(
            "an index needs at least one shard; use --shards 1 or more".into(),
        )),
        (Some(wanted), Some(snapshot)) if wanted != snapshot.shards => {
            Err(PipelineError::Settings(format!(
                "the index has {} shards, --shards asks for {wanted}; leave --shards away or use another --index",
                snapshot.shards
            )))
        }
        (_, Some(snapshot)) => Ok(snapshot.shards),
        (wanted, None) => Ok(wanted.unwrap_or(DEFAULT_SHARDS)),
    }
}
