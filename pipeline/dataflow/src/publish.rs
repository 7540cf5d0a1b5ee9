//! Publishing: when the frontier has passed an epoch, its segments become the next snapshot.
//!
//! Progress tracking is the commit protocol. Every upstream operator keeps the capability of an
//! epoch while it has work for it, so a closed epoch is complete, and a reader sees the snapshot
//! before or the snapshot after, never between. Epochs are published one after the other by one
//! worker. An epoch in which nothing changed publishes nothing. A race lost to a writer of other
//! tables is run again from the newest snapshot (`crate::rebase`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use limn_lake::{Filters, Ignored};
use limn_models::EncoderRecord;
use limn_segment::{CatalogEntry, Deletes, IndexStore, PublishError, SegmentEntry, Snapshot};
use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Exchange;
use tokio::sync::{Mutex, oneshot};

use crate::changes::Epoch;
use crate::cluster::terms::Terms;
use crate::epoch_end::{at_epoch_end, came_with};
use crate::error::PipelineError;
use crate::filtering::{put_into, remembered};
use crate::graph::{Joins, MostTables};
use crate::known_failures::KnownFailures;
use crate::narrate::store::NarrationStore;
use crate::position::Position;
use crate::progress::{Phase, Progress};
use crate::published::Published;
use crate::rebase::{Others, refusal};
use crate::report::Failure;
use crate::segments::{Outcome, ShardResult};
use crate::settings::{ENCODER, IndexSettings, encoder_of};

/// How often a snapshot is rebased before a run gives up: others publish faster than it can.
const REBASES: usize = 100;

/// What a published epoch did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PublishedEpoch {
    /// The epoch.
    pub epoch: Epoch,
    /// What happened to the tables.
    pub outcomes: Vec<(String, Outcome)>,
    /// What could not be read.
    pub failures: Vec<Failure>,
    /// Those of them that stand in no row of the catalog.
    pub unwritten: Vec<Failure>,
    /// How many tables await a narration.
    pub awaiting: usize,
    /// Sensitive columns whose values the index holds: (table, what they hold).
    pub exposed: Vec<(String, Vec<String>)>,
    /// Files of tables that hold none, or of no table.
    pub passed_over: Vec<(String, Ignored)>,
}

/// Gathers the shards of an epoch on one worker and lets go of them when the epoch is complete.
pub fn gather_epoch<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
) -> Stream<'scope, Epoch, Vec<Vec<ShardResult>>> {
    at_epoch_end(
        shards,
        Exchange::new(|_: &ShardResult| 0),
        "gather epoch",
        came_with,
        |_, gathered: &mut Vec<ShardResult>, shard| {
            gathered.push(shard);
            None
        },
        |_, gathered| [gathered],
    )
}

/// Publishes epochs; one for the whole job.
pub struct Committer {
    index: IndexStore,
    lake: String,
    settings: IndexSettings,
    filters: Filters,
    shards: u32,
    /// Whether every table of the lake that is in the index was made with `settings`.
    uniform: AtomicBool,
    /// The narrations of the tables' texts, where they have any.
    narrations: Option<Arc<NarrationStore>>,
    /// What was known of the lake when the round began.
    published: Arc<Published>,
    most_joined: MostTables,
    /// What is to be remembered of the encoder's folder, where vectors are of one.
    encoder: Option<EncoderRecord>,
    progress: Arc<Progress>,
    /// Completes when the commit that was asked for last has succeeded.
    last: std::sync::Mutex<Option<oneshot::Receiver<()>>>,
    state: Mutex<CommitState>,
}

/// What the next snapshot goes on from.
#[derive(Default)]
struct CommitState {
    snapshot: Option<Snapshot>,
    /// Delete bitmaps of the snapshot's segments, loaded when first needed.
    deletes: HashMap<String, Deletes>,
    /// What others have published since the run began.
    others: Others,
    /// The failures that the snapshot is to remember; as before until they are known.
    failed: Option<KnownFailures>,
}

/// What an epoch adds to a snapshot and takes from it.
#[derive(Default)]
struct Additions {
    segments: Vec<SegmentEntry>,
    catalog: Vec<CatalogEntry>,
    /// Tables whose rows are written.
    written: Vec<String>,
    /// Tables whose blocks were elsewhere until now.
    replaced: Vec<(String, Position)>,
}

impl Committer {
    /// A committer that goes on from what is published.
    ///
    /// # Errors
    /// The settings of what is published are not understood.
    pub fn new(
        index: IndexStore,
        terms: &Terms,
        published: &Arc<Published>,
        narrations: Option<Arc<NarrationStore>>,
        most_joined: MostTables,
        encoder: Option<EncoderRecord>,
        progress: Arc<Progress>,
    ) -> Result<Arc<Self>, PipelineError> {
        let (lake, shards) = (terms.lake.clone(), terms.shards);
        let (settings, filters) = (terms.settings.clone(), terms.filters.clone());
        let snapshot = published.snapshot();
        let before = snapshot
            .as_ref()
            .map(|snapshot| IndexSettings::of_lake(snapshot, &lake));
        let before = before.transpose()?.flatten();
        let uniform = published.is_empty() || before.as_ref() == Some(&settings);
        let state = Mutex::new(CommitState {
            snapshot,
            ..CommitState::default()
        });
        Ok(Arc::new(Self {
            index,
            lake,
            settings,
            filters,
            shards,
            uniform: AtomicBool::new(uniform),
            narrations,
            published: Arc::clone(published),
            most_joined,
            encoder,
            progress,
            last: std::sync::Mutex::default(),
            state,
        }))
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

    /// Publishes one epoch, if it changed anything, after those for which this was called before:
    /// two may be complete at once, and tasks begin in any order. After one that failed nothing is
    /// published: it may have deleted blocks whose successors are not there.
    ///
    /// # Errors
    /// Another writer has written the same tables, or the store refused; the index is then as it
    /// was.
    pub fn commit(
        self: Arc<Self>,
        results: Vec<ShardResult>,
        joins: Arc<Joins>,
    ) -> impl Future<Output = Result<Vec<PublishedEpoch>, PipelineError>> + Send {
        let (succeeded, success) = oneshot::channel();
        let before = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(success);
        async move {
            if let Some(before) = before
                && before.await.is_err()
            {
                // Its error ends the job.
                return Ok(Vec::new());
            }
            let published = self.commit_in_turn(results, &joins).await?;
            // Nobody listens after the last one.
            let _ = succeeded.send(());
            Ok(published)
        }
    }

    async fn commit_in_turn(
        &self,
        mut results: Vec<ShardResult>,
        joins: &Joins,
    ) -> Result<Vec<PublishedEpoch>, PipelineError> {
        results.sort_by(|a, b| {
            a.segment
                .as_ref()
                .map(|s| &s.0.path)
                .cmp(&b.segment.as_ref().map(|s| &s.0.path))
        });
        let mut published = PublishedEpoch::default();
        let mut additions = Additions::default();
        for result in results {
            published.epoch = result.epoch;
            additions
                .catalog
                .extend(result.catalog.map(|entry| entry.0));
            additions
                .segments
                .extend(result.segment.map(|entry| entry.0));
            additions.written.extend(result.written);
            additions.replaced.extend(result.replaced);
            published.outcomes.extend(result.outcomes);
            published.failures.extend(result.failures);
            published.unwritten.extend(result.unwritten);
            published.awaiting += result.awaiting;
            published.exposed.extend(result.exposed);
            published.passed_over.extend(result.passed_over);
        }
        if !additions.segments.is_empty() || !additions.catalog.is_empty() {
            // What a published text says is stored first: nobody narrates it otherwise.
            if let Some(narrations) = &self.narrations {
                narrations.flush().await?;
            }
            let mut state = self.state.lock().await;
            self.publish(&mut state, &additions, joins).await?;
        }
        Ok(vec![published])
    }

    /// Publishes the newest snapshot with these additions, as often as others are faster.
    async fn publish(
        &self,
        state: &mut CommitState,
        additions: &Additions,
        joins: &Joins,
    ) -> Result<(), PipelineError> {
        let begun = Instant::now();
        for _ in 0..REBASES {
            if let Some(table) = state.others.wrote_one_of(&additions.written) {
                return Err(PipelineError::Overtaken {
                    reason: format!("another run indexed table '{table}' meanwhile"),
                });
            }
            let mut next = self.next_snapshot(state);
            // First what is replaced: the same tables described in the same words again are a
            // segment of the same name.
            self.delete(&mut next, state, &additions.replaced).await?;
            next.catalog.extend_from_slice(&additions.catalog);
            next.segments.extend_from_slice(&additions.segments);
            let (index, published) = (&self.index, &self.published);
            joins
                .put_into(&mut next, index, published, self.most_joined)
                .await?;
            match self.index.publish(&next).await {
                Ok(()) => {
                    state.snapshot = Some(next);
                    self.progress.spend(Phase::Publish, begun);
                    return Ok(());
                }
                Err(PublishError::Lost { .. }) => self.rebase(state).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(PipelineError::Overtaken {
            reason: format!("other runs published first, {REBASES} times over"),
        })
    }

    /// Goes on from the newest snapshot.
    async fn rebase(&self, state: &mut CommitState) -> Result<(), PipelineError> {
        let newest = self.index.require_newest().await?;
        let base = state.snapshot.as_ref();
        tracing::info!(
            from = base.map(|base| base.number),
            to = newest.number,
            "rebasing"
        );
        let settings = (&self.settings, &self.filters);
        if let Some(reason) = refusal(base, &newest, &self.lake, settings, self.shards) {
            return Err(PipelineError::Overtaken { reason });
        }
        let others = &mut state.others;
        others
            .take_in(&self.index, &self.lake, base, &newest)
            .await?;
        state.deletes.clear();
        state.snapshot = Some(newest);
        Ok(())
    }

    /// When the epochs of the lake are all published, the snapshot says with which settings its
    /// tables were made, with which filters they were listed, and what is remembered to have
    /// `failed`. An index of an empty lake gets its first snapshot here, and one whose joins were
    /// not looked for until now gets these.
    ///
    /// # Errors
    /// As [`Committer::commit`].
    pub async fn finish(
        &self,
        failed: Option<KnownFailures>,
        joins: &Joins,
    ) -> Result<(), PipelineError> {
        let mut state = self.state.lock().await;
        state.failed = failed.or(state.failed.take());
        self.uniform.store(true, Ordering::Release);
        let settings = state
            .snapshot
            .as_ref()
            .map(|snapshot| IndexSettings::of_lake(snapshot, &self.lake));
        let settings = settings.transpose()?.flatten();
        // Those that cannot be understood are replaced.
        let filters = remembered(state.snapshot.as_ref(), &self.lake).ok();
        let is_stored = filters.as_ref() == Some(&self.filters);
        let remembered = KnownFailures::remembered(state.snapshot.as_ref(), &self.lake);
        let is_stored = is_stored && state.failed.as_ref().is_none_or(|it| *it == remembered);
        let snapshot = state.snapshot.as_ref();
        let has_joins = snapshot.is_some_and(|it| it.joins.contains_key(&self.lake));
        let has_joins_as_wanted = has_joins == self.wants(joins).await;
        let is_stored =
            is_stored && (self.encoder.is_none() || self.encoder == snapshot.and_then(encoder_of));
        if settings.as_ref() != Some(&self.settings) || !is_stored || !has_joins_as_wanted {
            let nothing = Additions::default();
            self.publish(&mut state, &nothing, joins).await?;
        }
        Ok(())
    }

    /// Whether the lake is to have a join graph.
    async fn wants(&self, joins: &Joins) -> bool {
        let most = self.most_joined;
        most != MostTables(0) && most.allows(joins.size(&self.published).await)
    }

    /// What is to be said of a lake whose joins are not looked for.
    pub async fn joins_note(&self, joins: &Joins) -> Option<String> {
        let is_too_large = self.most_joined != MostTables(0) && !self.wants(joins).await;
        match is_too_large {
            true => Some(self.most_joined.note(joins.size(&self.published).await)),
            false => None,
        }
    }

    /// While tables of other settings remain, the snapshot names this run's only as those to come:
    /// a run that dies between two epochs leaves a mixture that the next one must not take for
    /// uniform.
    fn next_snapshot(&self, state: &CommitState) -> Snapshot {
        let mut next = state.snapshot.as_ref().map_or_else(
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
        put_into(&self.filters, &mut next.settings, &self.lake);
        if let Some(failed) = &state.failed {
            failed.put_into(&mut next.settings, &self.lake);
        }
        if let Some(encoder) = &self.encoder {
            next.settings[ENCODER] = serde_json::json!(encoder);
        }
        next
    }

    /// Marks the blocks of replaced tables as deleted, wherever they are now; a segment without a
    /// live block leaves the snapshot.
    async fn delete(
        &self,
        next: &mut Snapshot,
        state: &mut CommitState,
        replaced: &[(String, Position)],
    ) -> Result<(), PipelineError> {
        let at: HashMap<String, usize> = next
            .segments
            .iter()
            .enumerate()
            .map(|(place, segment)| (segment.path.clone(), place))
            .collect();
        let mut bitmaps: BTreeMap<usize, Deletes> = BTreeMap::new();
        for (table, position) in replaced {
            let position = match state.others.moved(table) {
                Some(moved) if !at.contains_key(&position.segment) => moved,
                _ => position,
            };
            // All its blocks were deleted before.
            let Some(place) = at.get(&position.segment) else {
                continue;
            };
            let bitmap = match bitmaps.entry(*place) {
                Entry::Occupied(bitmap) => bitmap.into_mut(),
                Entry::Vacant(free) => {
                    let known = state.deletes.get(&position.segment).cloned();
                    free.insert(match known {
                        Some(known) => known,
                        None => self.index.deletes(&next.segments[*place]).await?,
                    })
                }
            };
            bitmap.delete_table(position.first_block, position.blocks);
        }
        for (place, bitmap) in bitmaps.into_iter().rev() {
            let entry = &mut next.segments[place];
            if bitmap.count() >= entry.blocks {
                // One of its name that comes again has all its blocks.
                state.deletes.remove(&entry.path);
                next.segments.remove(place);
            } else {
                entry.deletes = self.index.put_deletes(&bitmap).await?;
                state.deletes.insert(entry.path.clone(), bitmap);
            }
        }
        Ok(())
    }
}
