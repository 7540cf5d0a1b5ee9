//! Schema documents: what the table is called and what its columns are called.
//!
//! `shop orders: order id, customer name, order date`: names as words, and nothing else, for that is
//! what questions are closest to in meaning. Types, ranges and values are told by the cells block
//! (`cells.rs`), which is not embedded. A language model's narration (PNEUMA §5.2), where there is
//! one, follows its column's name.

use crate::clean::{clip, one_line};
use crate::identifiers::{expansions, spoken};
use crate::pack::pack;
use crate::{BlockKind, ColumnFacts, DocumentOptions, Field, TableFacts, TextBlock, TokenCounter};

/// Characters shown of a name.
const NAME: usize = 120;
/// Characters kept of a narration.
const NARRATION: usize = 600;

/// A table's schema blocks; at least one, which names the table.
pub(crate) fn schema_blocks(
    facts: &TableFacts,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let split = options.split_identifiers;
    let head = format!("{}:", shown_name(&facts.name, split));
    let pieces: Vec<String> = facts
        .columns
        .iter()
        .map(|column| describe(column, split))
        .collect();
    let packed = pack(&head, &pieces, ", ", counter, options.schema_blocks);

    let mut blocks = Vec::with_capacity(packed.len() + 1);
    let mut next = 0;
    for (text, held) in packed {
        let mut names = String::new();
        if blocks.is_empty() {
            add_name(&mut names, &facts.name, split);
        }
        for column in &facts.columns[next..next + held] {
            add_column(&mut names, column, split);
        }
        next += held;
        blocks.push(schema_block(text, names));
    }
    if blocks.is_empty() {
        let mut names = String::new();
        add_name(&mut names, &facts.name, split);
        let text = crate::pack::cut(&shown_name(&facts.name, split), counter, counter.window());
        blocks.push(schema_block(text, names));
    }
    if next < facts.columns.len() {
        blocks.push(further_columns(&facts.columns[next..], options));
    }
    blocks
}

fn schema_block(text: String, names: String) -> TextBlock {
    TextBlock {
        kind: BlockKind::Schema,
        text,
        fields: vec![(Field::Names, names)],
    }
}

/// A name as it is shown: as words, or as it stands.
pub(crate) fn shown_name(name: &str, split: bool) -> String {
    let words = if split { spoken(name) } else { String::new() };
    if words.is_empty() {
        clip(name, NAME)
    } else {
        clip(&words, NAME)
    }
}

/// A column's words, and its narration where there is one.
fn describe(column: &ColumnFacts, split: bool) -> String {
    let name = shown_name(&column.name, split);
    match &column.narration {
        Some(narration) => format!("{name}: {}", clip(narration, NARRATION)),
        None => name,
    }
}

fn add_name(names: &mut String, name: &str, split: bool) {
    add(names, &one_line(name));
    if split {
        add(names, &expansions(name));
    }
}

fn add_column(names: &mut String, column: &ColumnFacts, split: bool) {
    add_name(names, &clip(&column.name, 1_000), split);
    if let Some(narration) = &column.narration {
        add(names, &clip(narration, NARRATION));
    }
}

fn add(text: &mut String, more: &str) {
    if more.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// The names no schema block had room for: searched by words only.
fn further_columns(columns: &[ColumnFacts], options: &DocumentOptions) -> TextBlock {
    let mut names = String::new();
    let mut words = 0;
    let mut shown = 0;
    for column in columns {
        let mut more = String::new();
        add_column(&mut more, column, options.split_identifiers);
        words += crate::clean::count_words(&more);
        if words > options.name_words {
            break;
        }
        add(&mut names, &more);
        shown += 1;
    }
    let examples: Vec<String> = columns
        .iter()
        .take(20)
        .map(|column| shown_name(&column.name, options.split_identifiers))
        .collect();
    let mut text = format!("{} further columns: {}", columns.len(), examples.join(", "));
    if columns.len() > examples.len() {
        text.push_str(", …");
    }
    tracing::debug!(
        columns = columns.len(),
        searchable = shown,
        "wide table: columns beyond the schema blocks are searched by name only"
    );
    TextBlock {
        kind: BlockKind::Cells,
        text,
        fields: vec![(Field::Names, names)],
    }
}
