//! `limn eval`: how often questions find their tables, compared with a saved run, and calibrated.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use chrono::{SecondsFormat, Utc};
use limn_models::{LanguageModel, ModelId};
use limn_retrieval::eval::{
    Comparison, EvalOptions, EvalQuestion, Evaluation, Explanation, Graded, Grades, Interval,
    KindShares, SavedQuestion, calibrate_judge, compare, evaluate, read_questions, write_saved,
};
use limn_retrieval::judge::{Calibration, Measures};
use limn_retrieval::{Grading, ScoredBy};
use serde::Serialize;

use crate::Outcome;
use crate::args::EvalArgs;
use crate::commands::eval_files::{Named, features_text, is_same, read, saved_run};
use crate::commands::explained::{explained, print as print_explained};
use crate::commands::judge::{self, Cost};
use crate::commands::search::TUNED;
use crate::commands::{joins_of, language_model, open_searcher, print_json, query, sets};
use crate::progress::QuestionBar;
use crate::text::{one_line, plural};

/// The cut-offs that are measured where none are said.
const CUTS: [usize; 3] = [1, 5, 10];
/// Questions asked at once at most, however much the judge could take.
const MOST_AT_ONCE: usize = 48;

pub async fn run(args: EvalArgs) -> anyhow::Result<Outcome> {
    let path = args.questions.display().to_string();
    let text = read(&args.questions, "the questions file", "--questions")?;
    let mut questions = read_questions(&text, &path)?;
    questions.truncate(args.limit.unwrap_or(usize::MAX));
    if args.calibrate {
        return calibrate(args, questions).await;
    }
    if args.join {
        return sets::eval(args, questions).await;
    }
    let saved = args.against.as_deref().map(saved_run).transpose()?;
    let (saves, keeps) = kept_files(&args)?;
    let searcher = open_searcher(&args.index.index, &args.encoder).await?;
    let judging = judge::open(&args.options.judging, &args.model).await?;
    let mut query = query("", 1, &args.options)?;
    query.judge = judging.judge.clone();
    query.joins = joins_of(&args.index.index, searcher.snapshot(), &args.options).await?;
    let model = judging.judge.as_ref().map(|judge| judge.model());
    if let Some(model) = model {
        language_model::check_answers(model.as_ref()).await?;
    }
    let options = options(&args, query, model)?;
    let is_tuned = searcher.scored_by(&options.query) == ScoredBy::Tuned;
    let bar =
        model.map(|_| QuestionBar::start("judged", Arc::clone(&options.progress), questions.len()));
    let start = Instant::now();
    let explains = args.explain;
    let evaluating = tokio::task::spawn_blocking(move || {
        let (evaluation, run) = evaluate(&searcher, &questions, &options)?;
        let explained = explains.then(|| explained(&searcher, &questions, &run, &options));
        let features = keeps.map(|file| (file, features_text(&searcher, &questions, &options)));
        anyhow::Ok((evaluation, run, explained.transpose()?, features))
    });
    let evaluating = evaluating.await;
    if let Some(bar) = bar {
        bar.finish();
    }
    let (evaluation, run, explained, features) = evaluating??;
    if let Some(file) = saves {
        file.keep(&write_saved(&run)?)?;
    }
    if let Some((file, text)) = features {
        file.keep(&text?)?;
    }
    let misses = misses(&run);
    let is_found = !run.is_empty() && explained.as_ref().is_some_and(Vec::is_empty);
    let against = match saved {
        Some(saved) => Some(compared(&evaluation, run, saved).await?),
        None => None,
    };
    let mut notes = judging.notes;
    let is_unjudged = explained.is_some() && judging.judge.is_some();
    let said = [
        is_tuned.then(|| format!("tables are {TUNED}")),
        is_found.then(|| NONE_MISSED.to_owned()),
        is_unjudged.then(|| EXPLAINED_UNJUDGED.to_owned()),
    ];
    notes.extend(said.into_iter().flatten());
    notes.extend(missing_note(&evaluation));
    let judge = judging.judge.as_ref().map(|judge| {
        let (remarks, failure) = judge.notes();
        notes.extend(remarks.into_iter().chain(failure));
        Cost::of(judge, Some(judging.threshold), start)
    });
    let report = Report {
        evaluation,
        misses,
        explained,
        judge,
        against,
        notes,
    };
    if args.output.json {
        print_json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(Outcome::Done)
}

/// The files of `--save` and `--features`.
fn kept_files(args: &EvalArgs) -> anyhow::Result<(Option<Named>, Option<Named>)> {
    let open =
        |path: &Option<PathBuf>, option| Named::open(path.as_deref(), option, &args.questions);
    let files = (
        open(&args.save, "--save")?,
        open(&args.features, "--features")?,
    );
    if let (Some(saved), Some(features)) = (&args.save, &args.features)
        && is_same(saved, features)
    {
        bail!("--save and --features name one file; choose another for one of them");
    }
    Ok(files)
}

/// How an evaluated run differs from one that was saved.
async fn compared(
    evaluation: &Evaluation,
    run: Vec<SavedQuestion>,
    (saved, path): (Vec<SavedQuestion>, String),
) -> anyhow::Result<Comparison> {
    let cuts: Vec<usize> = evaluation.k.keys().copied().collect();
    let comparing = move || compare(&run, &saved, &cuts, &path);
    Ok(tokio::task::spawn_blocking(comparing).await??)
}

/// What a person should know where the index lacks tables that the questions name.
fn missing_note(evaluation: &Evaluation) -> Option<String> {
    let missing = &evaluation.missing_tables;
    (evaluation.gold_tables_missing > 0).then(|| {
        format!(
            "the index lacks {} that the questions name ({}{}): limn tables lists the names that it has; if it lacks all, it is the index of another lake",
            plural(evaluation.gold_tables_missing as u64, "table"),
            first(missing).join(", "),
            if missing.len() > SHOWN { ", …" } else { "" }
        )
    })
}

/// Everything that an evaluation reports.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    evaluation: Evaluation,
    misses: Vec<Miss>,
    /// Why tables are not found, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<Vec<Explanation>>,
    judge: Option<Cost>,
    against: Option<Comparison>,
    notes: Vec<String>,
}

/// A question none of whose tables is among the largest K.
#[derive(Serialize)]
struct Miss {
    question: String,
    tables: Vec<String>,
    /// What came first instead.
    found: Vec<String>,
}

/// What there is to know where nothing is to be explained.
const NONE_MISSED: &str = "--explain: every question finds all of its tables among the largest k; -k 1 explains those that are not first";
/// What there is to know of explanations where a judge was asked, too.
const EXPLAINED_UNJUDGED: &str =
    "--explain gives places without the judge: what the judge moved has another one in its ranking";
/// Misses that are printed, and names in a line.
const PRINTED: usize = 10;
const SHOWN: usize = 3;

fn misses(run: &[SavedQuestion]) -> Vec<Miss> {
    let is_missed = |it: &&SavedQuestion| !it.gold.iter().any(|gold| it.ranked.contains(gold));
    let missed = run.iter().filter(is_missed);
    let miss = |it: &SavedQuestion| Miss {
        question: it.question.clone(),
        tables: it.gold.clone(),
        found: first(&it.ranked).to_vec(),
    };
    missed.map(miss).collect()
}

fn first(names: &[String]) -> &[String] {
    &names[..names.len().min(SHOWN)]
}

/// How to ask: with a model, as many questions at once as it wants prompts, so that its batches
/// fill.
fn options(
    args: &EvalArgs,
    query: limn_retrieval::Query,
    model: Option<&Arc<dyn LanguageModel>>,
) -> anyhow::Result<EvalOptions> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let usual = match model {
        Some(model) => model.concurrency().clamp(1, MOST_AT_ONCE),
        None => cores(),
    };
    let cuts = args.k.iter().map(|count| sets::given(*count));
    let cuts: Vec<usize> = cuts.collect::<anyhow::Result<_>>()?;
    Ok(EvalOptions {
        k: if cuts.is_empty() { CUTS.to_vec() } else { cuts },
        query,
        threads: args.threads.unwrap_or(usual),
        vectors_given: args.vectors_given,
        progress: Arc::default(),
    })
}

/// Of fewer questions a calibration says little.
const FEW_QUESTIONS: usize = 100;

/// Judges the first candidates of every question, fits the threshold, and keeps the record.
async fn calibrate(args: EvalArgs, mut questions: Vec<EvalQuestion>) -> anyhow::Result<Outcome> {
    let folder = judge::folder()?;
    let searcher = open_searcher(&args.index.index, &args.encoder).await?;
    let mut notes = Vec::new();
    questions.retain(EvalQuestion::is_answerable);
    let all = questions.len();
    if all == 0 {
        bail!("the file has no question that names tables: a judge is calibrated on those");
    }
    let names = searcher.names();
    let is_there = |table: &String| names.contains(table.as_str());
    questions.retain(|question| question.tables.iter().any(is_there));
    match all - questions.len() {
        0 => {}
        left_out if left_out < all => notes.push(format!(
            "{} whose tables the index lacks {} left out",
            plural(left_out as u64, "question"),
            if left_out == 1 { "is" } else { "are" },
        )),
        _ => bail!(
            "the index has none of the tables that the questions name: is it the index of another lake?"
        ),
    }
    if questions.len() < FEW_QUESTIONS {
        notes.push(format!(
            "{} are few: what holds for them may not hold for others; take {FEW_QUESTIONS} or more",
            plural(questions.len() as u64, "question")
        ));
    }
    let model = language_model::open(&args.model).await?;
    language_model::check_answers(model.as_ref()).await?;
    if !args.replace {
        check_replaces(&folder, model.id(), questions.len())?;
    }
    let mut query = query("", 1, &args.options)?;
    query.joins = joins_of(&args.index.index, searcher.snapshot(), &args.options).await?;
    let options = options(&args, query, Some(&model))?;
    let judge = judge::judge(&args.options.judging, model, 0.0);
    let bar = QuestionBar::start("judged", Arc::clone(&options.progress), questions.len());
    let (start, now) = (Instant::now(), Utc::now());
    let date = now.to_rfc3339_opts(SecondsFormat::Secs, true);
    let calibrated = {
        let judge = Arc::clone(&judge);
        let work = move || calibrate_judge(&searcher, &questions, &options, &judge, date);
        tokio::task::spawn_blocking(work).await
    };
    bar.finish();
    let record = calibrated??;
    let file = record.save(&folder)?;
    let cost = Cost::of(&judge, None, start);
    if args.output.json {
        print_json(&serde_json::json!({
            "calibration": record, "helps": record.helps(), "file": file.display().to_string(),
            "judge": cost, "notes": notes,
        }))?;
    } else {
        print_calibration(&record, &file, &cost, &notes)?;
    }
    Ok(Outcome::Done)
}

/// A record of more questions is not replaced unasked. One that cannot be read any more is.
fn check_replaces(folder: &Path, model: &ModelId, questions: usize) -> anyhow::Result<()> {
    let known = Calibration::load(folder, model).ok().flatten();
    let Some(known) = known.filter(|known| known.is_current() && known.questions > questions)
    else {
        return Ok(());
    };
    bail!(
        "{model} was calibrated on {} at {}, and these are {questions}: --replace takes these all the same",
        plural(known.questions as u64, "question"),
        known.date
    )
}

fn print(report: &Report) -> io::Result<()> {
    let evaluation = &report.evaluation;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", plural(evaluation.questions as u64, "question"))?;
    if !evaluation.k.is_empty() {
        writeln!(out, "{:>5} {:>8} {:>8} {:>8}", "k", "hit", "recall", "full")?;
    }
    for (k, shares) in &evaluation.k {
        writeln!(
            out,
            "{k:>5} {:>7.1}% {:>7.1}% {:>7.1}%",
            100.0 * shares.hit,
            100.0 * shares.recall,
            100.0 * shares.full
        )?;
    }
    if evaluation.questions > 0 {
        writeln!(
            out,
            "mrr {:.3}; {:.0} questions/s; latency p50 {:.1} ms, p99 {:.1} ms",
            evaluation.mrr,
            evaluation.questions_per_s,
            evaluation.latency_ms.p50,
            evaluation.latency_ms.p99
        )?;
    }
    for (kind, shares) in &evaluation.kinds {
        print_kind(&mut out, kind, shares)?;
    }
    if let Some(grades) = &evaluation.grades {
        print_grades(&mut out, grades)?;
    }
    match &report.explained {
        Some(explained) => print_explained(&mut out, explained)?,
        None => print_misses(&mut out, &report.misses)?,
    }
    if let Some(cost) = &report.judge {
        writeln!(out, "{}", cost.line())?;
    }
    if let Some(against) = &report.against {
        writeln!(out, "against the saved run, with 95 % intervals:")?;
        for (k, differences) in &against.k {
            writeln!(
                out,
                "{k:>5} hit {}  full {}",
                points(&differences.hit),
                points(&differences.full)
            )?;
        }
        let Interval { mean, low, high } = against.mrr;
        writeln!(out, "      mrr {mean:+.3} ({low:+.3} to {high:+.3})")?;
    }
    for note in &report.notes {
        writeln!(out, "note: {}", one_line(note))?;
    }
    out.flush()
}

/// The measures of one kind of questions, each with its interval.
fn print_kind(out: &mut impl Write, kind: &str, of: &KindShares) -> io::Result<()> {
    writeln!(
        out,
        "{}: {}, with 95 % intervals",
        one_line(kind),
        plural(of.questions as u64, "question")
    )?;
    let per_cent = |it: &Interval| {
        let (mean, low, high) = (100.0 * it.mean, 100.0 * it.low, 100.0 * it.high);
        format!("{mean:.1}% ({low:.1} to {high:.1})")
    };
    for (k, shares) in &of.k {
        let (hit, full) = (per_cent(&shares.hit), per_cent(&shares.full));
        writeln!(out, "{k:>5} hit {hit:<24} full {full}")?;
    }
    let Interval { mean, low, high } = of.mrr;
    writeln!(out, "      mrr {mean:.3} ({low:.3} to {high:.3})")
}

fn print_grades(out: &mut impl Write, grades: &Grades) -> io::Result<()> {
    for (what, graded) in [
        ("answerable", &grades.answerable),
        ("unanswerable", &grades.unanswerable),
    ] {
        if graded.questions > 0 {
            writeln!(out, "{}", grades_line(what, graded))?;
        }
    }
    if let Some(Grading { weak, strong }) = grades.fitted {
        writeln!(
            out,
            "limits that fit these questions: {{\"weak\": {weak:.3}, \"strong\": {strong:.3}}} (--grades)"
        )?;
    }
    Ok(())
}

fn print_misses(out: &mut impl Write, misses: &[Miss]) -> io::Result<()> {
    for miss in misses.iter().take(PRINTED) {
        let found = match miss.found.as_slice() {
            [] => "nothing".to_owned(),
            found => found.join(", "),
        };
        writeln!(
            out,
            "missed: {}\n    wants {}; found {}",
            one_line(&miss.question),
            one_line(&first(&miss.tables).join(", ")),
            one_line(&found)
        )?;
    }
    if misses.len() > PRINTED {
        let more = misses.len() - PRINTED;
        writeln!(out, "and {more} more misses (--json lists all)")?;
    }
    Ok(())
}

/// How the answers of one kind of questions are graded.
fn grades_line(what: &str, graded: &Graded) -> String {
    format!(
        "{}: {:.1}% strong, {:.1}% weak, {:.1}% unlikely",
        plural(graded.questions as u64, &format!("{what} question")),
        100.0 * graded.strong,
        100.0 * graded.weak,
        100.0 * graded.unlikely
    )
}

/// A difference of shares in percentage points; clear ones are marked.
fn points(interval: &Interval) -> String {
    let mark = if interval.is_clear() { '*' } else { ' ' };
    format!(
        "{:+.1} ({:+.1} to {:+.1}){mark}",
        100.0 * interval.mean,
        100.0 * interval.low,
        100.0 * interval.high
    )
}

fn print_calibration(
    record: &Calibration,
    file: &Path,
    cost: &Cost,
    notes: &[String],
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: threshold {:.3} on {}, {} candidates each",
        one_line(record.model.as_str()),
        record.threshold,
        plural(record.questions as u64, "question"),
        record.depth
    )?;
    writeln!(
        out,
        "{:>16} {:>8} {:>8} {:>8} {:>6}",
        "", "hit@1", "hit@5", "full@5", "mrr"
    )?;
    let rows: [(&str, &Measures); 3] = [
        ("no judge", &record.without),
        ("judged, fitted", &record.fitted),
        ("judged, held out", &record.held_out),
    ];
    for (name, measures) in rows {
        writeln!(
            out,
            "{name:>16} {:>7.1}% {:>7.1}% {:>7.1}% {:>6.3}",
            100.0 * measures.hit_at_1,
            100.0 * measures.hit_at_5,
            100.0 * measures.full_at_5,
            measures.mrr
        )?;
    }
    writeln!(
        out,
        "judged, held out (at thresholds fitted on other questions), against no judge, mean of hit@1 and hit@5: {} points",
        points(&record.difference).trim_end()
    )?;
    let verdict = if record.helps() {
        "it helps: --judge auto judges with this model"
    } else {
        "it does not clearly help: --judge auto does not judge with this model"
    };
    writeln!(out, "{verdict}")?;
    writeln!(out, "{}", cost.line())?;
    writeln!(out, "kept in {}", one_line(&file.display().to_string()))?;
    for note in notes {
        writeln!(out, "note: {}", one_line(note))?;
    }
    out.flush()
}
