//! Schema documents: what the table is called, and each column's words, type, range or values.
//!
//! `shop orders: order id (integer, 1 to 90), customer name (Ann Smith, Bob Jones)`. Measured
//! against names alone, the details cost a half point of full@5 on relational schemas and gain two
//! points of hit@1 where values distinguish tables. A table too wide for that is described by names
//! alone. A language model's narrations (PNEUMA §5.2) and the contexts' descriptions of columns,
//! where there is either, come after in blocks of their own.

use crate::clean::{clip, is_nothing, one_line};
use crate::identifiers::{expansions, spoken};
use crate::pack::pack;
use crate::{BlockKind, ColumnFacts, DocumentOptions, Field, TableFacts, TextBlock, TokenCounter};

/// Characters shown of a name, and of a value or a range's end.
const NAME: usize = 120;
const VALUE: usize = 30;
/// Most frequent values given of a column without a range.
const VALUES: usize = 3;
/// A table whose columns need more blocks than this is described by names alone.
const DETAILED_BLOCKS: usize = 6;
/// Characters kept of a narration.
const NARRATION: usize = 600;

/// A table's schema blocks; at least one, which names the table.
pub(crate) fn schema_blocks(
    facts: &TableFacts,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let split = options.split_identifiers;
    let name = without_archive(&facts.name);
    let head = format!("{}:", shown_name(&name, split));
    let packed_with = |detailed: bool, limit: usize| {
        let pieces: Vec<String> = facts
            .columns
            .iter()
            .map(|column| describe(column, split, detailed))
            .collect();
        pack(&head, &pieces, ", ", counter, limit)
    };
    let mut packed = packed_with(true, options.schema_blocks.min(DETAILED_BLOCKS));
    if packed.iter().map(|(_, held)| held).sum::<usize>() < facts.columns.len() {
        packed = packed_with(false, options.schema_blocks);
    }

    let mut blocks = Vec::with_capacity(packed.len() + 1);
    let mut next = 0;
    for (text, held) in packed {
        let mut names = String::new();
        if blocks.is_empty() {
            add_table(&mut names, &facts.name, split);
        }
        for column in &facts.columns[next..next + held] {
            add_column(&mut names, column, split);
        }
        next += held;
        blocks.push(schema_block(text, names));
    }
    if blocks.is_empty() {
        let mut names = String::new();
        add_table(&mut names, &facts.name, split);
        let text = crate::pack::cut(&shown_name(&name, split), counter, counter.window());
        blocks.push(schema_block(text, names));
    }
    if next < facts.columns.len() {
        blocks.push(further_columns(&facts.columns[next..], options));
    }
    blocks.extend(narration_blocks(facts, &head, counter, options));
    blocks
}

/// Blocks of people's and a model's descriptions of the columns, people's first:
/// `shop orders: order id: The number of an order. …`.
///
/// Their words count as much as those of sampled rows. Measured on spider (640 questions, 4,146
/// columns described by a 1.5B model, against names alone): in place of the types and values, and
/// among the names' words, narrations cost 2.6 points of hit@1, for much of them is what every
/// table says ("a unique identifier for each row"); so, beside all that is said without them, they
/// win 1.9 points of full@5 and lose nothing.
fn narration_blocks(
    facts: &TableFacts,
    head: &str,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let narrated = facts.columns.iter().filter_map(|column| {
        let said = [&column.description, &column.narration];
        let said = said.into_iter().filter_map(Option::as_deref);
        let said: Vec<String> = said.map(|text| clip(text, NARRATION)).collect();
        if said.is_empty() {
            return None;
        }
        let narration = said.join(" ");
        let name = shown_name(&column.name, options.split_identifiers);
        Some((format!("{name}: {narration}"), narration))
    });
    let (pieces, narrations): (Vec<String>, Vec<String>) = narrated.unzip();
    let packed = pack(head, &pieces, " ", counter, options.schema_blocks);
    let mut rest = narrations.as_slice();
    let blocks = packed.into_iter().map(|(text, held)| {
        let (here, after) = rest.split_at(held.min(rest.len()));
        rest = after;
        TextBlock {
            kind: BlockKind::Schema,
            text,
            fields: vec![(Field::Rows, here.join("\n"))],
        }
    });
    blocks.collect()
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

/// `words`, and in detail `words (type, low to high)` or `words (value, value, value)`.
fn describe(column: &ColumnFacts, split: bool, detailed: bool) -> String {
    let name = shown_name(&column.name, split);
    if !detailed {
        return name;
    }
    with_details(name, column, VALUES)
}

/// `words (type, low to high)`, or with up to `values` frequent values where there is no range.
/// Text needs no type, and a column without a type label is described by its name.
pub(crate) fn with_details(name: String, column: &ColumnFacts, values: usize) -> String {
    let type_label = column.type_label.as_str();
    if type_label.is_empty() {
        return name;
    }
    let mut details = Vec::new();
    if !matches!(type_label, "text" | "unknown") {
        details.push(type_label.to_owned());
    }
    let ordered = matches!(type_label, "integer" | "float" | "date" | "timestamp");
    match (&column.min, &column.max) {
        (Some(min), Some(max)) if ordered && min == max => details.push(clip(min, VALUE)),
        (Some(min), Some(max)) if ordered => {
            details.push(format!("{} to {}", clip(min, VALUE), clip(max, VALUE)));
        }
        _ => details.extend(
            column
                .frequent
                .iter()
                .map(|(value, _)| clip(value, VALUE))
                .filter(|value| !is_nothing(value))
                .take(values),
        ),
    }
    if details.is_empty() {
        name
    } else {
        format!("{name} ({})", details.join(", "))
    }
}

/// Each name is a line, and what its abbreviations stand for comes after a tab: that is not its
/// name. A table's begins with one, as it is no column's; the index knows it anyway.
fn add_table(names: &mut String, name: &str, split: bool) {
    names.push('\t');
    names.push_str(&one_line(name));
    if split {
        add_expansions(names, &without_archive(name));
    }
}

/// A table's name without the ending of archives in it, which is no word of it: `zip` would be a
/// postal code.
fn without_archive(name: &str) -> String {
    let name = name.replace(".zip//", "//");
    name.strip_suffix(".zip").unwrap_or(&name).to_owned()
}

fn add_column(names: &mut String, column: &ColumnFacts, split: bool) {
    let name = clip(&column.name, 1_000);
    add(names, &one_line(&name));
    if split {
        add_expansions(names, &name);
    }
}

fn add_expansions(names: &mut String, name: &str) {
    let more = expansions(name);
    if !more.is_empty() {
        names.push('\t');
        names.push_str(&more);
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
