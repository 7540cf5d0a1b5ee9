//! Compressed text.

use std::io::Write;

use super::{Odd, ignores, reads, refuses};

const TEXT: &str = "id,name\n1,ada\n2,bob\n3,cyd\n";
const COLUMNS: &str = "id:integer name:text";

type Pack = fn(&[u8]) -> Vec<u8>;

fn gz(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

fn bz2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub fn files() -> Vec<Odd> {
    let packs: [(&str, Pack); 4] = [("gz", gz), ("zst", zst), ("bz2", bz2), ("xz", xz)];
    let mut files = vec![
        reads("PEOPLE.CSV.GZ", gz(TEXT.as_bytes()), COLUMNS, 3),
        reads(
            "people.json.gzip",
            gz(b"[{\"id\": 1}, {\"id\": 2}]"),
            "id:integer",
            2,
        ),
        reads("not_really.csv.gz", TEXT, COLUMNS, 3),
        reads("unnamed.csv", gz(TEXT.as_bytes()), COLUMNS, 3),
        reads(
            "utf16.csv.gz",
            gz(&TEXT
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>()),
            COLUMNS,
            3,
        ),
        refuses(
            "twice.csv.gz",
            gz(&gz(TEXT.as_bytes())),
            "compressed with gzip",
        ),
        refuses("nothing.csv.gz", gz(b""), "nothing in it"),
        refuses(
            "head_only.csv.gz",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(),
            "ends early",
        ),
        refuses("binary.csv.gz", gz(&[0, 1, 2, 3].repeat(300)), "binary"),
        refuses(
            "page.csv.gz",
            gz(b"<!DOCTYPE html><html><body>log in</body></html>"),
            "HTML",
        ),
        refuses("wide_window.csv.zst", wide_window(), "damaged"),
        ignores("lonely.gz", gz(TEXT.as_bytes())),
        ignores("data.parquet.gz", gz(b"PAR1")),
    ];
    for (extension, pack) in packs {
        let whole = pack(TEXT.as_bytes());
        files.push(reads(
            &format!("people.csv.{extension}"),
            whole.clone(),
            COLUMNS,
            3,
        ));
        files.push(reads(
            &format!("lines.jsonl.{extension}"),
            pack(b"{\"id\": 1, \"name\": \"ada\"}\n{\"id\": 2, \"name\": \"bob\"}\n"),
            COLUMNS,
            2,
        ));
        let twice = [pack(b"id,name\n1,ada\n"), pack(b"2,bob\n")].concat();
        files.push(reads(
            &format!("streams.csv.{extension}"),
            twice,
            COLUMNS,
            2,
        ));
        let cut = whole[..whole.len() - 7].to_vec();
        files.push(refuses(&format!("cut.csv.{extension}"), cut, "ends early"));
        let many: String = (0..9_000)
            .map(|id| format!("{id},name {}\n", id * 7919 % 9973))
            .collect();
        let mut broken = pack(many.as_bytes());
        let middle = broken.len() / 2;
        for byte in &mut broken[middle..middle + 40] {
            *byte ^= 0x5a;
        }
        files.push(refuses(
            &format!("broken.csv.{extension}"),
            broken,
            "damaged",
        ));
    }
    // 100 MB of a letter.
    let trap = vec![b'a'; 100_000_000];
    files.push(refuses("trap.csv.gz", gz(&trap), "1000 times"));
    files.push(refuses("trap.csv.zst", zst(&trap), "1000 times"));
    files
}

/// A frame that asks for 2 GiB of memory.
fn wide_window() -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(TEXT.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
