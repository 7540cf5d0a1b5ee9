//! A run: list the lake, plan it, carry the plan out, and report.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use limn_models::Embedder;
use limn_segment::{Compacted, IndexStore, Policy, PublishError, SegmentError, nonce};
use limn_store::Store;

use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
use crate::cluster::totals::Totals;
use crate::drive::{Driven, run_epochs};
use crate::error::{Fatal, PipelineError};
use crate::listing::Listing;
use crate::narrate::heir::try_out_heir;
use crate::open::{Opened, Opening};
use crate::options::{IndexSettings, Narrate, RunOptions, shards};
use crate::plan::{Plan, Planner};
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::report::{
    CompactedTotals, Failure, ModelTotals, ObjectCounts, Report, Seconds, TableCounts,
};
use crate::scope::{Part, Scope};
use crate::segments::Outcome;

/// Indexes one lake once: lists it, describes what changed, publishes, and reports. In a cluster this is
/// the leader's part.
///
/// # Errors
/// The lake cannot be listed, the index cannot be read or written, the embedder fails, or another
/// writer published first; a process of the cluster is lost. Tables that cannot be read are no errors but
/// [`Report::failures`].
pub async fn index_lake(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    options: RunOptions,
    progress: Arc<Progress>,
) -> Result<Report, PipelineError> {
    let cluster = options.cluster.clone();
    let fatal = match &cluster {
        Some(cluster) => Arc::clone(cluster.fatal()),
        None => Arc::default(),
    };
    let opening = Opening::new(lake, index, embedder, options, progress, fatal);
    let others = cluster.as_deref();
    let part = async { Run::open(opening, others).await?.carry_out().await };
    match others {
        Some(cluster) => cluster.run(part, |report| report.stopped).await,
        None => part.await,
    }
}

/// A lake and its index, with everything a run shares.
struct Run<'a> {
    opening: Opening,
    opened: Opened,
    planner: Planner,
    /// The other processes, if there are any.
    cluster: Option<&'a Cluster>,
    /// Remarks from the opening.
    notes: Vec<String>,
    started: Instant,
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

impl<'a> Run<'a> {
    /// Decides the run's terms, agrees on them with the other processes, and reads what the index has of
    /// this lake.
    async fn open(
        mut opening: Opening,
        cluster: Option<&'a Cluster>,
    ) -> Result<Self, PipelineError> {
        let started = Instant::now();
        let lake = opening.lake.url().to_owned();
        let snapshot = opening.index.prepare().await?;
        let options = &mut opening.options;
        let stop = options.stop.clone();
        let heir = stop.run_until_cancelled(try_out_heir(options, snapshot.as_ref(), &lake));
        let (heir, mut notes) = heir.await.ok_or(PipelineError::Stopped)??;
        let before = snapshot
            .as_ref()
            .and_then(|snapshot| IndexSettings::intended(snapshot, &lake));
        let settings = IndexSettings::of_run(options, opening.embedder.as_ref(), before.as_ref());
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
        if let Some(snapshot) = &snapshot {
            settings.check_against(snapshot)?;
        }
        let index = &opening.index.store;
        let mut mark = None;
        if cluster.is_some() && index.local_root().is_some() {
            let path = format!("cache/probe/cluster-{}", nonce());
            index.put(&path, Default::default()).await?;
            mark = Some(path);
        }
        let terms = Terms {
            mark,
            lake: lake.clone(),
            index: opening.index.store.url().to_owned(),
            snapshot: snapshot.as_ref().map(|snapshot| snapshot.number),
            narrate: Terms::narrate(options),
            narrates: with.is_some(),
            shards: shards(options, snapshot.as_ref())?,
            resample_threshold: options.resample_threshold,
            workers: options.workers.max(1),
            settings,
        };
        if let Some(cluster) = cluster {
            cluster.announce(&terms);
        }
        let opened = opening
            .open(&terms, snapshot, with.map(|with| (with, heir)))
            .await?;
        let planner = Planner::new(
            &lake,
            Arc::clone(&opened.job.reader),
            Arc::clone(&opened.published),
            terms.settings.fingerprint(),
            &opening.options,
        );
        if let Some(cluster) = cluster {
            cluster.agreed().await;
        }
        if let Some(mark) = &terms.mark {
            opening.index.store.delete(mark).await?;
        }
        Ok(Self {
            opening,
            opened,
            planner,
            cluster,
            notes,
            started,
        })
    }

    /// Lists the lake and indexes what changed.
    async fn carry_out(self) -> Result<Report, PipelineError> {
        let Opening {
            lake,
            index,
            options,
            progress,
            ..
        } = &self.opening;
        let Opened { published, job, .. } = &self.opened;
        let stop = options.stop.clone();
        let listing = Listing::of(lake, index, &options.scope, progress);
        let listing = stop.run_until_cancelled(listing).await;
        let mut listing = listing.ok_or(PipelineError::Stopped)??;
        let known = published.table_count();
        // An unmounted disk and a mistyped prefix look like a lake from which all is gone.
        let is_suspicious = known > 0 || lake.local_root().is_none();
        let mut is_empty = listing.is_empty();
        if is_empty && listing.part.folders != Part::whole().folders {
            is_empty = lake.list("").next().await.is_none();
        }
        if is_empty && is_suspicious && !options.allow_empty {
            return Err(PipelineError::EmptyLake {
                lake: lake.url().to_owned(),
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
            index.check_writable()?;
        }
        if published.snapshot.is_none() {
            let probed = stop.run_until_cancelled(index.probe_creation()).await;
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
        Progress::add(&progress.files_wanted, plan.files_wanted);
        Progress::add(&progress.epochs_planned, plan.epochs.len());

        let mut given_up = GivenUp(Some(Arc::clone(&job.fatal)));
        let in_flight = options.epochs_in_flight.max(1);
        let driven = run_epochs(job, plan.epochs, self.cluster, in_flight, progress);
        let Driven { published, left } = driven.await?;
        given_up.0 = None;
        let followers = match self.cluster {
            Some(cluster) => cluster.totals().await,
            None => Totals::default(),
        };
        job.kept.finish().await?;
        if let Some(narrations) = &job.narrations {
            narrations.finish().await?;
        }
        let asking = job.asking.as_ref();
        let stopped = left > 0
            || stop.is_cancelled()
                && asking.is_some_and(|asking| {
                    let outcome = asking.outcome();
                    asking.is_wanted() || outcome.unasked > 0 && !outcome.given_up
                });
        if left == 0 {
            job.committer.finish().await?;
        } else {
            notes.push("stopped: tables that were not come to are as they were in the index; the same command goes on".into());
        }
        if left == 0 && stopped && asking.is_some_and(|asking| asking.is_wanted()) {
            notes.push("stopped before a column was narrated: all tables are searchable by names; the same command goes on".into());
        }
        notes.extend(self.narration_notes(&published));
        let mut stopped = stopped;
        let mut compacted = None;
        if !stopped && options.compact && self.has_published().await {
            match stop.run_until_cancelled(self.compact(&mut notes)).await {
                Some(done) => compacted = done?,
                None => {
                    stopped = true;
                    notes.push("stopped before the index was compacted: it is whole, and the next run that publishes, or limn compact, does it".into());
                }
            }
        }
        let mut report = self.report(listed, &part, published, failures, notes).await;
        self.count(&mut report, &followers);
        if let Some(compacted) = compacted {
            report.snapshot = compacted.snapshot;
            report.compacted = Some(totals(&compacted));
        }
        report.stopped = stopped;
        Ok(report)
    }

    /// A part of a lake can only be kept up to date, and of tables that there are.
    fn check_scope(&self, plan: &Plan) -> Result<(), PipelineError> {
        let scope = &self.opening.options.scope;
        if !scope.is_partial() {
            return Ok(());
        }
        if !self.opened.is_uniform {
            return Err(PipelineError::Settings(format!(
                "{} is not all indexed with these settings yet: run limn index first",
                self.opening.lake.url()
            )));
        }
        if let Scope::Tables(names) = scope {
            let is_known = |name: &&String| {
                plan.tables.contains(*name) || self.opened.published.table(name).is_some()
            };
            if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
                return Err(PipelineError::Settings(format!(
                    "no table '{unknown}', neither in {} nor in the index: limn tables lists them",
                    self.opening.lake.url()
                )));
            }
        }
        Ok(())
    }

    /// Whether the index has a snapshot that it did not have when the run began.
    async fn has_published(&self) -> bool {
        let before = self.opened.published.snapshot.as_ref();
        let before = before.map_or(0, |snapshot| snapshot.number);
        self.opened.job.committer.snapshot_number().await > before
    }

    /// Merges what has become small or is no longer live, so that nightly runs need nothing else. Other
    /// writers, the store or damage may hinder it: what the run was for is published all the same.
    async fn compact(&self, notes: &mut Vec<String>) -> Result<Option<Compacted>, PipelineError> {
        let index = &self.opening.index;
        let error = match index.compact(&Policy::default(), &|_| ()).await {
            Ok(compacted) => return Ok(compacted),
            Err(error) => error,
        };
        notes.push(match error {
            PublishError::Lost { .. } => "the index was not compacted, since other runs published again and again; the next run that publishes, or limn compact, does it".into(),
            PublishError::Segment(error) if error.is_damage() => format!(
                "what this run found is published, and the index was not compacted: {error}; limn verify tells what else is damaged"
            ),
            PublishError::Segment(error @ (SegmentError::Store(_) | SegmentError::Io { .. })) => format!(
                "what this run found is published, and the index was not compacted: {error}; the next run that publishes, or limn compact, does it"
            ),
            error @ PublishError::Segment(_) => return Err(error.into()),
        });
        Ok(None)
    }

    /// What is to be said of columns that were not narrated.
    fn narration_notes(&self, epochs: &[PublishedEpoch]) -> Vec<String> {
        let Some(narrations) = &self.opened.job.narrations else {
            return Vec::new();
        };
        let model = &narrations.narrator().model;
        if let Some(asking) = &self.opened.job.asking {
            return asking.outcome().notes(model);
        }
        // Tables of an earlier run that this one left alone, and those of this run.
        let touched: HashSet<&str> = epochs
            .iter()
            .flat_map(|epoch| &epoch.outcomes)
            .map(|(name, _)| name.as_str())
            .collect();
        let left = self.opened.published.awaiting();
        let left = left.filter(|name| !touched.contains(name)).count();
        let new: usize = epochs.iter().map(|epoch| epoch.awaiting.len()).sum();
        match left + new {
            0 => {
                let named = self
                    .opening
                    .options
                    .narrator
                    .as_ref()
                    .filter(|other| other.named);
                let note = named.map(|other| {
                    format!(
                        "the lake is narrated by {model}, and {} was not asked; --narrate llm tells it in that model's words instead",
                        other.model
                    )
                });
                note.into_iter().collect()
            }
            tables => vec![match &self.opening.options.narrator {
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
            self.opened
                .published
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
            .opened
            .published
            .table_count()
            .saturating_sub(tables.changed + tables.removed);

        let asking = self.opened.job.asking.as_ref();
        let narrated = asking.map(|asking| asking.outcome()).unwrap_or_default();
        Report {
            snapshot: self.opened.job.committer.snapshot_number().await,
            tables,
            objects: ObjectCounts {
                listed: listed as u64,
                ..ObjectCounts::default()
            },
            model: ModelTotals {
                narrated_columns: narrated.narrated,
                failed_columns: narrated.lost(),
                prompt_tokens: narrated.prompt_tokens,
                generated_tokens: narrated.generated_tokens,
                ..ModelTotals::default()
            },
            failures,
            notes,
            ..Report::default()
        }
    }

    /// Puts what was read, computed and written into the report, by this process and the followers.
    fn count(&self, report: &mut Report, followers: &Totals) {
        let mut all = self.opening.totals(&self.opened.job);
        all.add(followers);
        report.objects.read = all.files_read;
        (report.requests, report.bytes) = (all.requests, all.bytes);
        report.model.embedded_blocks = all.embedded_blocks;
        report.model.embedded_tokens = all.embedded_tokens;
        let asking = self.opened.job.asking.as_ref();
        report.seconds = Seconds {
            total: self.started.elapsed().as_secs_f64(),
            read: all.read,
            narrate: asking.map_or(0.0, |asking| asking.seconds()),
            embed: all.embed,
            embed_span: all.embed_span,
            write: all.write,
        };
    }
}
