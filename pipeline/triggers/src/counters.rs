//! What the sources have announced so far, counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the sources have announced so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that name something in the lake, from whatever source.
    pub events: u64,
    /// Events about something else, or of a kind that changes nothing.
    pub ignored: u64,
    /// Messages of a queue that could not be read, each time they came.
    pub poison: u64,
    /// Bursts handed out.
    pub bursts: u64,
    /// When the last of `events` came.
    pub last_event: Option<SystemTime>,
}

/// [`Counts`] as they grow.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    events: AtomicU64,
    ignored: AtomicU64,
    poison: AtomicU64,
    bursts: AtomicU64,
    /// Milliseconds since 1970; 0 before the first.
    last_event: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, events: u64, ignored: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.ignored.fetch_add(ignored, Ordering::Relaxed);
        if events > 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(1, |since| since.as_millis() as u64);
            self.last_event.store(now, Ordering::Relaxed);
        }
    }

    pub(crate) fn poison(&self) {
        self.poison.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn burst(&self) {
        self.bursts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let last = of(&self.last_event);
        Counts {
            events: of(&self.events),
            ignored: of(&self.ignored),
            poison: of(&self.poison),
            bursts: of(&self.bursts),
            last_event: (last > 0).then(|| UNIX_EPOCH + Duration::from_millis(last)),
        }
    }
}
