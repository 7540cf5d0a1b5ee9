//! The cells block: distinct values, most frequent first, within a budget; searched by words only.
//!
//! A question that quotes a cell ("which table lists Leipzig?") finds its table even when no sampled
//! row holds it. Columns take turns, each with its next most frequent value, so one column of long
//! texts cannot push the others out (TableRAG's cell budget, applied at index time). As shown, a line
//! a column also tells the type and the range: `age (integer, 18 to 43): 32 | 41 | 29`.

use crate::clean::clip;
use crate::schema::shown_name;
use crate::{BlockKind, ColumnFacts, DocumentOptions, Field, TableFacts, TextBlock};

/// Characters kept of a value, and shown of a range's ends.
const VALUE: usize = 400;
const RANGE_END: usize = 30;
/// Characters of a value that count as one word of the budget.
const WORD: usize = 5;

/// A table's distinct values; `None` where it has none.
pub(crate) fn cells_block(facts: &TableFacts, options: &DocumentOptions) -> Option<TextBlock> {
    let mut chosen: Vec<Vec<String>> = vec![Vec::new(); facts.columns.len()];
    let mut left = options.cell_words;
    let deepest = facts
        .columns
        .iter()
        .map(|column| column.frequent.len())
        .max()
        .unwrap_or(0);
    'ranks: for rank in 0..deepest {
        for (column, chosen) in facts.columns.iter().zip(&mut chosen) {
            let Some((value, _)) = column.frequent.get(rank) else {
                continue;
            };
            let value = clip(value, VALUE);
            if is_nothing(&value) {
                continue;
            }
            let words = (value.chars().count() / WORD).max(1);
            if words > left {
                break 'ranks;
            }
            left -= words;
            chosen.push(value);
        }
    }
    let mut text = String::new();
    let mut cells = String::new();
    for (column, values) in facts.columns.iter().zip(&chosen) {
        if values.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
            cells.push('\n');
        }
        text.push_str(&heading(column, options.split_identifiers));
        text.push_str(": ");
        let joined = values.join(" | ");
        text.push_str(&joined);
        cells.push_str(&joined);
    }
    (!cells.is_empty()).then(|| TextBlock {
        kind: BlockKind::Cells,
        text,
        fields: vec![(Field::Cells, cells)],
    })
}

/// `words (type, low to high)`; text needs no type.
fn heading(column: &ColumnFacts, split: bool) -> String {
    let name = shown_name(&column.name, split);
    let mut details = Vec::new();
    if !column.type_label.is_empty() && column.type_label != "text" {
        details.push(column.type_label.clone());
    }
    let ordered = matches!(
        column.type_label.as_str(),
        "integer" | "float" | "date" | "timestamp"
    );
    if let (true, Some(min), Some(max)) = (ordered, &column.min, &column.max) {
        if min == max {
            details.push(clip(min, RANGE_END));
        } else {
            details.push(format!(
                "{} to {}",
                clip(min, RANGE_END),
                clip(max, RANGE_END)
            ));
        }
    }
    if details.is_empty() {
        name
    } else {
        format!("{name} ({})", details.join(", "))
    }
}

/// Values that stand for no value.
fn is_nothing(value: &str) -> bool {
    ["", "na", "n/a", "null", "none", "nan", "-"]
        .iter()
        .any(|nothing| value.eq_ignore_ascii_case(nothing))
}
