//! Columns of a fixed width: characters that are blank in every line cut all lines alike.

use super::cut::Gap;
use super::line::{Column, columns, is_rule, is_stroke, is_value};
use super::shape::Line;
use crate::header::PREAMBLE;

/// Longer lines are no columns to read.
const LONGEST_LINE: usize = 4096;
/// More columns than this have gaps by chance.
const MOST_COLUMNS: usize = 512;
/// Below so many lines a gap of one blank may be chance.
const MANY: usize = 8;
/// Digits of a day: `20200618`.
const DAY: usize = 8;

/// The gaps between the columns of lines, if these are clearly a table.
pub(super) fn find(lines: &[Line<'_>], complete: bool) -> Option<Vec<Gap>> {
    let is_odd = |line: &Line<'_>| line.text.contains('\t') || line.text.len() > LONGEST_LINE;
    if lines.len() < 3 || lines.iter().any(is_odd) {
        return None;
    }
    if let Some(gaps) = below_a_rule(lines) {
        return Some(gaps);
    }
    let tail = lines.iter().rposition(|line| line.below_blank);
    let tail = tail.filter(|at| complete && *at > 3 && lines.len() - at <= 12);
    let ends = [Some(lines.len()), tail];
    for end in ends.into_iter().flatten() {
        for title in 0..=PREAMBLE.min(end.saturating_sub(3)) {
            let rows: Vec<&str> = lines[title..end].iter().map(|it| it.text).collect();
            let rows: Vec<&str> = rows.into_iter().filter(|row| !is_rule(row)).collect();
            if title * 2 > rows.len() {
                break;
            }
            if let Some(gaps) = by_blanks(&rows) {
                return Some(gaps);
            }
        }
    }
    None
}

/// Whether nearly all lines but the first have a number with a date right behind it,
/// `32.2420200618`: these are two columns, which no blank parts, and as one they would be wrong.
/// Decimals that end in days, line after line, are no chance.
pub(super) fn has_glued_dates(lines: &[Line<'_>]) -> bool {
    let rows = lines.get(1..).unwrap_or_default();
    let decimals = |row: &Line<'_>| {
        let mut words = row.text.split_ascii_whitespace();
        words.find_map(decimals_and_day)
    };
    let Some(usual) = rows.iter().find_map(decimals) else {
        return false;
    };
    let alike = rows.iter().filter(|row| decimals(row) == Some(usual));
    alike.count() * 10 >= rows.len() * 9
}

/// How many digits a number has behind its point, if the last eight of several more are a day.
fn decimals_and_day(word: &str) -> Option<usize> {
    let (whole, decimals) = word.trim_start_matches(['-', '+']).split_once('.')?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let place = decimals.len().checked_sub(DAY).filter(|more| *more > 0)?;
    let day = decimals.get(place..)?;
    let number = |from: usize, to: usize| day.get(from..to)?.parse::<u32>().ok();
    let is_day = (1900..2100).contains(&number(0, 4)?)
        && (1..=12).contains(&number(4, 6)?)
        && (1..=31).contains(&number(6, 8)?);
    is_day.then_some(decimals.len())
}

/// A line of several strokes below the header says where columns are.
fn below_a_rule(lines: &[Line<'_>]) -> Option<Vec<Gap>> {
    let mut rules = lines.iter().take(PREAMBLE + 2).map(|line| line.text);
    let at = rules.position(|line| is_rule(line) && runs(line).len() > 1)?;
    let is_only_strokes = |c: char| is_stroke(c) || c == ' ';
    let rule = lines.get(at)?.text;
    // RST draws one above, too.
    let is_above = lines.get(at + 2).is_some_and(|line| line.text == rule);
    let header = if is_above { at + 1 } else { at.checked_sub(1)? };
    if !rule.chars().all(is_only_strokes) || is_rule(lines.get(header)?.text) {
        return None;
    }
    let runs = runs(rule);
    if runs.len() > MOST_COLUMNS {
        return None;
    }
    let gaps = between(&runs);
    let rows: Vec<&str> = lines.get(header..)?.iter().map(|it| it.text).collect();
    let rows: Vec<&str> = rows.into_iter().filter(|row| !is_rule(row)).collect();
    let fitting = rows.iter().filter(|row| fits(row, &gaps)).count();
    (rows.len() > 1 && fitting * 20 >= rows.len() * 19).then_some(gaps)
}

/// Whether a line has a blank in every gap, and more than one column.
fn fits(line: &str, gaps: &[Gap]) -> bool {
    let letters: Vec<char> = line.chars().collect();
    gaps.iter().all(|gap| {
        let end = gap.to.min(letters.len());
        letters
            .get(gap.from..end)
            .is_none_or(|gap| gap.contains(&' '))
    })
}

/// Runs of characters that are no blank in a line.
fn runs(line: &str) -> Vec<(usize, usize)> {
    let used: Vec<bool> = line.chars().map(|c| c != ' ').collect();
    runs_of(&used)
}

fn runs_of(used: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

fn between(runs: &[(usize, usize)]) -> Vec<Gap> {
    let gap = |pair: &[(usize, usize)]| Gap {
        from: pair[0].1,
        to: pair[1].0,
    };
    runs.windows(2).map(gap).collect()
}

/// Gaps that all rows have, if what is between them are columns.
fn by_blanks(rows: &[&str]) -> Option<Vec<Gap>> {
    if rows.len() < 3 {
        return None;
    }
    let letters: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
    let longest = letters.iter().map(Vec::len).max()?;
    let mut used = vec![false; longest];
    for row in &letters {
        for (used, letter) in used.iter_mut().zip(row) {
            *used |= *letter != ' ';
        }
    }
    let runs = runs_of(&used);
    if runs.len() < 2 || runs.len() > MOST_COLUMNS {
        return None;
    }
    let runs = without_chance(&letters, runs);
    (runs.len() > 1 && is_table(&letters, &runs)).then(|| between(&runs))
}

fn cell(row: &[char], run: (usize, usize)) -> String {
    let end = run.1.min(row.len());
    row.get(run.0..end).unwrap_or_default().iter().collect()
}

/// The columns below the header, and the header's names.
fn columns_and_names(letters: &[Vec<char>], runs: &[(usize, usize)]) -> (Vec<Column>, Vec<String>) {
    let cells = |row: &Vec<char>| -> Vec<String> {
        let cells = runs.iter().map(|run| cell(row, *run).trim().to_owned());
        cells.collect()
    };
    let mut rows = letters.iter().map(cells);
    let header = rows.next().unwrap_or_default();
    let rows: Vec<Vec<String>> = rows.collect();
    let rows = rows.iter().map(|row| row.iter().map(String::as_str));
    (columns(runs.len(), rows), header)
}

/// Joins what one blank parts that words of one column may leave by chance.
fn without_chance(letters: &[Vec<char>], runs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let (columns, names) = columns_and_names(letters, &runs);
    let mut joined: Vec<((usize, usize), bool, bool)> = Vec::with_capacity(runs.len());
    for ((run, column), name) in runs.into_iter().zip(columns).zip(names) {
        let (is_typed, is_named) = (column.is_typed(), !name.is_empty());
        match joined.last_mut() {
            Some((last, was_typed, was_named))
                if run.0 - last.1 == 1
                    && !(*was_typed && is_typed)
                    && (letters.len() < MANY
                        || !(*was_typed || is_typed || *was_named && is_named)) =>
            {
                last.1 = run.1;
                *was_typed = false;
                *was_named |= is_named;
            }
            _ => joined.push((run, is_typed, is_named)),
        }
    }
    joined.into_iter().map(|(run, ..)| run).collect()
}

fn is_table(letters: &[Vec<char>], runs: &[(usize, usize)]) -> bool {
    let (columns, names) = columns_and_names(letters, runs);
    let is_evidence = |column: &&Column| column.is_typed() && column.is_filled();
    let typed = columns.iter().filter(is_evidence).count();
    // Names of all columns, and none of those of values is one.
    let is_name = |(name, column): (&String, &Column)| {
        !(name.is_empty() || column.is_typed() && is_value(name) != Some(false))
    };
    let is_named = names.iter().zip(&columns).all(is_name);
    // Contents, with the pages on the right.
    let has_leaders = || {
        letters
            .iter()
            .any(|row| row.windows(4).any(|it| it == ['.'; 4]))
    };
    let is_one = typed >= 2 && typed * 3 >= runs.len() || typed > 0 && is_named;
    let filled = columns.iter().filter(|column| column.is_filled()).count();
    is_one && filled >= 2 && !has_leaders()
}
