//! Work: the plans of groups that changed, and the groups that were removed.
//!
//! The differential side says *which* groups differ; the plans (paths, versions, contexts) travel
//! beside it in an ordinary stream. They meet here when their epoch is complete; plans of unchanged
//! groups end here.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::changes::{Change, Epoch, GroupId};
use crate::plan::GroupPlan;
use crate::wire::Wire;

/// A group with something to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        /// The groups under which the tables were published before this run; what this run has
        /// published of the group is known besides.
        published: Vec<GroupId>,
    },
}

impl Work {
    /// The group it is about.
    pub fn group(&self) -> GroupId {
        match self {
            Self::Describe(plan) => plan.0.id,
            Self::Remove(group) | Self::Restate(group) | Self::Narrate { group, .. } => *group,
        }
    }
}

/// Which workers have the groups that this process plans: its own, since it alone knows what is
/// published of them.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    first: u64,
    workers: u64,
}

impl Home {
    /// That of a worker, by its number among all; each process has so many.
    pub fn of(worker: usize, workers: usize) -> Home {
        let workers = workers.max(1);
        Home {
            first: (worker / workers * workers) as u64,
            workers: workers as u64,
        }
    }

    /// The worker that has a group, as an exchange key.
    pub fn of_group(&self, group: GroupId) -> u64 {
        self.first + group.hash() % self.workers
    }
}

#[derive(Default)]
struct EpochStash {
    plans: HashMap<GroupId, Wire<GroupPlan>>,
    changes: Vec<(GroupId, Change, isize)>,
}

/// One update of the collection of changed groups.
pub type ChangeUpdate = ((GroupId, Change), Epoch, isize);

/// Joins the changes of an epoch with its plans.
pub fn select_work<'scope>(
    changes: Stream<'scope, Epoch, Vec<ChangeUpdate>>,
    plans: Stream<'scope, Epoch, Vec<Wire<GroupPlan>>>,
    home: Home,
) -> Stream<'scope, Epoch, Vec<Work>> {
    changes.binary_frontier::<_, CapacityContainerBuilder<Vec<Work>>, _, _, _, _>(
        plans,
        // A group's differences are where the group is.
        Pipeline,
        Exchange::new(move |plan: &Wire<GroupPlan>| home.of_group(plan.0.id)),
        "select work",
        |_capability, _info| {
            let mut stash: HashMap<Epoch, (Capability<Epoch>, EpochStash)> = HashMap::new();
            move |(changes, changes_frontier), (plans, plans_frontier), output| {
                let port = output.output_index();
                changes.for_each_stamp(|capability, containers| {
                    if let Some(capability) = capability.retain_least(port) {
                        // Updates of several epochs may travel together: each one's own time
                        // counts.
                        for ((group, change), epoch, diff) in containers.flat_map(|c| c.drain(..)) {
                            let entry = stash.entry(epoch).or_insert_with(|| {
                                (capability.delayed(&epoch), EpochStash::default())
                            });
                            entry.1.changes.push((group, change, diff));
                        }
                    }
                });
                plans.for_each_stamp(|capability, containers| {
                    if let Some(capability) = capability.retain_least(port) {
                        let entry = stash
                            .entry(*capability.time())
                            .or_insert_with(|| (capability, EpochStash::default()));
                        entry.1.plans.extend(
                            containers
                                .flat_map(|c| c.drain(..))
                                .map(|plan| (plan.0.id, plan)),
                        );
                    }
                });
                let mut closed: Vec<Epoch> = stash
                    .keys()
                    .copied()
                    .filter(|epoch| {
                        !changes_frontier.less_equal(epoch) && !plans_frontier.less_equal(epoch)
                    })
                    .collect();
                closed.sort_unstable();
                for epoch in closed {
                    let Some((capability, mut epoch_stash)) = stash.remove(&epoch) else {
                        continue;
                    };
                    let mut session = output.session(&capability);
                    for (group, change, diff) in epoch_stash.changes {
                        if diff <= 0 {
                            continue;
                        }
                        match (change, epoch_stash.plans.remove(&group)) {
                            (Change::Removed, _) => session.give(Work::Remove(group)),
                            (Change::Awaiting, plan) => {
                                let mut published = plan.map_or_else(Vec::new, |p| p.0.takes_over);
                                published.push(group);
                                session.give(Work::Narrate { group, published });
                            }
                            (_, Some(plan)) => session.give(Work::Describe(plan)),
                            // A change without a plan is the published side moving; the plan is
                            // under way.
                            (_, None) => {}
                        }
                    }
                }
            }
        },
    )
}
