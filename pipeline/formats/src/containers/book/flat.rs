//! OpenDocument sheets that calamine does not take as they are: flat ones (`.fods`), which lie in
//! no archive, and those of programs that write white space between cells.
//!
//! The document is written anew into an archive of its own, without what stands outside of
//! paragraphs and without drawings, which may hold tables that are no sheets. What a cell means is
//! not looked at here.

use std::io::{Cursor, Write};

use bytes::Bytes;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, Writer};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{damaged, no_spreadsheet};
use crate::Failure;
use crate::error::FileErrorKind;

/// Said in every OpenDocument's first element.
const NAMESPACE: &[u8] = b"urn:oasis:names:tc:opendocument:xmlns:office:1.0";
/// Where it is looked for.
const LOOK: usize = 16 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const MIME_TYPE: &str = "application/vnd.oasis.opendocument.spreadsheet";

/// Whether a file is an OpenDocument that is not packed.
pub(super) fn is_flat(bytes: &[u8]) -> bool {
    let begun = &bytes[..bytes.len().min(LOOK)];
    let text = begun.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begun);
    text.trim_ascii_start().starts_with(b"<")
        && begun.windows(NAMESPACE.len()).any(|it| it == NAMESPACE)
}

/// An archive with a document of sheets.
///
/// # Errors
/// It is damaged, or of another kind.
pub(super) fn packed(document: &[u8]) -> Result<Bytes, Failure> {
    let content = squeezed(document)?;
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, part) in [
        ("mimetype", MIME_TYPE.as_bytes()),
        ("META-INF/manifest.xml", b"<manifest/>"),
        ("content.xml", &content),
    ] {
        archive
            .start_file(name, options)
            .map_err(|error| no_spreadsheet(&error))?;
        archive
            .write_all(part)
            .map_err(|error| no_spreadsheet(&error))?;
    }
    let archive = archive.finish().map_err(|error| no_spreadsheet(&error))?;
    Ok(archive.into_inner().into())
}

fn squeezed(document: &[u8]) -> Result<Vec<u8>, Failure> {
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    let mut reader = Reader::from_reader(document);
    let mut writer = Writer::new(Vec::new());
    let (mut event, mut skipped) = (Vec::new(), Vec::new());
    let (mut depth, mut paragraphs, mut has_sheets) = (0u64, 0u64, false);
    loop {
        event.clear();
        let read = reader.read_event_into(&mut event);
        let event = read.map_err(|error| no_spreadsheet(&error))?;
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        match &event {
            Event::Start(element) if is_drawing(element) => {
                let end = reader.read_to_end_into(element.name(), &mut skipped);
                end.map_err(|error| no_spreadsheet(&error))?;
                depth -= 1;
                continue;
            }
            Event::Empty(element) if is_drawing(element) => continue,
            Event::Start(element) if element.name().0 == "text:p" => paragraphs += 1,
            Event::Start(element) if element.name().0 == "office:spreadsheet" => has_sheets = true,
            Event::End(element) if element.name().0 == "text:p" => {
                paragraphs = paragraphs.saturating_sub(1);
            }
            Event::Text(_) | Event::GeneralRef(_) if paragraphs == 0 => continue,
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => continue,
            Event::Eof if depth > 0 => return Err(damaged("content ends early")),
            Event::Eof if has_sheets => return Ok(writer.into_inner()),
            Event::Eof => return Err(another_document()),
            _ => {}
        }
        let written = writer.write_event(event);
        written.map_err(|error| no_spreadsheet(&error))?;
    }
}

fn is_drawing(element: &BytesStart<'_>) -> bool {
    let name = element.name().0;
    name == "table:shapes" || name.starts_with("draw:")
}

pub(super) fn another_document() -> Failure {
    let cause = "it is named as a spreadsheet but is another OpenDocument";
    let failure = Failure::new(FileErrorKind::NotItsFormat, cause);
    failure.with_remedy("give it the extension of its content")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn squeezed_text(document: &str) -> String {
        String::from_utf8(squeezed(document.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn what_stands_between_cells_goes_and_their_text_stays() {
        let pretty = "\u{feff}<?xml version=\"1.0\"?>\n<office:spreadsheet>\n  <!-- x -->\n <table:shapes><draw:frame>\
            <table:table><text:p>drawn</text:p></table:table></draw:frame></table:shapes>\n <table:table-cell>\n  \
            <text:p>a &lt;b <text:s/>\n c</text:p>\n <draw:frame/></table:table-cell>\n</office:spreadsheet>\n";
        let expected = "<office:spreadsheet><table:table-cell><text:p>a &lt;b <text:s/>\n c</text:p></table:table-cell></office:spreadsheet>";
        assert_eq!(squeezed_text(pretty), expected);
    }

    #[test]
    fn what_is_damaged_or_no_spreadsheet_is_refused() {
        for (document, words) in [
            ("<office:text/>", "another OpenDocument"),
            (
                "<office:spreadsheet><a></b></office:spreadsheet>",
                "no spreadsheet",
            ),
            ("<office:spreadsheet", "no spreadsheet"),
            ("<office:spreadsheet><a>", "ends early"),
        ] {
            let failure = squeezed(document.as_bytes()).unwrap_err();
            assert!(failure.cause().contains(words), "{}", failure.cause());
        }
    }
}
