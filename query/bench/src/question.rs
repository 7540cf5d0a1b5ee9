//! A question as a line of a file that `limn eval` reads, and what a run has left there.

use std::collections::HashMap;

use limn_segment::REGISTERED;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A question, with the tables that answer it and how it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// In English.
    pub question: String,
    /// The names of all tables that answer it, in order.
    pub tables: Vec<String>,
    /// What a table is asked for.
    pub kind: Kind,
    /// Which template it is of.
    pub template: String,
    /// The statement that it is, of the table that it was drawn from; none of a context question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// The context that answers it; none of a content question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// That table.
    pub table: String,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Which visit to a table it is of, from 0.
    pub round: usize,
    /// Which statement of that visit, from 0.
    pub statement: usize,
}

/// What answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The rows of a table.
    Content,
    /// What the index has recorded about a table.
    Context,
    /// What a model has invented about a table, which no index holds.
    InventedContext,
}

/// The context that answers a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Context {
    /// A model's answer to a question of the datasheet.
    Invented {
        /// The question's short name.
        datasheet: String,
        /// The answer.
        text: String,
    },
    /// A passage that the index has: its text stays there.
    Recorded {
        /// Where it is from.
        source: String,
        /// Which passage, from 0.
        passage: usize,
    },
}

/// Which kinds of questions are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kinds {
    /// Content questions.
    #[default]
    Content,
    /// Questions about contexts.
    Context,
    /// As many of these as of those.
    Both,
}

impl Kinds {
    /// How many content questions, and how many about contexts, there are among so many.
    pub(crate) fn shares(self, questions: usize) -> [usize; 2] {
        match self {
            Kinds::Content => [questions, 0],
            Kinds::Context => [0, questions],
            Kinds::Both => [questions.div_ceil(2), questions / 2],
        }
    }

    fn are_content(&self) -> bool {
        *self == Kinds::Content
    }
}

impl Kind {
    /// Its place in [`Kinds::shares`].
    pub(crate) fn place(self) -> usize {
        usize::from(self != Kind::Content)
    }
}

/// What puts statements in English.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Templates: easier than people's questions.
    Template,
    /// A language model, whose questions are checked by their way back.
    Model,
}

/// What decides the questions of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// What puts statements in English.
    pub mode: Mode,
    /// What the draws begin with.
    pub seed: u64,
    /// The number of the index's snapshot.
    pub snapshot: u64,
    /// The snapshot's writer: other indexes have the same numbers.
    pub writer: String,
    /// The path that the tables lie below, which statements are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The language model, where one puts statements in English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which kinds of questions are made.
    #[serde(default, skip_serializing_if = "Kinds::are_content")]
    pub kinds: Kinds,
}

/// Why a file cannot be continued.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// It is of something else.
    #[error("{file} has questions {was}, not {wanted}: give another --out, or remove that file")]
    Other {
        /// The file.
        file: String,
        /// What its questions are of.
        was: String,
        /// What is asked for.
        wanted: String,
    },
    /// It has a line that no run wrote.
    #[error(
        "{file}, line {line}, is no question of limn bench make ({reason}): give another --out, or remove that file"
    )]
    Foreign {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
}

/// How the line of a question begins.
const BEGINNING: &str = "{\"question\":";

/// What an interrupted run has left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earlier {
    /// How many questions there are.
    pub questions: usize,
    /// How many of them are content questions, and how many are about contexts.
    pub(crate) of_kind: [usize; 2],
    /// Bytes of whole lines: what is behind them was interrupted.
    pub whole_bytes: usize,
    /// The round and statement of the last.
    pub(crate) last: Option<(usize, usize)>,
    /// Their texts, and their statements without tables, each with its round.
    pub(crate) seen: HashMap<String, usize>,
}

impl Earlier {
    /// Reads what a file has of the questions of this origin. The last line may have no end.
    ///
    /// # Errors
    /// It has other questions, or something else.
    pub fn read(text: &str, file: &str, origin: &Origin) -> Result<Earlier, ResumeError> {
        let mut earlier = Earlier::default();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                // What was interrupted begins as a question does; anything else is somebody's.
                let is_whole = serde_json::from_str::<serde_json::Value>(line).is_ok();
                let is_question = serde_json::from_str::<Question>(line).is_ok();
                let begins_so = line.starts_with(BEGINNING) || BEGINNING.starts_with(line);
                if begins_so && (is_question || !is_whole) {
                    break;
                }
                return Err(ResumeError::Foreign {
                    file: file.to_owned(),
                    line: at + 1,
                    reason: "it is no question, and has no end".to_owned(),
                });
            }
            let question: Question =
                serde_json::from_str(line).map_err(|error| ResumeError::Foreign {
                    file: file.to_owned(),
                    line: at + 1,
                    reason: error.to_string(),
                })?;
            if question.origin != *origin {
                return Err(ResumeError::Other {
                    file: file.to_owned(),
                    was: question.origin.words(),
                    wanted: origin.words(),
                });
            }
            earlier.whole_bytes += line.len();
            earlier.add(&question);
        }
        Ok(earlier)
    }

    pub(crate) fn add(&mut self, question: &Question) {
        self.questions += 1;
        self.of_kind[question.kind.place()] += 1;
        self.last = Some((question.round, question.statement));
        self.seen.insert(question.question.clone(), question.round);
        self.seen.insert(question.asked(), question.round);
    }

    /// Whether a question of a visit before this round asks the same.
    pub(crate) fn has_before(&self, round: usize, asked: &str) -> bool {
        self.seen.get(asked).is_some_and(|of| *of < round)
    }

    /// Whether a question has the same words or asks the same.
    pub(crate) fn has(&self, question: &Question) -> bool {
        self.seen.contains_key(&question.question) || self.seen.contains_key(&question.asked())
    }
}

impl Question {
    /// What is asked, but for the words: the statement without its table, or the context.
    pub(crate) fn asked(&self) -> String {
        let table = format!(" FROM {}", crate::statement::name(&self.table));
        match (&self.context, &self.sql) {
            (Some(context), _) => context.asked(&self.table),
            (None, Some(sql)) => sql.replacen(&table, "", 1),
            (None, None) => String::new(),
        }
    }
}

impl Context {
    /// What stands for it: of a folder's text, that of any of its tables.
    pub(crate) fn asked(&self, table: &str) -> String {
        match self {
            Context::Invented { datasheet, .. } => format!("{datasheet} of {table}"),
            Context::Recorded { source, passage } => match source.as_str() {
                REGISTERED => format!("passage {passage} of {source} for {table}"),
                source => format!("passage {passage} of {source}"),
            },
        }
    }
}

impl Origin {
    fn words(&self) -> String {
        let mode = match self.mode {
            Mode::Template => "templates".to_owned(),
            Mode::Model => format!("model {}", self.model.as_deref().unwrap_or_default()),
        };
        let kinds = match self.kinds {
            Kinds::Content => "",
            Kinds::Context => " about contexts",
            Kinds::Both => " of both kinds",
        };
        let below = match &self.prefix {
            Some(prefix) => format!(" below '{prefix}'"),
            None => String::new(),
        };
        format!(
            "by {mode}{kinds} with --seed {} of snapshot {} ({}){below}",
            self.seed, self.snapshot, self.writer
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn origin() -> Origin {
        Origin {
            mode: Mode::Template,
            seed: 3,
            snapshot: 7,
            writer: "abc".to_owned(),
            prefix: None,
            model: None,
            kinds: Kinds::Content,
        }
    }

    fn line(round: usize, statement: usize) -> String {
        let question = Question {
            question: format!("How deep is lake {round}.{statement}?"),
            tables: vec!["lakes".to_owned()],
            kind: Kind::Content,
            template: "rows-1".to_owned(),
            sql: Some(format!(
                "SELECT \"depth\" FROM \"lakes\" WHERE \"id\" = {round}{statement}"
            )),
            context: None,
            table: "lakes".to_owned(),
            origin: origin(),
            round,
            statement,
        };
        serde_json::to_string(&question).unwrap() + "\n"
    }

    #[test]
    fn an_interrupted_file_goes_on_behind_its_last_whole_line() {
        let whole = line(0, 4) + &line(2, 0);
        let text = whole.clone() + &line(2, 1)[..40];
        let earlier = Earlier::read(&text, "q.jsonl", &origin()).unwrap();
        assert_eq!((earlier.questions, earlier.whole_bytes), (2, whole.len()));
        assert_eq!(earlier.last, Some((2, 0)));
        let asked = "SELECT \"depth\" WHERE \"id\" = 20";
        assert_eq!(earlier.seen.get(asked), Some(&2), "{:?}", earlier.seen);
        assert_eq!(
            Earlier::read("", "q", &origin()).unwrap(),
            Earlier::default()
        );
    }

    #[test]
    fn a_question_of_another_kind_without_an_end_is_somebodys() {
        let own = line(0, 0);
        let other = "{\"question\": \"mine\", \"tables\": [\"t\"]}";
        assert!(Earlier::read(other, "q.jsonl", &origin()).is_err());
        assert!(Earlier::read(&(own.clone() + other), "q.jsonl", &origin()).is_err());
        let interrupted = Earlier::read(own.trim_end(), "q.jsonl", &origin()).unwrap();
        assert_eq!((interrupted.questions, interrupted.whole_bytes), (0, 0));
    }

    #[test]
    fn files_of_something_else_are_refused_with_a_remedy() {
        let refused = |text: &str, origin: &Origin| {
            let error = Earlier::read(text, "q.jsonl", origin).unwrap_err();
            error.to_string()
        };
        let other = Origin {
            seed: 4,
            prefix: Some("crm".to_owned()),
            ..origin()
        };
        assert_eq!(
            refused(&line(0, 0), &other),
            "q.jsonl has questions by templates with --seed 3 of snapshot 7 (abc), not by templates \
             with --seed 4 of snapshot 7 (abc) below 'crm': give another --out, or remove that file"
        );
        let text = line(0, 0) + "{\"question\": \"mine\", \"tables\": []}\n";
        let refused = refused(&text, &origin());
        assert!(
            refused.contains("q.jsonl, line 2") && refused.contains("another --out"),
            "{refused}"
        );
    }
}
