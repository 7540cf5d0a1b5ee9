//! Which words of a text match a question, spelled as the text has them: what a page marks.
//!
//! The analyzer makes terms of a text and forgets where they came from. Here the text is cut the
//! other way round: into runs of letters and digits, a run at its humps (`SickLeave`, `level2`),
//! and each piece is analyzed by itself. Where the pieces have other terms than the run as a whole,
//! the run stands for all of them, so a word that is listed is always one that matches.

use limn_segment::analyzer::analyze;

use crate::sought::Sought;

/// The most words that are listed of a text.
const WORDS: usize = 8;

/// The distinct words of a text whose terms have a weight, heaviest first; words of one weight in
/// the order of their terms, spellings of one term in the order of the text. Where there are too
/// many, every term's first spelling goes before any second one.
pub(crate) fn matching_words(text: &str, sought: &Sought) -> Vec<String> {
    // By term, in the order of the text.
    let mut found: Vec<Vec<&str>> = vec![Vec::new(); sought.terms().len()];
    for run in text.split(is_between) {
        // The pieces of a run have its terms.
        let mut has_any = false;
        sought.find(run, |_| has_any = true);
        if !has_any {
            continue;
        }
        for piece in pieces(run) {
            sought.find(piece, |at| {
                let spellings = &mut found[at];
                if spellings.len() < WORDS && !spellings.contains(&piece) {
                    spellings.push(piece);
                }
            });
        }
    }
    let found = sought.terms().iter().zip(found);
    let mut terms: Vec<(&(&str, f32), Vec<&str>)> = found.collect();
    terms.retain(|(_, spellings)| !spellings.is_empty());
    // Stable: terms of one weight stay in their order.
    terms.sort_by(|(a, _), (b, _)| b.1.total_cmp(&a.1));
    // How many spellings of each term: one more of each, from the first on, while there is room.
    let mut taken = vec![0; terms.len()];
    let mut room = WORDS;
    for round in 1..=WORDS {
        for ((_, spellings), taken) in terms.iter().zip(&mut taken) {
            if room > 0 && spellings.len() >= round {
                *taken = round;
                room -= 1;
            }
        }
    }
    let mut words: Vec<String> = Vec::new();
    for ((_, spellings), taken) in terms.iter().zip(taken) {
        for word in &spellings[..taken] {
            // One word may hold several terms.
            if !words.iter().any(|it| it == word) {
                words.push((*word).to_owned());
            }
        }
    }
    words
}

/// Whether a character separates words. An apostrophe does not, nor does a mark on a letter.
fn is_between(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}') || is_mark(c))
}

/// The combining marks of Latin texts that are not letters to the standard library.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// A run cut at its humps, if that changes no term.
fn pieces(run: &str) -> Vec<&str> {
    let run = run.trim_matches(|c| matches!(c, '\'' | '\u{2019}'));
    if run.is_empty() {
        return Vec::new();
    }
    let cut = at_humps(run);
    let is_same = cut.len() > 1 && {
        let terms: Vec<String> = cut.iter().flat_map(|piece| analyze(piece)).collect();
        terms == analyze(run)
    };
    if is_same { cut } else { vec![run] }
}

/// Cut between lower and upper case, before the last capital of several, between letters and
/// digits, and around letters without case (ideographs are words by themselves).
fn at_humps(run: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = run.char_indices().collect();
    let mut cuts = vec![0];
    for (at, pair) in characters.windows(2).enumerate() {
        let (before, (place, after)) = (pair[0].1, pair[1]);
        let next = characters.get(at + 2).map(|(_, next)| *next);
        let is_hump = (before.is_lowercase() && after.is_uppercase())
            || (before.is_uppercase()
                && after.is_uppercase()
                && next.is_some_and(char::is_lowercase))
            || (before.is_numeric() != after.is_numeric() && !is_mark(after))
            || is_ideograph(before)
            || is_ideograph(after);
        if is_hump {
            cuts.push(place);
        }
    }
    let ends = cuts.iter().skip(1).copied().chain([run.len()]);
    cuts.iter()
        .zip(ends)
        .map(|(start, end)| &run[*start..end])
        .collect()
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn matched(text: &str, question: &[(&str, f32)]) -> Vec<String> {
        let terms: Vec<(String, f32)> = question
            .iter()
            .flat_map(|(word, weight)| analyze(word).into_iter().map(|term| (term, *weight)))
            .collect();
        let terms = terms.iter().map(|(term, weight)| (term.as_str(), *weight));
        matching_words(text, &Sought::of(terms.collect()))
    }

    #[test]
    fn words_are_spelled_as_the_text_has_them() {
        let question = [("orders", 2.0), ("sick leave", 3.0), ("2024", 1.0)];
        assert_eq!(
            matched("Ordering: SickLeaveHours, order_date 2024-01-02", &question),
            ["Leave", "Sick", "Ordering", "order", "2024"]
        );
        assert_eq!(matched("nothing of it", &question), [""; 0]);
        let other = [("café", 1.0), ("women", 1.0), ("京", 1.0), ("level", 1.0)];
        assert_eq!(
            matched("東京 Cafe women's HTTPLevel2 cafés", &other),
            ["Cafe", "cafés", "Level", "women's", "京"]
        );
    }

    #[test]
    fn every_term_is_listed_before_second_spellings_are() {
        let text = "a1: Fish fish FISH fishes fishing Fishes Fishing fished Fished river River";
        assert_eq!(
            matched(text, &[("fish", 2.0), ("river", 1.0)]),
            [
                "Fish", "fish", "FISH", "fishes", "fishing", "Fishes", "river", "River"
            ]
        );
        let many = "ba bb bc bd be bf bg bh bi bj";
        let question: Vec<(&str, f32)> = many.split(' ').zip((1u8..).map(f32::from)).collect();
        assert_eq!(
            matched(many, &question),
            ["bj", "bi", "bh", "bg", "bf", "be", "bd", "bc"]
        );
    }

    proptest! {
        /// A word that is listed is in the text and has a term of the question; a term of the text
        /// that is of the question is listed (they are few).
        #[test]
        fn what_is_listed_matches_and_what_matches_is_listed(
            text in "[aAbB1é京'_ \u{300}-]{0,30}",
            question in "[aAbB1é京]{1,3}",
        ) {
            let terms = analyze(&question);
            let sought = Sought::of(terms.iter().map(|term| (term.as_str(), 1.0)).collect());
            let words = matching_words(&text, &sought);
            for word in &words {
                prop_assert!(text.contains(word));
                prop_assert!(analyze(word).iter().any(|term| terms.contains(term)));
            }
            let held = analyze(&text);
            let matched: Vec<String> = words.iter().flat_map(|word| analyze(word)).collect();
            for term in terms.iter().filter(|term| held.contains(term)) {
                prop_assert!(matched.contains(term), "{term} of {held:?}, matched {words:?}");
            }
        }
    }
}
