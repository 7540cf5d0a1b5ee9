//! What the binary spreadsheet formats have in common: strings, formats of numbers, packed numbers.

use super::cells::{number_of, serial};
use super::damaged;
use crate::Failure;

/// A file's strings, one after another: many are short, and each on its own would take more than its letters.
pub(super) struct Strings {
    text: String,
    ends: Vec<usize>,
    most: u64,
}

impl Strings {
    /// Strings that take at most `most` bytes.
    pub(super) fn of_at_most(most: u64) -> Strings {
        Strings {
            text: String::new(),
            ends: Vec::new(),
            most,
        }
    }

    /// # Errors
    /// They are too long together.
    pub(super) fn push(&mut self, text: &str) -> Result<(), Failure> {
        let taken = (self.text.len() + text.len()) as u64 + 8 * (self.ends.len() as u64 + 1);
        if taken > self.most {
            return Err(super::super::too_long(taken, self.most));
        }
        self.text.push_str(text);
        self.ends.push(self.text.len());
        Ok(())
    }

    /// # Errors
    /// There is none of this number.
    pub(super) fn get(&self, index: u32) -> Result<&str, Failure> {
        let index = index as usize;
        let start = match index {
            0 => Some(0),
            _ => self.ends.get(index - 1).copied(),
        };
        let range = start.and_then(|start| Some(start..*self.ends.get(index)?));
        let text = range.and_then(|range| self.text.get(range));
        text.ok_or_else(|| damaged("cells name texts that are not there"))
    }
}

/// What a number in a cell is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Number,
    /// A date, a time of day, or both.
    Time,
}

impl Shown {
    /// By the number of a format that files do not write down (ECMA-376, part 1, 18.8.30).
    pub(super) fn of_number(format: u16) -> Shown {
        match format {
            14..=22 | 27..=36 | 45 | 47 | 50..=58 => Shown::Time,
            _ => Shown::Number,
        }
    }

    /// By a format as it is written: a time has a letter of `d`, `m`, `y`, `h` or `s` in its first section, which
    /// is no literal. Hours beyond a day (`[h]:mm`) are a number of days.
    pub(super) fn of_code(code: &str) -> Shown {
        let mut letters = code.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ';' => break,
                '\\' | '_' | '*' => {
                    letters.next();
                }
                '"' => while letters.next().is_some_and(|it| it != '"') {},
                '[' => {
                    let within: String = letters.by_ref().take_while(|it| *it != ']').collect();
                    let is_elapsed = |unit: char| {
                        !within.is_empty()
                            && within.chars().all(|it| it.eq_ignore_ascii_case(&unit))
                    };
                    if ['h', 'm', 's'].into_iter().any(is_elapsed) {
                        return Shown::Number;
                    }
                }
                'd' | 'm' | 'y' | 'h' | 's' | 'D' | 'M' | 'Y' | 'H' | 'S' => return Shown::Time,
                _ => {}
            }
        }
        Shown::Number
    }
}

/// How a file's cells are shown, by the number of their style.
#[derive(Default)]
pub(super) struct Styles {
    pub(super) shown: Vec<Shown>,
    pub(super) is_1904: bool,
}

impl Styles {
    /// A number as text.
    pub(super) fn text(&self, style: u32, number: f64) -> String {
        let shown = usize::try_from(style)
            .ok()
            .and_then(|it| self.shown.get(it));
        match shown {
            Some(Shown::Time) => serial(number, self.is_1904),
            Some(Shown::Number) | None => number_of(number),
        }
    }
}

/// A number of 30 bits and two flags (MS-XLS 2.5.217).
pub(super) fn packed_number(packed: u32) -> f64 {
    let number = match packed & 2 {
        0 => f64::from_bits(u64::from(packed & !3) << 32),
        _ => f64::from(packed.cast_signed() >> 2),
    };
    match packed & 1 {
        0 => number,
        _ => number / 100.0,
    }
}

/// Fields of a record, from its front.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// # Errors
    /// The record is shorter.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Failure> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// # Errors
    /// The record is shorter.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// # Errors
    /// The record is shorter.
    pub(super) fn byte(&mut self) -> Result<u8, Failure> {
        Ok(self.array::<1>()?[0])
    }

    /// # Errors
    /// The record is shorter.
    pub(super) fn short(&mut self) -> Result<u16, Failure> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// # Errors
    /// The record is shorter.
    pub(super) fn long(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// # Errors
    /// The record is shorter.
    pub(super) fn float(&mut self) -> Result<f64, Failure> {
        Ok(f64::from_le_bytes(self.array()?))
    }
}

/// A record that ends before its fields do.
pub(super) fn short() -> Failure {
    damaged("records are shorter than what they hold")
}

/// Letters of two bytes each.
pub(super) fn wide(bytes: &[u8]) -> String {
    let letters = bytes.as_chunks::<2>().0.iter();
    let letters: Vec<u16> = letters.map(|it| u16::from_le_bytes(*it)).collect();
    String::from_utf16_lossy(&letters)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_told_by_their_format() {
        for code in [
            "yyyy-mm-dd",
            "[$-409]D/M/YY",
            "h:mm AM/PM",
            "m\"M\"",
            "[Red]*-dd.mm.",
        ] {
            assert_eq!(Shown::of_code(code), Shown::Time, "{code}");
        }
        let others = [
            "General",
            "0.00E+00",
            "[h]:mm:ss",
            "[SS]",
            "0\" days\"",
            "#,##0\\d",
            "[Magenta]0;dd",
            "0*y",
            "_m0",
            "@",
            "[",
            "\"",
            "\\",
        ];
        for code in others {
            assert_eq!(Shown::of_code(code), Shown::Number, "{code}");
        }
    }

    #[test]
    fn packed_numbers() {
        assert_eq!(packed_number(7 << 2 | 2), 7.0);
        assert_eq!(packed_number((-7i32 << 2).cast_unsigned() | 3), -0.07);
        assert_eq!(packed_number((2.5f64.to_bits() >> 32) as u32), 2.5);
    }

    #[test]
    fn strings_are_found_and_bounded() {
        let mut strings = Strings::of_at_most(30);
        strings.push("a").unwrap();
        strings.push("").unwrap();
        strings.push("bc").unwrap();
        assert_eq!(strings.get(0).unwrap(), "a");
        assert_eq!(strings.get(1).unwrap(), "");
        assert_eq!(strings.get(2).unwrap(), "bc");
        assert!(strings.get(3).is_err() && strings.get(u32::MAX).is_err());
        assert!(strings.push("d").is_err());
    }
}
