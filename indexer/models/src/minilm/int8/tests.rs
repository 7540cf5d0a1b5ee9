//! The kernels against plain arithmetic and against each other; the approximations against f64.
//!
//! What the whole engine gives, compared with the 32-bit reference, is in `tests/minilm.rs`.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::stages::{AttentionScratch, Quantized, gelu_of};
use super::weights::{Matrix, Norm};
use crate::kernels::Cpu;
use crate::kernels::floats::exp2;
use crate::minilm::shape::{HEAD, HEADS, HIDDEN};

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

/// Attention in f64 by its definition: softmax(q·kᵀ/√d)·v (Vaswani et al. 2017, equation 1).
fn plain_attention(projected: &[f32], length: usize) -> Vec<f64> {
    let at = |token: usize, part: usize, head: usize, d: usize| {
        f64::from(projected[token * 3 * HIDDEN + part * HIDDEN + head * HEAD + d])
    };
    let mut out = vec![0.0; length * HIDDEN];
    for head in 0..HEADS {
        for query in 0..length {
            let score = |key| {
                (0..HEAD)
                    .map(|d| at(query, 0, head, d) * at(key, 1, head, d))
                    .sum::<f64>()
            };
            let weights: Vec<f64> = (0..length)
                .map(|key| (score(key) / (HEAD as f64).sqrt()).exp())
                .collect();
            let sum: f64 = weights.iter().sum();
            for d in 0..HEAD {
                let mixed: f64 = weights
                    .iter()
                    .enumerate()
                    .map(|(key, weight)| weight * at(key, 2, head, d))
                    .sum();
                out[query * HIDDEN + head * HEAD + d] = mixed / sum;
            }
        }
    }
    out
}

#[test]
fn attention_is_right_for_every_length_and_never_crosses_sequences() {
    let lengths = [1, 2, 5, 6, 7, 15, 16, 17, 33, 64, 70, 130];
    let tokens: usize = lengths.iter().sum();
    let projected = numbers(tokens * 3 * HIDDEN, 7, 2.0);
    for cpu in Cpu::all() {
        let mut out = vec![f32::NAN; tokens * HIDDEN];
        cpu.attend(
            &projected,
            &lengths,
            &mut AttentionScratch::default(),
            &mut out,
        );
        let mut first = 0;
        for length in lengths {
            let right = plain_attention(
                &projected[first * 3 * HIDDEN..][..length * 3 * HIDDEN],
                length,
            );
            for (number, right) in out[first * HIDDEN..].iter().zip(right) {
                assert!(
                    (f64::from(*number) - right).abs() < 2e-5,
                    "{} at {length}",
                    cpu.name()
                );
            }
            first += length;
        }
    }
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
    cpu.normalize(&mut states, None, &norm);
    let mut projected = vec![0.0; tokens * 3 * HIDDEN];
    cpu.multiply(&quantized(cpu, &states, HIDDEN), &matrix, &mut projected);
    let mut attended = vec![0.0; tokens * HIDDEN];
    cpu.attend(
        &projected,
        lengths,
        &mut AttentionScratch::default(),
        &mut attended,
    );
    cpu.gelu(&mut projected);
    cpu.normalize(&mut states, Some(&mut attended), &norm);
    states
        .iter()
        .chain(&attended)
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
