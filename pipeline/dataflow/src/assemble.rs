//! Assembling in the dataflow: when every file of a group has been read, the assembler makes its
//! tables, and what they replace leaves with them.

use std::collections::HashMap;
use std::sync::Arc;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::assembler::Assembler;
use crate::changes::{Epoch, GroupId};
use crate::draft::TableDraft;
use crate::pending::Pending;
use crate::read::ReadDone;
use crate::select::Work;
use crate::weight;

/// Joins groups with their reads and emits what becomes of their tables.
pub fn assemble_tables<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
    assembler: &Arc<Assembler>,
) -> Stream<'scope, Epoch, Vec<TableDraft>> {
    let assembler = Arc::clone(assembler);
    work.binary::<_, CapacityContainerBuilder<Vec<TableDraft>>, _, _, _, _>(
        reads,
        // `select work` has already sent each group to its worker.
        Pipeline,
        Exchange::new(|read: &ReadDone| read.owner),
        "assemble tables",
        move |_capability, _info| {
            let mut pending: HashMap<(Epoch, GroupId), (Capability<Epoch>, Pending)> =
                HashMap::new();
            move |work, reads, output| {
                let port = output.output_index();
                let mut touched = Vec::new();
                work.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(port) else {
                        return;
                    };
                    let epoch = *capability.time();
                    for item in containers.flat_map(|container| container.drain(..)) {
                        match item {
                            Work::Remove(group) => {
                                let tables = made(&assembler, |it| it.remove(group));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Restate(group) => {
                                let tables = made(&assembler, |it| it.restate(group));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Narrate { group, published } => {
                                let tables = made(&assembler, |it| it.narrate(group, &published));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Answered { group, tables } => {
                                let tables = made(&assembler, |it| it.answered(group, tables));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Describe(plan) => {
                                let key = (epoch, plan.0.id);
                                let entry = pending
                                    .entry(key)
                                    .or_insert_with(|| (capability.clone(), Pending::default()));
                                entry.1.expect(plan.0);
                                touched.push(key);
                            }
                        }
                    }
                });
                reads.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(port) else {
                        return;
                    };
                    let epoch = *capability.time();
                    for read in containers.flat_map(|container| container.drain(..)) {
                        let key = (epoch, read.group);
                        let entry = pending
                            .entry(key)
                            .or_insert_with(|| (capability.clone(), Pending::default()));
                        entry.1.insert(read.part, read.result.0);
                        touched.push(key);
                    }
                });
                for key in touched {
                    if pending
                        .get(&key)
                        .is_some_and(|(_, group)| group.is_complete())
                        && let Some((capability, group)) = pending.remove(&key)
                        && let Some((plan, parts)) = group.complete()
                    {
                        let tables = made(&assembler, |it| it.describe(&plan, parts));
                        output.session(&capability).give_iterator(tables);
                    }
                }
            }
        },
    )
}

/// The tables that the assembler makes, counted.
fn made(
    assembler: &Assembler,
    make: impl FnOnce(&Assembler) -> Vec<TableDraft>,
) -> impl Iterator<Item = TableDraft> {
    make(assembler).into_iter().map(|mut table| {
        let is_removed = table.row.as_ref().is_some_and(|row| row.0.removed);
        if !is_removed {
            table.held = assembler.room.hold(weight::of_draft(&table));
        }
        table
    })
}
