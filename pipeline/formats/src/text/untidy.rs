//! What is untidy in delimited text: quotes that are never closed, rows of other widths.

use std::collections::BTreeMap;

use limn_profile::text::counted;

/// Lines with a quote that is never closed.
#[derive(Default)]
pub(super) struct Unclosed {
    pub(super) lines: u64,
    /// The first of them, from 1 on.
    pub(super) first: u64,
}

impl Unclosed {
    pub(super) fn note(&mut self, line: Option<u64>, lines_above: u64) {
        if let Some(line) = line {
            self.lines += 1;
            self.first = if self.lines == 1 {
                line + lines_above
            } else {
                self.first
            };
        }
    }

    /// The note on them; where not all is read, no line is known by its number.
    pub(super) fn summary(&self, whole: bool) -> Option<String> {
        let lines = counted(self.lines, "line");
        let first = match self.lines {
            0 => return None,
            _ if !whole => String::new(),
            1 => format!(" (line {})", self.first),
            _ => format!(" (the first is line {})", self.first),
        };
        Some(format!(
            "{lines} with a quote that is never closed{first}: read as it stands"
        ))
    }
}

/// Rows of another width than the header's.
#[derive(Default)]
pub(super) struct Ragged {
    pub(super) rows: u64,
    pub(super) wider: u64,
    pub(super) widths: BTreeMap<usize, u64>,
}

impl Ragged {
    /// Distinct widths that are counted.
    const WIDTHS: usize = 64;

    pub(super) fn note(&mut self, width: usize, columns: usize) {
        self.rows += 1;
        self.wider += u64::from(width > columns);
        if self.widths.len() < Self::WIDTHS || self.widths.contains_key(&width) {
            *self.widths.entry(width).or_default() += 1;
        }
    }

    /// Most rows differ from the header and from each other, and not just because some programs
    /// leave out empty cells at a row's end: whatever this is, it is no table with these columns.
    pub(super) fn is_hopeless(&self, rows: u64) -> bool {
        self.rows * 2 > rows && self.widths.len() >= 3 && self.wider * 10 >= self.rows
    }
}
