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
    let mut values_of_lines = Vec::new();
    for row in &facts.sample {
        let (cells, values): (Vec<String>, Vec<String>) = names
            .iter()
            .zip(row)
            .filter_map(|(name, value)| {
                let value = clip(value.as_deref()?, VALUE);
                (!value.is_empty()).then(|| (format!("{name}: {value}"), value))
            })
            .unzip();
        // One line a row: what no block has room for is cut.
        for (line, held) in pack("", &cells, " | ", counter, 1) {
            lines.push(line);
            values_of_lines.push(values[..held.min(values.len())].join(" | "));
        }
    }
    let mut next = 0;
    pack("", &lines, "\n", counter, options.row_blocks)
        .into_iter()
        .map(|(text, held)| {
            let end = (next + held).min(values_of_lines.len());
            let values = values_of_lines[next..end].join("\n");
            next = end;
            TextBlock {
                kind: BlockKind::Rows,
                // Names have a field of their own: here they would only make every row long.
                fields: vec![(Field::Rows, values)],
                text,
            }
        })
        .collect()
}
