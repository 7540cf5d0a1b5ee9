//! Samples merge, agree with drawn row numbers, and are uniform (chi-square on fixed seeds).

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

fn sampled(seed: u64, path: &str, rows: u64, r: usize) -> RowSample {
    let mut sampler = RowSampler::new(seed, path, r);
    for row in 0..rows {
        if let Some(priority) = sampler.wants(row) {
            sampler.keep(priority, row, vec![Some(format!("{path}:{row}"))]);
        }
    }
    sampler.finish()
}

fn identities(sample: &RowSample) -> Vec<&str> {
    sample
        .rows
        .iter()
        .filter_map(|row| row.values[0].as_deref())
        .collect()
}

#[test]
fn cells_are_cut_at_a_character() {
    let mut sampler = RowSampler::new(0, "", 1);
    let priority = sampler.wants(0).unwrap();
    sampler.keep(
        priority,
        0,
        vec![Some("ü".repeat(600)), None, Some("x".repeat(CELL_CHARS))],
    );
    let sample = sampler.finish();
    let lengths: Vec<_> = sample.rows[0]
        .values
        .iter()
        .map(|v| v.as_ref().map(|v| v.chars().count()))
        .collect();
    assert_eq!(lengths, [Some(500), None, Some(500)]);
}

#[test]
fn the_drawn_rows_are_pinned() {
    // If these change, every catalog's samples change at the next run: say so in the changelog.
    assert_eq!(draw(0, "", 1000, 5), [25, 54, 188, 512, 542]);
    assert_eq!(
        draw(7, "part-00000.csv", 1000, 5),
        [346, 625, 758, 920, 979]
    );
}

#[test]
fn priorities_depend_on_seed_path_and_row() {
    let base = Priorities::new(1, "a").of(1);
    assert_ne!(base, Priorities::new(2, "a").of(1));
    assert_ne!(base, Priorities::new(1, "b").of(1));
    assert_ne!(base, Priorities::new(1, "a").of(2));
}

/// Pearson's statistic of counts that should be equal.
fn chi_square(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts
        .iter()
        .map(|count| (*count as f64 - mean).powi(2) / mean)
        .sum()
}

/// About the 99.99 % point of chi-square (Wilson & Hilferty 1931).
fn bound(degrees: f64) -> f64 {
    degrees * (1.0 - 2.0 / (9.0 * degrees) + 3.72 * (2.0 / (9.0 * degrees)).sqrt()).powi(3)
}

/// How often each row of a table of these files is sampled, over many seeds.
fn row_counts(
    files: &[(&str, u64)],
    r: usize,
    seeds: u64,
    merge: impl Fn(Vec<RowSample>) -> RowSample,
) -> Vec<u64> {
    let places: std::collections::HashMap<String, usize> = files
        .iter()
        .flat_map(|(path, rows)| (0..*rows).map(move |row| format!("{path}:{row}")))
        .enumerate()
        .map(|(place, row)| (row, place))
        .collect();
    let mut counts = vec![0; places.len()];
    for seed in 0..seeds {
        let samples = files
            .iter()
            .map(|(path, rows)| sampled(seed, path, *rows, r))
            .collect();
        for row in identities(&merge(samples)) {
            counts[places[row]] += 1;
        }
    }
    counts
}

#[test]
fn the_merged_sample_is_uniform_over_all_rows() {
    let files = [("p-1.csv", 3), ("p-2.csv", 40), ("k=x/p-3.csv", 157)];
    let counts = row_counts(&files, 5, 4000, RowSample::merge);
    let limit = bound(counts.len() as f64 - 1.0);
    assert!(
        chi_square(&counts) < limit,
        "{} of {limit}",
        chi_square(&counts)
    );
    // The test can see it: a sample that gives small files their share of places is far off.
    let unfair = |samples: Vec<RowSample>| {
        let rows = samples
            .into_iter()
            .flat_map(|sample| sample.rows.into_iter().take(2))
            .take(5)
            .collect();
        RowSample { limit: 5, rows }
    };
    assert!(chi_square(&row_counts(&files, 5, 4000, unfair)) > 10.0 * limit);
}

#[test]
fn pairs_of_rows_are_uniform_too() {
    // Rows of one file, of two files, and of files with nearly the same path are drawn
    // independently.
    let files = [("x1.csv", 4u64), ("x2.csv", 4), ("x3.csv", 4)];
    let mut pairs = vec![0u64; 12 * 12];
    for seed in 0..20_000 {
        let merged = RowSample::merge(
            files
                .iter()
                .map(|(path, rows)| sampled(seed, path, *rows, 2)),
        );
        let mut places: Vec<usize> = identities(&merged)
            .iter()
            .map(|row| {
                let (path, row) = row.split_once(':').unwrap();
                4 * files.iter().position(|(p, _)| *p == path).unwrap()
                    + row.parse::<usize>().unwrap()
            })
            .collect();
        places.sort_unstable();
        pairs[12 * places[0] + places[1]] += 1;
    }
    let counts: Vec<u64> = (0..12)
        .flat_map(|a| (a + 1..12).map(move |b| 12 * a + b))
        .map(|i| pairs[i])
        .collect();
    assert_eq!(counts.len(), 66);
    assert!(chi_square(&counts) < bound(65.0), "{}", chi_square(&counts));
}

proptest! {
    #[test]
    fn drawing_and_streaming_keep_the_same_rows(seed: u64, path in "[a-z]{0,3}", rows in 0u64..300, r in 0usize..8) {
        let mut streamed: Vec<u64> = sampled(seed, &path, rows, r).rows.iter().map(|row| row.row).collect();
        streamed.sort_unstable();
        prop_assert_eq!(streamed.len() as u64, rows.min(r as u64));
        prop_assert_eq!(draw(seed, &path, rows, r), streamed);
    }

    #[test]
    fn samples_merge_in_any_order_and_grouping(
        (files, shuffled) in prop::collection::vec((0u64..40, 1usize..7), 0..8)
            .prop_map(|files| files.into_iter().enumerate().collect::<Vec<_>>())
            .prop_flat_map(|files| (Just(files.clone()), Just(files).prop_shuffle())),
        cut in 0usize..8, seed: u64,
    ) {
        let sample = |(f, (rows, r)): &(usize, (u64, usize))| sampled(seed, &format!("f{f}"), *rows, *r);
        let all = RowSample::merge(files.iter().map(sample));
        prop_assert_eq!(&all, &RowSample::merge(shuffled.iter().map(sample)));
        let (left, right) = shuffled.split_at(cut.min(shuffled.len()));
        if !left.is_empty() && !right.is_empty() {
            let halves = [left, right].map(|half| RowSample::merge(half.iter().map(sample)));
            prop_assert_eq!(&all, &RowSample::merge(halves));
        }
        let text = serde_json::to_string(&all).unwrap();
        prop_assert_eq!(&serde_json::from_str::<RowSample>(&text).unwrap(), &all);
    }

    #[test]
    fn many_files_cost_no_rows(files in 50u64..200) {
        let each: Vec<RowSample> = (0..files).map(|f| sampled(3, &format!("f{f}"), 7, 5)).collect();
        let mut rows: Vec<SampledRow> = each.iter().flat_map(|sample| sample.rows.clone()).collect();
        rows.sort();
        rows.truncate(5);
        prop_assert_eq!(RowSample::merge(each).rows, rows);
    }
}
