//! Counts and keys, exact where they say so, within their bounds where not.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::builder::ColumnBuilder;
use crate::sample::RowSample;

fn column<'a>(name: &str, cells: impl IntoIterator<Item = Option<&'a str>>) -> ColumnSummary {
    let mut builder = ColumnBuilder::new(name);
    cells.into_iter().for_each(|cell| builder.push(cell));
    builder.finish(true)
}

fn texts(name: &str, cells: impl IntoIterator<Item = String>) -> ColumnSummary {
    let cells: Vec<String> = cells.into_iter().collect();
    column(name, cells.iter().map(|cell| Some(cell.as_str())))
}

fn table(columns: Vec<ColumnSummary>) -> TableSummary {
    TableSummary {
        columns,
        rows: 0,
        rows_exact: true,
        sample: RowSample {
            limit: 0,
            rows: Vec::new(),
        },
        files: 1,
        approximate: false,
        notes: Vec::new(),
        description: None,
        keys: crate::DeclaredKeys::default(),
    }
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of as f64
}

#[test]
fn few_values_are_counted() {
    let summary = column("c", [Some("a"), Some("b"), Some("a"), None]);
    let profile = &summary.profile;
    assert_eq!(
        (
            profile.distinct(),
            profile.distinct_exact(),
            profile.distinct_error()
        ),
        (2, true, 0.0)
    );
    assert_eq!(
        (profile.uniqueness(), profile.is_unique()),
        (2.0 / 3.0, false)
    );
    let unique = column("c", ["a", "b"].map(Some)).profile;
    assert_eq!((unique.uniqueness(), unique.is_unique()), (1.0, true));
    let empty = column("c", [None, None]).profile;
    assert_eq!(
        (empty.distinct(), empty.uniqueness(), empty.is_unique()),
        (0, 0.0, false)
    );
}

#[test]
fn many_values_are_counted_within_the_documented_error() {
    let (mut squares, mut worst) = (0.0, 0.0f64);
    for (round, distinct) in [130, 200, 400, 1000, 3000, 10_000, 30_000]
        .into_iter()
        .cycle()
        .take(70)
        .enumerate()
    {
        // Every value twice: no column is unique.
        let profile = texts(
            "c",
            (0..2 * distinct).map(|i| format!("{round}/{}", i % distinct)),
        )
        .profile;
        assert!(!profile.distinct_exact() && profile.distinct_error() == 0.0325);
        let error = share(profile.distinct(), distinct) - 1.0;
        squares += error * error / 70.0;
        worst = worst.max(error.abs());
        assert!((profile.uniqueness() - 0.5 * (1.0 + error)).abs() < 1e-9);
    }
    assert!(
        squares.sqrt() < 1.2 * 0.0325 && worst < 4.0 * 0.0325,
        "{} {worst}",
        squares.sqrt()
    );
}

#[test]
fn a_long_unique_column_has_as_many_distinct_values_as_values() {
    for seed in 0..20 {
        let profile = texts("c", (0..3000).map(|i| format!("{seed}/{i}"))).profile;
        assert_eq!(
            (
                profile.is_unique(),
                profile.distinct(),
                profile.uniqueness()
            ),
            (true, 3000, 1.0)
        );
        assert!(!profile.distinct_exact());
    }
}

#[test]
fn repeats_in_a_long_column_are_seen() {
    let mut taken_for_unique = 0;
    for seed in 0..20 {
        // One value in five occurs twice.
        let some = texts("c", (0..3000).map(|i| format!("{seed}/{}", i % 2500))).profile;
        assert!(!some.is_unique());
        // One value a third of the time.
        let one = texts(
            "c",
            (0..3000).map(|i| format!("{seed}/{}", if i % 3 == 0 { 0 } else { i })),
        )
        .profile;
        assert!(
            !one.is_unique() && share(one.distinct(), 2000) < 1.15,
            "{one:?}"
        );
        // Two hundred values twenty times each, too rare to be remembered as frequent.
        let few = texts(
            "c",
            (0..40_000).map(|i| format!("{seed}/{}", if i % 10 == 0 { i % 2000 } else { i })),
        )
        .profile;
        assert!(share(few.distinct(), 36_200) < 1.11, "{few:?}");
        taken_for_unique += usize::from(few.is_unique());
    }
    // A repeat is in the sample in half of the cases, and in half of the others the count is too
    // low.
    assert!((1..=8).contains(&taken_for_unique), "{taken_for_unique}");
}

#[test]
fn distinct_values_are_never_more_than_were_looked_at() {
    let mut builder = ColumnBuilder::new("c");
    (0..500).for_each(|i| builder.push(Some(&i.to_string())));
    builder.set_bounds(None, None, Some(0), Some(100_000));
    let profile = builder.finish(false).profile;
    assert_eq!(
        (profile.values, profile.counted(), profile.distinct()),
        (100_000, 500, 500)
    );
    assert_eq!(profile.uniqueness(), 1.0);
}

#[test]
fn a_likely_key_has_a_value_of_its_own_in_every_row() {
    let is_key = |cells: &[Option<&str>]| column("id", cells.iter().copied()).is_likely_key();
    assert!(is_key(&[Some("1"), Some("2")]));
    assert!(is_key(&[Some("a-1"), Some("a-2")]));
    assert!(is_key(&[Some("2024-01-01"), Some("2024-01-02")]));
    assert!(is_key(&[Some("1.0"), Some("2.0")]));
    for cells in [
        &[Some("1")][..],
        &[Some("1"), Some("1")],
        &[Some("1"), Some("2"), None],
        &[None, None],
        &[],
        &[Some("1.5"), Some("2.0")],
        &[Some("true"), Some("false")],
        &[
            Some("the quick brown fox jumps over the dog"),
            Some("it is known that dogs do not jump"),
        ],
    ] {
        assert!(!is_key(cells), "{cells:?}");
    }
}

#[test]
fn likely_keys_come_in_the_order_of_what_their_names_promise() {
    let unique = |name: &str, of: &str| texts(name, (0..200).map(|i| format!("{of}{i}")));
    let names = [
        "day",
        "paid",
        "postal_code",
        "CustomerID",
        "order_no",
        "OrderId",
        "title",
    ];
    let mut columns: Vec<ColumnSummary> = names.iter().map(|name| unique(name, "x")).collect();
    columns[0] = texts("day", (0..28).map(|i| format!("2024-02-{:02}", i + 1)));
    columns.push(texts("amount", (0..200).map(|i| (i % 9).to_string())));
    let summary = table(columns);
    let keys = summary.likely_keys("shop/orders");
    let names: Vec<&str> = keys
        .iter()
        .map(|at| summary.columns[*at].name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "OrderId",
            "CustomerID",
            "order_no",
            "postal_code",
            "paid",
            "title",
            "day"
        ]
    );
}

#[test]
fn what_names_promise() {
    for (column, promised) in [
        ("id", 3),
        ("ID", 3),
        ("_id", 3),
        ("order_id", 3),
        ("orders_id", 3),
        ("OrderID", 3),
        ("Order Key", 3),
        ("customer_id", 2),
        ("order number", 2),
        ("sku", 1),
        ("paid", 0),
        ("AID", 0),
        ("PAID", 0),
        ("id of it", 0),
        ("é", 0),
        ("", 0),
        ("___", 0),
    ] {
        assert_eq!(promise(column, "Shop/Orders"), promised, "{column}");
    }
}
