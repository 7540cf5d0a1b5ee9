//! Messages over standard input and output, one a line.
//!
//! rmcp's own transport leaves lines that are no message unanswered, so that an agent waits for
//! ever; and its service ends where something comes before a session has begun. This one answers
//! both, and bounds lines.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::{Refused, not_understood, too_early};

/// Bytes of a line.
const LINE: usize = 1 << 20;
/// Answers that wait to be written.
const WAITING: usize = 16;

/// The lines of an agent, and the task that writes answers to it: it ends when the lines are
/// dropped and all is written.
pub(super) fn lines<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static>(
    read: R,
    mut write: W,
) -> (Lines<R>, JoinHandle<io::Result<()>>) {
    let (answers, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING);
    let writing = tokio::spawn(async move {
        while let Some(mut answer) = waiting.recv().await {
            answer.push(b'\n');
            write.write_all(&answer).await?;
            write.flush().await?;
        }
        Ok(())
    });
    let lines = Lines {
        read: BufReader::new(read),
        line: Vec::new(),
        is_too_long: false,
        refusal: None,
        has_begun: false,
        answers,
    };
    (lines, writing)
}

/// An agent's messages. What `receive` has found out lies here and not in its future, which may be
/// dropped wherever it waits.
pub(super) struct Lines<R> {
    read: BufReader<R>,
    /// The line so far.
    line: Vec<u8>,
    /// Whether it is longer than a line may be: then its rest is dropped.
    is_too_long: bool,
    /// An answer to what the service does not get to see.
    refusal: Option<Vec<u8>>,
    /// Whether the agent has asked for a session.
    has_begun: bool,
    answers: mpsc::Sender<Vec<u8>>,
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = self.answers.clone();
        async move {
            let answer = serde_json::to_vec(&message)?;
            let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            answers.send(answer).await.map_err(closed)
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() {
                let place = self.answers.reserve().await.ok()?;
                if let Some(refusal) = self.refusal.take() {
                    place.send(refusal);
                }
            }
            let is_last = !self.whole_line().await?;
            let line = std::mem::take(&mut self.line);
            let refused = match std::mem::take(&mut self.is_too_long) {
                true => Some(Refused::too_long(LINE).answer()),
                false if line.trim_ascii().is_empty() => None,
                false => match serde_json::from_slice(&line) {
                    Ok(message) => match self.admitted(message) {
                        Ok(message) => return Some(message),
                        Err(refused) => refused,
                    },
                    Err(_) => Some(Refused::of(&line).answer()),
                },
            };
            self.refusal = refused.map(|it| it.to_string().into_bytes());
            if is_last && self.refusal.is_none() {
                return None;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads on to the end of a line; whether there is one, or the input ends. `None` where it
    /// cannot be read.
    async fn whole_line(&mut self) -> Option<bool> {
        loop {
            let read = self.read.fill_buf().await;
            let read = read.inspect_err(|error| tracing::error!(%error, "standard input fails"));
            let read = read.ok()?;
            if read.is_empty() {
                return Some(false);
            }
            let end = memchr::memchr(b'\n', read);
            let length = end.map_or(read.len(), |end| end + 1);
            self.is_too_long |= self.line.len() + length > LINE;
            match self.is_too_long {
                true => self.line.clear(),
                false => self.line.extend_from_slice(&read[..length]),
            }
            self.read.consume(length);
            if end.is_some() {
                return Some(true);
            }
        }
    }

    /// A message that the service can take now; else what answers it, if anything does.
    fn admitted(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> Result<ClientJsonRpcMessage, Option<Value>> {
        if self.has_begun {
            return Ok(message);
        }
        let JsonRpcMessage::Request(request) = &message else {
            return Err(None);
        };
        let error = match &request.request {
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {
                return Ok(message);
            }
            ClientRequest::InitializeRequest(_) => {
                self.has_begun = true;
                return Ok(message);
            }
            ClientRequest::CustomRequest(asked) if asked.method == "initialize" => {
                not_understood(asked)
            }
            // From this version on a request can say for itself what initialize does.
            asked if is_complete(asked) => {
                let version = asked.get_meta().protocol_version();
                self.has_begun = version == Some(ProtocolVersion::V_2026_07_28);
                return Ok(message);
            }
            asked => too_early(asked.method()),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request.id, "error": error });
        Err(Some(answer))
    }
}

fn is_complete(request: &ClientRequest) -> bool {
    let missing = request.get_meta();
    let missing = missing.missing_required_keys(&ProtocolVersion::V_2026_07_28);
    missing.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    /// What comes through of an input, and what is answered without the service.
    async fn heard(input: &[u8]) -> (Vec<String>, Vec<Value>) {
        let (near, mut far) = tokio::io::duplex(4 << 20);
        let (mut lines, writing) = lines(input, near);
        let mut methods = Vec::new();
        while let Some(message) = lines.receive().await {
            let message = serde_json::to_value(message).unwrap();
            methods.push(message["method"].as_str().unwrap().to_owned());
        }
        drop(lines);
        writing.await.unwrap().unwrap();
        let mut answers = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut far, &mut answers)
            .await
            .unwrap();
        let answers = answers
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        (methods, answers.collect())
    }

    #[tokio::test]
    async fn what_is_no_message_is_answered_and_the_next_one_is_heard() {
        let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let early = r#"{"jsonrpc":"2.0","id":"e","method":"tools/list"}"#;
        let noted = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"{}"}}"#,
            "x".repeat(LINE)
        );
        // The last line has no end.
        let input = format!(
            "{early}\n{noted}\n\n{{bad\n{begin}\r\n{noted}\n{long}\n[]\nnot at all\n{early}"
        );
        let (methods, answers) = heard(input.as_bytes()).await;
        assert_eq!(
            methods,
            ["initialize", "notifications/initialized", "tools/list"]
        );
        let codes: Vec<i64> = answers
            .iter()
            .map(|answer| answer["error"]["code"].as_i64().unwrap())
            .collect();
        assert_eq!(codes, [-32600, -32700, -32600, -32600, -32700]);
        assert_eq!(answers[0]["id"], "e");
        assert!(answers[1..].iter().all(|answer| answer["id"].is_null()));
    }

    #[tokio::test]
    async fn an_input_that_says_nothing_ends() {
        assert_eq!(heard(b"").await, (Vec::new(), Vec::new()));
        assert_eq!(heard(b"\n\r\n  \n").await, (Vec::new(), Vec::new()));
    }
}
