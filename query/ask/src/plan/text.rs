//! Instructions: sentences in which columns stand in braces.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A sentence about rows: `{city} is in Asia`. A brace that is none is written twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Instruction {
    written: String,
    pieces: Vec<Piece>,
}

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// The value of a column.
    Column(String),
    /// All columns, of a side of a join where one is named: `{*}`, `{left.*}`. They have names once
    /// the rows are known.
    All {
        /// The side.
        side: Option<String>,
        /// The columns.
        columns: Vec<String>,
    },
}

/// A sentence whose braces do not match.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InstructionError {
    /// A brace is open at the end, or a column has no name.
    #[error(
        "'{0}' has a brace that names no column: write {{column}}, and {{{{ or }}}} for a brace"
    )]
    Brace(String),
}

impl Instruction {
    /// The parts, in order; no text is empty, and no two follow each other.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The columns, in the order in which they come first, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        let mut known: HashSet<&str> = HashSet::new();
        for piece in &self.pieces {
            let named = match piece {
                Piece::Text(_) => continue,
                Piece::Column(name) => std::slice::from_ref(name),
                Piece::All { columns, .. } => columns.as_slice(),
            };
            columns.extend(
                named
                    .iter()
                    .map(String::as_str)
                    .filter(|it| known.insert(it)),
            );
        }
        columns
    }

    /// Whether it has all columns somewhere.
    #[must_use]
    pub fn has_all(&self) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|it| matches!(it, Piece::All { .. }))
    }

    /// The sentence as it is written with other names for its columns.
    #[must_use]
    pub fn renamed(&self, mut own: impl FnMut(&str) -> String) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Piece::Column(name) => format!("{{{}}}", own(name)),
            Piece::All { side: None, .. } => "{*}".to_owned(),
            Piece::All {
                side: Some(side), ..
            } => format!("{{{side}.*}}"),
        });
        pieces.collect()
    }

    /// Gives all columns their names, those of each side.
    pub fn name_all(&mut self, of: impl Fn(Option<&str>) -> Vec<String>) {
        for piece in &mut self.pieces {
            if let Piece::All { side, columns } = piece {
                *columns = of(side.as_deref());
            }
        }
    }
}

impl TryFrom<String> for Instruction {
    type Error = InstructionError;

    fn try_from(written: String) -> Result<Instruction, InstructionError> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut letters = written.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '}' if letters.peek() == Some(&letter) => {
                    letters.next();
                    text.push(letter);
                }
                '{' => {
                    let mut name = String::new();
                    let is_closed = letters.by_ref().any(|it| {
                        let closes = it == '}';
                        if !closes {
                            name.push(it);
                        }
                        closes
                    });
                    if !is_closed || name.trim().is_empty() || name.contains('{') {
                        return Err(InstructionError::Brace(written));
                    }
                    if !text.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(piece(name.trim()));
                }
                '}' => return Err(InstructionError::Brace(written)),
                other => text.push(other),
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Instruction { written, pieces })
    }
}

/// What stands in braces.
fn piece(name: &str) -> Piece {
    let side = match name.strip_suffix('*') {
        Some("") => None,
        Some(side) if side.len() > 1 && side.ends_with('.') => {
            Some(side.trim_end_matches('.').to_owned())
        }
        _ => return Piece::Column(name.to_owned()),
    };
    Piece::All {
        side,
        columns: Vec::new(),
    }
}

impl From<Instruction> for String {
    fn from(instruction: Instruction) -> String {
        instruction.written
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_braces_and_braces_are_written_twice() {
        let of = |text: &str| Instruction::try_from(text.to_owned());
        let read = of("{city} is in {{Asia}} like { city }, {left.name}").unwrap();
        assert_eq!(read.columns(), ["city", "left.name"]);
        assert_eq!(read.pieces()[1], Piece::Text(" is in {Asia} like ".into()));
        let mut all = of("{city} and {*}, {left.*}").unwrap();
        assert!(all.has_all() && !read.has_all());
        assert_eq!(all.columns(), ["city"]);
        all.name_all(|side| match side {
            None => vec!["city".to_owned(), "name".to_owned()],
            Some(side) => vec![format!("{side}.x")],
        });
        assert_eq!(all.columns(), ["city", "name", "left.x"]);
        for wrong in ["{city", "city}", "{}", "{ }", "{a{b}"] {
            assert_eq!(of(wrong), Err(InstructionError::Brace(wrong.to_owned())));
        }
    }
}
