//! What a process lists and plans in a round, and what all of them have planned.

use std::sync::Arc;
use std::time::Instant;

use limn_lake::layout::is_data;

use super::account::{Account, joined_note, orphan_notes};
use super::state::Round;
use crate::error::PipelineError;
use crate::filtering::selection;
use crate::listing::Listing;
use crate::narrate::awaiting::Askers;
use crate::open::Opening;
use crate::plan::{Epochs, Plan, plan};
use crate::planned::{Listed, Planned};
use crate::progress::{Phase, Progress};
use crate::report::Failure;
use crate::scope::Part;

impl Round {
    /// Lists this process's share of the lake, with what is in its containers and logs. Gives also
    /// which processes have the language model.
    pub(super) async fn list(&self) -> Result<(Listing, Planned, Askers), PipelineError> {
        let Opening {
            lake,
            index,
            options,
            progress,
            ..
        } = &self.opening;
        let begun = Instant::now();
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
            .await??;
        self.unless_stopped(listing.open_logs(lake, published, &selection))
            .await??;
        let left_out = filtered + listing.members_left_out;
        let process = self.cluster.as_ref().map_or(0, |it| it.place().0);
        let asks = self.opened.stages.asking.is_some();
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
            askers: asks.then_some(process).into_iter().collect(),
            for_others: listing.for_others(),
        };
        progress.spend(Phase::List, begun);
        let listed = match &self.cluster {
            Some(cluster) => self.unless_stopped(cluster.all_listed(listed)).await?,
            None => listed,
        };
        if !share.follows() {
            self.check_listed(&listing.part, &listed).await?;
        }
        listing.receive(listed.for_others);
        Ok((listing, planned, Askers::of(listed.askers)))
    }

    /// Plans what this process has to do.
    pub(super) async fn plan(
        &self,
        listing: Listing,
        planned: &mut Planned,
    ) -> Result<Plan, PipelineError> {
        let begun = Instant::now();
        let published = &self.opening.known.published;
        let shared_texts = listing.texts_seen_by_several();
        let mut plan = self
            .unless_stopped(plan(Arc::clone(&self.planner), listing))
            .await??;
        self.opening.progress.spend(Phase::Plan, begun);
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
            let matched = registered.chain(shared_texts);
            let is_matched =
                |it: &String| !planned.orphans.contains(it) && !planned.unreached.contains(it);
            planned.matched = matched.filter(is_matched).collect();
        }
        let restated = plan.restated.iter().flat_map(|it| published.rows(*it));
        let restated = restated.filter(|table| !table.removed);
        planned.restated = restated.map(|table| table.name.to_string()).collect();
        planned.joined = std::mem::take(&mut plan.joined);
        (planned.files_wanted, planned.awaiting) = (plan.files_wanted, plan.awaiting);
        planned.epochs = plan.epochs.left();
        Ok(plan)
    }

    /// Sees what the others have planned, and that the index can be written to.
    pub(super) async fn all_planned(
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
            published.set_size_of_others(planned.standing.size.without(own));
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
}
