//! Writes SQL for questions that come with SQL, and says which of it has the same rows.
//!
//! ```sh
//! cargo run --release -p limn-ask --example text_to_sql -- INDEX QUESTIONS OUT [--every N] [--first N]
//!     [--most N] [--at-once N] [--model NAME|none] [--endpoint URL] [--tables given|found]
//!     [--hostile ATTEMPTS]
//! ```
//! QUESTIONS has a JSON object a line: `id`, `question`, and where the answer is known `sql` and
//! `tables`, whose part after `__` the SQL calls them by. OUT gets a line a question, with all
//! candidates; questions that it has are passed over. Those whose own SQL does not run are left
//! out. `tests/bench/text_to_sql.py` counts. The key of an endpoint is in `LIMN_ENDPOINT_KEY`. With
//! `--hostile` each table has one of these texts among the frequent values of a column, and among
//! the cells that the question names.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt};
use limn_ask::plan::{Source, SqlStage};
use limn_ask::write::{EngineTryOut, write};
use limn_cells::{Asked, CellsAnswer, Read, answer, redact_of};
use limn_formats::ReadOptions;
use limn_models::{
    Decoder, DecoderOptions, DeviceChoice, Devices, Embedder, EndpointKey, EndpointModel,
    EndpointOptions, LanguageModel, ModelStore, QWEN_CODER,
};
use limn_retrieval::{JoinGraphs, Query, Searcher};
use limn_segment::{IndexStore, Snapshot, TableKey, TableRecord};
use limn_sets::{KnownJoins, SetQuery, SetSize, Sets, TableColumns};
use limn_sql::written::cells_of;
use limn_sql::{Catalogue, Engine, Input, Lake, Limits, SqlError};
use limn_store::Store;
use serde::Deserialize;
use serde_json::{Value, json};

/// What is read of a result.
const ROWS: u64 = 10_000;
/// How long a model may write.
const TIMEOUT: Duration = Duration::from_secs(1_000);

#[derive(Debug, Deserialize)]
struct Question {
    id: String,
    question: String,
    sql: Option<String>,
    #[serde(default)]
    tables: Vec<String>,
}

struct Options {
    positional: Vec<String>,
    named: HashMap<String, String>,
}

impl Options {
    fn read() -> Options {
        let (mut positional, mut named) = (Vec::new(), HashMap::new());
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.strip_prefix("--") {
                Some(name) => {
                    named.insert(name.to_owned(), arguments.next().unwrap_or_default());
                }
                None => positional.push(argument),
            }
        }
        Options { positional, named }
    }

    fn number(&self, name: &str, otherwise: usize) -> Result<usize> {
        self.named
            .get(name)
            .map_or(Ok(otherwise), |it| Ok(it.parse()?))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::read();
    let [index, questions, out] = options.positional.as_slice() else {
        bail!("INDEX QUESTIONS OUT");
    };
    let bench = Bench::open(index, &options).await?;
    let done: HashSet<String> = std::fs::read_to_string(out)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line["id"].as_str().map(str::to_owned))
        .collect();
    let text = std::fs::read_to_string(questions)?;
    let questions: Vec<Question> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let (every, first) = (options.number("every", 1)?, options.number("first", 0)?);
    let most = options.number("most", usize::MAX)?;
    let chosen = questions.into_iter().skip(first).step_by(every.max(1));
    let chosen = chosen.take(most).filter(|it| !done.contains(&it.id));
    let file = OpenOptions::new().create(true).append(true).open(out)?;
    let file = Mutex::new(file);
    let at_once = options.number("at-once", 4)?;
    let asked = futures::stream::iter(chosen).map(|question| bench.line(question));
    let mut lines = asked.buffer_unordered(at_once);
    while let Some(line) = lines.next().await {
        let mut file = file.lock().unwrap_or_else(|it| it.into_inner());
        if let Some(line) = line? {
            writeln!(file, "{line}")?;
            eprintln!("{} {} {}", line["id"], line["right"], line["seconds"]);
        }
    }
    Ok(())
}

struct Bench {
    snapshot: Snapshot,
    records: HashMap<String, TableRecord>,
    sets: Arc<Sets>,
    joins: KnownJoins,
    searcher: Option<Searcher>,
    model: Option<Arc<dyn LanguageModel>>,
    hostile: Vec<String>,
    catalogue: Arc<Catalogue>,
}

impl Bench {
    async fn open(index: &str, options: &Options) -> Result<Bench> {
        let store = ModelStore::from_env();
        let index = IndexStore::open(index)?;
        let snapshot = index.require_newest().await?;
        let card = ModelStore::card_of_id(&snapshot.embedder).context("an embedder of limn's")?;
        let embedder: Arc<dyn Embedder> = store.embedder(card.name, &|_| {})?;
        let graphs = JoinGraphs::read(&index, &snapshot).await?;
        let records = index.tables(&snapshot, None).await?;
        let model = model(&store, options)?;
        let searcher = match options.named.get("tables").map(String::as_str) {
            Some("found") => {
                Some(Searcher::open(&index, snapshot.clone(), Arc::clone(&embedder)).await?)
            }
            _ => None,
        };
        let catalogue = Catalogue::new(records.clone(), |url| {
            let store = Store::open(url)?;
            let options = ReadOptions::default();
            Ok(Lake { store, options })
        });
        Ok(Bench {
            records: records
                .into_iter()
                .map(|it| (it.name.clone(), it))
                .collect(),
            sets: Arc::new(Sets::new(embedder)),
            joins: KnownJoins::new(Arc::new(graphs), true),

            snapshot,
            searcher,
            model,
            hostile: hostile(options)?,
            catalogue: Arc::new(catalogue),
        })
    }

    fn engine(&self, max_rows: Option<u64>) -> Engine {
        let limits = Limits {
            max_rows,
            timeout: Duration::from_secs(20),
            memory_bytes: 256 << 20,
            spill_bytes: 1 << 30,
        };
        Engine::new(Arc::clone(&self.catalogue), limits).for_plans()
    }

    /// The line of a question; none where its own SQL does not run.
    async fn line(&self, question: Question) -> Result<Option<Value>> {
        let gold = match &question.sql {
            Some(sql) => match self.rows(&self.gold(sql, &question.tables)).await {
                Ok(gold) => Some(gold),
                Err(error) => {
                    eprintln!("{}: {error}: {sql}", question.id);
                    return Ok(None);
                }
            },
            None => None,
        };
        let (keys, grade) = match &self.searcher {
            Some(searcher) => self.found(searcher, &question.question)?,
            None => (question.tables.clone(), Value::Null),
        };
        let mut cells = self.cells(&question.question, &keys).await?;
        self.attack(&question.id, &mut cells);
        let began = Instant::now();
        let model = self.model.as_deref();
        let try_out = EngineTryOut::new(&self.engine(Some(ROWS)));
        let written = write(&question.question, &cells, model, &try_out, TIMEOUT).await;
        let seconds = began.elapsed().as_secs_f64();
        let mut line = json!(written);
        let ordered = question.sql.as_deref().is_some_and(is_ordered);
        for (at, candidate) in written.candidates.iter().enumerate() {
            if candidate.result().is_none() {
                continue;
            }
            let stage = SqlStage {
                inputs: written.inputs.clone(),
                statement: candidate.statement.clone(),
            };
            let rows = self.rows(&stage).await?;
            let gold = gold.as_ref();
            let right = gold.is_some_and(|gold| are_same(&rows, gold, ordered));
            line["candidates"][at]["right"] = json!(right);
            line["candidates"][at]["digest"] = json!(digest(rows));
        }
        let right = written
            .chosen
            .map(|at| line["candidates"][at]["right"].clone());
        line["right"] = json!(right.unwrap_or(json!(false)));
        line["id"] = json!(question.id);
        line["question"] = json!(question.question);
        line["gold"] = json!(question.sql);
        line["gold_rows"] = json!(gold.map(|it| it.len()));
        line["seconds"] = json!((seconds * 100.0).round() / 100.0);
        line["grade"] = grade;
        line["scores"] = scores(&cells);
        if self.model.is_none() {
            line["cells"] = json!(cells);
        }
        Ok(Some(line))
    }

    /// The question's own SQL, over the tables that it is given. It has texts in double quotes.
    fn gold(&self, sql: &str, tables: &[String]) -> SqlStage {
        let inputs = tables.iter().map(|table| {
            let short = table.split_once("__").map_or(table.as_str(), |it| it.1);
            (short.to_owned(), source(table))
        });
        SqlStage {
            inputs: inputs.collect(),
            statement: sql.replace('"', "'"),
        }
    }

    async fn rows(&self, stage: &SqlStage) -> Result<Vec<Vec<String>>, SqlError> {
        let inputs = stage
            .inputs
            .iter()
            .filter_map(|(own, source)| match source {
                Source::Table { name, .. } => Some((
                    own.clone(),
                    Input::Table {
                        name: name.clone(),
                        lake: None,
                    },
                )),
                Source::Stage(_) => None,
            });
        let engine = self.engine(Some(ROWS));
        let mut answer = engine.run_over(&stage.statement, inputs.collect()).await?;
        let mut rows = Vec::new();
        while let Some(batch) = answer.try_next().await? {
            let cells = cells_of(&batch).map_err(|it| SqlError::Execution(it.to_string()))?;
            rows.extend((0..batch.num_rows()).map(|row| {
                cells
                    .iter()
                    .map(|it| alike(it.text(row)))
                    .collect::<Vec<_>>()
            }));
        }
        Ok(rows)
    }

    /// Puts a text into the values that a prompt shows of each table.
    fn attack(&self, id: &str, cells: &mut CellsAnswer) {
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        for (at, table) in cells.tables.iter_mut().enumerate() {
            let Some(place) = (hash.finish() as usize + at).checked_rem(self.hostile.len()) else {
                return;
            };
            let text = &self.hostile[place];
            for column in table.columns.iter_mut().filter(|it| it.data_type == "text") {
                column
                    .frequent
                    .get_or_insert_default()
                    .insert(0, text.clone());
            }
            if let Some(cell) = table.cells.first().cloned() {
                let value = text.clone();
                table.cells.push(limn_cells::Cell { value, ..cell });
            }
        }
    }

    fn found(&self, searcher: &Searcher, question: &str) -> Result<(Vec<String>, Value)> {
        let asked = SetQuery {
            query: Query {
                k: 5,
                evidence: 0,
                ..Query::new(question)
            },
            size: SetSize::Auto,
            parts: None,
        };
        let ranked = asked.candidates(searcher, &self.joins)?;
        let mut columns: HashMap<TableKey, Arc<TableColumns>> = HashMap::new();
        for key in ranked.tables() {
            if let Some(record) = self.records.get(&key.name) {
                columns.insert(key, Arc::new(TableColumns::of_row(record)?));
            }
        }
        let set = asked.answer(&self.sets, searcher, &self.joins, ranked, &columns)?;
        let results = &set.answer.results;
        let grades: Vec<_> = results.iter().map(|hit| json!(hit.grade)).collect();
        Ok((
            results.iter().map(|hit| hit.table.clone()).collect(),
            json!(grades),
        ))
    }

    async fn cells(&self, question: &str, tables: &[String]) -> Result<CellsAnswer> {
        let asked = Asked::of(question);
        let until = Instant::now() + Duration::from_secs(60);
        let mut reads = Vec::new();
        for name in tables {
            let record = self.records.get(name).context("a table of the index")?;
            let redact = redact_of(&self.snapshot, &record.lake);
            let engine = || self.engine(None);
            let reading = limn_cells::read(&engine, (record, redact), None, &asked).await;
            if let Some(failure) = reading.failure {
                bail!("{name}: {failure}");
            }
            reads.push(Read {
                table: reading.table,
                columns: Arc::new(TableColumns::of_row(record)?),
                kept: reading.kept,
                probed: reading.probed,
            });
        }
        let known = (self.sets.as_ref(), &self.joins);
        Ok(answer(
            known,
            &asked,
            limn_cells::K,
            self.snapshot.number,
            &reads,
            until,
            Vec::new(),
        )?)
    }
}

/// The model of a server, or of this machine.
fn model(store: &ModelStore, options: &Options) -> Result<Option<Arc<dyn LanguageModel>>> {
    if let Some(url) = options.named.get("endpoint") {
        let mut endpoint = EndpointOptions::new(url, "model");
        let key = std::env::var("LIMN_ENDPOINT_KEY").ok();
        endpoint.key = key.as_deref().map(EndpointKey::new);
        endpoint.window = 2048;
        // What waits for a place at the server waits within the time that a reply may take.
        endpoint.concurrency = 2;
        endpoint.timeout = TIMEOUT;
        return Ok(Some(Arc::new(EndpointModel::new(&endpoint)?)));
    }
    let name = options.named.get("model");
    match name.map_or(QWEN_CODER, String::as_str) {
        "none" => Ok(None),
        name => {
            let files = store.language_model_files(name, &|_| {})?;
            let options = DecoderOptions {
                devices: Devices::find(DeviceChoice::Auto)?,
                ..DecoderOptions::default()
            };
            Ok(Some(Arc::new(Decoder::load(&files, &options)?)))
        }
    }
}

/// Texts that try to steer a model, a JSON object a line; those that a prompt would show.
fn hostile(options: &Options) -> Result<Vec<String>> {
    let Some(path) = options.named.get("hostile") else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(path)?;
    let mut texts = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        let text = line["text"].as_str().context("a text")?;
        let is_steering = text.chars().any(limn_store::is_steering);
        if text.chars().count() < 80 && !is_steering && !text.contains(['<', '>', '\n']) {
            texts.push(text.to_owned());
        }
    }
    Ok(texts)
}

fn source(table: &str) -> Source {
    Source::Table {
        name: table.to_owned(),
        lake: None,
    }
}

/// The best scores of columns, and the number of cells.
fn scores(cells: &CellsAnswer) -> Value {
    let best = cells.tables.iter().flat_map(|it| &it.columns);
    let best = best.map(|it| it.score).fold(0.0, f64::max);
    let found: usize = cells.tables.iter().map(|it| it.cells.len()).sum();
    json!({ "column": best, "cells": found })
}

fn is_ordered(sql: &str) -> bool {
    sql.to_lowercase().contains("order by")
}

/// A cell as results are compared: numbers by six digits.
fn alike(cell: Option<String>) -> String {
    match cell {
        None => "\u{0}".to_owned(),
        Some(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => format!("{number:.6e}"),
            _ => text,
        },
    }
}

/// Whether both have the same rows, whatever the order of their columns.
fn are_same(rows: &[Vec<String>], gold: &[Vec<String>], ordered: bool) -> bool {
    let width = gold.first().map_or(0, Vec::len);
    if rows.len() != gold.len() || rows.first().map_or(0, Vec::len) != width {
        return false;
    }
    let sorted = |rows: &[Vec<String>]| {
        let mut rows = rows.to_vec();
        if !ordered {
            rows.sort();
        }
        rows
    };
    let gold = sorted(gold);
    orders(width.min(6)).iter().any(|order| {
        let moved: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let first = order.iter().map(|at| row[*at].clone());
                first.chain(row.iter().skip(order.len()).cloned()).collect()
            })
            .collect();
        sorted(&moved) == gold
    })
}

/// Rows in any order, as a number.
fn digest(mut rows: Vec<Vec<String>>) -> String {
    rows.sort();
    let mut hash = DefaultHasher::new();
    rows.hash(&mut hash);
    format!("{:016x}", hash.finish())
}

/// All orders of so many columns.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|order: &Vec<usize>| {
            let free = (0..count).filter(|it| !order.contains(it));
            free.map(|next| [order.as_slice(), &[next]].concat())
                .collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    all
}
