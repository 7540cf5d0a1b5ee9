//! `limn ask`: a question to its answer, with the plan and the rows that prove it.

mod planning;
mod print;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::bail;
use limn_ask::check::check;
use limn_ask::plan::Plan;
use limn_ask::run::Event;
use limn_ask::semantic::{AnswersInIndex, AnswersInMemory, Asker, Budget, KeptAnswers};
use limn_ask::{AskAnswer, AskError, Asking, SpentTokens};
use limn_models::LanguageModel;
use limn_segment::{IndexStore, Snapshot, TableKey, TableRecord};
use limn_sql::{Catalogue, Engine, Limits, SqlError};

use crate::Outcome;
use crate::args::AskArgs;
use crate::commands::sql::{SPILLED, opener};
use crate::commands::{embedder_of, newest, print_json};
use crate::progress::{Waiting, say};
use crate::text::one_line;

/// What to do where no statement could be written.
const REMEDY: &str = "a statement of your own is run by `limn sql`";
/// Bytes of a plan.
const MOST_PLAN: u64 = 1 << 20;

pub async fn run(args: AskArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let tables = index.tables(&snapshot, None).await?;
    let records: HashMap<TableKey, TableRecord> =
        tables.iter().map(|it| (it.key(), it.clone())).collect();
    let mut catalogue = Catalogue::new(tables, opener(args.access.to_lake()));
    if let Some(lake) = &args.lake {
        catalogue = catalogue.of_lake(lake)?;
    }
    let limits = Limits {
        max_rows: None,
        timeout: args.timeout,
        memory_bytes: args.memory,
        spill_bytes: args.memory.saturating_mul(SPILLED),
    };
    let engine = Engine::new(catalogue, limits);
    let until = start + args.budget_seconds;
    let question = args.question.join(" ");
    let given = match (&args.plan, &args.sql) {
        (Some(path), _) => Some(plan_of(path, &question)?),
        (None, Some(sql)) => Some(limn_ask::compile::plan_of(&engine, sql, question)?),
        (None, None) => None,
    };
    let kept: Arc<dyn KeptAnswers> = match args.no_keep {
        true => Arc::new(AnswersInMemory::default()),
        false => Arc::new(AnswersInIndex::new(index.clone(), true)),
    };
    let mut notes = Vec::new();
    let mut writing = SpentTokens::default();
    let (plan, model) = match given {
        Some(plan) => {
            let model = model_of(&args, &engine, &plan).await?;
            (plan, model)
        }
        None => {
            let planned = planning::planned(&args, &engine, Arc::clone(&kept), until).await?;
            let (written, model) = (planned.written, planned.model);
            writing = planned.spent;
            let Some(plan) = written.plan.clone() else {
                if let Some(hindrance) = written.hindrance() {
                    bail!("no statement could be run: {hindrance}");
                }
                let mut answer = AskAnswer::unanswered(&args.question.join(" "), &written, REMEDY);
                if args.plan_only && !args.json.json {
                    bail!(answer.notes.join("; "));
                }
                answer.cost.writing = writing;
                answer.cost.seconds = start.elapsed().as_secs_f64();
                show(&args, &answer)?;
                return Ok(Outcome::Done);
            };
            notes.extend(written.notes);
            (plan, model)
        }
    };
    let asker = match model {
        Some(model) => Some(asker(&args, &snapshot, model, kept, until).await?),
        None => None,
    };
    let mut answer = answered(&args, &engine, asker.as_ref(), plan, until).await?;
    answer.of_snapshot(snapshot.number, |key| records.get(key));
    answer.cost.writing = writing;
    answer.cost.seconds = start.elapsed().as_secs_f64();
    answer.notes.extend(notes);
    show(&args, &answer)?;
    Ok(match answer.is_partial {
        true => Outcome::SomeFailed,
        false => Outcome::Done,
    })
}

/// What a plan answers, or would cost.
async fn answered(
    args: &AskArgs,
    engine: &Engine,
    asker: Option<&Asker>,
    plan: Plan,
    until: Instant,
) -> anyhow::Result<AskAnswer> {
    let waiting = Mutex::new(None::<Waiting>);
    let on = |event: &Event<'_>| on_event(event, &waiting);
    let asking = Asking {
        engine,
        asker,
        budget_tokens: args.budget_tokens,
        on: &on,
    };
    let answering = async {
        match args.plan_only {
            true => asking.estimate(plan).await,
            false => asking.answer(plan).await,
        }
    };
    let answered = tokio::time::timeout_at(until.into(), answering).await;
    if let Some(waiting) = waiting.into_inner().ok().flatten() {
        waiting.finish();
    }
    let Ok(answered) = answered else {
        if let Some(asker) = asker {
            asker.keep().await?;
        }
        bail!(
            "the time is over ({}): --budget-seconds allows more; what the model has answered is kept",
            humantime::format_duration(args.budget_seconds)
        );
    };
    answered.map_err(|error| with_command(error, &args.index.index))
}

/// The model that a plan needs, if it needs one. A wrong plan loads none.
async fn model_of(
    args: &AskArgs,
    engine: &Engine,
    plan: &Plan,
) -> anyhow::Result<Option<Arc<dyn LanguageModel>>> {
    if !check(engine, plan.clone()).await?.needs_model() {
        return Ok(None);
    }
    if args.no_model && !args.plan_only {
        bail!("the plan has stages that a language model runs, and --no-model allows none");
    }
    planning::model(args).await
}

fn show(args: &AskArgs, answer: &AskAnswer) -> anyhow::Result<()> {
    match (args.json.json, args.plan_only, &answer.plan) {
        (true, _, _) => print_json(answer)?,
        (false, true, Some(plan)) => {
            print_json(plan)?;
            print::cost(answer);
        }
        _ => print::answer(answer, args.explain)?,
    }
    Ok(())
}

/// The model that is asked about rows.
async fn asker(
    args: &AskArgs,
    snapshot: &Snapshot,
    model: Arc<dyn LanguageModel>,
    kept: Arc<dyn KeptAnswers>,
    until: Instant,
) -> anyhow::Result<Asker> {
    let budget = Budget {
        tokens: args.budget_tokens,
        time: Some(until.saturating_duration_since(Instant::now())),
    };
    let embedder = embedder_of(snapshot, &args.encoder).await?;
    let asker = Asker::new(model, kept).with_embedder(embedder);
    Ok(asker.with_budget(budget))
}

/// The plan that a file has, for a question where one is asked.
fn plan_of(path: &Path, question: &str) -> anyhow::Result<Plan> {
    let mut text = String::new();
    let (from, read): (String, io::Result<usize>) = match path.as_os_str() == "-" {
        true => (
            "standard input".to_owned(),
            io::stdin().take(MOST_PLAN).read_to_string(&mut text),
        ),
        false => (
            one_line(&path.display().to_string()),
            fs::File::open(path).and_then(|file| file.take(MOST_PLAN).read_to_string(&mut text)),
        ),
    };
    read.map_err(|error| anyhow::anyhow!("the plan in {from} cannot be read: {error}"))?;
    let mut plan: Plan = serde_json::from_str(&text)
        .map_err(|error| anyhow::anyhow!("the plan in {from} cannot be understood: {error}"))?;
    if !question.is_empty() {
        question.clone_into(&mut plan.question);
    }
    Ok(plan)
}

/// Says on standard error, where a person looks on, what is being done.
fn on_event(event: &Event<'_>, waiting: &Mutex<Option<Waiting>>) {
    let Ok(mut waiting) = waiting.lock() else {
        return;
    };
    if let Some(waiting) = waiting.take() {
        waiting.finish();
    }
    match event {
        Event::StageStarted {
            stage,
            operation,
            at,
            of,
        } => {
            *waiting = Some(Waiting::start(format!(
                "stage {at} of {of}: {stage} ({operation})"
            )));
        }
        Event::Estimated { estimate } if estimate.calls > 0 => say(&print::estimate(estimate)),
        Event::Estimated { .. } | Event::StageFinished { .. } => {}
    }
}

/// An error with the command that mends it, of this index.
fn with_command(error: AskError, index: &str) -> anyhow::Error {
    match error.sql() {
        Some(SqlError::Stale(stale)) => anyhow::Error::msg(stale.line(index)),
        _ => error.into(),
    }
}
