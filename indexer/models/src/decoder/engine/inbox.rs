//! What callers and the engine's thread share.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::job::Job;
use crate::Usage;

pub(super) struct Shared {
    pub(super) inbox: Mutex<Inbox>,
    pub(super) arrived: Condvar,
}

#[derive(Default)]
pub(super) struct Inbox {
    pub(super) jobs: VecDeque<Job>,
    pub(super) usage: Usage,
    pub(super) stopping: bool,
    /// The thread has ended, for whatever reason: nobody takes jobs.
    pub(super) closed: bool,
    /// When the device failed last, if it has not computed since.
    pub(super) failed: Option<Instant>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the inbox when the thread ends, even by a panic: callers that wait get an error.
pub(super) struct Closing(pub(super) Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        let mut inbox = self.0.lock();
        inbox.closed = true;
        inbox.jobs.clear();
    }
}
