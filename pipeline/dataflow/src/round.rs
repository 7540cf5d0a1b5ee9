//! A round: list the lake, plan it, carry the plan out, and report. `limn index` is one round;
//! `limn watch` a session of many.

mod account;

use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use limn_lake::Contexts;
use limn_lake::layout::is_data;
use limn_segment::{Compacted, Policy, PublishError, SegmentError, nonce};

use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
use crate::cluster::totals::Totals;
use crate::drive::{Dataflow, Driven};
use crate::error::PipelineError;
use crate::filtering::{remembered, selection};
use crate::listing::Listing;
use crate::narrate::successor::try_out_successor;
use crate::open::{Opened, Opening};
use crate::options::{IndexSettings, Narrate, shards};
use crate::plan::{Plan, Planner};
use crate::progress::Progress;
use crate::published::Published;
use crate::report::{CompactedTotals, Failure, Report};
use crate::scope::{Part, Scope};

use account::{LeftOut, joined_note};

/// A lake and its index, with everything a round shares.
pub struct Round {
    opening: Opening,
    opened: Opened,
    terms: Terms,
    planner: Planner,
    /// The other processes, if there are any.
    cluster: Option<Arc<Cluster>>,
    /// Remarks from the opening.
    notes: Vec<String>,
    started: Instant,
}

/// Notes on contexts that name no table. Of those that were `given` to this run, the ones are kept
/// that are of a table that was there. Where filters leave something out, that may be what they
/// name.
fn orphan_notes(
    orphans: &[String],
    given: &Contexts,
    published: &Published,
    filtered: usize,
) -> Vec<String> {
    let kept = published.registered();
    let has = |contexts: &Contexts, name: &str| contexts.keys().any(|it| it.as_str() == name);
    let note = |orphan: &String| {
        if has(given, orphan) && !has(&kept, orphan) {
            format!(
                "context of '{orphan}' names no table of the lake, and is not kept: give it again when the table is there"
            )
        } else if is_text_file(orphan) {
            format!(
                "the text '{orphan}' names no table of the lake: a text is about the table of its own name beside it (limn tables lists names), a README about its folder"
            )
        } else {
            format!(
                "the text registered for '{orphan}' waits: no table of the lake has that name; if it was renamed, register the text again (limn context)"
            )
        }
    };
    match orphans {
        [first, _, ..] if filtered > 0 => vec![format!(
            "contexts that name no table of the lake, which filters may leave out: {}, such as that of '{first}'",
            orphans.len()
        )],
        orphans => {
            let (files, others): (Vec<&String>, Vec<&String>) =
                orphans.iter().partition(|orphan| is_text_file(orphan));
            let folded = match files.as_slice() {
                [first, .., _] if files.len() > MOST_ORPHANS => vec![format!(
                    "{} texts name no table of the lake, such as '{first}': a text is about the table of its own name beside it, a README about its folder",
                    files.len()
                )],
                files => files.iter().copied().map(note).collect(),
            };
            others.into_iter().map(note).chain(folded).collect()
        }
    }
}

/// Up to so many texts that describe no table get a note each; more of them share one.
const MOST_ORPHANS: usize = 3;

/// Whether what a context is called by is a file of text, and no table.
fn is_text_file(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("md" | "txt" | "html" | "htm" | "pdf"))
}

fn totals(compacted: &Compacted) -> CompactedTotals {
    let (before, after) = (compacted.before, compacted.after);
    CompactedTotals {
        segments: before.segments.saturating_sub(after.segments) as u64,
        catalog_files: before.catalog_files.saturating_sub(after.catalog_files) as u64,
        deleted_blocks: before.deleted_blocks.saturating_sub(after.deleted_blocks),
    }
}

impl Round {
    /// Decides the round's terms, agrees on them with the other processes, and reads what the index
    /// has of this lake.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn open(mut opening: Opening) -> Result<Self, PipelineError> {
        let started = Instant::now();
        let cluster = opening.options.cluster.clone();
        let lake = opening.lake.url().to_owned();
        let snapshot = opening.index.prepare().await?;
        let options = &mut opening.options;
        let stop = options.stop.clone();
        let successor =
            stop.run_until_cancelled(try_out_successor(options, snapshot.as_ref(), &lake));
        let (successor, mut notes) = successor.await.ok_or(PipelineError::Stopped)??;
        let before = snapshot
            .as_ref()
            .map(|snapshot| IndexSettings::intended(snapshot, &lake));
        let before = before.transpose()?.flatten();
        let settings = IndexSettings::of_run(options, opening.embedder.as_ref(), before.as_ref());
        if options.narrate == Narrate::Llm && options.narrator.is_none() {
            return Err(PipelineError::Settings(
                "a run that narrates with a language model was given none; --narrate names goes without".into(),
            ));
        }
        if let (Some(before), None) = (before.and_then(|it| it.narrator), &settings.narrator) {
            notes.push(format!(
                "the tables are not described by {} any more; its words are kept, and --narrate llm with that model brings them back without asking again",
                before.model
            ));
        }
        let with = options.narrator.clone();
        let with = with.filter(|with| settings.narrator == Some(with.narrator()));
        if let Some(snapshot) = &snapshot {
            settings.check_against(snapshot)?;
        }
        let filters = match &options.filters {
            Some(filters) => filters.clone(),
            None => remembered(snapshot.as_ref(), &lake)?,
        };
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
            filters,
            narrate: Terms::narrate(options),
            narrates: with.is_some(),
            shards: shards(options, snapshot.as_ref())?,
            resample_threshold: options.resample_threshold,
            workers: options.workers.max(1),
            settings,
        };
        if let Some(cluster) = &cluster {
            cluster.announce(&terms);
        }
        let opened = opening
            .open(&terms, snapshot, with.map(|with| (with, successor)))
            .await?;
        let planner = Planner::new(
            &lake,
            Arc::clone(&opened.stages.reader),
            Arc::clone(&opening.known.published),
            (terms.settings.fingerprint(), terms.settings.redact),
            opened.is_uniform,
            &opening.options,
        );
        if let Some(cluster) = &cluster {
            cluster.agreed().await;
        }
        if let Some(mark) = &terms.mark {
            opening.index.store.delete(mark).await?;
        }
        Ok(Self {
            opening,
            opened,
            terms,
            planner,
            cluster,
            notes,
            started,
        })
    }

    /// Lists the lake and indexes what changed. The dataflow is `kept` for the next round; that of
    /// an earlier one is used again.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn carry_out(self, kept: &mut Option<Dataflow>) -> Result<Report, PipelineError> {
        let Opening {
            lake,
            index,
            options,
            progress,
            ..
        } = &self.opening;
        let (published, stages) = (&self.opening.known.published, &self.opened.stages);
        let stop = options.stop.clone();
        self.check_filters()?;
        let selection = selection(&self.terms.filters)?;
        let places = published.places();
        let scope = (&options.scope, &places);
        let listing = Listing::of(lake, index, scope, &selection, progress);
        let listing = stop.run_until_cancelled(listing).await;
        let mut listing = listing.ok_or(PipelineError::Stopped)??;
        let (filtered, objects) = (listing.left_out.len(), listing.objects.len());
        let listed = objects + filtered;
        let options_of_files = stages.reader.options();
        let opened = listing.open_containers(lake, published, &selection, options_of_files);
        let opened = stop.run_until_cancelled(opened).await;
        opened.ok_or(PipelineError::Stopped)?;
        let logs = stop
            .run_until_cancelled(listing.open_logs(lake, published, &selection))
            .await;
        logs.ok_or(PipelineError::Stopped)?;
        let filtered = filtered + listing.members_left_out;
        let known = published.table_count();
        // An unmounted disk and a mistyped prefix look like a lake from which all is gone.
        let is_suspicious = known > 0 || lake.local_root().is_none();
        let mut is_empty = objects == 0 && listing.is_empty();
        if is_empty && listing.part.folders != Part::whole().folders {
            is_empty = lake.list("").next().await.is_none();
        }
        if is_empty && is_suspicious && !options.allow_empty {
            return Err(PipelineError::EmptyLake {
                lake: lake.url().to_owned(),
                tables: known,
            });
        }
        let is_left = || listing.objects.iter().any(|it| is_data(&it.path));
        let may_be_left = listing.part.is_partial()
            || known == 0
            || filtered == 0
            || !listing.unlisted.is_empty();
        if !may_be_left && !options.allow_empty && !is_left() {
            return Err(PipelineError::NothingLeft {
                lake: lake.url().to_owned(),
                filtered: filtered as u64,
                tables: known,
            });
        }
        let part = listing.part.clone();
        let (mut failures, listing_notes) = (
            std::mem::take(&mut listing.failures),
            std::mem::take(&mut listing.notes),
        );
        let plan = self.planner.plan(listing);
        let plan = stop.run_until_cancelled(plan).await;
        let plan = plan.ok_or(PipelineError::Stopped)?;
        self.check_scope(&plan)?;
        if plan.files_wanted > 0 || plan.awaiting > 0 || !plan.restated.is_empty() {
            index.check_writable()?;
        }
        if published.snapshot().is_none() {
            let probed = stop.run_until_cancelled(index.probe_creation()).await;
            probed.ok_or(PipelineError::Stopped)??;
        }
        // A name that no table can have is reported like any other failure.
        let refused = plan.refused.iter().map(|error| Failure {
            table: error.object.clone(),
            object: error.object.clone(),
            error: error.to_string(),
        });
        failures.extend(refused);
        let mut notes = self.notes.clone();
        notes.extend(listing_notes);
        notes.extend(orphan_notes(
            &plan.orphans,
            &self.opening.options.contexts,
            published,
            filtered,
        ));
        notes.extend(self.restated_note(&plan.restated));
        notes.extend(joined_note(&plan.joined));
        let left_out = LeftOut {
            filtered,
            ignored: plan.ignored,
        };
        Progress::add(&progress.files_wanted, plan.files_wanted);
        Progress::add(&progress.epochs_planned, plan.epochs.len());

        let dataflow = self.dataflow(kept)?;
        let Driven {
            published, left, ..
        } = dataflow
            .round(Arc::clone(stages), plan.epochs, progress)
            .await?;
        if left == 0 {
            let failed = self.to_remember(&failures, &published, part.is_partial());
            let (committer, joins) = (&stages.committer, &dataflow.job().joins);
            committer.finish(Some(failed), joins).await?;
            if self.has_published().await {
                notes.extend(committer.joins_note(joins).await);
            }
        } else {
            notes.push("stopped: tables that were not come to are as they were in the index; the same command goes on".into());
        }
        let followers = match &self.cluster {
            Some(cluster) => {
                if let Some(dataflow) = kept.take() {
                    dataflow.end().await?;
                }
                cluster.totals().await
            }
            None => Totals::default(),
        };
        stages.kept.finish().await?;
        if let Some(narrations) = &stages.narrations {
            narrations.finish().await?;
        }
        let asking = stages.asking.as_ref();
        let stopped = left > 0
            || stop.is_cancelled()
                && asking.is_some_and(|asking| {
                    let outcome = asking.outcome();
                    asking.is_wanted() || outcome.unasked > 0 && !outcome.given_up
                });
        if left == 0 && stopped && asking.is_some_and(|asking| asking.is_wanted()) {
            notes.push("stopped before a column was narrated: all tables are searchable by names; the same command goes on".into());
        }
        notes.extend(self.narration_notes(&published));
        notes.extend(Self::privacy_note(&published));
        notes.extend(stages.reader.widest().map(|(columns, path)| {
            format!(
                "very wide files were read in turns, such as {path} with {columns} columns: their tables take long to index, and are better stored with a row per value"
            )
        }));
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
        let mut report = self
            .report(listed, left_out, &part, published, failures, notes)
            .await;
        self.count(&mut report, &followers);
        if let Some(compacted) = compacted {
            report.snapshot = compacted.snapshot;
            report.compacted = Some(totals(&compacted));
        }
        report.stopped = stopped;
        Ok(report)
    }

    /// The dataflow for this round: that of the last round, where there was one and it fits.
    fn dataflow<'a>(
        &self,
        kept: &'a mut Option<Dataflow>,
    ) -> Result<&'a mut Dataflow, PipelineError> {
        let fits = |dataflow: &Dataflow| {
            let job = dataflow.job();
            let is_alike = (job.shards, job.workers) == (self.terms.shards, self.terms.workers);
            dataflow.serves_on() && is_alike
        };
        match kept.take().filter(fits) {
            Some(dataflow) => Ok(kept.insert(dataflow)),
            None => {
                let job = self.opening.job(&self.terms);
                let in_flight = self.opening.options.epochs_in_flight.max(1);
                let dataflow = Dataflow::start(job, self.cluster.as_deref(), in_flight)?;
                Ok(kept.insert(dataflow))
            }
        }
    }

    /// A part of a lake can only be kept up to date with the filters that the whole was listed
    /// with.
    fn check_filters(&self) -> Result<(), PipelineError> {
        let snapshot = self.opening.known.published.snapshot();
        let lake = self.opening.lake.url();
        if self.opening.options.scope.is_partial()
            && remembered(snapshot.as_ref(), lake)? != self.terms.filters
        {
            return Err(PipelineError::Settings(format!(
                "{lake} is not indexed with these filters yet: run limn index with them first, or leave them away"
            )));
        }
        Ok(())
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
                plan.tables.contains(*name) || self.opening.known.published.table(name).is_some()
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
        let before = self.opening.known.published.snapshot();
        let before = before.map_or(0, |snapshot| snapshot.number);
        self.opened.stages.committer.snapshot_number().await > before
    }

    /// Merges what has become small or is no longer live, so that nightly runs need nothing else.
    /// Other writers, the store or damage may hinder it: what the run was for is published all the
    /// same.
    async fn compact(&self, notes: &mut Vec<String>) -> Result<Option<Compacted>, PipelineError> {
        let index = &self.opening.index;
        let error = match index.compact(&Policy::default(), &|_| ()).await {
            Ok(compacted) => return Ok(compacted),
            Err(error) => error,
        };
        notes.push(match error {
            PublishError::Lost { .. } => "the index was not compacted, since other runs published again and again; the next run that publishes, or limn compact, does it".into(),
            PublishError::Segment(error) if error.is_damage() => format!(
                "what this run found is published, and the index was not compacted: {error}; limn verify says what else is damaged"
            ),
            PublishError::Segment(error @ (SegmentError::Store(_) | SegmentError::Io { .. })) => format!(
                "what this run found is published, and the index was not compacted: {error}; the next run that publishes, or limn compact, does it"
            ),
            error @ PublishError::Segment(_) => return Err(error.into()),
        });
        Ok(None)
    }
}
