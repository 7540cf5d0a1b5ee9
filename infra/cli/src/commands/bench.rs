//! `limn bench`: questions about one's own lake, with the tables that answer them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, bail};
use limn_bench::{
    Earlier, Ended, Kinds, KnownTables, Made, Mode, Origin, Question, Settings, make,
};
use limn_models::LanguageModel;
use limn_segment::IndexStore;
use limn_sql::Limits;
use serde::Serialize;

use crate::Outcome;
use crate::args::{BenchArgs, BenchCommand, MakeBenchArgs};
use crate::commands::sql::{SPILLED, opener};
use crate::commands::{language_model, newest, print_json};
use crate::interrupt::{INTERRUPTED, Interrupts};
use crate::progress::{QuestionBar, say};
use crate::text::{count, one_line, plural, seconds};

/// Visits to tables where nobody says how many, at least.
const VISITS: usize = 100;

pub async fn run(args: BenchArgs) -> anyhow::Result<Outcome> {
    match args.command {
        BenchCommand::Make(args) => make_questions(*args).await,
    }
}

async fn make_questions(args: MakeBenchArgs) -> anyhow::Result<Outcome> {
    if args.json.json && args.out.is_none() {
        bail!(
            "the questions go to standard output, where --json prints the report: give --out FILE"
        );
    }
    let mode = Mode::from(args.mode);
    let kinds = match (args.kinds.map(Kinds::from), mode) {
        (None, Mode::Template) => Kinds::Content,
        (None, Mode::Model) => Kinds::Both,
        (Some(Kinds::Context | Kinds::Both), Mode::Template) => {
            bail!("templates make content questions only: add --mode model, or leave --kinds out")
        }
        (Some(kinds), _) => kinds,
    };
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let model = match mode {
        Mode::Template => None,
        Mode::Model => Some(language_model::open(&args.model).await?),
    };
    if let Some(model) = &model {
        language_model::check_answers(model.as_ref()).await?;
    }
    let origin = Origin {
        mode,
        kinds,
        model: model.as_ref().map(|it| it.id().to_string()),
        seed: args.seed,
        snapshot: snapshot.number,
        writer: snapshot.writer.clone(),
        prefix: args.under.prefix.clone(),
    };
    let (mut out, earlier) = match &args.out {
        Some(path) => go_on(path, &origin)?,
        None => (Out::Standard, Earlier::default()),
    };
    let tables = index.tables(&snapshot, None).await?;
    let limits = Limits {
        max_rows: None,
        timeout: args.timeout,
        memory_bytes: args.memory,
        spill_bytes: args.memory.saturating_mul(SPILLED),
    };
    let known_tables = KnownTables::new(tables, opener(args.access.to_lake()), &limits);
    let settings = Settings {
        origin,
        model,
        questions: args.n,
        visits: args.max_tables.unwrap_or(args.n.max(VISITS)),
        time: args.max_time,
        progress: Arc::new(AtomicUsize::new(earlier.questions)),
        stop: Arc::new(AtomicBool::new(false)),
    };
    end_when_interrupted(Arc::clone(&settings.stop));
    let bar = QuestionBar::start("made", Arc::clone(&settings.progress), args.n);
    let made = make(&known_tables, &settings, earlier, |question| {
        out.keep(question)
    })
    .await;
    bar.finish();
    let report = Report::of(made?, &settings);
    match args.json.json {
        true => print_json(&report)?,
        false => report.say(),
    }
    Ok(match report.made.ended {
        Ended::Complete => Outcome::Done,
        Ended::Stopped => Outcome::Stopped,
        Ended::Visits | Ended::Time | Ended::Exhausted => Outcome::SomeFailed,
    })
}

/// Asks the run to end at the first interrupt, and ends the process at the second: each question is
/// whole on its line or not there.
fn end_when_interrupted(stop: Arc<AtomicBool>) {
    tokio::spawn(async move {
        // Where signals cannot be waited for, an interrupt ends the process as it always does.
        let Ok(mut interrupts) = Interrupts::new() else {
            return;
        };
        interrupts.next().await;
        stop.store(true, Ordering::Relaxed);
        interrupts.next().await;
        std::process::exit(i32::from(INTERRUPTED));
    });
}

/// Where questions go.
enum Out {
    Standard,
    File(File),
}

impl Out {
    fn keep(&mut self, question: &Question) -> io::Result<()> {
        let line = serde_json::to_string(question)? + "\n";
        match self {
            Out::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(line.as_bytes())?;
                out.flush()
            }
            Out::File(file) => file.write_all(line.as_bytes()),
        }
    }
}

/// Opens a file of questions behind the last that is whole.
fn go_on(path: &Path, origin: &Origin) -> anyhow::Result<(Out, Earlier)> {
    let shown = path.display().to_string();
    let failed = || format!("cannot write {shown}; check --out");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).with_context(failed)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(failed)?;
    // A letter that was cut in two at the end is of what was interrupted.
    let text = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()])
        }
        text => text,
    };
    let text = text.with_context(|| format!("{shown} is no text; choose another --out"))?;
    let earlier = Earlier::read(text, &shown, origin)?;
    let end = earlier.whole_bytes as u64;
    file.set_len(end).with_context(failed)?;
    file.seek(SeekFrom::Start(end)).with_context(failed)?;
    Ok((Out::File(file), earlier))
}

/// What is reported at the end.
#[derive(Serialize)]
struct Report {
    mode: Mode,
    seed: u64,
    snapshot: u64,
    wanted: usize,
    #[serde(flatten)]
    made: Made,
    /// What the model has done in this run, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<ModelUsage>,
    notes: Vec<&'static str>,
}

/// What a model has done.
#[derive(Serialize)]
struct ModelUsage {
    prompts: u64,
    prompt_tokens: u64,
    generated_tokens: u64,
    /// In the currency of the prices, where they are known.
    cost: Option<f64>,
}

impl ModelUsage {
    fn of(model: &dyn LanguageModel) -> ModelUsage {
        let usage = model.usage();
        ModelUsage {
            prompts: usage.prompts,
            prompt_tokens: usage.prompt_tokens,
            generated_tokens: usage.generated_tokens,
            cost: usage.cost,
        }
    }

    fn line(&self) -> String {
        let cost = self.cost.map(|cost| format!(", cost {cost:.4}"));
        format!(
            "{}, {} tokens read and {} written{}",
            plural(self.prompts, "prompt"),
            count(self.prompt_tokens),
            count(self.generated_tokens),
            cost.unwrap_or_default()
        )
    }
}

impl Report {
    fn of(made: Made, settings: &Settings) -> Report {
        Report {
            mode: settings.origin.mode,
            seed: settings.origin.seed,
            snapshot: settings.origin.snapshot,
            wanted: settings.questions,
            usage: settings.model.as_deref().map(ModelUsage::of),
            notes: notes(&settings.origin, made.ended),
            made,
        }
    }

    fn say(&self) {
        let made = &self.made;
        let earlier = match made.earlier {
            0 => String::new(),
            earlier => format!(", {} of them by earlier runs", count(earlier as u64)),
        };
        if made.earlier >= self.wanted {
            say(&format!(
                "nothing to make: the file has {} about snapshot {} already, and {} wanted",
                plural(made.earlier as u64, "question"),
                self.snapshot,
                match self.wanted {
                    1 => "1 is".to_owned(),
                    wanted => format!("{} are", count(wanted as u64)),
                },
            ));
            return;
        }
        say(&format!(
            "{} of {} about snapshot {}{earlier}; {} ({:.0} %) of {} drawn became one, in {}",
            count(made.questions as u64),
            plural(self.wanted as u64, "question"),
            self.snapshot,
            count((made.questions - made.earlier) as u64),
            100.0 * made.share,
            count(made.drawn as u64),
            seconds(made.seconds),
        ));
        for (what, by) in [
            ("rejected", &made.rejected),
            ("tables passed over", &made.passed_over),
        ] {
            if !by.is_empty() {
                let by = by
                    .iter()
                    .map(|(why, times)| format!("{times} {}", words(why)));
                say(&format!("{what}: {}", by.collect::<Vec<_>>().join(", ")));
            }
        }
        if let Some(usage) = &self.usage {
            say(&format!("the model: {}", usage.line()));
        }
        if let Some(failure) = &made.failure {
            say(&format!("the first failure: {}", one_line(failure)));
        }
        self.notes
            .iter()
            .for_each(|note| say(&format!("note: {note}")));
    }
}

/// A cause in words.
fn words(cause: &str) -> &str {
    match cause {
        "no_row" => "without an answer",
        "no_column" => "without a column for what was drawn",
        "repeated" => "asked before",
        "failed" => "that failed",
        "too_many_tables" => "whose columns too many tables have",
        "no_question" => "for which the model wrote no question",
        "cycle" => "whose question came to another statement",
        "rewording" => "whose question could not be worded anew",
        "no_context" => "for which the model invented no context",
        "private" => "whose question has somebody's own in it",
        "not_answered" => "whose context does not answer the question",
        "vague" => "whose question most tables answer",
        "model_failed" => "for which the model failed",
        "unsure" => "that a table could not be asked",
        "empty" => "without rows",
        "no_columns" => "without columns that may be shown",
        "unreadable" => "that cannot be read",
        other => other,
    }
}

const NAMES: &str = "most questions by a model say columns' names as they are: those whose template ends in -reworded do not";

fn notes(origin: &Origin, ended: Ended) -> Vec<&'static str> {
    let mut notes = match origin.mode {
        Mode::Template => vec![
            "questions from templates say columns and values nearly as the tables do: they are easier than people's",
            "content questions only: a template that asks for a table by its context could only repeat the context",
        ],
        Mode::Model if origin.kinds == Kinds::Content => vec![NAMES],
        Mode::Model => vec![
            NAMES,
            "which tables answer a question about contexts is the model's word",
            "invented contexts are in no index: questions about them show how far names, columns and rows stand in for contexts",
        ],
    };
    notes.extend(match ended {
        Ended::Complete => None,
        Ended::Stopped => Some("stopped: the same command with --out goes on"),
        Ended::Visits => Some("all visits to tables are made: --max-tables allows more"),
        Ended::Time => {
            Some("the time is over: the same command with --out goes on, --max-time allows more")
        }
        Ended::Exhausted => Some("all tables were visited once more without a new question"),
    });
    notes
}
