//! Registers are a function of the set of hashes; estimates are within the documented error.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

fn hash(i: u64, seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed)
}

fn sketch(kept: usize, hashes: impl IntoIterator<Item = u64>) -> HyperLogLog {
    let mut sketch = HyperLogLog::for_kept(kept);
    hashes.into_iter().for_each(|hash| sketch.add(hash));
    sketch
}

#[test]
fn an_empty_sketch_counts_nothing() {
    assert_eq!(HyperLogLog::for_kept(128).estimate(), 0.0);
}

#[test]
fn every_kept_value_has_eight_registers() {
    let registers = |kept| HyperLogLog::for_kept(kept).registers.len();
    assert_eq!(
        [16, 31, 32, 127, 128, 4000].map(registers),
        [128, 128, 256, 512, 1024, 1024]
    );
    assert_eq!(HyperLogLog::for_kept(128).standard_error(), 0.0325);
}

#[test]
fn estimates_have_no_bias_and_the_documented_standard_error_in_every_range() {
    const ROUNDS: u64 = 100;
    for distinct in [1, 20, 128, 500, 1500, 2500, 4000, 10_000, 50_000] {
        let errors: Vec<f64> = (0..ROUNDS)
            .map(|round| {
                let sketch = sketch(128, (0..distinct).map(|i| hash(i, round)));
                sketch.estimate() / distinct as f64 - 1.0
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / ROUNDS as f64;
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / ROUNDS as f64).sqrt();
        // The mean's own standard error is a tenth of an estimate's, the root mean square's 7 % of
        // it.
        assert!(mean.abs() < 0.4 * 0.0325, "{distinct}: mean {mean}");
        assert!(rms < 1.25 * 0.0325, "{distinct}: root mean square {rms}");
    }
}

#[test]
fn hashes_of_the_highest_rank_are_counted() {
    let sketch = sketch(128, (0..1024).chain([0]));
    assert!(sketch.registers.iter().all(|rank| *rank == 55));
    assert!(sketch.estimate() > 1e18, "{}", sketch.estimate());
}

#[test]
fn the_stored_form_is_short() {
    let length = |distinct| {
        let sketch = sketch(128, (0..distinct).map(|i| hash(i, 7)));
        sketch.to_bytes().len()
    };
    let lengths = [128, 1000, 10_000, 1_000_000].map(length);
    println!("bytes at 128, 1000, 10,000 and 1,000,000 values: {lengths:?}");
    assert!(lengths[0] < 195 && lengths[3] < 405, "{lengths:?}");
}

#[test]
fn what_no_sketch_wrote_is_refused() {
    let read = HyperLogLog::from_bytes;
    let right = pack(&[[3; 1000].as_slice(), &[55; 24]].concat());
    assert!(read(&right).is_some());
    for end in 0..right.len() {
        assert!(read(&right[..end]).is_none(), "{end}");
    }
    for wrong in [
        pack(&[56; 1024]),
        pack(&[255; 128]),
        pack(&[1; 64]),
        pack(&[1; 1 << 15]),
        [right.as_slice(), &[0]].concat(),
        [10 | 32, 1, 0].into_iter().chain([0; 500]).collect(),
        [7, 1, 0].into_iter().chain([255; 16]).collect(),
        [7, 1, 0].into_iter().chain([0; 15]).chain([1]).collect(),
        [7, 0].into_iter().chain([0; 16]).collect(),
    ] {
        assert!(read(&wrong).is_none(), "{wrong:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_split_and_order_gives_the_registers_of_the_whole(
        parts in prop::collection::vec(prop::collection::vec((0u64..5000, 0u32..40), 0..300), 1..6),
        seed: u64,
    ) {
        // Shifts make high ranks.
        let parts: Vec<Vec<u64>> = parts
            .iter()
            .map(|part| part.iter().map(|(i, zeros)| (hash(*i, seed) << zeros) | (i & 1023)).collect())
            .collect();
        let whole = sketch(128, parts.iter().flatten().copied());
        let sketches: Vec<HyperLogLog> = parts.iter().map(|part| sketch(128, part.iter().copied())).collect();
        let merge = |order: &mut dyn Iterator<Item = &HyperLogLog>| {
            let mut merged = HyperLogLog::for_kept(128);
            order.for_each(|sketch| merged.merge(sketch));
            merged
        };
        prop_assert_eq!(&merge(&mut sketches.iter()), &whole);
        prop_assert_eq!(&merge(&mut sketches.iter().rev()), &whole);
        let (left, right) = sketches.split_at(sketches.len() / 2);
        let (mut grouped, right) = (merge(&mut left.iter()), merge(&mut right.iter()));
        grouped.merge(&right);
        prop_assert_eq!(&grouped, &whole);
        prop_assert_eq!(HyperLogLog::from_bytes(&whole.to_bytes()), Some(whole));
    }

    #[test]
    fn what_is_read_is_what_was_packed(registers in prop::collection::vec(0u8..56, 128), spread in 1u8..56, garbage: Vec<u8>) {
        let registers: Vec<u8> = registers.iter().map(|rank| rank % spread).collect();
        prop_assert_eq!(unpack(&pack(&registers), FEWEST..=MOST), Some(registers));
        if let Some(registers) = unpack(&garbage, FEWEST..=MOST) {
            prop_assert!(registers.len() <= 1024);
        }
    }

    #[test]
    fn a_sketch_folds_into_the_smaller_one_of_the_same_hashes(
        hashes in prop::collection::vec((any::<u64>(), 0u32..64), 0..500), kept in 16usize..128,
    ) {
        let hashes: Vec<u64> = hashes.iter().map(|(hash, zeros)| hash << zeros).collect();
        let (left, right) = hashes.split_at(hashes.len() / 3);
        let smaller = sketch(kept, hashes.iter().copied());
        let (mut large, small) = (sketch(128, left.iter().copied()), sketch(kept, right.iter().copied()));
        let mut other = small.clone();
        other.merge(&large);
        large.merge(&small);
        prop_assert_eq!(&large, &smaller);
        prop_assert_eq!(&other, &smaller);
    }
}
