//! Exact below 128 distinct values, bounded beyond, and mergeable.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn count<'a>(values: impl IntoIterator<Item = &'a str>) -> Frequent {
    let mut counter = ValueCounter::new(ValueLimits::default());
    for value in values {
        counter.add(value);
    }
    counter.finish()
}

fn truth<'a>(values: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, u64> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0) += 1;
    }
    counts
}

fn known(frequent: &Frequent) -> BTreeMap<&str, u64> {
    frequent.top(usize::MAX).into_iter().collect()
}

/// Words of a skewed distribution: `universe` different ones, the first ones often.
fn words(universe: u64, n: u64, seed: u64) -> Vec<String> {
    let word = |i: u64| {
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed);
        let uniform = (hash >> 11) as f64 / (1u64 << 53) as f64;
        let number = (uniform * uniform * universe as f64) as u64;
        // Some are equal in a join, and different spellings.
        match number % 5 {
            0 => format!("{}", number / 10),
            1 => format!("{}.0", number / 10),
            _ => format!("w{number}"),
        }
    };
    (0..n).map(word).collect()
}

#[test]
fn exactly_127_values_are_complete_and_128_are_not() {
    let values: Vec<String> = (0..128).map(|i| i.to_string()).collect();
    let fewer = count(values[..127].iter().map(String::as_str));
    assert!(fewer.is_complete());
    assert_eq!(fewer.distinct(), 127);
    assert!(!count(values.iter().map(String::as_str)).is_complete());
}

#[test]
fn frequent_values_are_found_among_many() {
    // One value in 20 is the same, 19 are new.
    let values: Vec<String> = (0..20_000)
        .map(|i| {
            if i % 20 == 7 {
                "often".to_owned()
            } else {
                format!("v{i}")
            }
        })
        .collect();
    let frequent = count(values.iter().map(String::as_str));
    let top = frequent.top(1);
    assert_eq!(top[0].0, "often");
    // A lower bound; the counter's error is at most n / 128.
    assert!((1000 - 20_000 / 128..=1000).contains(&top[0].1), "{top:?}");
    let distinct = frequent.distinct() as f64;
    assert!((distinct / 19_001.0 - 1.0).abs() < 0.3, "{distinct}");
}

#[test]
fn distinct_estimates_have_no_bias() {
    let mut ratio = 0.0;
    for table in 0..40 {
        let values: Vec<String> = (0..2000).map(|i| format!("{table}/{i}")).collect();
        ratio += count(values.iter().map(String::as_str)).distinct() as f64 / 2000.0 / 40.0;
    }
    // Standard error of the mean: 0.09 / √40 = 0.014.
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn memory_is_bounded_and_buffers_are_used_again() {
    let mut counter = ValueCounter::new(ValueLimits::default());
    for i in 0..50_000 {
        counter.add(&format!("value {i}"));
        assert!(counter.entries.len() <= 3 * 128 + 1);
        assert!(counter.texts.all.len() <= 3 * 128 + 1);
    }
}

#[test]
fn long_values_are_cut_but_stay_apart() {
    let long = "ü".repeat(300);
    let other = format!("{long}!");
    let frequent = count([long.as_str(), &other, &long]);
    let cut = "ü".repeat(200);
    assert_eq!(frequent.top(5), [(cut.as_str(), 2), (cut.as_str(), 1)]);
    let merged = Frequent::merge([&frequent, &count([other.as_str()])]);
    assert_eq!(
        merged.top(5).iter().map(|(_, n)| *n).collect::<Vec<_>>(),
        [2, 2]
    );
    stored(&merged);
}

#[test]
fn wide_tables_remember_less_per_column_and_still_merge() {
    assert_eq!(ValueLimits::for_columns(6), ValueLimits::default());
    assert_eq!(ValueLimits::for_columns(512), ValueLimits::default());
    let narrow = ValueLimits::for_columns(1_000_000);
    let mut counter = ValueCounter::new(narrow);
    let values: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    values.iter().for_each(|value| {
        counter.add(value);
    });
    let few = counter.finish();
    assert_eq!(few.len(), 16);
    let all = count(values.iter().map(String::as_str));
    let merged = Frequent::merge([&all, &few]);
    assert_eq!(
        merged.hashes().collect::<Vec<_>>(),
        few.hashes().collect::<Vec<_>>()
    );
    assert_eq!(merged.registers, few.registers);
    assert!((merged.distinct_error() - 0.0919).abs() < 1e-4);
    stored(&few);
}

#[test]
fn values_stored_before_there_were_registers_are_counted_by_the_lowest_hashes() {
    let values: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
    let mut old = count(values.iter().map(String::as_str));
    old.registers = None;
    assert!(stored(&old).len() < 1200);
    let merged = Frequent::merge([
        &count(["x", "y"]),
        &old,
        &count(values.iter().map(String::as_str)),
    ]);
    assert_eq!(merged.registers, None);
    for frequent in [&old, &merged] {
        assert!((frequent.distinct_error() - 0.0891).abs() < 1e-4);
        assert!((frequent.distinct() as f64 / 2000.0 - 1.0).abs() < 0.3);
    }
}

/// What is stored of values, which are read again from it and from what workers exchange.
fn stored(frequent: &Frequent) -> Vec<u8> {
    let text = serde_json::to_string(frequent).unwrap();
    assert_eq!(&serde_json::from_str::<Frequent>(&text).unwrap(), frequent);
    let sketch = frequent.to_sketch();
    if let Some(sketch) = &sketch {
        assert_eq!(&Frequent::from_sketch(sketch).unwrap(), frequent);
    }
    sketch.unwrap_or_default()
}

#[test]
fn the_stored_form_is_compact() {
    let sketch = stored(&count(["b", "a", "c", "a"]));
    assert_eq!(
        sketch,
        b"\x01\x80\x01\x02\x02\x01\xf5a\xff\x01\x02\xf5b\xf5c\xff"
    );
    let alike = stored(&count(["ab", "ac", "acd"]));
    assert_eq!(alike, b"\x01\x80\x01\x01\x01\x03\xf5ab\xf6c\xf7d\xff");
    assert_eq!(stored(&Frequent::default()), b"");
    let withheld = Frequent::withheld(3, true, false);
    assert_eq!(withheld.to_sketch(), None);
    let text = serde_json::to_string(&withheld).unwrap();
    assert_eq!(text, r#"{"w":{"d":3,"e":true,"r":false}}"#);
    assert_eq!(serde_json::from_str::<Frequent>(&text).unwrap(), withheld);
}

#[test]
fn values_of_any_bytes_are_stored_and_read_again() {
    let all = ["", "a,b", "\0", "i~j", "\u{f0000}", "\u{10ffff}", "\"\n\\"];
    for values in [&all[..], &[""], &[",", ""], &all[1..3]] {
        stored(&count(values.iter().copied()));
    }
}

#[test]
fn what_no_version_wrote_is_no_sketch() {
    let values: Vec<String> = (0..300).map(|i| format!("{}", i % 170)).collect();
    let long = "ü".repeat(300);
    let values = values.iter().map(String::as_str).chain([long.as_str()]);
    let whole = stored(&count(values));
    for end in 0..whole.len() {
        let read = Frequent::from_sketch(&whole[..end]);
        // Other frequent values and registers are not always there.
        assert!(read != Frequent::from_sketch(&whole), "{end}");
    }
    let newer = [&[2], &whole[1..]].concat();
    let refused = Frequent::from_sketch(&newer).unwrap_err();
    assert_eq!(refused, SketchError::OtherVersion(2));
    for wrong in [
        &b"\x01\x80\x80\x04\x00"[..],
        b"\x01\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x01\x80\x01\x01\x01\xff\xff\xff\xff\x0f\xf5a\xff",
        b"\x01\x80\x01\x01\x01\x01\x80\xff",
        b"\x01\x80\x01\x01\x01\x01\xf5\x80\xff",
        b"\x01\x80\x01\x01\x01\x01\xf6a\xff",
        b"\x01\x80\x01\x01\x01\x02\xf5a\xff",
        b"\x01\x80\x01\x01\x01\x01\xf5a\xf5b\xff",
        b"\x01\x80\x01\x01\x01\x01\xf5a\xfe1234567",
        b"\x01\x80\x01\x01\x01\x01\xf5a\xff\x00\x01",
    ] {
        assert_eq!(Frequent::from_sketch(wrong), Err(SketchError::Damaged));
    }
}

#[test]
fn what_catalogs_of_format_1_have_is_read() {
    let read = |text: &str| serde_json::from_str::<Frequent>(text);
    let few = count(["b", "a", "a"]);
    assert_eq!(read(r#"{"l":[[2,",a"],[1,",b"]]}"#).unwrap(), few);
    assert_eq!(read("{}").unwrap(), Frequent::default());
    let cut =
        r#"{"k":3,"l":[[7,"|a,b",["xx",5]]],"b":[[9,",c"]],"h":"BwEBAAAAAAAAAAAAAAAAAAAAAA"}"#;
    let cut = read(cut).unwrap();
    assert_eq!(cut.top(9), [("c", 9), ("xx", 7), ("a,b", 7)]);
    assert_eq!(
        cut.registers.as_ref().map(HyperLogLog::standard_error),
        Some(1.04 / 128f64.sqrt())
    );
    for wrong in [
        r#"{"l":[[]]}"#,
        r#"{"l":[[",a"]]}"#,
        r#"{"l":[[1,2]]}"#,
        r#"{"h":"AA"}"#,
        r#""?""#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn very_many_files_merge_into_bounded_memory_and_keep_what_is_frequent() {
    let files: Vec<Frequent> = (0..200)
        .map(|f| {
            let values: Vec<String> = (0..100).map(|i| format!("{f}/{i}")).collect();
            count(
                values
                    .iter()
                    .map(String::as_str)
                    .chain(["often", "often", "often"]),
            )
        })
        .collect();
    let merged = Frequent::merge(&files);
    assert_eq!(merged.top(1), [("often", 600)]);
    let mut hashes: Vec<u64> = files.iter().flat_map(Frequent::hashes).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(merged.hashes().collect::<Vec<_>>(), hashes[..128]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn few_values_are_counted_exactly(universe in 1u64..128, n in 0u64..2000, seed: u64) {
        let values = words(universe, n, seed);
        let frequent = count(values.iter().map(String::as_str));
        prop_assert!(frequent.is_complete());
        prop_assert_eq!(known(&frequent), truth(values.iter().map(String::as_str)));
    }

    #[test]
    fn many_values_are_counted_exactly_if_their_hash_is_low_and_never_too_high(
        universe in 100u64..3000, n in 0u64..8000, seed: u64,
    ) {
        let values = words(universe, n, seed);
        let frequent = count(values.iter().map(String::as_str));
        let truth = truth(values.iter().map(String::as_str));
        let mut places: Vec<(Place, u64)> = truth.iter().map(|(v, n)| (counted(v, *n).place, *n)).collect();
        places.sort_unstable();
        places.truncate(128);
        let lowest: Vec<(Place, u64)> = frequent.lowest.iter().map(|c| (c.place, c.count)).collect();
        prop_assert_eq!(lowest, places);
        for (value, count) in frequent.top(usize::MAX) {
            prop_assert!(count <= truth[value]);
            // Misra & Gries: never more than n / (k + 1) too low.
            prop_assert!(count + n / 128 >= truth[value], "{} {} {}", value, count, truth[value]);
        }
        stored(&frequent);
    }

    #[test]
    fn merging_parts_is_counting_the_whole(
        universe in 1u64..400, n in 0u64..3000, seed: u64, cuts in prop::collection::vec(0usize..3000, 0..5),
    ) {
        let values = words(universe, n, seed);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(values.len())).collect();
        cuts.extend([0, values.len()]);
        cuts.sort_unstable();
        let parts: Vec<Frequent> =
            cuts.windows(2).map(|w| count(values[w[0]..w[1]].iter().map(String::as_str))).collect();
        let whole = count(values.iter().map(String::as_str));
        let merged = Frequent::merge(&parts);
        prop_assert_eq!(&merged.lowest, &whole.lowest);
        prop_assert_eq!(&merged.registers, &whole.registers);
        prop_assert_eq!(whole.registers.is_some(), !whole.is_complete());
        if whole.is_complete() {
            prop_assert_eq!(&merged, &whole);
        }
        // Any grouping of the exact side, any order of everything.
        let pairwise = parts.iter().fold(Frequent::default(), |sum, part| Frequent::merge([&sum, part]));
        prop_assert_eq!(&pairwise.lowest, &whole.lowest);
        prop_assert_eq!(&pairwise.registers, &whole.registers);
        prop_assert_eq!(&Frequent::merge(parts.iter().rev()), &merged);
        let truth = truth(values.iter().map(String::as_str));
        for (value, count) in merged.top(usize::MAX) {
            prop_assert!(count <= truth[value]);
        }
    }
}
