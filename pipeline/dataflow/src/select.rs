//! Work: the plans of groups that changed, and the groups that were removed.
//!
//! The differential side says *which* groups differ; the plans (paths, versions, contexts) travel
//! beside it in an ordinary stream. They are joined here when their epoch is complete; plans of
//! unchanged groups end here.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Concat;
use timely::dataflow::operators::vec::Map;

use crate::changes::{Change, Epoch, GroupId};
use crate::epoch_end::at_epoch_end;
use crate::narrate::awaiting::AwaitingTable;
use crate::plan::GroupPlan;
use crate::wire::Wire;

/// A group with something to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// Its tables are to be made from this plan.
    Describe(Wire<GroupPlan>),
    /// Its tables are to be removed.
    Remove(GroupId),
    /// Its published tables are to be made to obey the run's settings, as far as their rows allow:
    /// its files cannot be listed.
    Restate(GroupId),
    /// Its published tables that await a narration are to be described again, with the narrations
    /// that there are now. No file is read for it.
    Narrate {
        /// The group.
        group: GroupId,
        /// The groups under which the tables were published before this run.
        published: Vec<GroupId>,
    },
    /// Likewise a table that this run has found to await narrations, which have come since.
    Answered(Box<AwaitingTable>),
}

impl Work {
    /// The group it is about.
    pub fn group(&self) -> GroupId {
        match self {
            Self::Describe(plan) => plan.0.id,
            Self::Answered(table) => table.group,
            Self::Remove(group) | Self::Restate(group) | Self::Narrate { group, .. } => *group,
        }
    }
}

/// Which workers have the groups that this process plans: its own, since it alone knows what is
/// published of them.
#[derive(Clone, Copy, Debug)]
pub struct GroupOwners {
    first: u64,
    workers: u64,
}

impl GroupOwners {
    /// That of a worker, by its number among all; each process has so many.
    pub fn of(worker: usize, workers: usize) -> GroupOwners {
        let workers = workers.max(1);
        GroupOwners {
            first: (worker / workers * workers) as u64,
            workers: workers as u64,
        }
    }

    /// The worker that has a group, as an exchange key.
    pub fn owner(&self, group: GroupId) -> u64 {
        self.first + group.hash() % self.workers
    }
}

/// One update of the collection of changed groups.
pub type ChangeUpdate = ((GroupId, Change), Epoch, isize);

/// What is known of an epoch's groups.
#[derive(Default)]
struct Selected {
    plans: HashMap<GroupId, Wire<GroupPlan>>,
    changes: Vec<(GroupId, Change)>,
}

/// A plan, or an update of what changed.
enum Planned {
    Plan(Wire<GroupPlan>),
    Changed(ChangeUpdate),
}

/// Joins the changes of an epoch with its plans, both of which are where their group lives.
pub fn select_work<'scope>(
    changes: Stream<'scope, Epoch, Vec<ChangeUpdate>>,
    plans: Stream<'scope, Epoch, Vec<Wire<GroupPlan>>>,
) -> Stream<'scope, Epoch, Vec<Work>> {
    let changes = changes.map(Planned::Changed);
    at_epoch_end(
        plans.map(Planned::Plan).concat(changes),
        Pipeline,
        "select work",
        // Updates of several epochs may travel together.
        |item, came_with| match item {
            Planned::Plan(_) => came_with,
            Planned::Changed((_, epoch, _)) => *epoch,
        },
        |_, selected: &mut Selected, item| {
            match item {
                Planned::Plan(plan) => drop(selected.plans.insert(plan.0.id, plan)),
                Planned::Changed((change, _, diff)) if diff > 0 => selected.changes.push(change),
                Planned::Changed(_) => {}
            }
            None
        },
        |_, Selected { mut plans, changes }| {
            let work = move |(group, change)| match (change, plans.remove(&group)) {
                (Change::Removed, _) => Some(Work::Remove(group)),
                (Change::Awaiting, plan) => {
                    let mut published = plan.map_or_else(Vec::new, |plan| plan.0.takes_over);
                    published.push(group);
                    Some(Work::Narrate { group, published })
                }
                // A group is fed with its plan.
                (_, plan) => plan.map(Work::Describe),
            };
            changes.into_iter().filter_map(work)
        },
    )
}
