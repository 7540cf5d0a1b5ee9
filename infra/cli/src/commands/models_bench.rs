//! `limn models bench`: how fast a language model reads and writes, many prompts at a time and one
//! by one.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use limn_models::{LanguageModel, Limits, ModelError, Prompt};
use serde::Serialize;

use crate::Outcome;
use crate::args::ModelOptions;
use crate::commands::{language_model, print_json};
use crate::table::Table;
use crate::text::one_line;

/// Words of a prompt that is only read: about 128 tokens with what is around them.
const WORDS: usize = 96;
const VOCABULARY: [&str; 17] = [
    "table", "water", "river", "price", "year", "name", "city", "the", "lake", "school", "of",
    "total", "order", "date", "team", "person", "country",
];
/// The longest answer of a prompt that is written to, in tokens.
const ANSWER: usize = 32;
/// Of so many prompts at a time, one is asked alone.
const ALONE: usize = 16;

/// Tokens a second.
#[derive(Clone, Copy, Debug, Serialize)]
struct Speed {
    prompts: usize,
    tokens: u64,
    seconds: f64,
    tokens_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Measured {
    model: String,
    load_seconds: f64,
    prompt: Pair,
    generation: Pair,
}

#[derive(Debug, Serialize)]
struct Pair {
    together: Speed,
    alone: Speed,
}

pub async fn run(options: &ModelOptions, prompts: usize, json: bool) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let model = language_model::open(options).await?;
    let load_seconds = began.elapsed().as_secs_f64();
    let few = prompts.div_ceil(ALONE);
    // Other prompts each time: nothing is to be remembered.
    let measured = Measured {
        model: model.id().to_string(),
        load_seconds,
        prompt: Pair {
            together: read(&model, 0..prompts, model.concurrency()).await?,
            alone: read(&model, prompts..prompts + few, 1).await?,
        },
        generation: Pair {
            together: write(&model, 0..prompts, model.concurrency()).await?,
            alone: write(&model, prompts..prompts + few, 1).await?,
        },
    };
    if json {
        print_json(&measured)?;
    } else {
        print(&measured)?;
    }
    Ok(Outcome::Done)
}

/// Has prompts read that have nothing in common.
async fn read(
    model: &Arc<dyn LanguageModel>,
    prompts: std::ops::Range<usize>,
    at_once: usize,
) -> Result<Speed, ModelError> {
    let before = model.usage().computed_prompt_tokens;
    let (count, began) = (prompts.len(), Instant::now());
    let mut answers = futures::stream::iter(prompts.map(|number| async move {
        let words: Vec<&str> = (0..WORDS)
            .map(|word| VOCABULARY[(number * 31 + word * 7) % VOCABULARY.len()])
            .collect();
        let prompt = Prompt {
            system: format!("Table {number}.").into(),
            shared: "".into(),
            own: format!("{} Is this a table?", words.join(" ")),
        };
        model.classify(&prompt, &["yes", "no"]).await
    }))
    .buffer_unordered(at_once);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(_) | Err(ModelError::NoChoice { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let tokens = model.usage().computed_prompt_tokens - before;
    Ok(speed(count, tokens, began))
}

/// Has answers written to short prompts.
async fn write(
    model: &Arc<dyn LanguageModel>,
    prompts: std::ops::Range<usize>,
    at_once: usize,
) -> Result<Speed, ModelError> {
    let before = model.usage().generated_tokens;
    let (count, began) = (prompts.len(), Instant::now());
    let limits = Limits {
        max_tokens: ANSWER,
        stop: Vec::new(),
    };
    let limits = &limits;
    let mut answers = futures::stream::iter(prompts.map(|number| async move {
        let prompt = Prompt {
            system: "You are a helpful assistant.".into(),
            shared: "".into(),
            own: format!("Tell a long story of the number {number}."),
        };
        model.generate(&prompt, limits).await
    }))
    .buffer_unordered(at_once);
    while let Some(answer) = answers.next().await {
        answer?;
    }
    let tokens = model.usage().generated_tokens - before;
    Ok(speed(count, tokens, began))
}

fn speed(prompts: usize, tokens: u64, began: Instant) -> Speed {
    let seconds = began.elapsed().as_secs_f64();
    Speed {
        prompts,
        tokens,
        seconds,
        tokens_per_second: tokens as f64 / seconds.max(1e-9),
    }
}

fn print(measured: &Measured) -> io::Result<()> {
    let mut table = Table::new(
        &["", "prompts", "tokens", "seconds", "tokens/s"],
        &[1, 2, 3, 4],
    );
    let rows = [
        ("reading, together", measured.prompt.together),
        ("reading, one at a time", measured.prompt.alone),
        ("writing, together", measured.generation.together),
        ("writing, one at a time", measured.generation.alone),
    ];
    for (what, speed) in rows {
        table.row(vec![
            what.to_owned(),
            speed.prompts.to_string(),
            speed.tokens.to_string(),
            format!("{:.1}", speed.seconds),
            format!("{:.1}", speed.tokens_per_second),
        ]);
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}, loaded in {:.1} s",
        one_line(&measured.model),
        measured.load_seconds
    )?;
    table.write(&mut out)?;
    out.flush()
}
