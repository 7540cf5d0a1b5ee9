//! Spreadsheet files, read in this process. The first byte chooses the kind; inputs with an odd one
//! are the file's parts, which the target packs into an archive, so that no checksum and no
//! compression keeps a change from the reader. What is no kind of file is what the process that
//! reads spreadsheets would answer.
//!
//! `.xls` and OpenDocument are left out: the library takes what memory they claim, which ends the
//! process that limn has for it, and would end this one.
#![no_main]

use std::io::{Cursor, Write};

/// Kinds by extension, and the parts that a packed input of the kind has, in this order.
const KINDS: &[(&str, &[&str])] = &[
    (
        "t.xlsx",
        &[
            "xl/workbook.xml",
            "xl/_rels/workbook.xml.rels",
            "xl/worksheets/sheet1.xml",
            "xl/sharedStrings.xml",
            "xl/styles.xml",
            "xl/worksheets/sheet2.xml",
        ],
    ),
    (
        "t.xlsm",
        &[
            "xl/workbook.xml",
            "xl/_rels/workbook.xml.rels",
            "xl/worksheets/sheet1.xml",
        ],
    ),
    (
        "t.xlsb",
        &[
            "xl/workbook.bin",
            "xl/_rels/workbook.bin.rels",
            "xl/worksheets/sheet1.bin",
            "xl/sharedStrings.bin",
            "xl/styles.bin",
        ],
    ),
];
/// What stands between two parts.
const BETWEEN: &[u8] = b"\xff--\xff";

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [first, content @ ..] = content {
        let kind = usize::from(first / 2) % (KINDS.len() + 1);
        let Some((name, parts)) = KINDS.get(kind) else {
            return limn_fuzz::read_answer(content);
        };
        match first % 2 {
            0 => limn_fuzz::read_container(name, content),
            _ => limn_fuzz::read_container(name, &packed(content, parts)),
        }
    }
});

/// The parts of an input as a zip archive.
fn packed(mut content: &[u8], parts: &[&str]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for part in parts {
        let end = content.windows(BETWEEN.len()).position(|it| it == BETWEEN);
        let (this, rest) = match end {
            Some(end) => (&content[..end], &content[end + BETWEEN.len()..]),
            None => (content, &[][..]),
        };
        archive
            .start_file(*part, options)
            .expect("a part can be begun");
        archive.write_all(this).expect("memory takes it");
        content = rest;
    }
    archive.finish().expect("memory takes it").into_inner()
}
