//! Texts a second of the embedders, by length of text and number of threads.
//!
//! ```sh
//! cargo run --release -p limn-models --example embed_bench            # the default engine
//! cargo run --release -p limn-models --example embed_bench -- all     # the 32-bit reference, too
//! ```
//! On a busy machine compare the figures per CPU second (Linux only); wall-clock ones depend on the
//! neighbours.

use std::time::{Duration, Instant};

use limn_models::{ALL_MINILM, ALL_MINILM_F32, Embedder, EmbeddingService, ModelError, ModelStore};

const AT_LEAST: Duration = Duration::from_millis(1500);
const BATCH_TOKENS: usize = 2048;

fn main() -> Result<(), ModelError> {
    let all = std::env::args().any(|argument| argument == "all");
    let names = if all {
        vec![ALL_MINILM, ALL_MINILM_F32]
    } else {
        vec![ALL_MINILM]
    };
    println!(
        "{:<34} {:>7} {:>6} {:>6} {:>12} {:>14} {:>10}",
        "model", "threads", "tokens", "batch", "texts/s", "per CPU s", "best/s"
    );
    for name in names {
        let loading = Instant::now();
        let model = ModelStore::from_env().embedder(name, &|_| {})?;
        println!(
            "{:<34} loaded in {:.0} ms",
            model.id().to_string(),
            loading.elapsed().as_secs_f64() * 1e3
        );
        for threads in [1, 2] {
            let service = EmbeddingService::start(model.clone(), threads);
            for tokens in [18, 16, 64, 128, 256] {
                measure(&service, threads, tokens, 1);
                if tokens != 18 {
                    measure(&service, threads, tokens, threads * BATCH_TOKENS / tokens);
                }
            }
        }
    }
    Ok(())
}

/// Embeds batches through the service until enough time has passed; the vectors are not kept.
fn measure(service: &EmbeddingService, threads: usize, tokens: usize, batch: usize) {
    if batch == 1 && threads > 1 {
        return; // a single text uses a single thread
    }
    let model = service.embedder();
    let run = |round: usize| {
        let texts: Vec<String> = (0..batch)
            .map(|n| text(&**model, tokens, n + round * batch))
            .collect();
        let started = Instant::now();
        if futures::executor::block_on(service.embed(texts)).is_err() {
            println!("a batch failed");
        }
        started.elapsed()
    };
    run(0);
    let (cpu, mut wall, mut best, mut rounds) = (cpu_time(), Duration::ZERO, Duration::MAX, 0);
    while wall < AT_LEAST {
        rounds += 1;
        let took = run(rounds);
        wall += took;
        best = best.min(took);
    }
    let texts = (rounds * batch) as f64;
    let per_cpu = cpu_time()
        .zip(cpu)
        .map(|(after, before)| texts / (after - before).as_secs_f64().max(1e-3));
    println!(
        "{:<34} {threads:>7} {tokens:>6} {batch:>6} {:>12.1} {:>14} {:>10.1}",
        model.id().to_string(),
        texts / wall.as_secs_f64(),
        per_cpu.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}")),
        batch as f64 / best.as_secs_f64(),
    );
}

/// A text of exactly so many tokens, two of them special: every word used is one token.
fn text(model: &dyn Embedder, tokens: usize, seed: usize) -> String {
    const WORDS: [&str; 21] = [
        "the", "monthly", "sales", "of", "each", "region", "by", "customer", "and", "product",
        "in", "year", "with", "total", "orders", "price", "name", "city", "country", "date",
        "table",
    ];
    // Digits of the seed in base 21, so that no two texts are equal and none is joined to another.
    let words = (0..tokens - 2).map(|n| {
        WORDS[if n < 5 {
            seed / 21_usize.pow(n as u32)
        } else {
            n * 5 + seed
        } % 21]
    });
    let text = words.collect::<Vec<_>>().join(" ");
    debug_assert_eq!(model.count_tokens(&text), tokens);
    text
}

/// Processor time of this process so far, in steps of 10 ms; `None` where Linux's /proc is not.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
