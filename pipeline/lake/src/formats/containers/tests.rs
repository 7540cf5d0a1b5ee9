#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::io::{Cursor, Write};

use super::*;
use crate::object::TableName;
use crate::summary::FileSummary;

mod book;
mod sqlite;

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

async fn open(path: &str, bytes: Vec<u8>) -> (Store, Result<Opened, FileError>) {
    let store = Store::in_memory();
    let container = ObjectRecord {
        path: path.into(),
        etag: Some("e".into()),
        version: None,
        size: bytes.len() as u64,
        modified_ms: 7,
    };
    store.put(path, bytes.into()).await.unwrap();
    let opened = open_container(&store, &container, &ReadOptions::default()).await;
    (store, opened)
}

async fn read(store: &Store, object: &ObjectRecord) -> Result<FileSummary, FileError> {
    let file = DataFile {
        object: object.clone(),
        format: Format::of_path(&object.path).unwrap(),
        table_name: TableName::parse("t").unwrap(),
        is_beside: false,
    };
    crate::summarise_file(store, &file, &ReadOptions::default()).await
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
        assert!(opened.refused.is_empty());
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
    let members: [(&str, &[u8]); 5] = [
        ("../out.csv", b"a\n1\n"),
        ("/root.csv", b"a\n1\n"),
        ("in.zip", b"PK"),
        ("..\\win.csv", b"a\n1\n"),
        ("good.csv", b"a\n1\n"),
    ];
    let (store, opened) = open("x.zip", zip(&members, ::zip::CompressionMethod::Deflated)).await;
    let opened = opened.unwrap();
    assert_eq!(opened.refused.len(), 4, "{:?}", opened.refused);
    assert_eq!(opened.members.len(), 1);
    let version = opened.members[0].version.as_deref().unwrap();
    assert!(version.starts_with("members=?"), "{version}");
    assert_eq!(read(&store, &opened.members[0]).await.unwrap().rows, 1);
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
async fn lengths_that_lie_are_told() {
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
