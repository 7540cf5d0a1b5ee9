//! Publishing: when the frontier has passed an epoch, its segments become the next snapshot.
//!
//! Progress tracking is the commit protocol. Every upstream operator keeps the capability of an
//! epoch while it has work for it, so a closed epoch is complete, and a reader sees the snapshot
//! before or the snapshot after, never between. Epochs are published one after the other by one
//! worker. An epoch in which nothing changed publishes nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use limn_segment::{Deletes, IndexStore, SegmentEntry, Snapshot};
use serde::{Deserialize, Serialize};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::Operator;
use tokio::sync::Mutex;

use crate::assemble::Position;
use crate::changes::Epoch;
use crate::error::PipelineError;
use crate::narrate::awaiting::AwaitingTable;
use crate::narrate::store::NarrationStore;
use crate::options::IndexSettings;
use crate::published::Published;
use crate::report::Failure;
use crate::segments::{Outcome, ShardResult};

/// What a published epoch did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PublishedEpoch {
    /// The epoch.
    pub epoch: Epoch,
    /// What happened to the tables.
    pub outcomes: Vec<(String, Outcome)>,
    /// What could not be read.
    pub failures: Vec<Failure>,
    /// Tables that await a narration.
    pub awaiting: Vec<AwaitingTable>,
}

/// Gathers the shards of an epoch on one worker and lets go of them when the epoch is complete.
pub fn gather_epoch<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
) -> Stream<'scope, Epoch, Vec<Vec<ShardResult>>> {
    shards.unary_frontier::<CapacityContainerBuilder<Vec<Vec<ShardResult>>>, _, _, _>(
        Exchange::new(|_: &ShardResult| 0),
        "gather epoch",
        |_capability, _info| {
            let mut stash = BTreeMap::new();
            move |(input, frontier), output| {
                input.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(output.output_index()) else {
                        return;
                    };
                    let entry = stash
                        .entry(*capability.time())
                        .or_insert_with(|| (capability, Vec::new()));
                    entry
                        .1
                        .extend(containers.flat_map(|container| container.drain(..)));
                });
                while let Some(entry) = stash.first_entry() {
                    if frontier.less_equal(entry.key()) {
                        break;
                    }
                    let (capability, results) = entry.remove();
                    output.session(&capability).give(results);
                }
            }
        },
    )
}

/// Publishes epochs; one for the whole job.
pub struct Committer {
    index: IndexStore,
    lake: String,
    settings: IndexSettings,
    shards: u32,
    /// Whether every table of the lake that is in the index was made with `settings`.
    uniform: AtomicBool,
    /// The narrations of the tables' texts, where they have any.
    narrations: Option<Arc<NarrationStore>>,
    state: Mutex<CommitState>,
}

struct CommitState {
    snapshot: Option<Snapshot>,
    /// Delete bitmaps of the snapshot's segments, loaded when first needed.
    deletes: HashMap<String, Deletes>,
}

impl Committer {
    /// A committer that goes on from what is published.
    pub fn new(
        index: IndexStore,
        lake: String,
        settings: IndexSettings,
        shards: u32,
        published: &Published,
        narrations: Option<Arc<NarrationStore>>,
    ) -> Arc<Self> {
        let snapshot = published.snapshot.clone();
        let before = snapshot
            .as_ref()
            .and_then(|snapshot| IndexSettings::of_lake(snapshot, &lake));
        let uniform = published.groups().next().is_none() || before.as_ref() == Some(&settings);
        let state = Mutex::new(CommitState {
            snapshot,
            deletes: HashMap::new(),
        });
        Arc::new(Self {
            index,
            lake,
            settings,
            shards,
            uniform: AtomicBool::new(uniform),
            narrations,
            state,
        })
    }

    /// The number of the newest snapshot, 0 before the first.
    pub async fn snapshot_number(&self) -> u64 {
        self.state
            .lock()
            .await
            .snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.number)
    }

    /// Publishes one epoch, if it changed anything.
    ///
    /// # Errors
    /// Another writer published first, or the store refused; the index is then as it was.
    pub async fn commit(
        &self,
        mut results: Vec<ShardResult>,
    ) -> Result<Vec<PublishedEpoch>, PipelineError> {
        results.sort_by(|a, b| {
            a.segment
                .as_ref()
                .map(|s| &s.0.path)
                .cmp(&b.segment.as_ref().map(|s| &s.0.path))
        });
        let mut state = self.state.lock().await;
        let mut published = PublishedEpoch::default();
        let mut next = self.next_snapshot(state.snapshot.as_ref());
        let mut replaced: BTreeMap<String, Vec<Position>> = BTreeMap::new();
        let mut changed = false;
        for result in results {
            published.epoch = result.epoch;
            changed |= result.segment.is_some() || result.catalog.is_some();
            next.catalog.extend(result.catalog.map(|entry| entry.0));
            next.segments.extend(result.segment.map(|entry| entry.0));
            for position in result.replaced {
                replaced
                    .entry(position.segment.clone())
                    .or_default()
                    .push(position);
            }
            published.outcomes.extend(result.outcomes);
            published.failures.extend(result.failures);
            published.awaiting.extend(result.awaiting);
        }
        if changed {
            // What a published text says is stored first: nobody narrates it otherwise.
            if let Some(narrations) = &self.narrations {
                narrations.flush().await?;
            }
            for (path, positions) in replaced {
                self.delete(&mut next, &mut state.deletes, &path, &positions)
                    .await?;
            }
            self.index.publish(&next).await?;
            tracing::info!(
                snapshot = next.number,
                epoch = published.epoch,
                segments = next.segments.len(),
                "published"
            );
            state.snapshot = Some(next);
        }
        Ok(vec![published])
    }

    /// When the epochs of the lake are all published, the snapshot says with which settings its tables
    /// were made. An index of an empty lake gets its first snapshot here.
    ///
    /// # Errors
    /// As [`Committer::commit`].
    pub async fn finish(&self) -> Result<(), PipelineError> {
        let mut state = self.state.lock().await;
        self.uniform.store(true, Ordering::Release);
        let settings = state
            .snapshot
            .as_ref()
            .and_then(|snapshot| IndexSettings::of_lake(snapshot, &self.lake));
        if settings.as_ref() != Some(&self.settings) {
            let next = self.next_snapshot(state.snapshot.as_ref());
            self.index.publish(&next).await?;
            state.snapshot = Some(next);
        }
        Ok(())
    }

    /// While tables of other settings remain, the snapshot names this run's only as those to come: a
    /// run that dies between two epochs leaves a mixture that the next one must not take for uniform.
    fn next_snapshot(&self, previous: Option<&Snapshot>) -> Snapshot {
        let mut next = previous.map_or_else(
            || {
                Snapshot::first(
                    &self.settings.embedder,
                    self.settings.dimensions,
                    self.shards,
                )
            },
            Snapshot::next,
        );
        let uniform = self.uniform.load(Ordering::Acquire);
        self.settings
            .put_into(&mut next.settings, &self.lake, uniform);
        next
    }

    /// Marks blocks as deleted; a segment without a live block leaves the snapshot.
    async fn delete(
        &self,
        next: &mut Snapshot,
        deletes: &mut HashMap<String, Deletes>,
        path: &str,
        positions: &[Position],
    ) -> Result<(), PipelineError> {
        let Some(at) = next
            .segments
            .iter()
            .position(|segment| segment.path == path)
        else {
            return Ok(());
        };
        let entry: &mut SegmentEntry = &mut next.segments[at];
        let mut bitmap = match deletes.remove(path) {
            Some(bitmap) => bitmap,
            None => self.index.deletes(entry).await?,
        };
        for position in positions {
            bitmap.delete_table(position.first_block, position.blocks);
        }
        if bitmap.count() >= entry.blocks {
            next.segments.remove(at);
        } else {
            entry.deletes = self.index.put_deletes(&bitmap).await?;
            deletes.insert(path.to_owned(), bitmap);
        }
        Ok(())
    }
}
