//! A small table of what matches: the columns and sampled rows in which a question's words stand.

use std::collections::HashSet;

use limn_segment::{ColumnRecord, TableRecord};
use serde::Serialize;
use utoipa::ToSchema;

/// Columns of a preview.
const COLUMNS: usize = 6;
/// Characters of a cell.
const CELL: usize = 160;

/// The columns and rows of a table that match; where less matches, the first of the others beside
/// them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Matching {
    /// At most six columns, in the table's order.
    pub columns: Vec<MatchingColumn>,
    /// Sampled rows, those that match first: a cell a column, null where it is empty. None where
    /// values are not shown.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A column of a preview.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatchingColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// Whether its name, its description or a value matches.
    pub matches: bool,
}

/// Words as they are compared.
pub(super) fn folded<'a>(words: impl Iterator<Item = &'a str>) -> HashSet<String> {
    let words = words.map(str::to_lowercase);
    words.filter(|word| !word.is_empty()).collect()
}

/// The preview of a table for words, in lower case, that stand in its texts.
pub(super) fn of(
    row: &TableRecord,
    words: &HashSet<String>,
    rows: usize,
    shows_values: bool,
) -> Matching {
    let sample: &[Vec<Option<String>>] = match shows_values {
        true => &row.sample,
        false => &[],
    };
    let weights: Vec<u32> = row
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            weight(
                column,
                sample.iter().map(|row| cell(row, at)),
                words,
                shows_values,
            )
        })
        .collect();
    let mut chosen: Vec<usize> = (0..row.columns.len()).collect();
    // Stable: among equals the first columns stay.
    chosen.sort_by_key(|at| std::cmp::Reverse(weights[*at]));
    chosen.truncate(COLUMNS);
    chosen.sort_unstable();
    let matching_cells = |row: &Vec<Option<String>>| {
        let cells = chosen.iter().filter_map(|at| cell(row, *at));
        cells.filter(|text| has_any(text, words)).count()
    };
    let mut shown: Vec<&Vec<Option<String>>> = sample.iter().collect();
    shown.sort_by_key(|row| std::cmp::Reverse(matching_cells(row)));
    let cells = |row: &Vec<Option<String>>| {
        let cells = chosen.iter().map(|at| cell(row, *at).map(cut));
        cells.collect()
    };
    Matching {
        columns: chosen
            .iter()
            .map(|at| MatchingColumn {
                name: row.columns[*at].name.clone(),
                data_type: row.columns[*at].data_type.clone(),
                matches: weights[*at] > 0,
            })
            .collect(),
        rows: shown.into_iter().take(rows).map(cells).collect(),
    }
}

fn cell(row: &[Option<String>], at: usize) -> Option<&str> {
    row.get(at)?.as_deref()
}

/// How much a column explains why the table was found: a value first, then its name, then what is
/// said of it.
fn weight<'a>(
    column: &ColumnRecord,
    mut cells: impl Iterator<Item = Option<&'a str>>,
    words: &HashSet<String>,
    shows_values: bool,
) -> u32 {
    let said = [&column.narration, &column.description];
    let mut said = said.into_iter().flatten();
    let mut frequent = column.frequent.iter().filter(|_| shows_values);
    let is_value = cells.any(|cell| cell.is_some_and(|text| has_any(text, words)))
        || frequent.any(|it| has_any(&it.value, words));
    4 * u32::from(is_value)
        + 2 * u32::from(has_any(&column.name, words))
        + u32::from(said.any(|text| has_any(text, words)))
}

/// Whether one of the words stands in a text as a whole. Words of scripts without spaces, and codes
/// with signs in them, may stand anywhere.
fn has_any(text: &str, words: &HashSet<String>) -> bool {
    let text: String = apart(text).to_lowercase();
    let mut parts = text.split(|sign: char| !sign.is_alphanumeric());
    let is_spaced = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    parts.any(|part| words.contains(part))
        || words
            .iter()
            .any(|word| !is_spaced(word) && text.contains(word.as_str()))
}

/// `orderId` → `order Id`: names are written in many ways.
fn apart(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut before = ' ';
    for sign in text.chars() {
        if sign.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(sign);
        before = sign;
    }
    spaced
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CELL) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table() -> TableRecord {
        let column = |name: &str| ColumnRecord {
            name: name.to_owned(),
            data_type: "text".to_owned(),
            ..ColumnRecord::default()
        };
        let names = ["a", "b", "c", "d", "e", "f", "g", "lakeName"];
        let row = |last: &str| {
            let mut row: Vec<Option<String>> = (0..7).map(|n| Some(n.to_string())).collect();
            row.push(Some(last.to_owned()));
            row
        };
        TableRecord {
            columns: names.map(column).to_vec(),
            sample: vec![row("Eldmere"), row("Hollin Tarn"), vec![None; 8]],
            ..TableRecord::default()
        }
    }

    #[test]
    fn what_matches_is_shown_first() {
        let words = folded(["Tarn", "lake"].into_iter());
        let shown = of(&table(), &words, 1, true);
        let names: Vec<&str> = shown.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e", "lakeName"]);
        let matching: Vec<bool> = shown.columns.iter().map(|it| it.matches).collect();
        assert_eq!(matching, [false, false, false, false, false, true]);
        assert_eq!(shown.rows.len(), 1);
        assert_eq!(shown.rows[0][5].as_deref(), Some("Hollin Tarn"));
    }

    #[test]
    fn values_are_neither_shown_nor_looked_at_without_the_right() {
        let shown = of(&table(), &folded(["tarn"].into_iter()), 5, false);
        assert!(shown.rows.is_empty());
        assert!(shown.columns.iter().all(|column| !column.matches));
    }

    #[test]
    fn words_match_whole_and_scripts_without_spaces_anywhere() {
        let has = |text: &str, word: &str| has_any(text, &folded([word].into_iter()));
        assert!(has("water_level", "water") && has("orderId", "id") && has("東京都の人口", "人口"));
        assert!(has("x AB-12 y", "ab-12") && !has("underwater", "water") && !has("x", ""));
    }
}
