//! Work that no library bounds, done by a process of its own.
//!
//! What a PDF, a spreadsheet or the view of a database asks of the library that reads it is for its
//! writer to say. So it is read by a process that limits its own memory and processor time before
//! it looks at the first byte (`limn pdf-text`, `limn read-view` and `limn read-book`, in
//! `infra/cli`), and that this process ends if it takes too long. Whatever becomes of it costs that
//! one object.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use limn_store::one_line;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The exit code of a process that could not limit itself.
pub const NO_LIMITS: u8 = 44;

/// A process that takes longer is ended. Its processor time is limited to less.
const LONGEST: Duration = Duration::from_secs(120);
/// Processes at the same time: each may take a gigabyte.
const AT_ONCE: usize = 1;

/// A program that does one piece of work: named by its one argument, given on its standard input,
/// answered on its standard output. Cheap to clone; the clones take turns.
#[derive(Clone, Debug)]
pub struct Confined {
    program: PathBuf,
    turns: Arc<Semaphore>,
}

/// The same program does the same work.
impl PartialEq for Confined {
    fn eq(&self, other: &Self) -> bool {
        self.program == other.program
    }
}

impl Eq for Confined {}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The process says so by an exit code of the work's own.
    Code(u8),
    /// The system has no limits.
    NoLimits,
    /// It took more memory or processor time than it may, or failed over the work.
    AtLimits,
    /// It took too many seconds, which other work on the machine may have been the reason of.
    TooLong(u64),
    /// The process failed, and not the work: in words.
    Lost(String),
}

impl Confined {
    /// Work done by this program.
    pub fn new(program: PathBuf) -> Self {
        Confined {
            program,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Waits until no other work is done, which it then is not until the turn is dropped.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // Nobody closes it.
        self.turns.acquire().await.ok()
    }

    /// Does the work `argument` on these inputs, one after another; at most `most` bytes of the
    /// answer.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn run(&self, argument: &str, inputs: &[&[u8]], most: u64) -> Result<Vec<u8>, Ended> {
        let started = Command::new(&self.program)
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Nothing that is kept there is its business.
            .env_clear()
            .kill_on_drop(true)
            .spawn();
        let mut process = started.map_err(|error| {
            let error = one_line(&error.to_string());
            Ended::Lost(format!("it cannot be started ({error})"))
        })?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let give = async {
            if let Some(mut to) = input {
                for input in inputs {
                    // One that ends before it has read all says why by its exit code.
                    if to.write_all(input).await.is_err() {
                        break;
                    }
                }
            }
        };
        let take = async {
            let mut answer = Vec::new();
            if let Some(output) = output {
                let _ = output.take(most).read_to_end(&mut answer).await;
            }
            answer
        };
        let run = async {
            let ((), answer) = tokio::join!(give, take);
            (process.wait().await, answer)
        };
        let Ok((ended, answer)) = tokio::time::timeout(LONGEST, run).await else {
            return Err(Ended::TooLong(LONGEST.as_secs()));
        };
        let ended = ended.map_err(|error| Ended::Lost(format!("it was lost ({error})")))?;
        match ended.success() {
            true => Ok(answer),
            false => Err(Ended::of(ended)),
        }
    }
}

impl Ended {
    /// The process's own end is the work's doing, and so is one at its limits; any other may have
    /// come from elsewhere.
    fn of(ended: ExitStatus) -> Self {
        match ended.code().map(u8::try_from) {
            Some(Ok(NO_LIMITS)) => Ended::NoLimits,
            Some(Ok(PANICKED)) => Ended::AtLimits,
            Some(Ok(code)) if OWN.contains(&code) => Ended::Code(code),
            _ if signal(ended).is_some_and(|it| AT_LIMITS.contains(&it)) => Ended::AtLimits,
            _ => Ended::Lost(format!("it was ended ({ended})")),
        }
    }
}

/// Exit codes that a work may have a meaning for.
const OWN: std::ops::Range<u8> = 40..64;
/// The exit code of a Rust program that panicked.
const PANICKED: u8 = 101;
/// Signals that end a process which asks for more memory or processor time than it may have:
/// SIGABRT, SIGBUS, SIGSEGV and SIGXCPU, as Linux numbers them.
const AT_LIMITS: [i32; 4] = [6, 7, 11, 24];

#[cfg(unix)]
fn signal(ended: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&ended)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    /// Work done by a script instead of the real program. A process of its own writes it: what
    /// another test starts meanwhile could keep it open for writing, and then it cannot be started.
    pub(crate) fn scripted(folder: &tempfile::TempDir, script: &str) -> Confined {
        let program = folder.path().join("program");
        let written = std::process::Command::new("sh")
            .arg("-c")
            .arg("printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\"")
            .arg(&program)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        Confined::new(program)
    }

    async fn run(script: &str) -> Result<Vec<u8>, Ended> {
        let folder = tempfile::TempDir::new().unwrap();
        let confined = scripted(&folder, script);
        confined.run("work", &[b"ab", b"cd"], 8).await
    }

    #[tokio::test]
    async fn an_answer_is_taken_and_any_other_end_has_its_reason() {
        assert_eq!(run("cat; echo \" $1 \"").await.unwrap(), b"abcd wor");
        let code = |code| Err(Ended::Code(code));
        for (script, end) in [
            ("exit 41", code(41)),
            ("cat > /dev/null; exit 42", code(42)),
            ("exit 44", Err(Ended::NoLimits)),
            ("exit 101", Err(Ended::AtLimits)),
            ("kill -6 $$", Err(Ended::AtLimits)),
            ("kill -24 $$", Err(Ended::AtLimits)),
        ] {
            assert_eq!(run(script).await, end, "{script}");
        }
        // What is not the work's doing.
        for script in ["kill -9 $$", "exit 127", "exit 1"] {
            let end = run(script).await.unwrap_err();
            assert!(
                matches!(&end, Ended::Lost(why) if why.contains("ended")),
                "{script}: {end:?}"
            );
        }
        let nobody = Confined::new("/nowhere/limn".into());
        let end = nobody.run("work", &[], 8).await.unwrap_err();
        assert!(
            matches!(&end, Ended::Lost(why) if why.contains("cannot be started")),
            "{end:?}"
        );
    }
}
