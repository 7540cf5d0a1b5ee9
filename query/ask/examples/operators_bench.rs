//! Semantic operators by a real model, on a table with hidden truth: Spider's countries.
//!
//! ```sh
//! cargo run --release -p limn-ask --example operators_bench -- world_1__country.csv [ROWS] [MODEL]
//! ```
//! The model sees names alone; continents and populations are the truth. Beside each figure stand
//! two baselines: the most frequent answer, and an embedder's cosine. A filter's embedder gets the
//! best of all thresholds, which nobody knows beforehand.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use async_trait::async_trait;
use limn_ask::plan::{Operation, Stage};
use limn_ask::semantic::{AnswersInMemory, Asker, Output, run};
use limn_models::{
    ALL_MINILM, Classified, Decoder, DecoderOptions, Embedder, Generated, LanguageModel, Limits,
    ModelError, ModelId, ModelStore, Prompt, QWEN_CODER, Usage,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

const CONTINENTS: [&str; 7] = [
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "North America",
    "Oceania",
    "South America",
];
/// Rows that are ranked, and how many are wanted.
const RANKED: usize = 40;
const WANTED: usize = 10;
/// Rows that are asked about one at a time.
const ALONE: usize = 12;

struct Country {
    name: String,
    continent: String,
    population: u64,
}

/// A model that is asked one question at a time.
struct Alone(Arc<dyn LanguageModel>);

#[async_trait]
impl LanguageModel for Alone {
    fn id(&self) -> &ModelId {
        self.0.id()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.0.count_tokens(text)
    }

    fn window(&self) -> usize {
        self.0.window()
    }

    fn concurrency(&self) -> usize {
        1
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        self.0.generate(prompt, limits).await
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        self.0.classify(prompt, words).await
    }

    fn usage(&self) -> Usage {
        self.0.usage()
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("name the file of world_1__country")?;
    let rows: usize = arguments.next().map_or(Ok(120), |it| it.parse())?;
    let model = arguments.next().unwrap_or_else(|| QWEN_CODER.to_owned());
    let all = countries(&path)?;
    let every = (all.len() / rows.max(1)).max(1);
    let countries: Vec<Country> = all.into_iter().step_by(every).take(rows).collect();
    let store = ModelStore::from_env();
    let embedder = store.embedder(ALL_MINILM, &|_| {})?;
    let files = store.language_model_files(&model, &|_| {})?;
    let model: Arc<dyn LanguageModel> =
        Arc::new(Decoder::load(&files, &DecoderOptions::default())?);
    println!("{} of {} rows", model.id(), countries.len());
    let figures = json!({
        "model": model.id().as_str(),
        "rows": countries.len(),
        "filter": filter(&model, embedder.as_ref(), &countries).await?,
        "map": map(&model, embedder.as_ref(), &countries).await?,
        "topk": topk(&model, embedder.as_ref(), &countries).await?,
        "alone": alone(&model, &countries).await?,
    });
    println!("{figures}");
    Ok(())
}

fn countries(path: &str) -> Result<Vec<Country>, Failure> {
    let mut reader = csv::Reader::from_path(path)?;
    let header = reader.headers()?.clone();
    let place = |name: &str| {
        header
            .iter()
            .position(|it| it == name)
            .ok_or("a column is missing")
    };
    let (name, continent, population) = (place("Name")?, place("Continent")?, place("Population")?);
    let country = |row: csv::StringRecord| -> Result<Country, Failure> {
        Ok(Country {
            name: row[name].to_owned(),
            continent: row[continent].to_owned(),
            population: row[population].parse()?,
        })
    };
    reader.records().map(|row| country(row?)).collect()
}

fn operation(written: Value) -> Result<Operation, Failure> {
    let mut stage = json!({"name": "s"});
    if let (Some(stage), Some(written)) = (stage.as_object_mut(), written.as_object()) {
        stage.extend(written.clone());
    }
    Ok(serde_json::from_value::<Stage>(stage)?.operation)
}

/// Runs a stage over names; its rows, and what it took.
async fn measured(
    model: &Arc<dyn LanguageModel>,
    written: Value,
    names: &[&str],
) -> Result<(Output, Value), Failure> {
    let column: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    let batch = RecordBatch::try_from_iter([("Name", column)])?;
    let asker = Asker::new(Arc::clone(model), Arc::new(AnswersInMemory::default()));
    let computed = model.usage().computed_prompt_tokens;
    let began = Instant::now();
    let output = run(&asker, &operation(written)?, &[batch]).await?;
    let seconds = began.elapsed().as_secs_f64();
    let spent = asker.spent();
    let took = json!({
        "calls": spent.calls, "failed": output.failed, "seconds": rounded(seconds),
        "rows_per_second": rounded(names.len() as f64 / seconds),
        "calls_per_second": rounded(spent.calls as f64 / seconds),
        "prompt_tokens": spent.prompt_tokens,
        "computed_prompt_tokens": model.usage().computed_prompt_tokens - computed,
        "generated_tokens": spent.generated_tokens,
    });
    Ok((output, took))
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn texts(output: &Output, name: &str) -> Vec<String> {
    let column = output.batch.column_by_name(name);
    let column = column.and_then(|it| it.as_any().downcast_ref::<StringArray>());
    let texts = column.map(|it| {
        it.iter()
            .map(|text| text.unwrap_or("").to_owned())
            .collect()
    });
    texts.unwrap_or_default()
}

fn names(countries: &[Country]) -> Vec<&str> {
    countries.iter().map(|it| it.name.as_str()).collect()
}

/// Accuracy, and F1 of those that are kept.
fn quality(kept: &[bool], truth: &[bool]) -> (f64, f64) {
    let count = |both: &dyn Fn(bool, bool) -> bool| {
        kept.iter()
            .zip(truth)
            .filter(|(a, b)| both(**a, **b))
            .count() as f64
    };
    let right = count(&|a, b| a == b) / truth.len() as f64;
    let f1 = 2.0 * count(&|a, b| a && b) / (count(&|a, _| a) + count(&|_, b| b)).max(1.0);
    (rounded(right), rounded(f1))
}

fn likenesses(embedder: &dyn Embedder, text: &str, others: &[&str]) -> Result<Vec<f32>, Failure> {
    let one = embedder.embed_one(text)?;
    let others = embedder.embed(others)?;
    let dot = |other: &Vec<f32>| one.iter().zip(other).map(|(a, b)| a * b).sum();
    Ok(others.iter().map(dot).collect())
}

async fn filter(
    model: &Arc<dyn LanguageModel>,
    embedder: &dyn Embedder,
    countries: &[Country],
) -> Result<Value, Failure> {
    let names = names(countries);
    let written = json!({"sem_filter": {"input": "r", "instruction": "{Name} is in Asia"}});
    let (output, took) = measured(model, written, &names).await?;
    let kept = texts(&output, "Name");
    let truth: Vec<bool> = countries.iter().map(|it| it.continent == "Asia").collect();
    let is_kept: Vec<bool> = names
        .iter()
        .map(|it| kept.iter().any(|kept| kept == it))
        .collect();
    let (accuracy, f1) = quality(&is_kept, &truth);
    let (majority, _) = quality(&vec![false; names.len()], &truth);
    let likenesses = likenesses(embedder, "a country in Asia", &names)?;
    let best = |measure: fn((f64, f64)) -> f64| {
        let of = likenesses.iter().map(|least| {
            let kept: Vec<bool> = likenesses.iter().map(|it| it >= least).collect();
            measure(quality(&kept, &truth))
        });
        of.fold(0.0, f64::max)
    };
    let figures = json!({
        "accuracy": accuracy, "f1": f1, "majority_accuracy": majority,
        "embedder_best_accuracy": best(|it| it.0), "embedder_best_f1": best(|it| it.1), "took": took,
    });
    println!("filter {figures}");
    Ok(figures)
}

async fn map(
    model: &Arc<dyn LanguageModel>,
    embedder: &dyn Embedder,
    countries: &[Country],
) -> Result<Value, Failure> {
    let names = names(countries);
    let written = json!({"sem_map": {
        "input": "r", "instruction": "the continent of {Name}",
        "output": {"name": "continent", "one_of": CONTINENTS}}});
    let (output, took) = measured(model, written, &names).await?;
    let share = |said: &[String]| {
        let right = said
            .iter()
            .zip(countries)
            .filter(|(a, b)| **a == b.continent)
            .count();
        rounded(right as f64 / countries.len() as f64)
    };
    let majority = CONTINENTS.map(|it| share(&vec![it.to_owned(); countries.len()]));
    let mut nearest = Vec::new();
    for name in &names {
        let likenesses = likenesses(embedder, name, &CONTINENTS)?;
        let best = (0..CONTINENTS.len()).max_by(|a, b| likenesses[*a].total_cmp(&likenesses[*b]));
        nearest.push(CONTINENTS[best.unwrap_or(0)].to_owned());
    }
    let figures = json!({
        "accuracy": share(&texts(&output, "continent")),
        "majority_accuracy": majority.into_iter().fold(0.0, f64::max),
        "embedder_accuracy": share(&nearest), "took": took,
    });
    println!("map {figures}");
    Ok(figures)
}

async fn topk(
    model: &Arc<dyn LanguageModel>,
    embedder: &dyn Embedder,
    countries: &[Country],
) -> Result<Value, Failure> {
    let every = (countries.len() / RANKED).max(1);
    let some: Vec<&Country> = countries.iter().step_by(every).take(RANKED).collect();
    let names: Vec<&str> = some.iter().map(|it| it.name.as_str()).collect();
    let mut largest = some.clone();
    largest.sort_by_key(|it| std::cmp::Reverse(it.population));
    let largest: Vec<&str> = largest
        .iter()
        .take(WANTED)
        .map(|it| it.name.as_str())
        .collect();
    let recall = |found: &[&str]| {
        let found = found.iter().filter(|it| largest.contains(it)).count();
        found as f64 / WANTED as f64
    };
    let written = json!({"sem_topk": {
        "input": "r", "instruction": "which country, {Name}, has more inhabitants", "k": WANTED}});
    let (output, took) = measured(model, written, &names).await?;
    let found = texts(&output, "Name");
    let likenesses = likenesses(embedder, "a country with many inhabitants", &names)?;
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| likenesses[*b].total_cmp(&likenesses[*a]));
    let likest: Vec<&str> = order.into_iter().take(WANTED).map(|at| names[at]).collect();
    let figures = json!({
        "of": names.len(), "k": WANTED,
        "recall": recall(&found.iter().map(String::as_str).collect::<Vec<_>>()),
        "chance": WANTED as f64 / names.len() as f64, "embedder_recall": recall(&likest),
        "found": found, "took": took,
    });
    println!("topk {figures}");
    Ok(figures)
}

/// The same filter, one question at a time.
async fn alone(model: &Arc<dyn LanguageModel>, countries: &[Country]) -> Result<Value, Failure> {
    let alone: Arc<dyn LanguageModel> = Arc::new(Alone(Arc::clone(model)));
    let names = names(countries);
    let few = &names[..names.len().min(ALONE)];
    let mut figures = Vec::new();
    // Another continent, of which nothing is computed yet.
    for (model, words) in [(&alone, "Africa"), (model, "Europe")] {
        let filter = json!({"input": "r", "instruction": format!("{{Name}} is in {words}")});
        let (_, took) = measured(model, json!({"sem_filter": filter}), few).await?;
        let map = json!({
            "input": "r", "instruction": format!("the capital of {{Name}}, not in {words}"),
            "output": {"name": "capital"}});
        let (_, writing) = measured(model, json!({"sem_map": map}), few).await?;
        figures.push(json!({"under_way": model.concurrency(), "filter": took, "map": writing}));
    }
    let figures = Value::from(figures);
    println!("alone {figures}");
    Ok(figures)
}
