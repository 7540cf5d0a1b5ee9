//! Ten thousand prompts through the engine, on a device that runs out of memory now and then.
//!
//! The device computes nothing but a hash of all tokens a sequence has read, in order: an answer
//! given to the wrong prompt, a token read twice or not at all, or a beginning mixed up would show.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tokio::sync::oneshot;

use super::cache::SegmentId;
use super::device::{Device, Piece, Scores, StepError, Wanted};
use super::engine::{Answer, Engine, Job, Request, Runner};
use super::schedule::{Scheduler, find_budget};
use super::tokens::{Pieces, PromptTokens, Tokens};
use crate::{Limits, ModelError};

/// Prompts of real columns: tokens of the table's beginning, and of the column's own part, as
/// SmolLM2's tokenizer counts them (`tests/src/bin/prompt_lengths.rs`).
const LENGTHS: &str = include_str!("lengths.txt");

const VOCABULARY: u32 = 250;

/// A tokenizer of single bytes with the marks of a conversation.
fn tokens() -> Arc<Tokens> {
    let mut pieces: Vec<String> = (33_u8..=126)
        .map(|byte| char::from(byte).to_string())
        .collect();
    pieces.extend(
        ('\u{a1}'..='\u{ac}')
            .chain('\u{ae}'..='\u{ff}')
            .map(String::from),
    );
    pieces.extend(('\u{100}'..='\u{143}').map(String::from));
    pieces.extend(["<|im_start|>", "<|im_end|>"].map(str::to_owned));
    let pieces = Pieces {
        tokens: pieces,
        merges: Vec::new(),
        cut: "gpt-2".into(),
        ends: Vec::new(),
        begin: None,
    };
    Arc::new(Tokens::of_pieces(pieces, "simulated").unwrap())
}

/// A hash of what was read, and a token after each step that asks for one.
fn mix(hash: u64, token: u32) -> u64 {
    (hash ^ u64::from(token) ^ 0x5bd1)
        .wrapping_mul(0x0100_0000_01b3)
        .rotate_left(17)
}

fn next_of(hash: u64) -> u32 {
    (hash >> 20) as u32 % VOCABULARY
}

/// What the device answers to a prompt.
fn expected(prompt: &PromptTokens, count: usize) -> Vec<u32> {
    let mut hash = prompt
        .shared
        .iter()
        .flatten()
        .chain(&prompt.own)
        .fold(1, |hash, token| mix(hash, *token));
    let mut answer = Vec::new();
    while answer.len() < count {
        let token = next_of(hash);
        answer.push(token);
        hash = mix(hash, token);
    }
    answer
}

struct Segment {
    parent: Option<SegmentId>,
    room: usize,
    tokens: Vec<u32>,
}

/// What a simulated device has seen, for the test to look at.
#[derive(Default)]
struct Seen {
    failures: usize,
    steps: usize,
    most_used: usize,
}

/// A device of limited memory, where something else comes and goes.
struct Simulated {
    capacity: usize,
    used: usize,
    /// One step of so many fails; 0 for none.
    failing: u64,
    random: u64,
    next: u64,
    segments: HashMap<SegmentId, Segment>,
    started: Vec<Scores>,
    seen: Arc<Mutex<Seen>>,
}

impl Simulated {
    fn new(capacity: usize, failing: u64, seed: u64) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let device = Self {
            capacity,
            used: 0,
            failing,
            random: seed | 1,
            next: 0,
            segments: HashMap::new(),
            started: Vec::new(),
            seen: Arc::clone(&seen),
        };
        (device, seen)
    }

    fn fails_now(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let fails = self.failing > 0 && self.random.is_multiple_of(self.failing);
        self.seen.lock().unwrap().failures += usize::from(fails);
        fails
    }

    fn hash_of(&self, segment: SegmentId) -> u64 {
        let segment = &self.segments[&segment];
        let before = segment.parent.map_or(1, |parent| {
            let outer = &self.segments[&parent];
            assert_eq!(
                outer.tokens.len(),
                outer.room,
                "what lies before is read first"
            );
            self.hash_of(parent)
        });
        segment
            .tokens
            .iter()
            .fold(before, |hash, token| mix(hash, *token))
    }
}

fn out_of_memory() -> StepError {
    StepError::OutOfMemory {
        detail: "simulated".into(),
    }
}

impl Device for Simulated {
    fn reserve(
        &mut self,
        parent: Option<SegmentId>,
        tokens: usize,
    ) -> Result<SegmentId, StepError> {
        if self.used + tokens > self.capacity {
            self.seen.lock().unwrap().failures += 1;
            return Err(out_of_memory());
        }
        self.used += tokens;
        let mut seen = self.seen.lock().unwrap();
        seen.most_used = seen.most_used.max(self.used);
        let id = SegmentId(self.next);
        self.next += 1;
        self.segments.insert(
            id,
            Segment {
                parent,
                room: tokens,
                tokens: Vec::new(),
            },
        );
        Ok(id)
    }

    fn release(&mut self, segment: SegmentId) {
        self.used -= self.segments.remove(&segment).expect("released once").room;
    }

    fn start(&mut self, pieces: &[Piece]) -> Result<(), StepError> {
        if self.fails_now() {
            return Err(out_of_memory());
        }
        self.seen.lock().unwrap().steps += 1;
        for piece in pieces {
            let segment = self
                .segments
                .get_mut(&piece.segment)
                .expect("a segment in use");
            segment.tokens.extend(&piece.tokens);
            assert!(
                segment.tokens.len() <= segment.room,
                "no more than was reserved"
            );
        }
        let scores = pieces.iter().map(|piece| match piece.wanted {
            Wanted::Nothing => Scores::Nothing,
            Wanted::Next => Scores::Next(next_of(self.hash_of(piece.segment))),
            Wanted::LogProbabilities(_) => unreachable!("not asked for here"),
        });
        self.started = scores.collect();
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Scores>, StepError> {
        let scores = std::mem::take(&mut self.started);
        if self.fails_now() {
            return Err(out_of_memory());
        }
        Ok(scores)
    }

    fn step_tokens(&self) -> usize {
        512
    }

    fn name(&self) -> String {
        "simulated".to_owned()
    }

    fn bytes_per_token(&self) -> usize {
        1
    }
}

/// Prompts in the order in which a run asks: the columns of a table one after another.
fn prompts(count: usize) -> Vec<(PromptTokens, usize)> {
    let tables = LENGTHS.lines().map(|line| {
        line.split(' ')
            .map(|n| n.parse::<usize>().unwrap())
            .collect()
    });
    let tables: Vec<Vec<usize>> = tables.collect();
    let mut prompts = Vec::with_capacity(count);
    for table in 0.. {
        let lengths = &tables[table % tables.len()];
        for (column, own) in lengths[1..].iter().enumerate() {
            let token =
                |place: usize, salt: usize| (table * 31 + place * 7 + salt) as u32 % VOCABULARY;
            let system = (0..15).map(|place| place as u32).collect();
            let shared = (0..lengths[0]).map(|place| token(place, 0)).collect();
            let own = (0..*own).map(|place| token(place, column + 1)).collect();
            prompts.push((
                PromptTokens {
                    shared: vec![system, shared],
                    own,
                },
                4 + (table + column * 5) % 28,
            ));
            if prompts.len() == count {
                return prompts;
            }
        }
    }
    prompts
}

/// Runs all prompts; the mean share of the budget in use while some were waiting.
fn run(
    device: Simulated,
    budget: std::ops::RangeInclusive<usize>,
    prompts: &[(PromptTokens, usize)],
) -> f64 {
    let tokens = tokens();
    let scheduler = Scheduler::new(budget, 4096, 16);
    let mut runner = Runner::new(
        Box::new(device),
        scheduler,
        Arc::clone(&tokens),
        "simulated".into(),
    );
    let mut receivers = Vec::with_capacity(prompts.len());
    let (mut shares, mut steps) = (0.0, 0);
    let mut waiting = prompts.iter();
    let mut turns = 0;
    loop {
        // Callers keep some under way and hand in more as answers come.
        while runner.under_way() < 1024
            && let Some((prompt, answer)) = waiting.next()
        {
            let (sender, receiver) = oneshot::channel();
            let limits = Limits {
                max_tokens: *answer,
                stop: Vec::new(),
            };
            runner.take_in(Job {
                prompt: prompt.clone(),
                request: Request::Generate(limits),
                sender,
            });
            receivers.push(receiver);
        }
        if runner.under_way() == 0 {
            break;
        }
        for (sender, answer) in runner.turn(VecDeque::new) {
            sender
                .send(answer)
                .expect("each caller is waiting, and answered once");
        }
        if let Some((used, budget)) = runner.pressed() {
            shares += used as f64 / budget as f64;
            steps += 1;
        }
        turns += 1;
        assert!(turns < 100 * prompts.len(), "no progress");
    }
    assert_eq!(receivers.len(), prompts.len());
    for (mut receiver, (prompt, count)) in receivers.into_iter().zip(prompts) {
        let answer = receiver
            .try_recv()
            .expect("no prompt is lost")
            .expect("none fails");
        let Answer::Generated {
            text,
            tokens: written,
            ..
        } = answer
        else {
            panic!("an answer of another kind");
        };
        assert_eq!(written, *count);
        assert_eq!(
            text,
            tokens.decode(&expected(prompt, *count)),
            "the answer of another prompt"
        );
    }
    shares / f64::from(steps)
}

#[test]
fn ten_thousand_real_prompts_fill_the_budget() {
    let (device, seen) = Simulated::new(usize::MAX / 2, 0, 1);
    let share = run(device, 1024..=16_384, &prompts(10_000));
    println!(
        "{:.1} % of the budget in use, {} steps",
        100.0 * share,
        seen.lock().unwrap().steps
    );
    assert!(share >= 0.95, "{share}");
}

#[test]
fn out_of_memory_at_random_moments_loses_and_misplaces_nothing() {
    let (device, seen) = Simulated::new(12_000, 150, 42);
    // The device has less than the budget begins with.
    let share = run(device, 1024..=16_384, &prompts(10_000));
    let seen = seen.lock().unwrap();
    println!(
        "{:.1} % of the budget in use, {} steps, {} failures, at most {} tokens",
        100.0 * share,
        seen.steps,
        seen.failures,
        seen.most_used
    );
    assert!(seen.failures > 20 && seen.most_used <= 12_000);
    assert!(share >= 0.95, "{share}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nothing_is_lost_on_any_device(
        capacity in 600_usize..6000, failing in prop_oneof![Just(0_u64), 60_u64..200], seed in any::<u64>(), count in 1_usize..300,
    ) {
        let (device, _) = Simulated::new(capacity, failing, seed);
        run(device, 300..=8192, &prompts(count));
    }

    #[test]
    fn the_budget_is_found_to_a_sixteenth(low in 1_usize..1000, more in 0_usize..100_000, room in 0_usize..120_000) {
        let high = low + more;
        let found = find_budget(low..=high, |tokens| tokens <= room);
        prop_assert!((low..=high).contains(&found));
        if room >= high {
            prop_assert_eq!(found, high);
        } else if room > low {
            prop_assert!(found <= room && room - found <= high / 16 + 1, "{} of {}", found, room);
        }
    }
}

#[test]
fn a_prompt_that_can_never_fit_is_refused_and_its_neighbours_are_not() {
    let (device, _) = Simulated::new(10_000, 0, 1);
    let scheduler = Scheduler::new(128..=512, 64, 16);
    let mut runner = Runner::new(Box::new(device), scheduler, tokens(), "simulated".into());
    let mut receivers = Vec::new();
    for length in [20, 600, 30] {
        let prompt = PromptTokens {
            shared: Vec::new(),
            own: vec![1; length],
        };
        let limits = Limits {
            max_tokens: 3,
            stop: Vec::new(),
        };
        let (sender, receiver) = oneshot::channel();
        runner.take_in(Job {
            prompt,
            request: Request::Generate(limits),
            sender,
        });
        receivers.push(receiver);
    }
    while runner.under_way() > 0 {
        for (sender, answer) in runner.turn(VecDeque::new) {
            sender.send(answer).unwrap();
        }
    }
    let answers = receivers
        .iter_mut()
        .map(|receiver| receiver.try_recv().unwrap());
    let refused: Vec<bool> = answers
        .map(|answer| matches!(answer, Err(ModelError::OutOfMemory { .. })))
        .collect();
    assert_eq!(refused, [false, true, false]);
}

/// A step's own memory may not be had however small the batch: callers get an error, nobody waits
/// for ever.
#[test]
fn where_no_step_ever_has_room_every_caller_gets_an_error() {
    let (device, seen) = Simulated::new(10_000, 1, 1);
    let scheduler = Scheduler::new(128..=4096, 64, 16);
    let mut runner = Runner::new(Box::new(device), scheduler, tokens(), "simulated".into());
    let mut receivers = Vec::new();
    for _ in 0..5 {
        let (sender, receiver) = oneshot::channel();
        runner.take_in(Job {
            prompt: PromptTokens {
                shared: vec![vec![2; 10]],
                own: vec![1; 30],
            },
            request: Request::Classify(vec![1]),
            sender,
        });
        receivers.push(receiver);
    }
    while runner.under_way() > 0 {
        for (sender, answer) in runner.turn(VecDeque::new) {
            sender.send(answer).unwrap();
        }
        assert!(seen.lock().unwrap().failures < 1000);
    }
    for mut receiver in receivers {
        let answer = receiver.try_recv().unwrap();
        assert!(
            matches!(answer, Err(ModelError::OutOfMemory { .. })),
            "{answer:?}"
        );
    }
}

/// A thread that dies takes nobody with it.
#[tokio::test]
async fn callers_of_a_dead_engine_get_an_error() {
    struct Dying;
    impl Device for Dying {
        fn reserve(&mut self, _: Option<SegmentId>, _: usize) -> Result<SegmentId, StepError> {
            panic!("the device was lost");
        }
        fn release(&mut self, _: SegmentId) {}
        fn start(&mut self, _: &[Piece]) -> Result<(), StepError> {
            Ok(())
        }
        fn finish(&mut self) -> Result<Vec<Scores>, StepError> {
            Ok(Vec::new())
        }
        fn step_tokens(&self) -> usize {
            16
        }
        fn name(&self) -> String {
            "dying".into()
        }
        fn bytes_per_token(&self) -> usize {
            1
        }
    }
    let scheduler = Scheduler::new(128..=512, 4, 16);
    let engine = Engine::start(Box::new(Dying), scheduler, tokens(), "dying".into());
    for _ in 0..3 {
        let (sender, receiver) = oneshot::channel();
        engine.submit(Job {
            prompt: PromptTokens {
                shared: Vec::new(),
                own: vec![1],
            },
            request: Request::Classify(vec![1]),
            sender,
        });
        assert!(receiver.await.is_err());
    }
}
