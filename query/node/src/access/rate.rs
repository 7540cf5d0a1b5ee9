//! How many requests a caller may send: a bucket that fills steadily, one a caller.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use moka::sync::Cache;

use super::Caller;

/// Callers that are remembered at a time.
const CALLERS: u64 = 10_000;
/// How long a caller that sends nothing is remembered: longer than any bucket takes to fill.
const REMEMBERED: Duration = Duration::from_secs(120);

/// The buckets of all callers.
#[derive(Debug)]
pub struct Rates {
    per_minute: Option<NonZeroU32>,
    buckets: Cache<(Arc<str>, NonZeroU32), Arc<DefaultDirectRateLimiter>>,
    clock: DefaultClock,
}

impl Rates {
    /// So many requests a minute each, if they are bounded at all. A minute's may come at once.
    pub fn new(per_minute: Option<NonZeroU32>) -> Rates {
        let buckets = Cache::builder()
            .max_capacity(CALLERS)
            .time_to_idle(REMEMBERED);
        Rates {
            per_minute,
            buckets: buckets.build(),
            clock: DefaultClock::default(),
        }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The time after which the caller may send its next one.
    pub fn take(&self, caller: &Caller) -> Result<(), Duration> {
        let own = caller.per_minute.and_then(NonZeroU32::new);
        let Some(rate) = own.or(self.per_minute) else {
            return Ok(());
        };
        let key = (Arc::clone(&caller.id), rate);
        let bucket = self.buckets.get_with(key, || {
            Arc::new(RateLimiter::direct(Quota::per_minute(rate)))
        });
        let taken = bucket.check();
        taken.map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn each_caller_has_a_bucket_of_its_own() {
        let rates = Rates::new(NonZeroU32::new(60));
        let (one, mut other) = (Caller::anyone(), Caller::anyone());
        other.id = "other".into();
        other.per_minute = Some(2);
        for _ in 0..60 {
            rates.take(&one).unwrap();
        }
        let wait = rates.take(&one).unwrap_err();
        assert!(
            wait > Duration::ZERO && wait <= Duration::from_secs(1),
            "{wait:?}"
        );
        rates.take(&other).unwrap();
        rates.take(&other).unwrap();
        assert!(rates.take(&other).is_err());
        assert!(Rates::new(None).take(&one).is_ok());
    }
}
