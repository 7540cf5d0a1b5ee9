//! Branch and bound over the sets of k candidates.
//!
//! A set that is good already comes of growing one from each candidate and exchanging its members.
//! Then the candidates are taken or left one after the other, the most promising first; a branch
//! whose bound is no better than the best set is left. The bound of a branch: what the taken ones
//! are worth, and of the others the most that as many as are missing can add. A spanning tree has
//! for each member but one an edge to its parent, which weighs no more than the heaviest edge that
//! it has to any that is taken or may be.

use std::time::Instant;

use super::{Instance, Optimum};

/// Branches between two looks at the clock.
const UNWATCHED: u32 = 1 << 6;
/// Sums in another order differ by less than this share; bounds have to allow for it.
const ROUNDING: f64 = 1e-12;

pub(super) struct Search<'a> {
    instance: &'a Instance,
    k: usize,
    until: Option<Instant>,
    /// Candidates, the most promising first.
    order: Vec<usize>,
    /// By place in the order: a candidate's own score and its heaviest edge.
    promise: Vec<f64>,
    /// By candidate, then place in the order: its heaviest edge to a candidate from that place on.
    heaviest: Vec<Vec<f64>>,
    /// By part, then place: the most that a candidate from that place on covers.
    coverable: Vec<Vec<f64>>,
    best: Option<(f64, Vec<usize>)>,
    /// The highest bound of a branch that there was no time for.
    left: f64,
    branches: u32,
    is_over: bool,
}

/// The candidates that are taken in a branch.
#[derive(Clone)]
struct Branch {
    taken: Vec<usize>,
    coarse: f64,
    /// By part, what they cover.
    covered: Vec<f64>,
    /// By candidate, its heaviest edge to one that is taken.
    edges: Vec<f64>,
}

impl<'a> Search<'a> {
    pub(super) fn new(instance: &'a Instance, k: usize, until: Option<Instant>) -> Search<'a> {
        let count = instance.len();
        let heaviest_of =
            |at: usize| (0..count).fold(0.0_f64, |best, other| best.max(instance.join(at, other)));
        let promise_of = |at: usize| instance.coarse[at] + heaviest_of(at);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| promise_of(*b).total_cmp(&promise_of(*a)).then(a.cmp(b)));
        let suffixes = |score: &dyn Fn(usize) -> f64| {
            let mut suffixes = vec![0.0_f64; count + 1];
            for (place, at) in order.iter().enumerate().rev() {
                suffixes[place] = suffixes[place + 1].max(score(*at));
            }
            suffixes
        };
        Search {
            instance,
            k,
            until,
            promise: order.iter().map(|at| promise_of(*at)).collect(),
            heaviest: (0..count)
                .map(|at| suffixes(&|other| instance.join(at, other)))
                .collect(),
            coverable: instance
                .relevance
                .iter()
                .map(|part| suffixes(&|at| part[at]))
                .collect(),
            order,
            best: None,
            left: f64::NEG_INFINITY,
            branches: 0,
            is_over: false,
        }
    }

    pub(super) fn run(mut self) -> Option<Optimum> {
        self.grow();
        let root = Branch {
            taken: Vec::with_capacity(self.k),
            coarse: 0.0,
            covered: vec![0.0; self.instance.relevance.len()],
            edges: vec![0.0; self.instance.len()],
        };
        self.branch(&root, 0);
        let left = self.left;
        self.best.map(|(value, chosen)| Optimum {
            chosen,
            value,
            gap: (left - value).max(0.0),
        })
    }

    /// Whether there is no time for more.
    fn is_late(&mut self) -> bool {
        self.branches = self.branches.wrapping_add(1);
        if self.branches.is_multiple_of(UNWATCHED) {
            self.is_over |= self.until.is_some_and(|until| Instant::now() >= until);
        }
        self.is_over
    }

    /// Remembers a set if it is connected and better than the best, or as good and before it.
    fn offer(&mut self, mut set: Vec<usize>) -> bool {
        set.sort_unstable();
        let Some(value) = self.instance.value(&set) else {
            return false;
        };
        let is_better = self
            .best
            .as_ref()
            .is_none_or(|(best, chosen)| value > *best || (value == *best && set < *chosen));
        if is_better {
            self.best = Some((value, set));
        }
        is_better
    }

    /// Grows a set from each candidate, and exchanges members of the best as long as that is
    /// better.
    fn grow(&mut self) {
        for seed in self.order.clone() {
            if let Some(set) = self.grown(seed) {
                self.offer(set);
            }
        }
        while !self.is_over {
            let Some((_, set)) = self.best.clone() else {
                return;
            };
            let mut is_better = false;
            for place in 0..set.len() {
                for other in 0..self.instance.len() {
                    if !set.contains(&other) && !self.is_late() {
                        let mut exchanged = set.clone();
                        exchanged[place] = other;
                        is_better |= self.offer(exchanged);
                    }
                }
            }
            if !is_better {
                return;
            }
        }
    }

    /// A connected set from `seed` on, each time with the candidate that adds most.
    fn grown(&self, seed: usize) -> Option<Vec<usize>> {
        let mut set = vec![seed];
        let mut covered: Vec<f64> = self.instance.covers(seed).collect();
        let edges = (0..self.instance.len()).map(|at| self.instance.join(seed, at));
        let mut edges: Vec<f64> = edges.collect();
        while set.len() < self.k {
            let added = |at: usize| {
                self.instance.coarse[at] + edges[at] + more_covered(self.instance, at, &covered)
            };
            let joins = (0..edges.len()).filter(|at| edges[*at] > 0.0 && !set.contains(at));
            let next =
                joins.max_by(|a, b| added(*a).total_cmp(&added(*b)).then_with(|| b.cmp(a)))?;
            set.push(next);
            take(self.instance, next, &mut covered, &mut edges);
        }
        Some(set)
    }

    fn branch(&mut self, branch: &Branch, place: usize) {
        if branch.taken.len() == self.k {
            self.offer(branch.taken.clone());
            return;
        }
        for place in place..=self.order.len() - (self.k - branch.taken.len()) {
            let best = self.best.as_ref().map(|(value, _)| *value);
            // The set with the candidate at this place or any behind it.
            let bound = self.bound(branch, place, best);
            let bound = bound + bound.abs() * ROUNDING;
            if best.is_some_and(|best| bound <= best) {
                return;
            }
            if self.is_late() {
                self.left = self.left.max(bound);
                return;
            }
            let next = self.order[place];
            let mut with = branch.clone();
            with.taken.push(next);
            with.coarse += self.instance.coarse[next];
            take(self.instance, next, &mut with.covered, &mut with.edges);
            self.branch(&with, place + 1);
        }
    }

    /// The most that a set is worth that has what a branch has taken and as many as are missing
    /// from `place` on. A bound that is no better than `best` need not be close.
    fn bound(&self, branch: &Branch, place: usize, best: Option<f64>) -> f64 {
        let missing = self.k - branch.taken.len();
        let heaviest = |at: usize| branch.edges[at].max(self.heaviest[at][place]);
        let mut taken = branch.coarse + branch.covered.iter().sum::<f64>();
        // Any of the members may be the root, which has no parent.
        let mut root = 0.0_f64;
        for at in &branch.taken {
            taken += heaviest(*at);
            root = root.max(heaviest(*at));
        }
        taken -= root;
        let coverable = self.coverable.iter().zip(&branch.covered);
        let coverable = coverable.fold(0.0, |sum, (most, covered)| {
            sum + (most[place] - covered).max(0.0)
        });
        let apart = self.promise[place..place + missing].iter().sum::<f64>() + taken + coverable;
        if best.is_some_and(|best| apart <= best) {
            return apart;
        }
        let mut added = Vec::with_capacity(self.order.len() - place);
        for at in &self.order[place..] {
            let edge = heaviest(*at);
            if edge > 0.0 || self.k == 1 {
                let covered = more_covered(self.instance, *at, &branch.covered);
                added.push(self.instance.coarse[*at] + edge + covered);
            }
        }
        if added.len() < missing {
            return f64::NEG_INFINITY;
        }
        added.select_nth_unstable_by(missing - 1, |a, b| b.total_cmp(a));
        apart.min(taken + added[..missing].iter().sum::<f64>())
    }
}

/// How much more is covered with a candidate.
fn more_covered(instance: &Instance, at: usize, covered: &[f64]) -> f64 {
    let both = instance.covers(at).zip(covered);
    both.fold(0.0, |sum, (covers, covered)| {
        sum + (covers - covered).max(0.0)
    })
}

/// What is covered and joined with a candidate, too.
fn take(instance: &Instance, next: usize, covered: &mut [f64], edges: &mut [f64]) {
    for (covered, covers) in covered.iter_mut().zip(instance.covers(next)) {
        *covered = covered.max(covers);
    }
    for (at, edge) in edges.iter_mut().enumerate() {
        *edge = edge.max(instance.join(next, at));
    }
}
