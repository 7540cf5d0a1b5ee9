//! One line of JSON to one row without a parser, where it is as plain as most are: an object of
//! whole and decimal numbers, truth values, nulls, and strings without escapes. Its cells are parts
//! of the line, none is copied.
//!
//! Whatever else there is in a line, an error too, is for [`super::row`] to report. Both yield the
//! same row.

use std::ops::Range;

use limn_profile::DataType;
use limn_profile::infer::is_null;

use super::columns::Columns;
use crate::MAX_COLUMNS;

/// So many digits fit a float, and are its shortest text.
const DIGITS: usize = 15;

/// Reads a line as the row that `columns` are ready for. `None`: it is not plain, and the row is to
/// begin anew.
pub(super) fn read(columns: &mut Columns, line: &str) -> Option<()> {
    let has_own_nulls = columns.has_own_nulls();
    let mut rest = Rest {
        line,
        at: 0,
        has_own_nulls,
    };
    rest.skip(b'{')?;
    if rest.next()? == b'}' {
        rest.at += 1;
    } else {
        loop {
            let key = rest.string()?;
            let column = columns.column(line.get(key)?, None)?;
            if column >= MAX_COLUMNS {
                return None;
            }
            rest.skip(b':')?;
            let (data_type, part) = rest.value()?;
            columns.cell(column, data_type, part);
            match rest.next()? {
                b',' => rest.at += 1,
                b'}' => break,
                _ => return None,
            }
            rest.next()?;
        }
        rest.at += 1;
    }
    (rest.at == line.len()).then_some(())
}

/// What is left of a line.
struct Rest<'a> {
    line: &'a str,
    at: usize,
    /// Whether limn's own signs stand for missing values.
    has_own_nulls: bool,
}

impl Rest<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        while matches!(self.peek()?, b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
        self.peek()
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// What is between the quotes of a string.
    fn string(&mut self) -> Option<Range<usize>> {
        self.skip(b'"')?;
        let start = self.at;
        let bytes = self.line.as_bytes().get(start..)?;
        let length = bytes
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
        self.at += length;
        let is_closed = self.peek()? == b'"';
        self.at += 1;
        is_closed.then_some(start..start + length)
    }

    fn value(&mut self) -> Option<(DataType, Option<Range<usize>>)> {
        match self.next()? {
            b'"' => {
                let Range { start, end } = self.string()?;
                let text = self.line.get(start..end)?.trim_ascii_start();
                let start = end - text.len();
                let text = text.trim_ascii_end();
                let is_null = match self.has_own_nulls {
                    true => is_null(text),
                    false => text.is_empty(),
                };
                Some(if is_null {
                    (DataType::Unknown, None)
                } else {
                    (DataType::Text, Some(start..start + text.len()))
                })
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true", DataType::Boolean),
            b'f' => self.word("false", DataType::Boolean),
            b'n' => {
                self.word("null", DataType::Unknown)?;
                Some((DataType::Unknown, None))
            }
            _ => None,
        }
    }

    fn word(
        &mut self,
        word: &str,
        data_type: DataType,
    ) -> Option<(DataType, Option<Range<usize>>)> {
        let start = self.at;
        self.line.get(start..)?.strip_prefix(word)?;
        self.at += word.len();
        Some((data_type, Some(start..self.at)))
    }

    /// A number whose text is that of its value, but for zeros behind a fraction.
    fn number(&mut self) -> Option<(DataType, Option<Range<usize>>)> {
        let start = self.at;
        self.at += usize::from(self.peek()? == b'-');
        let from = self.at;
        let whole = self.digits();
        let leads = self.line.as_bytes().get(from)? == &b'0';
        if whole == 0 || whole > DIGITS || (leads && whole > 1) {
            return None;
        }
        if self.peek() != Some(b'.') {
            // `-0` is no whole number to the parser.
            let is_other = matches!(self.peek(), Some(b'e' | b'E')) || (leads && from > start);
            return (!is_other).then_some((DataType::Integer, Some(start..self.at)));
        }
        self.at += 1;
        let point = self.at;
        let behind = self.digits();
        if behind == 0 || whole + behind > DIGITS || matches!(self.peek(), Some(b'e' | b'E')) {
            return None;
        }
        let fraction = self.line.as_bytes().get(point..self.at)?;
        let last = fraction.iter().rposition(|digit| *digit != b'0');
        // Very small ones are written with an exponent.
        if leads && last.is_some() && fraction.starts_with(b"000") {
            return None;
        }
        let end = point + last.unwrap_or(0) + 1;
        Some((DataType::Float, Some(start..end)))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::super::row::RowSeed;
    use super::*;
    use crate::ReadOptions;

    /// What becomes of lines, read by the parser alone or as plain ones first, and how many were
    /// plain.
    fn all(lines: &[String], plain: bool) -> (String, u64) {
        let (mut columns, mut were) = (Columns::new("x", &ReadOptions::default()), 0);
        for line in lines {
            columns.begin();
            let row = columns.rows();
            if plain && read(&mut columns, line).is_some() {
                columns.commit_parts(row, line);
                were += 1;
                continue;
            }
            let mut deserializer = serde_json::Deserializer::from_str(line);
            let parsed = RowSeed(&mut columns).read(&mut deserializer);
            if parsed.and_then(|()| deserializer.end()).is_ok() {
                columns.commit(row);
            }
        }
        (format!("{:?}", columns.finish(true)), were)
    }

    #[test]
    fn plain_lines_are_recognised() {
        for (line, is_plain) in [
            (r#"{"a": 1, "b":"x","c": true ,"d":null}"#, true),
            (r#"{"a":-1.50,"b":0.0,"c":-0.0,"d":0.001,"é":"é"}"#, true),
            ("{}", true),
            (r#"{"a":" NA "}"#, true),
            (r#"{"a":-0}"#, false),
            (r#"{"a":01}"#, false),
            (r#"{"a":1e3}"#, false),
            (r#"{"a":0.0001}"#, false),
            (r#"{"a":"x\n"}"#, false),
            ("{\"a\":\"\t\"}", false),
            (r#"{"a":[1]}"#, false),
            (r#"{"a":{}}"#, false),
            (r#"{"a":1,}"#, false),
            (r#"{"a":1} x"#, false),
            (r#"{"a":1"#, false),
            (r#"{"a":truer}"#, false),
            (r#"["a"]"#, false),
        ] {
            let mut columns = Columns::new("x", &ReadOptions::default());
            assert_eq!(read(&mut columns, line).is_some(), is_plain, "{line}");
            let lines = [line.to_owned()];
            assert_eq!(all(&lines, true).0, all(&lines, false).0, "{line}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_parser(
            lines in proptest::collection::vec(
                r#"\{("[ab]" ?: ?("[ a5\\n-]{0,3}"|"2024-0[1-9]-01"|-?[0-9]{1,3}(\.[0-9]{1,4}0{0,2})?|-?[0-9]{14,19}|0\.[0-9]{1,16}|5|true|null|-?[1-9]e[0-9]|\{"c":1\})(, ?|)){0,4}"z":[0-9]{1,3}\}"#,
                1..40,
            )
        ) {
            prop_assert_eq!(all(&lines, true).0, all(&lines, false).0);
        }
    }
}
