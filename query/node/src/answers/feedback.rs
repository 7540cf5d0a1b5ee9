//! Feedback on answers: a file of questions with their tables, as `limn eval` reads it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Grant, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// Bytes of a question, and of a comment.
const TEXT: usize = 8_000;

/// Somebody's feedback on a table that was found.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// The question.
    pub question: String,
    /// The table's name.
    pub table: String,
    /// Its lake.
    #[serde(default)]
    pub lake: Option<String>,
    /// Whether it is what was wanted.
    pub verdict: Verdict,
    /// The snapshot that was asked.
    #[serde(default)]
    pub snapshot: Option<u64>,
    /// More words.
    #[serde(default)]
    pub comment: Option<String>,
}

/// Whether a table is what was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is.
    Right,
    /// It is not.
    Wrong,
}

/// A line of the file: `tables` holds the table where it was right, so that the lines with tables
/// are questions for `limn eval`.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    caller: &'a str,
    question: &'a str,
    tables: &'a [&'a str],
    table: &'a str,
    lake: &'a str,
    verdict: Verdict,
    snapshot: Option<u64>,
    comment: Option<&'a str>,
}

/// The file that feedback is added to, up to a size. It is opened for each line: one that is moved
/// away is begun anew.
#[derive(Debug)]
pub struct FeedbackFile {
    path: PathBuf,
    most: u64,
    turn: Mutex<()>,
}

/// A line cannot be added.
enum Unkept {
    Full,
    Failed(std::io::Error),
}

impl From<std::io::Error> for Unkept {
    fn from(error: std::io::Error) -> Unkept {
        Unkept::Failed(error)
    }
}

impl FeedbackFile {
    /// A file to add to, which is made if there is none, readable by its owner only, and gets at
    /// most so many bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path, most: u64) -> std::io::Result<FeedbackFile> {
        open(path)?;
        Ok(FeedbackFile {
            path: path.to_owned(),
            most,
            turn: Mutex::new(()),
        })
    }

    fn add(&self, line: &Line<'_>) -> Result<(), Unkept> {
        let mut text = serde_json::to_vec(line).map_err(std::io::Error::from)?;
        text.push(b'\n');
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = open(&self.path)?;
        let length = file.metadata()?.len();
        if length.saturating_add(text.len() as u64) > self.most {
            return Err(Unkept::Full);
        }
        file.write_all(&text).map_err(|error| {
            // Half a line would spoil the next one, too. What cannot be taken back stays: the error
            // is the same.
            let _ = file.set_len(length);
            error.into()
        })
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Keeps what somebody says.
///
/// # Errors
/// No such table among those that the caller may see; a node that keeps no feedback, or has as much
/// as it may.
pub fn keep(node: &Node, grant: &Grant, feedback: &Feedback) -> Result<(), Problem> {
    grant.require(Right::Search)?;
    let question = short_enough("the question", &feedback.question, TEXT)?;
    if question.trim().is_empty() {
        return Err(Problem::bad(
            "the question is empty",
            "give the question that the table was found by",
        ));
    }
    let comment = feedback.comment.as_deref().unwrap_or_default();
    let comment = short_enough("the comment", comment, TEXT)?;
    let table = grant.table(&feedback.table, feedback.lake.as_deref())?.key;
    let Some(file) = &node.feedback else {
        return Err(Problem::new(
            Code::NotFound,
            "this node keeps no feedback",
            "its operator can start it with --feedback FILE",
        ));
    };
    let name = table.name;
    let tables: &[&str] = match feedback.verdict {
        Verdict::Right => &[name],
        Verdict::Wrong => &[],
    };
    let kept = file.add(&Line {
        time: chrono::Utc::now().to_rfc3339(),
        caller: &grant.caller.id,
        question,
        tables,
        table: name,
        lake: table.lake,
        verdict: feedback.verdict,
        snapshot: feedback.snapshot,
        comment: Some(comment).filter(|text| !text.is_empty()),
    });
    kept.map_err(|unkept| {
        let file = file.path.display();
        match unkept {
            Unkept::Full => {
                tracing::error!(%file, "the file of feedback is full: move it away, or raise --feedback-size");
                Problem::new(
                    Code::Unavailable,
                    "the node has as much feedback as it may keep",
                    "tell its operator to move the file away or to raise --feedback-size, and send this again then",
                )
            }
            Unkept::Failed(error) => {
                tracing::error!(%file, %error, "feedback cannot be kept");
                Problem::new(
                    Code::Unavailable,
                    "feedback cannot be kept now",
                    "tell the operator; the log says why",
                )
            }
        }
    })
}
