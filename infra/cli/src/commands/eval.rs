//! `limn eval`: how often questions find their tables.

use std::io::{self, Write};
use std::num::NonZeroUsize;

use anyhow::Context;
use limn_retrieval::eval::{EvalOptions, Evaluation, evaluate, read_questions};

use crate::Outcome;
use crate::args::EvalArgs;
use crate::commands::{open_searcher, print_json, query};
use crate::text::plural;

pub async fn run(args: EvalArgs) -> anyhow::Result<Outcome> {
    let path = args.questions.display().to_string();
    let text = std::fs::read_to_string(&args.questions)
        .with_context(|| format!("cannot read the questions file {path}"))
        .map_err(|error| anyhow::anyhow!("{error:#}; check --questions"))?;
    let mut questions = read_questions(&text, &path)?;
    questions.truncate(args.limit.unwrap_or(usize::MAX));
    let options = EvalOptions {
        k: args.k.clone(),
        query: query("", 1, &args.options)?,
        threads: args
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        vectors_given: args.vectors_given,
    };
    let searcher = open_searcher(&args.index.index).await?;
    let evaluation =
        tokio::task::spawn_blocking(move || evaluate(&searcher, &questions, &options)).await??;
    if args.output.json {
        print_json(&evaluation)?;
    } else {
        print(&evaluation)?;
    }
    Ok(Outcome::Done)
}

fn print(evaluation: &Evaluation) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{} questions", evaluation.questions)?;
    writeln!(out, "{:>5} {:>8} {:>8} {:>8}", "k", "hit", "recall", "full")?;
    for (k, shares) in &evaluation.k {
        writeln!(
            out,
            "{k:>5} {:>7.1}% {:>7.1}% {:>7.1}%",
            100.0 * shares.hit,
            100.0 * shares.recall,
            100.0 * shares.full
        )?;
    }
    writeln!(
        out,
        "mrr {:.3}; {:.0} questions/s; latency p50 {:.1} ms, p99 {:.1} ms",
        evaluation.mrr,
        evaluation.questions_per_s,
        evaluation.latency_ms.p50,
        evaluation.latency_ms.p99
    )?;
    if evaluation.gold_tables_missing > 0 {
        writeln!(
            out,
            "note: the index lacks {} that the questions name: is it the index of another lake?",
            plural(evaluation.gold_tables_missing as u64, "table")
        )?;
    }
    out.flush()
}
