//! Groups in the dataflow until every file of theirs has been read: then the assembler makes their
//! tables, and what these replace leaves with them.

use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concat, Exchange};

use crate::changes::{Epoch, GroupId};
use crate::pending::Pending;
use crate::plan::GroupPlan;
use crate::read::{Part, ReadDone};
use crate::when_complete::{Whole, when_complete};
use crate::wire::Wire;

/// A group that is to be described, or what came of a part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GroupPart {
    /// The group.
    Plan {
        /// Its plan.
        plan: Wire<GroupPlan>,
        /// Its files whose summaries are the published ones.
        as_published: Vec<Part>,
    },
    /// A file or text of it.
    Read(ReadDone),
}

impl Whole for Pending {
    type Key = (Epoch, GroupId);
    type Part = GroupPart;

    fn key(part: &GroupPart, epoch: Epoch) -> (Epoch, GroupId) {
        match part {
            GroupPart::Plan { plan, .. } => (epoch, plan.0.id),
            GroupPart::Read(read) => (epoch, read.group),
        }
    }

    fn add(&mut self, part: GroupPart) {
        match part {
            GroupPart::Plan { plan, as_published } => self.expect(plan.0, as_published),
            GroupPart::Read(read) => self.insert(read.part, read.result.0),
        }
    }

    fn is_complete(&self) -> bool {
        self.has_all()
    }
}

/// Joins groups, and what is known of them, with their reads, and lets go of those that are
/// complete: all is on the worker of its group.
pub fn complete_groups<'scope>(
    known: Stream<'scope, Epoch, Vec<GroupPart>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
) -> Stream<'scope, Epoch, Vec<Pending>> {
    let reads = reads.exchange(|read: &ReadDone| read.owner);
    let parts = known.concat(reads.map(GroupPart::Read));
    when_complete(parts, "complete groups", |group: Pending| [group])
}
