//! Rows on their way to a client: as JSON, or as a stream of Arrow, written as they come.
//!
//! A slow reader is waited for, within bounds: a statement holds its turn until its last row
//! is sent. An error after the first rows ends JSON with a member `error`, and breaks a stream of
//! Arrow off.

use std::io;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use futures::Stream;
use limn_sql::cells::type_word;
use limn_sql::written::{self, as_plain, plain};
use tokio::sync::mpsc;

use super::{Running, SqlColumn};
use crate::problem::{ErrorDetail, Problem};

/// Rows that are written at a time.
const ROWS: usize = 256;
/// Parts that wait for the client.
const WAITING: usize = 4;
/// How long a client may take to read a part.
const READING: Duration = Duration::from_secs(30);

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `SqlAnswer`.
    Json,
    /// Arrow's streaming format: the rows, and behind them a stream without rows, whose schema says
    /// how they ended.
    Arrow,
}

impl Form {
    /// The type of what is written.
    pub fn kind(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    /// The form that a client takes, as `Accept` says.
    pub fn accepted(accept: Option<&str>) -> Form {
        let mut kinds = accept.unwrap_or_default().split(',');
        let is_arrow = |kind: &str| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case(Form::Arrow.kind())
        };
        match kinds.any(is_arrow) {
            true => Form::Arrow,
            false => Form::Json,
        }
    }
}

/// Parts of an answer, as they come.
pub type Written = mpsc::Receiver<io::Result<Bytes>>;

impl Running {
    /// Writes the rows. The work is done on a task of its own, which ends when nobody reads any
    /// more.
    pub fn written(self, form: Form) -> Written {
        let (parts, written) = mpsc::channel(WAITING);
        self.home().begin(async move {
            let sending = async {
                match form {
                    Form::Json => send_json(self, &parts).await,
                    Form::Arrow => send_arrow(self, &parts).await,
                }
            };
            // What nobody waits for is not computed to its end.
            let sent = tokio::select! {
                sent = sending => sent,
                () = parts.closed() => return,
            };
            if let Err(error) = sent {
                // Nobody reads, or the part that was sent must not look like the whole.
                let _ = parts.send_timeout(Err(error), READING).await;
            }
        });
        written
    }
}

/// As a body has it.
pub fn stream(mut written: Written) -> impl Stream<Item = io::Result<Bytes>> + Send {
    futures::stream::poll_fn(move |context| written.poll_recv(context))
}

type Parts = mpsc::Sender<io::Result<Bytes>>;

async fn send(parts: &Parts, part: impl Into<Bytes>) -> io::Result<()> {
    let sent = parts.send_timeout(Ok(part.into()), READING).await;
    sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// Rows that are not many.
fn slices(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(ROWS);
    starts.map(|start| batch.slice(start, ROWS.min(batch.num_rows() - start)))
}

async fn send_json(mut running: Running, parts: &Parts) -> io::Result<()> {
    let head = serde_json::to_string(&columns(&running.schema()))?;
    send(parts, format!("{{\"columns\":{head},\"rows\":[")).await?;
    let mut is_first = true;
    let mut failed = None;
    'rows: while let Some(batch) = running.next().await {
        let batch = match batch {
            Ok(batch) => batch,
            Err(problem) => {
                failed = Some(problem);
                break;
            }
        };
        for slice in slices(&batch) {
            let mut text = String::new();
            if let Err(problem) = json_rows(&slice, is_first, &mut text) {
                failed = Some(problem);
                break 'rows;
            }
            is_first = false;
            send(parts, text).await?;
        }
    }
    let (truncated, notes) = ending(&running)?;
    let read = serde_json::to_string(&running.read())?;
    let mut tail = format!("],\"truncated\":{truncated},\"notes\":{notes},\"read\":{read}");
    if let Some(problem) = failed {
        let error = serde_json::to_string(&ErrorDetail::from(problem))?;
        tail.push_str(&format!(",\"error\":{error}"));
    }
    tail.push('}');
    send(parts, tail).await
}

/// Whether rows were left out, and the notes as JSON.
fn ending(running: &Running) -> io::Result<(bool, String)> {
    let notes = serde_json::to_string(&running.notes())?;
    Ok((running.is_truncated(), notes))
}

/// Rows as JSON, with commas between them.
pub(crate) fn json_rows(
    batch: &RecordBatch,
    is_first: bool,
    out: &mut String,
) -> Result<(), Problem> {
    written::json_rows(batch, is_first, out).map_err(|error| {
        tracing::error!(%error, "rows cannot be written");
        Problem::bad(
            "a column is of a type that cannot be written",
            "cast it to text: CAST(… AS VARCHAR)",
        )
    })
}

/// The columns of an answer.
pub(crate) fn columns(schema: &Schema) -> Vec<SqlColumn> {
    let fields = schema.fields().iter();
    let columns = fields.map(|field| SqlColumn {
        name: field.name().clone(),
        data_type: type_word(field.data_type()).to_owned(),
    });
    columns.collect()
}

async fn send_arrow(mut running: Running, parts: &Parts) -> io::Result<()> {
    let schema = plain(&running.schema());
    let most = running.most().map(|most| most.to_string());
    let about = most.map(|most| ("limn.max_rows".to_owned(), most));
    let described = schema
        .as_ref()
        .clone()
        .with_metadata(about.into_iter().collect());
    let mut writer = StreamWriter::try_new(Vec::new(), &described).map_err(broken)?;
    while let Some(batch) = running.next().await {
        let batch = batch.map_err(|problem| io::Error::other(problem.to_string()))?;
        for slice in slices(&batch) {
            writer
                .write(&as_plain(&slice, &schema).map_err(broken)?)
                .map_err(broken)?;
            send(parts, std::mem::take(writer.get_mut())).await?;
        }
    }
    writer.finish().map_err(broken)?;
    send(parts, std::mem::take(writer.get_mut())).await?;
    let (truncated, notes) = ending(&running)?;
    let ending = [("truncated", truncated.to_string()), ("notes", notes)];
    let ending = ending.map(|(name, value)| (format!("limn.{name}"), value));
    let schema = Schema::empty().with_metadata(ending.into_iter().collect());
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(broken)?;
    writer.finish().map_err(broken)?;
    send(parts, std::mem::take(writer.get_mut())).await
}

fn broken(error: ArrowError) -> io::Error {
    tracing::error!(%error, "rows cannot be written");
    io::Error::other("rows cannot be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_which_form_it_takes() {
        let arrow = "application/vnd.apache.arrow.stream";
        assert_eq!(Form::accepted(Some(arrow)), Form::Arrow);
        let several = format!("application/json;q=0.5, {arrow};q=1");
        assert_eq!(Form::accepted(Some(&several)), Form::Arrow);
        for other in [None, Some("*/*"), Some("application/json")] {
            assert_eq!(Form::accepted(other), Form::Json);
        }
    }
}
