//! The kernels' own source, run by an emulated GPU (`crate::cuda`).

use super::rounds::rounds;
use super::*;
use crate::cuda::emulated::Emulated;
use crate::decoder::device::StepError;
use crate::decoder::on_gpu::GpuNetwork;

fn tiny_on_gpu(pairs: Pairs, bytes: usize) -> GpuNetwork {
    let network = tiny(pairs, 1, Cpu::detect());
    let shape = network.shape().clone();
    let source = Random {
        shape: shape.clone(),
        with_bias: pairs == Pairs::Halves,
    };
    let weights = load::weights(&source, &shape, Cpu::detect()).unwrap();
    GpuNetwork::new(shape, &weights, 512, Emulated::with_bytes(bytes)).unwrap()
}

/// What both answer to the same steps: a beginning and one after it, sequences on it, answers.
fn answers(network: &mut dyn Device, shared: [&[u32]; 2], own: &[Vec<u32>]) -> Vec<Scores> {
    let piece = |segment, tokens: &[u32], wanted| Piece {
        segment,
        tokens: tokens.to_vec(),
        wanted,
    };
    let first = network.reserve(None, shared[0].len()).unwrap();
    let second = network.reserve(Some(first), shared[1].len()).unwrap();
    for (segment, tokens) in [(first, shared[0]), (second, shared[1])] {
        let (here, rest) = tokens.split_at(tokens.len() / 2);
        for tokens in [here, rest].into_iter().filter(|it| !it.is_empty()) {
            network
                .step(&[piece(segment, tokens, Wanted::Nothing)])
                .unwrap();
        }
    }
    let segments: Vec<SegmentId> = own
        .iter()
        .map(|tokens| network.reserve(Some(second), tokens.len() + 2).unwrap())
        .collect();
    let together = |wanted: &dyn Fn(usize) -> Wanted| -> Vec<Piece> {
        let pieces = segments.iter().zip(own).enumerate();
        let pieces = pieces.map(|(at, (segment, tokens))| piece(*segment, tokens, wanted(at)));
        pieces.collect()
    };
    let mut all = network
        .step(&together(&|at| {
            [Wanted::Next, Wanted::Nothing, all_scores()][at % 3].clone()
        }))
        .unwrap();
    for round in 0..2 {
        let pieces: Vec<Piece> = segments
            .iter()
            .enumerate()
            .map(|(at, segment)| {
                let wanted = if round == 0 {
                    Wanted::Next
                } else {
                    all_scores()
                };
                piece(*segment, &[(at * 31 % 203) as u32], wanted)
            })
            .collect();
        all.extend(network.step(&pieces).unwrap());
    }
    for segment in segments.into_iter().chain([second, first]) {
        network.release(segment);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(2)))]

    #[test]
    fn a_gpu_gives_the_processors_bits(
        outer in prop::collection::vec(0_u32..203, 1..40), inner in prop::collection::vec(0_u32..203, 1..20),
        own in prop::collection::vec(prop::collection::vec(0_u32..203, 1..40), 1..8), halves in any::<bool>(),
    ) {
        let pairs = if halves { Pairs::Halves } else { Pairs::Neighbours };
        let expected = answers(&mut tiny(pairs, 2, Cpu::detect()), [&outer, &inner], &own);
        let found = answers(&mut tiny_on_gpu(pairs, 64 << 20), [&outer, &inner], &own);
        prop_assert_eq!(found, expected);
    }
}

/// Enough rows for the product of large tiles.
#[test]
fn a_large_step_has_the_same_bits() {
    let own: Vec<Vec<u32>> = (0..5)
        .map(|at| {
            (0..60 + at)
                .map(|place| (place * 17 + at * 3) % 203)
                .collect()
        })
        .collect();
    let shared = [&own[0][..20], &own[1][..3]];
    let expected = answers(&mut tiny(Pairs::Halves, 2, Cpu::detect()), shared, &own);
    let found = answers(&mut tiny_on_gpu(Pairs::Halves, 64 << 20), shared, &own);
    assert!(found == expected);
}

#[test]
fn no_room_is_an_answer() {
    let mut network = tiny_on_gpu(Pairs::Halves, 1 << 20);
    let mut segments = Vec::new();
    let error = loop {
        match network.reserve(None, 64) {
            Ok(segment) => segments.push(segment),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StepError::OutOfMemory { .. }), "{error:?}");
    assert!(segments.len() > 2);
    let tokens: Vec<u32> = (0..64).collect();
    let piece = |segment: SegmentId| Piece {
        segment,
        tokens: tokens.clone(),
        wanted: all_scores(),
    };
    // The step's own memory does not fit either, until segments are given back.
    let error = network.step(&[piece(segments[0])]).unwrap_err();
    assert!(matches!(error, StepError::OutOfMemory { .. }), "{error:?}");
    let first = segments.swap_remove(0);
    segments
        .into_iter()
        .for_each(|segment| network.release(segment));
    let found = network.step(&[piece(first)]).unwrap();
    let mut on_cpu = tiny(Pairs::Halves, 1, Cpu::detect());
    assert_eq!(found, [alone(&mut on_cpu, &tokens, &[])]);
}
