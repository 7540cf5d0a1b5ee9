//! What a question is computed in, and the pool that keeps it between questions.
//!
//! Nearly all of it is by table. A question takes 12 bytes for each table of the index: 4 for the
//! term that is looked up, 4 for the scores, and 4 for where lies what the table has of it. Texts
//! about folders, long ones, those that many tables have and forms of words take 4 to 20 more, from
//! the first question on that finds one. Each table that has a word of the question takes 32 bytes,
//! and 4 in every sum that it is in.

use std::num::NonZero;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::sums::{MatchedTables, Sums};

/// Terms of a question of which a table has a bit: the first that are known.
pub(crate) const TERM_BITS: usize = u64::BITS as usize;

/// As many are kept as questions are computed at once.
static KEPT: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

/// What is summed up of a term.
pub(crate) struct TermSums<'a> {
    /// How much of it each table has.
    pub(crate) sums: &'a mut Sums,
    /// What of it texts about folders have.
    pub(crate) folder: &'a mut Sums,
    /// What texts count for it that many tables have, and long ones; not among the others.
    pub(crate) shared: &'a mut Sums,
    /// For long texts, summed up: then they are among the shared ones.
    pub(crate) long: &'a mut Sums,
    /// Gets its bit, where texts about the table have it.
    pub(crate) matched: &'a mut MatchedTables,
}

/// What a question's walk needs; kept in a pool between questions.
#[derive(Default)]
pub(crate) struct Scratch {
    /// What each has of the term that is looked up.
    pub(crate) term: Sums,
    /// What all terms so far are worth.
    pub(crate) scores: Sums,
    /// Of `term` what texts about folders have.
    pub(crate) folder: Sums,
    /// What texts that many tables have, and long ones, count for the term.
    pub(crate) shared: Sums,
    /// Of a term or a form what long texts have.
    pub(crate) long: Sums,
    /// As `term` and `folder`, of a form of the term.
    pub(crate) form: Sums,
    pub(crate) form_folder: Sums,
    /// Which of the question's terms each table has, and what they are worth.
    pub(crate) matched: MatchedTables,
}

impl Scratch {
    /// Makes all sums 0, of a question over so many tables.
    pub(crate) fn reset(&mut self, tables: usize) {
        for sums in self.sums_mut() {
            sums.reset(tables);
        }
        self.matched.reset(tables);
    }

    /// Makes all sums 0, and gives back what a question took whose words most tables have.
    fn trim(&mut self) {
        for sums in self.sums_mut() {
            sums.trim();
        }
        self.matched.trim();
    }

    fn sums_mut(&mut self) -> [&mut Sums; 7] {
        [
            &mut self.term,
            &mut self.scores,
            &mut self.folder,
            &mut self.shared,
            &mut self.long,
            &mut self.form,
            &mut self.form_folder,
        ]
    }

    /// How many tables have the term that is looked up only in texts that many tables have, or in
    /// long ones.
    pub(crate) fn only_shared(&self) -> usize {
        let shared = self.shared.touched().iter();
        shared.filter(|table| self.term.get(**table) <= 0.0).count()
    }

    /// How many tables or blocks any of it has room for.
    fn room(&self) -> usize {
        let sums = [
            &self.term,
            &self.scores,
            &self.folder,
            &self.shared,
            &self.long,
            &self.form,
            &self.form_folder,
        ];
        let room = sums.into_iter().map(Sums::room);
        room.fold(self.matched.room(), usize::max)
    }
}

/// What questions were computed in, for the next ones.
#[derive(Default)]
pub(crate) struct ScratchPool(Mutex<Vec<Scratch>>);

impl ScratchPool {
    /// One that was given back, or a new one.
    pub(crate) fn take(&self) -> Scratch {
        self.kept().pop().unwrap_or_default()
    }

    /// Keeps one for the next question; not where enough are kept, nor where it has room for more
    /// than `most` numbers, as after a question to a larger index.
    pub(crate) fn give_back(&self, mut scratch: Scratch, most: usize) {
        if scratch.room() > most {
            return;
        }
        scratch.trim();
        let mut kept = self.kept();
        if kept.len() < *KEPT {
            kept.push(scratch);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Scratch>> {
        // A poisoned lock guards a list to which each is added whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_larger_index_needed_is_not_kept() {
        let pool = ScratchPool::default();
        let mut scratch = Scratch::default();
        scratch.reset(100);
        scratch.form.add(7, 1.0);
        pool.give_back(scratch, 100);
        let scratch = pool.take();
        assert_eq!(scratch.room(), 100);
        pool.give_back(scratch, 99);
        assert_eq!(pool.take().room(), 0);
    }

    #[test]
    fn no_more_are_kept_than_work_at_once() {
        let pool = ScratchPool::default();
        for _ in 0..*KEPT + 2 {
            pool.give_back(Scratch::default(), 0);
        }
        assert_eq!(pool.kept().len(), *KEPT);
    }
}
