//! Overlaps are exact below 128 distinct values and within their bounds beyond.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::builder::ColumnBuilder;
use crate::data_type::DataType;

fn profile(cells: impl IntoIterator<Item = String>) -> ColumnProfile {
    let mut builder = ColumnBuilder::new("c");
    cells.into_iter().for_each(|cell| builder.push(Some(&cell)));
    builder.finish(true).profile
}

fn numbers(range: std::ops::Range<u64>, table: u64) -> ValueSet {
    profile(range.map(|i| format!("{table}/{i}"))).value_set()
}

fn typed(kind: &DataType, cells: &[&str]) -> ValueSet {
    let mut builder = ColumnBuilder::new("c");
    cells
        .iter()
        .for_each(|cell| builder.push_typed(kind, Some(cell)));
    builder.finish(true).profile.value_set()
}

#[test]
fn few_values_are_compared_exactly() {
    let overlap = numbers(0..100, 0).overlap(&numbers(50..125, 0));
    assert!(overlap.exact);
    assert_eq!(overlap.intersection, 50.0);
    assert_eq!(overlap.jaccard.value, 50.0 / 125.0);
    assert_eq!(overlap.first_in_second.value, 0.5);
    assert_eq!(overlap.second_in_first.value, 50.0 / 75.0);
    assert!(overlap.jaccard.is_exact());
    let none = numbers(0..0, 0).overlap(&numbers(0..5, 0));
    assert_eq!(
        (none.jaccard.value, none.first_in_second.value, none.exact),
        (0.0, 0.0, true)
    );
}

#[test]
fn values_compare_across_types_and_formats_as_a_join_would() {
    let csv = profile(["1", "2", "10"].map(str::to_owned)).value_set();
    let parquet = typed(&DataType::Integer, &["1", "2", "10"]);
    let floats = typed(&DataType::Float, &["1.0", "2.0", "10.0"]);
    let padded = typed(&DataType::Text, &["1  ", " 2", "10"]);
    for other in [&parquet, &floats, &padded] {
        assert_eq!(csv.jaccard(other).value, 1.0);
    }
    let codes = typed(&DataType::Text, &["01", "02", "10"]);
    assert_eq!(csv.overlap(&codes).intersection, 1.0);
    let spellings = profile(["1", "1.0", "1.00"].map(str::to_owned)).value_set();
    assert_eq!(spellings.distinct(), 1.0);
}

#[test]
fn long_columns_of_integers_and_of_whole_floats_overlap() {
    let integers = profile((0..5000).map(|i| i.to_string())).value_set();
    let floats = profile((0..5000).map(|i| format!("{i}.0"))).value_set();
    assert!(!integers.is_complete() && !floats.is_complete());
    assert_eq!(integers.hashes, floats.hashes);
    assert_eq!(integers.jaccard(&floats).value, 1.0);
}

#[test]
fn all_values_of_a_small_column_below_the_threshold_of_a_larger_one_are_counted() {
    let (small, large) = (numbers(0..1, 0), numbers(0..140, 0));
    let seen = small.contained_in(&large);
    assert!(seen.sampled == 0 || seen.is_exact());
    let unseen = Share::of(0, 0, false);
    assert_eq!((unseen.low, unseen.high), (0.0, 1.0));
}

/// Estimates of (a, b, shared) distinct values over many tables: the root mean square error of the
/// containment of the first in the second and of Jaccard, the worst intersection's relative error,
/// and the share of intervals that hold the truth.
fn measured(a: u64, b: u64, shared: u64) -> (f64, f64, f64) {
    const TABLES: u64 = 100;
    let (mut contained, mut jaccard, mut held) = (0.0, 0.0, 0.0);
    for table in 0..TABLES {
        let first = numbers(0..a, table);
        let second = numbers(a - shared..a - shared + b, table);
        let overlap = first.overlap(&second);
        assert_eq!(second.overlap(&first).jaccard, overlap.jaccard);
        assert_eq!(second.contained_in(&first), overlap.second_in_first);
        let truths = [
            (overlap.first_in_second, shared as f64 / a as f64),
            (overlap.jaccard, shared as f64 / (a + b - shared) as f64),
        ];
        contained += (truths[0].0.value - truths[0].1).powi(2);
        jaccard += (truths[1].0.value - truths[1].1).powi(2);
        for (share, truth) in truths {
            assert!(share.low <= share.value && share.value <= share.high);
            held += f64::from(u8::from(
                share.low - 1e-12 <= truth && truth <= share.high + 1e-12,
            ));
        }
    }
    let mean = |sum: f64| (sum / TABLES as f64).sqrt();
    (mean(contained), mean(jaccard), held / (2.0 * TABLES as f64))
}

#[test]
fn estimates_are_within_the_documented_errors_and_intervals_hold() {
    for (a, b, shared) in [
        (1000, 1000, 500),
        (1000, 1000, 0),
        (1000, 1000, 1000),
        (1000, 4000, 500),
        (4000, 1000, 500),
        (500, 5000, 250),
        (2000, 100, 50),
        (100, 2000, 50),
        (130, 130, 13),
    ] {
        let (contained, jaccard, held) = measured(a, b, shared);
        let (a, b) = (a as f64, b as f64);
        // A root mean square over 100 tables has a standard error of 7 %.
        let bound = 1.2 * 0.5 / 127f64.sqrt();
        assert!(jaccard <= bound, "{a} {b} {shared}: {jaccard}");
        assert!(
            contained <= bound * (b / a).max(1.0).sqrt(),
            "{a} {b} {shared}: {contained}"
        );
        assert!(held >= 0.9, "{a} {b} {shared}: {held}");
    }
}

#[test]
fn intersections_are_counted_from_the_better_known_side() {
    let mut worst = 0.0f64;
    for table in 0..20 {
        let overlap = numbers(0..8000, table).overlap(&numbers(6000..10_000, table));
        worst = worst.max((overlap.intersection / 2000.0 - 1.0).abs());
    }
    // √((1 − p) / (n p)) with p = ¼ and n = 127: 15 %, and 3 % for the number of distinct values.
    assert!(worst < 4.0 * 0.157, "{worst}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn overlaps_are_symmetric_bounded_and_exact_where_they_say_so(
        a in prop::collection::btree_set(0u32..400, 0..300),
        b in prop::collection::btree_set(0u32..400, 0..300),
    ) {
        let set = |of: &std::collections::BTreeSet<u32>| profile(of.iter().map(u32::to_string)).value_set();
        let (first, second) = (set(&a), set(&b));
        let overlap = first.overlap(&second);
        let back = second.overlap(&first);
        prop_assert_eq!(overlap.jaccard, back.jaccard);
        prop_assert_eq!(overlap.first_in_second, back.second_in_first);
        let shared = a.intersection(&b).count() as f64;
        for (share, truth) in [
            (overlap.jaccard, shared / a.union(&b).count().max(1) as f64),
            (overlap.first_in_second, shared / a.len().max(1) as f64),
            (overlap.second_in_first, shared / b.len().max(1) as f64),
        ] {
            prop_assert!(0.0 <= share.low && share.low <= share.value && share.value <= share.high && share.high <= 1.0);
            if overlap.exact {
                prop_assert_eq!((share.value, share.is_exact()), (truth, true));
            } else if share.is_exact() && share.sampled > 0 {
                prop_assert!((share.value - truth).abs() < 1e-9);
            }
            // Nothing is seen that is not there.
            prop_assert!(truth > 0.0 || share.value == 0.0);
        }
        prop_assert_eq!(overlap.exact, a.len() < 128 && b.len() < 128);
    }
}
