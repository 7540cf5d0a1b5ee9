//! The options of a run, and what an index was made with.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use limn_lake::{Contexts, Filters};
use limn_models::{LanguageModel, ModelError, ModelId};
use limn_profile::{KeptValues, Redact, SUMMARY_VERSION};
use limn_segment::analyzer::ANALYZER_VERSION;
use limn_segment::{Narrator, Snapshot};
use limn_summary::narration::NARRATION_PROMPT_VERSION;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::changes::MemberId;
use crate::cluster::Cluster;
use crate::error::PipelineError;
use crate::known_failures::FAILED;
use crate::scope::Scope;

/// Version of the texts that are made of a table; another version describes every table anew. How
/// files are read has one of its own, [`SUMMARY_VERSION`].
pub const DOCUMENTS_VERSION: u32 = 9;

/// Where a snapshot names the settings of lakes all of whose tables were made with them.
const LAKES: &str = "lakes";
/// Where it names the settings that a lake's tables are on the way to.
const CHANGING: &str = "changing";
/// What is to be remembered of the encoder's folder that makes the vectors.
pub(crate) const ENCODER: &str = "encoder";
/// Where it names the filters of lakes ([`crate::filtering`]).
pub(crate) const FILTERS: &str = "filters";

/// By how many values of a file its table is found, by default.
pub const DEFAULT_VALUES: u32 = 1_000_000;

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
    /// How columns are put into words.
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
            epoch_objects: 8192,
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

/// How columns are put into words.
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
    /// Tables are described anew when so many are completely narrated…
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

/// Where the words of a column without a narration come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Column names split and expanded, types, ranges, most frequent values.
    Names,
    /// Column names as they are, and nothing else.
    Off,
}

/// What a lake's tables in an index were made with. Any difference describes them all anew. A
/// setting that this limn does not know is an error: it may say what has to be kept out of the
/// index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSettings {
    /// The embedder's identity.
    pub embedder: String,
    /// Vector dimensions.
    pub dimensions: usize,
    /// Words of columns that have no narration.
    pub narrate: Words,
    /// Who narrates, if anyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrator: Option<Narrator>,
    /// Rows drawn from each table.
    pub sample_rows: usize,
    /// Bytes read of one file for its profile.
    pub scan_budget: u64,
    /// By how many values of a file its table is found.
    #[serde(default = "default_values", skip_serializing_if = "is_default_values")]
    pub values: u32,
    /// Seed of the row priorities.
    pub seed: u64,
    /// Whose values are kept out.
    #[serde(default, skip_serializing_if = "is_off")]
    pub redact: Redact,
    /// [`DOCUMENTS_VERSION`] of the run.
    pub documents: u32,
    /// [`SUMMARY_VERSION`] of the run; 0 in indexes from before there was one.
    #[serde(default)]
    pub summaries: u32,
    /// Version of the analyzer.
    pub analyzer: u32,
}

fn default_values() -> u32 {
    DEFAULT_VALUES
}

fn is_default_values(values: &u32) -> bool {
    *values == DEFAULT_VALUES
}

fn is_off(redact: &Redact) -> bool {
    *redact == Redact::Off
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

    /// The settings that all of a lake's tables in `snapshot` were made with.
    ///
    /// # Errors
    /// This limn does not understand them.
    pub fn of_lake(snapshot: &Snapshot, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        Self::of(snapshot, LAKES, lake_url)
    }

    /// The settings that a lake's tables in `snapshot` were made with or, where a run that changes
    /// them did not end, are to be made with.
    ///
    /// # Errors
    /// This limn does not understand them.
    pub fn intended(snapshot: &Snapshot, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        match Self::of_lake(snapshot, lake_url)? {
            Some(settings) => Ok(Some(settings)),
            None => Self::of(snapshot, CHANGING, lake_url),
        }
    }

    fn of(snapshot: &Snapshot, list: &str, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        let Some(settings) = remembered(snapshot, list, lake_url)? else {
            return Ok(None);
        };
        let settings = serde_json::from_value(settings.clone());
        settings
            .map(Some)
            .map_err(|error| not_understood(lake_url, &error))
    }

    /// Writes these settings into a snapshot's settings for one lake: as those of all its tables,
    /// or as those that its tables are on the way to.
    pub fn put_into(&self, settings: &mut serde_json::Value, lake_url: &str, all: bool) {
        if !settings.is_object() {
            *settings = serde_json::json!({});
        }
        let (list, other) = if all {
            (LAKES, CHANGING)
        } else {
            (CHANGING, LAKES)
        };
        if !settings[list].is_object() {
            settings[list] = serde_json::json!({});
        }
        settings[list][lake_url] = serde_json::json!(self);
        let others = settings.get_mut(other);
        if let Some(others) = others.and_then(|others| others.as_object_mut()) {
            others.remove(lake_url);
        }
    }

    /// What is kept of the values of a file.
    pub fn kept_values(&self) -> KeptValues {
        KeptValues {
            most: match self.redact {
                Redact::AllValues => 0,
                Redact::Off | Redact::Marked => self.values,
            },
            hides_personal: self.redact == Redact::Marked,
        }
    }

    /// A fingerprint that takes part in every member: other settings, another state.
    pub fn fingerprint(&self) -> MemberId {
        xxhash_rust::xxh3::xxh3_128(serde_json::json!(self).to_string().as_bytes())
    }

    /// Whether file summaries made with `other` are those this run would make.
    pub fn summaries_match(&self, other: &Self) -> bool {
        let of = |it: &Self| {
            (
                it.sample_rows,
                it.scan_budget,
                it.values,
                it.seed,
                it.redact,
                it.summaries,
            )
        };
        of(self) == of(other)
    }

    /// Checks that a run with these settings may write into the index.
    ///
    /// # Errors
    /// The vectors of two embedders cannot be compared, so an index has one embedder.
    pub fn check_against(&self, snapshot: &Snapshot) -> Result<(), PipelineError> {
        if snapshot.embedder != self.embedder {
            return Err(PipelineError::Settings(format!(
                "the index was made with embedder '{}', this run has '{}'; use the same embedder or another --index: --embedder says which",
                snapshot.embedder, self.embedder
            )));
        }
        if snapshot.analyzer != self.analyzer {
            return Err(PipelineError::Settings(format!(
                "the index was made with analyzer {}, this limn has {}; index anew into another --index",
                snapshot.analyzer, self.analyzer
            )));
        }
        Ok(())
    }
}

/// What a snapshot remembers of a lake under one of the names above, as it is written there.
///
/// # Errors
/// There is more than this limn knows of: to go on without it might index what somebody kept out.
pub(crate) fn remembered<'a>(
    snapshot: &'a Snapshot,
    list: &str,
    lake_url: &str,
) -> Result<Option<&'a serde_json::Value>, PipelineError> {
    if snapshot.settings.is_null() {
        return Ok(None);
    }
    let no_object = |what: &str| not_understood(lake_url, &format!("{what} is no object"));
    let all = snapshot.settings.as_object();
    let all = all.ok_or_else(|| no_object("`settings`"))?;
    let is_known =
        |name: &&String| [LAKES, CHANGING, FILTERS, FAILED, ENCODER].contains(&name.as_str());
    if let Some(unknown) = all.keys().find(|name| !is_known(name)) {
        let unknown = limn_store::one_line(unknown);
        let what = format!("unknown setting `{unknown}`");
        return Err(not_understood(lake_url, &what));
    }
    match all.get(list) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::Object(lakes)) => Ok(lakes.get(lake_url)),
        Some(_) => Err(no_object(&format!("`{list}`"))),
    }
}

fn not_understood(lake_url: &str, why: &dyn fmt::Display) -> PipelineError {
    PipelineError::Settings(format!(
        "the index remembers settings for {lake_url} that this limn does not understand ({why}): use the limn that wrote them, or index into another place"
    ))
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

#[cfg(test)]
mod tests;
