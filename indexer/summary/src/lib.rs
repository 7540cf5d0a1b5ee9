//! Tables to text: schema documents, row summaries, contexts, cells, packed into blocks.
//!
//! A table is found by its words and by its meaning, so it must become text first. [`documents`]
//! turns a table's facts into blocks: the unit of both indexes, each of one kind and short enough
//! for the embedder to read whole (PNEUMA §5.2).
//!
//! ```
//! use limn_summary::{BlockKind, ColumnFacts, DocumentOptions, TableFacts, WordCounter, documents};
//! let facts = TableFacts {
//!     name: "hr/emp".into(),
//!     columns: vec![
//!         ColumnFacts {
//!             name: "SickLeaveHours".into(),
//!             type_label: "integer".into(),
//!             min: Some("0".into()),
//!             max: Some("80".into()),
//!             frequent: vec![("12".into(), 2), ("80".into(), 1)],
//!             ..ColumnFacts::default()
//!         },
//!         ColumnFacts {
//!             name: "dept".into(),
//!             type_label: "text".into(),
//!             frequent: vec![("Sales".into(), 9), ("R&D".into(), 4)],
//!             ..ColumnFacts::default()
//!         },
//!     ],
//!     sample: vec![vec![Some("12".into()), Some("Sales".into())]],
//!     ..TableFacts::default()
//! };
//! let blocks = documents(&facts, &WordCounter { window: 100 }, &DocumentOptions::default());
//! let texts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
//! assert_eq!(texts, [
//!     "hr employee: Sick Leave Hours (integer, 0 to 80), department (Sales, R&D)",
//!     "Sick Leave Hours: 12 | department: Sales",
//!     "Sick Leave Hours (integer, 0 to 80): 12 | 80\ndepartment: Sales | R&D",
//! ]);
//! assert_eq!(blocks[2].kind, BlockKind::Cells);
//! ```
//!
//! **Guarantees.** The blocks are a function of the facts, the counter and the options alone. Every
//! block but cells fits the counter's window. Every column's name is in some schema block, or, in
//! tables wider than [`DocumentOptions::schema_blocks`] have room for, in a block searched by words
//! only, up to [`DocumentOptions::name_words`]. Every table has at least one block. The number and
//! size of blocks are bounded whatever the table's width, cell lengths or contexts. Cell text is
//! made one line without control characters.
//!
//! A language model may describe the columns, in blocks of their own: [`narration`] holds
//! the prompts, and reads the answers.
//!
//! **Non-guarantees.** Texts may change between versions of this crate; an index keeps the texts it
//! was built with. Cell text is not escaped for any output format: the code that shows it escapes
//! it.
//!
//! **Recovery.** Nothing here can fail; there is nothing to recover.

mod cells;
mod clean;
mod contexts;
mod counter;
mod facts;
mod identifiers;
pub mod narration;
mod pack;
mod rows;
mod schema;

pub use counter::{TokenCounter, WordCounter};
pub use facts::{BlockKind, ColumnFacts, DocumentOptions, Field, TableFacts, TextBlock};
pub use identifiers::{abbreviations, expand_abbreviations, split_identifier};

/// A table's blocks: schema, rows, contexts, cells, in this order.
pub fn documents(
    facts: &TableFacts,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let mut blocks = schema::schema_blocks(facts, counter, options);
    blocks.extend(rows::row_blocks(facts, counter, options));
    blocks.extend(contexts::context_blocks(facts, counter, options));
    blocks.extend(cells::cells_block(facts, options));
    blocks
}

#[cfg(test)]
mod tests;
