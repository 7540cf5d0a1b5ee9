//! Views of databases, read by a process of its own ([`crate::confined::Confined`]).
//!
//! SQLite counts the steps of a statement that runs, and nothing of what preparing it takes: a view
//! of views of itself doubles with each, and finding a way through a join of sixty tables may take
//! minutes and gigabytes. What a view may be made of is limited ([`super::mentions`],
//! [`super::cage`]), and memory and processor time are limits of the process.

use std::io::{BufRead, Read};

use bytes::Bytes;
use limn_profile::FileSummary;
use serde::{Deserialize, Serialize};

use super::failure::REMEDY;
use super::{Base, alone, batches};
use crate::batches::Wanted;
use crate::confined::Ended;
use crate::error::FileErrorKind;
use crate::{Failure, ReadOptions};

/// The command that the program is called with.
const VIEW_ARGUMENT: &str = "read-view";

/// The longest request, and the longest answer, in bytes.
const MOST_REQUEST: u64 = 1 << 20;
const MOST_ANSWER: u64 = 64 << 20;
const MOST_ROWS: u64 = 1 << 30;

/// Which view is to be read, and how: a line before the bytes of the database.
#[derive(Serialize, Deserialize)]
struct Request {
    id: u64,
    bytes: usize,
    sample_path: String,
    sample_rows: usize,
    scan_budget: u64,
    seed: u64,
    /// The columns, their names and how many rows, where rows are wanted and no summary.
    rows: Option<(Vec<usize>, Vec<String>, u64)>,
}

/// What is wrong with a view, or with a book.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::containers) struct Refused {
    kind: FileErrorKind,
    cause: String,
    remedy: Option<String>,
}

/// Reads a view of the database that has these bytes.
pub(super) async fn read(
    database: Bytes,
    id: u64,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let request = request(&database, id, sample_path, options)?;
    taken(&ask(&request, &database, MOST_ANSWER, options).await?)
}

/// Reads the rows of a view, as an Arrow stream.
pub(super) async fn rows(
    database: Bytes,
    id: u64,
    wanted: &Wanted,
    options: &ReadOptions,
) -> Result<Vec<u8>, Failure> {
    let rows = Some((wanted.columns.clone(), wanted.names.clone(), wanted.limit));
    let request = Request {
        rows,
        ..Request::of(&database, id, "", options)
    };
    let answer = ask(&request.line()?, &database, MOST_ROWS, options).await?;
    match answer.first() {
        // No stream begins so.
        Some(b'{') => match taken(&answer) {
            Err(failure) => Err(failure),
            Ok(_) => Err(failed("it answered with a summary")),
        },
        Some(_) => Ok(answer),
        None => Err(failed("it answered nothing")),
    }
}

/// What the program says.
async fn ask(
    request: &[u8],
    database: &[u8],
    most: u64,
    options: &ReadOptions,
) -> Result<Vec<u8>, Failure> {
    let refused = |cause: &str| Failure::new(FileErrorKind::Unsupported, cause).with_remedy(REMEDY);
    let Some(confined) = &options.confined else {
        let cause = "it is a view, which only the limn command reads, in a process of its own";
        return Err(refused(cause));
    };
    let answer = {
        let _turn = confined.turn().await;
        confined
            .run(VIEW_ARGUMENT, &[request, database], most)
            .await
    };
    match answer {
        Ok(answer) => Ok(answer),
        Err(Ended::AtLimits) => Err(refused(
            "reading the view takes more memory or time than one may, or fails",
        )),
        Err(Ended::NoLimits) => Err(refused(
            "this system does not limit what reading a view may take",
        )),
        Err(Ended::Code(code)) => Err(failed(&format!("it was ended (exit code {code})"))),
        Err(Ended::TooLong(seconds)) => Err(failed(&format!("it took {seconds} seconds"))),
        Err(Ended::Lost(cause)) => Err(failed(&cause)),
    }
}

/// The process failed, and not the view: the next run tries again.
fn failed(cause: &str) -> Failure {
    let cause = format!("the process that reads views failed: {cause}");
    Failure::new(FileErrorKind::Panicked, cause)
        .with_remedy("run again; if that does not help, lay its rows there as a file")
}

/// What the program is given before the database.
pub(crate) fn request(
    database: &[u8],
    id: u64,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<Vec<u8>, Failure> {
    Request::of(database, id, sample_path, options).line()
}

impl Request {
    fn of(database: &[u8], id: u64, sample_path: &str, options: &ReadOptions) -> Request {
        Request {
            id,
            bytes: database.len(),
            sample_path: sample_path.to_owned(),
            sample_rows: options.sample_rows,
            scan_budget: options.scan_budget,
            seed: options.seed,
            rows: None,
        }
    }

    fn line(&self) -> Result<Vec<u8>, Failure> {
        let mut line = serde_json::to_vec(self).map_err(|error| failed(&error.to_string()))?;
        line.push(b'\n');
        Ok(line)
    }
}

/// What a database's reader says.
pub(super) type Answered<T> = Result<T, Failure>;

/// What the program's answer says.
pub(crate) fn taken(answer: &[u8]) -> Result<FileSummary, Failure> {
    let answer: Result<FileSummary, Refused> =
        serde_json::from_slice(answer).map_err(|error| failed(&error.to_string()))?;
    answer.map_err(Refused::failure)
}

/// The program's work: a request and a database to an answer. `None` if these are not what was
/// given.
pub fn answer_view(mut input: impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let request = input
        .by_ref()
        .take(MOST_REQUEST)
        .read_until(b'\n', &mut line);
    let request: Request = request
        .ok()
        .and_then(|_| serde_json::from_slice(&line).ok())?;
    // As much at once: a vector that grows takes twice that.
    let mut database = vec![0; request.bytes];
    input.read_exact(&mut database).ok()?;
    let options = ReadOptions {
        sample_rows: request.sample_rows,
        scan_budget: request.scan_budget,
        seed: request.seed,
        confined: None,
        ..ReadOptions::default()
    };
    let base = Base::of(&database, alone());
    drop(database);
    let answer = match request.rows {
        None => base
            .and_then(|base| base.read(request.id, &request.sample_path, &options))
            .map_err(Refused::of),
        Some((columns, names, limit)) => {
            let wanted = Wanted {
                limit,
                ..Wanted::all_rows(columns, names)
            };
            match base.and_then(|base| batches::answer(base, request.id, &wanted)) {
                Ok(stream) => return Some(stream),
                Err(failure) => Err(Refused::of(failure)),
            }
        }
    };
    serde_json::to_vec(&answer).ok()
}

impl Refused {
    pub(in crate::containers) fn failure(self) -> Failure {
        Failure::Content {
            kind: self.kind,
            cause: self.cause,
            remedy: self.remedy,
        }
    }

    pub(in crate::containers) fn of(failure: Failure) -> Refused {
        let cause = failure.cause();
        let (kind, remedy) = match failure {
            Failure::Content { kind, remedy, .. } => (kind, remedy),
            Failure::Store(_) => (FileErrorKind::StoreFailed, None),
        };
        Refused {
            kind,
            cause,
            remedy,
        }
    }
}
