//! Sleep: between two rounds a dataflow has nothing to do, and its workers take no time of the
//! processor until they are woken.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use timely::worker::Worker;

/// How long a parked worker sleeps at most in a round before it looks at the job's state again.
const PARK: Duration = Duration::from_millis(20);
/// How long between two rounds. What happens then wakes the workers; this is for what was missed.
const SLEEP: Duration = Duration::from_secs(30);

/// The threads of a process's workers.
#[derive(Debug, Default)]
pub struct Sleepers(Mutex<Vec<Thread>>);

impl Sleepers {
    /// This thread is a worker's, and is woken from now on.
    pub fn join(&self) {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(std::thread::current());
    }

    /// The workers look at the job's state.
    pub fn wake(&self) {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().for_each(Thread::unpark);
    }
}

/// Wakes the workers when it is dropped.
pub struct Waking(pub Arc<Sleepers>);

impl Drop for Waking {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Has a worker work, or wait for work: between two rounds longer than while it is `is_busy`.
pub fn step(worker: &mut Worker, is_busy: bool) {
    let limit = if is_busy { PARK } else { SLEEP };
    worker.step_or_park(Some(limit));
}
