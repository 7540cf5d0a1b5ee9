//! Row summaries: `column: value | column: value`, a sampled row a line (PNEUMA §5.2).

use crate::clean::clip;
use crate::pack::pack;
use crate::schema::shown_name;
use crate::{BlockKind, DocumentOptions, Field, TableFacts, TextBlock, TokenCounter};

/// Characters kept of a value.
const VALUE: usize = 200;

/// A table's blocks of sampled rows. A row that no block has room for is cut, so that one wide row
/// leaves room for the others.
pub(crate) fn row_blocks(
    facts: &TableFacts,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let names: Vec<String> = facts
        .columns
        .iter()
        .map(|column| shown_name(&column.name, options.split_identifiers))
        .collect();
    let mut lines = Vec::new();
    for row in &facts.sample {
        let cells: Vec<String> = names
            .iter()
            .zip(row)
            .filter_map(|(name, value)| {
                let value = clip(value.as_deref()?, VALUE);
                (!value.is_empty()).then(|| format!("{name}: {value}"))
            })
            .collect();
        if cells.is_empty() {
            continue;
        }
        lines.extend(
            pack("", &cells, " | ", counter, 1)
                .into_iter()
                .map(|(line, _)| line),
        );
    }
    pack("", &lines, "\n", counter, options.row_blocks)
        .into_iter()
        .map(|(text, _)| TextBlock {
            kind: BlockKind::Rows,
            fields: vec![(Field::Rows, text.clone())],
            text,
        })
        .collect()
}
