//! The GPUs of this machine beside its processor: the same bits, and how much faster.
//!
//! ```sh
//! cargo run --release -p limn-models --features cuda --example device_bench
//! cargo run --release -p limn-models --features cuda --example device_bench -- MODEL.gguf
//! ```
//! Without a name or path of a language model: the embedder, then SmolLM2. The processor computes
//! the first of the GPU's texts and prompts, since all would take it long; on these the answers
//! must be equal. Where there is no GPU, the processor alone is measured.
//!
//! For profilers and memory checkers: `--part embed`, `read` or `write` runs that alone,
//! `--gpu-only` leaves the processor out, `--quick` runs a little of everything once.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use limn_models::{
    ALL_MINILM, Decoder, DecoderOptions, DeviceChoice, Devices, EmbeddingService, LanguageModel,
    Limits, ModelStore, Prompt, SMOLLM2,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

const WORDS: [&str; 17] = [
    "table", "water", "river", "price", "year", "name", "city", "the", "lake", "school", "of",
    "total", "order", "date", "team", "person", "country",
];
/// Texts to embed: what they are like, their words, how many a GPU gets and how many the processor.
const TEXTS: [(&str, usize, usize, usize); 3] = [
    ("questions", 14, 100_000, 8000),
    ("short blocks", 48, 40_000, 3000),
    ("full blocks", 220, 12_000, 800),
];
/// Texts that a caller hands in at a time.
const AT_ONCE: usize = 16;
/// Prompts of a language model, together and one by one: of a GPU, and of the processor.
const PROMPTS: [(usize, usize); 2] = [(2000, 24), (192, 6)];
/// Texts of `--quick`, and twice its prompts.
const QUICK: usize = 6;
/// The longest answer, in tokens.
const ANSWER: usize = 32;

/// What is to be done.
struct Options {
    model: Option<String>,
    parts: Vec<String>,
    quick: bool,
    gpu_only: bool,
}

impl Options {
    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|it| it == part)
    }
}

fn main() -> Result<(), Failure> {
    let mut options = Options {
        model: None,
        parts: Vec::new(),
        quick: false,
        gpu_only: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--gpu-only" => options.gpu_only = true,
            "--part" => options.parts.extend(arguments.next()),
            _ => options.model = Some(argument),
        }
    }
    let began = Instant::now();
    let gpus = Devices::find(DeviceChoice::Auto)?;
    let found = began.elapsed().as_secs_f64();
    match gpus.notice() {
        Some(notice) => println!("{notice}"),
        None => println!("GPUs: {gpus:?}, found in {found:.2} s"),
    }
    let mut devices = Vec::new();
    if !options.gpu_only {
        devices.push(Devices::default());
    }
    if !gpus.gpu_names().is_empty() {
        devices.push(gpus);
    }
    let mut figures = Vec::new();
    if options.model.is_none() && options.has("embed") {
        figures.push(embedder(&devices, &options)?);
    }
    if options.has("read") || options.has("write") {
        figures.push(decoder(&devices, &options)?);
    }
    println!("{}", Value::from(figures));
    Ok(())
}

fn words(seed: usize, count: usize) -> String {
    let word = |at: usize| WORDS[(seed * 31 + at * 7) % WORDS.len()];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// One line for a person; the figure for the result.
fn line(what: &str, device: &str, count: usize, tokens: u64, began: Instant) -> Value {
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let (each, speed) = (count as f64 / seconds, tokens as f64 / seconds);
    println!(
        "{what:<24} {device:<12} {count:>6} in {seconds:>7.3} s: {each:>9.1}/s, {speed:>9.0} tokens/s"
    );
    json!({
        "what": what, "on": device, "count": count, "seconds": seconds, "per_second": each, "tokens_per_second": speed,
    })
}

fn equal<T: PartialEq>(what: &str, on_cpu: &[T], on_gpu: &[T]) -> Result<(), Failure> {
    let differing = on_cpu.iter().zip(on_gpu).filter(|(a, b)| a != b).count();
    if differing > 0 {
        return Err(format!("{what}: {differing} of {} differ", on_cpu.len()).into());
    }
    println!(
        "{what:<24} {} equal to the bit",
        on_cpu.len().min(on_gpu.len())
    );
    Ok(())
}

fn embedder(devices: &[Devices], options: &Options) -> Result<Value, Failure> {
    let quick = options.quick;
    let (mut runs, mut vectors) = (Vec::new(), Vec::new());
    for devices in devices {
        let began = Instant::now();
        let store = ModelStore::from_env().with_devices(devices.clone());
        let embedder = store.embedder(ALL_MINILM, &|_| {})?;
        println!(
            "{} loaded in {:.2} s",
            embedder.id(),
            began.elapsed().as_secs_f64()
        );
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let service = EmbeddingService::start(embedder, threads);
        let mut all: Vec<Vec<f32>> = Vec::new();
        for (what, length, many, few) in TEXTS {
            let count = if devices.gpu_names().is_empty() {
                few
            } else {
                many
            };
            let count = if quick { QUICK } else { count };
            let text = |number: usize| format!("{number} {}", words(number, length));
            let texts: Vec<String> = (0..count).map(text).collect();
            if !quick {
                // Memory is there, caches are warm.
                let other = (count..count + 200).map(text).collect();
                futures::executor::block_on(service.embed(other))?;
            }
            let before = service.stats().tokens;
            let began = Instant::now();
            let asked = texts
                .chunks(AT_ONCE)
                .map(|some| service.embed(some.to_vec()));
            let found = futures::executor::block_on(futures::future::try_join_all(asked))?;
            let tokens = service.stats().tokens - before;
            runs.push(line(what, device_name(devices), count, tokens, began));
            all.extend(
                found
                    .into_iter()
                    .flatten()
                    .take(if quick { QUICK } else { few }),
            );
        }
        vectors.push(all);
    }
    if let [on_cpu, on_gpu] = &vectors[..] {
        equal("vectors", on_cpu, on_gpu)?;
    }
    Ok(json!({ "model": ALL_MINILM, "runs": runs }))
}

fn device_name(devices: &Devices) -> &'static str {
    if devices.gpu_names().is_empty() {
        "processor"
    } else {
        "GPU"
    }
}

/// What a language model answered.
#[derive(PartialEq)]
enum Answer {
    Classified(Option<Vec<f32>>),
    Written(String, usize),
}

fn decoder(devices: &[Devices], options: &Options) -> Result<Value, Failure> {
    let (name, quick) = (options.model.as_deref().unwrap_or(SMOLLM2), options.quick);
    let files = ModelStore::from_env().language_model_files(name, &|_| {})?;
    let (mut runs, mut answers) = (Vec::new(), Vec::new());
    for devices in devices {
        let began = Instant::now();
        let load = DecoderOptions {
            devices: devices.clone(),
            cache_bytes: quick.then_some(256 << 20),
            ..DecoderOptions::default()
        };
        let model = Decoder::load(&files, &load)?;
        let loaded = began.elapsed().as_secs_f64();
        println!(
            "{} on {} loaded in {loaded:.2} s",
            model.id(),
            model.kernels()
        );
        let (many, few) = PROMPTS[usize::from(devices.gpu_names().is_empty())];
        let (many, few) = if quick { (QUICK / 2, 1) } else { (many, few) };
        let answer = if quick { 4 } else { ANSWER };
        let device = device_name(devices);
        let mut all: [Vec<(usize, Answer)>; 2] = [Vec::new(), Vec::new()];
        for (kind, what) in ["read", "write"].into_iter().enumerate() {
            let ask: Ask = if kind == 0 {
                Ask::Classify
            } else {
                Ask::Generate
            };
            if !options.has(what) {
                continue;
            }
            if !quick {
                run(&model, ask, 5000..5008, 8, answer)?;
            }
            for (how, prompts, at_once) in [
                ("together", 0..many, model.concurrency()),
                // Others than the processor's first, which would still be in the cache.
                ("one by one", 9000..9000 + few, 1),
            ] {
                let before = model.usage();
                let began = Instant::now();
                let count = prompts.len();
                all[kind].extend(run(&model, ask, prompts, at_once, answer)?);
                let usage = model.usage();
                let tokens = match ask {
                    Ask::Classify => usage.computed_prompt_tokens - before.computed_prompt_tokens,
                    Ask::Generate => usage.generated_tokens - before.generated_tokens,
                };
                runs.push(line(
                    &format!("{what}, {how}"),
                    device,
                    count,
                    tokens,
                    began,
                ));
            }
            all[kind].sort_by_key(|(number, _)| *number);
        }
        answers.push(all);
    }
    if let [on_cpu, on_gpu] = &answers[..] {
        for kind in 0..2 {
            let numbers = |number: &usize| on_cpu[kind].iter().any(|(other, _)| other == number);
            let (same, _): (Vec<_>, Vec<_>) =
                on_gpu[kind].iter().partition(|(number, _)| numbers(number));
            let on_cpu: Vec<_> = on_cpu[kind].iter().collect();
            equal(["classified", "written"][kind], &on_cpu, &same)?;
        }
    }
    Ok(json!({ "model": files.id().to_string(), "runs": runs }))
}

#[derive(Clone, Copy)]
enum Ask {
    Classify,
    Generate,
}

/// Answers to prompts that have nothing in common, with their numbers.
fn run(
    model: &Decoder,
    ask: Ask,
    prompts: Range<usize>,
    at_once: usize,
    answer: usize,
) -> Result<Vec<(usize, Answer)>, Failure> {
    let limits = Limits {
        max_tokens: answer,
        stop: Vec::new(),
    };
    let limits = &limits;
    let asked = prompts.map(|number| async move {
        let answer = match ask {
            Ask::Classify => {
                let prompt = Prompt {
                    system: Arc::from(format!("Table {number}.")),
                    shared: Arc::from(""),
                    own: format!("{} Is this a table?", words(number, 96)),
                };
                let found = model.classify(&prompt, &["yes", "no"]).await?;
                Answer::Classified(found.log_probabilities)
            }
            Ask::Generate => {
                let prompt = Prompt {
                    system: Arc::from("You are a helpful assistant."),
                    shared: Arc::from(""),
                    own: format!("Tell a long story of the number {number}."),
                };
                let found = model.generate(&prompt, limits).await?;
                Answer::Written(found.text, found.generated_tokens)
            }
        };
        Ok::<_, limn_models::ModelError>((number, answer))
    });
    let answers = futures::stream::iter(asked).buffer_unordered(at_once);
    let answers: Vec<_> = futures::executor::block_on(answers.collect());
    Ok(answers.into_iter().collect::<Result<Vec<_>, _>>()?)
}
