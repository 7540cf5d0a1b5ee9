//! Whether a plain text is a table, and what cuts it.
//!
//! Evidence has to be strong, since most texts are none: all lines are cut alike, and columns hold
//! numbers, dates or codes, or a line is drawn below the header, or cells are quoted. A list of
//! names, a poem, a log or settings are passed over, though some of them could be read as a table.

use std::borrow::Cow;

use super::cut::{Cutter, by_bars, by_blanks, columns_of_rule};
use super::line::{Column, columns, end_of, is_bar, is_count_of_rows, is_rule, is_value, trimmed};
use super::log::is_log;
use super::widths;
use crate::dialect::{self, HEAD, Plan, usual};
use crate::header::PREAMBLE;
use crate::{MAX_COLUMNS, sniff};
use limn_profile::DeclaredReading;

/// Lines that are looked at.
const LINES: usize = 1000;
/// Lines below a table, at most.
const BELOW: usize = 12;
/// Words of a cell that is no value, on average; more are prose.
const WORDS: f64 = 4.0;

/// What a text is cut by.
#[derive(Debug)]
pub(super) enum Shape {
    /// A delimiter: it is read as it is.
    Delimited(Plan),
    /// Something else, line by line, from this byte on.
    Lines { cutter: Cutter, start: usize },
}

/// A line of the head, not blank.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where it begins, in bytes.
    start: usize,
    pub(super) text: &'a str,
    pub(super) below_blank: bool,
}

/// Finds what cuts `text`, of which this is the beginning or, if `complete`, all.
pub(super) fn find(text: &[u8], complete: bool) -> Option<Shape> {
    if sniff::json_named(text).is_some() {
        return None;
    }
    let mut head = &text[..text.len().min(HEAD)];
    let complete = complete && head.len() == text.len();
    // Not half of a letter.
    if let Err(error) = std::str::from_utf8(head)
        && error.error_len().is_none()
    {
        head = &head[..error.valid_up_to()];
    }
    let letters = String::from_utf8_lossy(head);
    if matches!(letters, Cow::Owned(_)) && letters.len() > 2 * head.len() {
        return None;
    }
    let lines = lines(&letters, end_of(head), complete);
    if let Some(columns) = drawn(&lines, complete) {
        let cutter = Cutter::Bars { columns };
        return Some(Shape::Lines { cutter, start: 0 });
    }
    let (lines, start, comment) = below_comments(&letters, lines);
    if is_log(&lines) {
        return None;
    }
    // Byte places in text with replaced letters are those of another text.
    let start = match letters {
        Cow::Borrowed(_) => start,
        Cow::Owned(_) => 0,
    };
    let delimited = delimited(text, start, complete);
    let blanks = blanks(&lines, complete);
    let widths = || {
        let gaps = widths::find(&lines, complete)?;
        let cutter = Cutter::Widths { gaps, comment };
        Some(Shape::Lines { cutter, start })
    };
    let shape = match (delimited, blanks) {
        // `1,5 2,5`: what a comma cuts there are numbers only if it does not.
        (Some((plan, typed)), Some(by_blanks))
            if by_blanks.typed <= typed || !b",;".contains(&plan.dialect.delimiter) =>
        {
            Some(Shape::Delimited(plan))
        }
        (Some((plan, _)), None) => Some(Shape::Delimited(plan)),
        (_, Some(blanks)) => {
            let columns = blanks.columns;
            let by_blanks = || Shape::Lines {
                cutter: Cutter::Blanks { columns, comment },
                start,
            };
            // Names with blanks in them, in the header or a column, are cut by where they stand.
            let or_widths = blanks.is_odd.then(widths).flatten();
            Some(or_widths.unwrap_or_else(by_blanks))
        }
        (None, None) => widths(),
    };
    shape.filter(|shape| matches!(shape, Shape::Delimited(_)) || !widths::has_glued_dates(&lines))
}

/// The lines of the head that are not blank; the last only if it is whole.
fn lines(head: &str, end: u8, complete: bool) -> Vec<Line<'_>> {
    let (mut lines, mut start, mut below_blank) = (Vec::new(), 0, false);
    for line in head.split_inclusive(char::from(end)) {
        let is_whole = complete || line.ends_with(char::from(end));
        let text = trimmed(line);
        if text.is_empty() {
            below_blank = true;
        } else if is_whole && lines.len() < LINES {
            lines.push(Line {
                start,
                text,
                below_blank,
            });
            below_blank = false;
        }
        start += line.len();
    }
    lines
}

/// The lines below comments at the top, where the text begins then, and what marks comments. The
/// last comment counts as a line if it names the columns: `# id name`.
fn below_comments<'a>(head: &'a str, lines: Vec<Line<'a>>) -> (Vec<Line<'a>>, usize, Option<char>) {
    let mark = lines.first().and_then(|line| line.text.chars().next());
    let Some(mark) = mark.filter(|mark| matches!(mark, '#' | '%')) else {
        return (lines, 0, None);
    };
    let above = lines.iter().take_while(|line| line.text.starts_with(mark));
    let above = above.count();
    let (Some(first), Some(last)) = (lines.get(above), lines.get(above - 1)) else {
        return (lines, 0, None);
    };
    let names = last.text.trim_start_matches(mark).trim_start();
    let is_cut_alike = |by: fn(&str) -> usize| by(first.text) > 1 && by(first.text) == by(names);
    let is_header = [",", "\t", ";", "|"].iter().any(|delimiter| {
        let count = |text: &str| text.matches(delimiter).count();
        count(first.text) > 0 && count(first.text) == count(names)
    }) || is_cut_alike(|text| by_blanks(text, MAX_COLUMNS).len());
    let mut below = lines[above..].to_vec();
    if !is_header {
        return (below, first.start, Some(mark));
    }
    let start = last.start + (last.text.len() - names.len());
    let start = start.min(head.len());
    below.insert(
        0,
        Line {
            start,
            text: names,
            below_blank: false,
        },
    );
    (below, start, Some(mark))
}

/// The columns of a table that is drawn with bars: a line is drawn below its header, and the others
/// have as many cells; or all lines have bars around as many cells.
fn drawn(lines: &[Line<'_>], complete: bool) -> Option<usize> {
    let is_drawn = |line: &&Line<'_>| is_rule(line.text) && columns_of_rule(line.text) > 1;
    let rule = lines.iter().take(PREAMBLE + 3).find(is_drawn);
    let (columns, fewest) = match rule {
        Some(rule) => (columns_of_rule(rule.text), 2),
        None => (framed(lines)?, 3),
    };
    let is_row = |line: &Line<'_>| {
        !is_rule(line.text)
            && (rule.is_some() || is_framed(line.text))
            && by_bars(line.text, MAX_COLUMNS).len() == columns
    };
    let is_table = |line: &Line<'_>| is_rule(line.text) || is_row(line);
    let first = lines.iter().position(is_table)?;
    let last = lines.iter().rposition(is_table)?;
    let inner = lines.get(first..=last)?;
    let rows = inner.iter().filter(|line| is_row(line)).count();
    let around = lines.len() - inner.len();
    let below = lines.len() - 1 - last;
    let is_one = rows >= fewest
        && first <= PREAMBLE
        && below <= if complete { BELOW } else { 0 }
        && around <= 2 + rows / 2
        && inner.iter().all(is_table);
    is_one.then_some(columns)
}

/// The columns that most lines with bars around them have, if there are several.
fn framed(lines: &[Line<'_>]) -> Option<usize> {
    let framed = lines.iter().map(|line| line.text);
    let framed = framed.filter(|line| !is_rule(line) && is_framed(line));
    let columns = usual(framed.map(|line| by_bars(line, MAX_COLUMNS).len()));
    (columns > 1).then_some(columns)
}

/// Whether a line begins and ends with a bar.
fn is_framed(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with(is_bar) && line.ends_with(is_bar)
}

/// The text as delimited, and the share of columns that hold values.
fn delimited(text: &[u8], start: usize, complete: bool) -> Option<(Plan, f64)> {
    let text = text.get(start..)?;
    let mut plan = dialect::detect(text, complete, "x.txt", &DeclaredReading::default()).ok()?;
    let width = plan.columns.len();
    if width < 2 {
        return None;
    }
    let head = &text[plan.start.min(text.len())..];
    let complete = complete && head.len() <= HEAD;
    let head = &head[..head.len().min(HEAD)];
    let rows = dialect::first_rows(&plan.dialect, head, complete);
    let mut rows = rows.get(plan.skip..)?;
    let fits = |row: &Vec<String>| {
        row.len() == width || row.len() == width + 1 && row.last().is_some_and(String::is_empty)
    };
    let is_line = |row: &&Vec<String>| row.iter().filter(|cell| !cell.is_empty()).count() < 2;
    if complete {
        let below = rows.iter().rev().take(BELOW).take_while(is_line).count();
        rows = rows.get(..rows.len() - below)?;
    }
    let fitting: Vec<&Vec<String>> = rows.iter().filter(|row| fits(row)).collect();
    if fitting.len() < 2 || fitting.len() * 20 < rows.len() * 19 {
        return None;
    }
    let cells = fitting.iter().map(|row| row.iter().map(String::as_str));
    let columns = columns(width, cells);
    let filled = columns.iter().filter(|column| column.is_filled()).count();
    let (typed, words) = typed(&columns);
    let delimiter = plan.dialect.delimiter;
    // The first column of code is its indentation.
    let is_one = columns.first().is_some_and(Column::is_filled)
        && filled >= 2
        && match delimiter {
            b'\t' => typed > 0 || fitting.len() > 2 && words <= 2.0 * WORDS,
            b'|' => typed > 0 || fitting.len() > 2 && words <= WORDS,
            _ if typed * 3 >= width => words <= WORDS,
            _ => words <= WORDS && is_like_csv(head, delimiter, fitting.len()),
        };
    plan.start += start;
    is_one.then_some((plan, typed as f64 / width as f64))
}

/// Whether a delimiter stands between cells as programs write it, and not as in sentences, or in
/// lines of code.
fn is_like_csv(head: &[u8], delimiter: u8, rows: usize) -> bool {
    let (mut all, mut spaced, mut quoted) = (0, 0, 0);
    for pair in head.windows(2).filter(|pair| pair[0] == delimiter) {
        all += 1;
        spaced += usize::from(pair[1].is_ascii_whitespace());
        quoted += usize::from(pair[1] == b'"');
    }
    let codes = head.iter().filter(|byte| b"{}()=<>".contains(byte)).count();
    let is_written_so = rows > 2 && spaced * 10 <= all || quoted * 2 >= all;
    is_written_so && codes * 20 <= all
}

/// How many columns hold values, and how many words a cell of the others has.
fn typed(columns: &[Column]) -> (usize, f64) {
    let typed = columns.iter().filter(|column| column.is_typed()).count();
    let others = columns.iter().filter(|column| !column.is_typed());
    let words = others.map(Column::words).fold(0.0, f64::max);
    (typed, words)
}

/// A text whose lines have as many words each.
struct Blanks {
    columns: usize,
    /// The share of columns that hold values.
    typed: f64,
    /// Whether other lines stand above, or a header of a word less.
    is_odd: bool,
}

fn blanks(lines: &[Line<'_>], complete: bool) -> Option<Blanks> {
    let rules = lines.iter().filter(|line| is_rule(line.text)).count();
    let has_rule = lines.iter().take(PREAMBLE + 2).any(|it| is_rule(it.text));
    let lines: Vec<&Line<'_>> = lines.iter().filter(|it| !is_rule(it.text)).collect();
    let words: Vec<Vec<Cow<'_, str>>> = lines
        .iter()
        .map(|it| by_blanks(it.text, MAX_COLUMNS))
        .collect();
    let width = usual(words.iter().map(Vec::len));
    let is_row = |row: &Vec<Cow<'_, str>>| row.len() == width;
    let first = words.iter().position(is_row)?;
    let last = words.iter().rposition(is_row)?;
    // R names its rows, and not the column of their names.
    let has_row_names = first == 1 && words[0].len() + 1 == width;
    let rows = words.get(first..=last)?;
    let below = words.len() - 1 - last;
    // Right below a row stands another one, which these words do not cut.
    let is_row_below = lines
        .get(last + 1)
        .is_some_and(|line| !line.below_blank && !is_count_of_rows(line.text));
    if width < 2
        || is_row_below
        || rows.len() + usize::from(has_row_names) < 3
        || first > PREAMBLE
        || below > if complete { BELOW } else { 0 }
        || (first + below) > rows.len()
        || !rows.iter().all(is_row)
    {
        return None;
    }
    // The header says nothing of the columns.
    let data = rows.get(usize::from(!has_row_names)..)?;
    let columns = columns(width, data.iter().map(|row| row.iter().map(|cell| &**cell)));
    let (typed, _) = typed(&columns);
    let quotes = lines
        .get(first..=last)?
        .iter()
        .map(|line| line.text.matches('"').count());
    let is_quoted = quotes.clone().all(|count| count >= 2 && count % 2 == 0);
    let broken = columns.iter().filter(|column| column.is_broken()).count();
    // `retries = 3`: settings.
    let is_sign = |cell: &Cow<'_, str>| matches!(&**cell, "=" | ":" | ":=" | "=>" | "->" | "+=");
    let is_of_signs = |at: usize| data.iter().all(|row| row.get(at).is_some_and(is_sign));
    if (0..width).any(is_of_signs) {
        return None;
    }
    let has_header = rows.first().zip(columns.iter().position(Column::is_typed));
    let has_header = has_header.is_some_and(|(header, at)| is_value(&header[at]) == Some(false));
    let is_one = broken == 0
        && if has_rule && rules <= 3 || has_row_names && is_quoted {
            typed > 0 || is_quoted || has_rule
        } else if is_quoted {
            typed > 0
        } else {
            // `PORT 22`: a setting, or a count; there are lists of counts, and few settings are
            // numbers only.
            typed == width || typed * 3 >= width && (width > 2 || has_header || rows.len() >= 5)
        };
    is_one.then_some(Blanks {
        columns: width,
        typed: typed as f64 / width as f64,
        is_odd: first > 0 && !(has_row_names && is_quoted) || below > 0,
    })
}
