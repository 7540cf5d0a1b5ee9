//! Names that tables take from each other: `staff.csv` is the table `staff` until `staff.json` comes
//! beside it.

use std::collections::HashMap;

use crate::changes::GroupId;

/// Which groups, by their numbers, take names that others have in the index, and which give one up.
#[derive(Default)]
pub(super) struct Names {
    /// A group, and whose name it takes.
    taken: Vec<(usize, GroupId)>,
    given_up: HashMap<GroupId, usize>,
}

impl Names {
    /// A group takes a name of each of these.
    pub(super) fn take(&mut self, group: usize, from: Vec<GroupId>) {
        self.taken.extend(from.into_iter().map(|it| (group, it)));
    }

    /// A group gives up a name that the index has of this one.
    pub(super) fn give_up(&mut self, group: usize, published: GroupId) {
        self.given_up.insert(published, group);
    }

    /// Of each group that exchanges names with others, the first of these.
    pub(super) fn exchanged(&self) -> HashMap<usize, usize> {
        let mut first: HashMap<usize, usize> = HashMap::new();
        let first_of = |first: &HashMap<usize, usize>, mut at: usize| {
            while let Some(before) = first.get(&at).filter(|before| **before != at) {
                at = *before;
            }
            at
        };
        for (taker, owner) in &self.taken {
            let Some(giver) = self.given_up.get(owner) else {
                continue;
            };
            let (one, other) = (first_of(&first, *taker), first_of(&first, *giver));
            if one != other {
                first.insert(one.max(other), one.min(other));
            }
        }
        let known: Vec<usize> = first.keys().copied().collect();
        let known = known.into_iter().map(|at| (at, first_of(&first, at)));
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_exchange_names_are_known_by_the_first_of_them() {
        let of = |number| GroupId(number);
        let mut names = Names::default();
        // 5 takes a name of 2, which takes one of 7; 8 and 9 exchange theirs; 1 takes that of a
        // group with nothing to do.
        names.take(5, vec![of(2)]);
        names.take(2, vec![of(7)]);
        names.take(8, vec![of(9)]);
        names.take(9, vec![of(8)]);
        names.take(1, vec![of(3)]);
        for group in [2, 7, 8, 9, 4] {
            names.give_up(group, of(group as u128));
        }
        let mut exchanged: Vec<(usize, usize)> = names.exchanged().into_iter().collect();
        exchanged.sort_unstable();
        assert_eq!(exchanged, [(5, 2), (7, 2), (9, 8)]);
    }
}
