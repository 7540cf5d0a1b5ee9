//! Questions to begin with, from the lake's own words: what is counted or measured, by what, in
//! which table.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::Grant;
use crate::access::Right;
use crate::names::last_part;
use crate::problem::Problem;
use crate::table_list::Facts;

/// Questions of one answer.
const QUESTIONS: usize = 6;
/// Tables that are looked at: of a large lake the first.
const TABLES: usize = 20_000;
/// Columns of a table that are looked at.
const COLUMNS: usize = 40;
/// Letters from which on a word is no abbreviation.
const WORD: usize = 4;
/// Shorter ones that say something.
const SHORT: &[&str] = &[
    "age", "at", "bus", "by", "car", "day", "fee", "id", "in", "job", "of", "on", "pay", "sex",
    "tax", "to", "use",
];
/// Words of a question.
const LONGEST: usize = 9;

/// Words of columns that are numbers and measure nothing.
const NO_MEASURES: &[&str] = &[
    "code",
    "day",
    "flag",
    "id",
    "index",
    "key",
    "lat",
    "latitude",
    "line",
    "lon",
    "longitude",
    "month",
    "number",
    "page",
    "phone",
    "postcode",
    "rank",
    "row",
    "sequence",
    "version",
    "week",
    "year",
    "zip",
];
/// Words of columns by which nobody counts.
const NO_GROUPS: &[&str] = &[
    "address",
    "code",
    "comment",
    "description",
    "email",
    "hash",
    "id",
    "key",
    "mail",
    "name",
    "note",
    "notes",
    "path",
    "phone",
    "text",
    "title",
    "url",
    "uuid",
];

/// Questions that this lake answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct Examples {
    /// The questions, at most six, each of another folder.
    pub questions: Vec<String>,
}

/// Questions to begin with, of the tables that the caller may see.
///
/// # Errors
/// A caller without the right to ask.
pub fn examples(grant: &Grant) -> Result<Examples, Problem> {
    grant.require(Right::Search)?;
    // The best of each folder at the top; the first of equals.
    let mut best: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for table in grant.view.table_list.tables().take(TABLES) {
        let top = table.key.name.split('/').next().unwrap_or_default();
        let Some((worth, question)) = question(&table) else {
            continue;
        };
        let known = best.get(top).map_or(0, |(worth, _)| *worth);
        if worth > known {
            best.insert(top, (worth, question));
        }
    }
    let mut best: Vec<(usize, String)> = best.into_values().collect();
    // Stable: equally good ones stay in the order of their folders.
    best.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
    best.truncate(QUESTIONS);
    Ok(Examples {
        questions: best.into_iter().map(|(_, question)| question).collect(),
    })
}

/// `measure of subject by group`, and how good it is: at least 1.
fn question(table: &Facts<'_>) -> Option<(usize, String)> {
    let columns: Vec<(String, &str)> = table
        .columns()
        .take(COLUMNS)
        .filter_map(|column| Some((spoken(column.name)?, column.data_type)))
        .collect();
    let has_none = |words: &str, of: &[&str]| words.split(' ').all(|word| !of.contains(&word));
    let subject = spoken(stem(last_part(table.key.name)));
    let is_subject = |words: &String| {
        let subject = subject.as_ref();
        subject.is_some_and(|subject| subject.contains(words.as_str()))
    };
    let measure = columns.iter().find(|(words, data_type)| {
        ["integer", "float"].contains(data_type) && has_none(words, NO_MEASURES)
    });
    let group = columns.iter().find(|(words, data_type)| {
        *data_type == "text" && has_none(words, NO_GROUPS) && !is_subject(words)
    });
    let measure = measure.map(|(words, _)| words);
    let group = group.map(|(words, _)| words);
    let subject = subject.filter(|subject| {
        let says_it =
            |words: Option<&String>| words.is_some_and(|it| it.contains(subject.as_str()));
        !says_it(measure) && !says_it(group)
    });
    let question = match (measure, &subject, group) {
        (Some(measure), Some(subject), Some(group)) => format!("{measure} of {subject} by {group}"),
        (Some(measure), None, Some(group)) => format!("{measure} by {group}"),
        (Some(measure), Some(subject), None) => format!("{measure} of {subject}"),
        (None, Some(subject), Some(group)) => format!("{subject} by {group}"),
        _ => return None,
    };
    let worth = 1
        + 4 * usize::from(subject.is_some())
        + 2 * usize::from(measure.is_some())
        + 2 * usize::from(group.is_some())
        + usize::from(table.texts().next().is_some());
    (question.split(' ').count() <= LONGEST).then_some((worth, question))
}

/// A name without its extension.
fn stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// A name in words, if it is made of words: no numbers, no abbreviations.
fn spoken(name: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for sign in name.chars() {
        let begins = !sign.is_alphabetic() || (sign.is_uppercase() && before.is_lowercase());
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if sign.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(sign.to_lowercase());
        } else if sign.is_numeric() {
            return None;
        }
        before = sign;
    }
    words.retain(|word| !word.is_empty());
    let is_word = |word: &String| {
        let is_spoken = match word.is_ascii() {
            true => word.len() >= WORD && word.contains(['a', 'e', 'i', 'o', 'u', 'y']),
            // Other scripts say more with a letter.
            false => word.chars().count() >= WORD / 2,
        };
        is_spoken || SHORT.contains(&word.as_str())
    };
    (!words.is_empty() && words.iter().all(is_word)).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_words_are_spoken() {
        for (name, words) in [
            ("water_level", Some("water level")),
            ("unitPrice", Some("unit price")),
            ("Date of birth", Some("date of birth")),
            ("cust_mst", None),
            ("col7", None),
            ("2024", None),
            ("", None),
            ("wassertiefe", Some("wassertiefe")),
            ("人口数", Some("人口数")),
        ] {
            assert_eq!(spoken(name).as_deref(), words, "{name}");
        }
    }
}
