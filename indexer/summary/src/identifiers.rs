//! Names as words: `SickLeaveHours`, `song_name`, `custAcctBal` are split, and common abbreviations
//! spelled out.
//!
//! A question says "customer balance", a schema says `CUST_BAL`. Splitting is worth 15 points of
//! hit@1 on relational schemas (facts of the design, trials); the abbreviations are a small open
//! list of our own, `abbreviations.txt`. Letters and digits are not split here (`q3`, `co2` read as
//! one word): the index's analyzer does that for the lexical side.

use std::collections::HashMap;
use std::sync::LazyLock;

const LIST: &str = include_str!("abbreviations.txt");

/// Expansions by abbreviation, in the list's order.
static ABBREVIATIONS: LazyLock<HashMap<&'static str, Vec<&'static str>>> =
    LazyLock::new(|| parse(LIST));

fn parse(list: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (short, meanings) = line.split_once(' ')?;
            Some((short, meanings.split('|').map(str::trim).collect()))
        })
        .collect()
}

/// The words of a name, lower-cased: split at everything that is no letter or digit, at
/// `camelCase` and at the end of a run of capitals (`HTTPServer` → `http server`).
///
/// ```
/// assert_eq!(limn_summary::split_identifier("SickLeaveHours"), ["sick", "leave", "hours"]);
/// assert_eq!(limn_summary::split_identifier("song_name"), ["song", "name"]);
/// ```
pub fn split_identifier(name: &str) -> Vec<String> {
    let mut words = split_in_case(name);
    for word in &mut words {
        *word = word.to_lowercase();
    }
    words
}

/// [`split_identifier`] with letters as they stand.
fn split_in_case(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = name.chars().peekable();
    while let Some(c) = characters.next() {
        if !is_word(c) {
            flush(&mut word, &mut words);
            previous = None;
            continue;
        }
        if c.is_uppercase()
            && let Some(before) = previous
        {
            let after_lower = before.is_lowercase();
            let ends_acronym =
                before.is_uppercase() && characters.peek().is_some_and(|next| next.is_lowercase());
            // `IDs` and `PhDs` are one word: a plural's `s` begins none.
            let plural = ends_acronym && {
                let mut rest = characters.clone();
                rest.next() == Some('s') && !rest.next().is_some_and(char::is_alphanumeric)
            };
            if after_lower || (ends_acronym && !plural) {
                flush(&mut word, &mut words);
            }
        }
        word.push(c);
        previous = Some(c);
    }
    flush(&mut word, &mut words);
    words
}

/// Letters, digits, and the marks that combine with them.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The meanings of an abbreviation (lower case), most common first; empty for other words.
///
/// ```
/// assert_eq!(limn_summary::expand_abbreviations("qty"), ["quantity"]);
/// assert_eq!(limn_summary::expand_abbreviations("st"), ["state", "street"]);
/// assert!(limn_summary::expand_abbreviations("song").is_empty());
/// ```
pub fn expand_abbreviations(word: &str) -> &'static [&'static str] {
    ABBREVIATIONS.get(word).map_or(&[], Vec::as_slice)
}

/// The shortest abbreviation that is spelled out where a name is shown: two letters mean too many
/// things (`IP` is innings pitched, too) and are only made searchable.
const SHOWN_FROM: usize = 3;

/// All abbreviations of the list and their meanings, in no order.
pub fn abbreviations() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let all = ABBREVIATIONS.iter();
    all.map(|(short, meanings)| (*short, meanings.as_slice()))
}

/// A name as a person would say it: its words as they stand, with the abbreviations that mean one
/// thing only spelled out.
pub(crate) fn spoken(name: &str) -> String {
    let mut text = String::new();
    for word in split_in_case(name) {
        if !text.is_empty() {
            text.push(' ');
        }
        match expand_abbreviations(&word.to_lowercase()) {
            [only] if word.len() >= SHOWN_FROM => text.push_str(only),
            _ => text.push_str(&word),
        }
    }
    text
}

/// What abbreviations in a name may stand for, as words to search by; empty where there are none.
pub(crate) fn expansions(name: &str) -> String {
    let mut text = String::new();
    for word in split_identifier(name) {
        for meaning in expand_abbreviations(&word) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(meaning);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_split_where_people_see_words() {
        for (name, words) in [
            ("HTTPServerID", "http server id"),
            ("Song_Name", "song name"),
            ("customerIDs", "customer ids"),
            ("PM2.5 (µg/m³)", "pm2 5 µg m³"),
            ("q3_2024", "q3 2024"),
            ("sales/2024/orders", "sales 2024 orders"),
            ("ÉtatCivil", "état civil"),
            ("__", ""),
            ("ALLCAPS", "allcaps"),
        ] {
            assert_eq!(split_identifier(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn abbreviations_are_spelled_out_where_they_mean_one_thing() {
        assert_eq!(spoken("CUST_ACCT_BAL"), "customer account balance");
        assert_eq!(spoken("custDob"), "customer date of birth");
        assert_eq!(spoken("home_st"), "home st");
        assert_eq!(spoken("hh_IP"), "hh IP");
        assert_eq!(expansions("hh"), "household");
        assert_eq!(expansions("home_st"), "state street");
        assert_eq!(spoken("Song_ID"), "Song ID");
        assert_eq!(expansions("song_name"), "");
    }

    #[test]
    fn the_list_is_well_formed() {
        let lines: Vec<_> = LIST.lines().filter(|l| !l.starts_with('#')).collect();
        assert!(lines.len() >= 150, "{}", lines.len());
        assert_eq!(
            lines.len(),
            ABBREVIATIONS.len(),
            "no abbreviation is listed twice"
        );
        for (short, meanings) in ABBREVIATIONS.iter() {
            assert!(!meanings.is_empty(), "{short}");
            assert_eq!(split_identifier(short), [*short], "one lower-case word");
            for meaning in meanings {
                assert_eq!(&split_identifier(meaning).join(" "), meaning, "{short}");
            }
        }
    }

    proptest! {
        /// Splitting loses no letter and no digit.
        #[test]
        fn splitting_keeps_every_letter(name in "\\PC{0,40}") {
            let kept: String = name.chars().filter(|c| is_word(*c)).flat_map(char::to_lowercase).collect();
            prop_assert_eq!(split_identifier(&name).concat(), kept);
        }
    }
}
