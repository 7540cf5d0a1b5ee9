//! Opening: what a process makes of a round's terms before its epochs are fed.
//!
//! The leader decides the terms (`crate::round`); a follower receives them (`crate::cluster`). From
//! there on both open the same: what the catalog has of the lake, and the stages' shared parts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use limn_formats::{Confined, OpenContainers, ReadOptions, Room};
use limn_models::{Embedder, LanguageModel};
use limn_segment::{IndexStore, Narrator, Snapshot, nonce};
use limn_store::{RequestCounts, Store, StoreErrorKind};
use limn_summary::TokenCounter;
use tokio::sync::Mutex;

use crate::assembler::Assembler;
use crate::clock::Clock;
use crate::cluster::terms::Terms;
use crate::cluster::totals::Totals;
use crate::describe::Describer;
use crate::embed::BlockEmbedder;
use crate::error::{Fatal, PipelineError};
use crate::graph::MostTables;
use crate::job::{Job, Stages};
use crate::kept::KeptVectors;
use crate::known_vectors::KnownVectors;
use crate::narrate::asking::Asking;
use crate::narrate::store::NarrationStore;
use crate::options::{NarrateWith, RunOptions};
use crate::progress::{Phase, Progress};
use crate::publish::Committer;
use crate::published::Published;
use crate::published_vectors::PublishedVectors;
use crate::read::Reader;
use crate::repair::advance;
use crate::report::{ByteTotals, RequestTotals};
use crate::segments::SegmentWriter;
use crate::settings::IndexSettings;
use crate::share::Share;
use crate::text_share::TextShare;

/// The part of the memory for tables that may be of those that wait for the end of their epoch.
const BUFFERED: u64 = 2;
/// The part of that memory that may be of spreadsheets whose sheets are being read.
const KEPT_CONTAINERS: u64 = 4;

/// What a process knows of an index, round after round.
#[derive(Clone)]
pub struct Known {
    /// The catalog of the lake.
    pub published: Arc<Published>,
    /// The vectors of texts…
    pub vectors: Arc<PublishedVectors>,
    /// …that fall to this process.
    texts: TextShare,
    /// What the narrator of the last round has said of columns.
    narrations: Arc<Mutex<Option<Arc<NarrationStore>>>>,
}

impl Known {
    /// Nothing yet.
    pub fn nothing(index: &IndexStore, options: &RunOptions) -> Self {
        let cluster = options.cluster.as_ref();
        let (process, processes) = cluster.map_or((0, 1), |cluster| cluster.place());
        let texts = TextShare::of(process, processes);
        Self {
            published: Arc::default(),
            vectors: Arc::new(PublishedVectors::new(index.clone(), texts)),
            texts,
            narrations: Arc::default(),
        }
    }
}

/// A lake, its index, and the options of a process.
pub struct Opening {
    /// The lake.
    pub lake: Store,
    /// The index.
    pub index: IndexStore,
    /// The embedder.
    pub embedder: Arc<dyn Embedder>,
    /// How the run is carried out.
    pub options: RunOptions,
    /// Counters for people.
    pub progress: Arc<Progress>,
    /// The first error that ends the run.
    pub fatal: Arc<Fatal>,
    /// What is known of the index.
    pub known: Known,
    /// Started with the run.
    pub clock: Clock,
    /// Requests that the stores had seen before.
    counts: (RequestCounts, RequestCounts),
}

/// A round that is ready to begin.
pub struct Opened {
    /// What the stages share.
    pub stages: Arc<Stages>,
    /// Whether all of the lake's tables in the index were made with this run's settings.
    pub is_uniform: bool,
    /// What is to be said of damage that was repaired.
    pub notes: Vec<String>,
}

/// The language model that is asked, and it itself where it is open already.
pub type Narrating = (NarrateWith, Option<Arc<dyn LanguageModel>>);

struct WindowCounter(Arc<dyn Embedder>);

impl TokenCounter for WindowCounter {
    fn count(&self, text: &str) -> usize {
        self.0.count_tokens(text)
    }

    fn window(&self) -> usize {
        self.0.window()
    }
}

/// Entries of the root of a lake on a disk that a run's terms have, at most.
const ROOT_ENTRIES: usize = 32;

/// Some of what lies in the root of a lake on a disk.
pub async fn root_entries(lake: &Store) -> Vec<String> {
    at_most_root_entries(lake, ROOT_ENTRIES).await
}

async fn at_most_root_entries(lake: &Store, most: usize) -> Vec<String> {
    if lake.local_root().is_none() {
        return Vec::new();
    }
    let level = lake.level("").await.unwrap_or_default();
    let names = level.folders.into_iter().chain(level.objects);
    names.take(most).collect()
}

impl Opening {
    /// A run over `lake`; what the stores do from here on is counted.
    pub fn new(
        lake: Store,
        index: IndexStore,
        embedder: Arc<dyn Embedder>,
        options: RunOptions,
        progress: Arc<Progress>,
        fatal: Arc<Fatal>,
        known: Known,
    ) -> Self {
        let counts = (lake.counts(), index.store.counts());
        Self {
            lake,
            index,
            embedder,
            options,
            progress,
            fatal,
            known,
            clock: Clock::start(),
            counts,
        }
    }

    /// Checks that this process was given the same as the one whose terms these are.
    ///
    /// # Errors
    /// What differs.
    pub async fn check(&self, terms: &Terms) -> Result<(), PipelineError> {
        let (lake, index) = (&self.lake, &self.index);
        terms.check(lake, index, self.embedder.as_ref(), &self.options)?;
        let entries = &terms.root_entries;
        let own = at_most_root_entries(lake, usize::MAX).await;
        if !entries.is_empty() && !entries.iter().any(|it| own.contains(it)) {
            return Err(PipelineError::Settings(format!(
                "the lake at {} is not the one that process 0 lists: for several machines it has to be on a shared disk or in an object store",
                terms.lake
            )));
        }
        if let Some(mark) = &terms.mark
            && let Err(error) = index.store.head(mark).await
        {
            if error.kind() != StoreErrorKind::NotFound {
                return Err(error.into());
            }
            return Err(PipelineError::Settings(format!(
                "the index at {} is not the one that process 0 writes: for several machines it has to be on a shared disk or in an object store",
                terms.index
            )));
        }
        Ok(())
    }

    /// Reads what `snapshot` has of the lake and is not known, and makes what the stages share. The
    /// model of `with` is asked by this process. A damaged catalog is repaired before
    /// (`crate::repair`).
    ///
    /// # Errors
    /// The index cannot be read, or does not fit the terms.
    pub async fn open(
        &self,
        terms: &Terms,
        snapshot: Option<Snapshot>,
        with: Option<Narrating>,
    ) -> Result<Opened, PipelineError> {
        let (lake, index, options) = (&self.lake, &self.index, &self.options);
        let (progress, settings) = (&self.progress, terms.settings.clone());
        let Known {
            published, vectors, ..
        } = &self.known;
        let number = |snapshot: Option<&Snapshot>| snapshot.map(|it| it.number);
        if number(snapshot.as_ref()) < number(published.snapshot().as_ref()) {
            // Another index is where that one was: it lacks the narrations.
            *self.known.narrations.lock().await = None;
        }
        let share = self.share(terms);
        let known = (published.as_ref(), vectors.as_ref());
        let repairs = !options.scope.is_partial();
        let notes = advance(index, known, terms, &share, snapshot, repairs).await?;
        let snapshot = published.snapshot();
        let before = snapshot.as_ref();
        let before = before.map(|snapshot| IndexSettings::of_lake(snapshot, lake.url()));
        let is_uniform = before.transpose()?.flatten().as_ref() == Some(&settings);
        let narrations = match settings.narrator.clone() {
            Some(narrator) => Some(self.narrations(narrator).await),
            None => None,
        };
        let asking = narrations.as_ref().zip(with);
        let asking = asking.map(|(narrations, (with, open))| {
            Arc::new(Asking::new(
                with,
                Arc::clone(narrations),
                Arc::clone(progress),
                Arc::clone(&self.fatal),
                options.stop.child_token(),
                open,
            ))
        });
        let stages = self.stages(terms, is_uniform, narrations, asking)?;
        Ok(Opened {
            stages: Arc::new(stages),
            is_uniform,
            notes,
        })
    }

    /// What the stages share. `is_uniform` says whether the lake's tables in the index were all
    /// made with this run's settings.
    fn stages(
        &self,
        terms: &Terms,
        is_uniform: bool,
        narrations: Option<Arc<NarrationStore>>,
        asking: Option<Arc<Asking>>,
    ) -> Result<Stages, PipelineError> {
        let (index, options, settings) = (&self.index, &self.options, &terms.settings);
        let Known {
            published,
            vectors,
            texts,
            ..
        } = &self.known;
        let progress = &self.progress;
        let room = Room::of(options.held_memory);
        // A shard's tables wait on one worker; shards are spread over the processes first.
        let processes = options.cluster.as_ref().map_or(1, |it| it.place().1.max(1));
        let shards_here = (terms.shards as usize).div_ceil(processes);
        let buffering = terms.workers.min(shards_here).max(1) as u64;
        let kept = Arc::new(KeptVectors::new(
            index.clone(),
            settings.embedder.clone(),
            settings.dimensions,
            options.keep_vectors_after,
            *texts,
        ));
        let known_vectors = KnownVectors::new(Arc::clone(vectors), Arc::clone(&kept));
        Ok(Stages {
            reader: Arc::new(self.reader(terms, &room)),
            assembler: Arc::new(self.assembler(terms, is_uniform, &room)),
            describer: Arc::new(Describer {
                counter: Arc::new(WindowCounter(Arc::clone(&self.embedder))),
                words: settings.narrate,
                narrations: narrations.clone(),
                progress: Arc::clone(progress),
                is_of_several: options.cluster.is_some(),
            }),
            embedder: Arc::new(BlockEmbedder::new(
                Arc::clone(&self.embedder),
                options.embed_threads,
                index.clone(),
                Arc::clone(vectors),
                Arc::clone(&kept),
                Arc::clone(progress),
                *texts,
            )),
            known_vectors: Arc::new(known_vectors),
            writer: Arc::new(SegmentWriter::new(
                index.clone(),
                settings.dimensions,
                Arc::clone(&kept),
                Arc::clone(progress),
            )),
            room,
            most_buffered: options.held_memory / BUFFERED / buffering,
            kept,
            committer: Committer::new(
                index.clone(),
                terms,
                published,
                narrations.clone(),
                MostTables(options.join_tables),
                self.embedder.record().cloned(),
                Arc::clone(progress),
            )?,
            narrations,
            asking,
        })
    }

    fn reader(&self, terms: &Terms, room: &Room) -> Reader {
        let options = &self.options;
        Reader::new(
            self.lake.clone(),
            Arc::clone(&self.known.published),
            ReadOptions {
                sample_rows: options.sample_rows,
                scan_budget: options.scan_budget,
                seed: options.seed,
                values: terms.settings.kept_values(),
                room: room.clone(),
                confined: options.confined_program.clone().map(Confined::new),
                containers: OpenContainers::keeping(options.held_memory / KEPT_CONTAINERS),
                declared: None,
            },
            options.read_memory,
            Arc::clone(&self.progress),
        )
    }

    fn assembler(&self, terms: &Terms, is_uniform: bool, room: &Room) -> Assembler {
        Assembler {
            lake: self.lake.clone(),
            published: Arc::clone(&self.known.published),
            settings: terms.settings.fingerprint(),
            narrates: terms.narrates,
            resample_threshold: if is_uniform {
                self.options.resample_threshold
            } else {
                0.0
            },
            forget: self.options.forget.clone(),
            redact: terms.settings.redact,
            values: terms.settings.kept_values().most,
            room: room.clone(),
        }
    }

    /// The narrations of `narrator`: those that are known already, if they are its.
    async fn narrations(&self, narrator: Narrator) -> Arc<NarrationStore> {
        let mut known = self.known.narrations.lock().await;
        let store = match known.take().filter(|store| *store.narrator() == narrator) {
            Some(store) => store,
            None => {
                let is_shared = self.options.cluster.is_some();
                let store = NarrationStore::new(self.index.clone(), narrator, nonce(), is_shared);
                Arc::new(store)
            }
        };
        store.begin().await;
        Arc::clone(known.insert(store))
    }

    /// The part of the lake that this process plans.
    pub fn share(&self, terms: &Terms) -> Share {
        let cluster = self.options.cluster.as_ref();
        Share::new(
            &terms.assignment,
            cluster.map_or(0, |cluster| cluster.place().0),
        )
    }

    /// What the rounds of a session share.
    pub fn job(&self, terms: &Terms) -> Arc<Job> {
        let (stop, fatal) = (self.options.stop.clone(), Arc::clone(&self.fatal));
        Arc::new(Job::new(terms, stop, fatal))
    }

    /// What this process has done in this round so far.
    pub fn totals(&self, stages: &Stages) -> Totals {
        let lake = self.lake.counts().since(&self.counts.0);
        let index = self.index.store.counts().since(&self.counts.1);
        let embed = stages.embedder.stats();
        Totals {
            files_read: stages.reader.files_read(),
            requests: RequestTotals {
                list: lake.list + index.list,
                get: lake.get + index.get,
                put: lake.put + index.put,
                head: lake.head + index.head,
            },
            bytes: ByteTotals {
                read: lake.bytes_read + index.bytes_read,
                written: lake.bytes_written + index.bytes_written,
            },
            embedded_blocks: self.progress.blocks_embedded_anew.load(Ordering::Relaxed),
            embedded_tokens: embed.tokens,
            total: self.clock.elapsed(),
            busy: self.clock.busy(),
            list: self.progress.seconds(Phase::List),
            plan: self.progress.seconds(Phase::Plan),
            read: self.progress.seconds(Phase::Read),
            embed: embed.busy.as_secs_f64(),
            embed_span: embed.span().as_secs_f64(),
            write: self.progress.seconds(Phase::Write),
            publish: self.progress.seconds(Phase::Publish),
            narrate: stages.asking.as_ref().map_or(0.0, |it| it.seconds()),
            narrated: stages
                .asking
                .as_ref()
                .map(|it| it.outcome())
                .unwrap_or_default(),
        }
    }
}
