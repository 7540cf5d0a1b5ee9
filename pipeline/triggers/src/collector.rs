//! Collects the hints of all sources in bounded memory until a burst takes them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::burst::{Burst, Coalesce};
use crate::counters::Counters;
use crate::event::Hints;
use crate::sqs::Delivery;

/// Messages that may wait for a burst. Queues with more are not polled until a burst is taken.
const MESSAGES: usize = 20_000;

/// Hints that no burst has taken yet. Sources never wait to add one.
pub(crate) struct Collector {
    coalesce: Coalesce,
    gathered: Mutex<Gathered>,
    /// A hint arrived.
    changed: Notify,
    /// A burst was taken.
    taken: Notify,
    pub(crate) counters: Counters,
}

#[derive(Default)]
struct Gathered {
    objects: BTreeSet<String>,
    everything: bool,
    deliveries: Vec<Delivery>,
    /// When the first and the last hint arrived.
    since: Option<(Instant, Instant)>,
}

/// What may be taken.
pub(crate) enum Ready {
    /// No hint arrived.
    Nothing,
    /// The burst ends at this time, if no hint arrives before.
    At(Instant),
    /// It has ended.
    Burst(Burst),
}

impl Collector {
    pub(crate) fn new(coalesce: Coalesce) -> Self {
        Self {
            coalesce,
            gathered: Mutex::default(),
            changed: Notify::new(),
            taken: Notify::new(),
            counters: Counters::default(),
        }
    }

    /// Takes a source's hints. Hints that name nothing of the lake are ignored.
    pub(crate) fn hint(&self, hints: Hints) {
        self.counters.count(hints.events(), hints.ignored);
        self.add(hints.objects, hints.everything, Vec::new());
    }

    /// Takes hints, and the messages that end with their burst.
    pub(crate) fn add(&self, objects: Vec<String>, everything: bool, deliveries: Vec<Delivery>) {
        if objects.is_empty() && !everything && deliveries.is_empty() {
            return;
        }
        let mut gathered = self.lock();
        gathered.everything |= everything;
        if !gathered.everything {
            gathered.objects.extend(objects);
            gathered.everything = gathered.objects.len() > self.coalesce.most;
        }
        if gathered.everything {
            gathered.objects.clear();
        }
        gathered.deliveries.extend(deliveries);
        let now = Instant::now();
        let first = gathered.since.map_or(now, |(first, _)| first);
        gathered.since = Some((first, now));
        drop(gathered);
        self.changed.notify_one();
    }

    /// The burst, if it has ended.
    pub(crate) fn ready(self: &Arc<Self>) -> Ready {
        let mut gathered = self.lock();
        let Some((first, last)) = gathered.since else {
            return Ready::Nothing;
        };
        let end = (last + self.coalesce.quiet).min(first + self.coalesce.longest);
        if Instant::now() < end {
            return Ready::At(end);
        }
        let taken = std::mem::take(&mut *gathered);
        drop(gathered);
        self.taken.notify_waiters();
        self.counters.burst();
        Ready::Burst(Burst {
            objects: taken.objects,
            everything: taken.everything,
            deliveries: taken.deliveries,
            collector: Arc::clone(self),
        })
    }

    /// Waits until a hint has arrived since the last call.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until there is room for more messages.
    pub(crate) async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            if self.lock().deliveries.len() < MESSAGES {
                return;
            }
            taken.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        // No invariant spans two of its fields: the state that a panicking thread left is valid.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
