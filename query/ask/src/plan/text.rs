//! Instructions: sentences in which columns stand in braces.

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
        for piece in &self.pieces {
            if let Piece::Column(name) = piece
                && !columns.contains(&name.as_str())
            {
                columns.push(name);
            }
        }
        columns
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
                    pieces.push(Piece::Column(name.trim().to_owned()));
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
        for wrong in ["{city", "city}", "{}", "{ }", "{a{b}"] {
            assert_eq!(of(wrong), Err(InstructionError::Brace(wrong.to_owned())));
        }
    }
}
