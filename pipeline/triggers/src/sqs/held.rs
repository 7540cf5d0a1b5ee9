//! The messages that are held: received, and not yet done with.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// Messages by id.
#[derive(Default)]
pub(super) struct Held(Mutex<HashMap<String, Hold>>);

struct Hold {
    /// The last receipt: earlier ones may not be good for deleting.
    receipt: String,
    /// When others see the message again.
    until: Instant,
}

impl Held {
    /// Holds a message; whether it was not held before.
    pub(super) fn hold(&self, id: String, receipt: String, until: Instant) -> bool {
        self.lock().insert(id, Hold { receipt, until }).is_none()
    }

    pub(super) fn release(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(super) fn receipt(&self, id: &str) -> Option<String> {
        self.lock().get(id).map(|hold| hold.receipt.clone())
    }

    /// Ids and receipts of those that others see by then.
    pub(super) fn ending(&self, by: Instant) -> Vec<(String, String)> {
        let held = self.lock();
        let ending = held.iter().filter(|(_, hold)| hold.until <= by);
        ending
            .map(|(id, hold)| (id.clone(), hold.receipt.clone()))
            .collect()
    }

    /// Others see these later.
    pub(super) fn prolong(&self, messages: &[(String, String)], until: Instant) {
        let mut held = self.lock();
        for (id, _) in messages {
            if let Some(hold) = held.get_mut(id) {
                hold.until = until;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Hold>> {
        // Every change is one insertion or removal.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
