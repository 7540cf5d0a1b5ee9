//! Bursts: hints that arrived close together and are checked together.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::collector::{Collector, Ready};
use crate::counters::Counts;
use crate::error::TriggerError;
use crate::folder::FolderWatch;
use crate::sqs::{self, Delivery};

/// How hints become bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalesce {
    /// A burst ends when no hint has arrived for so long.
    pub quiet: Duration,
    /// It ends after so long in any case.
    pub longest: Duration,
    /// A burst of more objects becomes one of everything.
    pub most: usize,
}

impl Default for Coalesce {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(2),
            longest: Duration::from_secs(30),
            most: 10_000,
        }
    }
}

/// Hints that arrived close together.
///
/// If it is dropped without [`Burst::done`], its messages return when the queue makes them visible
/// again; hints of other sources are lost.
#[must_use = "messages of a burst that is dropped come again"]
pub struct Burst {
    /// Objects that may have changed, by path in the lake; none if `everything`.
    pub objects: BTreeSet<String>,
    /// Anything may have changed.
    pub everything: bool,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) collector: Arc<Collector>,
}

impl fmt::Debug for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Burst")
            .field("objects", &self.objects)
            .field("everything", &self.everything)
            .field("messages", &self.deliveries.len())
            .finish()
    }
}

impl Burst {
    /// How many messages end with it.
    pub fn messages(&self) -> usize {
        self.deliveries.len()
    }

    /// Acknowledges the burst: its messages are deleted from their queues.
    ///
    /// # Errors
    /// [`TriggerError`] where a queue refuses. The messages return, which costs another check and
    /// nothing else.
    pub async fn done(self) -> Result<(), TriggerError> {
        sqs::delete(self.deliveries).await
    }

    /// Gives the burst back: its hints, of every source, return with the next burst.
    pub fn put_back(self) {
        let objects = self.objects.into_iter().collect();
        self.collector
            .add(objects, self.everything, self.deliveries);
    }
}

/// The bursts of all sources, one after the other. Dropping it ends the sources.
pub struct Bursts {
    pub(crate) collector: Arc<Collector>,
    pub(crate) sources: JoinSet<()>,
    pub(crate) folders: Vec<FolderWatch>,
}

impl Bursts {
    /// The next burst, when it has ended; `None` if no source is left.
    ///
    /// While the caller works on one burst, the next one collects hints; it is ready at once if it
    /// has ended by then. Dropping a call loses nothing.
    pub async fn next(&mut self) -> Option<Burst> {
        loop {
            match self.collector.ready() {
                Ready::Burst(burst) => return Some(burst),
                Ready::At(end) => tokio::select! {
                    () = sleep_until(end) => {}
                    () = self.collector.changed() => {}
                },
                Ready::Nothing if self.sources.is_empty() => {
                    if self.folders.is_empty() {
                        return None;
                    }
                    self.collector.changed().await;
                }
                Ready::Nothing => tokio::select! {
                    () = self.collector.changed() => {}
                    ended = self.sources.join_next() => {
                        if let Some(Err(error)) = ended {
                            tracing::error!(%error, "a source of triggers has failed");
                        }
                    }
                },
            }
        }
    }

    /// What the sources have announced so far.
    pub fn counts(&self) -> Counts {
        self.collector.counters.counts()
    }
}
