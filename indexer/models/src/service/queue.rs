//! The waiting texts: who asked for them, how long they are, and which make the next batch.
//!
//! Plain data under the service's lock; nothing here computes or blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::ModelError;

/// Texts that one thread counts at a time; counting is a small part of computing.
const COUNT_AT_ONCE: usize = 64;
/// A batch is not split among idle threads below this many tokens.
const SMALLEST_SHARE: usize = 256;

/// Lengths may differ in a batch by this many tokens on top of a factor of two.
const SIMILAR_ENOUGH: usize = 16;

pub(super) type Answer = Result<Vec<Vec<f32>>, ModelError>;

/// Something for a device thread to do.
pub(super) enum Work {
    /// Count the tokens of these texts, then call [`Queue::counted`].
    Count(Vec<Arc<str>>),
    /// Compute these texts' vectors, then call [`Queue::finished`].
    Compute(Batch),
}

pub(super) struct Batch {
    pub texts: Vec<Arc<str>>,
    pub tokens: usize,
}

/// An answer that is complete and on its way to its caller.
pub(super) struct Delivery {
    sender: oneshot::Sender<Answer>,
    answer: Answer,
}

impl Delivery {
    /// Sends it; a caller that has left is no error.
    pub fn send(self) {
        let _ = self.sender.send(self.answer);
    }
}

/// A caller's number; requests and texts are numbered as they come.
type RequestId = u64;
type Age = u64;

struct Request {
    vectors: Vec<Vec<f32>>,
    missing: usize,
    sender: oneshot::Sender<Answer>,
}

/// A distinct text that is waiting or being computed.
struct Job {
    age: Age,
    /// Each place in each request that wants its vector.
    wanted: Vec<(RequestId, usize)>,
}

pub(super) struct Queue {
    window: usize,
    batch_tokens: usize,
    threads: usize,
    next_number: u64,
    requests: HashMap<RequestId, Request>,
    jobs: HashMap<Arc<str>, Job>,
    uncounted: VecDeque<Arc<str>>,
    by_age: BTreeMap<Age, (usize, Arc<str>)>,
    by_length: BTreeSet<(usize, Age)>,
    waiting_tokens: usize,
}

impl Queue {
    pub fn new(window: usize, batch_tokens: usize, threads: usize) -> Self {
        Self {
            window,
            batch_tokens,
            threads,
            next_number: 0,
            requests: HashMap::new(),
            jobs: HashMap::new(),
            uncounted: VecDeque::new(),
            by_age: BTreeMap::new(),
            by_length: BTreeSet::new(),
            waiting_tokens: 0,
        }
    }

    /// Takes a caller's texts (at least one); returns how many joined an equal text in flight.
    pub fn add(&mut self, texts: Vec<String>, sender: oneshot::Sender<Answer>) -> u64 {
        let request = self.number();
        let count = texts.len();
        self.requests.insert(
            request,
            Request {
                vectors: vec![Vec::new(); count],
                missing: count,
                sender,
            },
        );
        let mut joined = 0;
        for (place, text) in texts.into_iter().enumerate() {
            if let Some(job) = self.jobs.get_mut(text.as_str()) {
                job.wanted.push((request, place));
                joined += 1;
                continue;
            }
            let text: Arc<str> = text.into();
            let age = self.number();
            self.jobs.insert(
                Arc::clone(&text),
                Job {
                    age,
                    wanted: vec![(request, place)],
                },
            );
            self.uncounted.push_back(text);
        }
        joined
    }

    /// Whether nobody waits for any other text than these.
    pub fn is_all(&self, batch: &Batch) -> bool {
        self.jobs.len() <= batch.texts.len()
    }

    /// What a free thread should do now: keep enough texts counted to choose from, else compute.
    pub fn next(&mut self) -> Option<Work> {
        let ample = self.batch_tokens * self.threads * 4;
        if !self.uncounted.is_empty() && self.waiting_tokens < ample {
            let count = self.uncounted.len().min(COUNT_AT_ONCE);
            return Some(Work::Count(self.uncounted.drain(..count).collect()));
        }
        self.take_batch().map(Work::Compute)
    }

    /// Takes back counted texts; each is now ready to be computed.
    pub fn counted(&mut self, texts: &[Arc<str>], counts: &[usize]) {
        for (text, &tokens) in texts.iter().zip(counts) {
            if let Some(job) = self.jobs.get(text) {
                let tokens = tokens.min(self.window);
                self.by_age.insert(job.age, (tokens, Arc::clone(text)));
                self.by_length.insert((tokens, job.age));
                self.waiting_tokens += tokens;
            }
        }
    }

    /// The oldest ready text and those nearest to it in length, within the budget.
    fn take_batch(&mut self) -> Option<Batch> {
        loop {
            let (&age, &(tokens, _)) = self.by_age.first_key_value()?;
            let share = self
                .waiting_tokens
                .div_ceil(self.threads)
                .max(SMALLEST_SHARE);
            let budget = share.min(self.batch_tokens);
            let chosen = self.nearest(tokens, age, budget);
            let mut batch = Batch {
                texts: Vec::with_capacity(chosen.len()),
                tokens: 0,
            };
            for (tokens, age) in chosen {
                self.by_length.remove(&(tokens, age));
                self.waiting_tokens -= tokens;
                if let Some((_, text)) = self.by_age.remove(&age)
                    && !self.drop_if_abandoned(&text)
                {
                    batch.texts.push(text);
                    batch.tokens += tokens;
                }
            }
            if !batch.texts.is_empty() {
                return Some(batch);
            }
        }
    }

    fn nearest(&self, tokens: usize, age: Age, budget: usize) -> Vec<(usize, Age)> {
        let anchor = (tokens, age);
        let similar = |a: usize, b: usize| a.max(b) <= 2 * a.min(b) + SIMILAR_ENOUGH;
        let mut longer = self
            .by_length
            .range(anchor..)
            .skip(1)
            .take_while(|it| similar(it.0, tokens))
            .peekable();
        let mut shorter = self
            .by_length
            .range(..anchor)
            .rev()
            .take_while(|it| similar(it.0, tokens))
            .peekable();
        let (mut chosen, mut sum) = (vec![anchor], tokens);
        loop {
            let next = match (shorter.peek(), longer.peek()) {
                (Some(down), Some(up)) if tokens - down.0 <= up.0 - tokens => shorter.next(),
                (Some(_), None) => shorter.next(),
                _ => longer.next(),
            };
            let Some(&next) = next else { return chosen };
            sum += next.0;
            if sum > budget {
                return chosen;
            }
            chosen.push(next);
        }
    }

    /// Forgets a text whose callers have all left.
    fn drop_if_abandoned(&mut self, text: &Arc<str>) -> bool {
        let Some(job) = self.jobs.get(text) else {
            return true;
        };
        let has_left = |id: &RequestId| {
            self.requests
                .get(id)
                .is_none_or(|request| request.sender.is_closed())
        };
        if !job.wanted.iter().all(|(id, _)| has_left(id)) {
            return false;
        }
        if let Some(job) = self.jobs.remove(text) {
            for (id, _) in job.wanted {
                self.requests.remove(&id);
            }
        }
        true
    }

    /// Hands the results of a batch to the requests that wait for them; returns what is complete.
    pub fn finished(
        &mut self,
        batch: &Batch,
        results: Vec<Result<Vec<f32>, ModelError>>,
    ) -> Vec<Delivery> {
        let mut complete = Vec::new();
        for (text, result) in batch.texts.iter().zip(results) {
            let Some(job) = self.jobs.remove(text) else {
                continue;
            };
            for (id, place) in job.wanted {
                let Some(request) = self.requests.get_mut(&id) else {
                    continue;
                };
                let failure = match &result {
                    Ok(vector) => {
                        request.vectors[place].clone_from(vector);
                        request.missing -= 1;
                        None
                    }
                    Err(error) => Some(error.clone()),
                };
                if (request.missing == 0 || failure.is_some())
                    && let Some(request) = self.requests.remove(&id)
                {
                    let answer = failure.map_or(Ok(request.vectors), Err);
                    complete.push(Delivery {
                        sender: request.sender,
                        answer,
                    });
                }
            }
        }
        complete
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}
