//! Names and values as a program that writes SQL needs them: spelled exactly, each on its line.

use std::fmt::Write;

use limn_store::is_steering;

/// A name as SQL has it. Names that steer a terminal or end a line cannot be written on one.
pub(crate) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name on a line: as [`name`], with a mark for what would end the line or steer a terminal.
pub(crate) fn name_on_a_line(text: &str) -> String {
    let shown = text.chars().map(|c| if breaks(c) { '\u{fffd}' } else { c });
    name(&shown.collect::<String>())
}

/// A value as a literal that SQL reads as exactly this value, on one line: what would end it or
/// steer a terminal is put together by `chr`.
pub fn literal(value: &str) -> String {
    let mut literal = String::with_capacity(value.len() + 2);
    let mut is_open = false;
    let mut is_first = true;
    for c in value.chars() {
        if breaks(c) {
            if is_open {
                literal.push('\'');
                is_open = false;
            }
            // Writing to a text does not fail.
            let _ = match is_first {
                true => write!(literal, "chr({})", c as u32),
                false => write!(literal, " || chr({})", c as u32),
            };
        } else {
            if !is_open {
                literal.push_str(if is_first { "'" } else { " || '" });
                is_open = true;
            }
            literal.push(c);
            if c == '\'' {
                literal.push(c);
            }
        }
        is_first = false;
    }
    match (is_first, is_open) {
        (true, _) => literal.push_str("''"),
        (false, true) => literal.push('\''),
        (false, false) => {}
    }
    literal
}

/// Whether a character ends a line or steers what shows it.
fn breaks(c: char) -> bool {
    is_steering(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literals_are_sql_on_one_line() {
        for (value, written) in [
            ("", "''"),
            ("O'Brien", "'O''Brien'"),
            ("a\nb", "'a' || chr(10) || 'b'"),
            ("\u{202e}x", "chr(8238) || 'x'"),
            ("x\t", "'x' || chr(9)"),
            ("\\", "'\\'"),
        ] {
            assert_eq!(literal(value), written);
        }
        assert_eq!(name_on_a_line("a\"\nb"), "\"a\"\"\u{fffd}b\"");
    }

    /// Reads a literal as SQL does.
    fn read(literal: &str) -> String {
        let mut value = String::new();
        let mut rest = literal;
        while !rest.is_empty() {
            rest = rest.strip_prefix(" || ").unwrap_or(rest);
            if let Some(code) = rest.strip_prefix("chr(") {
                let (code, after) = code.split_once(')').unwrap_or_default();
                value.extend(code.parse().ok().and_then(char::from_u32));
                rest = after;
                continue;
            }
            let mut chars = rest.char_indices().skip(1).peekable();
            let mut end = rest.len();
            while let Some((at, c)) = chars.next() {
                match c {
                    '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                        chars.next();
                        value.push('\'');
                    }
                    '\'' => {
                        end = at + 1;
                        break;
                    }
                    c => value.push(c),
                }
            }
            rest = &rest[end..];
        }
        value
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(value in "[a'\\\\|\\s\\x00-\\x1f\u{202e}é()]{0,20}") {
            let written = literal(&value);
            prop_assert_eq!(read(&written), value);
            prop_assert!(!written.chars().any(breaks));
        }
    }
}
