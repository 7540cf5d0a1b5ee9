//! Spreadsheet files. The first byte chooses the kind; inputs with an odd one are the file's parts, which the target packs
//! (into an archive; those of `.xls`, of which there is one, into a compound file), so that no checksum, no compression and
//! no chain of sectors keeps a change from the reader.
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
    ("t.ods", &["content.xml", "META-INF/manifest.xml"]),
    ("t.fods", &["content.xml"]),
    ("t.xls", &[]),
];
/// Ends a chain of sectors.
const END: u32 = 0xffff_fffe;
/// What stands between two parts.
const BETWEEN: &[u8] = b"\xff--\xff";

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [first, content @ ..] = content {
        let (name, parts) = KINDS[usize::from(first / 2) % KINDS.len()];
        match first % 2 {
            0 => limn_fuzz::read_container(name, content),
            _ if name == "t.xls" => limn_fuzz::read_container(name, &compound(content)),
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

/// The input as the one stream of a compound file, `Workbook`, in sectors of 512 bytes.
fn compound(content: &[u8]) -> Vec<u8> {
    let length = content.len().max(4096).div_ceil(512);
    let tables = (1..).find(|tables| tables * 128 > tables + length);
    let tables = tables.expect("some number is large enough");
    let numbers =
        |numbers: &[u32]| -> Vec<u8> { numbers.iter().flat_map(|it| it.to_le_bytes()).collect() };
    let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    file.resize(30, 0);
    file.resize(48, 9);
    file[31..48].fill(0);
    let (directory, start) = (tables as u32, tables as u32 + 1);
    file.extend(numbers(&[directory, 0, 4096, END, 0, END, 0]));
    file.extend((0..directory).flat_map(u32::to_le_bytes));
    file.resize(512, 0xff);
    let mut next = vec![0xffff_fffd; tables];
    next.push(END);
    next.extend(start + 1..start + length as u32);
    next.push(END);
    next.resize(tables * 128, u32::MAX);
    file.extend(numbers(&next));
    for (name, kind, child, start, size) in [
        ("Root Entry", 5, 1, END, 0),
        ("Workbook", 2, u32::MAX, start, length as u32 * 512),
    ] {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        entry.resize(64, 0);
        entry.extend([name.len() as u8 * 2 + 2, 0, kind, 1]);
        entry.extend(numbers(&[u32::MAX, u32::MAX, child]));
        entry.resize(116, 0);
        entry.extend(numbers(&[start, size, 0]));
        file.extend(entry);
    }
    file.resize(512 * (tables + 2), 0);
    file.extend(content);
    file.resize(512 * (tables + 2 + length), 0);
    file
}
