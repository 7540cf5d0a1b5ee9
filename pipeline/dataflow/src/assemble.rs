//! Groups in the dataflow until every file of theirs has been read: then the assembler makes their
//! tables, and what these replace leaves with them.

use timely::dataflow::Stream;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concat, Exchange};

use crate::changes::{Epoch, GroupId};
use crate::pending::Pending;
use crate::plan::GroupPlan;
use crate::read::ReadDone;
use crate::when_complete::{Whole, when_complete};
use crate::wire::Wire;

/// A group that is to be described, or what came of reading a part of it.
pub enum GroupPart {
    /// Its plan.
    Plan(Wire<GroupPlan>),
    /// A file or text of it.
    Read(ReadDone),
}

impl Whole for Pending {
    type Key = (Epoch, GroupId);
    type Part = GroupPart;

    fn key(part: &GroupPart, epoch: Epoch) -> (Epoch, GroupId) {
        match part {
            GroupPart::Plan(plan) => (epoch, plan.0.id),
            GroupPart::Read(read) => (epoch, read.group),
        }
    }

    fn add(&mut self, part: GroupPart) {
        match part {
            GroupPart::Plan(plan) => self.expect(plan.0),
            GroupPart::Read(read) => self.insert(read.part, read.result.0),
        }
    }

    fn is_complete(&self) -> bool {
        self.has_all()
    }
}

/// Joins groups with their reads, and lets go of those that are complete: all is on the worker of
/// its group.
pub fn complete_groups<'scope>(
    plans: Stream<'scope, Epoch, Vec<Wire<GroupPlan>>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
) -> Stream<'scope, Epoch, Vec<Pending>> {
    let reads = reads.exchange(|read: &ReadDone| read.owner);
    let parts = plans
        .map(GroupPart::Plan)
        .concat(reads.map(GroupPart::Read));
    when_complete(parts, "complete groups", |group: Pending| [group])
}
