//! Room: how much of what is known of files may be in memory at once.
//!
//! What a file takes while it is read is bounded by the bytes that are read of it, and by its
//! columns: each is counted by sketches of its own, however few bytes its values have. A [`Room`]
//! bounds both ends. Readers of wide files wait for their turn ([`Room::columns`]); and who makes
//! something of summaries counts it as held ([`Room::hold`]) until it has left the memory, so that
//! no reader begins while too much of that is there ([`Room::free`]).

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use limn_profile::NARROW;
use tokio::sync::Notify;

/// Columns of wider files that are counted at once: those of one of the widest.
const COLUMNS_AT_ONCE: u64 = 1 << 14;

thread_local! {
    /// Columns that this thread counts: a parser reads some files twice, and must not wait for
    /// itself.
    static COUNTING: Cell<u64> = const { Cell::new(0) };
}

/// Room for what is known of files. Clones share it.
#[derive(Clone, Debug)]
pub struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: u64,
    taken: Mutex<Taken>,
    /// For readers, which have threads of their own, and for tasks.
    less: (Condvar, Notify),
}

#[derive(Debug, Default)]
struct Taken {
    columns: u64,
    bytes: u64,
}

impl Default for Room {
    /// Room for any number of bytes.
    fn default() -> Self {
        Room::of(u64::MAX)
    }
}

/// How files are read does not depend on it.
impl PartialEq for Room {
    fn eq(&self, _: &Room) -> bool {
        true
    }
}

impl Eq for Room {}

impl Room {
    /// Room for about `most` bytes of what is made of files.
    #[must_use]
    pub fn of(most: u64) -> Self {
        Room(Arc::new(Inner {
            most,
            taken: Mutex::default(),
            less: (Condvar::new(), Notify::new()),
        }))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        let taken = self.0.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts so many bytes until the result and its clones are dropped. It does not wait: what is
    /// there is there.
    #[must_use]
    pub fn hold(&self, bytes: u64) -> Held {
        self.taken().bytes += bytes;
        Held::some(self, Taken { columns: 0, bytes })
    }

    /// Counts so many bytes as [`Room::hold`] does, if there is room for them. It does not wait:
    /// who reads rows may hold what another waits for, and be waited for by it.
    pub fn try_hold(&self, bytes: u64) -> Option<Held> {
        let mut taken = self.taken();
        let held = taken.bytes.checked_add(bytes)?;
        if held > self.0.most {
            return None;
        }
        taken.bytes = held;
        drop(taken);
        Some(Held::some(self, Taken { columns: 0, bytes }))
    }

    /// Waits until there is room.
    pub async fn free(&self) {
        loop {
            let less = self.0.less.1.notified();
            if self.taken().bytes <= self.0.most {
                return;
            }
            less.await;
        }
    }

    /// Waits until so many columns of a file may be counted. For a parser's own thread.
    pub(crate) fn columns(&self, columns: usize) -> Held {
        if columns <= NARROW {
            return Held::default();
        }
        let columns = columns as u64;
        let mut taken = self.taken();
        while COUNTING.get() == 0
            && (taken.bytes > self.0.most
                || taken.columns > 0 && taken.columns + columns > COLUMNS_AT_ONCE)
        {
            let less = self.0.less.0.wait(taken);
            taken = less.unwrap_or_else(PoisonError::into_inner);
        }
        taken.columns += columns;
        COUNTING.set(COUNTING.get() + columns);
        Held::some(self, Taken { columns, bytes: 0 })
    }
}

/// A part of a [`Room`], which is free again when all clones are dropped. The default holds
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Held(Option<Arc<Part>>);

#[derive(Debug)]
struct Part {
    room: Room,
    taken: Taken,
}

impl Held {
    fn some(room: &Room, taken: Taken) -> Self {
        Held(Some(Arc::new(Part {
            room: room.clone(),
            taken,
        })))
    }

    /// The bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |part| part.taken.bytes)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let columns = self.taken.columns;
        COUNTING.set(COUNTING.get().saturating_sub(columns));
        let mut taken = self.room.taken();
        taken.columns -= columns;
        taken.bytes -= self.taken.bytes;
        drop(taken);
        self.room.0.less.0.notify_all();
        self.room.0.less.1.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn wide_files_take_turns_and_narrow_ones_need_not() {
        let room = Room::default();
        let held: Vec<Held> = thread::scope(|scope| {
            let take = |_| scope.spawn(|| room.columns(16_384)).join().unwrap();
            (0..1).map(take).collect()
        });
        let (send, receive) = mpsc::channel();
        let other = thread::spawn({
            let room = room.clone();
            move || {
                send.send("narrow").unwrap();
                let _narrow = room.columns(100);
                let wide = room.columns(1000);
                send.send("wide").unwrap();
                // The same file once more.
                drop((room.columns(16_384), wide));
            }
        });
        assert_eq!(receive.recv().unwrap(), "narrow");
        assert_eq!(room.taken().columns, 16_384);
        drop(held);
        assert_eq!(receive.recv().unwrap(), "wide");
        other.join().unwrap();
        assert_eq!(room.taken().columns, 0);
    }

    #[tokio::test]
    async fn there_is_room_when_what_was_held_is_dropped() {
        let room = Room::of(100);
        room.free().await;
        let (a, b) = (room.hold(60), room.hold(60));
        let c = b.clone();
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { room.free().await }
        });
        drop(b);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(c);
        waiting.await.unwrap();
        assert_eq!((a.bytes(), room.taken().bytes), (60, 60));
    }
}
