//! A round: list the lake, plan it, carry the plan out, and report. `limn index` is one round;
//! `limn watch` a session of many.

mod account;
mod state;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use limn_lake::layout::is_data;
use limn_segment::{Compacted, Policy, PublishError, SegmentError, nonce};

use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
use crate::cluster::totals::Totals;
use crate::drive::{Dataflow, Driven, serve_epochs};
use crate::error::PipelineError;
use crate::filtering::{remembered, selection};
use crate::listing::Listing;
use crate::narrate::successor::try_out_successor;
use crate::open::{Opened, Opening, landmarks};
use crate::options::{Narrate, shards};
use crate::plan::{Epochs, Plan, Planner, plan};
use crate::planned::{Listed, Planned};
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::report::{CompactedTotals, Failure, Report};
use crate::scope::{Part, Scope};
use crate::settings::IndexSettings;
use crate::share::Deal;

use account::{Account, joined_note, orphan_notes};
pub use state::Round;

fn totals(compacted: &Compacted) -> CompactedTotals {
    let (before, after) = (compacted.before, compacted.after);
    CompactedTotals {
        segments: before.segments.saturating_sub(after.segments) as u64,
        catalog_files: before.catalog_files.saturating_sub(after.catalog_files) as u64,
        deleted_blocks: before.deleted_blocks.saturating_sub(after.deleted_blocks),
    }
}

/// The planner of a process's share.
fn planner(opening: &Opening, terms: &Terms, opened: &Opened) -> Arc<Planner> {
    Arc::new(Planner::new(
        &terms.lake,
        Arc::clone(&opened.stages.reader),
        Arc::clone(&opening.known.published),
        (terms.settings.fingerprint(), terms.settings.redact),
        opened.is_uniform,
        &opening.options,
        &opening.share(terms),
    ))
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
        let deal = match (&cluster, options.scope.is_partial()) {
            (Some(cluster), false) => Deal::of(&opening.lake, cluster.place().1).await,
            _ => Deal::default(),
        };
        let landmarks = match cluster.is_some() {
            true => landmarks(&opening.lake).await,
            false => Vec::new(),
        };
        let options = &opening.options;
        let terms = Terms {
            mark,
            landmarks,
            deal,
            lake: lake.clone(),
            index: opening.index.store.url().to_owned(),
            snapshot: snapshot.as_ref().map(|snapshot| snapshot.number),
            filters,
            narrate: Terms::narrate(options),
            contexts: Terms::contexts(options),
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
        let planner = planner(&opening, &terms, &opened);
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

    /// A follower: agrees on the leader's terms, and reads what the index has of its share.
    ///
    /// # Errors
    /// Other options than the leader's; the index cannot be read.
    pub async fn join(opening: Opening, cluster: &Arc<Cluster>) -> Result<Self, PipelineError> {
        let started = Instant::now();
        let terms = cluster.terms().await;
        opening.check(&terms).await?;
        let snapshot = match terms.snapshot {
            Some(number) => Some(opening.index.snapshot(number).await?),
            None => None,
        };
        let opened = opening.open(&terms, snapshot, None).await?;
        let planner = planner(&opening, &terms, &opened);
        cluster.agree();
        Ok(Self {
            opening,
            opened,
            terms,
            planner,
            cluster: Some(Arc::clone(cluster)),
            notes: Vec::new(),
            started,
        })
    }

    /// A follower: lists and plans its share, and takes part in the epochs that the leader drives.
    /// Gives whether the run was stopped.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn follow(self, cluster: &Cluster) -> Result<bool, PipelineError> {
        let (listing, mut planned) = self.list().await?;
        let plan = self.plan(listing, &mut planned).await?;
        cluster.send_planned(planned);
        let stages = &self.opened.stages;
        let job = self.opening.job(&self.terms);
        serve_epochs(&job, cluster, stages, plan.epochs).await?;
        stages.kept.finish().await?;
        if let Some(narrations) = &stages.narrations {
            narrations.finish().await?;
        }
        Ok(cluster.end(self.opening.totals(stages)).await)
    }

    /// Lists the lake and indexes what changed. The dataflow is `kept` for the next round; that of
    /// an earlier one is used again.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn carry_out(self, kept: &mut Option<Dataflow>) -> Result<Report, PipelineError> {
        self.check_filters()?;
        let (listing, mut planned) = self.list().await?;
        let part = listing.part.clone();
        let plan = self.plan(listing, &mut planned).await?;
        self.check_scope(&plan)?;
        let (epochs, mut account) = self.all_planned(plan, planned, part).await?;
        let (driven, followers) = self.drive(epochs, kept, &mut account).await?;
        let mut stopped = self.is_cut_short(driven.left, &mut account.notes);
        self.note_what_was_published(&driven.published, &mut account);
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
        self.count(&mut report, &followers);
        if let Some(compacted) = compacted {
            report.snapshot = compacted.snapshot;
            report.compacted = Some(totals(&compacted));
        }
        report.stopped = stopped;
        Ok(report)
    }

    /// What this comes to, unless the run is stopped meanwhile.
    async fn unless_stopped<T>(&self, of: impl Future<Output = T>) -> Result<T, PipelineError> {
        let stop = &self.opening.options.stop;
        match &self.cluster {
            // The leader is asked to stop, and ends the run of all.
            Some(cluster) if !cluster.leads() => Ok(of.await),
            _ => stop
                .run_until_cancelled(of)
                .await
                .ok_or(PipelineError::Stopped),
        }
    }

    /// Lists this process's share of the lake, with what is in its containers and logs.
    async fn list(&self) -> Result<(Listing, Planned), PipelineError> {
        let Opening {
            lake,
            index,
            options,
            progress,
            ..
        } = &self.opening;
        let published = &self.opening.known.published;
        let selection = selection(&self.terms.filters)?;
        let places = published.places();
        let scope = (&options.scope, &places);
        let share = self.opening.share(&self.terms);
        let listing = Listing::of(lake, index, scope, &share, &selection, progress);
        let mut listing = self.unless_stopped(listing).await??;
        let (filtered, objects) = (listing.left_out.len(), listing.objects.len());
        let options_of_files = self.opened.stages.reader.options();
        self.unless_stopped(listing.open_containers(lake, published, &selection, options_of_files))
            .await?;
        self.unless_stopped(listing.open_logs(lake, published, &selection))
            .await?;
        let left_out = filtered + listing.members_left_out;
        let planned = Planned {
            listed: objects + filtered,
            filtered: left_out,
            failures: std::mem::take(&mut listing.failures),
            notes: [&self.notes[..], &listing.notes].concat(),
            standing: published.standing(),
            ..Planned::default()
        };
        let listed = Listed {
            objects,
            left_out,
            is_any: !listing.is_empty() || !planned.failures.is_empty(),
            has_data: listing.objects.iter().any(|it| is_data(it.path)),
            lacks_some: !listing.unlisted.is_empty(),
            known: planned.standing.tables,
            for_others: listing.for_others(),
        };
        let listed = match &self.cluster {
            Some(cluster) => self.unless_stopped(cluster.all_listed(listed)).await?,
            None => listed,
        };
        if !share.follows() {
            self.check_listed(&listing.part, &listed).await?;
        }
        listing.know(listed.for_others);
        Ok((listing, planned))
    }

    /// An unmounted disk and a mistyped prefix look like a lake from which all is gone, and so do
    /// filters that leave nothing.
    async fn check_listed(&self, part: &Part, listed: &Listed) -> Result<(), PipelineError> {
        if self.opening.options.allow_empty {
            return Ok(());
        }
        let lake = &self.opening.lake;
        let mut is_empty = listed.objects == 0 && !listed.is_any;
        if is_empty && part.folders != Part::whole().folders {
            is_empty = lake.list("").next().await.is_none();
        }
        if is_empty && (listed.known > 0 || lake.local_root().is_none()) {
            return Err(PipelineError::EmptyLake {
                lake: lake.url().to_owned(),
                tables: listed.known,
            });
        }
        let may_be_left =
            part.is_partial() || listed.known == 0 || listed.left_out == 0 || listed.lacks_some;
        if !may_be_left && !listed.has_data {
            return Err(PipelineError::NothingLeft {
                lake: lake.url().to_owned(),
                filtered: listed.left_out as u64,
                tables: listed.known,
            });
        }
        Ok(())
    }

    /// Plans what this process has to do.
    async fn plan(&self, listing: Listing, planned: &mut Planned) -> Result<Plan, PipelineError> {
        let published = &self.opening.known.published;
        let looked_at = listing.looked_at_by_several();
        let mut plan = self
            .unless_stopped(plan(Arc::clone(&self.planner), listing))
            .await?;
        // A name that no table can have is reported like any other failure.
        let refused = plan.refused.iter().map(|error| Failure {
            table: error.object.clone(),
            object: error.object.clone(),
            error: error.to_string(),
        });
        planned.failures.extend(refused);
        planned.ignored = std::mem::take(&mut plan.ignored);
        planned.orphans = std::mem::take(&mut plan.orphans);
        planned.unreached = std::mem::take(&mut plan.unreached).into_iter().collect();
        if self.cluster.is_some() {
            let registered = self.planner.contexts.keys().map(ToString::to_string);
            let met = registered.chain(looked_at);
            let is_met =
                |it: &String| !planned.orphans.contains(it) && !planned.unreached.contains(it);
            planned.met = met.filter(is_met).collect();
        }
        let restated = plan.restated.iter().flat_map(|it| published.tables(*it));
        let restated = restated.filter(|table| !table.removed);
        planned.restated = restated.map(|table| table.name.clone()).collect();
        planned.joined = std::mem::take(&mut plan.joined);
        (planned.files_wanted, planned.awaiting) = (plan.files_wanted, plan.awaiting);
        planned.epochs = plan.epochs.left();
        Ok(plan)
    }

    /// Sees what the others have planned, and that the index can be written to.
    async fn all_planned(
        &self,
        mut plan: Plan,
        mut planned: Planned,
        part: Part,
    ) -> Result<(Epochs, Account), PipelineError> {
        let Opening {
            index,
            options,
            progress,
            ..
        } = &self.opening;
        let published = &self.opening.known.published;
        if let Some(cluster) = &self.cluster {
            let own = planned.standing.size;
            let others = self.unless_stopped(cluster.planned()).await?;
            others.into_iter().for_each(|it| planned.add(it));
            published.know_elsewhere(planned.standing.size.without(own));
        }
        for path in &planned.unreached {
            planned.ignored.add_other(path);
        }
        if planned.files_wanted > 0 || planned.awaiting > 0 || !planned.restated.is_empty() {
            index.check_writable()?;
        }
        if published.snapshot().is_none() {
            self.unless_stopped(index.probe_creation()).await??;
        }
        let registered = &planned.standing.registered;
        let orphans = orphan_notes(
            &planned.orphans,
            &options.contexts,
            registered,
            planned.filtered,
        );
        planned.notes.extend(orphans);
        planned.notes.extend(self.restated_note(&planned.restated));
        planned.notes.extend(joined_note(&planned.joined));
        plan.epochs.at_least(planned.epochs);
        Progress::add(&progress.files_wanted, planned.files_wanted);
        Progress::add(&progress.epochs_planned, plan.epochs.left());
        Ok((plan.epochs, Account::new(part, planned)))
    }

    /// Drives the plan's epochs through the dataflow until they are published, and ends what ran
    /// beside it.
    async fn drive(
        &self,
        epochs: Epochs,
        kept: &mut Option<Dataflow>,
        account: &mut Account,
    ) -> Result<(Driven, Totals), PipelineError> {
        let stages = &self.opened.stages;
        let dataflow = self.dataflow(kept)?;
        let progress = &self.opening.progress;
        let driven = dataflow.round(Arc::clone(stages), epochs, progress).await?;
        if driven.left == 0 {
            let is_partial = account.part.is_partial();
            let failed = self.to_remember(account, &driven.published, is_partial);
            let (committer, joins) = (&stages.committer, &dataflow.job().joins);
            committer.finish(Some(failed), joins).await?;
            if self.has_published().await {
                account.notes.extend(committer.joins_note(joins).await);
            }
        } else {
            account.notes.push("stopped: tables that were not come to are as they were in the index; the same command goes on".into());
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
        Ok((driven, followers))
    }

    /// Whether the run was stopped before it came to its end, with so many epochs left.
    fn is_cut_short(&self, left: usize, notes: &mut Vec<String>) -> bool {
        if left > 0 {
            return true;
        }
        let asking = self.opened.stages.asking.as_ref();
        let asking = asking.filter(|_| self.opening.options.stop.is_cancelled());
        let Some(asking) = asking else {
            return false;
        };
        if asking.is_wanted() {
            notes.push("stopped before a column was narrated: all tables are searchable by names; the same command goes on".into());
            return true;
        }
        let outcome = asking.outcome();
        outcome.unasked > 0 && !outcome.given_up
    }

    /// What is to be said of the tables that were published.
    fn note_what_was_published(&self, published: &[PublishedEpoch], account: &mut Account) {
        let narrations = self.narration_notes(published, &account.standing.awaiting);
        let notes = &mut account.notes;
        notes.extend(narrations);
        notes.extend(Self::privacy_note(published));
        notes.extend(self.opened.stages.reader.widest().map(|(columns, path)| {
            format!(
                "very wide files were read in turns, such as {path} with {columns} columns: their tables take long to index, and are better stored with a row per value"
            )
        }));
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
                "{} is not all indexed with these settings yet: run limn index with them first, or give the options that it was indexed with (such as --narrate off)",
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
