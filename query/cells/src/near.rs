//! Values that are nearly what a question says: by trigrams and edit distance, and by shared words.

use std::collections::HashMap;

use limn_segment::analyzer::analyze;

/// From these shares on a value is near: of equal letters, of common trigrams, and of its words
/// that the span has.
const LETTERS: f64 = 0.75;
const TRIGRAMS: f64 = 0.7;
const SHARED: f64 = 0.25;
/// Letters and digits of a span that is compared: shorter ones are like too much.
const SHORTEST: usize = 4;
/// Values that share a span's rarest trigrams or words, at most, and are compared with it.
const COMPARED: usize = 500;

/// Values, found by what they are made of.
#[derive(Debug, Default)]
pub(crate) struct Near {
    keys: Vec<String>,
    /// Of each value the number of its distinct words.
    words: Vec<u32>,
    by_trigram: HashMap<[char; 3], Vec<u32>>,
    by_word: HashMap<String, Vec<u32>>,
}

impl Near {
    /// Of values, each by its text and its key.
    pub(crate) fn of<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> Near {
        let mut near = Near::default();
        for (at, (text, key)) in values.enumerate() {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            for trigram in trigrams(key) {
                near.by_trigram.entry(trigram).or_default().push(at);
            }
            let words = distinct(analyze(text));
            near.words
                .push(u32::try_from(words.len()).unwrap_or(u32::MAX));
            for word in words {
                near.by_word.entry(word).or_default().push(at);
            }
            near.keys.push(key.to_owned());
        }
        near
    }

    /// The values that are near a span, by place, with how near they are; the nearest first.
    pub(crate) fn find(&self, written: &str, key: &str) -> Vec<(u32, f64)> {
        let letters = key.chars().count();
        if letters < SHORTEST {
            return Vec::new();
        }
        let mut found: HashMap<u32, f64> = HashMap::new();
        for (value, shared) in counted(trigrams(key).iter().map(|it| self.by_trigram.get(it))) {
            let other = &self.keys[value as usize];
            let others = other.chars().count();
            // Dice's coefficient of the trigrams.
            let of_trigrams = 2.0 * f64::from(shared) / (letters + others - 4).max(1) as f64;
            let longer = letters.max(others);
            if others < SHORTEST {
                continue;
            }
            let is_near = letters.abs_diff(others) <= 1 + longer / 4;
            let of_edits = match is_near {
                true => 1.0 - strsim::osa_distance(key, other) as f64 / longer as f64,
                false => 0.0,
            };
            if of_edits >= LETTERS || of_trigrams >= TRIGRAMS {
                found.insert(value, of_trigrams.max(of_edits).min(0.99));
            }
        }
        let words = distinct(analyze(written));
        for (value, shared) in counted(words.iter().map(|it| self.by_word.get(it))) {
            if shared as usize == words.len() && shared > 0 {
                // All words of the span are in the value.
                let share = f64::from(shared) / f64::from(self.words[value as usize].max(1));
                if share >= SHARED {
                    let likeness = found.entry(value).or_default();
                    *likeness = likeness.max(0.5 + 0.49 * share);
                }
            }
        }
        let mut found: Vec<(u32, f64)> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }
}

/// How many of the lists each value is in: those in most, then in order of their places.
fn counted<'a>(lists: impl Iterator<Item = Option<&'a Vec<u32>>>) -> Vec<(u32, u32)> {
    let mut counts: HashMap<u32, u32> = HashMap::new();
    for value in lists.flatten().flatten() {
        *counts.entry(*value).or_default() += 1;
    }
    let mut counts: Vec<(u32, u32)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    counts.truncate(COMPARED);
    counts
}

fn trigrams(key: &str) -> Vec<[char; 3]> {
    let letters: Vec<char> = key.chars().collect();
    let trigrams = letters.windows(3).map(|it| [it[0], it[1], it[2]]);
    distinct(trigrams.collect())
}

fn distinct<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

#[cfg(test)]
mod tests {
    use limn_segment::whole::key;

    use super::*;

    fn near(values: &[&str], span: &str) -> Vec<String> {
        let keys: Vec<String> = values
            .iter()
            .map(|it| key(it).unwrap_or_default())
            .collect();
        let near = Near::of(values.iter().copied().zip(keys.iter().map(String::as_str)));
        let found = near.find(span, &key(span).unwrap_or_default());
        found
            .iter()
            .map(|(at, _)| values[*at as usize].to_owned())
            .collect()
    }

    #[test]
    fn misspelt_words_and_parts_of_values_are_near() {
        let values = [
            "Philadelphia",
            "Aberdeen",
            "Chihuahua",
            "Sky Radio",
            "dog",
            "Bern",
        ];
        assert_eq!(near(&values, "Philadelfia"), ["Philadelphia"]);
        assert_eq!(near(&values, "chihuahuas"), ["Chihuahua"]);
        assert_eq!(near(&values, "Radio"), ["Sky Radio"]);
        assert_eq!(near(&values, "dogs"), ["dog"]);
        assert!(near(&values, "Berlin").is_empty());
        assert!(near(&values, "do").is_empty());
    }
}
