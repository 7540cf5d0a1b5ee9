#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

/// A program of JAR §3.2 with its columns, as the paper states it.
struct Program {
    coarse: Vec<f64>,
    /// By part, table and column.
    relevance: Vec<Vec<Vec<f64>>>,
    /// By table, table (the first before the second), column and column.
    joins: Vec<Vec<Vec<Vec<f64>>>>,
}

/// More than any sum of relevances: each part is covered.
const ALPHA: f64 = 100.0;

impl Program {
    fn random(random: &mut StdRng, tables: usize, columns: usize, parts: usize) -> Program {
        let density = random.random_range(0.2..1.0);
        let mut score = || (random.random_range(0..20) as f64) / 20.0;
        let coarse = (0..tables).map(|_| score()).collect();
        let mut grid = |rows: usize, cells: usize| -> Vec<Vec<f64>> {
            let mut row = |_| (0..cells).map(|_| score()).collect();
            (0..rows).map(&mut row).collect()
        };
        let relevance = (0..parts).map(|_| grid(tables, columns)).collect();
        let mut joins: Vec<Vec<Vec<Vec<f64>>>> = Vec::new();
        for _ in 0..tables {
            joins.push((0..tables).map(|_| grid(columns, columns)).collect());
        }
        for pair in joins.iter_mut().flatten() {
            if !random.random_bool(density) {
                pair.iter_mut().flatten().for_each(|weight| *weight = 0.0);
            }
        }
        Program {
            coarse,
            relevance,
            joins,
        }
    }

    fn instance(&self) -> Instance {
        let most = |scores: &[f64]| scores.iter().copied().fold(0.0, f64::max);
        let mut instance = Instance::new(self.coarse.iter().copied());
        for part in &self.relevance {
            instance.add_part(part.iter().map(|columns| most(columns)));
        }
        for a in 0..self.coarse.len() {
            for b in a + 1..self.coarse.len() {
                instance.set_join(a, b, most(&self.joins[a][b].concat()));
            }
        }
        instance
    }

    /// The most that the program allows for chosen tables, by trying every choice of joins and
    /// covers; `None` where none connects them.
    fn value(&self, set: &[usize]) -> Option<f64> {
        let coarse: f64 = set.iter().map(|at| self.coarse[*at]).sum();
        Some(coarse + self.best_joins(set)? + self.best_covers(set))
    }

    fn best_joins(&self, set: &[usize]) -> Option<f64> {
        let pairs: Vec<(usize, usize)> = (0..set.len())
            .flat_map(|a| (a + 1..set.len()).map(move |b| (a, b)))
            .collect();
        let mut best = None;
        for chosen in 0..1_u32 << pairs.len() {
            if chosen.count_ones() as usize > set.len() - 1 {
                continue;
            }
            let (mut weight, mut of): (f64, Vec<usize>) = (0.0, (0..set.len()).collect());
            for (at, (a, b)) in pairs.iter().enumerate() {
                let columns = self.joins[set[*a]][set[*b]].iter().flatten();
                let most = columns.copied().fold(0.0, f64::max);
                if chosen >> at & 1 == 1 && most > 0.0 {
                    weight += most;
                    let (from, to) = (of[*a], of[*b]);
                    of.iter_mut()
                        .filter(|it| **it == from)
                        .for_each(|it| *it = to);
                }
            }
            if of.iter().all(|it| *it == of[0]) && best.is_none_or(|best| weight > best) {
                best = Some(weight);
            }
        }
        best
    }

    /// All ways to give as many (part, table, column) as there are parts, no table two columns for
    /// one part.
    fn best_covers(&self, set: &[usize]) -> f64 {
        let parts = self.relevance.len();
        let slots: Vec<(usize, usize)> = (0..parts)
            .flat_map(|part| set.iter().map(move |table| (part, *table)))
            .collect();
        let mut best = 0.0_f64;
        for chosen in 0..1_u32 << slots.len() {
            if chosen.count_ones() as usize > parts {
                continue;
            }
            let (mut sum, mut covered) = (0.0, vec![false; parts]);
            for (at, (part, table)) in slots.iter().enumerate() {
                if chosen >> at & 1 == 1 {
                    let columns = self.relevance[*part][*table].iter();
                    sum += columns.copied().fold(0.0, f64::max);
                    covered[*part] = true;
                }
            }
            let covered = covered.iter().filter(|it| **it).count();
            best = best.max(sum + ALPHA * covered as f64);
        }
        best - ALPHA * parts as f64
    }
}

fn sets(count: usize, k: usize) -> Vec<Vec<usize>> {
    let masks = (0..1_u32 << count).filter(|mask| mask.count_ones() as usize == k);
    let members = |mask: u32| (0..count).filter(move |at| mask >> at & 1 == 1).collect();
    masks.map(members).collect()
}

#[test]
fn the_optimum_is_that_of_the_program() {
    let mut random = StdRng::seed_from_u64(31);
    let (mut connected, mut apart) = (0, 0);
    for _ in 0..500 {
        let (tables, parts) = (random.random_range(1..7), random.random_range(0..4));
        let k = random.random_range(1..=tables.min(4));
        let columns = random.random_range(1..4);
        let program = Program::random(&mut random, tables, columns, parts);
        let values = sets(tables, k);
        let best = values.iter().filter_map(|set| program.value(set));
        let best = best.fold(None, |best: Option<f64>, it| {
            Some(best.map_or(it, |best| best.max(it)))
        });
        let found = program.instance().best(k, None);
        match (&found, best) {
            (Some(found), Some(best)) => {
                assert!((found.value - best).abs() < 1e-9, "{found:?} {best}");
                let value = program.value(&found.chosen).unwrap();
                assert!((found.value - value).abs() < 1e-9);
                assert_eq!((found.chosen.len(), found.gap), (k, 0.0));
                connected += 1;
            }
            (None, None) => apart += 1,
            _ => panic!("{found:?} {best:?}"),
        }
    }
    assert!(connected > 300 && apart > 30, "{connected} {apart}");
}

fn random_instance(random: &mut StdRng, tables: usize, columns: usize, parts: usize) -> Instance {
    Program::random(random, tables, columns, parts).instance()
}

#[test]
fn larger_sets_are_those_of_enumeration() {
    let mut random = StdRng::seed_from_u64(1);
    for k in [1, 2, 5, 7, 11, 12] {
        for _ in 0..3 {
            let instance = random_instance(&mut random, 12, 3, 4);
            let values = sets(12, k).into_iter();
            let values = values.filter_map(|set| Some((instance.value(&set)?, set)));
            let best = values.fold(None, |best: Option<(f64, _)>, it| match best {
                Some(best) if best.0 >= it.0 => Some(best),
                _ => Some(it),
            });
            let found = instance.best(k, None);
            assert_eq!(
                found.map(|it| (it.value * 1e9).round()),
                best.map(|(value, _)| (value * 1e9).round())
            );
        }
    }
}

#[test]
fn what_cannot_be_is_none_and_ties_go_to_the_first() {
    let mut instance = Instance::new([1.0, 1.0, 1.0, f64::NAN]);
    assert_eq!(instance.best(0, None), None);
    assert_eq!(instance.best(5, None), None);
    assert_eq!(instance.best(2, None), None);
    assert_eq!(instance.best(1, None).unwrap().chosen, [0]);
    instance.add_part([0.5]);
    instance.add_part([f64::INFINITY, f64::NAN, -1.0]);
    for (a, b) in [(0, 1), (1, 2), (2, 0), (3, 2), (1, 1)] {
        instance.set_join(a, b, 0.25);
    }
    let found = instance.best(2, None).unwrap();
    assert_eq!((found.chosen.as_slice(), found.value), (&[0, 1][..], 2.75));
    assert_eq!(instance.best(3, None).unwrap().chosen, [0, 1, 2]);
    assert_eq!(instance.tree(&[0, 1, 2]), Some(vec![(0, 1), (0, 2)]));
    assert_eq!(instance.value(&[0, 3]), None);
    assert_eq!(Instance::default().best(1, None), None);
}

#[test]
fn a_deadline_gives_the_best_so_far_and_its_gap() {
    let mut random = StdRng::seed_from_u64(5);
    let instance = random_instance(&mut random, 120, 2, 8);
    let start = Instant::now();
    let found = instance.best(12, Some(start)).unwrap();
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(found.gap > 0.0 && instance.value(&found.chosen) == Some(found.value));
    let longer = Some(Instant::now() + Duration::from_millis(100));
    let longer = instance.best(12, longer).unwrap();
    assert!(longer.value >= found.value && longer.value <= found.value + found.gap + 1e-9);
}

/// As questions have them: few candidates match well, most relevances are alike, and few pairs of
/// columns join.
fn skewed_instance(random: &mut StdRng, tables: usize, columns: usize, parts: usize) -> Instance {
    let mut score = |power: i32| random.random_range(0.0..1.0_f64).powi(power);
    let mut instance = Instance::new((0..tables).map(|_| score(3)).collect::<Vec<_>>());
    for _ in 0..parts {
        let best = |_| (0..columns).fold(0.0_f64, |best, _| best.max(0.1 + 0.6 * score(4)));
        instance.add_part((0..tables).map(best).collect::<Vec<_>>());
    }
    for a in 0..tables {
        for b in a + 1..tables {
            let pairs = columns * columns;
            let best = (0..pairs).fold(0.0_f64, |best, _| best.max(score(columns as i32 * 8)));
            instance.set_join(a, b, best);
        }
    }
    instance
}

/// What docs/decisions/050-sets-that-join.md says of the time; run by hand: `--ignored
/// --nocapture`.
#[test]
#[ignore = "measures time"]
fn how_long_it_takes() {
    let mut random = StdRng::seed_from_u64(7);
    for (tables, columns, parts, k, limit) in [
        (20, 10, 4, 5, None),
        (20, 10, 8, 5, None),
        (50, 10, 4, 5, None),
        (50, 10, 4, 10, Some(200)),
        (100, 10, 4, 5, Some(200)),
        (100, 10, 4, 10, Some(200)),
    ] {
        let count = if limit.is_none() { 500 } else { 30 };
        let mut times = Vec::new();
        let (mut gaps, mut gap) = (0, 0.0_f64);
        for _ in 0..count {
            let instance = skewed_instance(&mut random, tables, columns, parts);
            let start = Instant::now();
            let until = limit.map(|limit| start + Duration::from_millis(limit));
            let found = instance.best(k, until).unwrap();
            times.push(start.elapsed());
            gaps += usize::from(found.gap > 0.0);
            gap = gap.max(found.gap / found.value);
        }
        times.sort();
        println!(
            "{tables} candidates, {parts} parts, k {k}: p50 {:?} p99 {:?}, {gaps} of {count} with a gap, at most {:.1} %",
            times[count / 2],
            times[count * 99 / 100],
            100.0 * gap
        );
    }
}

#[test]
fn a_size_that_cannot_connect_costs_no_time() {
    // A hundred candidates in parts of four.
    let mut instance = Instance::new((0..100).map(|at| f64::from(at) / 100.0));
    for at in (0..100).filter(|at| at % 4 != 0) {
        instance.set_join(at, at - 1, 0.5);
    }
    let (start, time) = (Instant::now(), Duration::from_secs(30));
    assert_eq!(instance.best(5, Some(start + time)), None);
    assert_eq!(instance.best(20, Some(start + time)), None);
    assert!(start.elapsed() < Duration::from_secs(5));
    let best = instance.best(4, Some(start + time)).unwrap();
    assert_eq!(best.chosen, [96, 97, 98, 99]);
}
