//! Names that tables take from each other: `staff.csv` is the table `staff` until `staff.json`
//! comes beside it.

use std::collections::HashMap;

use crate::changes::GroupId;

/// The names that a group exchanges with others.
#[derive(Default)]
pub(super) struct Exchanged {
    /// The other groups whose names in the index its tables take.
    pub(super) taken_from: Vec<GroupId>,
    /// Of the group and those that it takes over, the ones of which the index has a name that its
    /// tables have no more.
    pub(super) given_up_by: Vec<GroupId>,
}

/// Which groups, by their numbers, take names that others have in the index, and which give one up.
#[derive(Default)]
pub(super) struct Names {
    /// A group, and whose name it takes.
    taken: Vec<(usize, GroupId)>,
    given_up: HashMap<GroupId, usize>,
}

impl Names {
    /// Takes in what a group exchanges.
    pub(super) fn take_in(&mut self, group: usize, exchanged: Exchanged) {
        let taken = exchanged.taken_from.into_iter();
        self.taken.extend(taken.map(|owner| (group, owner)));
        let given_up = exchanged.given_up_by.into_iter();
        self.given_up.extend(given_up.map(|owner| (owner, group)));
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
        let of = |number: u128| GroupId(number);
        let mut names = Names::default();
        // 5 takes a name of 2, which takes one of 7; 8 and 9 exchange theirs; 1 takes that of a
        // group with nothing to do.
        let exchanges = [
            (5, vec![2], vec![]),
            (2, vec![7], vec![2]),
            (7, vec![], vec![7]),
            (8, vec![9], vec![8]),
            (9, vec![8], vec![9]),
            (1, vec![3], vec![]),
            (4, vec![], vec![4]),
        ];
        for (group, taken_from, given_up_by) in exchanges {
            let [taken_from, given_up_by] =
                [taken_from, given_up_by].map(|it| it.into_iter().map(of).collect());
            names.take_in(
                group,
                Exchanged {
                    taken_from,
                    given_up_by,
                },
            );
        }
        let mut exchanged: Vec<(usize, usize)> = names.exchanged().into_iter().collect();
        exchanged.sort_unstable();
        assert_eq!(exchanged, [(5, 2), (7, 2), (9, 8)]);
    }
}
