//! The measures by kind of question, where the questions say of which kind they are.
//!
//! Each share is a mean over the questions of the kind that name tables, with its 95 % interval by
//! the bootstrap (see `bootstrap`). Where all questions have the same result, it has no width:
//! resampling cannot tell how rare the other result is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::EvalQuestion;
use super::bootstrap::{Interval, paired_bootstrap};
use super::saved::reciprocal_rank;

/// The measures of one kind of questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindShares {
    /// The number of its questions that name tables.
    pub questions: usize,
    /// Shares by k.
    pub k: BTreeMap<usize, IntervalShares>,
    /// Mean reciprocal rank at the largest k.
    pub mrr: Interval,
}

/// Shares of questions at one k, fractions of 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalShares {
    /// At least one gold table.
    pub hit: Interval,
    /// All gold tables.
    pub full: Interval,
}

/// Measures by kind what was found, by k. Empty where no question that names tables has a kind.
pub(super) fn by_kind(
    questions: &[EvalQuestion],
    found: &BTreeMap<usize, Vec<Vec<String>>>,
) -> BTreeMap<String, KindShares> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, question) in questions.iter().enumerate() {
        if let (Some(kind), true) = (&question.kind, question.is_answerable()) {
            places.entry(kind.clone()).or_default().push(at);
        }
    }
    let shares = places.into_iter().map(|(kind, places)| {
        let shares = of_places(&places, questions, found);
        (kind, shares)
    });
    shares.collect()
}

/// The measures of the questions at these places.
fn of_places(
    places: &[usize],
    questions: &[EvalQuestion],
    found: &BTreeMap<usize, Vec<Vec<String>>>,
) -> KindShares {
    let of_each = |score: &dyn Fn(&EvalQuestion, usize) -> f64| -> Vec<f64> {
        let scores = places.iter().map(|at| score(&questions[*at], *at));
        scores.collect()
    };
    let share = |is: bool| f64::from(u8::from(is));
    let mut measures = Vec::new();
    for found in found.values() {
        let hit = |it: &EvalQuestion, at: usize| it.tables.iter().any(|it| found[at].contains(it));
        let full = |it: &EvalQuestion, at: usize| it.tables.iter().all(|it| found[at].contains(it));
        measures.push(of_each(&|it, at| share(hit(it, at))));
        measures.push(of_each(&|it, at| share(full(it, at))));
    }
    if let Some(largest) = found.values().next_back() {
        measures.push(of_each(&|it, at| reciprocal_rank(&it.tables, &largest[at])));
    }
    let intervals = paired_bootstrap(&measures);
    let by_k = found.keys().zip(intervals.chunks_exact(2));
    let by_k = by_k.map(|(k, both)| {
        let (hit, full) = (both[0], both[1]);
        (*k, IntervalShares { hit, full })
    });
    KindShares {
        questions: places.len(),
        k: by_k.collect(),
        mrr: intervals.last().copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_measured_apart() {
        let question = |kind: Option<&str>, tables: &[&str]| EvalQuestion {
            question: "?".to_owned(),
            tables: tables.iter().map(|it| (*it).to_owned()).collect(),
            kind: kind.map(str::to_owned),
        };
        let (content, context) = (Some("content"), Some("context"));
        let mut questions = vec![
            question(content, &["a", "b"]),
            question(context, &["c"]),
            question(None, &["d"]),
            question(content, &[]),
        ];
        questions.extend((0..4).map(|_| question(content, &["a"])));
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let mut first: Vec<Vec<String>> = vec![names(&["a"]), names(&["x"]), names(&["d"])];
        first.extend((0..5).map(|at| names(&[if at < 3 { "x" } else { "a" }])));
        let second = first
            .iter()
            .map(|it| [it.as_slice(), &["b".to_owned(), "a".to_owned()]].concat());
        let found = BTreeMap::from([(1, first.clone()), (3, second.collect())]);
        let kinds = by_kind(&questions, &found);
        assert_eq!(kinds.keys().collect::<Vec<_>>(), ["content", "context"]);
        let content = &kinds["content"];
        assert_eq!(content.questions, 5);
        let at_1 = content.k[&1];
        assert!((at_1.hit.mean - 0.6).abs() < 1e-12 && (at_1.full.mean - 0.4).abs() < 1e-12);
        // Five questions say little.
        assert_eq!((at_1.hit.low, at_1.hit.high), (0.2, 1.0));
        assert_eq!(content.k[&3].full.mean, 1.0);
        assert!((content.mrr.mean - (3.0 + 2.0 / 3.0) / 5.0).abs() < 1e-12);
        let context = &kinds["context"];
        assert_eq!((context.questions, context.k[&3].hit.high), (1, 0.0));
        assert!(by_kind(&questions[2..4], &found).is_empty());
    }
}
