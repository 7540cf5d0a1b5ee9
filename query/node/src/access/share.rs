//! How many requests of one caller are answered at a time: one that sends many leaves places to the
//! others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Caller;

/// The requests that are being answered, by caller.
#[derive(Debug)]
pub struct Shares {
    /// How many a caller may have.
    pub most: usize,
    under_way: Mutex<HashMap<Arc<str>, usize>>,
}

/// A request that is being answered: it counts until this is dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<Shares>,
    caller: Arc<str>,
}

impl Shares {
    /// So many for each.
    pub fn new(most: usize) -> Arc<Shares> {
        Arc::new(Shares {
            most,
            under_way: Mutex::default(),
        })
    }

    /// Counts a request; `None` if the caller has as many as it may.
    pub fn take(self: &Arc<Self>, caller: &Caller) -> Option<Share> {
        let mut under_way = self.lock();
        let count = under_way.entry(Arc::clone(&caller.id)).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(under_way);
        Some(Share {
            of: Arc::clone(self),
            caller: Arc::clone(&caller.id),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut under_way = self.of.lock();
        if let Some(count) = under_way.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_caller_takes_its_own_places_only() {
        let shares = Shares::new(2);
        let (one, mut other) = (Caller::anyone(), Caller::anyone());
        other.id = "other".into();
        let first = shares.take(&one).unwrap();
        let _second = shares.take(&one).unwrap();
        assert!(shares.take(&one).is_none());
        let others = shares.take(&other);
        assert!(others.is_some());
        drop(first);
        let _third = shares.take(&one).unwrap();
        assert!(shares.take(&one).is_none());
        drop(others);
        assert_eq!(shares.lock().len(), 1, "who asks nothing is forgotten");
    }
}
