//! Descriptions that a node takes: each is written by a process of its own, `limn context apply`,
//! so that a run over the lake shares neither memory nor mistakes with the node. One at a time: a
//! run that is overtaken by another repeats its work.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use limn_node::{Change, DescribeError, Describer, Describing};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::args::EncoderPlace;

/// The exit code of a run that another overtook.
const OVERTAKEN: i32 = 3;
/// Characters of a failure that are logged.
const LOGGED: usize = 2_000;

/// Writes descriptions into the index at a place.
#[derive(Debug)]
pub struct ContextProcess {
    index: String,
    /// Where the encoder is that made the index, where that was said.
    encoder: Option<PathBuf>,
    turn: Arc<Mutex<()>>,
}

impl ContextProcess {
    /// For the index at this URL, made by the encoder at this place.
    pub fn new(index: &str, encoder: &EncoderPlace) -> ContextProcess {
        ContextProcess {
            index: index.to_owned(),
            encoder: encoder.embedder.clone(),
            turn: Arc::default(),
        }
    }
}

impl Describer for ContextProcess {
    fn describe(&self, change: Change) -> Describing {
        let (index, encoder) = (self.index.clone(), self.encoder.clone());
        let turn = Arc::clone(&self.turn);
        // A caller that stops waiting does not stop the run.
        let run = tokio::spawn(async move {
            let _turn = turn.lock().await;
            write(&index, encoder.as_deref(), &change).await
        });
        Box::pin(async move {
            run.await
                .map_err(|error| DescribeError::Failed(error.to_string()))?
        })
    }
}

async fn write(index: &str, encoder: Option<&Path>, change: &Change) -> Result<(), DescribeError> {
    let failed = |error: std::io::Error| DescribeError::Failed(error.to_string());
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["context", "apply", "--json", "--index", index]);
    if let Some(encoder) = encoder {
        command.arg("--embedder").arg(encoder);
    }
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let event = serde_json::to_vec(change).map_err(|error| failed(error.into()))?;
    if let Some(mut stdin) = process.stdin.take() {
        // A process that ended before it read this says why below.
        let _ = stdin.write_all(&event).await;
    }
    let ended = process.wait_with_output().await.map_err(failed)?;
    match ended.status.code() {
        // 1: other tables have failures, as before.
        Some(0 | 1) => Ok(()),
        Some(OVERTAKEN) => Err(DescribeError::Overtaken),
        _ => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said: String = said.trim().chars().take(LOGGED).collect();
            Err(DescribeError::Failed(said))
        }
    }
}
