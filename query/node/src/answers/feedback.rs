//! What people say of answers: a file of questions with their tables, as `limn eval` reads it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Sight, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// Bytes of a question, and of a comment.
const TEXT: usize = 8_000;

/// What somebody says of a table that was found.
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

/// A line of the file: `tables` holds the table where it was right, so that the lines with tables are questions for
/// `limn eval`.
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

/// The file that feedback is added to.
#[derive(Debug)]
pub struct FeedbackFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl FeedbackFile {
    /// Opens a file to add to it.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> std::io::Result<FeedbackFile> {
        Ok(FeedbackFile {
            path: path.to_owned(),
            file: Mutex::new(OpenOptions::new().create(true).append(true).open(path)?),
        })
    }

    fn add(&self, line: &Line<'_>) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&text)
    }
}

/// Keeps what somebody says.
///
/// # Errors
/// No such table among those that the caller may see; a node that keeps no feedback.
pub fn keep(node: &Node, sight: &Sight, feedback: &Feedback) -> Result<(), Problem> {
    sight.require(Right::Search)?;
    let question = short_enough("the question", &feedback.question, TEXT)?;
    let comment = feedback.comment.as_deref().unwrap_or_default();
    let comment = short_enough("the comment", comment, TEXT)?;
    let table = sight.table(&feedback.table, feedback.lake.as_deref())?.key;
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
        caller: &sight.caller.id,
        question,
        tables,
        table: name,
        lake: table.lake,
        verdict: feedback.verdict,
        snapshot: feedback.snapshot,
        comment: Some(comment).filter(|text| !text.is_empty()),
    });
    kept.map_err(|error| {
        tracing::error!(file = %file.path.display(), %error, "feedback cannot be kept");
        Problem::new(
            Code::Unavailable,
            "feedback cannot be kept now",
            "tell the operator; the log says why",
        )
    })
}
