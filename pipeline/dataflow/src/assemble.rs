//! Assembling in the dataflow: when every file of a group has been read, the assembler makes its
//! tables, and what they replace leaves with them.

use std::sync::Arc;

use timely::dataflow::Stream;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concat, Exchange, OkErr};

use crate::assembler::Assembler;
use crate::changes::{Epoch, GroupId};
use crate::draft::TableDraft;
use crate::pending::Pending;
use crate::plan::GroupPlan;
use crate::read::ReadDone;
use crate::select::Work;
use crate::weight;
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

/// Joins groups with their reads and emits what becomes of their tables. `work` has each group on
/// its worker; groups that no file is read for pass at once.
pub fn assemble_tables<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
    assembler: &Arc<Assembler>,
) -> Stream<'scope, Epoch, Vec<TableDraft>> {
    let makes = Arc::clone(assembler);
    let (plans, at_once) = work.ok_err(move |work| {
        let tables = match work {
            Work::Describe(plan) => return Ok(plan),
            Work::Remove(group) => makes.remove(group),
            Work::Restate(group) => makes.restate(group),
            Work::Narrate { group, published } => makes.narrate(group, &published),
            Work::Answered(table) => makes.answered(*table).into_iter().collect(),
        };
        Err(counted(&makes, tables))
    });
    let reads = reads.exchange(|read: &ReadDone| read.owner);
    let parts = plans
        .map(GroupPart::Plan)
        .concat(reads.map(GroupPart::Read));
    let makes = Arc::clone(assembler);
    let described = when_complete(parts, "assemble tables", move |group: Pending| {
        let complete = group.complete();
        let tables = complete.map(|(plan, parts)| makes.describe(&plan, parts));
        counted(&makes, tables.unwrap_or_default())
    });
    described.concat(at_once.flat_map(|tables| tables))
}

/// Tables that the assembler made, counted.
fn counted(assembler: &Assembler, mut tables: Vec<TableDraft>) -> Vec<TableDraft> {
    for table in &mut tables {
        let is_removed = table.row.as_ref().is_some_and(|row| row.0.removed);
        if !is_removed {
            table.held = assembler.room.hold(weight::of_draft(table));
        }
    }
    tables
}
