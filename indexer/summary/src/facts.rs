//! What goes in (a table's facts) and what comes out (blocks of text).

use serde::{Deserialize, Serialize};

/// All that is known of a table, as far as texts are made of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableFacts {
    /// The table's name: its path in the lake.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<ColumnFacts>,
    /// Sampled rows; each holds one value per column, in the columns' order.
    pub sample: Vec<Vec<Option<String>>>,
    /// Texts about the table that its rows do not hold.
    pub contexts: Vec<String>,
    /// Texts about the folder that the table lies in, which name no table: they are as much about
    /// its neighbours.
    pub folder_contexts: Vec<String>,
}

/// What is known of one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnFacts {
    /// The name as it stands in the file.
    pub name: String,
    /// The type's word (`integer`, `date`); empty where it is not to be shown.
    pub type_label: String,
    /// The smallest value, for types that have an order.
    pub min: Option<String>,
    /// The largest value.
    pub max: Option<String>,
    /// Values and how often they occur, most frequent first.
    pub frequent: Vec<(String, u64)>,
    /// A model's description of the column, given the whole schema.
    pub narration: Option<String>,
    /// What contexts say of it.
    pub description: Option<String>,
}

/// What a block's text is made of. All but cells are embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// The table's name and columns.
    Schema,
    /// Sampled rows.
    Rows,
    /// Texts about the table.
    Context,
    /// Distinct values; searched by words only.
    Cells,
}

/// The lexical side's fields: each has a weight and a length normalisation of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// Names of the table and its columns, and their expansions.
    Names,
    /// Sampled rows; narrations and texts about folders, which count as much.
    Rows,
    /// Texts about the table.
    Contexts,
    /// Distinct values.
    Cells,
}

/// One piece of text about one table: the unit of both indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextBlock {
    /// What it is made of.
    pub kind: BlockKind,
    /// What a person sees as evidence, and what is embedded (unless the kind is cells). Fits the
    /// embedder's window (unless the kind is cells).
    pub text: String,
    /// What is searched by words.
    pub fields: Vec<(Field, String)>,
}

/// How much is written about a table. The defaults bound a table of any width or length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentOptions {
    /// Split names into words and spell out abbreviations. Off, names stay whole and columns are
    /// described by name alone (`--narrate off`).
    pub split_identifiers: bool,
    /// The budget of the cells block, in words of five characters.
    pub cell_words: usize,
    /// The most schema blocks of a table. Names of further columns are still searched by words, up
    /// to `name_words`.
    pub schema_blocks: usize,
    /// The budget for the names of columns that no schema block has room for, in words.
    pub name_words: usize,
    /// The most blocks of sampled rows of a table.
    pub row_blocks: usize,
    /// The most context blocks of a table. What is beyond is still searched by words, up to
    /// `context_words`.
    pub context_blocks: usize,
    /// The budget for context text beyond the last context block, in words.
    pub context_words: usize,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        DocumentOptions {
            split_identifiers: true,
            cell_words: 4_000,
            schema_blocks: 16,
            name_words: 40_000,
            row_blocks: 6,
            context_blocks: 24,
            context_words: 20_000,
        }
    }
}
