//! Turns at work of which a node does little at a time: a caller that has asked for much of it
//! waits for its own turns, and leaves the others theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::Caller;

/// The turns of all callers.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    of_one: usize,
    of_callers: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
}

/// A turn: it lasts until this is dropped.
#[derive(Debug)]
pub struct Turn {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turns {
    /// So many at a time, and so many of them for one caller.
    pub fn new(all: usize, of_one: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(all)),
            of_one,
            of_callers: Mutex::default(),
        }
    }

    /// A caller's turn, when it has one left and the node does.
    ///
    /// # Errors
    /// None: no semaphore is closed.
    pub async fn take(&self, caller: &Caller) -> Result<Turn, AcquireError> {
        let own = self.of(caller).acquire_owned().await?;
        Ok(Turn {
            _own: own,
            _of_all: Arc::clone(&self.all).acquire_owned().await?,
        })
    }

    fn of(&self, caller: &Caller) -> Arc<Semaphore> {
        let mut callers = self
            .of_callers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Callers that wait or have a turn hold on to them.
        callers.retain(|_, turns| Arc::strong_count(turns) > 1);
        let new = || Arc::new(Semaphore::new(self.of_one));
        Arc::clone(callers.entry(Arc::clone(&caller.id)).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_caller_leaves_the_others_their_turns() {
        let turns = Turns::new(2, 1);
        let (one, mut other) = (Caller::anyone(), Caller::anyone());
        other.id = "other".into();
        let first = turns.take(&one).await.unwrap();
        let mut second = Box::pin(turns.take(&one));
        assert!((&mut second).now_or_never().is_none());
        let others = turns.take(&other).now_or_never().unwrap().unwrap();
        drop(first);
        let second = second.now_or_never().unwrap().unwrap();
        drop((others, second));
        drop(turns.take(&one).now_or_never().unwrap());
        let known = turns.of_callers.lock().unwrap().len();
        assert_eq!(known, 1, "who asks nothing is forgotten");
    }
}
