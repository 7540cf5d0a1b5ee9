//! Which sequences are computed together: PNEUMA's dynamic batch size (§4), counted in tokens.
//!
//! A device has room for the keys and values of so many tokens: the budget. A sequence takes what
//! it can need at most, its own prompt and its longest answer, rounded up as the cache rounds; what
//! it shares with others counts once, for as long as it is kept. Sequences are admitted by age;
//! where the oldest does not fit, the longest that does fills the gap, but not for ever.
//!
//! An out-of-memory error puts exactly the running sequences back and shrinks the budget; a run of
//! well-filled steps without one grows it again, up to what it was at first. Plain data: nothing
//! here computes, blocks or knows what a token is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// Names a sequence; they are given in the order of arrival.
pub(crate) type JobId = u64;

/// Names a shared beginning: a hash of all its tokens and of those before it.
pub(crate) type PrefixKey = u128;

/// Times that the oldest sequence is passed over before it is waited for.
const PATIENCE: u32 = 64;
/// Steps in a row that must have succeeded before the budget grows…
const GOOD_STEPS: u32 = 64;
/// …and how full they must have been, in parts of 100.
const FULL: usize = 80;

/// What a sequence needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Beginnings it shares, outermost first, with the tokens of each.
    pub prefixes: Vec<(PrefixKey, usize)>,
    /// Tokens of its own: the rest of the prompt and the longest answer.
    pub own: usize,
}

/// What to do before the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Give a beginning's room back.
    Evict(PrefixKey),
    /// Begin a sequence; beginnings that are not kept yet are to be read first.
    Begin(JobId),
    /// It needs more than the device can ever have.
    Refuse(JobId),
}

struct Waiting {
    need: Need,
    passed_over: u32,
}

struct Prefix {
    tokens: usize,
    /// Running sequences that begin with it.
    users: usize,
    last_used: u64,
}

/// The sequences of one device.
pub(crate) struct Scheduler {
    budget: Budget,
    most_running: usize,
    /// Tokens are reserved in multiples of this.
    unit: usize,
    used: usize,
    clock: u64,
    waiting: BTreeMap<JobId, Waiting>,
    by_own: BTreeSet<(usize, JobId)>,
    running: HashMap<JobId, Need>,
    prefixes: HashMap<PrefixKey, Prefix>,
}

impl Scheduler {
    /// A scheduler with a budget of tokens, for at most `most_running` sequences at a time, where
    /// room is taken in multiples of `unit` tokens.
    pub fn new(budget: RangeInclusive<usize>, most_running: usize, unit: usize) -> Self {
        Self {
            budget: Budget::new(budget),
            most_running: most_running.max(1),
            unit: unit.max(1),
            used: 0,
            clock: 0,
            waiting: BTreeMap::new(),
            by_own: BTreeSet::new(),
            running: HashMap::new(),
            prefixes: HashMap::new(),
        }
    }

    fn room(&self, tokens: usize) -> usize {
        tokens.next_multiple_of(self.unit)
    }

    /// Takes in a sequence; `id` is greater than any before.
    pub fn add(&mut self, id: JobId, need: Need) {
        self.by_own.insert((need.own, id));
        self.waiting.insert(
            id,
            Waiting {
                need,
                passed_over: 0,
            },
        );
    }

    /// Forgets a sequence, running or waiting: it is done, or nobody waits for it.
    pub fn remove(&mut self, id: JobId) {
        if let Some(waiting) = self.waiting.remove(&id) {
            self.by_own.remove(&(waiting.need.own, id));
        }
        if let Some(need) = self.running.remove(&id) {
            self.used -= self.room(need.own);
            for (key, _) in &need.prefixes {
                if let Some(prefix) = self.prefixes.get_mut(key) {
                    prefix.users -= 1;
                    prefix.last_used = self.clock;
                }
            }
        }
    }

    /// What to begin now, and what to give back for it.
    pub fn admit(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        while self.running.len() < self.most_running {
            let Some((&oldest, waiting)) = self.waiting.first_key_value() else {
                break;
            };
            let (patient, need) = (waiting.passed_over < PATIENCE, waiting.need.clone());
            if self.make_room(&need, &mut decisions) {
                self.begin(oldest, need, &mut decisions);
                continue;
            }
            if self.running.is_empty() {
                // Alone and with everything given back it does not fit.
                self.remove(oldest);
                decisions.push(Decision::Refuse(oldest));
                continue;
            }
            if !patient {
                break;
            }
            let Some((filler, need)) = self.filler(oldest) else {
                break;
            };
            if let Some(waiting) = self.waiting.get_mut(&oldest) {
                waiting.passed_over += 1;
            }
            if !self.make_room(&need, &mut decisions) {
                break;
            }
            self.begin(filler, need, &mut decisions);
        }
        decisions
    }

    /// The longest waiting sequence that fits beside what is running, if its beginnings are kept.
    fn filler(&self, oldest: JobId) -> Option<(JobId, Need)> {
        const TRIES: usize = 32;
        let kept = self.prefixes.values().filter(|prefix| prefix.users > 0);
        let kept: usize = kept.map(|prefix| self.room(prefix.tokens)).sum();
        let own: usize = self.running.values().map(|need| self.room(need.own)).sum();
        let free = self.budget.now.checked_sub(kept + own)?;
        let longest = free / self.unit * self.unit;
        self.by_own
            .range(..=(longest, JobId::MAX))
            .rev()
            .take(TRIES)
            .filter(|(_, id)| *id != oldest)
            .find_map(|(_, id)| {
                let need = &self.waiting.get(id)?.need;
                let fits = self.cost(need) <= free;
                fits.then(|| (*id, need.clone()))
            })
    }

    /// Tokens that a sequence takes beyond what running ones keep.
    fn cost(&self, need: &Need) -> usize {
        let prefixes = need
            .prefixes
            .iter()
            .map(|(key, tokens)| match self.prefixes.get(key) {
                Some(prefix) if prefix.users > 0 => 0,
                _ => self.room(*tokens),
            });
        self.room(need.own) + prefixes.sum::<usize>()
    }

    /// Evicts unused beginnings until the sequence fits; evicts none if it would not fit even so.
    fn make_room(&mut self, need: &Need, decisions: &mut Vec<Decision>) -> bool {
        let is_needed = |key: &PrefixKey| need.prefixes.iter().any(|(needed, _)| needed == key);
        let missing = need
            .prefixes
            .iter()
            .filter(|(key, _)| !self.prefixes.contains_key(key));
        let wanted =
            self.room(need.own) + missing.map(|(_, tokens)| self.room(*tokens)).sum::<usize>();
        let mut idle: Vec<(u64, PrefixKey, usize)> = self
            .prefixes
            .iter()
            .filter(|(key, prefix)| prefix.users == 0 && !is_needed(key))
            .map(|(key, prefix)| (prefix.last_used, *key, self.room(prefix.tokens)))
            .collect();
        let idle_room: usize = idle.iter().map(|(_, _, room)| room).sum();
        if self.used + wanted - idle_room.min(self.used + wanted) > self.budget.now {
            return false;
        }
        // The longest unused goes first. A kept beginning may have this one before it: the engine
        // keeps the outer one's tokens alive for as long as an inner one needs them.
        idle.sort_unstable();
        for (_, key, room) in idle {
            if self.used + wanted <= self.budget.now {
                break;
            }
            self.prefixes.remove(&key);
            self.used -= room;
            decisions.push(Decision::Evict(key));
        }
        self.used + wanted <= self.budget.now
    }

    fn begin(&mut self, id: JobId, need: Need, decisions: &mut Vec<Decision>) {
        self.waiting.remove(&id);
        self.by_own.remove(&(need.own, id));
        self.clock += 1;
        self.used += self.room(need.own);
        for (key, tokens) in &need.prefixes {
            let room = self.room(*tokens);
            let prefix = self.prefixes.entry(*key).or_insert_with(|| {
                self.used += room;
                Prefix {
                    tokens: *tokens,
                    users: 0,
                    last_used: 0,
                }
            });
            prefix.users += 1;
            prefix.last_used = self.clock;
        }
        self.running.insert(id, need);
        decisions.push(Decision::Begin(id));
    }

    /// A step went well.
    pub fn step_done(&mut self) {
        let full = self.used * 100 >= self.budget.now * FULL;
        self.budget.went_well(full && !self.waiting.is_empty());
    }

    /// The device had no room: everything running is put back, every beginning forgotten, and the
    /// budget shrinks below what was used. Gives the sequences that were running.
    pub fn out_of_memory(&mut self) -> Vec<JobId> {
        self.budget.was_too_much(self.used);
        self.put_back()
    }

    /// The device had no room to begin this sequence beside what is running: it waits again,
    /// beginnings that only it needed are forgotten, and the budget shrinks to what was used
    /// without it.
    pub fn no_room(&mut self, id: JobId, forgotten: &[PrefixKey]) {
        let Some(need) = self.running.get(&id).cloned() else {
            return;
        };
        self.remove(id);
        for key in forgotten {
            // Another that is about to begin may need it as well.
            if self
                .prefixes
                .get(key)
                .is_some_and(|prefix| prefix.users == 0)
                && let Some(prefix) = self.prefixes.remove(key)
            {
                self.used -= self.room(prefix.tokens);
            }
        }
        self.budget.shrink_to(self.used);
        self.add(id, need);
    }

    /// Puts everything running back and forgets every beginning; gives the sequences that were
    /// running.
    pub fn put_back(&mut self) -> Vec<JobId> {
        let running: Vec<(JobId, Need)> = self.running.drain().collect();
        self.prefixes.clear();
        self.used = 0;
        let mut ids: Vec<JobId> = running.iter().map(|(id, _)| *id).collect();
        for (id, need) in running {
            self.add(id, need);
        }
        ids.sort_unstable();
        ids
    }

    /// Whether no sequence is waiting or running.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Tokens reserved and the budget, where sequences are waiting for room.
    #[cfg(test)]
    pub fn pressed(&self) -> Option<(usize, usize)> {
        (!self.waiting.is_empty()).then_some((self.used, self.budget.now))
    }
}

/// A budget of tokens that learns what the device has room for.
struct Budget {
    bounds: RangeInclusive<usize>,
    now: usize,
    good_steps: u32,
}

impl Budget {
    fn new(bounds: RangeInclusive<usize>) -> Self {
        Self {
            now: *bounds.end(),
            bounds,
            good_steps: 0,
        }
    }

    fn was_too_much(&mut self, used: usize) {
        self.shrink_to(used / 4 * 3);
    }

    fn shrink_to(&mut self, tokens: usize) {
        let less = tokens.min(self.now);
        self.now = less.clamp(*self.bounds.start(), *self.bounds.end());
        self.good_steps = 0;
    }

    fn went_well(&mut self, full: bool) {
        if !full {
            return;
        }
        self.good_steps += 1;
        if self.good_steps >= GOOD_STEPS {
            self.good_steps = 0;
            self.now = (self.now + self.now / 8).min(*self.bounds.end());
        }
    }
}

/// The greatest number of tokens within the bounds for which `fits` holds, to a sixteenth; the
/// lower bound where none does.
pub(crate) fn find_budget(
    bounds: RangeInclusive<usize>,
    mut fits: impl FnMut(usize) -> bool,
) -> usize {
    let (mut low, mut high) = (*bounds.start(), *bounds.end());
    if fits(high) {
        return high;
    }
    while high - low > high / 16 {
        let middle = low + (high - low) / 2;
        if middle == low {
            break;
        }
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
