//! Contexts: text about a table that its rows do not hold (PNEUMA §4).
//!
//! They come from contexts files (`{"table": NAME, "context": TEXT}` a line) and from sidecars
//! (`NAME.md`, `NAME.txt`, `NAME.yaml`, `NAME.html`, `NAME.pdf` beside `NAME.csv` or the directory
//! `NAME`; `NAME.json` beside `NAME.csv`), and from texts about several tables ([`SharedText`]).
//! What they say of a column goes to the column ([`column_descriptions`]); all of it describes the
//! table.

mod descriptions;
mod html;
mod pdf;
mod shared;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use bytes::Bytes;
use limn_formats::{
    Confined, FileError, FileErrorKind, Holds, ObjectRecord, SIDECAR_BYTES, holds, member,
    text_holds_rows,
};
use limn_store::Store;
use serde::Deserialize;

use crate::error::LakeError;
use crate::place::ends_in;
use crate::table_name::TableName;

pub use descriptions::column_descriptions;
pub use pdf::{MOST_PDF, MOST_PDF_TEXT, PDF_ARGUMENT, PdfRefusal, is_pdf};
pub use shared::{About, ContextPart, SharedKind, SharedText, read_shared};

/// Contexts by table, each table's in the order in which they were given.
pub type Contexts = BTreeMap<TableName, Vec<String>>;

#[derive(Deserialize)]
struct Line {
    table: String,
    context: String,
}

/// Reads a contexts file, adding to `contexts`. A text already there for its table is not added
/// again, so naming a file twice changes nothing. Empty lines are skipped.
///
/// # Errors
/// [`LakeError::ContextsFile`] if the file cannot be read, [`LakeError::ContextLine`] with the
/// number of the first line that is not `{"table": NAME, "context": TEXT}`.
pub fn read_contexts(file: &str, contexts: &mut Contexts) -> Result<(), LakeError> {
    let unreadable = |source| LakeError::ContextsFile {
        file: file.to_owned(),
        source,
    };
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    parse_contexts(file, BufReader::new(opened), contexts)
}

/// As [`read_contexts`], from any source; `file` is its name in errors.
///
/// # Errors
/// As [`read_contexts`].
pub fn parse_contexts(
    file: &str,
    mut lines: impl BufRead,
    contexts: &mut Contexts,
) -> Result<(), LakeError> {
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = lines.read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| LakeError::ContextsFile {
            file: file.to_owned(),
            source,
        })?;
        if read == 0 {
            break;
        }
        let wrong = |cause: String| LakeError::ContextLine {
            file: file.to_owned(),
            line,
            cause,
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
        if text.is_empty() {
            continue;
        }
        let parsed: Line = serde_json::from_str(text).map_err(|error| wrong(describe(&error)))?;
        let table = TableName::parse(&parsed.table).map_err(|error| wrong(error.to_string()))?;
        let context = parsed.context.trim();
        if context.is_empty() {
            return Err(wrong(format!("the context of {table} is empty")));
        }
        let texts = contexts.entry(table).or_default();
        if !texts.iter().any(|known| known == context) {
            texts.push(context.to_owned());
        }
    }
    Ok(())
}

/// serde_json counts lines within the one line it was given: leave that out.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line ") {
        Some((cause, _)) => format!("{cause} at column {}", error.column()),
        None => text,
    }
}

/// Reads a sidecar's text: at most [`SIDECAR_BYTES`], cut at a character; bytes that are no UTF-8
/// become U+FFFD. Of HTML and, with a program that reads them, of PDF it is what a reader of the
/// page would see. Of JSON and of a `.txt` it is nothing where it holds rows, and of JSON where it
/// is none: they are data files as well, and what is wrong with them is reported of those.
///
/// # Errors
/// If the store fails, the content is binary (it has a NUL among its first bytes), or it is a PDF
/// whose text is not to be had.
pub async fn read_sidecar(
    store: &Store,
    object: &ObjectRecord,
    confined: Option<&Confined>,
) -> Result<String, FileError> {
    if may_be_rows(&object.path) && object.size > 0 {
        let bytes = read_beginning(store, object).await?;
        let is_whole = bytes.len() as u64 == object.size;
        return match text_holds_rows(&object.path, bytes.clone(), is_whole).await? {
            true => Ok(String::new()),
            false => text_of(object, &bytes),
        };
    }
    if !may_describe(&object.path) {
        return read_text(store, object, confined).await;
    }
    if object.size > SIDECAR_BYTES {
        return Ok(String::new());
    }
    match read_text(store, object, confined).await {
        Ok(text) if holds(text.as_bytes()) == Holds::One => Ok(text),
        Err(error) if error.kind != FileErrorKind::NotItsFormat => Err(error),
        Ok(_) | Err(_) => Ok(String::new()),
    }
}

async fn read_text(
    store: &Store,
    object: &ObjectRecord,
    confined: Option<&Confined>,
) -> Result<String, FileError> {
    if object.size == 0 {
        return Ok(String::new());
    }
    if is_pdf(&object.path) {
        return pdf::read(store, object, confined).await;
    }
    text_of(object, &read_beginning(store, object).await?)
}

async fn read_beginning(store: &Store, object: &ObjectRecord) -> Result<Bytes, FileError> {
    let end = object.size.min(SIDECAR_BYTES);
    let bytes = store.get_range(&object.path, 0..end).await;
    bytes.map_err(|error| FileError::from_store(&object.path, &error))
}

/// The text that an object begins with.
fn text_of(object: &ObjectRecord, bytes: &[u8]) -> Result<String, FileError> {
    let is_html = is_html(&object.path);
    let may_be_data = may_describe(&object.path) || may_be_rows(&object.path);
    // HTML and data may be UTF-16.
    let marked = encoding_rs::Encoding::for_bom(bytes);
    let is_marked = marked.is_some() && (is_html || may_be_data);
    if !is_marked && bytes.iter().take(8192).any(|byte| *byte == 0) {
        let cause = "its content is binary, not text";
        return Err(FileError::new(
            &object.path,
            FileErrorKind::NotItsFormat,
            cause,
        ));
    }
    if is_html {
        return Ok(html::text_of(bytes).trim().to_owned());
    }
    if let (true, Some((encoding, _))) = (is_marked, marked) {
        return Ok(encoding.decode(bytes).0.trim().to_owned());
    }
    let is_cut = (bytes.len() as u64) < object.size;
    let cut = if is_cut {
        whole_characters(bytes)
    } else {
        bytes
    };
    let text = String::from_utf8_lossy(cut);
    Ok(text
        .strip_prefix('\u{feff}')
        .unwrap_or(&text)
        .trim()
        .to_owned())
}

/// Whether an object may describe a table beside it rather than hold rows, as its path says. What
/// lies in an archive may not.
pub(crate) fn may_describe(path: &str) -> bool {
    ends_in(path, ".json") && member::split(path).is_none()
}

/// Whether a text may be a table itself rather than describe one beside it, as its path says: a
/// `.txt` that is not compressed and in no archive.
pub(crate) fn may_be_rows(path: &str) -> bool {
    ends_in(path, ".txt") && member::split(path).is_none()
}

fn is_html(path: &str) -> bool {
    ends_in(path, ".html") || ends_in(path, ".htm")
}

/// `bytes` without a last character that was cut in two.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn parse(text: &str) -> Result<Contexts, LakeError> {
        let mut contexts = Contexts::new();
        parse_contexts("c.jsonl", text.as_bytes(), &mut contexts).map(|()| contexts)
    }

    #[test]
    fn contexts_of_one_table_keep_their_order_and_repeat_nothing() {
        let text = "\u{feff}{\"table\": \"a/b\", \"context\": \" two \", \"note\": 1}\r\n\n{\"table\": \"a/b\", \"context\": \"one\"}\n{\"table\": \"a/b\", \"context\": \"two\"}";
        let contexts = parse(text).unwrap();
        assert_eq!(contexts[&TableName::parse("a/b").unwrap()], ["two", "one"]);
        assert_eq!(contexts.len(), 1);
    }

    #[test]
    fn a_wrong_line_is_named_by_file_and_number() {
        for (text, number, cause) in [
            (
                "{\"table\": \"a\", \"context\": \"x\"}\n\n{\"table\": \"a\"}\n",
                3,
                "missing field `context` at column",
            ),
            ("table,context\n", 1, "expected"),
            ("{\"table\": \"\", \"context\": \"x\"}", 1, "is empty"),
            (
                "{\"table\": \"a\", \"context\": \" \"}",
                1,
                "context of a is empty",
            ),
            ("{\"table\": \"a\", \"context\": 5}", 1, "invalid type"),
        ] {
            let error = parse(text).unwrap_err();
            let message = error.to_string();
            assert!(
                matches!(error, LakeError::ContextLine { line, .. } if line == number),
                "{message}"
            );
            assert!(
                message.starts_with(&format!("contexts file c.jsonl, line {number}: ")),
                "{message}"
            );
            assert!(
                message.contains(cause) && message.lines().count() == 1,
                "{message}"
            );
        }
        let mut contexts = Contexts::new();
        let error = parse_contexts("c", &b"\xff\xfe"[..], &mut contexts).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        let error = read_contexts("/nowhere/c.jsonl", &mut contexts).unwrap_err();
        assert!(error.to_string().contains("/nowhere/c.jsonl"), "{error}");
    }

    fn object(path: &str, size: usize) -> ObjectRecord {
        ObjectRecord {
            path: path.into(),
            etag: None,
            version: None,
            size: size as u64,
            modified_ms: 0,
        }
    }

    #[tokio::test]
    async fn sidecars_are_bounded_and_lossy() {
        let store = Store::in_memory();
        // A two-byte character lies across the bound.
        let long = format!("x{}", "ü".repeat(SIDECAR_BYTES as usize));
        let size = long.len();
        store.put("a.md", long.into()).await.unwrap();
        let text = read_sidecar(&store, &object("a.md", size), None)
            .await
            .unwrap();
        assert_eq!(text.len() as u64, SIDECAR_BYTES - 1);
        assert!(!text.contains('\u{fffd}'));
        assert!(store.counts().bytes_read <= SIDECAR_BYTES);

        store
            .put("b.txt", b"caf\xe9 \n".as_slice().into())
            .await
            .unwrap();
        assert_eq!(
            read_sidecar(&store, &object("b.txt", 6), None)
                .await
                .unwrap(),
            "caf\u{fffd}"
        );
        store
            .put("c.txt", b"PK\0\0".as_slice().into())
            .await
            .unwrap();
        let error = read_sidecar(&store, &object("c.txt", 4), None)
            .await
            .unwrap_err();
        assert_eq!(error.kind, FileErrorKind::NotItsFormat);
        let error = read_sidecar(&store, &object("gone.md", 4), None)
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.is_retryable()),
            (FileErrorKind::Missing, true)
        );
        assert_eq!(
            read_sidecar(&store, &object("empty.md", 0), None)
                .await
                .unwrap(),
            ""
        );
        // A table is none, in whatever encoding; what lists columns is one.
        let table = "id\tmail\n1\ta@example.org\n2\tb@example.org\n";
        let wide = table.encode_utf16().flat_map(u16::to_le_bytes);
        let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide).collect();
        let list = "field\tmeaning\nid\tits number\nmail\twhere to write to";
        for (text, wanted) in [(table.into(), ""), (wide, ""), (list.into(), list)] {
            let object = object("orders.txt", text.len());
            store.put("orders.txt", text.into()).await.unwrap();
            let text = read_sidecar(&store, &object, None).await.unwrap();
            assert_eq!(text, wanted);
        }
        for (json, wanted) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("[{}, {}]", ""),
            ("{\"data\": [{}, {}]}", ""),
            ("{\"fields\": [{}, {}]}", "{\"fields\": [{}, {}]}"),
            ("{\"a\": 1}\n{\"a\": 1}", ""),
            ("{\"a\": ", ""),
            ("PK\0\0", ""),
        ] {
            store.put("t.JSON", json.into()).await.unwrap();
            let text = read_sidecar(&store, &object("t.JSON", json.len()), None).await;
            assert_eq!(text.unwrap(), wanted, "{json}");
        }
        let wide = b"\xff\xfe{\0\"\0a\0\"\0:\x001\0}\0".as_slice();
        store.put("t.json", wide.into()).await.unwrap();
        let text = read_sidecar(&store, &object("t.json", wide.len()), None).await;
        assert_eq!(text.unwrap(), "{\"a\":1}");
        let long = object("long.json", SIDECAR_BYTES as usize + 1);
        assert_eq!(read_sidecar(&store, &long, None).await.unwrap(), "");
        let error = read_sidecar(&store, &object("c.PDF", 4), None)
            .await
            .unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("c.PDF: it is a PDF") && message.contains("save its text"));
        assert!(!error.is_retryable());
        let page = b"<style>x</style><p>A page".as_slice();
        store.put("d.HTML", page.into()).await.unwrap();
        let text = read_sidecar(&store, &object("d.HTML", page.len()), None).await;
        assert_eq!(text.unwrap(), "A page");
    }
}
