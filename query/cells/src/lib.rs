//! The columns and cells of tables that a program needs to answer a question.
//!
//! A program that writes SQL must know what columns are called, what they hold, and how the values
//! that a question means are spelled; it cannot read whole tables. As in TableRAG (NeurIPS 2024)
//! it is given, of each table, the columns that match the question, with a range or frequent
//! values, and the cells that the question's words may mean:
//!
//! 1. [`Asked`] reads the question: parts that ask for columns (as `limn-sets` reads them) and
//!    spans that may be values (as `limn-retrieval` reads them).
//! 2. [`Table`] is what the index knows of a table's columns, and what the caller may see of it.
//! 3. [`read()`] counts the distinct values of text columns by one scan, most frequent first, until
//!    a budget is spent ([`Distinct`], which is kept under [`key`]); what the question names is
//!    looked for past it.
//! 4. [`answer`] chooses columns and cells, and writes them as a program reads them.
//!
//! **Guarantees.** A column that the index withholds is in no answer, and neither is a value for
//! who may not read values, or one of a private form where the index keeps such out. A cell is a
//! value that a row of the table has, spelled as it is there. Which cells are counted depends on
//! the table alone, not on how it is read. What is written is one line a column: a value cannot end
//! its literal or its line.
//!
//! **Non-guarantees.** A value that is past the budget is found only where the question quotes it,
//! capitalises it or has digits in it. Distances and cosines are thresholds: they miss, and match
//! what is not meant.
//!
//! **Recovery.** What is kept only saves time.

mod answer;
mod asked;
mod choose;
mod distinct;
mod find;
mod near;
mod read;
mod redacted;
mod table;
mod written;

pub use answer::{
    Cell, CellsAnswer, CellsJoin, JoinedColumn, Match, Read, TableCells, TableColumn, Tokens,
    answer,
};
pub use asked::Asked;
pub use distinct::{Distinct, DistinctColumn, Kept, key};
pub use read::{Reading, read};
pub use redacted::redact_of;
pub use table::{Column, Table};
pub use written::literal;

/// Distinct values of a table that are counted.
pub const BUDGET: usize = 10_000;
/// Columns and cells for each part and span of a question, where nobody says how many.
pub const K: usize = 5;
/// Columns and cells for each part and span of a question, at most.
pub const MOST: usize = 50;
/// Tables of an answer, where they are not named.
pub const TABLES: usize = 5;
/// Tables of an answer, at most: all their columns are compared.
pub const MOST_TABLES: usize = 10;
