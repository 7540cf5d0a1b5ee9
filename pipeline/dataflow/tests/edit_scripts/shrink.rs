//! A failing script made short: what came after the failure goes first, then whatever can go.
//!
//! Proptest shrinks the first step first and cannot know that those after the failure did nothing;
//! a script of 55 steps takes it an hour. This takes three minutes at most.

use std::time::{Duration, Instant};

/// How long is spent on it.
const PATIENCE: Duration = Duration::from_secs(180);

/// The step that a script failed at, and why.
pub type Failed = (usize, String);

/// The shortest failing script that is found by leaving steps out, in ever smaller pieces; `fails`
/// runs one. `failed` is how `script` failed.
pub fn shortest<S: Clone>(
    script: &[S],
    failed: Failed,
    fails: impl Fn(&[S]) -> Option<Failed>,
) -> (Vec<S>, Failed) {
    let started = Instant::now();
    let mut script = script[..=failed.0].to_vec();
    let mut failed = failed;
    let mut piece = script.len() / 2;
    while piece > 0 && started.elapsed() < PATIENCE {
        let mut at = 0;
        let mut found = false;
        while at < script.len() && started.elapsed() < PATIENCE {
            let mut shorter = script.clone();
            shorter.drain(at..(at + piece).min(script.len()));
            match fails(&shorter) {
                Some(other) => {
                    shorter.truncate(other.0 + 1);
                    (script, failed, found) = (shorter, other, true);
                }
                None => at += piece,
            }
        }
        if !found || piece > 1 {
            piece /= 2;
        }
    }
    (script, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_left() {
        // Fails at the first 7 that comes after a 3.
        let fails = |script: &[u32]| {
            let three = script.iter().position(|step| *step == 3)?;
            let seven = script[three..].iter().position(|step| *step == 7)?;
            Some((three + seven, "3, then 7".to_owned()))
        };
        let script: Vec<u32> = (0..50).map(|step| step % 11).collect();
        let failed = fails(&script).unwrap();
        let (shortest, (at, _)) = shortest(&script, failed, fails);
        assert_eq!((shortest, at), (vec![3, 7], 1));
    }
}
