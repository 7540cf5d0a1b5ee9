//! The cells block: distinct values, most frequent first, within a budget; searched by words only.
//!
//! A question that quotes a cell ("which table lists Leipzig?") finds its table even when no
//! sampled row holds it. Columns take turns, each with its next most frequent value, so one column
//! of long texts cannot push the others out (TableRAG's cell budget, applied at index time). As
//! shown, a line a column also has the type and the range: `age (integer, 18 to 43): 32 | 41 | 29`.

use crate::clean::{clip, is_nothing};
use crate::schema::{shown_name, with_details};
use crate::{BlockKind, DocumentOptions, Field, TableFacts, TextBlock};

/// Characters kept of a value.
const VALUE: usize = 400;
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
        let name = shown_name(&column.name, options.split_identifiers);
        text.push_str(&with_details(name, column, 0));
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
