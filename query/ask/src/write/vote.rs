//! The vote: which of the candidates is taken, by what they give.

use super::try_out::Tried;

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

/// The place of the winner: of the results that say most, the one with the most votes, the first of these.
pub(super) fn winner(results: &[Option<&Tried>]) -> Option<usize> {
    let votes = votes(results);
    let places = (0..results.len()).filter(|at| results[*at].is_some());
    places.max_by_key(|at| {
        let worth = results[*at].map(Tried::worth);
        (worth, votes[*at], std::cmp::Reverse(*at))
    })
}
