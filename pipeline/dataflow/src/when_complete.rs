//! What waits for all of its parts, which come in any order: an operator keeps them together, and
//! lets go of what is complete.

use std::collections::HashMap;
use std::hash::Hash;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::changes::Epoch;

/// What parts come together in.
pub trait Whole: Default + 'static {
    /// What parts of one whole have in common, and others do not.
    type Key: Copy + Eq + Hash + 'static;
    /// A part.
    type Part: 'static;

    /// The key of a part that came at this epoch.
    fn key(part: &Self::Part, epoch: Epoch) -> Self::Key;

    /// Adds a part.
    fn add(&mut self, part: Self::Part);

    /// Whether no part is to come any more.
    fn is_complete(&self) -> bool;
}

/// Keeps parts, all of which are on the worker of their whole, and ends what is complete, at the
/// epoch of the part that came first.
pub fn when_complete<'scope, W, O, End, Ended>(
    parts: Stream<'scope, Epoch, Vec<W::Part>>,
    name: &'static str,
    mut end: End,
) -> Stream<'scope, Epoch, Vec<O>>
where
    W: Whole,
    O: 'static,
    End: FnMut(W) -> Ended + 'static,
    Ended: IntoIterator<Item = O>,
{
    parts.unary::<CapacityContainerBuilder<Vec<O>>, _, _, _>(Pipeline, name, |_, _| {
        let mut waiting: HashMap<W::Key, (Capability<Epoch>, W)> = HashMap::new();
        move |input, output| {
            let mut touched = Vec::new();
            input.for_each_stamp(|capability, containers| {
                let Some(capability) = capability.retain_least(output.output_index()) else {
                    return;
                };
                for part in containers.flat_map(|container| container.drain(..)) {
                    let key = W::key(&part, *capability.time());
                    let (_, whole) = waiting
                        .entry(key)
                        .or_insert_with(|| (capability.clone(), W::default()));
                    whole.add(part);
                    touched.push(key);
                }
            });
            for key in touched {
                if waiting.get(&key).is_some_and(|(_, it)| it.is_complete())
                    && let Some((capability, whole)) = waiting.remove(&key)
                {
                    let ended = end(whole).into_iter();
                    output.session(&capability).give_iterator(ended);
                }
            }
        }
    })
}
