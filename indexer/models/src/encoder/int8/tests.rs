//! The kernels against plain arithmetic and against each other; the approximations against f64.
//!
//! What the whole engine gives, compared with the 32-bit one, is in `tests/minilm.rs`, and compared
//! with the `transformers` library in `tests/encoders.rs`.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::super::attention::Rotation;
use super::super::names::Norm;
use super::super::shape::{Activation, Reach};
use super::attend::{Attention, AttentionScratch};
use super::stages::{Quantized, gelu_of, gelu_tanh_of};
use super::weights::Matrix;
use crate::kernels::Cpu;
use crate::kernels::floats::exp2;

/// The default model's sizes.
const HIDDEN: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = 32;

/// The default model's attention.
const PLAIN: Attention<'static> = Attention {
    heads: HEADS,
    head: HEAD,
    reach: Reach::All,
    rotation: None,
};

/// Numbers that look random, of a given magnitude; the same for the same seed.
fn numbers(count: usize, seed: u64, magnitude: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| magnitude * next()).collect()
}

fn quantized(cpu: Cpu, rows: &[f32], width: usize) -> Quantized {
    let mut out = Quantized::default();
    cpu.quantize(rows, width, &mut out);
    out
}

/// What the integer product means, in plain 64-bit arithmetic.
fn plain_product(rows: &Quantized, matrix: &Matrix, row: usize, output: usize) -> f64 {
    let (panel, column) = (output / 64, output % 64);
    let sum: i64 = (0..matrix.inputs)
        .map(|input| {
            let byte =
                i64::from(rows.bytes[row * matrix.inputs + input]) - i64::from(rows.zeros[row]);
            let weight = matrix.packed
                [panel * 64 * matrix.inputs + (input / 4 * 64 + column) * 4 + input % 4];
            byte * i64::from(weight)
        })
        .sum();
    sum as f64 * f64::from(rows.scales[row]) * f64::from(matrix.scales[output])
        + f64::from(matrix.bias[output])
}

#[test]
fn products_are_right_on_every_kernel_for_every_number_of_rows() {
    for (inputs, outputs) in [(384, 128), (1536, 64), (4, 64)] {
        let matrix = Matrix::pack(
            &numbers(inputs * outputs, 1, 0.3),
            numbers(outputs, 2, 1.0),
            inputs,
        );
        for count in (1..=13).chain([48]) {
            let rows = numbers(count * inputs, count as u64, 3.0);
            for cpu in Cpu::all() {
                let rows = quantized(cpu, &rows, inputs);
                let mut out = vec![f32::NAN; count * outputs];
                cpu.multiply(&rows, &matrix, &mut out);
                for (place, &number) in out.iter().enumerate() {
                    let right = plain_product(&rows, &matrix, place / outputs, place % outputs);
                    let error = (f64::from(number) - right).abs();
                    assert!(
                        error <= 1e-6 * (1.0 + right.abs()),
                        "{}: {number} for {right}",
                        cpu.name()
                    );
                }
            }
        }
    }
}

/// All bytes at 255 and all weights at −127 or 127: where saturating instructions would differ.
#[test]
fn extreme_products_do_not_saturate() {
    let inputs = 1536;
    for weight in [-1.0, 1.0] {
        let matrix = Matrix::pack(&vec![weight; inputs * 64], vec![0.0; 64], inputs);
        for cpu in Cpu::all() {
            let rows = quantized(cpu, &vec![1.0; inputs], inputs);
            assert!(rows.bytes.iter().all(|&byte| byte == 255) && rows.zeros == [0]);
            let mut out = vec![0.0; 64];
            cpu.multiply(&rows, &matrix, &mut out);
            let right = weight * inputs as f32;
            assert!(
                out.iter().all(|x| (x - right).abs() < 1e-3 * right.abs()),
                "{}: {}",
                cpu.name(),
                out[0]
            );
        }
    }
}

#[test]
fn quantizing_keeps_zero_and_errs_by_half_a_step() {
    for (seed, offset) in [(1, 0.0), (2, 5.0), (3, -5.0)] {
        let row: Vec<f32> = numbers(HIDDEN, seed, 2.0)
            .iter()
            .map(|x| x + offset)
            .collect();
        for cpu in Cpu::all() {
            let out = quantized(cpu, &row, HIDDEN);
            for (&byte, number) in out.bytes.iter().zip(&row) {
                let back = (i32::from(byte) - out.zeros[0]) as f32 * out.scales[0];
                assert!(
                    (back - number).abs() <= 0.51 * out.scales[0] + 1e-6,
                    "{number} became {back}"
                );
            }
            assert!((0..=255).contains(&out.zeros[0]));
        }
    }
    let out = quantized(Cpu::detect(), &[0.0; HIDDEN], HIDDEN);
    assert!(
        out.bytes
            .iter()
            .all(|&byte| i32::from(byte) == out.zeros[0]),
        "nothing but zeros"
    );
}

/// Attention in f64 by its definition: softmax(q·kᵀ/√d)·v (Vaswani et al. 2017, equation 1), over
/// the keys that a query sees, of queries and keys rotated by their places.
fn plain_attention(projected: &[f32], length: usize, attention: &Attention<'_>) -> Vec<f64> {
    let (heads, size) = (attention.heads, attention.head);
    let hidden = heads * size;
    let number = |token: usize, part: usize, head: usize, d: usize| {
        f64::from(projected[token * 3 * hidden + part * hidden + head * size + d])
    };
    let at = |token: usize, part: usize, head: usize, d: usize| {
        let Some(rotation) = attention.rotation else {
            return number(token, part, head, d);
        };
        let half = size / 2;
        let pair = token * half + d % half;
        let (cosine, sine) = (
            f64::from(rotation.cosines[pair]),
            f64::from(rotation.sines[pair]),
        );
        let own = number(token, part, head, d);
        match d < half {
            true => own * cosine - number(token, part, head, d + half) * sine,
            false => own * cosine + number(token, part, head, d - half) * sine,
        }
    };
    let mut out = vec![0.0; length * hidden];
    for head in 0..heads {
        for query in 0..length {
            let score = |key| {
                (0..size)
                    .map(|d| at(query, 0, head, d) * at(key, 1, head, d))
                    .sum::<f64>()
            };
            let sees = |key: usize| match attention.reach {
                Reach::All => true,
                Reach::Around(away) => query.abs_diff(key) <= away,
            };
            let weights: Vec<f64> = (0..length)
                .map(|key| match sees(key) {
                    true => (score(key) / (size as f64).sqrt()).exp(),
                    false => 0.0,
                })
                .collect();
            let sum: f64 = weights.iter().sum();
            for d in 0..size {
                let mixed: f64 = weights
                    .iter()
                    .enumerate()
                    .map(|(key, weight)| weight * number(key, 2, head, d))
                    .sum();
                out[query * hidden + head * size + d] = mixed / sum;
            }
        }
    }
    out
}

fn attention_is_right(lengths: &[usize], attention: &Attention<'_>) {
    let hidden = attention.heads * attention.head;
    let tokens: usize = lengths.iter().sum();
    let projected = numbers(tokens * 3 * hidden, 7, 2.0);
    let mut scratch = AttentionScratch::default();
    for cpu in Cpu::all() {
        let mut out = vec![f32::NAN; tokens * hidden];
        cpu.attend(&projected, lengths, attention, &mut scratch, &mut out);
        let mut first = 0;
        for &length in lengths {
            let right = plain_attention(
                &projected[first * 3 * hidden..][..length * 3 * hidden],
                length,
                attention,
            );
            for (number, right) in out[first * hidden..].iter().zip(right) {
                assert!(
                    (f64::from(*number) - right).abs() < 4e-5,
                    "{} at {length}: {number} for {right}",
                    cpu.name()
                );
            }
            first += length;
        }
    }
}

#[test]
fn attention_is_right_for_every_length_and_never_crosses_sequences() {
    attention_is_right(&[1, 2, 5, 6, 7, 15, 16, 17, 33, 64, 70, 130], &PLAIN);
}

#[test]
fn attention_is_right_for_heads_of_every_size_near_and_far() {
    for head in [16, 32, 48, 64, 80, 128] {
        let rotation = Rotation::new(10_000.0, head, 90);
        for (reach, rotation) in [
            (Reach::All, None),
            (Reach::All, Some(&rotation)),
            (Reach::Around(0), None),
            (Reach::Around(5), Some(&rotation)),
            (Reach::Around(20), Some(&rotation)),
        ] {
            let attention = Attention {
                heads: 2,
                head,
                reach,
                rotation,
            };
            attention_is_right(&[1, 7, 90, 16, 47], &attention);
        }
    }
}

/// The factor has one value, whether it is computed here or written in a kernel for GPUs.
#[test]
fn the_default_models_factor_is_that_of_the_gpus() {
    let written = std::f32::consts::LOG2_E / (4.0 * std::f32::consts::SQRT_2);
    assert_eq!(PLAIN.factor().to_bits(), written.to_bits());
}

#[test]
fn approximations_keep_their_bounds() {
    // x·Φ(x) with Φ integrated by Simpson's rule, for there is no erf in the standard library.
    let mut phi = vec![0.5_f64];
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let step = 1e-3;
    for n in 0..8000 {
        let x = f64::from(n) * step;
        let area = (density(x) + 4.0 * density(x + step / 2.0) + density(x + step)) * step / 6.0;
        phi.push(phi[phi.len() - 1] + area);
    }
    for (n, phi) in phi.iter().enumerate() {
        let x = n as f64 * step;
        for (x, phi) in [(x, *phi), (-x, 1.0 - phi)] {
            let error = (f64::from(gelu_of(x as f32)) - x * phi).abs();
            assert!(
                error < if x.abs() <= 4.0 { 1e-6 } else { 3e-5 },
                "gelu({x}) is off by {error}"
            );
        }
    }
    for n in -800..=800 {
        let x = f64::from(n) / 100.0;
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
        let right = 0.5 * x * (1.0 + inner.tanh());
        let error = (f64::from(gelu_tanh_of(x as f32)) - right).abs();
        assert!(error < 2e-6, "the other gelu({x}) is off by {error}");
    }
    for n in 0..=12_000 {
        let x = -f64::from(n) / 100.0;
        let (ours, right) = (f64::from(exp2(x as f32)), f64::from(x as f32).exp2());
        assert!((ours / right - 1.0).abs() < 3e-7, "2^{x} is {ours}");
    }
    assert!(exp2(f32::MIN) < 1e-37 && exp2(-300.0) < 1e-37);
}

/// One run of every stage on one kernel; bits, so that −0 and 0 differ.
fn all_stages(cpu: Cpu, rows: &[f32], lengths: &[usize]) -> Vec<u32> {
    let matrix = Matrix::pack(
        &numbers(HIDDEN * 3 * HIDDEN, 3, 0.1),
        numbers(3 * HIDDEN, 4, 0.5),
        HIDDEN,
    );
    let norm = Norm {
        scale: numbers(HIDDEN, 5, 1.0),
        shift: numbers(HIDDEN, 6, 1.0),
    };
    let tokens: usize = lengths.iter().sum();
    let mut states = rows.to_vec();
    cpu.normalize(&mut states, None, &norm, 1e-12);
    let mut projected = vec![0.0; tokens * 3 * HIDDEN];
    cpu.multiply(&quantized(cpu, &states, HIDDEN), &matrix, &mut projected);
    let mut attended = vec![0.0; tokens * HIDDEN];
    let rotation = Rotation::new(10_000.0, HEAD, 40);
    let near = Attention {
        reach: Reach::Around(9),
        rotation: Some(&rotation),
        ..PLAIN
    };
    let mut nearby = attended.clone();
    for (attention, out) in [(PLAIN, &mut attended), (near, &mut nearby)] {
        cpu.attend(
            &projected,
            lengths,
            &attention,
            &mut AttentionScratch::default(),
            out,
        );
    }
    cpu.activate(&mut projected, Activation::Gelu);
    cpu.normalize(&mut states, Some(&mut attended), &norm, 1e-12);
    let mut gated = vec![0.0; projected.len() / 2];
    cpu.gate(&projected, 3 * HIDDEN / 2, Activation::GeluTanh, &mut gated);
    cpu.add(&mut states, &gated);
    states
        .iter()
        .chain(&attended)
        .chain(&nearby)
        .chain(&projected)
        .map(|number| number.to_bits())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_kernel_gives_the_same_bits(
        seed in 1_u64..1_000_000,
        magnitude in prop_oneof![Just(1e-4_f32), Just(1.0), Just(300.0)],
        lengths in prop::collection::vec(1_usize..40, 1..4),
    ) {
        let rows = numbers(lengths.iter().sum::<usize>() * HIDDEN, seed, magnitude);
        let mut all = Cpu::all().into_iter().map(|cpu| (cpu.name(), all_stages(cpu, &rows, &lengths)));
        let (_, first) = all.next().unwrap();
        for (name, bits) in all {
            prop_assert!(bits == first, "{name} gives other bits");
        }
    }
}
