//! `limn models`: which models limn knows, fetching them ahead of time, and trying one.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use limn_models::{ALL_MINILM, ModelError, ModelStore};

use crate::Outcome;
use crate::args::{ModelOptions, ModelsArgs, ModelsCommand};
use crate::commands::language_model::{self, TRIAL, TRIAL_WORDS, try_out};
use crate::commands::{embedder_bench, models_bench, print_json};
use crate::progress::model_progress;
use crate::table::Table;
use crate::text::{bytes, one_line};

/// Prompts that a language model is measured with by default.
const BENCH_PROMPTS: usize = 64;

pub async fn run(args: ModelsArgs) -> anyhow::Result<Outcome> {
    match args.command {
        ModelsCommand::List { output } => list(output.json)?,
        ModelsCommand::Pull { name, output } => {
            pull(name.as_deref().unwrap_or(ALL_MINILM), output.json).await?;
        }
        ModelsCommand::Bench {
            model,
            prompts,
            texts,
            output,
        } => {
            if embedder_bench::is_embedder(model.name()) {
                if prompts.is_some() {
                    bail!(
                        "--prompts are for a language model; {} is an embedder, which takes --texts",
                        model.name()
                    );
                }
                return embedder_bench::run(&model, texts.as_deref(), output.json).await;
            }
            if texts.is_some() {
                bail!(
                    "--texts are for an embedder; {} is a language model",
                    model.name()
                );
            }
            let prompts = prompts.unwrap_or(BENCH_PROMPTS);
            return models_bench::run(&model, prompts, output.json).await;
        }
        ModelsCommand::Check { model, output } => check(&model, output.json).await?,
    }
    Ok(Outcome::Done)
}

fn list(json: bool) -> anyhow::Result<()> {
    let store = ModelStore::from_env();
    let rows: Vec<_> = ModelStore::cards()
        .iter()
        .map(|card| (card, store.is_ready(card.name)))
        .collect();
    if json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(card, here)| {
                serde_json::json!({
                    "name": card.name,
                    "kind": card.kind.as_str(),
                    "use": card.purpose,
                    "licence": card.licence,
                    "bytes": card.bytes(),
                    "pulled": matches!(here, Ok(true)),
                    "error": here.as_ref().err().map(ToString::to_string),
                })
            })
            .collect();
        print_json(&rows)?;
        return Ok(());
    }
    let mut table = Table::new(&["model", "kind", "use", "licence", "size", "here"], &[4]);
    let mut errors: Vec<String> = Vec::new();
    for (card, here) in rows {
        table.row(vec![
            card.name.to_owned(),
            card.kind.to_string(),
            card.purpose.to_owned(),
            card.licence.to_owned(),
            bytes(card.bytes()),
            match &here {
                Ok(true) => "yes",
                Ok(false) => "no",
                Err(ModelError::NoFolder) => "no folder",
                Err(_) => "damaged",
            }
            .to_owned(),
        ]);
        errors.extend(here.err().map(|error| one_line(&error.to_string())));
    }
    // Models of the same weights share their files and so what is wrong with them.
    errors.dedup();
    let mut out = io::stdout().lock();
    table.write(&mut out)?;
    for error in errors {
        writeln!(out, "note: {error}")?;
    }
    if let Ok(root) = store.root() {
        writeln!(
            out,
            "models are kept in {} (LIMN_MODELS names another folder)",
            one_line(&root.display().to_string())
        )?;
    }
    out.flush()?;
    Ok(())
}

async fn pull(name: &str, json: bool) -> anyhow::Result<()> {
    let card = ModelStore::card(name)?;
    let built_in = card.folder.is_none();
    if !built_in {
        let progress = model_progress();
        tokio::task::spawn_blocking(move || {
            let files = ModelStore::from_env().pull(card.name, &|event| progress.on(&event));
            progress.finish();
            files
        })
        .await
        .context("the model loader died")??;
    }
    if json {
        print_json(&serde_json::json!({
            "name": card.name, "bytes": card.bytes(), "built_in": built_in,
        }))?;
        return Ok(());
    }
    let state = if built_in {
        "built in, there is nothing to fetch"
    } else {
        "here and verified"
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{name} is {state}")?;
    out.flush()?;
    Ok(())
}

/// Asks a question that every model can answer, in the way in which a judge asks.
async fn check(options: &ModelOptions, json: bool) -> anyhow::Result<()> {
    let model = language_model::open(options).await?;
    let started = Instant::now();
    let answer = try_out(model.as_ref()).await;
    let seconds = started.elapsed().as_secs_f64();
    let (word, probability) = match &answer {
        Ok(answer) => {
            let logs = answer.log_probabilities.as_ref();
            (
                Some(TRIAL_WORDS[answer.choice]),
                logs.map(|logs| logs[answer.choice].exp()),
            )
        }
        // It answers, if not as instructed.
        Err(ModelError::NoChoice { .. }) => (None, None),
        Err(error) => return Err(error.clone().into()),
    };
    let usage = model.usage();
    if json {
        print_json(&serde_json::json!({
            "model": model.id().as_str(), "answer": word, "probability": probability,
            "seconds": seconds, "prompt_tokens": usage.prompt_tokens,
            "generated_tokens": usage.generated_tokens, "cost": usage.cost,
            "window": model.window(), "concurrency": model.concurrency(),
        }))?;
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let id = one_line(model.id().as_str());
    write!(out, "{id} answers in {seconds:.2} s: ")?;
    match (word, probability) {
        (Some(word), Some(probability)) => {
            write!(
                out,
                "{word} (probability {probability:.2}) to \"{TRIAL}\"; it can narrate"
            )?;
        }
        (Some(word), None) => write!(
            out,
            "{word} to \"{TRIAL}\"; it can narrate, and gives no probabilities, so it cannot be calibrated as a judge"
        )?,
        (None, _) => write!(out, "neither yes nor no to \"{TRIAL}\"; it may narrate")?,
    }
    let verdict = match word {
        Some("yes") => "",
        _ => ", and would judge badly",
    };
    writeln!(out, "{verdict}")?;
    out.flush()?;
    Ok(())
}
