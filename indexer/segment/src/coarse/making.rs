//! Copies are made behind the questions, one after the other: until one is there, a question looks
//! at every row.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{io, thread};

use tantivy::directory::OwnedBytes;

use super::Coarse;

/// A copy that is there, or on its way, or not wanted yet.
#[derive(Debug, Default)]
pub(crate) struct Making {
    asked: AtomicUsize,
    copy: Arc<Copy>,
}

#[derive(Debug, Default)]
struct Copy {
    made: OnceLock<Coarse>,
    /// From when it is ordered until it could not be made.
    is_ordered: AtomicBool,
    /// What is to be copied, and its dimensions. It is dropped with its reader.
    matrix: Mutex<Option<(OwnedBytes, usize)>>,
}

/// The copies that are ordered, and whether a thread makes them.
#[derive(Default)]
struct Orders {
    waiting: VecDeque<Weak<Copy>>,
    is_at_work: bool,
}

static ORDERS: Mutex<Orders> = Mutex::new(Orders {
    waiting: VecDeque::new(),
    is_at_work: false,
});

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Orders a copy; the thread that makes copies lives as long as there are orders.
fn order(copy: &Arc<Copy>) -> io::Result<()> {
    let mut orders = lock(&ORDERS);
    if !orders.is_at_work {
        let thread = thread::Builder::new().name("limn-copies".to_owned());
        thread.spawn(work)?;
        orders.is_at_work = true;
    }
    orders.waiting.push_back(Arc::downgrade(copy));
    Ok(())
}

fn work() {
    loop {
        let next = {
            let mut orders = lock(&ORDERS);
            let next = orders.waiting.pop_front();
            orders.is_at_work = next.is_some();
            next
        };
        match next {
            Some(copy) => copy.upgrade().iter().for_each(|copy| copy.make()),
            None => return,
        }
    }
}

impl Copy {
    fn make(&self) {
        let Some((matrix, dimensions)) = lock(&self.matrix).take() else {
            return;
        };
        // A copy that panics is not made; the others are.
        let made = catch_unwind(AssertUnwindSafe(|| Coarse::new(&matrix, dimensions)));
        match made.unwrap_or_else(|_| Err(io::Error::other("making it panicked"))) {
            // Nobody else makes it: it stays ordered.
            Ok(made) => drop(self.made.set(made)),
            Err(error) => self.give_up(&error),
        }
    }

    fn give_up(&self, error: &io::Error) {
        tracing::warn!(%error, "no coarse copy of a segment's vectors could be made: questions take longer");
        drop(lock(&self.matrix).take());
        self.is_ordered.store(false, Relaxed);
    }
}

impl Making {
    /// The copy of a matrix (`matrix` gives its bytes), if it is there. It is ordered with the
    /// second question; where it could not be made, it is tried again after as many questions as
    /// there were.
    pub(crate) fn get(
        &self,
        matrix: impl FnOnce() -> OwnedBytes,
        dimensions: usize,
    ) -> Option<&Coarse> {
        if let Some(made) = self.copy.made.get() {
            return Some(made);
        }
        let asked = self.asked.fetch_add(1, Relaxed) + 1;
        if asked > 1 && asked.is_power_of_two() && !self.copy.is_ordered.swap(true, Relaxed) {
            *lock(&self.copy.matrix) = Some((matrix(), dimensions));
            if let Err(error) = order(&self.copy) {
                self.copy.give_up(&error);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::{Duration, Instant};

    use half::f16;

    use super::*;

    fn matrix(number: f32) -> OwnedBytes {
        let bytes = f16::from_f32(number).to_le_bytes();
        OwnedBytes::new(bytes.repeat(64))
    }

    fn wait(is_so: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < until, "it does not come");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_copy_is_made_for_who_asks_again() {
        let making = Making::default();
        assert!(making.get(|| unreachable!(), 64).is_none());
        making.get(|| matrix(0.5), 64);
        wait(|| making.get(|| unreachable!("it is made once"), 64).is_some());
    }

    #[test]
    fn a_copy_that_could_not_be_made_is_tried_again() {
        let making = Making::default();
        making.get(|| unreachable!(), 64);
        assert!(making.get(|| matrix(f32::NAN), 64).is_none());
        wait(|| !making.copy.is_ordered.load(Relaxed));
        assert!(making.get(|| unreachable!("the third"), 64).is_none());
        making.get(|| matrix(0.5), 64);
        wait(|| making.copy.made.get().is_some());
    }

    #[test]
    fn a_reader_that_was_dropped_needs_no_copy() {
        let copy = Arc::new(Copy::default());
        *lock(&copy.matrix) = Some((matrix(0.5), 64));
        let dropped = Arc::downgrade(&copy);
        lock(&ORDERS).waiting.push_back(dropped.clone());
        drop(copy);
        // What is ordered after it is made.
        let making = Making::default();
        making.get(|| unreachable!(), 64);
        making.get(|| matrix(0.5), 64);
        wait(|| making.copy.made.get().is_some());
        assert_eq!(dropped.strong_count(), 0);
    }
}
