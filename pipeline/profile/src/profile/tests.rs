//! Types widen as a semilattice; bounds follow the type; profiles merge.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::builder::ColumnBuilder;
use crate::summary::ColumnSummary;

fn column(values: &[Option<&str>]) -> ColumnSummary {
    let mut builder = ColumnBuilder::new("c");
    for value in values {
        builder.push(*value);
    }
    builder.finish(true)
}

fn bounds(values: &[&str]) -> (DataType, Option<String>, Option<String>) {
    let values: Vec<Option<&str>> = values.iter().map(|value| Some(*value)).collect();
    let column = column(&values);
    (column.data_type, column.profile.min, column.profile.max)
}

fn expect(data_type: DataType, min: &str, max: &str) -> (DataType, Option<String>, Option<String>) {
    (data_type, Some(min.to_owned()), Some(max.to_owned()))
}

#[test]
fn bounds_are_in_the_order_of_the_type() {
    assert_eq!(
        bounds(&["10", "9", "-3"]),
        expect(DataType::Integer, "-3", "10")
    );
    assert_eq!(
        bounds(&["10", "9.5", "1e3"]),
        expect(DataType::Float, "9.5", "1e3")
    );
    assert_eq!(
        bounds(&["2024-02-01", "2023-12-31"]),
        expect(DataType::Date, "2023-12-31", "2024-02-01")
    );
    // One word among numbers: they were text all along.
    assert_eq!(
        bounds(&["10", "9", "x", "1"]),
        expect(DataType::Text, "1", "x")
    );
    // f64 cannot distinguish these two.
    assert_eq!(
        bounds(&["9007199254740993", "9007199254740992"]),
        expect(DataType::Integer, "9007199254740992", "9007199254740993")
    );
    assert_eq!(bounds(&[]), (DataType::Unknown, None, None));
}

#[test]
fn a_column_counts_values_nulls_and_distinct_values() {
    let summary = column(&[Some("a"), None, Some("b"), Some("a"), None]);
    let profile = &summary.profile;
    assert_eq!(
        (profile.values, profile.nulls, profile.uncounted),
        (3, 2, 0)
    );
    assert_eq!((profile.distinct(), profile.distinct_exact()), (2, true));
    assert_eq!(profile.null_share(), 0.4);
    assert_eq!(profile.frequent.top(1), [("a", 2)]);
    assert_eq!(ColumnProfile::default().null_share(), 0.0);
}

#[test]
fn typed_values_keep_their_type_even_when_seen_before() {
    let mut builder = ColumnBuilder::new("c");
    builder.push_typed(&DataType::Integer, Some("5"));
    assert_eq!(builder.evidence().0, &DataType::Integer);
    builder.push_typed(&DataType::Text, Some("5"));
    builder.push_typed(&DataType::Integer, None);
    builder.push_nulls(3);
    let summary = builder.finish(true);
    assert_eq!(summary.data_type, DataType::Text);
    assert_eq!((summary.profile.values, summary.profile.nulls), (2, 4));
    assert_eq!(summary.profile.min.as_deref(), Some("5"));
    let mut empty = ColumnBuilder::new("c");
    empty.set_type(&DataType::Date);
    assert_eq!(empty.finish(true).data_type, DataType::Date);
}

#[test]
fn a_files_own_statistics_win() {
    let mut builder = ColumnBuilder::new("c");
    builder.push_typed(&DataType::Integer, Some("5"));
    builder.set_bounds(Some("1"), Some("900"), Some(10), Some(990));
    let summary = builder.finish(false);
    let profile = &summary.profile;
    assert_eq!(
        (profile.min.as_deref(), profile.max.as_deref()),
        (Some("1"), Some("900"))
    );
    assert_eq!(
        (
            profile.values,
            profile.nulls,
            profile.uncounted,
            profile.exact
        ),
        (990, 10, 989, false)
    );
    assert!(!profile.distinct_exact());
}

#[test]
fn long_bounds_are_cut_at_a_character() {
    let long = "ü".repeat(300);
    let (_, min, max) = bounds(&[&long, "z"]);
    assert_eq!(max.unwrap().chars().count(), 200);
    assert_eq!(min.unwrap(), "z");
}

#[test]
fn files_that_disagree_about_the_order_have_no_common_bounds() {
    let numbers = column(&[Some("5"), Some("40")]);
    let words = column(&[Some("x")]);
    let nulls = column(&[None]);
    let merge = |parts: &[&ColumnSummary]| {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| (&part.data_type, &part.profile))
            .collect();
        ColumnProfile::merge(&parts)
    };
    let (data_type, profile) = merge(&[&numbers, &words]);
    assert_eq!((data_type, profile.min), (DataType::Text, None));
    let (data_type, profile) = merge(&[&numbers, &nulls]);
    assert_eq!(
        (data_type, profile.min.as_deref(), profile.nulls),
        (DataType::Integer, Some("5"), 1)
    );
}

fn some_type() -> impl Strategy<Value = DataType> {
    use DataType::{Binary, Boolean, Date, Float, Integer, Other, Text, Timestamp, Unknown};
    select(vec![
        Unknown,
        Boolean,
        Integer,
        Float,
        Date,
        Timestamp,
        Text,
        Binary,
        Other("list".into()),
        Other("map".into()),
    ])
}

fn some_cells() -> impl Strategy<Value = Vec<Option<String>>> {
    let number = prop_oneof![
        "-?[1-9][0-9]{0,2}",
        "-?[1-9]\\.[0-9]",
        "9007199254740[0-9]{3}"
    ];
    let date = prop_oneof![
        "20[0-9]{2}-0[1-9]-1[0-9]",
        "20[0-9]{2}-0[1-9]-1[0-9] 1[0-9]:00:00"
    ];
    let cells = prop_oneof![
        4 => prop::collection::vec(prop::option::weighted(0.9, number), 0..20),
        2 => prop::collection::vec(prop::option::weighted(0.9, date), 0..20),
        2 => prop::collection::vec(prop::option::weighted(0.9, "[a-c]{1,3}"), 0..20),
    ];
    cells.boxed()
}

fn built(cells: &[Option<String>]) -> (DataType, ColumnProfile) {
    let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
    let summary = column(&cells);
    (summary.data_type, summary.profile)
}

fn merged(parts: &[(DataType, ColumnProfile)]) -> (DataType, ColumnProfile) {
    let parts: Vec<_> = parts
        .iter()
        .map(|(data_type, profile)| (data_type, profile))
        .collect();
    ColumnProfile::merge(&parts)
}

proptest! {
    #[test]
    fn types_widen_like_a_semilattice(a in some_type(), b in some_type(), c in some_type()) {
        prop_assert_eq!(a.widen(&a), a.clone());
        prop_assert_eq!(a.widen(&b), b.widen(&a));
        prop_assert_eq!(a.widen(&b).widen(&c), a.widen(&b.widen(&c)));
        prop_assert_eq!(a.widen(&DataType::Unknown), a.clone());
        let mut in_place = a.clone();
        in_place.widen_with(&b);
        prop_assert_eq!(in_place, a.widen(&b));
        prop_assert_eq!(a.label().parse::<DataType>().unwrap(), a);
    }

    #[test]
    fn profiles_merge_in_any_order_and_grouping(
        (files, shuffled) in prop::collection::vec(some_cells(), 1..6)
            .prop_flat_map(|files| (Just(files.clone()), Just(files).prop_shuffle())),
        cut in 0usize..6,
    ) {
        let files: Vec<_> = files.iter().map(|cells| built(cells)).collect();
        let shuffled: Vec<_> = shuffled.iter().map(|cells| built(cells)).collect();
        let all = merged(&files);
        prop_assert_eq!(&all, &merged(&shuffled));
        let (left, right) = shuffled.split_at(cut.min(shuffled.len()));
        prop_assert_eq!(&all, &merged(&[merged(left), merged(right)]));
        let text = serde_json::to_string(&all.1).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ColumnProfile>(&text).unwrap(), &all.1);
    }

    #[test]
    fn a_file_read_in_one_piece_has_the_profile_of_its_pieces(
        cells in some_cells(), more in some_cells(), repeats in 1usize..4,
    ) {
        let whole: Vec<_> = std::iter::repeat_n(cells.iter().chain(&more), repeats).flatten().cloned().collect();
        let (whole_type, whole) = built(&whole);
        let mut pieces = Vec::new();
        for _ in 0..repeats {
            pieces.push(built(&cells));
            pieces.push(built(&more));
        }
        let (data_type, merged) = merged(&pieces);
        prop_assert_eq!(whole_type, data_type);
        prop_assert_eq!((whole.values, whole.nulls, whole.uncounted), (merged.values, merged.nulls, merged.uncounted));
        prop_assert_eq!(whole.frequent, merged.frequent);
        // Pieces of one order have the whole's bounds; of several, none.
        if merged.min.is_some() {
            prop_assert_eq!((whole.min, whole.max), (merged.min, merged.max));
        }
    }
}

#[test]
fn shares_are_the_same_after_json() {
    for (part, all) in (1..400).flat_map(|all| (0..=all).map(move |part| (part, all))) {
        let share = short(f64::from(part) / f64::from(all));
        let json = serde_json::to_string(&share).unwrap();
        assert_eq!(serde_json::from_str::<f64>(&json).unwrap(), share, "{json}");
    }
}
