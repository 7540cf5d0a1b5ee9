//! The counter beside its rule, written without a shortcut.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const LIMIT: usize = 16;

/// A value that is remembered.
struct RuleEntry {
    place: Place,
    count: u64,
    weight: u64,
}

type Counts = Vec<(Place, u64)>;

/// The lowest values and the frequent ones beyond, with their counts, where every value has an
/// entry.
fn by_the_rule(values: &[String]) -> (Counts, Counts) {
    let (mut entries, mut lowest) = (HashMap::<u64, RuleEntry>::new(), BTreeSet::<Place>::new());
    let mut overflowed = false;
    for value in values {
        let hash = xxh3_64(value.as_bytes());
        if let Some(counted) = entries.get_mut(&hash) {
            counted.count += 1;
            counted.weight += u64::from(overflowed);
            continue;
        }
        let place = (join_hash(value, hash), hash);
        let (count, weight) = (1, u64::from(overflowed));
        entries.insert(
            hash,
            RuleEntry {
                place,
                count,
                weight,
            },
        );
        lowest.insert(place);
        if !overflowed && lowest.len() == LIMIT {
            overflowed = true;
            entries
                .values_mut()
                .for_each(|counted| counted.weight = counted.count);
            continue;
        }
        if lowest.len() > LIMIT {
            lowest.pop_last();
        }
        entries.retain(|_, counted| counted.weight > 0 || lowest.contains(&counted.place));
        let mut weights: Vec<u64> = entries.values().map(|counted| counted.weight).collect();
        weights.retain(|weight| *weight > 0);
        weights.sort_by(|a, b| b.cmp(a));
        if weights.len() > 2 * LIMIT {
            for counted in entries.values_mut() {
                counted.weight = counted.weight.saturating_sub(weights[LIMIT]);
            }
            entries.retain(|_, counted| counted.weight > 0 || lowest.contains(&counted.place));
        }
    }
    let all = entries
        .into_values()
        .map(|counted| (counted.place, counted.count));
    let (mut low, mut beyond): (Counts, Counts) =
        all.partition(|(place, _)| lowest.contains(place));
    low.sort();
    beyond.retain(|(_, count)| *count > 1);
    beyond.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), place.1));
    beyond.truncate(FREQUENT_KEPT);
    (low, beyond)
}

proptest! {
    #[test]
    fn values_that_have_no_entry_are_counted_as_if_they_had(
        draws in proptest::collection::vec(prop_oneof![0u32..30, 0u32..300, 0u32..100_000], 0..2_000),
    ) {
        let values: Vec<String> = draws.iter().map(|draw| format!("{}.0", draw)).collect();
        let mut counter = ValueCounter::new(ValueLimits::for_columns(1_000_000));
        values.iter().for_each(|value| {
            counter.add(value);
        });
        let found = counter.finish();
        let counts = |all: &[Counted]| -> Counts { all.iter().map(|it| (it.place, it.count)).collect() };
        prop_assert_eq!((counts(&found.lowest), counts(&found.beyond)), by_the_rule(&values));
        for it in found.lowest.iter().chain(&found.beyond) {
            prop_assert_eq!(xxh3_64(it.value.as_bytes()), it.place.1);
        }
    }
}
