//! The shape of codes: which places of a value hold letters, which digits.

use std::fmt;

use crate::data_type::DataType;
use crate::infer;

/// Longer values are no codes.
const LONGEST: usize = 32;
/// Nor are values of more parts.
const MOST_RUNS: usize = 12;
/// Fewer digits alone are numbers as any.
const FEWEST_DIGITS: usize = 4;
/// More capitals alone are a word.
const MOST_CAPITALS: usize = 5;

/// What a character is to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Upper,
    Lower,
    Digit,
    /// Stands for itself: ASCII punctuation, or a space.
    Literal(char),
}

impl Class {
    fn of(letter: char) -> Option<Class> {
        match letter {
            '0'..='9' => Some(Class::Digit),
            _ if letter.is_uppercase() => Some(Class::Upper),
            _ if letter.is_alphabetic() => Some(Class::Lower),
            ' ' => Some(Class::Literal(letter)),
            _ if letter.is_ascii_punctuation() => Some(Class::Literal(letter)),
            _ => None,
        }
    }

    fn letter(self) -> char {
        match self {
            Class::Upper => 'A',
            Class::Lower => 'a',
            Class::Digit => '9',
            Class::Literal(letter) => letter,
        }
    }
}

/// Runs of characters of one class, with their lengths; or those of several values with the same
/// runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    runs: Vec<(Class, Length)>,
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Always(usize),
    Varies,
}

impl Shape {
    /// The shape of a value that may be a code: short, in letters, digits, punctuation and at most
    /// two spaces. None of decimal and of signed numbers, and of words without digits that are not
    /// in capitals.
    pub(super) fn of(value: &str) -> Option<Shape> {
        let value = value.trim_ascii();
        if value.len() > LONGEST || value.bytes().filter(|byte| *byte == b' ').count() > 2 {
            return None;
        }
        if value.starts_with(['+', '-', '.']) || infer::classify(value) == DataType::Float {
            return None;
        }
        let mut runs: Vec<(Class, usize)> = Vec::new();
        for letter in value.chars() {
            let class = Class::of(letter)?;
            match runs.last_mut() {
                Some((last, length)) if *last == class => *length += 1,
                _ => runs.push((class, 1)),
            }
            if runs.len() > MOST_RUNS {
                return None;
            }
        }
        let count = |class| {
            runs.iter()
                .filter(|(is, _)| *is == class)
                .map(|(_, n)| n)
                .sum::<usize>()
        };
        let capitals = count(Class::Upper);
        let is_code = count(Class::Digit) > 0
            || ((1..=MOST_CAPITALS).contains(&capitals) && count(Class::Lower) == 0);
        is_code.then(|| Shape {
            runs: runs
                .into_iter()
                .map(|(class, n)| (class, Length::Always(n)))
                .collect(),
        })
    }

    /// What values of one shape have in common.
    pub(super) fn classes(&self) -> Vec<Class> {
        self.runs.iter().map(|(class, _)| *class).collect()
    }

    /// Takes in another shape with the same classes.
    pub(super) fn widen(&mut self, other: &Shape) {
        for ((_, length), (_, other)) in self.runs.iter_mut().zip(&other.runs) {
            if length != other {
                *length = Length::Varies;
            }
        }
    }

    /// Whether it says more than that these are numbers, or short words.
    pub(super) fn is_specific(&self) -> bool {
        match self.runs.as_slice() {
            [(Class::Digit, Length::Always(n))] => *n >= FEWEST_DIGITS,
            [(Class::Digit | Class::Upper, Length::Varies)] => false,
            _ => true,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, length) in &self.runs {
            match length {
                Length::Always(n) => (0..*n).try_for_each(|_| write!(f, "{}", class.letter()))?,
                Length::Varies => write!(f, "{}+", class.letter())?,
            }
        }
        Ok(())
    }
}
