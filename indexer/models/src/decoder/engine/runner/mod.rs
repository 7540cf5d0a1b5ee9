//! What the engine's thread runs: it begins sequences, steps the device, and gives what is
//! finished.

mod recovery;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::inbox::Shared;
use super::job::{Answer, Job, Request};
use crate::decoder::cache::SegmentId;
use crate::decoder::device::{Device, Piece, Scores, StepError, Wanted};
use crate::decoder::schedule::{Decision, JobId, Need, PrefixKey, Scheduler};
use crate::decoder::tokens::Tokens;
use crate::{Finish, Limits, ModelError, Usage};

/// A sequence that is waiting, being read or being written.
struct Sequence {
    job: Job,
    keys: Vec<PrefixKey>,
    /// While it runs: its segment, and how much of its own prompt has been read.
    running: Option<Running>,
}

struct Running {
    segment: SegmentId,
    read: usize,
    written: Vec<u32>,
}

/// A shared beginning that is kept, or being read.
struct Kept {
    segment: SegmentId,
    /// What of its tokens is still to be read.
    rest: Vec<u32>,
    /// The beginning before it, and beginnings after it that are kept.
    outer: Option<PrefixKey>,
    inner: usize,
    /// The scheduler has given it up; it is dropped with the last inner one.
    evicted: bool,
}

/// What the thread runs.
pub(in crate::decoder) struct Runner {
    device: Box<dyn Device>,
    scheduler: Scheduler,
    tokens: Arc<Tokens>,
    model: String,
    next: JobId,
    sequences: HashMap<JobId, Sequence>,
    prefixes: HashMap<PrefixKey, Kept>,
    usage: Usage,
    /// When the device failed last, otherwise than for want of memory; `None` once it has computed.
    failed: Option<Instant>,
    /// Steps without room since the last that had it.
    without_room: usize,
}

/// Whose tokens a piece has.
enum Owner {
    Prefix(PrefixKey),
    Sequence(JobId),
}

impl Runner {
    pub fn new(
        device: Box<dyn Device>,
        scheduler: Scheduler,
        tokens: Arc<Tokens>,
        model: String,
    ) -> Self {
        Self {
            device,
            scheduler,
            tokens,
            model,
            next: 0,
            sequences: HashMap::new(),
            prefixes: HashMap::new(),
            usage: Usage::default(),
            failed: None,
            without_room: 0,
        }
    }

    /// Sequences that are waiting or running.
    #[cfg(test)]
    pub fn under_way(&self) -> usize {
        self.sequences.len()
    }

    /// Tokens in use and the budget, where sequences are waiting for room.
    #[cfg(test)]
    pub fn pressed(&self) -> Option<(usize, usize)> {
        self.scheduler.pressed().filter(|_| {
            self.sequences
                .values()
                .any(|sequence| sequence.running.is_some())
        })
    }

    pub(super) fn run(mut self, shared: &Shared) {
        loop {
            let arrived = {
                let mut inbox = shared.lock();
                inbox.usage = self.usage;
                while inbox.jobs.is_empty() && self.scheduler.is_idle() && !inbox.stopping {
                    inbox = shared
                        .arrived
                        .wait(inbox)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                if inbox.stopping {
                    return;
                }
                std::mem::take(&mut inbox.jobs)
            };
            let began = Instant::now();
            arrived.into_iter().for_each(|job| self.take_in(job));
            let answers = self.turn(|| std::mem::take(&mut shared.lock().jobs));
            self.usage.busy += began.elapsed();
            // What was done is counted before the answers are sent.
            let mut inbox = shared.lock();
            inbox.usage = self.usage;
            inbox.failed = self.failed;
            drop(inbox);
            for (sender, answer) in answers {
                let _ = sender.send(answer);
            }
        }
    }

    pub fn take_in(&mut self, job: Job) {
        let id = self.next;
        self.next += 1;
        let mut keys = Vec::with_capacity(job.prompt.shared.len());
        let mut key = 0;
        for part in &job.prompt.shared {
            let mut bytes = PrefixKey::to_le_bytes(key).to_vec();
            bytes.extend(part.iter().flat_map(|token| token.to_le_bytes()));
            key = hash(&bytes);
            keys.push(key);
        }
        let answer = match &job.request {
            Request::Generate(limits) => limits.max_tokens,
            Request::Classify(_) => 0,
        };
        let lengths = job.prompt.shared.iter().map(Vec::len);
        let need = Need {
            prefixes: keys.iter().copied().zip(lengths).collect(),
            own: job.prompt.own.len() + answer,
        };
        self.scheduler.add(id, need);
        self.sequences.insert(
            id,
            Sequence {
                job,
                keys,
                running: None,
            },
        );
    }

    /// Admits, steps, and gives what is finished. While the device computes, what `arrived`
    /// meanwhile is taken in and admitted, so that the next step begins with it (one step ahead).
    pub fn turn(&mut self, arrived: impl FnOnce() -> VecDeque<Job>) -> Vec<Delivery> {
        let mut done = Vec::new();
        self.drop_unwanted();
        self.admit(&mut done);
        let (owners, pieces) = self.next_pieces();
        if pieces.is_empty() {
            return done;
        }
        let started = guarded(|| self.device.start(&pieces));
        let stepped = started.and_then(|()| {
            arrived().into_iter().for_each(|job| self.take_in(job));
            self.admit(&mut done);
            guarded(|| self.device.finish())
        });
        match stepped {
            Ok(scores) => {
                self.scheduler.step_done();
                self.failed = None;
                self.without_room = 0;
                let read = owners.into_iter().zip(pieces).zip(scores);
                for ((owner, piece), score) in read {
                    self.take_scores(owner, piece, score, &mut done);
                }
            }
            Err(error) => self.recover(error, &mut done),
        }
        done
    }

    /// Begins the sequences that there is room for.
    fn admit(&mut self, done: &mut Vec<Delivery>) {
        let mut given_up = false;
        for decision in self.scheduler.admit() {
            match decision {
                Decision::Evict(key) => self.evict(key),
                Decision::Refuse(id) => {
                    if let Some(sequence) = self.sequences.remove(&id) {
                        let detail = format!(
                            "a prompt of {} tokens does not fit alone",
                            sequence.job.prompt.count()
                        );
                        let error = self.out_of_memory(detail);
                        done.push((sequence.job.sender, Err(error)));
                    }
                }
                // After a failure what was to begin waits again.
                Decision::Begin(_) if given_up => {}
                Decision::Begin(id) => match self.begin(id) {
                    Ok(()) => {}
                    Err(StepError::OutOfMemory { detail }) => {
                        given_up = self.no_room(id, detail, done);
                    }
                    Err(error) => {
                        self.recover(error, done);
                        given_up = true;
                    }
                },
            }
        }
    }

    /// Forgets sequences whose callers have left.
    fn drop_unwanted(&mut self) {
        let left = self
            .sequences
            .iter()
            .filter(|(_, sequence)| sequence.job.sender.is_closed());
        let left: Vec<JobId> = left.map(|(id, _)| *id).collect();
        for id in left {
            self.finish(id);
        }
    }

    /// Takes a sequence out.
    fn finish(&mut self, id: JobId) -> Option<Sequence> {
        self.scheduler.remove(id);
        let sequence = self.sequences.remove(&id)?;
        if let Some(running) = &sequence.running {
            self.device.release(running.segment);
        }
        Some(sequence)
    }

    /// Reserves what a sequence needs.
    fn begin(&mut self, id: JobId) -> Result<(), StepError> {
        let Some(sequence) = self.sequences.get_mut(&id) else {
            return Ok(());
        };
        self.usage.computed_prompt_tokens += sequence.job.prompt.own.len() as u64;
        let mut outer = None;
        for (key, tokens) in sequence.keys.iter().zip(&sequence.job.prompt.shared) {
            match self.prefixes.get_mut(key) {
                Some(kept) => kept.evicted = false,
                None => {
                    let parent = outer
                        .and_then(|outer| self.prefixes.get(&outer))
                        .map(|kept| kept.segment);
                    let segment = self.device.reserve(parent, tokens.len())?;
                    if let Some(kept) = outer.and_then(|outer| self.prefixes.get_mut(&outer)) {
                        kept.inner += 1;
                    }
                    self.usage.computed_prompt_tokens += tokens.len() as u64;
                    let kept = Kept {
                        segment,
                        rest: tokens.clone(),
                        outer,
                        inner: 0,
                        evicted: false,
                    };
                    self.prefixes.insert(*key, kept);
                }
            }
            outer = Some(*key);
        }
        let answer = match &sequence.job.request {
            Request::Generate(limits) => limits.max_tokens,
            Request::Classify(_) => 0,
        };
        let parent = outer
            .and_then(|outer| self.prefixes.get(&outer))
            .map(|kept| kept.segment);
        let segment = self
            .device
            .reserve(parent, sequence.job.prompt.own.len() + answer)?;
        sequence.running = Some(Running {
            segment,
            read: 0,
            written: Vec::new(),
        });
        Ok(())
    }

    /// The pieces of the next step: answers first, then beginnings, then prompts.
    fn next_pieces(&self) -> (Vec<Owner>, Vec<Piece>) {
        let (mut owners, mut pieces) = (Vec::new(), Vec::new());
        let mut ids: Vec<JobId> = self.sequences.keys().copied().collect();
        ids.sort_unstable();
        let running = ids.iter().filter_map(|id| {
            let sequence = self.sequences.get(id)?;
            Some((*id, sequence, sequence.running.as_ref()?))
        });
        let mut reading = Vec::new();
        for (id, sequence, running) in running {
            match running.written.last() {
                Some(token) => {
                    owners.push(Owner::Sequence(id));
                    let piece = Piece {
                        segment: running.segment,
                        tokens: vec![*token],
                        wanted: Wanted::Next,
                    };
                    pieces.push(piece);
                }
                None => reading.push((id, sequence, running)),
            }
        }
        let mut room = self.device.step_tokens().saturating_sub(pieces.len());
        // Beginnings in the order in which sequences wait for them.
        let mut begun: Vec<PrefixKey> = Vec::new();
        for (_, sequence, _) in &reading {
            for key in &sequence.keys {
                let Some(kept) = self.prefixes.get(key) else {
                    break;
                };
                if kept.rest.is_empty() {
                    continue;
                }
                if room > 0 && !begun.contains(key) {
                    let tokens = kept.rest[..kept.rest.len().min(room)].to_vec();
                    room -= tokens.len();
                    begun.push(*key);
                    owners.push(Owner::Prefix(*key));
                    pieces.push(Piece {
                        segment: kept.segment,
                        tokens,
                        wanted: Wanted::Nothing,
                    });
                }
                // What comes after it waits for the next step.
                break;
            }
        }
        for (id, sequence, running) in reading {
            let is_read = |key: &PrefixKey| {
                self.prefixes
                    .get(key)
                    .is_some_and(|kept| kept.rest.is_empty())
            };
            if room == 0 || !sequence.keys.iter().all(is_read) {
                continue;
            }
            let rest = &sequence.job.prompt.own[running.read..];
            let tokens = rest[..rest.len().min(room)].to_vec();
            room -= tokens.len();
            let wanted = match &sequence.job.request {
                _ if tokens.len() < rest.len() => Wanted::Nothing,
                Request::Generate(_) => Wanted::Next,
                Request::Classify(words) => Wanted::LogProbabilities(words.clone()),
            };
            owners.push(Owner::Sequence(id));
            pieces.push(Piece {
                segment: running.segment,
                tokens,
                wanted,
            });
        }
        (owners, pieces)
    }

    /// Takes in what a step has found.
    fn take_scores(&mut self, owner: Owner, piece: Piece, score: Scores, done: &mut Vec<Delivery>) {
        let id = match owner {
            Owner::Prefix(key) => {
                // Unless it was given up meanwhile.
                if let Some(kept) = self.prefixes.get_mut(&key)
                    && kept.segment == piece.segment
                {
                    kept.rest.drain(..piece.tokens.len());
                }
                return;
            }
            Owner::Sequence(id) => id,
        };
        let Some(Sequence {
            job,
            running: Some(running),
            ..
        }) = self.sequences.get_mut(&id)
        else {
            return;
        };
        // Put back meanwhile, and begun anew.
        if running.segment != piece.segment {
            return;
        }
        if running.written.is_empty() {
            running.read += piece.tokens.len();
        }
        let answer = match (score, &job.request) {
            (Scores::Nothing, _) => return,
            (Scores::LogProbabilities(found), _) => Answer::LogProbabilities(found),
            (Scores::Next(token), Request::Generate(limits)) => {
                match write(&self.tokens, &mut running.written, token, limits) {
                    Some(answer) => answer,
                    None => return,
                }
            }
            (Scores::Next(_), Request::Classify(_)) => return,
        };
        self.usage.prompts += 1;
        self.usage.prompt_tokens += job.prompt.count() as u64;
        if let Answer::Generated { tokens, .. } = &answer {
            self.usage.generated_tokens += *tokens as u64;
        }
        if let Some(sequence) = self.finish(id) {
            done.push((sequence.job.sender, Ok(answer)));
        }
    }
}

/// What a device answers, a panic taken for a failure.
fn guarded<T>(compute: impl FnOnce() -> Result<T, StepError>) -> Result<T, StepError> {
    catch_unwind(AssertUnwindSafe(compute)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(StepError::Failed(format!(
            "panic: {}",
            text.unwrap_or_default()
        )))
    })
}

pub(in crate::decoder) type Delivery = (
    oneshot::Sender<Result<Answer, ModelError>>,
    Result<Answer, ModelError>,
);

/// Adds a token to an answer; the whole of it where that ends it.
fn write(tokens: &Tokens, written: &mut Vec<u32>, token: u32, limits: &Limits) -> Option<Answer> {
    let ended = tokens.is_end(token);
    if !ended {
        written.push(token);
    }
    let mut text = tokens.decode(written);
    let stop = limits
        .stop
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| text.find(stop.as_str()));
    let stop = stop.min();
    if let Some(place) = stop {
        text.truncate(place);
    }
    let finish = match (ended || stop.is_some(), written.len() >= limits.max_tokens) {
        (true, _) => Finish::Stopped,
        (false, true) => Finish::Length,
        (false, false) => return None,
    };
    Some(Answer::Generated {
        text,
        finish,
        tokens: written.len(),
    })
}

/// A stable hash of some bytes.
pub(super) fn hash(bytes: &[u8]) -> PrefixKey {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(bytes);
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    PrefixKey::from_le_bytes(key)
}
