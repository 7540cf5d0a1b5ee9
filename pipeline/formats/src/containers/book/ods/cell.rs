//! A cell of an OpenDocument sheet: the value that is written beside it, or the text that is shown.

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

use super::{attribute, is};
use crate::Failure;
use crate::containers::book::cells::{number_of, serial};
use crate::containers::book::no_spreadsheet;

/// Bytes of what a cell shows; programs let no cell show more than some ten thousand letters.
const LONGEST: usize = 1 << 20;
/// Spaces in a row that are kept.
const MOST_SPACES: usize = 64;
/// What is shown of formulas without a result.
const ERRORS: [&str; 7] = [
    "#N/A", "#DIV/0!", "#REF!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!",
];

#[derive(Default)]
pub(super) struct Cell {
    pub(super) repeated: u32,
    pub(super) shown: Shown,
    kind: Option<String>,
    value: Option<String>,
    is_formula: bool,
    is_error: bool,
}

impl Cell {
    /// What a cell's element says.
    pub(super) fn of(element: &BytesStart<'_>) -> Result<Cell, Failure> {
        let mut cell = Cell {
            repeated: super::repeats(element, "number-columns-repeated")?,
            ..Cell::default()
        };
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| no_spreadsheet(&error))?;
            let text = || {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                value.map_err(|error| no_spreadsheet(&error))
            };
            let (name, prefix) = attribute.key.decompose();
            match name.into_inner() {
                // LibreOffice's own, which knows errors.
                "value-type" if prefix.is_some_and(|it| it.into_inner() == "calcext") => {
                    cell.is_error = text()? == "error";
                }
                "value-type" => cell.kind = Some(text()?.into_owned()),
                "value" | "date-value" | "time-value" | "boolean-value" | "string-value" => {
                    cell.value = Some(text()?.into_owned());
                }
                "formula" => cell.is_formula = true,
                _ => {}
            }
        }
        Ok(cell)
    }

    /// The cell as a person would write it into a delimited file; empty if there is nothing in it, or an error.
    pub(super) fn text(&self) -> String {
        let shown = self.shown.text.trim();
        let is_error = || ERRORS.contains(&shown) || shown.starts_with("Err:");
        if self.is_error || self.is_formula && is_error() {
            return String::new();
        }
        let Some(value) = &self.value else {
            return self.shown.text.clone();
        };
        match self.kind.as_deref() {
            Some("float" | "currency" | "percentage") => match value.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => number_of(number),
                _ => value.clone(),
            },
            Some("date") => moment(value),
            Some("time") => match days(value) {
                Some(days) if (0.0..1.0).contains(&days) => serial(days, false),
                Some(days) => number_of(days),
                None => value.clone(),
            },
            _ => value.clone(),
        }
    }
}

/// A day (`2024-01-02`), or one with a time (`2024-01-02T12:30:00.000Z`), as other spreadsheets' are written.
fn moment(text: &str) -> String {
    let Some((day, time)) = text.split_once('T') else {
        return text.to_owned();
    };
    let time = time.strip_suffix('Z').unwrap_or(time);
    let time = match time.split_once('.') {
        Some((seconds, share)) if share.bytes().all(|it| it == b'0') => seconds,
        _ => time,
    };
    match time {
        "00:00:00" => day.to_owned(),
        time => format!("{day} {time}"),
    }
}

/// A length of time (`PT12H30M5.5S`) in days; `None` if it has months or years, or is none.
fn days(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let mut rest = text.strip_prefix('P')?;
    let (mut seconds, mut is_time) = (0.0, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (rest, is_time) = (time, true);
            continue;
        }
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let mut after = rest[end..].chars();
        seconds += number
            * match (after.next()?, is_time) {
                ('D', false) => 86400.0,
                ('H', true) => 3600.0,
                ('M', true) => 60.0,
                ('S', true) => 1.0,
                _ => return None,
            };
        rest = after.as_str();
    }
    Some(sign * seconds / 86400.0)
}

/// The text that a cell shows: spaces in a row are one, but those that have elements of their own.
#[derive(Default)]
pub(super) struct Shown {
    text: String,
    paragraphs: u64,
    /// A space here would be one too many.
    after_space: bool,
}

impl Shown {
    /// Whether a cell of any program could show more.
    fn is_full(&self) -> bool {
        self.text.len() > LONGEST
    }

    /// Begins a paragraph.
    pub(super) fn begin(&mut self) {
        if self.paragraphs > 0 && !self.is_full() {
            self.text.push('\n');
        }
        self.paragraphs += 1;
        self.after_space = true;
    }

    /// Whether an element within a paragraph is a part of the text.
    pub(super) fn element(&mut self, element: &BytesStart<'_>) -> Result<bool, Failure> {
        let (name, prefix) = element.name().decompose();
        match name.into_inner() {
            "s" | "tab" | "line-break" if self.is_full() => {}
            "s" => {
                let count = attribute(element, "c")?;
                let count = count.and_then(|it| it.trim().parse().ok()).unwrap_or(1);
                let spaces = std::iter::repeat_n(' ', MOST_SPACES.min(count));
                self.text.extend(spaces);
            }
            "tab" => self.text.push('\t'),
            "line-break" => {
                self.text.push('\n');
                self.after_space = true;
            }
            // Remarks, pictures, and how a word is read aloud.
            "note" | "ruby-text" => return Ok(false),
            _ => {
                return Ok(
                    prefix.is_some_and(|it| it.into_inner() == "text") || is(element, "span")
                );
            }
        }
        Ok(true)
    }

    pub(super) fn push(&mut self, text: &str) {
        if self.is_full() {
            return;
        }
        for letter in text.chars() {
            let is_space = matches!(letter, ' ' | '\t' | '\r' | '\n');
            match is_space {
                true if self.after_space => {}
                true => self.text.push(' '),
                false => self.text.push(letter),
            }
            self.after_space = is_space;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, expected) in [
            ("PT12H00M00S", Some(0.5)),
            ("PT36H", Some(1.5)),
            ("P1DT6H", Some(1.25)),
            ("-PT6H", Some(-0.25)),
            ("PT864.0S", Some(0.01)),
            ("P1Y", None),
            ("P1M", None),
            ("PT1X", None),
            ("PTH", None),
            ("PT1", None),
            ("12:00", None),
        ] {
            assert_eq!(days(text), expected, "{text}");
        }
    }

    #[test]
    fn moments() {
        for (text, expected) in [
            ("2024-01-02", "2024-01-02"),
            ("2024-01-02T00:00:00", "2024-01-02"),
            ("2024-01-02T00:00:00.000Z", "2024-01-02"),
            ("2024-01-02T12:30:00.000Z", "2024-01-02 12:30:00"),
            ("2024-01-02T12:30:00.25", "2024-01-02 12:30:00.25"),
        ] {
            assert_eq!(moment(text), expected);
        }
    }

    #[test]
    fn spaces_are_one_but_those_that_are_meant() {
        let mut shown = Shown::default();
        shown.begin();
        shown.push("  a \n\t b");
        assert_eq!(
            shown
                .element(&BytesStart::from_content("text:s text:c=\"3\"", 6))
                .ok(),
            Some(true)
        );
        let many = BytesStart::from_content("text:s text:c=\"4000000000\"", 6);
        assert_eq!(shown.element(&many).ok(), Some(true));
        shown.begin();
        shown.push(" c");
        let expected = format!("a b{}\nc", " ".repeat(3 + MOST_SPACES));
        assert_eq!(shown.text, expected);
        for (other, is_text) in [
            ("text:a", true),
            ("text:note", false),
            ("draw:frame", false),
        ] {
            let element = BytesStart::from_content(other, other.len());
            assert_eq!(shown.element(&element).ok(), Some(is_text), "{other}");
        }
    }
}
