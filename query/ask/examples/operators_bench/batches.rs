//! Rows a second, one question at a time and many: the prompts of a filter and of texts, with what
//! they share computed once, and with nothing shared.
//!
//! Widths take turns within a round, so that whatever else the machine does falls on all of them;
//! the processor's own seconds stand beside those of the clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use limn_ask::semantic::{AnswersInMemory, Asker, run};
use limn_models::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};
use serde_json::{Value, json};

use crate::Failure;
use crate::data::batch;
use crate::measured::{Bench, operation, rounded};

/// Prompts of a measurement: as many as are asked at once, and at least so many; of those that are
/// asked one at a time half.
const PROMPTS: usize = 12;
const ROUNDS: usize = 3;
/// Tokens of a longer text.
const SENTENCE: usize = 24;

/// What is measured.
struct Kind {
    name: &'static str,
    stage: fn(usize) -> Value,
    /// Tokens that are written; a word is chosen where there are none.
    written: usize,
    is_shared: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "yes or no",
        stage: filter,
        written: 0,
        is_shared: true,
    },
    Kind {
        name: "yes or no, nothing shared",
        stage: filter,
        written: 0,
        is_shared: false,
    },
    Kind {
        name: "short text",
        stage: text,
        written: 8,
        is_shared: true,
    },
    Kind {
        name: "sentence of 24 tokens",
        stage: text,
        written: SENTENCE,
        is_shared: true,
    },
];

fn filter(round: usize) -> Value {
    json!({"sem_filter": {"input": "r", "instruction": format!("{{Name}} has more than {round} rivers")}})
}

fn text(round: usize) -> Value {
    json!({"sem_map": {
        "input": "r", "instruction": format!("{round} things that {{Name}} is known for"),
        "output": {"name": "things"}}})
}

/// Remembers what it is asked.
struct Recorder {
    id: ModelId,
    counts: Arc<dyn LanguageModel>,
    prompts: Mutex<Vec<Prompt>>,
}

impl Recorder {
    fn record(&self, prompt: &Prompt) {
        let mut prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        prompts.push(prompt.clone());
    }
}

#[async_trait]
impl LanguageModel for Recorder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.counts.count_tokens(text)
    }

    fn window(&self) -> usize {
        self.counts.window()
    }

    fn concurrency(&self) -> usize {
        1
    }

    async fn generate(&self, prompt: &Prompt, _: &Limits) -> Result<Generated, ModelError> {
        self.record(prompt);
        Ok(Generated {
            text: "nothing".to_owned(),
            finish: Finish::Stopped,
            prompt_tokens: 0,
            generated_tokens: 0,
        })
    }

    async fn classify(&self, prompt: &Prompt, _: &[&str]) -> Result<Classified, ModelError> {
        self.record(prompt);
        Ok(Classified {
            choice: 0,
            log_probabilities: None,
            prompt_tokens: 0,
        })
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// The prompts of a stage over these names.
async fn prompts(bench: &Bench, stage: Value, names: &[&str]) -> Result<Vec<Prompt>, Failure> {
    let recorder = Arc::new(Recorder {
        id: ModelId::new("recorder"),
        counts: Arc::clone(&bench.model),
        prompts: Mutex::default(),
    });
    let asker = Asker::new(
        Arc::clone(&recorder) as _,
        Arc::new(AnswersInMemory::default()),
    );
    run(&asker, &operation(stage)?, &[batch(&[("Name", names)])?]).await?;
    let mut prompts = recorder
        .prompts
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *prompts))
}

/// Seconds that this process has computed (`man 5 proc`, utime in hundredths).
fn user_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after) = stat.rsplit_once(')').ok_or("no process")?;
    let user = after.split_whitespace().nth(11).ok_or("no time")?;
    Ok(user.parse::<f64>()? / 100.0)
}

#[derive(Default)]
struct Taken {
    wall: Vec<f64>,
    user: Vec<f64>,
    read: u64,
    written: u64,
    prompts: u64,
}

async fn ask(bench: &Bench, prompts: &[Prompt], kind: &Kind, width: usize) -> Result<(), Failure> {
    let limits = Limits {
        max_tokens: kind.written.max(1),
        stop: Vec::new(),
    };
    let one = |prompt: &'_ Prompt| {
        let (prompt, limits, written) = (prompt.clone(), limits.clone(), kind.written);
        async move {
            match written {
                0 => bench
                    .model
                    .classify(&prompt, &["yes", "no"])
                    .await
                    .map(drop),
                _ => bench.model.generate(&prompt, &limits).await.map(drop),
            }
        }
    };
    let asked: Vec<_> = prompts.iter().map(one).collect();
    let asked = futures::stream::iter(asked).buffer_unordered(width);
    Ok(asked.try_collect::<()>().await?)
}

pub async fn all(bench: &Bench, widths: &[usize]) -> Result<Value, Failure> {
    let countries = bench
        .table("world_1__country")?
        .some(widths.iter().copied().max().unwrap_or(1).max(PROMPTS));
    let names = countries.column("Name")?;
    let mut figures = Vec::new();
    for kind in KINDS.iter().filter(|it| bench.wants(it.name)) {
        let mut taken: BTreeMap<usize, Taken> = BTreeMap::new();
        let mut number = 1;
        // The first round warms up, and computes what all share.
        for round in 0..=ROUNDS {
            for &width in widths {
                number += 1;
                let few = if width == 1 { PROMPTS / 2 } else { PROMPTS };
                let names = &names[..width.max(few)];
                let mut asked = prompts(bench, (kind.stage)(number), names).await?;
                if !kind.is_shared {
                    for (at, prompt) in asked.iter_mut().enumerate() {
                        prompt.system = format!("{number}.{at} {}", prompt.system).into();
                    }
                }
                if round == 0 {
                    asked.truncate(2);
                }
                let (before, user, began) = (bench.model.usage(), user_seconds()?, Instant::now());
                ask(bench, &asked, kind, width).await?;
                let (wall, user) = (began.elapsed().as_secs_f64(), user_seconds()? - user);
                let after = bench.model.usage();
                if round > 0 {
                    let of = taken.entry(width).or_default();
                    of.wall.push(wall / asked.len() as f64);
                    of.user.push(user / asked.len() as f64);
                    of.read += after.computed_prompt_tokens - before.computed_prompt_tokens;
                    of.written += after.generated_tokens - before.generated_tokens;
                    of.prompts += asked.len() as u64;
                }
            }
        }
        let line = line(kind, taken);
        println!("{line}");
        figures.push(line);
    }
    Ok(Value::from(figures))
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn line(kind: &Kind, taken: BTreeMap<usize, Taken>) -> Value {
    let mut alone = None;
    let of = |(width, taken): (usize, Taken)| {
        let (wall, user) = (median(taken.wall), median(taken.user));
        let (alone_wall, alone_user) = *alone.get_or_insert((wall, user));
        let each = |tokens: u64| tokens as f64 / taken.prompts as f64;
        json!({
            "at_once": width, "rows_per_second": rounded(1.0 / wall),
            "rows_per_processor_second": rounded(1.0 / user),
            "times_as_fast": rounded(alone_wall / wall),
            "times_as_cheap": rounded(alone_user / user),
            "tokens_read_a_row": rounded(each(taken.read)),
            "tokens_written_a_row": rounded(each(taken.written)),
        })
    };
    let widths: Vec<Value> = taken.into_iter().map(of).collect();
    json!({"kind": kind.name, "widths": widths})
}
