//! What waits for the end of its epoch: an operator keeps it, and lets go of it when no more of the
//! epoch can come.

use std::collections::BTreeMap;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::changes::Epoch;

/// The epoch of an item that has none of its own: the one that it came with.
pub fn came_with<I>(_item: &I, epoch: Epoch) -> Epoch {
    epoch
}

/// Keeps items by epoch. `epoch_of` gives an item's epoch by the one that it came with, `add` what
/// need not wait, and `end` what becomes of the others when their epoch is complete, one epoch
/// after the other.
pub fn at_epoch_end<'scope, I, W, O, P, Now, End>(
    items: Stream<'scope, Epoch, Vec<I>>,
    pact: P,
    name: &'static str,
    epoch_of: impl Fn(&I, Epoch) -> Epoch + 'static,
    mut add: impl FnMut(Epoch, &mut W, I) -> Now + 'static,
    mut end: impl FnMut(Epoch, W) -> End + 'static,
) -> Stream<'scope, Epoch, Vec<O>>
where
    I: 'static,
    W: Default + 'static,
    O: 'static,
    P: ParallelizationContract<Epoch, Vec<I>>,
    Now: IntoIterator<Item = O>,
    End: IntoIterator<Item = O>,
{
    items.unary_frontier::<CapacityContainerBuilder<Vec<O>>, _, _, _>(pact, name, |_, _| {
        let mut waiting: BTreeMap<Epoch, (Capability<Epoch>, W)> = BTreeMap::new();
        move |(input, frontier), output| {
            input.for_each_stamp(|capability, containers| {
                let Some(capability) = capability.retain_least(output.output_index()) else {
                    return;
                };
                for item in containers.flat_map(|container| container.drain(..)) {
                    let epoch = epoch_of(&item, *capability.time());
                    let (capability, kept) = waiting
                        .entry(epoch)
                        .or_insert_with(|| (capability.delayed(&epoch), W::default()));
                    let mut now = add(epoch, kept, item).into_iter().peekable();
                    if now.peek().is_some() {
                        output.session(&*capability).give_iterator(now);
                    }
                }
            });
            while let Some(entry) = waiting.first_entry() {
                if frontier.less_equal(entry.key()) {
                    break;
                }
                let epoch = *entry.key();
                let (capability, kept) = entry.remove();
                let ended = end(epoch, kept).into_iter();
                output.session(&capability).give_iterator(ended);
            }
        }
    })
}
