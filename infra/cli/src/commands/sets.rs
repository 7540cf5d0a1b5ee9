//! `limn search --join` and `limn eval --join`: the tables that answer a question together, and how
//! they join.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use futures::StreamExt;
use limn_models::LanguageModel;
use limn_retrieval::eval::EvalQuestion;
use limn_retrieval::{JoinGraphs, Searcher};
use limn_segment::{IndexStore, Snapshot, TableKey};
use limn_sets::{
    Join, KnownJoins, MOST_TABLES, Part, Plan, SetAnswer, SetQuery, SetShares, SetSize, Sets,
    TableColumns, ask_for_parts,
};
use serde::{Deserialize, Serialize, Serializer};

use crate::Outcome;
use crate::args::{
    EncoderPlace, EvalArgs, JudgeArg, PartsArg, SearchArgs, SearchOptions, TableCount,
};
use crate::commands::eval_files::read;
use crate::commands::search::{print, say_nothing_under};
use crate::commands::{embedder_of, known, language_model, newest, print_json, query};
use crate::progress::{Waiting, say};
use crate::text::{Style, one_line, plural};

/// The sizes that are measured where none are said.
const SIZES: [TableCount; 4] = [
    TableCount::Given(2),
    TableCount::Given(5),
    TableCount::Given(10),
    TableCount::Auto,
];

/// A number of tables that are ranked one by one.
pub fn given(count: TableCount) -> anyhow::Result<usize> {
    match count {
        TableCount::Given(k) => Ok(k),
        TableCount::Auto => bail!("-k auto is for sets of tables: add --join, or say how many"),
    }
}

fn size(count: TableCount) -> anyhow::Result<SetSize> {
    match count {
        TableCount::Given(k) if k > MOST_TABLES => {
            bail!(
                "-k {k} is too large for a set of tables: choose from 1 to {MOST_TABLES}, or auto"
            )
        }
        TableCount::Given(k) => Ok(SetSize::Given(k)),
        TableCount::Auto => Ok(SetSize::Auto),
    }
}

/// `limn search --join`.
pub async fn search(args: SearchArgs) -> anyhow::Result<Outcome> {
    let mut asked = SetQuery {
        query: query(&args.question.join(" "), 1, &args.options)?,
        size: args.k.map_or(Ok(SetSize::Auto), size)?,
        parts: None,
    };
    let opened = Opened::new(&args.index.index, &args.encoder, &args.options).await?;
    if args.parts == PartsArg::Llm {
        let model = language_model::open(&args.model).await?;
        asked.parts = parts_by(model.as_ref(), &asked.query.text).await?;
        if asked.parts.is_none() {
            say("the model found no parts in the question: it is read by rules");
        }
    }
    let (searcher, sets) = (Arc::clone(&opened.searcher), Arc::clone(&opened.sets));
    let ranking = asked.clone();
    let ranked = {
        let searcher = Arc::clone(&searcher);
        let known = opened.joins.clone();
        tokio::task::spawn_blocking(move || ranking.candidates(&searcher, &known)).await??
    };
    let columns = opened.columns(ranked.tables().collect()).await?;
    let known = opened.joins.clone();
    let answering = move || asked.answer(&sets, &searcher, &known, ranked, &columns);
    let answer = tokio::task::spawn_blocking(answering).await??;
    say_nothing_under(&args, &answer.answer).await?;
    if args.output.json {
        print_json(&answer)?;
    } else {
        print(&answer.answer, args.why)?;
        print_plan(&answer)?;
    }
    Ok(Outcome::Done)
}

/// The parts of a question by a model; none where it finds none.
async fn parts_by(model: &dyn LanguageModel, question: &str) -> anyhow::Result<Option<Vec<Part>>> {
    let parts = ask_for_parts(model, question).await;
    let parts = parts.map_err(|error| anyhow!("{error}; --parts rules asks no model"))?;
    Ok(Some(parts).filter(|it| !it.is_empty()))
}

/// The parts of questions by a model, as many at a time as it takes; without those that it finds no
/// parts in, or that it fails at.
async fn all_parts_by(
    args: &EvalArgs,
    questions: &BTreeSet<&str>,
) -> anyhow::Result<HashMap<String, Vec<Part>>> {
    let model = language_model::open(&args.model).await?;
    let name = one_line(model.id().as_str());
    let waiting = Waiting::start(format!("asking {name} for the parts of the questions"));
    let asked = futures::stream::iter(questions).map(|question| {
        let model = Arc::clone(&model);
        async move {
            (
                (*question).to_owned(),
                parts_by(model.as_ref(), question).await,
            )
        }
    });
    let asked = asked.buffer_unordered(model.concurrency().max(1));
    let asked: Vec<(String, anyhow::Result<Option<Vec<Part>>>)> = asked.collect().await;
    waiting.finish();
    let count = asked.len();
    let (mut found, mut failures) = (HashMap::new(), Vec::new());
    for (question, parts) in asked {
        match parts {
            Ok(parts) => found.extend(parts.map(|it| (question, it))),
            Err(error) => failures.push(error),
        }
    }
    match failures.pop() {
        Some(error) if failures.len() + 1 == count => Err(error),
        Some(error) => {
            say(&format!("{} failed: {error}", failures.len() + 1));
            Ok(found)
        }
        None => Ok(found),
    }
}

/// An index, opened for sets.
struct Opened {
    index: IndexStore,
    snapshot: Snapshot,
    searcher: Arc<Searcher>,
    sets: Arc<Sets>,
    joins: KnownJoins,
}

impl Opened {
    async fn new(
        location: &str,
        encoder: &EncoderPlace,
        options: &SearchOptions,
    ) -> anyhow::Result<Opened> {
        if options.judging.judge == JudgeArg::Llm {
            bail!(
                "--judge llm judges tables one by one, and --join chooses a set: leave one of them out"
            );
        }
        let index = IndexStore::open(location)?;
        let snapshot = newest(&index).await?;
        let embedder = embedder_of(&snapshot, encoder).await?;
        let searcher = Searcher::open(&index, snapshot.clone(), Arc::clone(&embedder)).await?;
        let graphs = JoinGraphs::read(&index, &snapshot).await?;
        Ok(Opened {
            joins: KnownJoins::new(Arc::new(graphs), true),
            searcher: Arc::new(searcher),
            sets: Arc::new(Sets::new(embedder)),
            index,
            snapshot,
        })
    }

    /// What the index holds of the columns of tables.
    async fn columns(
        &self,
        tables: HashSet<TableKey>,
    ) -> anyhow::Result<HashMap<TableKey, Arc<TableColumns>>> {
        let records = known::records(&self.index, &self.snapshot, tables).await?;
        let mut columns = HashMap::new();
        for (table, row) in records {
            columns.insert(table, Arc::new(TableColumns::of_row(&row)?));
        }
        Ok(columns)
    }
}

fn print_plan(answer: &SetAnswer) -> io::Result<()> {
    let Plan {
        joins,
        sql,
        warnings,
        disconnected,
    } = &answer.plan;
    let style = Style::of_stdout();
    let mut out = io::stdout().lock();
    if !joins.is_empty() {
        writeln!(out, "\njoins:")?;
    }
    for join in joins {
        let Join { left, right, .. } = join.as_ref();
        writeln!(
            out,
            "    {}.{} -> {}.{}  {}",
            one_line(&left.table),
            one_line(&left.column),
            one_line(&right.table),
            one_line(&right.column),
            style.dim(&format!("{}; {}", join.cardinality.as_str(), join.evidence))
        )?;
    }
    for warning in warnings {
        writeln!(
            out,
            "{}",
            style.dim(&format!("note: {}", one_line(warning)))
        )?;
    }
    if !disconnected.is_empty() {
        let names: Vec<String> = disconnected.iter().map(|name| one_line(name)).collect();
        writeln!(out, "nothing connects: {}", names.join(", "))?;
    }
    if answer.gap > 0.0 {
        let gap = format!(
            "note: time was up: another set may be {:.1} % better",
            100.0 * answer.gap
        );
        writeln!(out, "{}", style.dim(&gap))?;
    }
    if !sql.is_empty() {
        writeln!(out, "\n{}", one_line(sql))?;
    }
    out.flush()
}

/// Parts that were given for a question.
#[derive(Deserialize)]
struct Decomposition {
    question: String,
    parts: Vec<String>,
}

fn read_decompositions(path: &Path) -> anyhow::Result<HashMap<String, Vec<Part>>> {
    let text = read(path, "the decompositions", "--decompositions")?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(at, line)| {
        let read: Decomposition = serde_json::from_str(line)
            .with_context(|| format!("{}, line {} cannot be read", path.display(), at + 1))?;
        let parts = read.parts.iter().map(|part| Part::parse(part)).collect();
        Ok((read.question, parts))
    });
    read.collect()
}

/// What is measured of sets.
#[derive(Serialize)]
struct Report {
    questions: usize,
    /// By size, in the order in which they were asked for.
    #[serde(serialize_with = "by_size")]
    k: Vec<(String, SetShares)>,
    latency_ms: Latency,
    notes: Vec<String>,
}

fn by_size<S: Serializer>(k: &[(String, SetShares)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(k.iter().map(|(size, shares)| (size, shares)))
}

#[derive(Clone, Copy, Serialize)]
struct Latency {
    p50: f64,
    p99: f64,
}

impl Latency {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().saturating_sub(1) as f64;
        let at = |share: f64| {
            let time = times.get((last * share) as usize);
            time.copied().unwrap_or_default()
        };
        Self {
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

/// What a person should know of questions whose parts nobody gave.
fn unread_note(questions: usize) -> Option<String> {
    (questions > 0).then(|| {
        format!(
            "{} without given parts {} read by rules",
            plural(questions as u64, "question"),
            if questions == 1 { "was" } else { "were" }
        )
    })
}

/// `limn eval --join`.
pub async fn eval(args: EvalArgs, questions: Vec<EvalQuestion>) -> anyhow::Result<Outcome> {
    let given = args.decompositions.as_deref();
    let given = given.map(read_decompositions).transpose()?;
    let mut given = given.unwrap_or_default();
    if args.parts == PartsArg::Llm {
        let texts = questions.iter().map(|it| it.question.as_str());
        let unread: BTreeSet<&str> = texts.filter(|it| !given.contains_key(*it)).collect();
        given.extend(all_parts_by(&args, &unread).await?);
    }
    let sizes = match args.k.is_empty() {
        true => SIZES.to_vec(),
        false => args.k.clone(),
    };
    let counts = sizes.into_iter();
    let sizes = counts.map(|count| Ok((count, size(count)?)));
    let sizes: Vec<(TableCount, SetSize)> = sizes.collect::<anyhow::Result<_>>()?;
    let base = query("", 1, &args.options)?;
    let opened = Opened::new(&args.index.index, &args.encoder, &args.options).await?;
    let tables = opened.searcher.tables().map(|table| table.key.to_key());
    let columns = opened.columns(tables.collect()).await?;
    let (searcher, sets, known) = (opened.searcher, opened.sets, opened.joins);
    let unread = questions
        .iter()
        .filter(|it| !given.contains_key(&it.question));
    let unread = if args.decompositions.is_some() || args.parts == PartsArg::Llm {
        unread.count()
    } else {
        0
    };
    let measuring = move || -> anyhow::Result<Report> {
        let mut by_size = Vec::new();
        let mut times = Vec::new();
        for (count, size) in sizes {
            let mut found: Vec<Vec<String>> = Vec::with_capacity(questions.len());
            for question in &questions {
                let start = Instant::now();
                let asked = SetQuery {
                    query: limn_retrieval::Query {
                        text: question.question.clone(),
                        evidence: 0,
                        ..base.clone()
                    },
                    size,
                    parts: given.get(&question.question).cloned(),
                };
                let ranked = asked.candidates(&searcher, &known)?;
                let answer = asked.answer(&sets, &searcher, &known, ranked, &columns)?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
                let results = answer.answer.results.into_iter();
                found.push(results.map(|hit| named(hit, &question.tables)).collect());
            }
            let pairs = questions.iter().zip(&found);
            let pairs =
                pairs.map(|(question, found)| (question.tables.as_slice(), found.as_slice()));
            by_size.push((label(count), SetShares::of(pairs)));
        }
        Ok(Report {
            questions: questions.len(),
            k: by_size,
            latency_ms: Latency::of(times),
            notes: unread_note(unread).into_iter().collect(),
        })
    };
    let report = tokio::task::spawn_blocking(measuring).await??;
    if args.output.json {
        print_json(&report)?;
    } else {
        print_report(&report)?;
    }
    Ok(Outcome::Done)
}

/// The name by which a table counts: a needed table that is among its copies, else its own.
fn named(hit: limn_retrieval::Hit, needed: &[String]) -> String {
    let is_needed = |name: &&String| needed.contains(name);
    match hit.copies.iter().find(is_needed) {
        Some(copy) if !needed.contains(&hit.table) => copy.clone(),
        _ => hit.table,
    }
}

fn label(count: TableCount) -> String {
    match count {
        TableCount::Given(k) => k.to_string(),
        TableCount::Auto => "auto".to_owned(),
    }
}

fn print_report(report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{} questions", report.questions)?;
    let heads = ["k", "precision", "recall", "F1", "full", "tables"];
    let [k, precision, recall, f1, full, tables] = heads;
    writeln!(
        out,
        "{k:>5} {precision:>10} {recall:>8} {f1:>8} {full:>8} {tables:>7}"
    )?;
    for (k, shares) in &report.k {
        writeln!(
            out,
            "{k:>5} {:>9.1}% {:>7.1}% {:>7.1}% {:>7.1}% {:>7.1}",
            100.0 * shares.precision,
            100.0 * shares.recall,
            100.0 * shares.f1,
            100.0 * shares.full,
            shares.tables
        )?;
    }
    let Latency { p50, p99 } = report.latency_ms;
    writeln!(out, "latency p50 {p50:.1} ms, p99 {p99:.1} ms")?;
    for note in &report.notes {
        writeln!(out, "note: {}", one_line(note))?;
    }
    out.flush()
}
