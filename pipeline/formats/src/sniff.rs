//! What a file really is, by its first bytes: the checks that come before any text is parsed.

use serde::de::IgnoredAny;

use super::Failure;
use super::dialect::HEAD;
use super::input::utf16;
use super::json::as_null;
use crate::error::FileErrorKind;
use crate::format::Format;

/// How much of the beginning is looked at.
const LOOK: usize = 8 << 10;

/// First bytes that are never a table's text, and what they begin.
const MAGIC: [(&[u8], &str, &str); 18] = [
    (
        b"PK\x03\x04",
        "a zip archive (or an Excel workbook)",
        EXPORT,
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word document", EXPORT),
    (b"\x1f\x8b", "compressed with gzip", UNPACK),
    (b"BZh", "compressed with bzip2", UNPACK),
    (b"\xfd7zXZ\0", "compressed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (b"PAR1", "a Parquet file", "rename the file to .parquet"),
    (b"ARROW1", "an Arrow file", "rename the file to .arrow"),
    (
        b"\xff\xff\xff\xff",
        "an Arrow stream",
        "rename the file to .arrows",
    ),
    (b"FEA1", "a Feather file of version 1", FEATHER_2),
    (b"Obj\x01", "an Avro file", "rename the file to .avro"),
    (b"ORC", "an ORC file", "rename the file to .orc"),
    (b"SQLite format 3", "an SQLite database", EXPORT),
    (b"%PDF-", "a PDF document", EXPORT),
    (b"\x89PNG", "an image", REMOVE),
    (b"\xff\xd8\xff", "an image", REMOVE),
    (b"\x7fELF", "a program", REMOVE),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, not the data",
        "run git lfs pull and copy the file again",
    ),
];

const EXPORT: &str = "export the table as CSV or Parquet";
const UNPACK: &str = "unpack it, or give it the extension of its compression, such as .csv.gz";
pub(crate) const FEATHER_2: &str = "write it again as Feather version 2 (or as Parquet)";
const REMOVE: &str = "remove the file, or give it the extension of its content";

/// What the first bytes show of a file that is said to be text. `what` names the format in messages
/// ("CSV"); in `wide` text a letter takes two bytes or more.
///
/// # Errors
/// [`FileErrorKind::NotItsFormat`] where they are of another format, or of no text at all.
pub(crate) fn is_text(beginning: &[u8], what: &str, wide: bool) -> Result<(), Failure> {
    let beginning = &beginning[..beginning.len().min(LOOK)];
    for (magic, is, remedy) in MAGIC {
        // A few letters may well begin a line of text: then the rest must look binary as well.
        let letters = magic.len() <= 6 && magic.iter().all(u8::is_ascii_graphic);
        if beginning.starts_with(magic) && (!letters || looks_binary(beginning)) {
            return Err(not(what, is).with_remedy(remedy));
        }
    }
    if is_page(beginning) {
        return Err(not(what, PAGE).with_remedy(DOWNLOAD));
    }
    if !wide && looks_binary(beginning) {
        return Err(not(what, "binary (it looks like no text)").with_remedy(REMOVE));
    }
    Ok(())
}

/// What a file is that begins like this and is not of the format that its name says.
pub(crate) fn not_its_format(beginning: &[u8], what: &str) -> Failure {
    let beginning = &beginning[..beginning.len().min(LOOK)];
    for (magic, is, remedy) in MAGIC {
        if beginning.starts_with(magic) {
            return not(what, is).with_remedy(remedy);
        }
    }
    if is_page(beginning) {
        return not(what, PAGE).with_remedy(DOWNLOAD);
    }
    if utf16(beginning).is_some() || !looks_binary(beginning) {
        return not(what, "text").with_remedy(REMOVE);
    }
    Failure::new(
        FileErrorKind::NotItsFormat,
        format!("it is named as {what} but is not"),
    )
}

const PAGE: &str = "an HTML or XML document";
const DOWNLOAD: &str =
    "download the data itself (a page in its place is often a login or an error)";

fn not(what: &str, is: &str) -> Failure {
    Failure::new(
        FileErrorKind::NotItsFormat,
        format!("it is named as {what} but is {is}"),
    )
}

fn is_page(beginning: &[u8]) -> bool {
    let start = beginning.trim_ascii_start();
    let starts = |tag: &str| {
        start
            .get(..tag.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(tag.as_bytes()))
    };
    ["<!doctype", "<html", "<?xml", "<head>"]
        .iter()
        .any(|tag| starts(tag))
}

/// Whether text that is said to be something else is JSON, as its beginning surely shows. `what`
/// names the format.
///
/// # Errors
/// [`FileErrorKind::NotItsFormat`] where it is.
pub(crate) fn is_no_json(text: &[u8], what: &str) -> Result<(), Failure> {
    match json_named(text) {
        Some(extension) => {
            Err(not(what, "JSON").with_remedy(format!("rename the file to {extension}")))
        }
        None => Ok(()),
    }
}

/// The format that the first bytes of a file surely show, of those that are no text.
pub(crate) fn format_of(beginning: &[u8]) -> Option<Format> {
    let formats: [(&[u8], Format); 4] = [
        (b"PAR1", Format::Parquet),
        (b"Obj\x01", Format::Avro),
        (b"ARROW1", Format::Arrow),
        (b"ORC", Format::Orc),
    ];
    let shown = formats
        .iter()
        .find(|(magic, _)| beginning.starts_with(magic));
    let is_binary = looks_binary(&beginning[..beginning.len().min(LOOK)]);
    shown.map(|(_, format)| *format).filter(|_| is_binary)
}

/// Whether a text surely is JSON, be it objects one right behind another.
pub(crate) fn is_json(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_next = |next: Option<serde_json::Result<IgnoredAny>>| match next {
        Some(Ok(_)) => true,
        Some(Err(error)) => error.is_eof(),
        None => false,
    };
    let mut are_objects =
        || text.starts_with(b"{\"") && is_next(values.next()) && is_next(values.next());
    json_named(text).is_some() || are_objects()
}

/// The extension for a text that surely is JSON: its first object, or array of objects, is one to
/// the end or as far as it is looked at, and nothing but others on lines of their own follow. A
/// cell that looks like an object is followed by a delimiter.
pub(crate) fn json_named(text: &[u8]) -> Option<&'static str> {
    let text = without_bom(text).trim_ascii_start();
    let text = text.get(..HEAD).unwrap_or(text);
    let begins = text.first()?;
    let inner = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    let inner = inner.strip_prefix(b"{")?.trim_ascii_start();
    if !inner.starts_with(b"\"") {
        return None;
    }
    let plain = as_null(text);
    let text = plain.as_deref().unwrap_or(text);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    match values.next()? {
        Ok(_) => {
            let rest = text.get(values.byte_offset()..)?;
            let next = rest.trim_ascii_start();
            let between = rest.get(..rest.len() - next.len())?;
            let is_below = between.iter().any(|byte| b"\n\r".contains(byte));
            match next.first() {
                None => Some(".json"),
                Some(next) => (is_below && next == begins).then_some(".jsonl"),
            }
        }
        Err(error) => error.is_eof().then_some(".json"),
    }
}

/// NUL bytes, or more than a few control characters.
fn looks_binary(bytes: &[u8]) -> bool {
    let control = |b: &&u8| matches!(b, 0x01..=0x08 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    bytes.contains(&0) || bytes.iter().filter(control).count() * 50 > bytes.len()
}

/// The bytes after a UTF-8 byte order mark.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn cause(bytes: &[u8]) -> Option<String> {
        is_text(bytes, "CSV", false)
            .err()
            .map(|failure| failure.about("x.csv").to_string())
    }

    #[test]
    fn other_formats_are_named() {
        assert!(cause(b"PK\x03\x04\x14\0\x06\0").unwrap().contains("zip"));
        assert!(cause(b"\x1f\x8b\x08\0").unwrap().contains("unpack it"));
        assert!(cause(b"PAR1\x15\x04").unwrap().contains("rename"));
        assert!(cause(b"  <!DOCTYPE html><html>").unwrap().contains("HTML"));
        assert!(
            cause(b"version https://git-lfs.github.com/spec/v1\noid sha256:0")
                .unwrap()
                .contains("git lfs pull")
        );
        assert!(cause(b"a\0b\0c\0").unwrap().contains("binary"));
        assert!(cause(&[3, 4, 5, 6, 200, 201]).unwrap().contains("binary"));
    }

    #[test]
    fn json_is_distinguished_from_cells_that_look_like_it() {
        for (text, extension) in [
            ("{\"a\": 1}\n{\"a\": 2}\n", ".jsonl"),
            ("\u{feff}{\"a\": NaN}\r\n{\"a\": 2}", ".jsonl"),
            ("[{\"a\": 1, \"b\": \"x,y\"}, {\"a\": 2}]", ".json"),
            (" [\n  {\n    \"a\": 1\n  },\n  { \"a\": 2 }\n]\n", ".json"),
            ("{\n \"a\": 1\n}\n", ".json"),
            ("[{\"a\": 1}, {\"a\": 2}, {\"a", ".json"),
        ] {
            assert_eq!(json_named(text.as_bytes()), Some(extension), "{text}");
            let failure = is_no_json(text.as_bytes(), "CSV").unwrap_err();
            let line = failure.about("x.csv").to_string();
            let wanted = format!("named as CSV but is JSON; rename the file to {extension}");
            assert!(line.ends_with(&wanted), "{line}");
        }
        let long = format!("[{}{{\"a\": 0}}]", "{\"a\": 1},\n".repeat(2000));
        assert_eq!(json_named(long.as_bytes()), Some(".json"));
        let cell = format!("{{\"a\": \"{}\"}}", "x".repeat(10 << 10));
        let long = format!("{cell}\t1\n{cell}\t2\n");
        assert_eq!(json_named(long.as_bytes()), None);
        for text in [
            "",
            "a,b\n1,2\n",
            "{\"a\": 1},x,y\n{\"a\": 2},z,w\n",
            "{\"a\": 1}\tx\n{\"a\": 2}\tz\n",
            "{\"a\": 1}\t{\"b\": 1}\n{\"a\": 2}\t{\"b\": 2}\n",
            "[{\"a\": 1}],x\n[{\"a\": 2}],y\n",
            "{\"id\",\"name\"}\n1,2\n",
            "{\"a\": 1}\n1\n2\n",
            "{\"a\n1,2\n",
            "{a},{b}\n1,2\n",
            "[a],[b]\n1,2\n",
            "\"{\"\"a\"\": 1}\",x\n",
        ] {
            assert_eq!(json_named(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn text_is_text() {
        for text in [
            "id,name\n1,a\n",
            "ORCID,name\n",
            "BZh,x\n",
            "<b>,x\n",
            "é,ü\n",
            "a\u{1b}[0m,b\r\n",
        ] {
            assert_eq!(cause(text.as_bytes()), None, "{text}");
        }
        assert_eq!(cause(b"caf\xe9,na\xefve\n"), None, "Latin-1 is text");
        assert!(is_text(b"\xff\xfea\0,\0b\0\n\0", "CSV", true).is_ok());
    }
}
