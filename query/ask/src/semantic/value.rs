//! What a model writes into a column: its type, and whether an answer fits.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray};
use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::{DataType, Date32Type, Field};
use regex::{Regex, RegexBuilder};

use super::error::SemanticError;
use super::kept::Answer;
use super::question::{Form, one_line};
use crate::plan::{ColumnSpec, ValueType};

/// Tokens of a number or a day, and of a text.
const SHORT: usize = 24;
const LONG: usize = 96;
/// Tokens of a text, a number and a day, as a rule.
const LIKELY_TEXT: usize = 3;
const LIKELY_NUMBER: usize = 5;
const LIKELY_DAY: usize = 10;
/// Words among which a model chooses at once, at most; more are written.
const CHOICES: usize = 16;
/// Bytes of a compiled pattern, at most.
const PATTERN: usize = 1 << 20;
/// Texts that a prompt lists, at most, in characters.
const LISTED: usize = 4_000;

/// Answers that say that there is none.
const NOTHING: [&str; 8] = [
    "unknown",
    "n/a",
    "na",
    "none",
    "null",
    "not known",
    "not available",
    "i don't know",
];

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date(i32),
}

/// What a column may hold.
#[derive(Debug)]
pub(super) struct Shape {
    spec: ColumnSpec,
    pattern: Option<Regex>,
}

impl Shape {
    /// # Errors
    /// The pattern is no regular expression.
    pub(super) fn new(spec: &ColumnSpec) -> Result<Shape, SemanticError> {
        let pattern = spec.pattern.as_ref().map(|pattern| {
            let whole = RegexBuilder::new(&format!("^(?:{pattern})$"));
            let mut whole = whole;
            whole
                .size_limit(PATTERN)
                .build()
                .map_err(|error| SemanticError::Pattern {
                    column: spec.name.clone(),
                    cause: error.to_string().replace('\n', " "),
                })
        });
        Ok(Shape {
            spec: spec.clone(),
            pattern: pattern.transpose()?,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(super) fn field(&self) -> Field {
        Field::new(&self.spec.name, self.data_type(), true)
    }

    fn data_type(&self) -> DataType {
        match self.spec.value_type {
            ValueType::Text => DataType::Utf8,
            ValueType::Integer => DataType::Int64,
            ValueType::Float => DataType::Float64,
            ValueType::Boolean => DataType::Boolean,
            ValueType::Date => DataType::Date32,
        }
    }

    /// What it holds, in words, for the model and for people.
    pub(super) fn wanted(&self) -> String {
        let mut wanted = match self.spec.value_type {
            _ if !self.spec.one_of.is_empty() => {
                format!("one of: {}", one_line(&self.spec.one_of.join(", "), LISTED))
            }
            ValueType::Text => "a short text".to_owned(),
            ValueType::Integer => "a whole number in digits".to_owned(),
            ValueType::Float => "a number in digits".to_owned(),
            ValueType::Boolean => "yes or no".to_owned(),
            ValueType::Date => "a day as YYYY-MM-DD".to_owned(),
        };
        if let Some(pattern) = &self.spec.pattern {
            let pattern = one_line(pattern, LISTED);
            wanted.push_str(&format!(" that matches the regular expression {pattern}"));
        }
        wanted
    }

    /// How the model answers, of which `tokens` are those of a text: it chooses where it can.
    pub(super) fn form(&self, tokens: impl Fn(&str) -> usize) -> Form {
        match self.spec.value_type {
            ValueType::Boolean if self.spec.one_of.is_empty() && self.pattern.is_none() => {
                Form::words(["yes", "no"])
            }
            ValueType::Text if self.pattern.is_none() && is_choice(&self.spec.one_of) => {
                let words = self.spec.one_of.iter().map(|it| it.to_lowercase());
                Form::Choose(words.collect())
            }
            _ => Form::line(self.tokens(), self.likely(tokens)),
        }
    }

    /// Tokens of an answer, at most.
    pub(super) fn tokens(&self) -> usize {
        match self.spec.value_type {
            ValueType::Text => LONG,
            _ => SHORT,
        }
    }

    /// Tokens of an answer as a rule: of texts that are listed the mean, of others what was
    /// measured (decision 58).
    pub(super) fn likely(&self, tokens: impl Fn(&str) -> usize) -> usize {
        let listed = &self.spec.one_of;
        if !listed.is_empty() {
            let all: usize = listed.iter().map(|it| tokens(it)).sum();
            return all.div_ceil(listed.len());
        }
        match self.spec.value_type {
            ValueType::Text => LIKELY_TEXT,
            ValueType::Integer | ValueType::Float => LIKELY_NUMBER,
            ValueType::Boolean => 1,
            ValueType::Date => LIKELY_DAY,
        }
    }

    /// The value of an answer, and how sure the model is; `None` if it does not fit.
    pub(super) fn of_answer(&self, answer: &Answer) -> Option<(Value, Option<f32>)> {
        match answer {
            Answer::Written { text, is_whole } => {
                let line = text.lines().find(|line| !line.trim().is_empty())?;
                let is_whole = *is_whole || text.trim_start().contains('\n');
                self.of_line(line, is_whole).map(|value| (value, None))
            }
            Answer::Chosen { word, .. } => {
                let sure = answer.probability(*word);
                let value = match self.spec.value_type {
                    ValueType::Boolean => Value::Boolean(*word == 0),
                    _ => Value::Text(self.spec.one_of.get(*word)?.clone()),
                };
                Some((value, sure))
            }
        }
    }

    /// The value that a line of an answer says.
    pub(super) fn of_line(&self, line: &str, is_whole: bool) -> Option<Value> {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let mut text = bare(&line);
        let name = &self.spec.name;
        if let Some((before, after)) = text.split_once(':')
            && before.trim().eq_ignore_ascii_case(name)
        {
            text = bare(after);
        }
        let is_free =
            self.spec.value_type == ValueType::Text && self.is_any() && self.pattern.is_none();
        if text.is_empty() || !(is_whole || is_free) {
            return None;
        }
        let says_nothing = NOTHING.contains(&normal(text).as_str());
        if says_nothing && !self.spec.one_of.iter().any(|it| normal(it) == normal(text)) {
            return None;
        }
        if is_free && !is_whole {
            return Some(Value::Text(format!("{text}…")));
        }
        self.of_text(text)
    }

    /// The value of a text that a person or a model wrote.
    pub(super) fn of_text(&self, text: &str) -> Option<Value> {
        let text = match self.is_any() {
            true => text,
            false => {
                let wanted = normal(text);
                self.spec.one_of.iter().find(|it| normal(it) == wanted)?
            }
        };
        if self.pattern.as_ref().is_some_and(|it| !it.is_match(text)) {
            return None;
        }
        match self.spec.value_type {
            ValueType::Text => Some(Value::Text(text.to_owned())),
            ValueType::Integer => integer(text).map(Value::Integer),
            ValueType::Float => float(text).map(Value::Float),
            ValueType::Boolean => boolean(text).map(Value::Boolean),
            ValueType::Date => date(text).map(Value::Date),
        }
    }

    /// Whether no texts are listed that it may hold.
    pub(super) fn is_any(&self) -> bool {
        self.spec.one_of.is_empty()
    }

    /// The values as a column.
    pub(super) fn array(&self, values: &[Option<Value>]) -> ArrayRef {
        let values = values.iter();
        match self.spec.value_type {
            ValueType::Text => Arc::new(StringArray::from_iter(values.map(|it| match it {
                Some(Value::Text(text)) => Some(text.as_str()),
                _ => None,
            }))),
            ValueType::Integer => Arc::new(Int64Array::from_iter(values.map(|it| match it {
                Some(Value::Integer(number)) => Some(*number),
                _ => None,
            }))),
            ValueType::Float => Arc::new(Float64Array::from_iter(values.map(|it| match it {
                Some(Value::Float(number)) => Some(*number),
                _ => None,
            }))),
            ValueType::Boolean => Arc::new(BooleanArray::from_iter(values.map(|it| match it {
                Some(Value::Boolean(yes)) => Some(*yes),
                _ => None,
            }))),
            ValueType::Date => Arc::new(Date32Array::from_iter(values.map(|it| match it {
                Some(Value::Date(days)) => Some(*days),
                _ => None,
            }))),
        }
    }
}

/// Whether a model can choose among these texts by their first word: it tells them apart by how an
/// answer begins, in small letters or with a capital.
fn is_choice(texts: &[String]) -> bool {
    let is_word = |text: &String| {
        let mut letters = text.bytes();
        text.len() <= 32
            && letters.next().is_some_and(|it| it.is_ascii_alphabetic())
            && letters.all(|it| it.is_ascii_lowercase())
    };
    let small: Vec<String> = texts.iter().map(|it| it.to_lowercase()).collect();
    let begins_another = |text: &String| small.iter().filter(|it| it.starts_with(text)).count() > 1;
    (2..=CHOICES).contains(&texts.len())
        && texts.iter().all(is_word)
        && !small.iter().any(begins_another)
}

/// A text without what models put around an answer.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*' | '“' | '”')
    })
}

/// A text as far as it matters for whether two are the same.
fn normal(text: &str) -> String {
    let text = text.trim_end_matches(['.', '!']).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number's digits: without thousands' commas and a full stop at the end.
fn digits(text: &str) -> Option<String> {
    let text = text.trim_end_matches('.');
    let mut parts = text.split(',');
    let first = parts.next()?.trim_start_matches(['+', '-']);
    let whole_groups = parts.clone().count();
    let are_groups = parts.enumerate().all(|(at, part)| {
        let part = match part.split_once('.') {
            Some((before, _)) if at + 1 == whole_groups => before,
            _ => part,
        };
        part.len() == 3 && part.bytes().all(|it| it.is_ascii_digit())
    });
    let begins = whole_groups == 0 || (1..=3).contains(&first.len());
    (are_groups && begins).then(|| text.replace(',', ""))
}

fn integer(text: &str) -> Option<i64> {
    digits(text)?.parse().ok()
}

fn float(text: &str) -> Option<f64> {
    let digits = digits(text)?;
    let is_number = digits.bytes().any(|it| it.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|it: &f64| is_number && it.is_finite())
}

fn boolean(text: &str) -> Option<bool> {
    match normal(text).as_str() {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

fn date(text: &str) -> Option<i32> {
    let text = text.trim_end_matches('.');
    let is_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, it)| match at {
            4 | 7 => it == b'-',
            _ => it.is_ascii_digit(),
        });
    is_form.then(|| Date32Type::parse(text)).flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shape(json: serde_json::Value) -> Shape {
        Shape::new(&serde_json::from_value(json).unwrap()).unwrap()
    }

    #[test]
    fn answers_are_parsed_by_the_type_of_the_column() {
        let of = |kind: &str, text: &str| {
            let shape = shape(serde_json::json!({"name": "n", "type": kind}));
            shape.of_line(text, true)
        };
        assert_eq!(of("integer", " 1,234 "), Some(Value::Integer(1234)));
        assert_eq!(of("integer", "**N: -7.**"), Some(Value::Integer(-7)));
        assert_eq!(of("integer", "1,23"), None);
        assert_eq!(of("integer", "about 7"), None);
        assert_eq!(of("float", "1,234.5"), Some(Value::Float(1234.5)));
        assert_eq!(of("float", "inf"), None);
        assert_eq!(of("boolean", "Yes."), Some(Value::Boolean(true)));
        assert_eq!(of("date", "1970-01-03"), Some(Value::Date(2)));
        assert_eq!(of("date", "1970-13-03"), None);
        assert_eq!(of("text", "\"Paris\""), Some(Value::Text("Paris".into())));
        assert_eq!(of("text", "Unknown."), None);
    }

    #[test]
    fn an_answer_is_one_of_the_texts_or_none() {
        let some = shape(serde_json::json!({"name": "n", "one_of": ["North America", "unknown"]}));
        let letters = |text: &str| text.chars().count();
        assert_eq!(some.form(letters), Form::line(LONG, 10));
        assert_eq!(
            some.of_line("north  america.", true),
            Some(Value::Text("North America".into()))
        );
        assert_eq!(
            some.of_line("unknown", true),
            Some(Value::Text("unknown".into()))
        );
        assert_eq!(some.of_line("South America", true), None);
        let words = shape(serde_json::json!({"name": "n", "one_of": ["good", "bad"]}));
        assert_eq!(
            words.form(letters),
            Form::Choose(vec!["good".into(), "bad".into()])
        );
        // With a capital they are chosen, too, and stay as they are written.
        let capital = shape(serde_json::json!({"name": "n", "one_of": ["Good", "Bad"]}));
        assert_eq!(capital.form(letters), words.form(letters));
        let chosen = Answer::Chosen {
            word: 1,
            log_probabilities: None,
        };
        let bad = Value::Text("Bad".into());
        assert_eq!(capital.of_answer(&chosen), Some((bad, None)));
        for alike in [["in", "Inside"], ["UK", "USA"], ["Good", "good"]] {
            let alike = shape(serde_json::json!({"name": "n", "one_of": alike}));
            assert!(matches!(
                alike.form(letters),
                Form::Write {
                    max_tokens: LONG,
                    ..
                }
            ));
        }
    }

    #[test]
    fn a_pattern_matches_from_end_to_end_and_a_wrong_one_is_an_error() {
        let code = shape(serde_json::json!({"name": "n", "pattern": "[A-Z]{2}|x"}));
        assert_eq!(code.of_line("DE", true), Some(Value::Text("DE".into())));
        assert_eq!(code.of_line("DEU", true), None);
        // What was cut might have gone on.
        assert_eq!(code.of_line("DE", false), None);
        let spec = serde_json::from_value(serde_json::json!({"name": "n", "pattern": "("}));
        let wrong = Shape::new(&spec.unwrap());
        assert!(matches!(wrong, Err(SemanticError::Pattern { .. })));
    }
}
