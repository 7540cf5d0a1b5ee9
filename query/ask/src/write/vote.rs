//! The vote: which of the candidates is taken, by what they give.

use super::try_out::{Tried, Worth};

/// How many of the results agree with each, itself among them.
pub(super) fn votes(results: &[Option<&Tried>]) -> Vec<usize> {
    let agreeing = |one: &Tried| {
        let others = results.iter().flatten();
        others
            .filter(|other| std::ptr::eq(**other, one) || one.agrees(other))
            .count()
    };
    results.iter().map(|it| it.map_or(0, agreeing)).collect()
}

/// The place of the winner: of the results that say most, the one with the most votes, the first of
/// these.
pub(super) fn winner(results: &[Option<&Tried>]) -> Option<usize> {
    let votes = votes(results);
    let places = (0..results.len()).filter(|at| results[*at].is_some());
    places.max_by_key(|at| {
        let worth = results[*at].map(Tried::worth);
        (worth, votes[*at], std::cmp::Reverse(*at))
    })
}

/// The place of the winner where no result has a row: of several that agree, or of a rule, which
/// has read every word of the question.
pub(super) fn agreed_empty(
    results: &[Option<&Tried>],
    is_of_rule: impl Fn(usize) -> bool,
) -> Option<usize> {
    let votes = votes(results);
    let best = winner(results)?;
    let is_empty = |at: &usize| results[*at].map(Tried::worth) == Some(Worth::Empty);
    let agree = Some(best).filter(|at| votes[*at] > 1);
    let of_rule = (0..results.len()).find(|at| is_of_rule(*at));
    agree.or(of_rule).filter(is_empty)
}
