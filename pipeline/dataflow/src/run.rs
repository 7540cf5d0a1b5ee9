//! A run: list the lake, plan it, carry the plan out, and report.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures::StreamExt;
use limn_lake::ReadOptions;
use limn_models::Embedder;
use limn_segment::{Compacted, IndexStore, Policy, PublishError, nonce};
use limn_store::{RequestCounts, Store};
use limn_summary::TokenCounter;

use crate::assemble::Assembler;
use crate::describe::Describer;
use crate::drive::{Driven, run_epochs};
use crate::embed::BlockEmbedder;
use crate::error::{Fatal, PipelineError};
use crate::job::Job;
use crate::kept::KeptVectors;
use crate::listing::Listing;
use crate::narrate::asking::Asking;
use crate::narrate::awaiting::Awaiting;
use crate::narrate::heir::try_out_heir;
use crate::narrate::store::NarrationStore;
use crate::options::{IndexSettings, Narrate, RunOptions, shards};
use crate::plan::{Plan, Planner};
use crate::progress::Progress;
use crate::publish::{Committer, PublishedEpoch};
use crate::published::Published;
use crate::read::Reader;
use crate::report::{
    ByteTotals, CompactedTotals, Failure, ModelTotals, ObjectCounts, Report, RequestTotals,
    Seconds, TableCounts,
};
use crate::scope::{Part, Scope};
use crate::segments::{Outcome, SegmentWriter};

/// Indexes one lake once: lists it, describes what changed, publishes, and reports.
///
/// # Errors
/// The lake cannot be listed, the index cannot be read or written, the embedder fails, or another
/// writer published first. Tables that cannot be read are no errors but [`Report::failures`].
pub async fn index_lake(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    options: RunOptions,
    progress: Arc<Progress>,
) -> Result<Report, PipelineError> {
    let run = Run::open(lake, index, embedder, options, progress).await?;
    run.carry_out().await
}

/// A lake and its index, with everything a run shares.
struct Run {
    lake: Store,
    index: IndexStore,
    options: RunOptions,
    progress: Arc<Progress>,
    published: Arc<Published>,
    planner: Planner,
    job: Arc<Job>,
    /// Whether all of the lake's tables in the index were made with this run's settings.
    is_uniform: bool,
    /// Remarks from the opening.
    notes: Vec<String>,
    started: Instant,
    counts: (RequestCounts, RequestCounts),
}

/// Ends the job when the run is dropped before its end: the dataflow's threads would go on.
struct GivenUp(Option<Arc<Fatal>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        if let Some(fatal) = self.0.take() {
            fatal.set(PipelineError::Dataflow("the run was given up".into()));
        }
    }
}

fn totals(compacted: &Compacted) -> CompactedTotals {
    let (before, after) = (compacted.before, compacted.after);
    CompactedTotals {
        segments: before.segments.saturating_sub(after.segments) as u64,
        catalog_files: before.catalog_files.saturating_sub(after.catalog_files) as u64,
        deleted_blocks: before.deleted_blocks.saturating_sub(after.deleted_blocks),
    }
}

struct WindowCounter(Arc<dyn Embedder>);

impl TokenCounter for WindowCounter {
    fn count(&self, text: &str) -> usize {
        self.0.count_tokens(text)
    }

    fn window(&self) -> usize {
        self.0.window()
    }
}

impl Run {
    /// Opens the index and reads what it has of this lake.
    async fn open(
        lake: Store,
        index: IndexStore,
        embedder: Arc<dyn Embedder>,
        options: RunOptions,
        progress: Arc<Progress>,
    ) -> Result<Self, PipelineError> {
        let started = Instant::now();
        let counts = (lake.counts(), index.store.counts());
        let fatal = Arc::new(Fatal::default());
        let snapshot = index.prepare().await?;
        let mut options = options;
        let stop = options.stop.clone();
        let heir =
            stop.run_until_cancelled(try_out_heir(&mut options, snapshot.as_ref(), lake.url()));
        let (heir, mut notes) = heir.await.ok_or(PipelineError::Stopped)??;
        let before = snapshot
            .as_ref()
            .and_then(|snapshot| IndexSettings::intended(snapshot, lake.url()));
        let settings = IndexSettings::of_run(&options, embedder.as_ref(), before.as_ref());
        if options.narrate == Narrate::Llm && options.narrator.is_none() {
            return Err(PipelineError::Settings(
                "a run that narrates with a language model was given none; --narrate names goes without".into(),
            ));
        }
        if let (Some(before), None) = (before.and_then(|it| it.narrator), &settings.narrator) {
            notes.push(format!(
                "the tables are not told in the words of {} any more; the words are kept, and --narrate llm with that model brings them back without asking again",
                before.model
            ));
        }
        let with = options.narrator.clone();
        let with = with.filter(|with| settings.narrator == Some(with.narrator()));
        let published = Published::load(&index, snapshot, lake.url(), &settings, with.is_some());
        let published = Arc::new(published.await?);
        let shards = shards(&options, published.snapshot.as_ref())?;
        let is_uniform = published.snapshot.as_ref().is_some_and(|snapshot| {
            IndexSettings::of_lake(snapshot, lake.url()).as_ref() == Some(&settings)
        });
        let awaiting = Arc::new(Awaiting::default());
        let narrations = settings
            .narrator
            .clone()
            .map(|narrator| Arc::new(NarrationStore::new(index.clone(), narrator, nonce())));
        let narrates = with.is_some();
        let asking = narrations.as_ref().zip(with).map(|(narrations, with)| {
            Arc::new(Asking::new(
                with,
                Arc::clone(narrations),
                Arc::clone(&awaiting),
                Arc::clone(&progress),
                Arc::clone(&fatal),
                options.stop.clone(),
                heir,
            ))
        });
        let reader = Arc::new(Reader::new(
            lake.clone(),
            Arc::clone(&published),
            ReadOptions {
                sample_rows: options.sample_rows,
                scan_budget: options.scan_budget,
                seed: options.seed,
            },
            options.read_memory,
            Arc::clone(&progress),
        ));
        let planner = Planner::new(
            lake.url(),
            Arc::clone(&reader),
            Arc::clone(&published),
            settings.fingerprint(),
            &options,
        );
        let kept = Arc::new(KeptVectors::new(
            index.clone(),
            settings.embedder.clone(),
            settings.dimensions,
            options.keep_vectors_after,
        ));
        let job = Arc::new(Job {
            reader,
            assembler: Arc::new(Assembler {
                lake: lake.clone(),
                published: Arc::clone(&published),
                awaiting: Arc::clone(&awaiting),
                settings: settings.fingerprint(),
                narrates,
                resample_threshold: if is_uniform {
                    options.resample_threshold
                } else {
                    0.0
                },
            }),
            describer: Arc::new(Describer {
                counter: Arc::new(WindowCounter(Arc::clone(&embedder))),
                words: settings.narrate,
                narrations: narrations.clone(),
                progress: Arc::clone(&progress),
            }),
            embedder: Arc::new(BlockEmbedder::new(
                Arc::clone(&embedder),
                options.embed_threads,
                index.clone(),
                published.snapshot.clone(),
                awaiting,
                Arc::clone(&kept),
                Arc::clone(&progress),
            )),
            writer: Arc::new(SegmentWriter::new(
                index.clone(),
                settings.dimensions,
                Arc::clone(&kept),
                Arc::clone(&progress),
            )),
            kept,
            committer: Committer::new(
                index.clone(),
                lake.url().to_owned(),
                settings,
                shards,
                &published,
                narrations.clone(),
            ),
            narrations,
            asking,
            lake: lake.url().to_owned(),
            shards,
            runtime: tokio::runtime::Handle::current(),
            stop: options.stop.clone(),
            fatal,
        });
        Ok(Self {
            lake,
            index,
            options,
            progress,
            published,
            planner,
            job,
            is_uniform,
            notes,
            started,
            counts,
        })
    }

    /// Lists the lake and indexes what changed.
    async fn carry_out(self) -> Result<Report, PipelineError> {
        let stop = self.options.stop.clone();
        let scope = &self.options.scope;
        let listing = Listing::of(&self.lake, &self.index, scope, &self.progress);
        let listing = stop.run_until_cancelled(listing).await;
        let mut listing = listing.ok_or(PipelineError::Stopped)??;
        let known = self.published.table_count();
        // An unmounted disk and a mistyped prefix look like a lake from which all is gone.
        let is_suspicious = known > 0 || self.lake.local_root().is_none();
        let mut is_empty = listing.is_empty();
        if is_empty && listing.part.folders != Part::whole().folders {
            is_empty = self.lake.list("").next().await.is_none();
        }
        if is_empty && is_suspicious && !self.options.allow_empty {
            return Err(PipelineError::EmptyLake {
                lake: self.lake.url().to_owned(),
                tables: known,
            });
        }
        let listed = listing.objects.len();
        let part = listing.part.clone();
        let (mut failures, listing_notes) = (
            std::mem::take(&mut listing.failures),
            std::mem::take(&mut listing.notes),
        );
        let plan = self.planner.plan(listing);
        let plan = stop.run_until_cancelled(plan).await;
        let plan = plan.ok_or(PipelineError::Stopped)?;
        self.check_scope(&plan)?;
        if plan.files_wanted > 0 || plan.awaiting > 0 {
            self.index.check_writable()?;
        }
        if self.published.snapshot.is_none() {
            let probed = stop.run_until_cancelled(self.index.probe_creation()).await;
            probed.ok_or(PipelineError::Stopped)??;
        }
        // A name that no table can have is told like any other failure.
        let refused = plan.refused.iter().map(|error| Failure {
            table: error.object.clone(),
            object: error.object.clone(),
            error: error.to_string(),
        });
        failures.extend(refused);
        let orphans = plan.orphans.iter();
        let orphans =
            orphans.map(|orphan| format!("context of '{orphan}' names no table of the lake"));
        let mut notes = self.notes.clone();
        notes.extend(listing_notes);
        notes.extend(orphans);
        Progress::add(&self.progress.files_wanted, plan.files_wanted);
        Progress::add(&self.progress.epochs_planned, plan.epochs.len());

        let job = Arc::clone(&self.job);
        let workers = self.options.workers.max(1);
        let in_flight = self.options.epochs_in_flight.max(1);
        let progress = Arc::clone(&self.progress);
        let mut given_up = GivenUp(Some(Arc::clone(&self.job.fatal)));
        let Driven { published, left } = tokio::task::spawn_blocking(move || {
            run_epochs(&job, plan.epochs, workers, in_flight, &progress)
        })
        .await
        .map_err(|_| PipelineError::Dataflow("the driver died".into()))??;
        given_up.0 = None;
        self.job.kept.finish().await?;
        if let Some(narrations) = &self.job.narrations {
            narrations.finish().await?;
        }
        let asking = self.job.asking.as_ref();
        let stopped = left > 0
            || stop.is_cancelled()
                && asking.is_some_and(|asking| {
                    let outcome = asking.outcome();
                    asking.is_wanted() || outcome.unasked > 0 && !outcome.given_up
                });
        if left == 0 {
            self.job.committer.finish().await?;
        } else {
            notes.push("stopped: tables that were not come to are as they were in the index; the same command goes on".into());
        }
        if left == 0 && stopped && asking.is_some_and(|asking| asking.is_wanted()) {
            notes.push("stopped before a column was narrated: all tables are searchable by names; the same command goes on".into());
        }
        notes.extend(self.narration_notes(&published));
        let mut stopped = stopped;
        let mut compacted = None;
        if !stopped && self.options.compact && self.has_published().await {
            match stop.run_until_cancelled(self.compact(&mut notes)).await {
                Some(done) => compacted = done?,
                None => {
                    stopped = true;
                    notes.push("stopped before the index was compacted: it is whole, and the next run that publishes, or limn compact, does it".into());
                }
            }
        }
        let mut report = self.report(listed, &part, published, failures, notes).await;
        if let Some(compacted) = compacted {
            report.snapshot = compacted.snapshot;
            report.compacted = Some(totals(&compacted));
        }
        report.stopped = stopped;
        Ok(report)
    }

    /// A part of a lake can only be kept up to date, and of tables that there are.
    fn check_scope(&self, plan: &Plan) -> Result<(), PipelineError> {
        let scope = &self.options.scope;
        if !scope.is_partial() {
            return Ok(());
        }
        if !self.is_uniform {
            return Err(PipelineError::Settings(format!(
                "{} is not all indexed with these settings yet: run limn index first",
                self.lake.url()
            )));
        }
        if let Scope::Tables(names) = scope {
            let is_known = |name: &&String| {
                plan.tables.contains(*name) || self.published.table(name).is_some()
            };
            if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
                return Err(PipelineError::Settings(format!(
                    "no table '{unknown}', neither in {} nor in the index: limn tables lists them",
                    self.lake.url()
                )));
            }
        }
        Ok(())
    }

    /// Whether the index has a snapshot that it did not have when the run began.
    async fn has_published(&self) -> bool {
        let before = self.published.snapshot.as_ref();
        let before = before.map_or(0, |snapshot| snapshot.number);
        self.job.committer.snapshot_number().await > before
    }

    /// Merges what has become small or is no longer live, so that nightly runs need nothing else. Another
    /// writer may be faster: what the run was for is published all the same.
    async fn compact(&self, notes: &mut Vec<String>) -> Result<Option<Compacted>, PipelineError> {
        match self.index.compact(&Policy::default(), &|_| ()).await {
            Ok(compacted) => Ok(compacted),
            Err(PublishError::Lost { .. }) => {
                notes.push("the index was not compacted, since other runs published again and again; the next run that publishes, or limn compact, does it".into());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What is to be said of columns that were not narrated.
    fn narration_notes(&self, epochs: &[PublishedEpoch]) -> Vec<String> {
        let Some(narrations) = &self.job.narrations else {
            return Vec::new();
        };
        let model = &narrations.narrator().model;
        if let Some(asking) = &self.job.asking {
            return asking.outcome().notes(model);
        }
        // Tables of an earlier run that this one left alone, and those of this run.
        let touched: HashSet<&str> = epochs
            .iter()
            .flat_map(|epoch| &epoch.outcomes)
            .map(|(name, _)| name.as_str())
            .collect();
        let left = self.published.awaiting();
        let left = left.filter(|name| !touched.contains(name)).count();
        let new: usize = epochs.iter().map(|epoch| epoch.awaiting.len()).sum();
        match left + new {
            0 => {
                let named = self.options.narrator.as_ref().filter(|other| other.named);
                let note = named.map(|other| {
                    format!(
                        "the lake is narrated by {model}, and {} was not asked; --narrate llm tells it in that model's words instead",
                        other.model
                    )
                });
                note.into_iter().collect()
            }
            tables => vec![match &self.options.narrator {
                None => format!(
                    "tables that await a narration by {model}, which this run was without: {tables}; they are searchable by names, and a run with the model goes on"
                ),
                Some(other) => format!(
                    "tables that await a narration by {model}: {tables}; they are searchable by names; --narrate llm tells the lake in the words of {} instead",
                    other.model
                ),
            }],
        }
    }

    async fn report(
        &self,
        listed: usize,
        part: &Part,
        epochs: Vec<PublishedEpoch>,
        mut failures: Vec<Failure>,
        notes: Vec<String>,
    ) -> Report {
        let mut outcomes: HashMap<String, Outcome> = HashMap::new();
        for epoch in epochs {
            for (name, outcome) in epoch.outcomes {
                let known = outcomes.entry(name).or_insert(outcome);
                // Gone from one group of files and there in another: the table has changed.
                *known = match (*known, outcome) {
                    (Outcome::Removed, Outcome::Added) | (Outcome::Added, Outcome::Removed) => {
                        Outcome::Changed
                    }
                    // Added by its names, then told in a model's words.
                    (Outcome::Added, Outcome::Changed) => Outcome::Added,
                    (Outcome::Removed | Outcome::Forgotten, other)
                    | (other, Outcome::Removed | Outcome::Forgotten) => other,
                    (_, latest) => latest,
                };
            }
            failures.extend(epoch.failures);
        }
        let count = |wanted| outcomes.values().filter(|o| **o == wanted).count() as u64;
        let mut tables = TableCounts {
            added: count(Outcome::Added),
            changed: count(Outcome::Changed),
            removed: count(Outcome::Removed),
            ..TableCounts::default()
        };
        // What was unreadable before and has not changed is still worth telling.
        failures.extend(
            self.published
                .failures()
                .filter(|failure| !outcomes.contains_key(&failure.table))
                .filter(|failure| part.has_table(&failure.table) && part.has_path(&failure.object)),
        );
        failures.sort();
        failures.dedup();
        tables.failed = failures
            .iter()
            .map(|failure| failure.table.as_str())
            .collect::<HashSet<_>>()
            .len() as u64;
        tables.unchanged = self
            .published
            .table_count()
            .saturating_sub(tables.changed + tables.removed);

        let lake = self.lake.counts().since(&self.counts.0);
        let index = self.index.store.counts().since(&self.counts.1);
        let embed = self.job.embedder.stats();
        let asking = self.job.asking.as_ref();
        let narrated = asking.map(|asking| asking.outcome()).unwrap_or_default();
        Report {
            snapshot: self.job.committer.snapshot_number().await,
            tables,
            objects: ObjectCounts {
                listed: listed as u64,
                read: self.job.reader.files_read(),
            },
            requests: RequestTotals {
                list: lake.list + index.list,
                get: lake.get + index.get,
                put: lake.put + index.put,
                head: lake.head + index.head,
            },
            bytes: ByteTotals {
                read: lake.bytes_read + index.bytes_read,
                written: lake.bytes_written + index.bytes_written,
            },
            model: ModelTotals {
                embedded_blocks: self.progress.blocks_embedded_anew.load(Ordering::Relaxed),
                embedded_tokens: embed.tokens,
                narrated_columns: narrated.narrated,
                failed_columns: narrated.lost(),
                prompt_tokens: narrated.prompt_tokens,
                generated_tokens: narrated.generated_tokens,
            },
            seconds: Seconds {
                total: self.started.elapsed().as_secs_f64(),
                read: self.progress.read_seconds(),
                narrate: asking.map_or(0.0, |asking| asking.seconds()),
                embed: embed.busy.as_secs_f64(),
                embed_span: embed.span().as_secs_f64(),
                write: self.progress.write_seconds(),
            },
            failures,
            compacted: None,
            stopped: false,
            notes,
        }
    }
}
