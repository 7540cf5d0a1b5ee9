//! Kernels against plain arithmetic and each other; a tiny random network in every arrangement.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::cache::SegmentId;
use super::device::{Device, Piece, Scores, Wanted};
use super::load::{self, Name, Source};
use super::load_error::LoadError;
use super::matrix::{ByteRows, Matrix};
use super::network::Network;
use super::shape::{Pairs, Shape};
use super::stages::{SharedNumbers, TileRows};
use crate::kernels::{Cpu, GROUP, ROW_LINES, TILE};

#[cfg(target_os = "linux")]
mod on_gpu;
#[path = "../../../../tests/rounds.rs"]
mod rounds;

/// Numbers that look random and are the same every time.
fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn bytes_of(cpu: Cpu, rows: &[f32], width: usize) -> ByteRows {
    let mut bytes = ByteRows::default();
    let (lines, scales, groups) = bytes.resize(rows.len() / width, width);
    let tiles = lines
        .chunks_mut(groups * ROW_LINES * TILE)
        .zip(scales.chunks_mut(groups * TILE));
    for (numbers, (lines, scales)) in rows.chunks(width * TILE).zip(tiles) {
        cpu.to_bytes(TileRows {
            numbers,
            from: width,
            lines,
            scales,
            space: &mut Vec::new(),
        });
    }
    bytes
}

fn product_on(cpu: Cpu, rows: &[f32], weights: &[f32], inputs: usize) -> (Vec<f32>, usize) {
    let count = rows.len() / inputs;
    let bytes = bytes_of(cpu, rows, inputs);
    let read =
        |rows: std::ops::Range<usize>| Ok(weights[rows.start * inputs..rows.end * inputs].to_vec());
    let matrix = Matrix::pack(cpu, (weights.len() / inputs, inputs), None, read).unwrap();
    let mut out = vec![0.0; count * matrix.outputs];
    cpu.multiply_groups(
        bytes.part(0..count),
        matrix.part(0..matrix.blocks()),
        SharedNumbers::of(&mut out),
        matrix.outputs,
    );
    (out, matrix.outputs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn products_are_near_the_floats_and_the_same_bits_on_every_kernel(
        count in 1_usize..50, inputs in 1_usize..400, outputs in 1_usize..60, seed in any::<u64>(),
    ) {
        let (rows, weights) = (noise(seed, count * inputs), noise(seed ^ 7, outputs * inputs));
        let (expected, stride) = product_on(Cpu::all().pop().unwrap(), &rows, &weights, inputs);
        for (r, row) in rows.chunks(inputs).enumerate() {
            for (o, weights) in weights.chunks(inputs).enumerate() {
                let exact: f32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                let off = (expected[r * stride + o] - exact).abs();
                prop_assert!(off < 0.02 + 0.01 * (inputs as f32).sqrt(), "{off} of {exact}");
            }
        }
        for cpu in Cpu::all() {
            let (found, _) = product_on(cpu, &rows, &weights, inputs);
            prop_assert!(found == expected, "{} differs", cpu.name());
        }
    }
}

/// All bytes at their bounds: what one instruction adds up is as large as it can be.
#[test]
fn the_greatest_products_are_the_same_bits_on_every_kernel() {
    let (inputs, outputs) = (256, 32);
    let sign = |place: usize, kind: usize| match kind {
        0 => 1.0,
        1 => -1.0,
        _ if place.is_multiple_of(kind) => -1.0,
        _ => 1.0,
    };
    for (of_rows, of_weights) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (1, 2), (2, 3)] {
        let weights: Vec<f32> = (0..outputs * inputs)
            .map(|place| sign(place, of_weights))
            .collect();
        for count in 1..=5 {
            let rows: Vec<f32> = (0..count * inputs).map(|at| sign(at, of_rows)).collect();
            let (expected, stride) = product_on(Cpu::all().pop().unwrap(), &rows, &weights, inputs);
            let exact: f32 = (0..inputs).map(|at| rows[at] * weights[at]).sum();
            assert!(
                (expected[0] - exact).abs() < 0.01,
                "{} of {exact}",
                expected[0]
            );
            assert_eq!(expected.len(), count * stride);
            for cpu in Cpu::all() {
                let (found, _) = product_on(cpu, &rows, &weights, inputs);
                assert!(found == expected, "{} differs", cpu.name());
            }
        }
    }
}

/// A model of random weights.
struct Random {
    shape: Shape,
    with_bias: bool,
}

impl Source for Random {
    fn dims(&self, name: Name) -> Option<Vec<usize>> {
        let Shape {
            hidden,
            inner,
            vocabulary,
            ..
        } = self.shape;
        let (queries, keys) = (
            self.shape.heads * self.shape.head,
            self.shape.kv_heads * self.shape.head,
        );
        Some(match name {
            Name::Words => vec![vocabulary, hidden],
            Name::Output => return None,
            Name::Norm | Name::AttentionNorm(_) | Name::InnerNorm(_) => vec![hidden],
            Name::Query(_) => vec![queries, hidden],
            Name::Key(_) | Name::Value(_) => vec![keys, hidden],
            Name::QueryBias(_) | Name::KeyBias(_) | Name::ValueBias(_) if !self.with_bias => {
                return None;
            }
            Name::QueryBias(_) => vec![queries],
            Name::KeyBias(_) | Name::ValueBias(_) => vec![keys],
            Name::Merge(_) => vec![hidden, queries],
            Name::Gate(_) | Name::Up(_) => vec![inner, hidden],
            Name::Down(_) => vec![hidden, inner],
        })
    }

    fn rows(&self, name: Name, rows: std::ops::Range<usize>) -> Result<Vec<f32>, LoadError> {
        let dims = self.dims(name).unwrap();
        let name = format!("{name:?}");
        let seed = name.bytes().fold(1_u64, |hash, byte| {
            hash.wrapping_mul(131).wrapping_add(u64::from(byte))
        });
        let (scale, width) = match dims[..] {
            [width] => (1.0, width),
            _ => (3.0 / (dims[1] as f32).sqrt(), dims[1]),
        };
        let numbers = noise(seed, dims.iter().product());
        let numbers = numbers[rows.start * width..rows.end * width].iter();
        Ok(numbers.map(|number| number * scale).collect())
    }
}

fn tiny(pairs: Pairs, threads: usize, cpu: Cpu) -> Network {
    let shape = Shape {
        layers: 3,
        hidden: 80,
        heads: 6,
        kv_heads: 2,
        head: 32,
        inner: 136,
        vocabulary: 203,
        window: 512,
        rope_base: 10_000.0,
        rope_factors: Vec::new(),
        pairs,
        norm_epsilon: 1e-5,
    };
    assert_eq!(shape.refusal(), None);
    let source = Random {
        shape: shape.clone(),
        with_bias: pairs == Pairs::Halves,
    };
    let weights = load::weights(&source, &shape, cpu).unwrap();
    Network::new(shape, weights, threads, cpu).unwrap()
}

fn all_scores() -> Wanted {
    Wanted::LogProbabilities((0..203).collect())
}

/// The scores after some tokens, read in pieces of given lengths, alone.
fn alone(network: &mut Network, tokens: &[u32], pieces: &[usize]) -> Scores {
    let segment = network.reserve(None, tokens.len()).unwrap();
    let (mut rest, mut last) = (tokens, Scores::Nothing);
    for length in pieces.iter().chain([&tokens.len()]) {
        let (here, after) = rest.split_at((*length).min(rest.len()));
        rest = after;
        if !here.is_empty() {
            let piece = Piece {
                segment,
                tokens: here.to_vec(),
                wanted: all_scores(),
            };
            last = network.step(&[piece]).unwrap().remove(0);
        }
    }
    network.release(segment);
    last
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_sequence_has_the_same_scores_in_every_arrangement(
        sequences in prop::collection::vec(prop::collection::vec(0_u32..203, 1..70), 1..24),
        cut in 1_usize..40, threads in 1_usize..4, halves in any::<bool>(),
    ) {
        let pairs = if halves { Pairs::Halves } else { Pairs::Neighbours };
        let mut reference = tiny(pairs, 1, Cpu::all().pop().unwrap());
        let expected: Vec<Scores> = sequences.iter().map(|tokens| alone(&mut reference, tokens, &[])).collect();
        for cpu in Cpu::all() {
            let mut network = tiny(pairs, threads, cpu);
            // All together.
            let pieces: Vec<Piece> = sequences.iter().map(|tokens| Piece {
                segment: network.reserve(None, tokens.len()).unwrap(),
                tokens: tokens.clone(),
                wanted: all_scores(),
            }).collect();
            prop_assert!(network.step(&pieces).unwrap() == expected, "{}: together", cpu.name());
            // Cut in pieces.
            for (tokens, expected) in sequences.iter().zip(&expected) {
                let pieces = [cut, 1, 2 * cut];
                prop_assert!(&alone(&mut network, tokens, &pieces) == expected, "{}: cut", cpu.name());
            }
        }
    }

    #[test]
    fn a_shared_beginning_counts_the_same_once_or_often(
        outer in prop::collection::vec(0_u32..203, 1..40), inner in prop::collection::vec(0_u32..203, 1..40),
        own in prop::collection::vec(prop::collection::vec(0_u32..203, 1..30), 1..20),
    ) {
        let mut network = tiny(Pairs::Halves, 2, Cpu::detect());
        let read = |network: &mut Network, parent: Option<SegmentId>, tokens: &[u32]| {
            let segment = network.reserve(parent, tokens.len()).unwrap();
            network.step(&[Piece { segment, tokens: tokens.to_vec(), wanted: Wanted::Nothing }]).unwrap();
            segment
        };
        // Reserved before what lies before it is read, as the engine does.
        let first = network.reserve(None, outer.len()).unwrap();
        let second = network.reserve(Some(first), inner.len()).unwrap();
        for (segment, tokens) in [(first, &outer), (second, &inner)] {
            network.step(&[Piece { segment, tokens: tokens.clone(), wanted: Wanted::Nothing }]).unwrap();
        }
        let pieces: Vec<Piece> = own.iter().map(|tokens| Piece {
            segment: network.reserve(Some(second), tokens.len()).unwrap(),
            tokens: tokens.clone(),
            wanted: all_scores(),
        }).collect();
        let together = network.step(&pieces).unwrap();
        for (tokens, shared) in own.iter().zip(&together) {
            let first = read(&mut network, None, &outer);
            let second = read(&mut network, Some(first), &inner);
            let segment = network.reserve(Some(second), tokens.len()).unwrap();
            let piece = Piece { segment, tokens: tokens.clone(), wanted: all_scores() };
            prop_assert_eq!(&network.step(&[piece]).unwrap()[0], shared);
            // And one segment for all: near, though added up in another order.
            let whole: Vec<u32> = [&outer[..], &inner[..], &tokens[..]].concat();
            let (Scores::LogProbabilities(a), Scores::LogProbabilities(b)) = (alone(&mut network, &whole, &[]), shared) else {
                panic!("scores of another kind");
            };
            let off = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            prop_assert!(off < 0.5, "{off}");
        }
    }
}

#[test]
fn a_group_is_two_lines() {
    assert_eq!(GROUP, ROW_LINES * 64);
}

/// How far two distributions are from each other: Σ p·ln(p/q), in nats.
fn divergence(p: &[f32], q: &[f32]) -> f32 {
    p.iter().zip(q).map(|(p, q)| p.exp() * (p - q)).sum()
}

fn best(log_probabilities: &[f32]) -> usize {
    let places = log_probabilities.iter().enumerate();
    places.max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0
}

#[test]
fn a_tiny_network_is_near_the_reference() {
    for pairs in [Pairs::Halves, Pairs::Neighbours] {
        let mut network = tiny(pairs, 1, Cpu::detect());
        let source = Random {
            shape: network.shape().clone(),
            with_bias: pairs == Pairs::Halves,
        };
        for length in [1, 2, 15, 16, 17, 60] {
            let tokens: Vec<u32> = (0..length)
                .map(|place| (place * place * 7 + length) % 203)
                .collect();
            let Scores::LogProbabilities(found) = alone(&mut network, &tokens, &[]) else {
                panic!()
            };
            let expected =
                super::reference::log_probabilities(&source, &source.shape, &tokens).unwrap();
            let off = divergence(&expected, &found);
            assert!(off < 0.01, "{pairs:?}, {length} tokens: {off}");
        }
    }
}

/// On real weights: the distributions of the next token, and the likeliest one where the reference
/// is sure of it.
#[test]
fn smollm2_is_near_the_reference() {
    use crate::{LanguageModelFiles, ModelStore, Prompt, SMOLLM2};
    let files = ModelStore::from_env()
        .language_model_files(SMOLLM2, &|_| {})
        .unwrap();
    let LanguageModelFiles::Gguf { path, .. } = files else {
        panic!("a GGUF file")
    };
    let file = super::gguf::Gguf::open(&path).unwrap();
    let shape = file.shape().unwrap();
    let tokens = super::tokens::Tokens::of_pieces(file.pieces().unwrap(), "smollm2").unwrap();
    let weights = load::weights(&file, &shape, Cpu::detect()).unwrap();
    let mut network = Network::new(shape.clone(), weights, 2, Cpu::detect()).unwrap();
    let mut sum = 0.0;
    let texts = [
        "What is the capital of France?",
        "A table has the columns: `AddressID` | `City` | `PostalCode`. Describe briefly what `City` holds.",
        "Is the table about lakes relevant to the question: how deep is Lake Baikal? Answer yes or no.",
        "数据湖中的表格",
    ];
    for text in texts {
        let prompt = Prompt {
            system: "You are a helpful assistant.".into(),
            shared: "".into(),
            own: text.into(),
        };
        let prompt = tokens.prompt(&prompt).unwrap();
        let all: Vec<u32> = prompt
            .shared
            .iter()
            .flatten()
            .chain(&prompt.own)
            .copied()
            .collect();
        let expected = super::reference::log_probabilities(&file, &shape, &all).unwrap();
        let segment = network.reserve(None, all.len()).unwrap();
        let wanted = Wanted::LogProbabilities((0..shape.vocabulary as u32).collect());
        let Scores::LogProbabilities(found) = network
            .step(&[Piece {
                segment,
                tokens: all,
                wanted,
            }])
            .unwrap()
            .remove(0)
        else {
            panic!()
        };
        let off = divergence(&expected, &found);
        println!("{off:.4} nats after {text:?}");
        sum += off;
        let (first, likeliest) = (best(&expected), best(&found));
        if first != likeliest {
            assert!(
                expected[first] - expected[likeliest] < 0.2,
                "{text}: {}",
                tokens.decode(&[likeliest as u32])
            );
        }
    }
    // Rounding of a model this small: a few hundredths.
    assert!(sum / (texts.len() as f32) < 0.04, "{sum}");
}
