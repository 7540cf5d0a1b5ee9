#![allow(clippy::unwrap_used)]
use super::*;

/// A number from 0 to 1.
fn share(random: &mut SplitMix) -> f32 {
    random.below(1 << 20) as f32 / (1 << 20) as f32
}

/// A question with twenty candidates of any scores and features, one of which, any, is needed; and
/// so any may be a table of another question.
fn noise(random: &mut SplitMix) -> Asked {
    let mut candidate = |table| Candidate {
        table,
        score: share(random),
        features: Features {
            meaning: share(random),
            covered: share(random),
            name: share(random),
            contexts: share(random),
        },
        ..Candidate::default()
    };
    let mut candidates: Vec<Candidate> = (0..20).map(&mut candidate).collect();
    candidates[random.below(20)].needed = [0].into();
    Asked {
        candidates,
        needed: 1,
        finds_another: random.below(20) == 0,
    }
}

/// A question that needs what comes first by these weights.
fn question(weights: &Weights, random: &mut SplitMix) -> Asked {
    let mut asked = noise(random);
    asked.finds_another = false;
    let score = |it: &Candidate| weights.score(it.score, &it.features);
    let by_score = |a: &&mut Candidate, b: &&mut Candidate| score(a).total_cmp(&score(b));
    asked
        .candidates
        .iter_mut()
        .for_each(|it| it.needed = Box::default());
    let best = asked.candidates.iter_mut().max_by(by_score);
    best.unwrap().needed = [0].into();
    asked
}

fn questions(count: usize, seed: u64, make: impl Fn(&mut SplitMix) -> Asked) -> Vec<Asked> {
    let mut random = SplitMix(seed);
    (0..count).map(|_| make(&mut random)).collect()
}

fn fitted(asked: &[Asked]) -> Weights {
    fit(&asked.iter().collect::<Vec<_>>())
}

#[test]
fn limns_own_weights_are_values_that_are_tried() {
    for (_, weight) in Weights::LEARNED.named() {
        assert!(GRID.contains(&weight), "{weight}");
    }
}

#[test]
fn weights_that_are_known_are_found_and_help() {
    let best = Weights {
        meaning: 0.0,
        covered: 0.3,
        name: 0.8,
        contexts: 0.12,
    };
    let asked = questions(300, 1, |random| question(&best, random));
    assert_eq!(fitted(&asked), best);
    let judged = judge(&asked, 5, 0);
    assert!(judged.gain.is_worth_keeping(), "{:?}", judged.gain);
    assert!(judged.held_out.hit_at_1 > 0.9, "{:?}", judged.held_out);
    let difference = judged.held_out.hit_at_1 - judged.own.hit_at_1;
    assert!((difference - judged.gain.mean.hit_at_1).abs() < 1e-9);
    // Other draws say nearly the same.
    let others = judge(&asked, 5, 1);
    assert!((others.gain.mean.hit_at_1 - difference).abs() < 0.02);
    let noise = questions(100, 1, noise);
    let (one, other) = (judge(&noise, 5, 0).held_out, judge(&noise, 5, 1).held_out);
    assert_ne!(one, other);
    assert_eq!(judge(&noise, 5, 0).held_out, one);
}

#[test]
fn where_others_find_no_more_the_weights_stay() {
    let asked = questions(200, 2, |random| question(&Weights::LEARNED, random));
    assert_eq!(fitted(&asked), Weights::LEARNED);
    let judged = judge(&asked, 5, 0);
    assert_eq!(judged.gain, Gain::default());
    assert!(!judged.gain.is_worth_keeping());
    assert_eq!(judged.own.hit_at_1, 1.0);
    assert!(judged.finds && judged.chance == 0.0);
    // No candidate at all.
    let nothing = vec![Asked::default(); 60];
    assert_eq!(fitted(&nothing), Weights::LEARNED);
    let judged = judge(&nothing, 5, 0);
    assert!(!judged.gain.is_worth_keeping() && !judged.finds);
}

#[test]
fn noise_is_kept_of_one_set_in_thirty_at_most() {
    for count in [50, 100, 300] {
        let kept = (0..60).filter(|seed| {
            let asked = questions(count, 1000 * count as u64 + seed, noise);
            let judged = judge(&asked, 5, *seed);
            judged.finds && judged.gain.is_worth_keeping()
        });
        let kept = kept.count();
        assert!(kept <= 2, "{kept} of 60 sets of {count}");
    }
}

#[test]
fn questions_that_find_tables_of_others_as_often_say_nothing() {
    let mut asked = questions(200, 3, |random| question(&Weights::LEARNED, random));
    for (at, one) in asked.iter_mut().enumerate() {
        one.finds_another = at % 10 != 0;
    }
    let judged = judge(&asked, 5, 0);
    assert!(judged.finds, "{}", judged.chance);
    asked.iter_mut().for_each(|it| it.finds_another = true);
    let judged = judge(&asked, 5, 0);
    assert!(!judged.finds && judged.chance == 1.0);
}

#[test]
fn places_are_by_names_then_scores_then_numbers() {
    let candidate = |table: u32, score: f32| Candidate {
        table,
        score,
        ..Candidate::default()
    };
    let found = |candidates: Vec<Candidate>, needed: usize| {
        let asked = Asked {
            candidates,
            needed,
            finds_another: false,
        };
        asked.found(&Weights::FORMULA, &mut Vec::new()).shares()
    };
    let need = |it: &Candidate, needed: &[usize]| Candidate {
        needed: needed.into(),
        ..it.clone()
    };
    // Equal scores: the lower number first.
    let (one, other) = (candidate(3, 0.5), candidate(2, 0.5));
    assert_eq!(found(vec![need(&one, &[0]), other.clone()], 1), [0, 1, 1]);
    assert_eq!(found(vec![one.clone(), need(&other, &[0])], 1), [1, 1, 1]);
    // A named one comes first whatever it scores.
    let named = Candidate {
        named: Some(0),
        ..candidate(9, 0.1)
    };
    assert_eq!(found(vec![need(&named, &[0]), one.clone()], 1), [1, 1, 1]);
    assert_eq!(found(vec![named, need(&one, &[0])], 1), [0, 1, 1]);
    // The sixth is not among five; a table with copies is several that are needed, and two tables
    // of one name are one.
    let mut six: Vec<Candidate> = (0..6).map(|table| candidate(table, 0.5)).collect();
    six[5].needed = [0].into();
    assert_eq!(found(six.clone(), 1), [0, 0, 0]);
    (six[0].needed, six[1].needed) = ([1].into(), [1].into());
    assert_eq!(found(six.clone(), 2), [1, 1, 0]);
    six[1].needed = [0, 1].into();
    assert_eq!(found(six, 2), [1, 1, 1]);
}
