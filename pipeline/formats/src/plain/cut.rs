//! A line of plain text, cut into cells and written anew with tabs between them.

use std::borrow::Cow;

use super::line::{is_bar, is_corner, is_count_of_rows, is_rule};
use crate::dialect::{Dialect, Quoting};

/// How lines are written.
pub(super) const TABS: Dialect = Dialect {
    delimiter: b'\t',
    quoting: Quoting::Off,
};

/// What cuts lines into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cutter {
    /// Runs of blanks, into so many; what stands in double quotes is one.
    Blanks {
        columns: usize,
        comment: Option<char>,
    },
    /// Blanks at these characters, at least one of them in every gap.
    Widths {
        gaps: Vec<Gap>,
        comment: Option<char>,
    },
    /// Bars, into so many; there may be bars around them.
    Bars { columns: usize },
}

/// Characters of a line between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Cutter {
    /// Writes a line; false if it is none of the table's nor of what stands around it. `is_first`
    /// says that no line was written yet: a header may lack the name of the first column.
    pub(super) fn write(&self, line: &str, is_first: bool, out: &mut Vec<u8>) -> bool {
        if line.is_empty() {
            return true;
        }
        if is_rule(line) || is_count_of_rows(line) || self.is_comment(line) {
            return false;
        }
        match self.cells(line, is_first) {
            // A blank line stays one.
            _ if line.is_empty() => {}
            Some(cells) => {
                for (i, cell) in cells.iter().enumerate() {
                    if i > 0 {
                        out.push(b'\t');
                    }
                    put(cell, out);
                }
            }
            None => put(line, out),
        }
        true
    }

    fn is_comment(&self, line: &str) -> bool {
        match self {
            Cutter::Blanks { comment, .. } | Cutter::Widths { comment, .. } => {
                comment.is_some_and(|mark| line.starts_with(mark))
            }
            Cutter::Bars { .. } => false,
        }
    }

    /// The line's cells, if it is one of the table's.
    pub(super) fn cells<'a>(&self, line: &'a str, is_first: bool) -> Option<Vec<Cow<'a, str>>> {
        match self {
            Cutter::Blanks { columns, .. } => {
                let cells = by_blanks(line, *columns);
                let fits = cells.len() == *columns || is_first && cells.len() + 1 == *columns;
                fits.then_some(cells)
            }
            Cutter::Widths { gaps, .. } => by_widths(line, gaps),
            Cutter::Bars { columns } => {
                Some(by_bars(line, *columns)).filter(|it| it.len() == *columns)
            }
        }
    }
}

fn put(cell: &str, out: &mut Vec<u8>) {
    let blank_for_tab = |byte: u8| {
        if byte == b'\t' || byte == b'\r' {
            b' '
        } else {
            byte
        }
    };
    out.extend(cell.trim().bytes().map(blank_for_tab));
}

/// The words of a line, and one more than `most` of them where there are more. Quotes around a word
/// are taken away, and `\"` or `""` within them is a quote.
pub(super) fn by_blanks(line: &str, most: usize) -> Vec<Cow<'_, str>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && words.len() <= most {
        let (word, after) = match quoted(rest) {
            Some(found) => found,
            None => {
                let end = rest.find(is_blank).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                (Cow::Borrowed(word), after)
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// The quoted word that a text begins with, and what follows.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let inside = text.strip_prefix('"')?;
    let bytes = inside.as_bytes();
    let (mut at, mut is_plain) = (0, true);
    loop {
        match bytes.get(at)? {
            b'\\' => {
                is_plain = false;
                at += 2;
            }
            b'"' if bytes.get(at + 1) == Some(&b'"') => {
                is_plain = false;
                at += 2;
            }
            b'"' => break,
            _ => at += 1,
        }
    }
    let (word, after) = (inside.get(..at)?, inside.get(at + 1..)?);
    if !after.is_empty() && !after.starts_with(is_blank) {
        return None;
    }
    let word = match is_plain {
        true => Cow::Borrowed(word),
        false => Cow::Owned(unquoted(word)),
    };
    Some((word, after))
}

/// A word within quotes as it is meant: behind a backslash, or doubled, a quote is one.
fn unquoted(word: &str) -> String {
    let mut letters = word.chars().peekable();
    let mut meant = String::with_capacity(word.len());
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let stands_for_next = letter == '\\' && matches!(next, Some('"' | '\\'))
            || letter == '"' && next == Some('"');
        match stands_for_next {
            true => meant.extend(letters.next()),
            false => meant.push(letter),
        }
    }
    meant
}

/// The cells between gaps; `None` if one of them has no blank where the line cuts it.
fn by_widths<'a>(line: &'a str, gaps: &[Gap]) -> Option<Vec<Cow<'a, str>>> {
    let within = |at: usize| at.min(line.len());
    let places: Vec<(usize, usize)> = match line.is_ascii() {
        true => gaps
            .iter()
            .map(|it| (within(it.from), within(it.to)))
            .collect(),
        false => places(line, gaps),
    };
    let mut cells = Vec::with_capacity(gaps.len() + 1);
    let mut start = 0;
    for (from, to) in places {
        let gap = line.get(from..to)?;
        let cut = match gap.is_empty() {
            // The line has ended.
            true => from,
            false => from + widest_blank(gap)?,
        };
        cells.push(Cow::Borrowed(line.get(start..cut)?));
        start = cut;
    }
    cells.push(Cow::Borrowed(line.get(start..)?));
    Some(cells)
}

/// Where the widest run of blanks begins; `None` if there is none, or several of one blank each, as
/// between words.
fn widest_blank(gap: &str) -> Option<usize> {
    let (mut widest, mut runs) = (0..0, 0);
    let mut run = 0..0;
    for (at, byte) in gap.bytes().enumerate() {
        if !byte.is_ascii_whitespace() {
            continue;
        }
        if run.end != at || runs == 0 {
            run = at..at;
            runs += 1;
        }
        run.end = at + 1;
        if run.len() > widest.len() {
            widest = run.clone();
        }
    }
    let is_one = runs == 1 || widest.len() > 1;
    is_one.then_some(widest.start)
}

/// Where gaps, which are given by characters, are in a line, in bytes.
fn places(line: &str, gaps: &[Gap]) -> Vec<(usize, usize)> {
    let mut edges = gaps.iter().flat_map(|gap| [gap.from, gap.to]).peekable();
    let mut found = Vec::with_capacity(2 * gaps.len());
    for (i, (at, _)) in line.char_indices().enumerate() {
        while edges.next_if(|edge| *edge <= i).is_some() {
            found.push(at);
        }
    }
    found.extend(edges.map(|_| line.len()));
    found
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect()
}

/// The cells between bars, without bars around all of them, and one more than `most` of them where
/// there are more. A bar behind a backslash is a letter.
pub(super) fn by_bars(line: &str, most: usize) -> Vec<Cow<'_, str>> {
    let line = line.trim();
    let line = line.strip_prefix(is_bar).unwrap_or(line);
    let is_escaped = |end: &str| end.ends_with('\\');
    let line = match line.strip_suffix(is_bar) {
        Some(inside) if !is_escaped(inside) => inside,
        _ => line,
    };
    let mut cells: Vec<Cow<'_, str>> = Vec::new();
    let mut open: Option<String> = None;
    for part in line.split(is_bar) {
        match (part.strip_suffix('\\'), open.take()) {
            (Some(part), before) => {
                let mut text = before.unwrap_or_default();
                text.push_str(part);
                text.push('|');
                open = Some(text);
            }
            (None, None) => cells.push(Cow::Borrowed(part)),
            (None, Some(mut text)) => {
                text.push_str(part);
                cells.push(Cow::Owned(text));
            }
        }
        if cells.len() > most {
            return cells;
        }
    }
    cells.extend(open.map(Cow::Owned));
    cells
}

/// Into how many columns a drawn line is divided; 1 if it is not.
pub(super) fn columns_of_rule(rule: &str) -> usize {
    let is_end = |c: char| is_bar(c) || is_corner(c);
    let inside = rule.trim().trim_matches(is_end);
    1 + inside.chars().filter(|c| is_end(*c)).count()
}
