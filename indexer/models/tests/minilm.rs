//! all-MiniLM-L6-v2 as users get it: pulled, verified, loaded, and compared with published values.
//!
//! The first run fetches the model (90 MB) into the user's cache, or reads `LIMN_MODELS`.
//! `LIMN_TEXTS` may name a file, a text a line, on which the engines are compared as well.

use std::sync::Arc;

use limn_models::{
    ALL_MINILM, ALL_MINILM_F32, Embedder, EmbeddingService, ModelCard, ModelKind, ModelStore,
    conformance,
};
use sha2::{Digest, Sha256};

fn embedder(name: &str) -> Arc<dyn Embedder> {
    ModelStore::from_env().embedder(name, &|_| {}).unwrap()
}

/// The first coordinates that the model's authors print for this sentence.
const PUBLISHED: (&str, [f32; 4]) = (
    "This is an example sentence",
    [0.067_66, 0.063_50, 0.048_71, 0.079_30],
);

#[test]
fn the_reference_gives_the_published_vector() {
    let vector = embedder(ALL_MINILM_F32).embed_one(PUBLISHED.0).unwrap();
    for (ours, published) in vector.iter().zip(PUBLISHED.1) {
        assert!((ours - published).abs() < 1e-4, "{:?}", &vector[..4]);
    }
}

/// An index names the id its vectors were made under: from it the same engine must come back.
#[test]
fn every_model_is_found_again_by_the_id_of_its_vectors() {
    let embedders = |card: &&ModelCard| card.kind == ModelKind::Embedder;
    for card in ModelStore::cards().iter().filter(embedders) {
        let embedder = embedder(card.name);
        assert_eq!(*embedder.id(), card.id());
        let found = ModelStore::card_of_id(embedder.id().as_str()).unwrap();
        assert_eq!(found.name, card.name);
    }
    assert_eq!(
        ModelStore::card_of_id("all-MiniLM-L6-v2@00000000-int8"),
        None
    );
}

#[test]
fn the_reference_conforms() {
    assert_eq!(
        conformance::embedder_violations(&*embedder(ALL_MINILM_F32)),
        Vec::<String>::new()
    );
}

#[test]
fn tokens_are_counted_as_the_model_reads_them() {
    let model = embedder(ALL_MINILM_F32);
    assert_eq!(model.count_tokens(""), 2);
    assert_eq!(model.count_tokens("This is an example sentence"), 7);
    assert_eq!(model.count_tokens("embeddings"), 6); // em ##bed ##ding ##s
    assert!(
        model.count_tokens("[SEP]") > 3,
        "a cell that looks like a special token is plain text"
    );
    assert_eq!(model.count_tokens(&"table ".repeat(1000)), 1002);
}

#[tokio::test]
async fn the_service_gives_what_the_model_gives() {
    let model = embedder(ALL_MINILM_F32);
    let texts: Vec<String> = (0..12)
        .map(|n| format!("orders of customer {n} {}", "and more ".repeat(n)))
        .collect();
    let alone = model
        .embed(&texts.iter().map(String::as_str).collect::<Vec<_>>())
        .unwrap();
    let service = EmbeddingService::start(model, 2);
    for (one, other) in service.embed(texts).await.unwrap().iter().zip(&alone) {
        assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[test]
fn the_integer_engine_conforms() {
    assert_eq!(
        conformance::embedder_violations(&*embedder(ALL_MINILM)),
        Vec::<String>::new()
    );
}

#[test]
fn vectors_are_the_same_bits_alone_and_in_any_batch() {
    let model = embedder(ALL_MINILM);
    let texts = texts(&[ours()], 60);
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain([""]).collect();
    let together = model.embed(&texts).unwrap();
    for (n, text) in texts.iter().enumerate() {
        let alone = model.embed_one(text).unwrap();
        let bits = |vector: &[f32]| vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&alone) == bits(&together[n]), "{text:?}");
    }
}

/// Of the bits of some texts' vectors. It changes only with what the embedder computes, and then
/// its id has to change, too: an index's vectors would no longer match those of its questions.
const BITS: &str = "cea617305de08cb8aa79144ad366bbcc973ef7a74757889e5ca05a29969b0341";

#[test]
fn vectors_are_the_same_bits_on_every_machine() {
    let long = "monthly sales of each region by customer ".repeat(60);
    let texts = [
        "",
        "a",
        "This is an example sentence",
        "order_id | customer_id | amount: 12.50 | paid: 2024-03-01",
        "naïve café 数据湖 Ωμέγα",
        "which rivers flow through more than two countries, and how long are they?",
        &long,
    ];
    let mut hash = Sha256::new();
    for vector in embedder(ALL_MINILM).embed(&texts).unwrap() {
        vector.iter().for_each(|it| hash.update(it.to_le_bytes()));
    }
    let hash: String = hash
        .finalize()
        .iter()
        .map(|it| format!("{it:02x}"))
        .collect();
    assert_eq!(hash, BITS);
}

#[test]
fn vectors_are_the_same_bits_on_two_threads() {
    let model = embedder(ALL_MINILM);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    let pool = pool.build().unwrap();
    let words = "which rivers flow through more than two countries and how long are they ";
    for length in (0..40).chain([100, 300]) {
        let text: Vec<&str> = words.split(' ').cycle().take(length).collect();
        let text = text.join(" ");
        let texts = [text.as_str(), "a lake"];
        for texts in [&texts[..1], &texts] {
            let together = model.embed_together(texts, &pool).unwrap();
            assert_eq!(together, model.embed(texts).unwrap(), "{length} words");
        }
    }
    assert!(model.embed_together(&[], &pool).unwrap().is_empty());
}

/// The engine's reason to be the default: it ranks pairs of texts as the reference does.
#[test]
fn the_integer_engine_ranks_pairs_as_the_reference() {
    let (engine, reference) = (embedder(ALL_MINILM), embedder(ALL_MINILM_F32));
    assert_ne!(engine.id(), reference.id());
    let mut sources = vec![ours()];
    sources.extend(
        std::env::var("LIMN_TEXTS")
            .ok()
            .map(|file| std::fs::read_to_string(file).unwrap()),
    );
    let texts = texts(&sources, 400);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (ours, theirs) = (
        engine.embed(&texts).unwrap(),
        reference.embed(&texts).unwrap(),
    );
    let pairs: Vec<(usize, usize)> = (0..2000)
        .map(|n| {
            (
                n * 7919 % texts.len(),
                (n * 104_729 + n / 7 + 1) % texts.len(),
            )
        })
        .collect();
    let cosines = |vectors: &[Vec<f32>]| -> Vec<f32> {
        pairs
            .iter()
            .map(|&(a, b)| vectors[a].iter().zip(&vectors[b]).map(|(x, y)| x * y).sum())
            .collect()
    };
    let (near, far) = (cosines(&ours), cosines(&theirs));
    let correlation = spearman(&near, &far);
    let worst = near
        .iter()
        .zip(&far)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    let own = ours
        .iter()
        .zip(&theirs)
        .map(|(a, b)| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>());
    let least = own.fold(1.0, f32::min);
    println!(
        "{} texts: Spearman {correlation:.5}, cosines differ by at most {worst:.4}, a text with itself at least {least:.4}",
        texts.len()
    );
    assert!(correlation >= 0.99, "Spearman {correlation}");
    assert!(
        least >= 0.98 && worst <= 0.05,
        "itself {least}, cosines {worst}"
    );
}

/// This crate's own words and code, as real text of the kind that tables' names and contexts are.
fn ours() -> String {
    [
        include_str!("../src/lib.rs"),
        include_str!("../src/embedder.rs"),
        include_str!("../src/error.rs"),
        include_str!("../src/hashed.rs"),
        include_str!("../src/conformance/embedders.rs"),
        include_str!("../src/files/cards.rs"),
        include_str!("../src/files/store.rs"),
        include_str!("../src/service/mod.rs"),
        include_str!("../src/encoder/int8/mod.rs"),
    ]
    .join("\n")
}

/// About `count` texts of one to six lines, evenly from all sources.
fn texts(sources: &[String], count: usize) -> Vec<String> {
    let per_source = count / sources.len();
    let of = |source: &String| -> Vec<String> {
        let lines: Vec<&str> = source
            .lines()
            .map(|line| line.trim_start_matches(['/', '!', ' ']))
            .filter(|line| line.len() > 20)
            .collect();
        let step = (lines.len() / per_source).max(1);
        let starts = (0..lines.len()).step_by(step).take(per_source);
        starts
            .enumerate()
            .map(|(n, start)| lines[start..(start + 1 + n % 6).min(lines.len())].join(" "))
            .collect()
    };
    sources.iter().flat_map(of).collect()
}

/// Rank correlation (Spearman 1904), ties in the order they come: cosines are hardly ever equal.
fn spearman(a: &[f32], b: &[f32]) -> f64 {
    let ranks = |values: &[f32]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let mut ranks = vec![0.0; values.len()];
        order
            .into_iter()
            .enumerate()
            .for_each(|(rank, place)| ranks[place] = rank as f64);
        ranks
    };
    let n = a.len() as f64;
    let squares: f64 = ranks(a)
        .iter()
        .zip(ranks(b))
        .map(|(x, y)| (x - y) * (x - y))
        .sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}
