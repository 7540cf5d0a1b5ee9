//! The queue before an embedder: callers wait without blocking, device threads compute.
//!
//! A model runs fastest on one thread a batch, with several batches side by side: two threads
//! inside one small matrix product mostly wait for each other. So the service starts N device
//! threads, and each computes whole batches alone. While they work, new texts pool up; a free
//! thread takes the oldest waiting text and those nearest to it in length, up to a budget of tokens
//! (as text-embeddings-inference does). Only a short batch for which there is nothing else to do is
//! computed by two threads together. A text that is waiting or being computed is never computed a
//! second time: later callers join the first.
//!
//! [`queue`] holds the waiting texts and decides what is a batch; this file runs the threads.

mod queue;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::{Embedder, ModelError};
use queue::{Batch, Queue, Work};

/// Runs an [`Embedder`] on its own threads.
///
/// # Guarantees
/// Each call of [`embed`](Self::embed) gets its vectors in the order of its texts, or one error. A
/// text that makes the embedder fail or panic fails the calls that hold it and no others. Dropping
/// the service stops its threads after the batches they are computing.
pub struct EmbeddingService {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What a service has done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedStats {
    /// Texts computed.
    pub texts: u64,
    /// Texts asked for that joined an equal one in flight.
    pub joined: u64,
    /// Tokens computed, each text counted up to the window.
    pub tokens: u64,
    /// Batches computed.
    pub batches: u64,
    /// Time spent computing, summed over the batches.
    pub busy: Duration,
    /// When the first batch began.
    pub first: Option<Instant>,
    /// When the last batch so far ended.
    pub last: Option<Instant>,
}

impl EmbedStats {
    /// From the first batch's begin to the last one's end.
    pub fn span(&self) -> Duration {
        self.first
            .zip(self.last)
            .map_or(Duration::ZERO, |(first, last)| last.duration_since(first))
    }
}

struct Shared {
    embedder: Arc<dyn Embedder>,
    state: Mutex<State>,
    /// Signalled when there is something new to count, to compute, or to stop for.
    work: Condvar,
    /// Threads for a batch that is alone; none where there is one device thread, or no more threads
    /// are to be had. One batch at most is alone at a time.
    together: Option<rayon::ThreadPool>,
}

/// A longer batch keeps one thread busy for so long that others come meanwhile.
const SHORT: usize = 128;

/// Threads that a short batch is worth: each reads all weights of the model.
const TOGETHER: usize = 2;

struct State {
    queue: Queue,
    stats: EmbedStats,
    stopping: bool,
}

impl EmbeddingService {
    /// Starts `threads` device threads (at least one) for an embedder.
    ///
    /// # Panics
    /// If the operating system refuses a thread, as [`std::thread::spawn`] does.
    pub fn start(embedder: Arc<dyn Embedder>, threads: usize) -> Self {
        let threads = threads.max(1);
        let queue = Queue::new(embedder.window(), embedder.batch_tokens(), threads);
        let state = Mutex::new(State {
            queue,
            stats: EmbedStats::default(),
            stopping: false,
        });
        let shared = Arc::new(Shared {
            embedder,
            state,
            work: Condvar::new(),
            together: (threads > 1).then(together).flatten(),
        });
        let threads = (0..threads).map(|_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                stay_single_threaded();
                shared.work_until_stopped();
            })
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    /// The embedder that the service runs.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.shared.embedder
    }

    /// The number of device threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// One unit vector a text, in order.
    ///
    /// Dropping the future before it is done takes its texts out of the queue.
    ///
    /// # Errors
    /// The first error among its texts: see [`ModelError`].
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ModelError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (sender, receiver) = oneshot::channel();
        let joined = self.shared.lock().queue.add(texts, sender);
        self.shared.lock().stats.joined += joined;
        self.shared.work.notify_all();
        receiver.await.unwrap_or(Err(ModelError::Stopped))
    }

    /// What has been done so far.
    pub fn stats(&self) -> EmbedStats {
        self.shared.lock().stats
    }
}

impl Drop for EmbeddingService {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The state; a panic while it was held (none is known) leaves it usable.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_until_stopped(&self) {
        while let Some(work) = self.next() {
            match work {
                Work::Count(texts) => {
                    let window = self.embedder.window();
                    // A text that cannot even be counted fails when it is computed.
                    let count = |text: &str| self.embedder.count_tokens(text).min(window);
                    let counts: Vec<usize> = texts
                        .iter()
                        .map(|text| {
                            catch_unwind(AssertUnwindSafe(|| count(text))).unwrap_or(window)
                        })
                        .collect();
                    self.lock().queue.counted(&texts, &counts);
                    self.work.notify_all();
                }
                Work::Compute(batch) => self.compute(&batch),
            }
        }
    }

    /// The next thing to do; waits for it. `None` when the service stops.
    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(work) = state.queue.next() {
                return Some(work);
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn compute(&self, batch: &Batch) {
        let started = Instant::now();
        let texts: Vec<&str> = batch.texts.iter().map(AsRef::as_ref).collect();
        let is_alone = |_: &&_| batch.tokens <= SHORT && self.lock().queue.is_all(batch);
        let together = self.together.as_ref().filter(is_alone);
        let results: Vec<Result<Vec<f32>, ModelError>> = match self.embed_guarded(&texts, together)
        {
            Ok(vectors) => vectors.into_iter().map(Ok).collect(),
            Err(error) if texts.len() == 1 => vec![Err(error)],
            // One bad text must cost itself only; a model that is away is not asked for each.
            Err(_) => {
                let mut away = None;
                let mut one = |text: &&str| {
                    if let Some(error) = &away {
                        return Err(ModelError::clone(error));
                    }
                    let embedded = self.embed_guarded(&[text], None);
                    away = embedded.as_ref().err().filter(|it| it.is_away()).cloned();
                    Ok(embedded?.swap_remove(0))
                };
                texts.iter().map(&mut one).collect()
            }
        };
        let ended = Instant::now();
        let finished = {
            let mut state = self.lock();
            let stats = &mut state.stats;
            stats.texts += texts.len() as u64;
            stats.tokens += batch.tokens as u64;
            stats.batches += 1;
            stats.busy += ended - started;
            stats.first = Some(stats.first.map_or(started, |first| first.min(started)));
            stats.last = Some(ended);
            state.queue.finished(batch, results)
        };
        finished.into_iter().for_each(queue::Delivery::send);
    }

    /// As many vectors as texts, or an error: a panic becomes one.
    fn embed_guarded(
        &self,
        texts: &[&str],
        together: Option<&rayon::ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let model = || self.embedder.id().to_string();
        let embed = || match together {
            Some(pool) => self.embedder.embed_together(texts, pool),
            None => self.embedder.embed(texts),
        };
        match catch_unwind(AssertUnwindSafe(embed)) {
            Ok(Ok(vectors)) if vectors.len() != texts.len() => Err(ModelError::Compute {
                model: model(),
                detail: format!("{} texts gave {} vectors", texts.len(), vectors.len()),
            }),
            Ok(result) => result,
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                let detail = text.unwrap_or_else(|| "no message".to_owned());
                Err(ModelError::Panicked {
                    model: model(),
                    detail,
                })
            }
        }
    }
}

/// The threads of a batch that is alone.
fn together() -> Option<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(TOGETHER);
    let pool = pool.thread_name(|number| format!("limn:embed-{number}"));
    let refused = |error: &_| tracing::debug!(%error, "texts are embedded by one thread each");
    pool.build().inspect_err(refused).ok()
}

/// Makes this thread a rayon pool of one, so that what a model does in rayon runs here.
fn stay_single_threaded() {
    if let Err(error) = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build()
    {
        tracing::debug!(%error, "device thread shares the global thread pool");
    }
}
