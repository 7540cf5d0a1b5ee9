//! Prompts over several devices: each goes where the least waits, and with its like if it can.
//!
//! Prompts with the same shared beginning (the columns of a table, the candidates of a question) go
//! to the same device while that has little more to do than the others, so that the beginning is
//! computed once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::runner::hash;
use super::{Engine, Job};
use crate::Usage;

/// Tokens that a device may have waiting above the least of all before its own prompts go
/// elsewhere.
const SLACK: usize = 8192;

/// The engines of all devices; at least one.
pub(in crate::decoder) struct Engines {
    engines: Vec<(Engine, Arc<AtomicUsize>)>,
}

/// What a prompt weighs on its device, until it is dropped.
pub(in crate::decoder) struct Load {
    waiting: Arc<AtomicUsize>,
    tokens: usize,
}

impl Drop for Load {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.tokens, Ordering::Relaxed);
    }
}

impl Engines {
    pub fn new(engines: Vec<Engine>) -> Self {
        let engines = engines.into_iter().map(|engine| (engine, Arc::default()));
        Self {
            engines: engines.collect(),
        }
    }

    /// Hands in a job of so many tokens.
    pub fn submit(&self, tokens: usize, job: Job) -> Load {
        let waiting: Vec<usize> = self
            .engines
            .iter()
            .map(|(engine, waiting)| match engine.is_failing() {
                // It would be done with everything at once.
                true => usize::MAX,
                false => waiting.load(Ordering::Relaxed),
            })
            .collect();
        let shared = job.prompt.shared.iter().flatten();
        let shared: Vec<u8> = shared.flat_map(|token| token.to_le_bytes()).collect();
        let (engine, waiting) = &self.engines[place(hash(&shared), &waiting)];
        waiting.fetch_add(tokens, Ordering::Relaxed);
        engine.submit(job);
        Load {
            waiting: Arc::clone(waiting),
            tokens,
        }
    }

    /// What has been done so far, on all devices. Their busy times overlap: the longest counts.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (engine, _) in &self.engines {
            let other = engine.usage();
            usage.prompts += other.prompts;
            usage.prompt_tokens += other.prompt_tokens;
            usage.computed_prompt_tokens += other.computed_prompt_tokens;
            usage.generated_tokens += other.generated_tokens;
            usage.retries += other.retries;
            usage.busy = usage.busy.max(other.busy);
        }
        usage
    }
}

/// Which device a prompt goes to, by the hash of its beginning and the tokens waiting on each.
fn place(beginning: u128, waiting: &[usize]) -> usize {
    let least = waiting.iter().copied().min().unwrap_or(0);
    let own = (beginning % waiting.len().max(1) as u128) as usize;
    if waiting
        .get(own)
        .is_some_and(|own| *own <= least.saturating_add(SLACK))
    {
        return own;
    }
    waiting.iter().position(|it| *it == least).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_stay_with_their_like_until_others_have_nothing_to_do() {
        assert_eq!(place(7, &[0]), 0);
        assert_eq!(place(7, &[0, 0, 0]), 1);
        assert_eq!(place(7, &[100, 100 + SLACK, 200]), 1);
        assert_eq!(place(7, &[300, 101 + SLACK, 100]), 2);
        // One that fails gets nothing while another does not.
        assert_eq!(place(7, &[900_000, usize::MAX]), 0);
        assert_eq!(place(7, &[usize::MAX, usize::MAX]), 1);
    }

    #[test]
    fn nothing_but_beginnings_in_common_spreads_evenly() {
        let mut waiting = vec![0; 4];
        for table in 0..4000_u32 {
            let place = place(hash(&table.to_le_bytes()), &waiting);
            waiting[place] += 300;
        }
        let (least, most) = (waiting.iter().min(), waiting.iter().max());
        assert!(
            most <= least.map(|least| least + SLACK + 300).as_ref(),
            "{waiting:?}"
        );
    }
}
