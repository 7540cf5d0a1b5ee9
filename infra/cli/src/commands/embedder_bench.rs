//! `limn models bench` of an embedder: texts and tokens a second, through the queue that
//! `limn index` uses.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{anyhow, bail};
use limn_models::{EmbeddingService, EncoderFolder, ModelKind, ModelStore};
use serde::Serialize;

use crate::Outcome;
use crate::args::ModelOptions;
use crate::commands::encoders::folder_of;
use crate::commands::{embedder, language_model, print_json};
use crate::table::Table;
use crate::text::one_line;

/// What is embedded where no texts are given: so many texts of so many words.
const SIZES: [(&str, usize, usize); 3] = [
    ("questions", 2000, 14),
    ("short blocks", 1000, 48),
    ("full blocks", 300, 220),
];
const VOCABULARY: [&str; 13] = [
    "lake", "depth", "metres", "1873", "city", "name", "price", "school", "total", "order", "team",
    "country", "3.25",
];
/// Texts that a caller hands in at a time, as a table's blocks come.
const AT_ONCE: usize = 16;

#[derive(Debug, Serialize)]
struct Measured {
    model: String,
    threads: usize,
    load_seconds: f64,
    runs: Vec<Speed>,
}

#[derive(Debug, Serialize)]
struct Speed {
    what: String,
    texts: usize,
    tokens: u64,
    seconds: f64,
    texts_per_second: f64,
    tokens_per_second: f64,
}

/// Whether the name is an embedder's.
pub fn is_embedder(name: &str) -> bool {
    let is_known = ModelStore::card(name).is_ok_and(|card| card.kind == ModelKind::Embedder);
    is_known || folder_of(name).is_some_and(EncoderFolder::is_one)
}

pub async fn run(
    options: &ModelOptions,
    texts: Option<&Path>,
    json: bool,
) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let devices = language_model::devices(options.device).await?;
    let embedder = embedder(options.name(), None, devices).await?;
    let load_seconds = began.elapsed().as_secs_f64();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.model_threads.unwrap_or(cores);
    let model = embedder.id().to_string();
    let service = EmbeddingService::start(embedder, threads);
    let mut runs = Vec::new();
    for (what, texts) in batches(texts)? {
        // Once unmeasured: memory is there, caches are warm.
        let some = texts.iter().take(AT_ONCE).cloned().collect();
        service.embed(some).await?;
        let before = service.stats().tokens;
        let (count, began) = (texts.len(), Instant::now());
        let mut rest = texts.into_iter().peekable();
        let mut asked = Vec::new();
        while rest.peek().is_some() {
            asked.push(service.embed(rest.by_ref().take(AT_ONCE).collect()));
        }
        futures::future::try_join_all(asked).await?;
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        let tokens = service.stats().tokens - before;
        runs.push(Speed {
            what,
            texts: count,
            tokens,
            seconds,
            texts_per_second: count as f64 / seconds,
            tokens_per_second: tokens as f64 / seconds,
        });
    }
    let measured = Measured {
        model,
        threads,
        load_seconds,
        runs,
    };
    if json {
        print_json(&measured)?;
    } else {
        print(&measured)?;
    }
    Ok(Outcome::Done)
}

/// The texts to embed: those of a file, a text a line, or ours of three sizes.
fn batches(file: Option<&Path>) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let Some(file) = file else {
        let sizes = SIZES.iter().map(|(what, count, words)| {
            let texts = (0..*count).map(|number| {
                let word = |word: usize| VOCABULARY[(number * 31 + word * 7) % VOCABULARY.len()];
                let words: Vec<&str> = (0..*words).map(word).collect();
                format!("{number} {}", words.join(" "))
            });
            ((*what).to_owned(), texts.collect())
        });
        return Ok(sizes.collect());
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| anyhow!("cannot read the texts of {}: {error}", file.display()))?;
    let texts: Vec<String> = text.lines().map(str::to_owned).collect();
    if texts.is_empty() {
        bail!("{} has no line: give a text a line", file.display());
    }
    Ok(vec![(file.display().to_string(), texts)])
}

fn print(measured: &Measured) -> io::Result<()> {
    let columns = ["", "texts", "tokens", "seconds", "texts/s", "tokens/s"];
    let mut table = Table::new(&columns, &[1, 2, 3, 4, 5]);
    for run in &measured.runs {
        table.row(vec![
            one_line(&run.what),
            run.texts.to_string(),
            run.tokens.to_string(),
            format!("{:.2}", run.seconds),
            format!("{:.1}", run.texts_per_second),
            format!("{:.1}", run.tokens_per_second),
        ]);
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}, {} threads, loaded in {:.1} s",
        one_line(&measured.model),
        measured.threads,
        measured.load_seconds
    )?;
    table.write(&mut out)?;
    out.flush()
}
