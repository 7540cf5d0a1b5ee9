//! The best set of k candidates: those that match a question, cover its parts and join.
//!
//! JAR (ACL 2024, §3.2) states it as a mixed-integer program: exactly k tables, at most k − 1 joins
//! between them that connect them all, one pair of columns for each pair of tables, each part of
//! the question covered by a column. Here every part is covered once, by its best table (the
//! paper's large α, which then adds the same to every set). The optimum over joins and covers of a
//! *given* set B has a closed form:
//!
//! Σ_{i ∈ B} coarse_i + Σ_parts max_{i ∈ B} relevance_{part, i} + the weight of a maximum spanning
//! tree of B
//!
//! and no value where B is disconnected. Over the sets it is found by branch and bound: as soon as
//! a bound shows it, or by a deadline, and then with the gap that is left.

use std::time::Instant;

use search::Search;

mod search;

/// What is known of the candidates: scores that are weighted already. What is no finite number
/// counts 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    coarse: Vec<f64>,
    /// By part, then candidate.
    relevance: Vec<Vec<f64>>,
    /// By candidate and candidate, symmetric; 0 where two do not join.
    joins: Vec<f64>,
}

/// The best set of its size, as far as was searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The candidates by number, ascending.
    pub chosen: Vec<usize>,
    /// What the set is worth.
    pub value: f64,
    /// How much more another set of this size may be worth, at most: 0 where the search came to its
    /// end.
    pub gap: f64,
}

fn finite(score: f64) -> f64 {
    if score.is_finite() { score } else { 0.0 }
}

impl Instance {
    /// Candidates by their own scores, without parts or joins.
    #[must_use]
    pub fn new(coarse: impl IntoIterator<Item = f64>) -> Instance {
        let coarse: Vec<f64> = coarse.into_iter().map(finite).collect();
        Instance {
            joins: vec![0.0; coarse.len() * coarse.len()],
            relevance: Vec::new(),
            coarse,
        }
    }

    /// The number of candidates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.coarse.len()
    }

    /// Whether there are no candidates.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.coarse.is_empty()
    }

    /// Adds a part of the question, with how well each candidate covers it; those that are not
    /// given, or below 0, do not.
    pub fn add_part(&mut self, relevance: impl IntoIterator<Item = f64>) {
        let given = relevance
            .into_iter()
            .map(|score| finite(score).max(0.0))
            .chain(std::iter::repeat(0.0));
        self.relevance.push(given.take(self.len()).collect());
    }

    /// Says how well two candidates join; not at all where it is 0 or less. A candidate does not
    /// join itself.
    pub fn set_join(&mut self, a: usize, b: usize, weight: f64) {
        let count = self.len();
        if a != b && a < count && b < count {
            self.joins[a * count + b] = finite(weight).max(0.0);
            self.joins[b * count + a] = self.joins[a * count + b];
        }
    }

    /// How well two candidates join.
    #[must_use]
    pub fn join(&self, a: usize, b: usize) -> f64 {
        self.joins[a * self.len() + b]
    }

    /// How well a candidate covers each part.
    pub fn covers(&self, candidate: usize) -> impl Iterator<Item = f64> {
        self.relevance.iter().map(move |part| part[candidate])
    }

    /// What a set of distinct candidates is worth; `None` where it is disconnected.
    #[must_use]
    pub fn value(&self, set: &[usize]) -> Option<f64> {
        let joins: f64 = self
            .tree(set)?
            .iter()
            .fold(0.0, |sum, (a, b)| sum + self.join(*a, *b));
        Some(joins + self.value_apart(set))
    }

    /// What a set is worth without its joins.
    #[must_use]
    pub fn value_apart(&self, set: &[usize]) -> f64 {
        let coarse = set.iter().fold(0.0, |sum, at| sum + self.coarse[*at]);
        self.relevance.iter().fold(coarse, |sum, part| {
            sum + set.iter().fold(0.0_f64, |best, at| best.max(part[*at]))
        })
    }

    /// The joins that connect a set with the most weight: a maximum spanning tree (Prim 1957) as
    /// pairs of what is connected already and what is joined to it, in this order from the set's
    /// first on. `None` where the set is disconnected; among trees of equal weight the one of the
    /// first candidates of the set.
    #[must_use]
    pub fn tree(&self, set: &[usize]) -> Option<Vec<(usize, usize)>> {
        let (first, rest) = set.split_first()?;
        // Of each that is outside, its best join to the inside.
        let mut outside: Vec<(usize, usize, f64)> = rest
            .iter()
            .map(|at| (*at, *first, self.join(*first, *at)))
            .collect();
        let mut tree = Vec::with_capacity(rest.len());
        while !outside.is_empty() {
            let mut best = 0;
            for at in 1..outside.len() {
                if outside[at].2 > outside[best].2 {
                    best = at;
                }
            }
            let (joined, inside, weight) = outside.remove(best);
            if weight <= 0.0 {
                return None;
            }
            tree.push((inside, joined));
            for other in &mut outside {
                let weight = self.join(joined, other.0);
                if weight > other.2 {
                    (other.1, other.2) = (joined, weight);
                }
            }
        }
        Some(tree)
    }

    /// How many candidates the largest connected part has: sets up to this size are connected, and
    /// no larger ones.
    fn most_connected(&self) -> usize {
        let mut is_left = vec![true; self.len()];
        let mut most = 0;
        for first in 0..self.len() {
            if !std::mem::take(&mut is_left[first]) {
                continue;
            }
            let (mut part, mut at) = (vec![first], 0);
            while let Some(from) = part.get(at).copied() {
                let reached =
                    (0..self.len()).filter(|to| is_left[*to] && self.join(from, *to) > 0.0);
                let reached: Vec<usize> = reached.collect();
                for to in &reached {
                    is_left[*to] = false;
                }
                part.extend(reached);
                at += 1;
            }
            most = most.max(part.len());
        }
        most
    }

    /// The best connected set of `k` candidates; `None` where no `k` are connected. When `until` is
    /// over, the best so far, with its gap: `None` then says that none was found. The same instance
    /// has the same answer, unless time is up.
    #[must_use]
    pub fn best(&self, k: usize, until: Option<Instant>) -> Option<Optimum> {
        if k == 0 || k > self.most_connected() {
            return None;
        }
        Search::new(self, k, until).run()
    }
}

#[cfg(test)]
mod tests;
