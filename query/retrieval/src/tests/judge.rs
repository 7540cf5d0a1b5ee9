//! The judge over real segments, with a model that says what the test wants.

use std::sync::Arc;

use limn_models::Prompt;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::{query, searcher, small_lake, table};
use crate::answer::Answer;
use crate::eval::{EvalOptions, EvalQuestion, calibrate_judge, evaluate};
use crate::judge::fake::FakeModel;
use crate::judge::{Judge, Verdicts};
use crate::{Mode, Query, Searcher, Values};

fn judged_by(runtime: &Runtime, model: FakeModel, threshold: f32) -> (Arc<FakeModel>, Arc<Judge>) {
    let model = Arc::new(model);
    let judge = Judge::new(model.clone(), runtime.handle().clone(), threshold, None);
    (model, Arc::new(judge))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap()
}

fn ask(searcher: &Searcher, text: &str, k: usize, judge: &Arc<Judge>) -> Answer {
    let query = Query {
        judge: Some(Arc::clone(judge)),
        ..query(text, k, Mode::Limn)
    };
    searcher.search(&query).unwrap()
}

fn found(answer: &Answer) -> Vec<(&str, Option<bool>)> {
    let results = answer.results.iter();
    results
        .map(|hit| (hit.table.as_str(), hit.judged))
        .collect()
}

/// Says no to tables whose text holds the word.
fn no_to(word: &'static str) -> FakeModel {
    FakeModel::new(move |prompt: &Prompt| {
        // The question, which stands after the table, is not the table's.
        let table = prompt.own.split("</table>").next();
        let holds = table.is_some_and(|table| table.contains(word));
        Ok(if holds { -1.0 } else { 1.0 })
    })
}

const QUESTION: &str = "order date and price of fish";

#[test]
fn rejected_tables_come_last_and_what_is_not_needed_is_not_asked() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 2);
    let plain = searcher.search(&query(QUESTION, 3, Mode::Limn)).unwrap();
    assert_eq!(plain.results[0].table, "shop/orders");

    let (model, judge) = judged_by(&runtime, no_to("order"), 0.0);
    let answer = ask(&searcher, QUESTION, 3, &judge);
    let judged = found(&answer);
    assert_eq!(judged[2], ("shop/orders", Some(false)));
    assert_eq!((judged[0].1, judged[1].1), (Some(true), Some(true)));
    let tally = judge.tally();
    assert_eq!((tally.standing, tally.rejected, tally.failed), (2, 1, 0));
    // Orders are read twice: their context did not convince either.
    assert_eq!(model.prompts.lock().unwrap().len(), 4);

    model.prompts.lock().unwrap().clear();
    let answer = ask(&searcher, QUESTION, 1, &judge);
    assert_eq!(found(&answer), [judged[0]]);
    assert_eq!(
        model.prompts.lock().unwrap().len(),
        3,
        "the third is not needed"
    );
}

#[test]
fn a_prompt_holds_the_question_and_one_table() {
    let runtime = runtime();
    let tables: Vec<_> = ["perch", "pike", "trout"]
        .map(|fish| {
            let text = format!("{fish} fish marker{fish}");
            table(fish, &text, &[&text], &[&text], &text)
        })
        .into();
    let searcher = searcher(&tables, 2);
    let (model, judge) = judged_by(&runtime, FakeModel::new(|_| Ok(-1.0)), 0.0);
    let answer = ask(&searcher, "which fish?", 3, &judge);
    assert!(answer.results.iter().all(|hit| hit.judged == Some(false)));
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note.contains("none of the 3 tables"))
    );
    let prompts = model.prompts.lock().unwrap();
    assert_eq!(prompts.len(), 6, "content and context of each");
    for prompt in prompts.iter() {
        assert!(
            Arc::ptr_eq(&prompt.shared, &prompts[0].shared) || prompt.shared == prompts[0].shared
        );
        assert!(prompt.shared.contains("which fish?"));
        let markers = ["markerperch", "markerpike", "markertrout"];
        let held = markers
            .iter()
            .filter(|marker| prompt.own.contains(**marker));
        assert_eq!(held.count(), 1, "{}", prompt.own);
    }
}

#[test]
fn a_failing_judge_loses_nothing() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 1);
    let plain = searcher.search(&query(QUESTION, 3, Mode::Limn)).unwrap();
    let (_, judge) = judged_by(&runtime, FakeModel::new(|_| Err("no power".into())), 0.0);
    let answer = ask(&searcher, QUESTION, 3, &judge);
    let names = |answer: &Answer| -> Vec<String> {
        answer.results.iter().map(|hit| hit.table.clone()).collect()
    };
    assert_eq!(names(&answer), names(&plain));
    assert!(answer.results.iter().all(|hit| hit.judged.is_none()));
    let notes: Vec<_> = answer
        .notes
        .iter()
        .filter(|note| note.contains("judge"))
        .collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("3 tables") && !notes[0].contains("no power"));
    let [failure] = answer.failures.as_slice() else {
        panic!("{:?}", answer.failures)
    };
    assert!(failure.contains("no power"), "{failure}");
    let again = ask(&searcher, QUESTION, 1, &judge);
    let note = again.notes.iter().find(|note| note.contains("judge"));
    assert!(
        note.unwrap().contains("1 table,"),
        "a note is of its own search: {again:?}"
    );
    let (notes, failure) = judge.notes();
    assert!(notes[0].contains("4 tables") && failure.unwrap().contains("no power"));
}

#[test]
fn known_verdicts_are_not_asked_for_again_and_follow_the_text() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 2);
    let (model, judge) = judged_by(&runtime, no_to("order"), 0.0);
    let query = Query {
        judge: Some(Arc::clone(&judge)),
        ..query(QUESTION, 3, Mode::Limn)
    };
    let asked = || std::mem::take(&mut *model.prompts.lock().unwrap()).len();
    let mut verdicts = Verdicts::new();
    let first = searcher.search_knowing(&query, &mut verdicts).unwrap();
    assert_eq!((asked(), verdicts.len()), (4, 3));
    let text = |answer: &Answer| serde_json::to_string(answer).unwrap();
    let again = searcher.search_knowing(&query, &mut verdicts).unwrap();
    assert_eq!((asked(), text(&again)), (0, text(&first)));
    assert_eq!(text(&searcher.search(&query).unwrap()), text(&first));
    assert_eq!(asked(), 4, "who knows nothing asks");

    // Another searcher numbers the tables otherwise; what they say is the same.
    let two = searcher.restricted(|key| key.name != "science/fish", Values::Searched);
    let without = two.search_knowing(&query, &mut verdicts).unwrap();
    assert_eq!(asked(), 0);
    assert_eq!(found(&without)[1], ("shop/orders", Some(false)));

    // A table whose text is another one is judged anew, the others are not.
    let mut changed = small_lake();
    changed[1] = table("shop/items", "shop order items: price", &[], &[], "");
    let changed = super::searcher(&changed, 1);
    let anew = changed.search_knowing(&query, &mut verdicts).unwrap();
    assert_eq!((asked(), verdicts.len()), (1, 4));
    assert!(found(&anew).contains(&("shop/items", Some(false))));
}

#[test]
fn a_failure_is_no_verdict() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 1);
    let (model, judge) = judged_by(&runtime, FakeModel::new(|_| Err("no power".into())), 0.0);
    let query = Query {
        judge: Some(judge),
        ..query(QUESTION, 3, Mode::Limn)
    };
    let mut verdicts = Verdicts::new();
    for _ in 0..2 {
        let answer = searcher.search_knowing(&query, &mut verdicts).unwrap();
        assert!(answer.results.iter().all(|hit| hit.judged.is_none()));
        assert!(!std::mem::take(&mut *model.prompts.lock().unwrap()).is_empty());
        assert!(verdicts.is_empty());
    }
}

#[test]
fn without_probabilities_the_word_counts_and_a_note_says_so() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 1);
    let mut model = no_to("order");
    model.gives_probabilities = false;
    // A threshold of probabilities has no say over words.
    let (_, judge) = judged_by(&runtime, model, 9.0);
    let answer = ask(&searcher, QUESTION, 3, &judge);
    assert_eq!(found(&answer)[2], ("shop/orders", Some(false)));
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note.contains("gives no probabilities"))
    );
}

#[test]
fn an_evaluation_judges_a_table_of_a_question_once_and_calibrates() {
    let runtime = runtime();
    let searcher = searcher(&small_lake(), 1);
    let questions = vec![
        EvalQuestion {
            question: QUESTION.into(),
            tables: vec!["science/fish".into()],
            kind: None,
        };
        4
    ];
    // Biased to yes, but less so where it is wrong.
    let model = FakeModel::new(|prompt| {
        Ok(if prompt.own.contains("species") {
            3.0
        } else {
            1.0
        })
    });
    let (model, judge) = judged_by(&runtime, model, 2.0);
    let mut options = EvalOptions {
        k: vec![1, 2, 3],
        query: Query {
            judge: Some(Arc::clone(&judge)),
            ..query("", 1, Mode::Limn)
        },
        threads: 3,
        vectors_given: false,
        progress: Arc::default(),
    };
    let (measured, _) = evaluate(&searcher, &questions, &options).unwrap();
    assert_eq!(measured.k[&1].hit, 1.0);
    assert_eq!(judge.tally().standing, 4);
    assert_eq!(judge.tally().rejected, 8);
    let asked = model.prompts.lock().unwrap().len();
    assert_eq!(asked, 4 * 4, "orders have a context too");

    options.query.judge = None;
    let record = calibrate_judge(&searcher, &questions, &options, &judge, "now".into()).unwrap();
    assert_eq!(
        (record.without.hit_at_1, record.fitted.hit_at_1),
        (0.0, 1.0)
    );
    assert_eq!((record.threshold, record.depth), (2.0, 10));
    assert!(record.helps());

    let (_, broken) = judged_by(&runtime, FakeModel::new(|_| Err("no power".into())), 0.0);
    let refused = calibrate_judge(&searcher, &questions, &options, &broken, String::new());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("4 of 4 questions")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the model says, the answer is that of judging every candidate in reach.
    #[test]
    fn the_answer_is_that_of_judging_all(says in prop::collection::vec(any::<bool>(), 14), k in 1usize..8) {
        let runtime = runtime();
        let tables: Vec<_> = (0..14)
            .map(|at| table(&format!("t{at}"), &format!("fish depth {}", "river ".repeat(at)) , &[&format!("id: number{at}x")], &[], ""))
            .collect();
        let searcher = searcher(&tables, 2);
        let verdicts = says.clone();
        let model = FakeModel::new(move |prompt| {
            let at = prompt.own.split("number").nth(1).and_then(|rest| rest.split('x').next());
            let at: usize = at.unwrap().parse().unwrap();
            Ok(if verdicts[at] { 1.0 } else { -1.0 })
        });
        let (_, judge) = judged_by(&runtime, model, 0.0);
        let text = "river fish depth";
        let ranked = searcher.search(&query(text, 14, Mode::Limn)).unwrap();
        let mut expected: Vec<String> = ranked.results.iter().map(|hit| hit.table.clone()).collect();
        let reach = judge.depth(k).min(expected.len());
        expected[..reach].sort_by_key(|name| !says[name[1..].parse::<usize>().unwrap()]);
        expected.truncate(k);
        let answer = ask(&searcher, text, k, &judge);
        let names: Vec<String> = answer.results.iter().map(|hit| hit.table.clone()).collect();
        prop_assert_eq!(names, expected);
        for hit in &answer.results {
            prop_assert_eq!(hit.judged, Some(says[hit.table[1..].parse::<usize>().unwrap()]));
        }
    }
}
