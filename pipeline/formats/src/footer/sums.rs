//! A last row that has no name: it is a total if its figures are the sums of their columns.

use csv::ByteRecord;

use crate::dialect::Dialect;
use crate::rows::Rows;

/// Of fewer rows a sum says little.
const FEWEST: u64 = 3;

/// What a file that is here as a whole says of its sums.
#[derive(Clone, Copy)]
pub(in super::super) struct Above {
    /// Rows of the text above the first row of data.
    pub(in super::super) skip: usize,
}

/// A number as it is written, and how many digits it has behind the decimal mark.
struct Figure {
    value: f64,
    decimals: i32,
}

/// The number that a cell is, where `decimal` is the decimal mark: with marks between groups, a
/// sign in front or behind, parentheses for less than zero, and a currency.
fn figure(cell: &str, decimal: char) -> Option<Figure> {
    let cell = cell.trim();
    let letters = cell.chars().filter(|it| it.is_alphabetic()).count();
    let is_currency = |c: char| c.is_alphabetic() || c.is_whitespace() || "$€£¥₹₽%".contains(c);
    let inside = cell.trim_matches(is_currency);
    let in_parentheses = inside.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let is_sign = |c: char| matches!(c, '-' | '−' | '+');
    let unsigned = in_parentheses.unwrap_or(inside);
    let number = unsigned.trim_matches(|c| is_sign(c) || is_currency(c));
    let is_negative = in_parentheses.is_some()
        || unsigned.starts_with(['-', '−'])
        || unsigned.ends_with(['-', '−']);
    let mut digits = String::with_capacity(number.len());
    let (mut decimals, mut is_behind) = (0, false);
    for c in number.chars() {
        match c {
            '0'..='9' => {
                digits.push(c);
                decimals += i32::from(is_behind);
            }
            _ if c == decimal && !is_behind => {
                digits.push('.');
                is_behind = true;
            }
            '.' | ',' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' if !is_behind && c != decimal => {
            }
            _ => return None,
        }
    }
    let value: f64 = digits.parse().ok().filter(|_| letters <= 3)?;
    Some(Figure {
        value: if is_negative { -value } else { value },
        decimals,
    })
}

/// Whether cells are numbers, in whatever notation.
pub(super) fn are_figures<'a>(mut cells: impl Iterator<Item = &'a str>) -> bool {
    cells.all(|cell| figure(cell, '.').is_some() || figure(cell, ',').is_some())
}

/// Whether the figures of a row, each with its column, are the sums of what stands above it in
/// `text`.
pub(super) fn are_sums(
    figures: &[(usize, &str)],
    (dialect, above): (&Dialect, Above),
    text: &[u8],
) -> bool {
    let is_sum = |decimal| {
        let wanted = figures
            .iter()
            .map(|(at, cell)| Some((*at, figure(cell, decimal)?)));
        let wanted: Option<Vec<(usize, Figure)>> = wanted.collect();
        wanted.is_some_and(|wanted| adds_up(&wanted, decimal, (dialect, above), text))
    };
    is_sum('.') || is_sum(',')
}

fn adds_up(
    wanted: &[(usize, Figure)],
    decimal: char,
    (dialect, above): (&Dialect, Above),
    text: &[u8],
) -> bool {
    // Of each: the sum, the sum of what it is made of without signs, and how many are not zero.
    let mut sums = vec![(0.0, 0.0, 0u64); wanted.len()];
    let mut reader = Rows::new(*dialect, text, true);
    let mut row = ByteRecord::new();
    let mut skip = above.skip;
    while reader.read(&mut row) {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        for ((at, _), (sum, size, count)) in wanted.iter().zip(&mut sums) {
            let cell = std::str::from_utf8(row.get(*at).unwrap_or_default());
            if let Some(found) = cell.ok().and_then(|cell| figure(cell, decimal)) {
                *sum += found.value;
                *size += found.value.abs();
                *count += u64::from(found.value != 0.0);
            }
        }
    }
    let mut pairs = wanted.iter().zip(&sums);
    let is_any = sums.iter().any(|(.., count)| *count >= FEWEST);
    is_any
        && pairs.all(|((_, figure), (sum, size, _))| {
            let within = 0.5 * 10f64.powi(-figure.decimals) + 1e-12 * size;
            (sum - figure.value).abs() <= within
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::dialect::Quoting;

    #[test]
    fn figures_are_read_in_their_notation() {
        for (cell, decimal, value) in [
            ("1,234.50", '.', 1234.5),
            ("1.234,50 €", ',', 1234.5),
            ("EUR 12", '.', 12.0),
            ("(3.5)", '.', -3.5),
            ("7,5-", ',', -7.5),
            ("−2", '.', -2.0),
            ("1 234", '.', 1234.0),
        ] {
            assert_eq!(figure(cell, decimal).unwrap().value, value, "{cell}");
        }
        for cell in [
            "",
            "x",
            "2024-01-02",
            "12 apples",
            "1.2.3.",
            "--",
            "AB-12-3",
            "10:30",
        ] {
            assert!(figure(cell, '.').is_none(), "{cell}");
        }
    }

    #[test]
    fn sums_are_those_of_all_rows_below_the_header() {
        let dialect = Dialect {
            delimiter: b';',
            quoting: Quoting::Doubled,
        };
        let text = "id;2020;x\na;1.000,5;3\nb;2,25;\nc;-1;4\n";
        let are = |figures: &[(usize, &str)], skip| {
            are_sums(figures, (&dialect, Above { skip }), text.as_bytes())
        };
        assert!(are(&[(1, "1.001,75"), (2, "7")], 1));
        assert!(are(&[(1, "1002")], 1));
        for (figures, skip) in [
            (&[(1, "1.001,76")][..], 1),
            (&[(1, "1.001,75"), (2, "8")], 1),
            (&[(1, "1.001,75")], 0),
            // Too few.
            (&[(2, "7")], 1),
        ] {
            assert!(!are(figures, skip), "{figures:?} {skip}");
        }
    }
}
