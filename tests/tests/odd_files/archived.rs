//! Archives: what lies in them is read as if it lay beside them.

use std::io::{Cursor, Write};

use zip::CompressionMethod::{self, Deflated, Stored};

use super::{Odd, ignores, reads, refuses};

const TEXT: &[u8] = b"id,name\n1,ada\n2,bob\n3,cyd\n";
/// A database of cities and persons.
const BASE: &[u8] = include_bytes!("../../fuzz/seeds/sqlite/tables");
const COLUMNS: &str = "id:integer name:text";

fn zip(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, content) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
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

/// With this bit set in the flags of all members.
fn flagged(mut archive: Vec<u8>, bit: u8) -> Vec<u8> {
    for (mark, flags) in [(&b"PK\x03\x04"[..], 6), (b"PK\x01\x02", 8)] {
        let starts: Vec<usize> = (0..archive.len() - 4)
            .filter(|at| &archive[*at..at + 4] == mark)
            .collect();
        for at in starts {
            archive[at + flags] |= bit;
        }
    }
    archive
}

pub fn files() -> Vec<Odd> {
    let one: &[(&str, &[u8])] = &[("people.csv", TEXT)];
    let of_people =
        |path: &str, content: Vec<u8>| reads(path, content, COLUMNS, 3).within("//people.csv");
    let deflated = zip(one, Deflated);
    let mut damaged = deflated.clone();
    damaged[45] ^= 0x55;
    let mut altered = zip(one, Stored);
    altered[45] ^= 1;
    let mut after_another = b"#!/bin/sh\nexit 0\n".to_vec();
    after_another.extend(&deflated);
    let (packed, nested) = (gz(TEXT), zip(one, Stored));
    let beside: &[(&str, &[u8])] = &[
        ("README.md", b"words"),
        ("__MACOSX/._people.csv", b"x"),
        ("deep/er/people.csv.gz", &packed),
    ];
    let zeros = vec![b'0'; 64 << 20];
    let bomb = zip(&[("bomb.csv", &zeros)], Deflated);
    let packed_bomb = gz(&tar(&[("bomb.csv", &zeros)]));
    let whole = tar(&[("people.csv", TEXT), ("more.csv", &TEXT.repeat(100))]);
    vec![
        of_people("deflated.zip", deflated.clone()),
        of_people("STORED.ZIP", zip(one, Stored)),
        of_people("plain.tar", tar(one)),
        of_people("packed.tar.gz", gz(&tar(one))),
        of_people("packed.tgz", gz(&tar(one))),
        of_people(
            "packed.tar.zst",
            zstd::encode_all(&tar(one)[..], 3).unwrap(),
        ),
        of_people("starter.zip", after_another),
        reads("deep.zip", zip(beside, Deflated), COLUMNS, 3).within("//deep/er/people.csv.gz"),
        reads("deep.tar", tar(beside), COLUMNS, 3).within("//deep/er/people.csv.gz"),
        reads(
            "lines.zip",
            zip(&[("lines.jsonl", b"{\"id\": 1}\n{\"id\": 2}\n")], Deflated),
            "id:integer",
            2,
        )
        .within("//lines.jsonl"),
        reads(
            "emoji.zip",
            zip(&[("\u{1f600} a%2Fb.csv", TEXT)], Deflated),
            COLUMNS,
            3,
        )
        .within("//\u{1f600} a%2Fb.csv"),
        ignores("empty.zip", zip(&[], Stored)),
        ignores("pictures.zip", zip(&[("a.png", b"\x89PNG")], Stored)),
        ignores("texts.tar", tar(&[("README.md", b"words")])),
        refuses("encrypted.zip", flagged(deflated.clone(), 1), "encrypted").within("//people.csv"),
        refuses(
            "nested.zip",
            zip(&[("in.zip", &nested)], Stored),
            "archive within an archive",
        )
        .within("//in.zip"),
        reads(
            "base.zip",
            zip(&[("deep/t.sqlite", BASE)], Deflated),
            "id:integer name:text since:date",
            2,
        )
        .within("//deep/t.sqlite//city"),
        reads(
            "base.tar.gz",
            gz(&tar(&[("t.db", BASE)])),
            "who:text town:text",
            2,
        )
        .within("//t.db//both"),
        ignores("other.zip", zip(&[("t.db", b"some program's")], Deflated)),
        refuses(
            "nobase.zip",
            zip(&[("t.sqlite", b"words")], Deflated),
            "does not begin as SQLite",
        )
        .within("//t.sqlite"),
        refuses(
            "nobook.tar",
            tar(&[("t.xlsx", b"words")]),
            "text without columns",
        )
        .within("//t.xlsx"),
        refuses(
            "outside.zip",
            zip(&[("../out.csv", TEXT)], Stored),
            "leads out",
        )
        .within("//../out.csv"),
        refuses(
            "root.zip",
            zip(&[("/etc/out.csv", TEXT)], Stored),
            "absolute path",
        )
        .within("///etc/out.csv"),
        refuses("damaged.zip", damaged, "").within("//people.csv"),
        refuses("altered.zip", altered, "checksum").within("//people.csv"),
        refuses("cut.zip", &deflated[..deflated.len() - 30], ""),
        refuses("no.zip", "these are words", ""),
        refuses("zero.zip", "", ""),
        refuses("no.tar", "these are words", ""),
        refuses("early.tar.gz", &gz(&whole)[..100], ""),
        refuses("bomb.zip", bomb, "times its size"),
        refuses("bomb.tgz", packed_bomb, ""),
    ]
}
