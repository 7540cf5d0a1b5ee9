//! An operator that never blocks: each record becomes a task on the tokio runtime, and the worker
//! goes on with other work until a completion wakes it.
//!
//! For every record the operator keeps the record's capability until the task's results have been
//! sent, so the frontier says exactly which epochs still have work in flight: progress tracking is
//! what later decides that an epoch may be published. How much runs at once is bounded by the tasks
//! themselves (they wait for a permit of the job's memory budget before they load anything).
//!
//! A task that fails or panics leaves its epoch open: what lacks a part is never published. A drop
//! guard makes a panic the job's fatal error, as an error is; it ends the workers.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc;

use timely::ExchangeData;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;
use timely::scheduling::SyncActivator;

use crate::changes::Epoch;
use crate::error::{Fatal, PipelineError};

/// What a task leaves behind.
struct Completion<O> {
    epoch: Epoch,
    outputs: Vec<O>,
}

/// Sends a completion when dropped, if there is one, and reports a task that panicked.
struct EndGuard<O> {
    completion: Option<Completion<O>>,
    send: mpsc::Sender<Completion<O>>,
    activator: Arc<SyncActivator>,
    fatal: Arc<Fatal>,
    stage: &'static str,
    finished: bool,
}

impl<O> Drop for EndGuard<O> {
    fn drop(&mut self) {
        if !self.finished {
            self.fatal
                .set(PipelineError::TaskDied { stage: self.stage });
            return;
        }
        if let Some(completion) = self.completion.take() {
            // The operator is dropped only with the dataflow; nobody waits then.
            let _ = self.send.send(completion);
            let _ = self.activator.activate();
        }
    }
}

/// Maps each record to a task whose results appear downstream at the record's own epoch.
///
/// `stage` names the operator in logs and errors. Errors of a task go to `fatal`: they end the job.
pub fn async_flat_map<'scope, I, O, P, F, Fut>(
    stream: Stream<'scope, Epoch, Vec<I>>,
    pact: P,
    stage: &'static str,
    runtime: tokio::runtime::Handle,
    fatal: Arc<Fatal>,
    mut task: F,
) -> Stream<'scope, Epoch, Vec<O>>
where
    I: 'static + Send,
    O: ExchangeData + Send,
    P: ParallelizationContract<Epoch, Vec<I>>,
    F: FnMut(I) -> Fut + 'static,
    Fut: Future<Output = Result<Vec<O>, PipelineError>> + Send + 'static,
{
    let worker = stream.scope().worker();
    stream.unary::<CapacityContainerBuilder<Vec<O>>, _, _, _>(
        pact,
        stage,
        move |_capability, info| {
            let activator = Arc::new(worker.sync_activator_for(info.address.to_vec()));
            let (send, receive) = mpsc::channel::<Completion<O>>();
            let mut open: HashMap<Epoch, (Capability<Epoch>, usize)> = HashMap::new();
            move |input, output| {
                input.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(output.output_index()) else {
                        return;
                    };
                    let epoch = *capability.time();
                    let entry = open.entry(epoch).or_insert_with(|| (capability, 0));
                    for record in containers.flat_map(|container| container.drain(..)) {
                        entry.1 += 1;
                        let mut guard = EndGuard {
                            completion: Some(Completion {
                                epoch,
                                outputs: Vec::new(),
                            }),
                            send: send.clone(),
                            activator: Arc::clone(&activator),
                            fatal: Arc::clone(&fatal),
                            stage,
                            finished: false,
                        };
                        let future = task(record);
                        runtime.spawn(async move {
                            let result = future.await;
                            guard.finished = true;
                            match result {
                                Ok(outputs) => {
                                    if let Some(completion) = guard.completion.as_mut() {
                                        completion.outputs = outputs;
                                    }
                                }
                                Err(error) => {
                                    guard.completion = None;
                                    guard.fatal.set(error);
                                }
                            }
                        });
                    }
                });
                while let Ok(completion) = receive.try_recv() {
                    if let Some((capability, in_flight)) = open.get_mut(&completion.epoch) {
                        output
                            .session(capability)
                            .give_iterator(completion.outputs.into_iter());
                        *in_flight -= 1;
                    }
                }
                open.retain(|_, (_, in_flight)| *in_flight > 0);
            }
        },
    )
}
