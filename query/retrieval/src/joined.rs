//! Tables that the first one needs: those that join it come behind it sooner than others.
//!
//! A ranking judges tables one by one. Where an answer needs several that join, the second often
//! stands far behind: all that it has of the question is what the first one lacks. So a table that
//! joins the first, or one that came behind it so, counts [`BONUS`] more, and the share of the
//! question's words that it adds to theirs. The first table stays where it is.

use limn_segment::{JoinRecord, TableKey};
use serde::Serialize;

use crate::copies::is_aside;
use crate::join_graph::Alike;
use crate::known_joins::KnownJoins;
use crate::lexical::Found;
use crate::ranking::Ranked;
use crate::scratch::Scratch;

/// Tables of a ranking among which those that join are sought.
pub(crate) const SOUGHT: usize = 50;
/// Tables that come behind the first so, at most.
const MOST: usize = 2;
/// What a table counts more that joins, of scores from 0 to 1. Chosen, as the other figures here,
/// on the questions of docs/decisions/059-joined-tables-come-along.md.
const BONUS: f32 = 0.1;
/// Joins that are less sure than this are none: values agree by chance.
const SURE: f32 = 0.7;

/// Why a table stands where it does: it joins one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JoinedBy {
    /// The table before it.
    pub partner: String,
    /// Its own columns by which they join.
    pub columns: Vec<String>,
    /// The partner's, in the same order.
    pub partner_columns: Vec<String>,
    /// What its place counts more than its score: 0.1, and the share of the question's words, 0 to
    /// 1, that it has and those before it lack.
    pub bonus: f32,
}

impl JoinedBy {
    /// Whether it has words of the question that those before it lack.
    #[must_use]
    pub fn adds_words(&self) -> bool {
        self.bonus > BONUS + 1e-6
    }

    /// By an edge, with the bonus not yet computed.
    fn of(edge: &JoinRecord, partner: &TableKey) -> JoinedBy {
        let (columns, partner_columns) = match edge.right == partner.name {
            true => (&edge.left_columns, &edge.right_columns),
            false => (&edge.right_columns, &edge.left_columns),
        };
        JoinedBy {
            partner: partner.name.clone(),
            columns: columns.clone(),
            partner_columns: partner_columns.clone(),
            bonus: 0.0,
        }
    }
}

/// Moves the tables of a ranking that join its first one right behind it. Gives their joins, in the
/// order in which they now stand.
pub(crate) fn bring_joined(
    joins: &KnownJoins,
    (found, scratch): (&Found, &Scratch),
    key: impl Fn(u32) -> TableKey,
    ranked: &mut [Ranked],
) -> Vec<JoinedBy> {
    let mut joined = Vec::new();
    let Some(first) = ranked.first() else {
        return joined;
    };
    let mut before = vec![key(first.table)];
    let mut held = found.held(scratch, first.table);
    while joined.len() < MOST {
        let Some(next) = ranked.get(before.len()) else {
            return joined;
        };
        let adds = |it: &Ranked| found.share_of(found.held(scratch, it.table) & !held);
        let mut best: Option<(f32, usize, JoinedBy)> = None;
        for (place, other) in ranked.iter().enumerate().take(SOUGHT).skip(before.len()) {
            let bonus = BONUS + adds(other);
            let worth = other.score + bonus;
            let is_better = best.as_ref().is_none_or(|(best, ..)| worth > *best);
            if worth >= next.score
                && is_better
                && let own = key(other.table)
                && !is_behind_its_original(joins, &own, &ranked[before.len()..place], &key)
                && let Some(by) = join(joins, &before, &own)
            {
                best = Some((worth, place, JoinedBy { bonus, ..by }));
            }
        }
        let Some((_, place, by)) = best else {
            return joined;
        };
        held |= found.held(scratch, ranked[place].table);
        ranked[before.len()..=place].rotate_right(1);
        before.push(key(ranked[before.len()].table));
        joined.push(by);
    }
    joined
}

/// Whether a table lies aside and something that it is a copy or a part of stands before it.
fn is_behind_its_original(
    joins: &KnownJoins,
    table: &TableKey,
    before: &[Ranked],
    key: impl Fn(u32) -> TableKey,
) -> bool {
    let is_original = |name: &str| {
        let mut before = before.iter().map(|it| key(it.table));
        before.any(|it| it.lake == table.lake && it.name == name)
    };
    is_aside(&table.name) && joins.wholes_of(table).any(is_original)
}

/// The surest join of a table to one of those before it; none of a copy of one of them.
fn join(joins: &KnownJoins, before: &[TableKey], table: &TableKey) -> Option<JoinedBy> {
    let edges = before
        .iter()
        .filter_map(|it| Some((joins.join(it, table)?, it)));
    let (edge, partner) = edges.max_by(|a, b| a.0.score.total_cmp(&b.0.score))?;
    let is_before = |name: &str| {
        let mut before = before.iter();
        before.any(|it| it.lake == table.lake && it.name == name)
    };
    // A part of a table that is kept aside is as good as a copy.
    let is_backup = |name| is_aside(&table.name) != is_aside(name);
    let is_copy = || {
        let mut alike = joins.alike(table);
        alike.any(|(name, alike)| (alike == Alike::Copy || is_backup(name)) && is_before(name))
    };
    (edge.score >= SURE && !is_copy()).then(|| JoinedBy::of(edge, partner))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::join_graph::drafts::edge;
    use crate::join_graphs::JoinGraphs;
    use crate::learned::Features;

    fn ranked(scores: &[f32]) -> Vec<Ranked> {
        let numbered = (0..).zip(scores);
        let ranked = numbered.map(|(table, score)| Ranked {
            table,
            score: *score,
            lexical: 0.0,
            semantic: 0.0,
            features: Features::default(),
            is_named: false,
            cosine: None,
        });
        ranked.collect()
    }

    /// The order of tables 0, 1, 2, … by these scores, where some join; and what those that moved
    /// are joined by.
    fn brought(scores: &[f32], edges: Vec<JoinRecord>) -> (Vec<u32>, Vec<JoinedBy>) {
        let joins = KnownJoins::new(JoinGraphs::of_edges("/lake", edges).into(), true);
        let key = |table: u32| TableKey {
            lake: "/lake".to_owned(),
            name: format!("t{table}"),
        };
        let mut ranked = ranked(scores);
        let known = (&Found::default(), &Scratch::default());
        let moved = bring_joined(&joins, known, key, &mut ranked);
        (ranked.iter().map(|it| it.table).collect(), moved)
    }

    #[test]
    fn what_joins_the_first_passes_what_scores_a_little_more() {
        let (order, moved) = brought(&[1.0, 0.6, 0.55, 0.45], vec![edge("t3", "t0", 0.9)]);
        // 0.45 and the bonus are less than 0.6 ...
        assert_eq!(order, [0, 1, 2, 3]);
        assert!(moved.is_empty());
        // ... and 0.55 and the bonus are.
        let (order, moved) = brought(&[1.0, 0.6, 0.55, 0.45], vec![edge("t2", "t0", 0.9)]);
        assert_eq!(order, [0, 2, 1, 3]);
        let by = JoinedBy {
            partner: "t0".to_owned(),
            columns: vec!["t0_id".to_owned()],
            partner_columns: vec!["id".to_owned()],
            bonus: BONUS,
        };
        assert_eq!(moved, [by]);
    }

    #[test]
    fn the_third_may_join_the_second_and_no_fourth_comes_along() {
        let edges = vec![
            edge("t4", "t0", 0.9),
            edge("t4", "t5", 0.9),
            edge("t5", "t3", 0.9),
        ];
        let (order, moved) = brought(&[1.0, 0.4, 0.4, 0.4, 0.39, 0.38], edges);
        assert_eq!(order, [0, 4, 5, 1, 2, 3]);
        assert_eq!(moved[1].partner, "t4");
        assert_eq!(moved[1].partner_columns, ["t5_id"]);
    }

    #[test]
    fn chance_joins_and_empty_rankings_move_nothing() {
        let (order, moved) = brought(&[1.0, 0.5, 0.5], vec![edge("t2", "t0", 0.6)]);
        assert_eq!((order.as_slice(), moved.len()), ([0, 1, 2].as_slice(), 0));
        assert_eq!(brought(&[], Vec::new()), (Vec::new(), Vec::new()));
        assert_eq!(brought(&[1.0], vec![edge("t0", "t0", 0.9)]).0, [0]);
    }
}
