//! sem_topk: by an oracle, and by one that errs.

use proptest::prelude::*;

use super::*;

/// Prefers the larger number, and the first row a little; equal ones are undecided.
fn larger() -> Oracle {
    Oracle::new(|prompt| {
        let number = |mark| cell(&prompt.own, mark, "n").parse::<f32>().unwrap();
        Said::Odds((number("first") - number("second")) + 0.4)
    })
}

fn topk(k: usize) -> Operation {
    operation(json!({"sem_topk": {"input": "r", "instruction": "which is larger: {n}", "k": k}}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// An exact oracle gives the first k of a stable sort, in each group, whatever the seed; and
    /// few comparisons are asked.
    #[test]
    fn an_oracle_ranks_as_sorting_does(
        values in prop::collection::vec((0i64..40, 0i64..3), 0..60),
        k in 1usize..12,
        seed in any::<u64>(),
        grouped in any::<bool>(),
    ) {
        let (n, g): (Vec<i64>, Vec<i64>) = values.iter().copied().unzip();
        let columns: [(&str, ArrayRef); 3] = [
            ("n", Arc::new(Int64Array::from(n.clone()))),
            ("g", Arc::new(Int64Array::from(g.clone()))),
            ("row", Arc::new(Int64Array::from_iter(0..n.len() as i64))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let by: &[&str] = if grouped { &["g"] } else { &[] };
        let topk = operation(json!({"sem_topk": {
            "input": "r", "instruction": "which is larger: {n}", "k": k, "group_by": by}}));
        let oracle = Arc::new(larger());
        let output = block_on(run(&asker(&oracle).with_seed(seed), &topk, &[batch])).unwrap();
        let mut groups: Vec<i64> = Vec::new();
        for group in &g {
            let group = if grouped { *group } else { 0 };
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        let mut expected = Vec::new();
        for group in groups {
            let mut rows: Vec<usize> = (0..n.len()).filter(|row| !grouped || g[*row] == group).collect();
            rows.sort_by_key(|row| -n[*row]);
            expected.extend(rows.into_iter().take(k).map(|row| row.to_string()));
        }
        prop_assert_eq!(shown(&output.batch, "row"), expected);
        prop_assert!(oracle.most_under_way.load(std::sync::atomic::Ordering::SeqCst) <= 4);
    }
}

#[test]
fn comparisons_grow_with_the_rows_and_not_with_their_square() {
    let values: Vec<i64> = (0..400).map(|it| it * 7919 % 401).collect();
    let mut calls = 0;
    for seed in 0..10 {
        let oracle = Arc::new(larger());
        let asker = asker(&oracle).with_seed(seed);
        let output = block_on(run(&asker, &topk(5), &[numbers("n", &values)])).unwrap();
        assert_eq!(
            shown(&output.batch, "n"),
            ["400", "399", "398", "397", "396"]
        );
        calls += oracle.calls();
        // The same seed asks the same.
        let again = block_on(run(&asker, &topk(5), &[numbers("n", &values)])).unwrap();
        assert_eq!(printed(&again), printed(&output));
        assert_eq!(asker.spent().calls, oracle.calls() as u64);
    }
    // About 2.5 comparisons a row, in both orders.
    assert!(calls / 10 < 400 * 8, "{calls}");
}

/// Flips an answer with a probability, the same answer to the same prompt.
fn noisy(noise: f64, seed: u64) -> Oracle {
    Oracle::new(move |prompt| {
        let number = |mark| cell(&prompt.own, mark, "n").parse::<f32>().unwrap();
        let is_first = number("first") > number("second");
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(prompt.own.as_bytes(), seed);
        let flips = (hash >> 11) as f64 / (1u64 << 53) as f64 > 1.0 - noise;
        Said::Odds(if is_first == flips { -2.0 } else { 2.0 })
    })
}

/// Of the ten largest of 100, how many are among the ten that are found, on average over seeds.
fn found(noise: f64) -> f64 {
    let values: Vec<i64> = (0..100).map(|it| it * 37 % 101).collect();
    let mut largest = values.clone();
    largest.sort_unstable_by_key(|it| -it);
    let mut hits = 0;
    for seed in 0..40 {
        let oracle = Arc::new(noisy(noise, seed));
        let asker = asker(&oracle).with_seed(seed);
        let output = block_on(run(&asker, &topk(10), &[numbers("n", &values)])).unwrap();
        let found = shown(&output.batch, "n");
        hits += largest[..10]
            .iter()
            .filter(|it| found.contains(&it.to_string()))
            .count();
    }
    f64::from(u32::try_from(hits).unwrap()) / 400.0
}

#[test]
fn a_model_that_errs_still_finds_most_of_the_largest() {
    let (tenth, fifth) = (found(0.1), found(0.2));
    println!(
        "recall of the first ten of 100: {tenth} with 10 % of answers wrong, {fifth} with 20 %"
    );
    assert!(tenth > 0.6 && fifth > 0.4, "{tenth} {fifth}");
}

#[test]
fn comparisons_that_fail_leave_the_order_of_rows_and_rows_without_values_come_last() {
    let oracle = Arc::new(Oracle::new(|prompt| match prompt.own.contains("n: x") {
        true => Said::Fails,
        false => Said::Odds(
            if cell(&prompt.own, "first", "n") > cell(&prompt.own, "second", "n") {
                1.0
            } else {
                -1.0
            },
        ),
    }));
    let batch = rows(&[("n", &[None, Some("x"), Some("1"), Some("2")])]);
    let output = block_on(run(&asker(&oracle), &topk(9), &[batch])).unwrap();
    let shown = shown(&output.batch, "n");
    assert_eq!(shown[3], "");
    let place = |value: &str| shown.iter().position(|it| it == value).unwrap();
    assert!(place("2") < place("1") && output.failed > 0, "{shown:?}");
}

#[test]
fn a_rank_is_written_where_it_is_asked_for_and_all_columns_are_shown_by_their_names() {
    let oracle = Arc::new(larger());
    let columns: [(&str, ArrayRef); 2] = [
        ("n", Arc::new(Int64Array::from(vec![3, 9, 4, 8]))),
        ("g", Arc::new(Int64Array::from(vec![1, 1, 2, 2]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let topk = |rank: &str, instruction: &str| {
        operation(json!({"sem_topk": {
            "input": "r", "instruction": instruction, "k": 2, "group_by": ["g"], "rank": rank}}))
    };
    let ranked = topk("place", "which is larger: {*}");
    let schema = output_schema(&ranked, &[batch.schema()]).unwrap();
    let output = block_on(run(&asker(&oracle), &ranked, std::slice::from_ref(&batch))).unwrap();
    assert_eq!(output.batch.schema().as_ref(), &schema);
    assert_eq!(shown(&output.batch, "n"), ["9", "3", "8", "4"]);
    assert_eq!(shown(&output.batch, "place"), ["1", "2", "1", "2"]);
    let asked = oracle.asked().swap_remove(0);
    assert!(asked.shared.contains("which is larger: n, g"), "{asked:?}");
    assert!(asked.own.contains("\ng: "), "{asked:?}");
    let taken = output_schema(&topk("G", "{n}"), &[batch.schema()]);
    assert!(
        matches!(taken, Err(SemanticError::ColumnTaken(_))),
        "{taken:?}"
    );
    let no_side = output_schema(&topk("place", "{left.*}"), &[batch.schema()]);
    assert!(
        matches!(no_side, Err(SemanticError::UnknownColumn { .. })),
        "{no_side:?}"
    );
}
