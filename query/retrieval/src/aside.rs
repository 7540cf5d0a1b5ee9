//! A backup comes after the table that it is a copy or a part of.
//!
//! Both have the same words, and a part has fewer others, so it often fits a question better than
//! the table that is meant. What the backup alone has of a question (its own name, a row that was
//! deleted) keeps it where it is.

use limn_segment::TableKey;

use crate::copies::is_aside;
use crate::joined::SOUGHT;
use crate::known_joins::KnownJoins;
use crate::lexical::Found;
use crate::question::Question;
use crate::ranking::Ranked;
use crate::scratch::Scratch;

/// Moves tables of a ranking before those of their copies and parts that are kept aside, where they
/// have all the words of the question that these have.
pub(crate) fn originals_first(
    joins: &KnownJoins,
    (found, scratch, question): (&Found, &Scratch, &Question),
    key: impl Fn(u32) -> TableKey,
    ranked: &mut [Ranked],
) {
    let most = ranked.len().min(SOUGHT);
    for place in 0..most {
        let backup = key(ranked[place].table);
        if !is_aside(&backup.name) {
            continue;
        }
        let wholes = joins.wholes_of(&backup);
        let originals: Vec<&str> = wholes.filter(|it| !is_aside(it)).collect();
        let held = found.held(scratch, ranked[place].table);
        let has = |table| found.held_anywhere(scratch, question, table);
        let is_original = |it: &Ranked| {
            let other = key(it.table);
            let is_it = other.lake == backup.lake && originals.contains(&other.name.as_str());
            is_it
                && has(it.table) & held == held
                && found.wholes.has_values_of(it.table, ranked[place].table)
        };
        if originals.is_empty() {
            continue;
        }
        let behind = ranked[place..most].iter().position(is_original);
        if let Some(behind) = behind {
            ranked[place..=place + behind].rotate_right(1);
        }
    }
}
