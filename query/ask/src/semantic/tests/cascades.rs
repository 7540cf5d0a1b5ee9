//! The cascade meets its targets, and asks less.

use super::super::cascade::{Drawn, SplitMix, draw, thresholds, weights};
use super::oracle::Numbered;
use super::*;
use crate::plan::Cascade;
use limn_models::ModelId;

/// Items of a score each, and what the model keeps of them: the higher, the likelier; it errs.
fn items(count: usize, seed: u64, noise: f64) -> (Vec<f64>, Vec<bool>) {
    let mut random = SplitMix::new(seed);
    let scores: Vec<f64> = (0..count).map(|_| random.share()).collect();
    let keeps = |score: &f64| {
        let is_true = random.share() < 1.0 / (1.0 + (-25.0 * (score - 0.7)).exp());
        is_true != (random.share() < noise)
    };
    let keeps = scores.iter().map(keeps).collect();
    (scores, keeps)
}

/// Recall and precision of what is kept, beside what the model keeps.
fn measures(kept: &[bool], model: &[bool]) -> (f64, f64) {
    let count = |it: &[bool]| it.iter().filter(|it| **it).count() as f64;
    let both: Vec<bool> = kept.iter().zip(model).map(|(a, b)| *a && *b).collect();
    (
        count(&both) / count(model).max(1.0),
        count(&both) / count(kept).max(1.0),
    )
}

/// Recall, precision, and the share of items that the model is asked about.
fn cascaded(seed: u64, noise: f64, targets: &Cascade) -> (f64, f64, f64) {
    const ITEMS: usize = 4000;
    let (scores, keeps) = items(ITEMS, seed, noise);
    let weights = weights(&scores);
    let drawn = draw(&weights, ITEMS / 10, seed);
    let sample = drawn.iter().map(|&it| Drawn {
        score: scores[it],
        weight: weights[it],
        keeps: keeps[it],
    });
    let found = thresholds(&sample.collect::<Vec<_>>(), &scores, targets);
    let mut is_asked: Vec<bool> = scores
        .iter()
        .map(|it| (found.reject_below..found.accept_from).contains(it))
        .collect();
    drawn.into_iter().for_each(|it| is_asked[it] = true);
    let kept: Vec<bool> = (0..ITEMS)
        .map(|it| {
            if is_asked[it] {
                keeps[it]
            } else {
                scores[it] >= found.accept_from
            }
        })
        .collect();
    let (recall, precision) = measures(&kept, &keeps);
    let asked = is_asked.iter().filter(|it| **it).count() as f64;
    (recall, precision, asked / ITEMS as f64)
}

#[test]
fn targets_are_met_for_nearly_all_seeds_and_the_model_is_asked_less() {
    for (noise, target, most) in [
        (0.0, 0.9, 0.5),
        (0.1, 0.9, 1.0),
        (0.1, 0.7, 0.8),
        (0.2, 0.6, 0.9),
    ] {
        let targets = Cascade {
            recall: target,
            precision: target,
            confidence: None,
        };
        let (mut met, mut asked) = (0, 0.0);
        for seed in 0..100 {
            let (recall, precision, share) = cascaded(seed, noise, &targets);
            met += usize::from(recall >= target && precision >= target);
            asked += share / 100.0;
        }
        println!("noise {noise}, targets {target}: met for {met} of 100 seeds, {asked:.2} asked");
        assert!(met >= 95, "noise {noise}: {met}");
        assert!(asked <= most, "noise {noise}: {asked}");
    }
}

#[test]
fn a_filter_with_a_cascade_asks_less_and_meets_its_targets() {
    let (scores, keeps) = items(1500, 1, 0.0);
    let names: Vec<String> = scores
        .iter()
        .enumerate()
        .map(|(at, it)| format!("{it:.6} {at}"))
        .collect();
    let by_name = names.clone();
    let by_item: std::collections::HashMap<String, bool> =
        by_name.into_iter().zip(keeps.clone()).collect();
    let oracle = Arc::new(Oracle::of_cell(" is large", move |item| {
        Said::Odds(if by_item[item] { 2.0 } else { -2.0 })
    }));
    let batch = column(
        "item",
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let filter = operation(json!({"sem_filter": {
        "input": "r", "instruction": "{item} is large", "cascade": {"recall": 0.8, "precision": 0.8}}}));
    let embedder = Arc::new(Numbered(ModelId::new("numbered")));
    let asker = asker(&oracle).with_embedder(embedder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let output = runtime
        .block_on(run(&asker, &filter, std::slice::from_ref(&batch)))
        .unwrap();
    let found: std::collections::HashSet<String> =
        shown(&output.batch, "item").into_iter().collect();
    let kept: Vec<bool> = names.iter().map(|it| found.contains(it)).collect();
    let (recall, precision) = measures(&kept, &keeps);
    assert!(recall >= 0.8 && precision >= 0.8, "{recall} {precision}");
    let asked = oracle.calls();
    assert!(asked < 900, "{asked}");
    // The same rows are drawn again, and nothing is asked twice.
    let again = runtime.block_on(run(&asker, &filter, &[batch])).unwrap();
    assert_eq!((printed(&again), oracle.calls()), (printed(&output), asked));
    assert!(
        output.notes[0].starts_with("of 1500 inputs, "),
        "{:?}",
        output.notes
    );
}

#[test]
fn few_inputs_are_all_judged() {
    let oracle = Arc::new(Oracle::of_cell(" is one", |n| {
        Said::Odds(if n == "1" { 1.0 } else { -1.0 })
    }));
    let filter = operation(json!({"sem_filter": {
        "input": "r", "instruction": "{n} is one", "cascade": {"recall": 0.9, "precision": 0.9}}}));
    let output = block_on(run(&asker(&oracle), &filter, &[numbers("n", &[1, 2, 3])])).unwrap();
    assert_eq!(
        (shown(&output.batch, "n"), oracle.calls()),
        (vec!["1".to_owned()], 3)
    );
    assert!(output.notes[0].contains("too few"), "{:?}", output.notes);
}
