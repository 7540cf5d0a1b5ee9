//! Copies are made behind the questions, one after the other: until one is there, a question looks at every row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

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
    under_way: AtomicBool,
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs a job after those before it, on a thread of its own.
fn behind(job: Job) {
    static QUEUE: OnceLock<Sender<Job>> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let (queue, jobs) = channel::<Job>();
        let made = thread::Builder::new().name("limn-copies".to_owned());
        let made = made.spawn(move || jobs.into_iter().for_each(|job| job()));
        if let Err(error) = made {
            tracing::warn!(%error, "no thread can be had: questions take longer");
        }
        queue
    });
    // Without a thread nobody listens.
    let _ = queue.send(job);
}

impl Making {
    /// The copy of a matrix (`matrix` tells its bytes), if it is there. It is begun with the second question; where it could not be made, it is tried
    /// again after as many questions as there were.
    pub(crate) fn get(
        &self,
        matrix: impl FnOnce() -> OwnedBytes,
        dimensions: usize,
    ) -> Option<&Coarse> {
        if let Some(made) = self.copy.made.get() {
            return Some(made);
        }
        let asked = self.asked.fetch_add(1, Relaxed) + 1;
        if asked > 1 && asked.is_power_of_two() && !self.copy.under_way.swap(true, Relaxed) {
            // A reader that is gone needs no copy.
            let copy = Arc::downgrade(&self.copy);
            let matrix = matrix();
            behind(Box::new(move || {
                let Some(copy) = copy.upgrade() else { return };
                match Coarse::new(&matrix, dimensions) {
                    // Nobody else makes it.
                    Ok(made) => drop(copy.made.set(made)),
                    Err(error) => {
                        tracing::warn!(%error, "no coarse copy of a segment's vectors could be made (see TMPDIR): questions take longer");
                    }
                }
                copy.under_way.store(false, Relaxed);
            }));
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
        wait(|| !making.copy.under_way.load(Relaxed));
        assert!(making.get(|| unreachable!("the third"), 64).is_none());
        making.get(|| matrix(0.5), 64);
        wait(|| making.copy.made.get().is_some());
    }
}
