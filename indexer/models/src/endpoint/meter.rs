//! What an endpoint was used for: prompts, tokens, cost, and the time somebody waited.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::options::Prices;
use crate::Usage;

/// The tokens of one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub prompt: u64,
    pub cached: u64,
    pub generated: u64,
}

/// Counts over all callers.
pub(super) struct Meter {
    prices: Option<Prices>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    usage: Usage,
    waiting: usize,
    since: Option<Instant>,
}

impl Meter {
    pub(super) fn new(prices: Option<Prices>) -> Self {
        let usage = Usage {
            cost: prices.map(|_| 0.0),
            ..Usage::default()
        };
        let state = State {
            usage,
            ..State::default()
        };
        Self {
            prices,
            state: Mutex::new(state),
        }
    }

    /// A caller waits, until the guard is dropped: also where it gives up.
    pub(super) fn waiting(&self) -> Waiting<'_> {
        let mut state = self.lock();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        Waiting(self)
    }

    /// A request is sent again.
    pub(super) fn retried(&self) {
        self.lock().usage.retries += 1;
    }

    /// A prompt has its answer.
    pub(super) fn answered(&self) {
        self.lock().usage.prompts += 1;
    }

    /// A reply's tokens, which are paid for whatever comes of it. The numbers are a stranger's.
    pub(super) fn replied(&self, tokens: Tokens) {
        let usage = &mut self.lock().usage;
        let cached = tokens.cached.min(tokens.prompt);
        let computed = tokens.prompt - cached;
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut usage.prompt_tokens, tokens.prompt);
        add(&mut usage.computed_prompt_tokens, computed);
        add(&mut usage.generated_tokens, tokens.generated);
        if let (Some(cost), Some(prices)) = (&mut usage.cost, self.prices) {
            *cost += (computed as f64 * prices.prompt
                + cached as f64 * prices.cached
                + tokens.generated as f64 * prices.generated)
                / 1e6;
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let state = self.lock();
        let mut usage = state.usage;
        usage.busy += state.since.map(|since| since.elapsed()).unwrap_or_default();
        usage
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock leaves the counts half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits.
pub(super) struct Waiting<'a>(&'a Meter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting -= 1;
        if state.waiting == 0 {
            let waited = state.since.take().map(|since| since.elapsed());
            state.usage.busy += waited.unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::Duration;

    #[test]
    fn cached_tokens_cost_their_own_price() {
        let meter = Meter::new(Some(Prices {
            prompt: 2.0,
            cached: 0.5,
            generated: 10.0,
        }));
        meter.replied(Tokens {
            prompt: 1_000_000,
            cached: 400_000,
            generated: 100_000,
        });
        let usage = meter.usage();
        assert_eq!(usage.computed_prompt_tokens, 600_000);
        assert!((usage.cost.unwrap() - (1.2 + 0.2 + 1.0)).abs() < 1e-9);
        assert_eq!(Meter::new(None).usage().cost, None);
    }

    #[test]
    fn numbers_of_a_broken_server_overflow_nothing() {
        let meter = Meter::new(None);
        for _ in 0..3 {
            meter.replied(Tokens {
                prompt: u64::MAX,
                cached: u64::MAX,
                generated: u64::MAX,
            });
        }
        assert_eq!(meter.usage().prompt_tokens, u64::MAX);
    }

    #[test]
    fn time_that_several_wait_is_counted_once() {
        let meter = Meter::new(None);
        let (first, second) = (meter.waiting(), meter.waiting());
        std::thread::sleep(Duration::from_millis(30));
        assert!(meter.usage().busy >= Duration::from_millis(30));
        drop(first);
        drop(second);
        let busy = meter.usage().busy;
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(meter.usage().busy, busy);
    }
}
