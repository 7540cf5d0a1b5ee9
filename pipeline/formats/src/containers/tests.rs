#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::io::{Cursor, Write};

use limn_profile::FileSummary;

use super::*;
use crate::{OpenContainers, answer_book};

mod book;
mod children;
mod named;
mod ods;
mod once;
mod other_programs;
mod sqlite;

/// What a lake says of names, as far as these tests go.
const NAMES: MemberNames = MemberNames {
    is_data: |path| Format::of_path(path).is_some() && !is_hidden(path) && !is_shared_text(path),
    is_hidden,
    is_shared_text,
};

fn is_shared_text(path: &str) -> bool {
    path.ends_with("datapackage.json")
}

fn is_hidden(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with(['.', '_', '~']))
}

const PEOPLE: &str = "id,name\n1,ada\n2,bob\n3,cyd\n";

fn zip(members: &[(&str, &[u8])], method: ::zip::CompressionMethod) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, content) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Spreadsheets are opened in this process.
fn options() -> ReadOptions {
    ReadOptions {
        containers: OpenContainers::opened_here(64 << 20, |given| answer_book(given)),
        ..ReadOptions::default()
    }
}

async fn open(path: &str, bytes: Vec<u8>) -> (Store, Result<Listed, FileError>) {
    let store = Store::in_memory();
    let container = ObjectRecord {
        path: path.into(),
        etag: Some("e".into()),
        version: None,
        size: bytes.len() as u64,
        modified_ms: 7,
    };
    store.put(path, bytes.into()).await.unwrap();
    let opened = open_container(&store, &container, NAMES, &options()).await;
    (store, opened)
}

/// Why members cannot be read, of those that cannot.
fn refusals(opened: &Listed) -> Vec<FileError> {
    opened.members.iter().filter_map(member::refusal).collect()
}

async fn read(store: &Store, object: &ObjectRecord) -> Result<FileSummary, FileError> {
    read_with(store, object, &options()).await
}

async fn read_with(
    store: &Store,
    object: &ObjectRecord,
    options: &ReadOptions,
) -> Result<FileSummary, FileError> {
    let file = DataFile {
        object: object.clone(),
        format: Format::of_path(&object.path).unwrap_or(Format::Archive),
        sample_path: String::new(),
        is_beside: false,
        is_alone: false,
        declared: None,
    };
    crate::summarise_file(store, &file, options).await
}

#[tokio::test]
async fn members_read_as_they_would_beside_their_archive() {
    let packed = gz(PEOPLE.as_bytes());
    let members: [(&str, &[u8]); 5] = [
        ("a/people.csv", PEOPLE.as_bytes()),
        ("packed.csv.gz", &packed),
        ("README.md", b"words"),
        ("__MACOSX/._people.csv", b"x"),
        ("lines.jsonl", b"{\"id\": 1}\n{\"id\": 2}\n"),
    ];
    let archives = [
        ("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)),
        ("x.zip", zip(&members, ::zip::CompressionMethod::Stored)),
        ("x.tar", tar(&members)),
        ("x.tgz", gz(&tar(&members))),
        (
            "x.tar.zst",
            zstd::encode_all(&tar(&members)[..], 3).unwrap(),
        ),
    ];
    let alone = Store::in_memory();
    alone.put("people.csv", PEOPLE.into()).await.unwrap();
    let object = alone.head("people.csv").await.unwrap().into();
    let expected = read(&alone, &object).await.unwrap();
    for (path, bytes) in archives {
        let (store, opened) = open(path, bytes).await;
        let opened = opened.unwrap();
        let paths: Vec<&str> = opened.members.iter().map(|it| it.path.as_str()).collect();
        let names = ["a/people.csv", "lines.jsonl", "packed.csv.gz"];
        let names = names.map(|name| format!("{path}//{name}"));
        assert_eq!(paths, names);
        for (member, rows) in opened.members.iter().zip([3, 2, 3]) {
            let summary = read(&store, member).await.unwrap();
            assert_eq!(summary.rows, rows, "{}", member.path);
            if rows == 3 {
                assert_eq!(summary, expected, "{}", member.path);
            }
        }
    }
}

#[tokio::test]
async fn what_a_member_may_not_be_costs_that_member() {
    let members: [(&str, &[u8]); 6] = [
        ("../out.csv", b"a\n1\n"),
        ("/root.csv", b"a\n1\n"),
        ("in.zip", b"PK"),
        ("..\\win.csv", b"a\n1\n"),
        ("good.csv", b"a\n1\n"),
        ("datapackage.json", b"{}"),
    ];
    let (store, opened) = open("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)).await;
    let opened = opened.unwrap();
    assert_eq!((opened.total, opened.members.len()), (5, 5));
    let mut reported = Vec::new();
    for member in &opened.members {
        match read(&store, member).await {
            Ok(summary) => assert_eq!((&*member.path, summary.rows), ("x.zip//good.csv", 1)),
            Err(error) => {
                assert!(member::is_remark(&member.path), "{error}");
                assert_eq!(error.kind, FileErrorKind::Unsupported);
                reported.push(error.object);
            }
        }
    }
    let odd = ["../out.csv", "../win.csv", "/root.csv", "in.zip"];
    assert_eq!(reported, odd.map(|name| format!("x.zip//{name}")));
}

#[tokio::test]
async fn members_that_cannot_be_listed_one_by_one_are_counted() {
    let names: Vec<String> = (0..30).map(|i| format!("{i}.zip")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"PK"[..])).collect();
    let archive = zip(&members, ::zip::CompressionMethod::Stored);
    let (store, opened) = open("x.zip", archive).await;
    let opened = opened.unwrap();
    assert_eq!(opened.members.len(), MOST_LINES + 1);
    let error = read(&store, &opened.members[0]).await.unwrap_err();
    assert!(error.cause.contains("10 more members"), "{error}");
    assert_eq!(error.object, "x.zip");
    assert_eq!(opened.unopened().filter(|path| *path == "x.zip").count(), 0);
}

#[tokio::test]
async fn an_archive_without_a_table_says_so() {
    for (path, archive) in [
        (
            "x.zip",
            zip(&[("a.png", b"x")], ::zip::CompressionMethod::Stored),
        ),
        ("x.tar", tar(&[("README.md", b"words")])),
    ] {
        let (store, opened) = open(path, archive).await;
        let opened = opened.unwrap();
        assert_eq!((opened.total, opened.members.len()), (1, 1));
        assert_eq!(opened.unopened().count(), 0);
        let error = read(&store, &opened.members[0]).await.unwrap_err();
        assert_eq!((error.kind, &*error.object), (FileErrorKind::NoTable, path));
    }
}

#[tokio::test]
async fn databases_and_spreadsheets_in_archives_are_read_as_beside_them() {
    let base = sqlite::database(sqlite::SHOP);
    let sheet = book::workbook();
    let members: [(&str, &[u8]); 5] = [
        ("d/shop.sqlite", &base),
        ("book.xlsx", &sheet),
        ("broken.sqlite3", b"no database"),
        ("other.db", b"some other program's file"),
        ("people.csv", PEOPLE.as_bytes()),
    ];
    let (alone, listed) = open("shop.sqlite", base.clone()).await;
    let listed = listed.unwrap();
    let (other, sheets) = open("book.xlsx", sheet.clone()).await;
    let sheets = sheets.unwrap();
    let mut expected = Vec::new();
    for (store, members, outer) in [
        (&other, &sheets.members, ""),
        (&alone, &listed.members, "d/"),
    ] {
        // A view is read in a process of its own, which there is none of here.
        for member in members.iter().filter(|it| !it.path.ends_with("//rich")) {
            let summary = read(store, member).await.unwrap();
            expected.push((format!("{outer}{}", member.path), summary));
        }
    }
    assert!(expected.len() >= 5);
    for (path, archive) in [
        ("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)),
        ("x.zip", zip(&members, ::zip::CompressionMethod::Stored)),
        ("x.tar", tar(&members)),
        ("x.tar.gz", gz(&tar(&members))),
    ] {
        let (store, opened) = open(path, archive).await;
        let opened = opened.unwrap();
        assert_eq!(opened.total, opened.members.len() as u64);
        let mut found = Vec::new();
        for member in &opened.members {
            match read(&store, member).await {
                Ok(summary) if member.path.ends_with("people.csv") => assert_eq!(summary.rows, 3),
                Ok(summary) => {
                    let name = member::split(&member.path).unwrap().1;
                    found.push((name.to_owned(), summary));
                }
                Err(_) if member.path.ends_with("//rich") => {}
                Err(error) => {
                    assert_eq!(error.object, format!("{path}//broken.sqlite3"));
                    assert_eq!(error.kind, FileErrorKind::NotItsFormat);
                }
            }
        }
        assert_eq!(found, expected, "{path}");
        let unopened: Vec<&str> = opened.unopened().collect();
        assert_eq!(unopened, [format!("{path}//broken.sqlite3")]);
    }
}

#[tokio::test]
async fn an_archive_that_changes_while_it_is_read_is_not_mixed() {
    let folder = tempfile::TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let long = format!("id\n{}", "1\n".repeat(500));
    let base = sqlite::database(sqlite::SHOP);
    let members: [(&str, &[u8]); 2] = [("long.csv", long.as_bytes()), ("b.sqlite", &base)];
    for (name, archive) in [
        ("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)),
        ("x.tar", tar(&members)),
        ("x.tgz", gz(&tar(&members))),
    ] {
        std::fs::write(folder.path().join(name), &archive).unwrap();
        let container: ObjectRecord = store.head(name).await.unwrap().into();
        let opened = open_container(&store, &container, NAMES, &options()).await;
        let members = opened.unwrap().members;
        assert!(members.len() > 2);
        // As long, and of other bytes.
        let other: Vec<u8> = archive.iter().rev().copied().collect();
        std::fs::write(folder.path().join(name), other).unwrap();
        for member in &members {
            let error = read(&store, member).await.unwrap_err();
            assert_eq!(error.kind, FileErrorKind::Missing, "{error}");
            assert!(error.is_retryable());
        }
        let opened = open_container(&store, &container, NAMES, &options()).await;
        assert_eq!(opened.unwrap_err().kind, FileErrorKind::Missing, "{name}");
    }
}

#[tokio::test]
async fn names_in_inner_files_keep_within_the_archive() {
    assert_eq!(
        Format::of_path("a/x.zip//book.xlsx//Q1.2024"),
        Some(Format::Sheet)
    );
    assert_eq!(
        Format::of_path("x.tgz//d/b.db//orders"),
        Some(Format::Sqlite)
    );
    assert_eq!(Format::of_path("x.tgz//d/b.db"), None);
    assert_eq!(Format::of_path("x.tgz//d/b.csv"), Some(Format::Csv));
    assert_eq!(member::outside("x.zip//b.db//t"), "x.zip");
    assert_eq!(member::beside("x.zip//b.db//t", "u"), "x.zip//b.db//u");
}

#[tokio::test]
async fn bombs_and_damage_are_errors() {
    let zeros = vec![b'0'; 64 << 20];
    let (_, opened) = open("x.tgz", gz(&tar(&[("a.csv", &zeros)]))).await;
    assert!(opened.unwrap_err().cause.contains("1000 times"));
    let (_, opened) = open(
        "x.zip",
        zip(&[("a.csv", &zeros)], ::zip::CompressionMethod::Deflated),
    )
    .await;
    assert!(opened.unwrap_err().cause.contains("1000 times"));
    let two: [(&str, &[u8]); 2] = [("a.csv", PEOPLE.as_bytes()), ("b.csv", PEOPLE.as_bytes())];
    for (path, bytes) in [
        ("x.zip", zip(&two, ::zip::CompressionMethod::Deflated)),
        ("x.tar", tar(&two)),
        ("x.tgz", gz(&tar(&two))),
    ] {
        // Cut or with a flipped byte anywhere: an error or a listing, and never a panic.
        for at in 0..bytes.len().min(700) {
            let (_, cut) = open(path, bytes[..at].to_vec()).await;
            if path == "x.zip" {
                assert!(cut.is_err(), "{path} {at}");
            }
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            let (store, opened) = open(path, flipped).await;
            let no_panic = |error: &FileError| {
                assert_ne!(error.kind, FileErrorKind::Panicked, "{path} {at}: {error}");
            };
            match opened {
                Err(error) => no_panic(&error),
                Ok(opened) => {
                    for member in &opened.members {
                        if let Err(error) = read(&store, member).await {
                            no_panic(&error);
                        }
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn wrong_lengths_are_reported() {
    let mut bytes = zip(
        &[("a.csv", PEOPLE.as_bytes())],
        ::zip::CompressionMethod::Deflated,
    );
    let entry = bytes
        .windows(4)
        .rposition(|it| it == b"PK\x01\x02")
        .unwrap();
    bytes[entry + 24] ^= 1;
    let (store, opened) = open("x.zip", bytes).await;
    let member = &opened.unwrap().members[0];
    assert_eq!(
        read(&store, member).await.unwrap_err().kind,
        FileErrorKind::Corrupt
    );
}

#[tokio::test]
async fn members_that_are_read_whole_have_their_checksums() {
    use ::zip::CompressionMethod::{Deflated, Stored};
    let text = format!("id,name\n{}", "1,ada\n".repeat(2000));
    let members: [(&str, &[u8]); 2] = [
        ("a.csv", text.as_bytes()),
        ("packed.csv.gz", &gz(text.as_bytes())),
    ];
    for method in [Stored, Deflated] {
        let mut bytes = zip(&members, method);
        for (member, (name, _)) in members.iter().enumerate() {
            let is_entry = |at: &usize| bytes[*at..].starts_with(b"PK\x01\x02");
            let entry = (0..bytes.len()).filter(is_entry).nth(member).unwrap();
            bytes[entry + 16] ^= 1;
            assert!(
                bytes[entry..]
                    .windows(name.len())
                    .any(|it| it == name.as_bytes())
            );
        }
        let (store, opened) = open("x.zip", bytes).await;
        let opened = opened.unwrap();
        assert_eq!(opened.members.len(), members.len());
        for member in &opened.members {
            let error = read(&store, member).await.unwrap_err();
            assert_eq!(error.kind, FileErrorKind::Corrupt, "{method} {error}");
            assert!(error.cause.contains("checksum"), "{method} {error}");
            assert!(!error.cause.contains("gzip"), "{method} {error}");
        }
    }
}

#[tokio::test]
async fn a_stored_member_beyond_the_budget_is_read_in_parts() {
    let text = format!("id,name\n{}", "1,ada\n".repeat(20_000));
    let stored = ::zip::CompressionMethod::Stored;
    let mut bytes = zip(&[("a.csv", text.as_bytes())], stored);
    bytes[60_000] ^= 1;
    let (store, opened) = open("x.zip", bytes).await;
    let member = &opened.unwrap().members[0];
    let whole = read(&store, member).await.unwrap_err();
    assert!(whole.cause.contains("checksum"), "{whole}");
    let options = ReadOptions {
        scan_budget: 32 << 10,
        ..ReadOptions::default()
    };
    let before = store.counts().bytes_read;
    let parts = read_with(&store, member, &options).await.unwrap();
    assert!(parts.approximate && store.counts().bytes_read - before < 40 << 10);
}

#[tokio::test]
async fn damage_of_long_packed_text_is_not_called_gzip() {
    let row = |id: u32| format!("{id},{:x}\n", id.wrapping_mul(2_654_435_761));
    let text = format!("id,name\n{}", (0..20_000).map(row).collect::<String>());
    let deflated = ::zip::CompressionMethod::Deflated;
    let mut bytes = zip(&[("a.csv", text.as_bytes())], deflated);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let (store, opened) = open("x.zip", bytes.clone()).await;
    let options = ReadOptions {
        scan_budget: bytes.len() as u64,
        ..ReadOptions::default()
    };
    assert!(options.scan_budget < text.len() as u64);
    let read = read_with(&store, &opened.unwrap().members[0], &options).await;
    let error = read.unwrap_err();
    assert!(
        error.cause.starts_with("its packed data is damaged after"),
        "{error}"
    );
    assert!(!error.cause.contains("gzip"), "{error}");
}

#[tokio::test]
async fn books_that_cannot_be_opened_are_reported_one_by_one() {
    let deep = format!("{}/x.xlsx", "long".repeat(60));
    let mut names: Vec<String> = (0..30).map(|i| format!("{i}.zip")).collect();
    names.extend((0..30).map(|i| format!("{i}.xlsx")));
    names.push(deep);
    let members: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &b"PK\x03\x04"[..]))
        .collect();
    let (_, opened) = open("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)).await;
    let opened = opened.unwrap();
    let unopened: Vec<&str> = opened.unopened().collect();
    // As many of the archives within it are reported as there is room for.
    assert_eq!(unopened.len(), MOST_LINES + 31);
    for name in &names[30..] {
        assert!(
            unopened.contains(&format!("x.zip//{name}").as_str()),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_book_in_a_long_plain_archive_is_read() {
    let names: Vec<String> = (0..4000).map(|i| format!("{i}.csv")).collect();
    let text = "a\n".repeat(1000);
    let mut members: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), text.as_bytes()))
        .collect();
    let book = other_programs::data("xlwt.xls");
    members.push(("book.xls", &book));
    let archive = tar(&members);
    let (store, opened) = open("x.tar", archive).await;
    let opened = opened.unwrap();
    assert_eq!(refusals(&opened), []);
    let sales = opened.members.iter();
    let mut sales = sales.filter(|it| it.path == "x.tar//book.xls//Sales");
    assert_eq!(read(&store, sales.next().unwrap()).await.unwrap().rows, 8);
}
