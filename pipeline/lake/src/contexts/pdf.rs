//! PDFs about tables: their text, taken out by a process of its own.
//!
//! No PDF library bounds what a document may come to, and a document decides what the library does. So it is read by a
//! process that limits its own memory and processor time before it looks at the first byte (`limn pdf-text`, in `infra/cli`),
//! and that this process ends if it takes too long. Whatever becomes of it costs the one PDF ([decision 20]).
//!
//! [decision 20]: ../../../../../docs/decisions/020-contexts.md

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use limn_store::{Store, one_line};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::error::{FileError, FileErrorKind};
use crate::object::ObjectRecord;

/// The longest PDF that is read, in bytes.
pub const MOST_PDF: u64 = 32 << 20;
/// What is taken of its text, in bytes.
pub const MOST_PDF_TEXT: u64 = super::SIDECAR_BYTES;
/// What the program is told to do.
pub const PDF_ARGUMENT: &str = "pdf-text";

/// A process that takes longer is ended. Its processor time is limited to less.
const LONGEST: Duration = Duration::from_secs(120);
/// PDFs read at the same time: each may take a gigabyte.
const AT_ONCE: usize = 1;
/// A PDF says that it is one within so many bytes.
const HEAD: usize = 1024;
const REMEDY: &str = "save its text with the extension md, txt or html beside the table, or leave it out with --exclude";

/// Why the program has no text, as its exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdfRefusal {
    /// It asks for a password.
    Locked,
    /// There is no text on its pages.
    NoText,
    /// It contradicts itself, or the library gave it up.
    Broken,
    /// The process could not limit itself.
    NoLimits,
}

impl PdfRefusal {
    const ALL: [PdfRefusal; 4] = [Self::Locked, Self::NoText, Self::Broken, Self::NoLimits];

    /// The exit code that says so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Locked => 41,
            Self::NoText => 42,
            Self::Broken => 43,
            Self::NoLimits => 44,
        }
    }

    fn error(self, path: &str) -> FileError {
        let (kind, cause) = match self {
            Self::Locked => (FileErrorKind::Unsupported, "the PDF asks for a password"),
            Self::NoText => (
                FileErrorKind::Unsupported,
                "the PDF has no text: perhaps its pages are pictures",
            ),
            Self::Broken => (FileErrorKind::Corrupt, "the PDF is damaged"),
            Self::NoLimits => (
                FileErrorKind::Unsupported,
                "this system does not limit what reading a PDF may take",
            ),
        };
        FileError::new(path, kind, cause).with_remedy(REMEDY)
    }
}

/// A program that is given a PDF on its standard input, with the one argument [`PDF_ARGUMENT`], and writes the text to its standard output. Cheap to clone; the
/// clones take turns.
#[derive(Clone, Debug)]
pub struct PdfReader {
    program: PathBuf,
    turns: Arc<Semaphore>,
}

impl PdfReader {
    /// A reader that runs this program.
    pub fn new(program: PathBuf) -> Self {
        PdfReader {
            program,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The text of a PDF, at most [`MOST_PDF_TEXT`] bytes.
    async fn text(&self, path: &str, pdf: &[u8]) -> Result<String, FileError> {
        let failed = |cause: String| process_failed(path, cause);
        let started = Command::new(&self.program)
            .arg(PDF_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Nothing that is kept there is its business.
            .env_clear()
            .kill_on_drop(true)
            .spawn();
        let mut process = started.map_err(|error| {
            let error = one_line(&error.to_string());
            failed(format!(
                "the process that reads PDFs cannot be started ({error})"
            ))
        })?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let give = async {
            if let Some(mut input) = input {
                // One that ends before it has read all says why by its exit code.
                let _ = input.write_all(pdf).await;
            }
        };
        let take = async {
            let mut text = Vec::new();
            if let Some(output) = output {
                let _ = output.take(MOST_PDF_TEXT).read_to_end(&mut text).await;
            }
            text
        };
        let run = async {
            let ((), text) = tokio::join!(give, take);
            (process.wait().await, text)
        };
        let Ok((ended, text)) = tokio::time::timeout(LONGEST, run).await else {
            let seconds = LONGEST.as_secs();
            return Err(failed(format!(
                "reading the PDF took more than {seconds} seconds"
            )));
        };
        let ended = ended
            .map_err(|error| failed(format!("the process that reads PDFs was lost ({error})")))?;
        if !ended.success() {
            return Err(refused(path, ended));
        }
        match String::from_utf8_lossy(super::whole_characters(&text)).trim() {
            "" => Err(PdfRefusal::NoText.error(path)),
            text => Ok(text.to_owned()),
        }
    }
}

/// The process failed, not the PDF: the next run tries again.
fn process_failed(path: &str, cause: String) -> FileError {
    FileError::new(path, FileErrorKind::Panicked, cause)
        .with_remedy("run again; if that does not help, save its text as .md, .txt or .html")
}

/// The reader's own end is the PDF's doing, and so is one at its limits; any other may have come from elsewhere.
fn refused(path: &str, ended: ExitStatus) -> FileError {
    let mut known = PdfRefusal::ALL.into_iter();
    if let Some(refusal) = known.find(|it| ended.code() == Some(i32::from(it.exit_code()))) {
        return refusal.error(path);
    }
    if ended.code() == Some(PANICKED) || signal(ended).is_some_and(|it| AT_LIMITS.contains(&it)) {
        let cause = "reading the PDF took more memory or time than one may, or failed";
        return FileError::new(path, FileErrorKind::Unsupported, cause).with_remedy(REMEDY);
    }
    process_failed(
        path,
        format!("the process that reads PDFs was ended ({ended})"),
    )
}

/// The exit code of a Rust program that panicked.
const PANICKED: i32 = 101;
/// Signals that end a process which asks for more memory or processor time than it may have: SIGABRT, SIGBUS, SIGSEGV and
/// SIGXCPU, as Linux numbers them.
const AT_LIMITS: [i32; 4] = [6, 7, 11, 24];

#[cfg(unix)]
fn signal(ended: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&ended)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Whether an object is called a PDF.
pub fn is_pdf(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".pdf")
}

/// The text of a PDF in a lake, which waits for its turn before anything of it is fetched.
pub(super) async fn read(
    store: &Store,
    object: &ObjectRecord,
    reader: Option<&PdfReader>,
) -> Result<String, FileError> {
    let refuse = |kind, cause: &str| FileError::new(&object.path, kind, cause).with_remedy(REMEDY);
    let Some(reader) = reader else {
        let cause = "it is a PDF, whose text is not read";
        return Err(refuse(FileErrorKind::Unsupported, cause));
    };
    if object.size > MOST_PDF {
        let cause = format!("the PDF is longer than {MOST_PDF} bytes");
        return Err(refuse(FileErrorKind::Unsupported, &cause));
    }
    let _turn = reader.turns.acquire().await;
    let bytes = store.get_range(&object.path, 0..object.size).await;
    let bytes = bytes.map_err(|error| FileError::from_store(&object.path, &error))?;
    let head = &bytes[..bytes.len().min(HEAD)];
    if memchr::memmem::find(head, b"%PDF-").is_none() {
        let cause = "it is named as PDF but is none";
        return Err(FileError::new(
            &object.path,
            FileErrorKind::NotItsFormat,
            cause,
        ));
    }
    reader.text(&object.path, &bytes).await
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A reader that runs a script instead of the real program.
    fn reader(folder: &tempfile::TempDir, script: &str) -> PdfReader {
        let program = folder.path().join("reader");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        PdfReader::new(program)
    }

    async fn text(script: &str) -> Result<String, FileError> {
        let folder = tempfile::TempDir::new().unwrap();
        let (store, pdf) = (Store::in_memory(), b"%PDF-1.4 and so on".as_slice());
        store.put("t.pdf", pdf.into()).await.unwrap();
        let object = ObjectRecord::unversioned("t.pdf", pdf.len() as u64);
        read(&store, &object, Some(&reader(&folder, script))).await
    }

    #[tokio::test]
    async fn the_programs_text_is_taken_and_any_other_end_is_a_line() {
        assert_eq!(
            text("cat; echo \" $1 \"").await.unwrap(),
            "%PDF-1.4 and so on pdf-text"
        );
        let long = text("cat > /dev/null; head -c 1048576 /dev/zero | tr '\\0' x").await;
        assert_eq!(long.unwrap().len() as u64, MOST_PDF_TEXT);
        for (script, kind, cause) in [
            ("exit 41", FileErrorKind::Unsupported, "password"),
            (
                "cat > /dev/null; exit 42",
                FileErrorKind::Unsupported,
                "pictures",
            ),
            ("exit 0", FileErrorKind::Unsupported, "has no text"),
            ("exit 43", FileErrorKind::Corrupt, "damaged"),
            ("exit 44", FileErrorKind::Unsupported, "does not limit"),
            ("exit 101", FileErrorKind::Unsupported, "memory or time"),
            ("kill -6 $$", FileErrorKind::Unsupported, "memory or time"),
            ("kill -24 $$", FileErrorKind::Unsupported, "memory or time"),
        ] {
            let error = text(script).await.unwrap_err();
            let line = error.to_string();
            assert_eq!(error.kind, kind, "{line}");
            assert!(
                line.starts_with("t.pdf: ") && line.contains(cause),
                "{line}"
            );
            assert!(!line.contains('\n') && !error.is_retryable(), "{line}");
        }
        // What is not the PDF's doing.
        for (script, cause) in [("kill -9 $$", "was ended"), ("exit 127", "was ended")] {
            let error = text(script).await.unwrap_err();
            assert!(
                error.is_retryable() && error.cause.contains(cause),
                "{error}"
            );
        }
        let error = PdfReader::new("/nowhere/limn".into())
            .text("t.pdf", b"")
            .await;
        let error = error.unwrap_err();
        assert!(
            error.is_retryable() && error.cause.contains("cannot be started"),
            "{error}"
        );
    }
}
