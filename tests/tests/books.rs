//! Spreadsheets, read by the real binary in a process apart: whatever a book is like, it costs
//! itself, a while, and memory within bounds.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use limn_tests::{index_hashed, index_hashed_command, measured};
use tempfile::TempDir;

/// What the process may take by its own limit, and what is not its own memory.
const MOST_MEMORY: u64 = (1 << 30) + (256 << 20);
/// Time of a run; one of the books takes all the processor time that one may.
const MOST_TIME: Duration = Duration::from_secs(150);

/// A file that another program wrote (`pipeline/formats/tests/data`).
fn data(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../pipeline/formats/tests/data"
    );
    fs::read(format!("{folder}/{name}")).unwrap()
}

fn zip(parts: &[(&str, &[&[u8]])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, pieces) in parts {
        writer.start_file(*name, options).unwrap();
        for piece in *pieces {
            writer.write_all(piece).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// A sheet of one cell, whose number has two thousand million digits.
fn digits() -> Vec<u8> {
    let zeros = vec![b'0'; 1 << 20];
    let mut sheet: Vec<&[u8]> = vec![b"<worksheet><sheetData><row r=\"1\"><c r=\"A1\"><v>"];
    sheet.extend(std::iter::repeat_n(&zeros[..], 2000));
    sheet.push(b"</v></c></row></sheetData></worksheet>");
    let workbook = br#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>"#;
    let relations = br#"<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/s.xml"/></Relationships>"#;
    let package = br#"<Relationships><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    zip(&[
        ("_rels/.rels", &[package]),
        ("xl/workbook.xml", &[workbook]),
        ("xl/_rels/workbook.xml.rels", &[relations]),
        ("xl/worksheets/s.xml", &sheet),
    ])
}

/// An OpenDocument whose sheets are these.
fn document(tables: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet>{tables}</office:spreadsheet>"
    );
    zip(&[
        (
            "mimetype",
            &[b"application/vnd.oasis.opendocument.spreadsheet"],
        ),
        ("META-INF/manifest.xml", &[b"<m/>"]),
        ("content.xml", &[content.as_bytes()]),
    ])
}

fn text(length: usize) -> String {
    let text = "x".repeat(length);
    format!(
        r#"<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>"#
    )
}

/// A row that is there as often as numbers can say.
fn rows() -> Vec<u8> {
    document(&format!(
        r#"<table:table table:name="a"><table:table-row table:number-rows-repeated="18446744073709551615">{}{}</table:table-row></table:table>"#,
        text(1),
        text(1000),
    ))
}

/// A sheet without an end, of which the library waits for ever.
fn endless() -> Vec<u8> {
    document(&format!(
        r#"<table:table table:name="a"><table:table-row>{}</table:table-row>"#,
        text(1)
    ))
}

/// A book of Excel 97 with these bytes in the place of others.
fn damaged(find: &[u8], skip: usize, bytes: &[u8]) -> Vec<u8> {
    let mut book = data("sheetjs.xls");
    let at = book.windows(find.len()).position(|it| it == find).unwrap() + skip;
    book[at..at + bytes.len()].copy_from_slice(bytes);
    book
}

/// A lake in which each book has a folder, with a table beside it.
fn lake(books: &BTreeMap<String, Vec<u8>>) -> TempDir {
    let lake = TempDir::new().unwrap();
    for (path, book) in books {
        let place = lake.path().join(path);
        let folder = place.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("t.csv"), "a,b\n1,2\n").unwrap();
        fs::write(place, book).unwrap();
    }
    lake
}

#[test]
fn books_that_ask_too_much_cost_themselves() {
    // The record of a sheet's size, which claims all rows that a number can say.
    let claims = damaged(&[0, 2, 14, 0], 8, &[0xff; 4]);
    let books = [
        ("digits.xlsx", digits()),
        ("rows.ods", rows()),
        ("endless.ods", endless()),
        ("claims.xls", claims),
    ];
    let books = books.map(|(name, book)| (format!("{name}.d/{name}"), book));
    let books = BTreeMap::from(books);
    let (lake, folder) = (lake(&books), TempDir::new().unwrap());
    let index = folder.path().join("index");
    let begun = Instant::now();
    let (run, memory) = measured(&index_hashed_command(lake.path(), &index, &[]));
    let took = begun.elapsed();
    let report = run.json();
    println!("{:#}\n{took:?}, {} MiB", report["failures"], memory >> 20);
    run.code_is(1);
    assert!(took < MOST_TIME, "took {took:?}");
    assert!(memory < MOST_MEMORY, "{} MiB", memory >> 20);
    assert_eq!(report["tables"]["added"], books.len(), "{report}");
    let failures = report["failures"].as_array().unwrap();
    for path in books.keys() {
        let mut failures = failures.iter();
        let failure = failures.find(|it| it["object"].as_str().unwrap().contains(path.as_str()));
        let failure = failure.unwrap_or_else(|| panic!("{path}: {report}"));
        let error = failure["error"].as_str().unwrap();
        let reasons = ["more memory or time", "no spreadsheet"];
        assert!(
            reasons.iter().any(|it| error.contains(it)),
            "{path}: {error}"
        );
    }
    // They are not read again while they are unchanged.
    let begun = Instant::now();
    index_hashed(lake.path(), &index, &[]).code_is(0);
    assert!(
        begun.elapsed() < took / 2,
        "{:?} of {took:?}",
        begun.elapsed()
    );
}

#[test]
fn cut_and_flipped_books_cost_themselves() {
    let mut books = BTreeMap::new();
    for name in [
        "odfpy.ods",
        "sheetjs.fods",
        "sheetjs.xls",
        "sheetjs95.xls",
        "sheetjs.xlsb",
        "sheetjs.xlsx",
    ] {
        let book = data(name);
        for at in (20..book.len()).step_by(book.len() / 12) {
            let mut flipped = book.clone();
            flipped[at] ^= 0xff;
            books.insert(format!("{name}/{at}/flipped-{name}"), flipped);
            books.insert(format!("{name}/{at}c/cut-{name}"), book[..at].to_vec());
        }
    }
    let (lake, folder) = (lake(&books), TempDir::new().unwrap());
    let index = folder.path().join("index");
    let (run, memory) = measured(&index_hashed_command(lake.path(), &index, &[]));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(memory < MOST_MEMORY, "{} MiB", memory >> 20);
    let report = run.json();
    let failures = report["failures"].to_string();
    assert!(!failures.contains("t.csv"), "{failures}");
    assert!(failures.contains("cut-sheetjs.xlsx"), "{failures}");
    let added = report["tables"]["added"].as_u64().unwrap();
    assert!(added as usize >= 12, "{report}");
}
