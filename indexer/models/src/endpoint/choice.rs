//! From a server's probabilities for an answer's first token to a choice among words.
//!
//! A first token belongs to a word if its text, without white space around it and in lower case, is
//! - the word, or the word and then something that is no letter or digit (`yes`, ` Yes`, `YES.`),
//!   or
//! - a beginning of the word of at least two letters that no other of the words has (`irr` of
//!   `irrelevant`). A single letter is most often another word, as `I` and `a` are.
//!
//! The probabilities of a word's tokens are added. A server lists only the likeliest tokens; a word
//! with none among them is given the most it can have: not more than the least likely token that is
//! listed, and not more than its share of what the listed ones leave of 1. No log-probability is
//! lower than [`FLOOR`]. So the probabilities of all words add to 1 at most.

/// The lowest log-probability that is given.
const FLOOR: f32 = -20.0;

/// Log-probabilities of the words; `None` where no listed token belongs to any of them.
pub(super) fn log_probabilities(listed: &[(String, f32)], words: &[&str]) -> Option<Vec<f32>> {
    let mut sums = vec![0.0_f64; words.len()];
    let (mut least, mut total) = (1.0_f64, 0.0_f64);
    for (token, log) in listed {
        let probability = f64::from(*log).exp();
        least = least.min(probability);
        total += probability;
        if let Some(word) = word_of(token, words) {
            sums[word] += probability;
        }
    }
    // Rounded logarithms may add to a little more than 1.
    let scale = total.max(1.0);
    let unseen = sums.iter().filter(|sum| **sum == 0.0).count();
    if unseen == words.len() {
        return None;
    }
    let rest = ((1.0 - total) / unseen.max(1) as f64).max(0.0);
    let most = least.min(rest);
    let log = |sum: f64| {
        let probability = if sum == 0.0 { most } else { sum / scale };
        (probability.ln() as f32).clamp(FLOOR, 0.0)
    };
    Some(sums.into_iter().map(log).collect())
}

/// The place of the likeliest word, the first of equals.
pub(super) fn likeliest(log_probabilities: &[f32]) -> usize {
    let mut best = 0;
    for (place, log) in log_probabilities.iter().enumerate() {
        if *log > log_probabilities[best] {
            best = place;
        }
    }
    best
}

/// The word that a first token belongs to.
fn word_of(token: &str, words: &[&str]) -> Option<usize> {
    let token = token.trim().to_lowercase();
    if let Some(place) = words.iter().position(|word| begins_with_word(&token, word)) {
        return Some(place);
    }
    token.chars().nth(1)?;
    let mut begun = (0..words.len()).filter(|&place| words[place].starts_with(&token));
    let place = begun.next()?;
    begun.next().is_none().then_some(place)
}

/// The word that an answer begins with; quotes, asterisks and the like before it do not count.
pub(super) fn word_of_answer(answer: &str, words: &[&str]) -> Option<usize> {
    let answer = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
    let answer = answer.to_lowercase();
    words
        .iter()
        .position(|word| begins_with_word(&answer, word))
}

fn begins_with_word(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const WORDS: [&str; 2] = ["yes", "no"];

    #[test]
    fn tokens_belong_to_words() {
        for (token, word) in [
            ("yes", Some(0)),
            (" Yes", Some(0)),
            ("YES.", Some(0)),
            ("ye", Some(0)),
            ("\nno", Some(1)),
            ("No,", Some(1)),
            ("not", None),
            ("none", None),
            ("n", None),
            ("", None),
            (" ", None),
            ("yes1", None),
            ("maybe", None),
        ] {
            assert_eq!(word_of(token, &WORDS), word, "{token:?}");
        }
        let words = ["relevant", "irrelevant", "irregular"];
        for (token, word) in [
            ("irr", None),
            ("irrel", Some(1)),
            ("rel", Some(0)),
            ("I", None),
        ] {
            assert_eq!(word_of(token, &words), word, "{token:?}");
        }
    }

    #[test]
    fn spellings_are_added_and_what_is_not_listed_gets_what_is_left() {
        let listed = [("Yes", 0.5), (" yes", 0.25), ("maybe", 0.1), ("The", 0.01)]
            .map(|(token, probability): (&str, f32)| (token.to_owned(), probability.ln()));
        let logs = log_probabilities(&listed, &WORDS).unwrap();
        assert!((logs[0].exp() - 0.75).abs() < 1e-5);
        assert!((logs[1].exp() - 0.01).abs() < 1e-5, "{logs:?}");
        assert_eq!(likeliest(&logs), 0);
        let only = [("no".to_owned(), 0.0), ("x".to_owned(), -9999.0)];
        assert_eq!(log_probabilities(&only, &WORDS).unwrap(), [FLOOR, 0.0]);
        assert_eq!(log_probabilities(&[("The".to_owned(), -0.1)], &WORDS), None);
        assert_eq!(log_probabilities(&[], &WORDS), None);
    }

    #[test]
    fn an_answer_begins_with_a_word_or_with_none() {
        for (answer, word) in [
            ("Yes, it does.", Some(0)),
            ("**No**", Some(1)),
            (" \"yes\"", Some(0)),
            ("Not at all", None),
            ("It is. Yes.", None),
            ("", None),
            ("…", None),
        ] {
            assert_eq!(word_of_answer(answer, &WORDS), word, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn probabilities_of_words_add_to_one_at_most(
            listed in prop::collection::vec(("[ ]?(yes|Yes|no|NO|ye|the|a|not)[.]?", -30.0_f32..0.0), 0..20)
        ) {
            if let Some(logs) = log_probabilities(&listed, &WORDS) {
                let sum: f32 = logs.iter().map(|log| log.exp()).sum();
                prop_assert!(sum <= 1.0001, "{logs:?}");
                prop_assert!(logs.iter().all(|log| (FLOOR..=0.0).contains(log)));
            }
        }
    }
}
