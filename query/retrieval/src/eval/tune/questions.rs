//! What weights are fitted to: questions with the tables that answer them, from the file of a
//! benchmark and from what people said of tables that a node found for them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::RetrievalError;
use crate::eval::without_place;

/// A line of either file: a question with its tables, or what somebody said of one.
#[derive(Deserialize)]
struct Line {
    question: String,
    #[serde(default)]
    tables: Option<Vec<String>>,
    #[serde(default)]
    table: Option<serde_json::Value>,
    #[serde(default)]
    verdict: Option<serde_json::Value>,
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("{0}")]
    Json(String),
    #[error("the question is empty")]
    Empty,
    #[error("missing field `tables`")]
    WithoutTables,
    #[error("a `verdict` is \"right\" or \"wrong\", and said of one `table`")]
    Verdict,
}

/// What is known of the tables of a question.
#[derive(Debug, Default)]
struct Labels {
    right: BTreeSet<String>,
    wrong: BTreeSet<String>,
    /// Whether no table answers it, by a line of its own.
    none: bool,
}

/// What was read, by the text of the question: a question that comes twice counts once.
#[derive(Debug, Default)]
pub struct TuningQuestions {
    labels: BTreeMap<String, Labels>,
}

/// What takes no part in tuning, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Tables that were said to be right and wrong for the same question, or right for one that no
    /// table answers.
    pub contradicting: usize,
    /// Questions of which no table is known to be right: none answers them, or all that is said of
    /// them are tables that are wrong, or contradicts itself.
    pub without_tables: usize,
    /// Those of them of which a table was said to be right, and wrong or none as well.
    pub all_contradicting: usize,
    /// Questions none of whose tables the index has.
    pub not_in_index: usize,
    /// Questions above the most that are taken.
    pub above_most: usize,
}

/// How a line is written.
const LINE: &str = r#"{"question": TEXT, "tables": [NAME, …]}, or of feedback {"question": TEXT, "table": NAME, "verdict": "right" or "wrong"},"#;

impl TuningQuestions {
    /// Reads a file of questions, as [`read_questions`](crate::eval::read_questions) does, or of
    /// feedback; its lines may be mixed. `file` names it in errors.
    ///
    /// # Errors
    /// The first line that cannot be read, by its number.
    pub fn read(&mut self, text: &str, file: &str) -> Result<(), RetrievalError> {
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() {
                continue;
            }
            self.add(line).map_err(|reason| RetrievalError::Questions {
                file: file.to_owned(),
                line: at + 1,
                reason: reason.to_string(),
                format: LINE,
            })?;
        }
        Ok(())
    }

    /// How many questions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    fn add(&mut self, line: &str) -> Result<(), LineError> {
        let line: Line =
            serde_json::from_str(line).map_err(|error| LineError::Json(without_place(&error)))?;
        let question = line.question.trim();
        if question.is_empty() {
            return Err(LineError::Empty);
        }
        let text = |it: &serde_json::Value| it.as_str().map(str::to_owned);
        let verdict = line.verdict.as_ref().and_then(text);
        let labels = self.labels.entry(question.to_owned()).or_default();
        match (verdict.as_deref(), line.table.as_ref().and_then(text)) {
            (Some("right"), Some(table)) => drop(labels.right.insert(table)),
            (Some("wrong"), Some(table)) => drop(labels.wrong.insert(table)),
            _ if line.verdict.is_some() => return Err(LineError::Verdict),
            _ => match line.tables {
                Some(tables) if tables.is_empty() => labels.none = true,
                Some(tables) => labels.right.extend(tables),
                None => return Err(LineError::WithoutTables),
            },
        }
        Ok(())
    }

    /// The questions with the tables that are right, in the order of their texts.
    pub(super) fn settled(&self) -> (Vec<(&str, Vec<&str>)>, LeftOut) {
        let mut left_out = LeftOut::default();
        let mut settled = Vec::new();
        for (question, labels) in &self.labels {
            let mut contradicting = labels.right.intersection(&labels.wrong).count();
            let right = labels.right.difference(&labels.wrong).map(String::as_str);
            let mut right: Vec<&str> = right.collect();
            if labels.none && !right.is_empty() {
                contradicting += right.len();
                right.clear();
            }
            left_out.contradicting += contradicting;
            match right.is_empty() {
                true => {
                    left_out.without_tables += 1;
                    left_out.all_contradicting += usize::from(contradicting > 0);
                }
                false => settled.push((question.as_str(), right)),
            }
        }
        (settled, left_out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_contradicts_itself_is_left_out_and_counted() {
        let mut questions = TuningQuestions::default();
        let text = "\u{feff}{\"question\": \"a\", \"tables\": [\"x\", \"y\"], \"kind\": \"content\"}\n\n\
            {\"question\": \" a \", \"tables\": [], \"table\": \"x\", \"verdict\": \"wrong\"}\n\
            {\"question\": \"b\", \"tables\": [\"x\"], \"table\": \"x\", \"verdict\": \"right\"}\n\
            {\"question\": \"b\", \"tables\": [], \"table\": \"x\", \"verdict\": \"wrong\"}\n\
            {\"question\": \"c\", \"tables\": [], \"table\": \"x\", \"verdict\": \"wrong\"}\n\
            {\"question\": \"d\", \"tables\": []}\n\
            {\"question\": \"e\", \"table\": \"z\", \"verdict\": \"right\"}\n\
            {\"question\": \"f\", \"tables\": [\"x\", \"y\"]}\n\
            {\"question\": \"f\", \"tables\": []}\n";
        questions.read(text, "q.jsonl").unwrap();
        let (settled, left_out) = questions.settled();
        assert_eq!(settled, [("a", vec!["y"]), ("e", vec!["z"])]);
        let expected = LeftOut {
            contradicting: 4,
            without_tables: 4,
            all_contradicting: 2,
            ..LeftOut::default()
        };
        assert_eq!(left_out, expected);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for (line, reason) in [
            ("{\"question\": \"a\"}", "missing field `tables`"),
            (
                "{\"question\": \"a\", \"tables\": [\"x\"], \"verdict\": \"wrong\"}",
                "said of one `table`",
            ),
            (
                "{\"question\": \"a\", \"tables\": [], \"table\": \"x\", \"verdict\": \"unsure\"}",
                "`verdict` is",
            ),
            (
                "{\"question\": \" \", \"tables\": []}",
                "the question is empty",
            ),
            ("nothing", "expected"),
        ] {
            let mut questions = TuningQuestions::default();
            let text = format!("{{\"question\": \"a\", \"tables\": []}}\n{line}");
            let error = questions.read(&text, "q.jsonl").unwrap_err().to_string();
            assert!(error.starts_with("q.jsonl, line 2: "), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}
