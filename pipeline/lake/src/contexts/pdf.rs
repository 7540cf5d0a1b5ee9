//! PDFs about tables: their text, taken out by a process of its own ([`limn_formats::Confined`]).
//!
//! No PDF library bounds what a document may come to, and a document decides what the library does
//! ([decision 20]).
//!
//! [decision 20]: ../../../../../docs/decisions/020-contexts.md

use limn_formats::{Confined, Ended, FileError, FileErrorKind, ObjectRecord};
use limn_store::Store;

/// The longest PDF that is read, in bytes.
pub const MOST_PDF: u64 = 32 << 20;
/// What is taken of its text, in bytes.
pub const MOST_PDF_TEXT: u64 = super::SIDECAR_BYTES;
/// What the program is to do.
pub const PDF_ARGUMENT: &str = "pdf-text";

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
}

impl PdfRefusal {
    const ALL: [PdfRefusal; 3] = [Self::Locked, Self::NoText, Self::Broken];

    /// The exit code that says so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Locked => 41,
            Self::NoText => 42,
            Self::Broken => 43,
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
        };
        FileError::new(path, kind, cause).with_remedy(REMEDY)
    }
}

/// The text of a PDF, at most [`MOST_PDF_TEXT`] bytes.
async fn text(path: &str, pdf: &[u8], confined: &Confined) -> Result<String, FileError> {
    let text = confined.run(PDF_ARGUMENT, &[pdf], MOST_PDF_TEXT).await;
    let text = text.map_err(|end| no_text(path, end))?;
    match String::from_utf8_lossy(super::whole_characters(&text)).trim() {
        "" => Err(PdfRefusal::NoText.error(path)),
        text => Ok(text.to_owned()),
    }
}

fn no_text(path: &str, end: Ended) -> FileError {
    // The process failed, not the PDF: the next run tries again.
    let failed = |cause: String| {
        FileError::new(path, FileErrorKind::Panicked, cause)
            .with_remedy("run again; if that does not help, save its text as .md, .txt or .html")
    };
    let refused =
        |cause| FileError::new(path, FileErrorKind::Unsupported, cause).with_remedy(REMEDY);
    let known = |code: &u8| {
        let mut all = PdfRefusal::ALL.into_iter();
        all.find(|it| it.exit_code() == *code)
    };
    match &end {
        Ended::Code(code) => match known(code) {
            Some(refusal) => refusal.error(path),
            None => failed(format!(
                "the process that reads PDFs was ended (exit code {code})"
            )),
        },
        Ended::NoLimits => refused("this system does not limit what reading a PDF may take"),
        Ended::AtLimits => {
            refused("reading the PDF took more memory or time than one may, or failed")
        }
        Ended::TooLong(seconds) => {
            failed(format!("reading the PDF took more than {seconds} seconds"))
        }
        Ended::Lost(why) => failed(format!("the process that reads PDFs failed: {why}")),
    }
}

/// Whether an object is called a PDF.
pub fn is_pdf(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".pdf")
}

/// The text of a PDF in a lake, which waits for its turn before anything of it is fetched.
pub(super) async fn read(
    store: &Store,
    object: &ObjectRecord,
    confined: Option<&Confined>,
) -> Result<String, FileError> {
    let refuse = |kind, cause: &str| FileError::new(&object.path, kind, cause).with_remedy(REMEDY);
    let Some(confined) = confined else {
        let cause = "it is a PDF, whose text is not read";
        return Err(refuse(FileErrorKind::Unsupported, cause));
    };
    if object.size > MOST_PDF {
        let cause = format!("the PDF is longer than {MOST_PDF} bytes");
        return Err(refuse(FileErrorKind::Unsupported, &cause));
    }
    let _turn = confined.turn().await;
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
    text(&object.path, &bytes, confined).await
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Work done by a script instead of the real program.
    fn scripted(folder: &tempfile::TempDir, script: &str) -> Confined {
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Confined::new(program)
    }

    async fn text(script: &str) -> Result<String, FileError> {
        let folder = tempfile::TempDir::new().unwrap();
        let (store, pdf) = (Store::in_memory(), b"%PDF-1.4 and so on".as_slice());
        store.put("t.pdf", pdf.into()).await.unwrap();
        let object = ObjectRecord::from(store.head("t.pdf").await.unwrap());
        read(&store, &object, Some(&scripted(&folder, script))).await
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
        for script in ["kill -9 $$", "exit 127", "exit 50"] {
            let error = text(script).await.unwrap_err();
            assert!(
                error.is_retryable() && error.cause.contains("was ended"),
                "{error}"
            );
        }
    }
}
