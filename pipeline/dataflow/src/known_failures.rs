//! Failures that were reported before: a run that meets nothing but them has no news.
//!
//! What could not be read of a table stands in its row in the catalog. What stands in no row (a
//! folder that cannot be listed, a table of which nothing was ever read) is remembered in the
//! snapshot's settings, as hashes: of so many failures at most, the others count as new in every
//! run. A failure is the same as long as the object and the words are.

use std::collections::BTreeSet;

use limn_segment::Snapshot;
use xxhash_rust::xxh3::Xxh3Default;

use crate::report::Failure;

/// Where a snapshot remembers the failures of lakes.
pub(crate) const FAILED: &str = "failed";
/// Failures remembered in a snapshot.
const MOST: usize = 1000;

/// Failures, as far as they are needed to know one again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFailures(BTreeSet<u64>);

impl KnownFailures {
    /// Those that a snapshot remembers of a lake.
    pub fn remembered(snapshot: Option<&Snapshot>, lake: &str) -> Self {
        let kept = snapshot.and_then(|snapshot| snapshot.settings.get(FAILED)?.get(lake));
        let hashes = kept.and_then(|kept| kept.as_array()).into_iter().flatten();
        let hashes = hashes.filter_map(|it| u64::from_str_radix(it.as_str()?, 16).ok());
        Self(hashes.collect())
    }

    /// Writes them into a snapshot's settings.
    pub fn put_into(&self, settings: &mut serde_json::Value, lake: &str) {
        if !settings.is_object() {
            *settings = serde_json::json!({});
        }
        if self.0.is_empty() {
            if let Some(all) = settings.get_mut(FAILED).and_then(|all| all.as_object_mut()) {
                all.remove(lake);
            }
            return;
        }
        if !settings[FAILED].is_object() {
            settings[FAILED] = serde_json::json!({});
        }
        let hashes = self.0.iter().map(|hash| format!("{hash:016x}"));
        settings[FAILED][lake] = hashes.collect();
    }

    /// Whether this one is among them.
    pub fn has(&self, failure: &Failure) -> bool {
        self.0.contains(&hash_of(failure))
    }

    /// With these besides.
    #[must_use]
    pub fn and<'a>(mut self, failures: impl IntoIterator<Item = &'a Failure>) -> Self {
        self.0.extend(failures.into_iter().map(hash_of));
        self
    }

    /// As many as a snapshot remembers.
    #[must_use]
    pub fn into_remembered(mut self) -> Self {
        while self.0.len() > MOST {
            self.0.pop_last();
        }
        self
    }
}

fn hash_of(failure: &Failure) -> u64 {
    let mut hasher = Xxh3Default::new();
    for text in [&failure.object, &failure.error] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn failure(object: &str, error: &str) -> Failure {
        Failure {
            table: String::new(),
            object: object.to_owned(),
            error: error.to_owned(),
        }
    }

    #[test]
    fn failures_are_remembered_by_lake_and_known_again() {
        let mut snapshot = Snapshot::first("e", 4, 1);
        let (a, b) = (failure("a", "is empty"), failure("b", "is empty"));
        let known = KnownFailures::default().and([&a]);
        known.put_into(&mut snapshot.settings, "s3://lake");
        let again = KnownFailures::remembered(Some(&snapshot), "s3://lake");
        assert_eq!(again, known);
        assert!(again.has(&a) && !again.has(&b) && !again.has(&failure("a", "is cut off")));
        let other = KnownFailures::remembered(Some(&snapshot), "s3://other");
        assert_eq!(other, KnownFailures::default());
        other.put_into(&mut snapshot.settings, "s3://lake");
        assert_eq!(
            KnownFailures::remembered(Some(&snapshot), "s3://lake"),
            other
        );
    }

    #[test]
    fn a_snapshot_remembers_no_more_than_it_can_carry() {
        let all: Vec<Failure> = (0..3000)
            .map(|i| failure(&i.to_string(), "is empty"))
            .collect();
        let kept = KnownFailures::default().and(&all).into_remembered();
        assert_eq!(all.iter().filter(|it| kept.has(it)).count(), MOST);
    }
}
