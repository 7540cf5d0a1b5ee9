//! A round: list the lake, plan it, carry the plan out, and report. `limn index` is one round;
//! `limn watch` a session of many.

mod account;
mod checks;
mod opening;
mod planning;
mod state;

use std::sync::Arc;

use limn_segment::{Compacted, Policy, PublishError, SegmentError};

use crate::cluster::Cluster;
use crate::cluster::totals::Totals;
use crate::drive::{Driven, Workers, serve_epochs};
use crate::error::PipelineError;
use crate::narrate::awaiting::Askers;
use crate::narrate::outcome::Outcome;
use crate::plan::Epochs;
use crate::publish::PublishedEpoch;
use crate::report::{CompactedTotals, Report};

use account::Account;
pub use state::Round;

fn totals(compacted: &Compacted) -> CompactedTotals {
    let (before, after) = (compacted.before, compacted.after);
    CompactedTotals {
        segments: before.segments.saturating_sub(after.segments) as u64,
        catalog_files: before.catalog_files.saturating_sub(after.catalog_files) as u64,
        deleted_blocks: before.deleted_blocks.saturating_sub(after.deleted_blocks),
    }
}

impl Round {
    /// A follower: lists and plans its share, and takes part in the epochs that the leader drives.
    /// Gives whether the run was stopped.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn follow(self, cluster: &Cluster) -> Result<bool, PipelineError> {
        let (listing, mut planned, askers) = self.list().await?;
        let plan = self.plan(listing, &mut planned).await?;
        cluster.send_planned(planned);
        let stages = &self.opened.stages;
        let job = self.opening.job(&self.terms);
        serve_epochs(&job, cluster, stages, plan.epochs, askers).await?;
        stages.kept.finish().await?;
        if let Some(narrations) = &stages.narrations {
            narrations.finish().await?;
        }
        let totals = self.opening.totals(stages);
        totals.log();
        Ok(cluster.end(totals).await)
    }

    /// Lists the lake and indexes what changed. The workers are `kept` for the next round; those of
    /// an earlier one are used again.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn carry_out(self, kept: &mut Option<Workers>) -> Result<Report, PipelineError> {
        self.check_filters()?;
        let (listing, mut planned, askers) = self.list().await?;
        let part = listing.part.clone();
        let plan = self.plan(listing, &mut planned).await?;
        self.check_scope(&plan)?;
        let (epochs, mut account) = self.all_planned(plan, planned, part).await?;
        let epochs = (epochs, askers);
        let (driven, followers) = self.drive(epochs, kept, &mut account).await?;
        let narrated = self.narrated(&followers);
        let mut stopped = self.is_cut_short(driven.left, &narrated, &mut account.notes);
        self.note_what_was_published(&driven.published, &narrated, &mut account);
        let mut compacted = None;
        if !stopped && self.opening.options.compact && self.has_published().await {
            match self.unless_stopped(self.compact(&mut account.notes)).await {
                Ok(done) => compacted = done?,
                Err(_) => {
                    stopped = true;
                    account.notes.push("stopped before the index was compacted: it is whole, and the next run that publishes, or limn compact, does it".into());
                }
            }
        }
        let mut report = self.report(account, driven.published).await;
        self.count(&mut report, followers);
        if let Some(compacted) = compacted {
            report.snapshot = compacted.snapshot;
            report.compacted = Some(totals(&compacted));
        }
        report.stopped = stopped;
        Ok(report)
    }

    /// Drives the plan's epochs through the dataflow until they are published, and ends what ran
    /// beside it. Gives what the followers did.
    async fn drive(
        &self,
        (epochs, askers): (Epochs, Askers),
        kept: &mut Option<Workers>,
        account: &mut Account,
    ) -> Result<(Driven, Totals), PipelineError> {
        let stages = &self.opened.stages;
        let workers = self.workers(kept)?;
        let progress = &self.opening.progress;
        let round = workers.round(Arc::clone(stages), epochs, askers, progress);
        let driven = round.await?;
        if driven.left == 0 {
            let is_partial = account.part.is_partial();
            let failed = self.to_remember(account, &driven.published, is_partial);
            let (committer, joins) = (&stages.committer, &workers.job().joins);
            committer.finish(Some(failed), joins).await?;
            if self.has_published().await {
                account.notes.extend(committer.joins_note(joins).await);
            }
        } else {
            account.notes.push("stopped: tables that were not come to are as they were in the index; the same command goes on".into());
        }
        let followers = match &self.cluster {
            Some(cluster) => {
                if let Some(workers) = kept.take() {
                    workers.end().await?;
                }
                cluster.totals().await
            }
            None => Totals::default(),
        };
        stages.kept.finish().await?;
        if let Some(narrations) = &stages.narrations {
            narrations.finish().await?;
        }
        Ok((driven, followers))
    }

    /// What came of asking models.
    fn narrated(&self, followers: &Totals) -> Outcome {
        let mut narrated = self.opening.totals(&self.opened.stages).narrated;
        narrated.add(followers.narrated.clone());
        narrated
    }

    /// Whether the run was stopped before it came to its end, with so many epochs left.
    fn is_cut_short(&self, left: usize, narrated: &Outcome, notes: &mut Vec<String>) -> bool {
        if left > 0 {
            return true;
        }
        if narrated.not_begun && narrated.stopped == 0 {
            let which = match narrated.narrated {
                0 => "a column was",
                _ => "all columns were",
            };
            notes.push(format!("stopped before {which} narrated: all tables are searchable by names; the same command goes on"));
        }
        narrated.not_begun || narrated.stopped > 0
    }

    /// What is to be said of the tables that were published.
    fn note_what_was_published(
        &self,
        published: &[PublishedEpoch],
        narrated: &Outcome,
        account: &mut Account,
    ) {
        let awaiting = &account.standing.awaiting;
        let narrations = self.narration_notes(published, narrated, awaiting);
        let notes = &mut account.notes;
        notes.extend(narrations);
        notes.extend(Self::privacy_note(published));
        notes.extend(self.opened.stages.reader.widest().map(|(columns, path)| {
            format!(
                "very wide files were read in turns, such as {path} with {columns} columns: their tables take long to index, and are better stored with a row per value"
            )
        }));
    }

    /// The workers of this round: those of the last one, where there was one and they fit.
    fn workers<'a>(&self, kept: &'a mut Option<Workers>) -> Result<&'a mut Workers, PipelineError> {
        let fits = |workers: &Workers| {
            let job = workers.job();
            let is_alike = (job.shards, job.workers) == (self.terms.shards, self.terms.workers);
            workers.serves_on() && is_alike
        };
        match kept.take().filter(fits) {
            Some(workers) => Ok(kept.insert(workers)),
            None => {
                let job = self.opening.job(&self.terms);
                let in_flight = self.opening.options.epochs_in_flight.max(1);
                let workers = Workers::start(job, self.cluster.as_deref(), in_flight)?;
                Ok(kept.insert(workers))
            }
        }
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
