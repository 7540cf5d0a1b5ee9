//! Aligned columns for people. Whatever a cell holds is put on one line that steers no terminal.

use std::io::{self, Write};

use crate::text::{cut, fit, one_line};

/// Widest cell of which the others of its column keep clear; on a terminal longer ones are cut, so
/// that a table stays readable.
const MAX_WIDTH: usize = 60;

/// Rows of text, aligned when written.
pub struct Table {
    header: Vec<String>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this header; the columns in `right` are numbers.
    pub fn new(header: &[&str], right: &[usize]) -> Self {
        Self {
            header: header.iter().map(|name| one_line(name)).collect(),
            right: right.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// Writes header and rows.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_cut(out, |cell, width, _| fit(cell, width))
    }

    /// The same, where what reads a pipe, too, gets long cells cut: but for those of the last
    /// column, behind which nothing is to be aligned.
    pub fn write_aligned(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_cut(out, |cell, width, is_last| match is_last {
            true => fit(cell, width),
            false => cut(cell, width),
        })
    }

    /// `cut` gets a cell, the width of its column, and whether that is the last.
    fn write_cut(
        &self,
        out: &mut impl Write,
        cut: impl Fn(&str, usize, bool) -> String,
    ) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .chain([&self.header[column]])
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
                    .min(MAX_WIDTH)
            })
            .collect();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                let cell = cut(cell, *width, column + 1 == widths.len());
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                if self.right.contains(&column) {
                    line.push_str(&padding);
                    line.push_str(&cell);
                } else {
                    line.push_str(&cell);
                    line.push_str(&padding);
                }
                line.push_str("  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_right_aligned_and_long_cells_are_cut_on_a_terminal() {
        let mut table = Table::new(&["name", "rows"], &[1]);
        table.row(vec!["a".into(), "7".into()]);
        table.row(vec!["x".repeat(100), "1,000".into()]);
        let written = |cut: fn(&str, usize) -> String| {
            let mut out = Vec::new();
            let cut = |cell: &str, width, _| cut(cell, width);
            table.write_cut(&mut out, cut).unwrap();
            String::from_utf8(out).unwrap()
        };
        let piped = written(|cell, _| cell.to_owned());
        assert!(piped.contains(&"x".repeat(100)), "{piped}");
        let text = written(cut);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].starts_with("a ") && lines[1].ends_with("    7"),
            "{text}"
        );
        assert!(
            lines[2].contains('…') && lines[2].chars().count() < 70,
            "{text}"
        );
    }
    #[test]
    fn long_cells_before_others_are_cut_and_those_at_the_end_are_whole() {
        let mut table = Table::new(&["note", "rows", "text"], &[1]);
        let long = "x".repeat(100);
        table.row(vec![long.clone(), "7".into(), long.clone()]);
        table.row(vec!["a".into(), "8".into(), "b".into()]);
        let mut out = Vec::new();
        table.write_aligned(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let place = |line: &str, sign| line.chars().position(|it| it == sign);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(place(lines[1], '7'), place(lines[2], '8'), "{text}");
        assert!(
            lines[1].ends_with(&long) && lines[1].contains('…'),
            "{text}"
        );
    }
}
