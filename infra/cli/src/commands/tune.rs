//! `limn tune`: weights of the ranking for one index, kept only if they help.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, Utc};
use limn_retrieval::eval::{
    Gain, LeftOut, Tuning, TuningMeasures, TuningOptions, TuningQuestions, tune,
};
use limn_retrieval::{Tuned, Weights};
use limn_segment::IndexStore;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::TuneArgs;
use crate::commands::eval_files::read;
use crate::commands::{newest, open_searcher, print_json};
use crate::progress::{QuestionBar, say};
use crate::text::{plural, seconds};

pub async fn run(args: TuneArgs) -> anyhow::Result<Outcome> {
    match (args.show, args.reset) {
        (true, _) => show(&args).await,
        (_, true) => reset(&args).await,
        _ => fit(args).await,
    }
}

/// The weights that hold, as they are printed.
#[derive(Serialize)]
struct Shown<'a> {
    snapshot: u64,
    weights: Weights,
    tuned: Option<&'a Value>,
}

/// Prints the weights that hold.
async fn show(args: &TuneArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let tuned = Tuned::of(&snapshot).unwrap_or_else(|error| {
        say(&format!("limn's own weights hold: {error}"));
        None
    });
    let weights = tuned.map_or(Weights::LEARNED, |it| it.weights);
    if args.output.json {
        let kept = tuned.map(|_| &snapshot.ranking);
        print_json(&Shown {
            snapshot: snapshot.number,
            weights,
            tuned: kept,
        })?;
        return Ok(Outcome::Done);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", in_words(&weights))?;
    let whose = match tuned {
        None => "limn's own weights: the index has none".to_owned(),
        Some(tuned) => format!(
            "the index's own weights, fitted to {}{}: hit@1 {}",
            plural(tuned.questions as u64, "question"),
            match DateTime::<Utc>::from_timestamp_millis(tuned.tuned_ms) {
                Some(time) => format!(" on {}", time.to_rfc3339_opts(SecondsFormat::Secs, true)),
                None => String::new(),
            },
            points(tuned.gain.mean.hit_at_1, tuned.gain.standard_error.hit_at_1)
        ),
    };
    writeln!(out, "{whose}")?;
    out.flush()?;
    Ok(Outcome::Done)
}

/// Takes the index's own weights out.
async fn reset(args: &TuneArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let had_some = !newest(&index).await?.ranking.is_null();
    let snapshot = match had_some {
        true => Some(index.put_ranking(&Value::Null).await?),
        false => None,
    };
    if args.output.json {
        print_json(&json!({"reset": had_some, "snapshot": snapshot}))?;
        return Ok(Outcome::Done);
    }
    let mut out = io::stdout().lock();
    match snapshot {
        Some(number) => writeln!(
            out,
            "limn's own weights hold again, from snapshot {number} on"
        )?,
        None => writeln!(out, "the index has no weights of its own")?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// What tuning reports.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    tuning: Tuning,
    splits: usize,
    seed: u64,
    /// The snapshot that has the weights now; null where nothing was kept.
    kept: Option<u64>,
    seconds: f64,
    notes: Vec<String>,
}

async fn fit(args: TuneArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let mut questions = TuningQuestions::default();
    let files = [
        (&args.questions, "the questions file", "--questions"),
        (&args.feedback, "the feedback file", "--feedback"),
    ];
    for (path, what, flag) in files {
        if let Some(path) = path {
            let text = read(path, what, flag)?;
            questions.read(&text, &path.display().to_string())?;
        }
    }
    let searcher = open_searcher(&args.index.index, &args.encoder).await?;
    let had_some = !searcher.snapshot().ranking.is_null();
    // What cannot be used is replaced.
    let known = Tuned::of(searcher.snapshot()).ok().flatten();
    let known = known.map(|it| (it, searcher.snapshot().ranking.clone()));
    let options = TuningOptions {
        splits: args.splits,
        seed: args.seed,
        threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        progress: Arc::default(),
    };
    let bar = QuestionBar::start("asked", Arc::clone(&options.progress), questions.len());
    let fitting = tokio::task::spawn_blocking(move || tune(&searcher, &questions, &options)).await;
    bar.finish();
    let tuning = fitting??;
    let kept = match tuning.helps && !args.dry_run {
        true => {
            let now = Utc::now().timestamp_millis();
            let tuned = Tuned::now(tuning.weights, tuning.questions, tuning.gain, now);
            // The same ones are published no second time.
            let ranking = match known.filter(|(known, _)| tuned.is_as(known)) {
                Some((_, ranking)) => ranking,
                None => tuned.to_json()?,
            };
            let index = IndexStore::open(&args.index.index)?;
            Some(index.put_ranking(&ranking).await?)
        }
        false => None,
    };
    let mut notes = notes(&tuning.left_out);
    if had_some && !tuning.helps {
        notes.push("the index keeps the weights that it has; --reset takes them out".to_owned());
    }
    let report = Report {
        tuning,
        splits: args.splits,
        seed: args.seed,
        kept,
        seconds: start.elapsed().as_secs_f64(),
        notes,
    };
    match args.output.json {
        true => print_json(&report)?,
        false => print(&report)?,
    }
    Ok(Outcome::Done)
}

/// What took no part.
fn notes(left_out: &LeftOut) -> Vec<String> {
    let one_of = |count: usize, one: &str, what: &str, few: &str, many: &str| {
        let verb = if count == 1 { few } else { many };
        (count > 0).then(|| format!("{} {verb} {what}", plural(count as u64, one)))
    };
    let notes = [
        one_of(
            left_out.contradicting,
            "table",
            "said to be right and wrong for the same question, and left out",
            "is",
            "are",
        ),
        one_of(
            left_out.without_tables,
            "question",
            "left out: no table is known to be right",
            "is",
            "are",
        ),
        one_of(
            left_out.not_in_index,
            "question",
            "left out: the index lacks the tables",
            "is",
            "are",
        ),
        one_of(
            left_out.above_most,
            "question",
            "left out: there are more than are taken",
            "is",
            "are",
        ),
    ];
    notes.into_iter().flatten().collect()
}

fn print(report: &Report) -> io::Result<()> {
    let Tuning {
        questions,
        own,
        held_out,
        gain,
        weights,
        finds,
        helps,
        ..
    } = &report.tuning;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}, halved {}: each is judged by weights that were fitted without it",
        plural(*questions as u64, "question"),
        match report.splits {
            1 => "once".to_owned(),
            splits => format!("{splits} times"),
        },
    )?;
    writeln!(out, "{:>7} {:>8} {:>8}  gain", "", "limn's", "fitted")?;
    let rows = [
        (
            "hit@1",
            (|it: &TuningMeasures| it.hit_at_1) as fn(&TuningMeasures) -> f64,
        ),
        ("hit@5", |it| it.hit_at_5),
        ("full@5", |it| it.full_at_5),
    ];
    let Gain {
        mean,
        standard_error,
    } = gain;
    for (name, of) in rows {
        writeln!(
            out,
            "{name:>7} {:>7.1}% {:>7.1}%  {}",
            100.0 * of(own),
            100.0 * of(held_out),
            points(of(mean), of(standard_error))
        )?;
    }
    writeln!(out, "limn's weights: {}", in_words(&Weights::LEARNED))?;
    writeln!(out, "fitted to all:  {}", in_words(weights))?;
    writeln!(out, "{}", verdict(*helps, *finds, report.kept))?;
    writeln!(out, "took {}", seconds(report.seconds))?;
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    out.flush()
}

fn verdict(helps: bool, finds: bool, kept: Option<u64>) -> String {
    match (helps, kept) {
        _ if !finds => "the questions find tables of other questions as often as their own, for theirs are wrong or \
             mostly the same ones, and so say nothing of the ranking: the index stays as it is; give questions that \
             ask for more different tables"
            .to_owned(),
        (true, Some(number)) => {
            format!("it helps: the index is searched with them, from snapshot {number} on")
        }
        (true, None) => "it helps: without --dry-run the weights would be kept".to_owned(),
        (false, _) => {
            "it does not clearly help, by two standard errors: the index stays as it is".to_owned()
        }
    }
}

fn in_words(weights: &Weights) -> String {
    let named = weights
        .named()
        .map(|(name, weight)| format!("{name} {weight}"));
    named.join(", ")
}

/// A difference of shares in percentage points, with its standard error.
fn points(mean: f64, error: f64) -> String {
    // Without a sign where it is rounded to nothing.
    let mean = (1000.0 * mean).round() / 10.0 + 0.0;
    format!("{mean:+.1} ± {:.1} points", 100.0 * error)
}
