//! Compressed text: read as what is in it, or refused in a line.

use std::io::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
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

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKS: [(&str, Pack); 4] = [("gz", gzip), ("zst", zst), ("bz2", bz2), ("xz", xz)];

fn rows(count: u32) -> String {
    let mut text = "id,name,share\n".to_owned();
    for id in 0..count {
        let mixed = id.wrapping_mul(2_654_435_761);
        text += &format!("{id},name {mixed:x},0.{:03}\n", mixed % 1000);
    }
    text
}

#[test]
fn compressed_text_is_read_as_what_is_in_it() {
    let text = rows(500);
    let plain = read("a/people.csv", text.clone());
    for (extension, pack) in PACKS {
        let packed = read(&format!("a/people.csv.{extension}"), pack(text.as_bytes()));
        assert_eq!(packed, plain, "{extension}");
        // The content says it, too.
        let packed = read("a/people.csv", pack(text.as_bytes()));
        assert_eq!(packed, plain, "{extension} by its content");
    }
    // Some servers unpack on the way.
    assert_eq!(read("a/people.csv.gz", text), plain);
    let lines = read("x.jsonl.zst", zst(b"{\"a\": 1}\n{\"a\": 2}\n"));
    assert_eq!(schema(&lines), "a:integer");
}

#[test]
fn of_several_streams_in_a_row_all_are_read() {
    let text = rows(100);
    let (head, tail) = text.as_bytes().split_at(700);
    for (extension, pack) in PACKS {
        let packed = [pack(head), pack(tail)].concat();
        let summary = read(&format!("x.csv.{extension}"), packed);
        assert_eq!(
            (summary.rows, summary.rows_exact),
            (100, true),
            "{extension}"
        );
    }
}

#[test]
fn longer_text_than_the_budget_is_read_in_the_places_where_it_would_be_read_unpacked() {
    let text = rows(40_000);
    let options = budget(64 << 10);
    let plain = read_with("x.csv", text.clone(), &options).0.unwrap();
    for (extension, pack) in PACKS {
        let packed = pack(text.as_bytes());
        // Of what is longer than the budget only the beginning could be unpacked.
        let options = budget(options.scan_budget.max(packed.len() as u64));
        if options.scan_budget == 64 << 10 {
            let summary = read_with("x.csv.zst", packed, &options).0.unwrap();
            assert_eq!(summary.sample, plain.sample, "{extension}");
            assert_eq!(summary.columns, plain.columns, "{extension}");
            assert_eq!(summary.rows, plain.rows, "{extension}");
            assert!(summary.notes[0].contains("as unpacked"), "{summary:?}");
        }
    }
    // Text that packs well: the budget holds all of the file, and not of its text.
    let dull = "a,b\n".to_owned() + &"1,x\n2,y\n".repeat(40_000);
    let plain = read_with("x.csv", dull.clone(), &options).0.unwrap();
    for (extension, pack) in PACKS {
        let (summary, counts) = read_with(
            &format!("x.csv.{extension}"),
            pack(dull.as_bytes()),
            &options,
        );
        let summary = summary.unwrap();
        assert_eq!(summary.sample, plain.sample, "{extension}");
        assert_eq!(summary.columns, plain.columns, "{extension}");
        assert_eq!(summary.rows, plain.rows, "{extension}");
        assert!(counts.bytes_read <= options.scan_budget);
    }
}

#[test]
fn a_compressed_file_beyond_the_budget_is_read_from_its_beginning() {
    let text = rows(60_000);
    for (extension, pack) in PACKS {
        let packed = pack(text.as_bytes());
        let limit = packed.len() as u64 / 3;
        let (summary, counts) = read_with(&format!("x.csv.{extension}"), packed, &budget(limit));
        // A decoder that wants a whole block before it says anything has nothing to say.
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => panic!("{extension}: {error}"),
        };
        assert_eq!(counts.bytes_read, limit);
        assert!(summary.approximate && !summary.rows_exact);
        // Decoders take in a block before they give its text, and there are few blocks in so
        // little.
        assert!(
            (40_000..80_000).contains(&summary.rows),
            "{extension}: {} rows",
            summary.rows
        );
    }
}

#[test]
fn data_that_ends_early_is_reported_so() {
    let text = rows(2_000);
    for (extension, pack) in PACKS {
        let mut packed = pack(text.as_bytes());
        packed.truncate(packed.len() * 2 / 3);
        let error = failure(&format!("x.csv.{extension}"), packed);
        assert_eq!(error.kind, FileErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("ends early"), "{error}");
    }
    let error = failure("x.csv.gz", gzip(b""));
    assert_eq!(error.kind, FileErrorKind::Empty, "{error}");
    let twice = failure("x.csv.gz", gzip(&gzip(text.as_bytes())));
    assert!(
        twice.to_string().contains("compressed with gzip"),
        "{twice}"
    );
}

#[test]
fn traps_are_refused_soon() {
    let started = Instant::now();
    let zeros = vec![b'a'; 64 << 20];
    for (extension, pack) in PACKS {
        let packed = pack(&zeros);
        let times = zeros.len() / packed.len();
        let error = failure(&format!("x.csv.{extension}"), packed);
        if times > 1000 {
            assert!(error.to_string().contains("1000 times"), "{error}");
        } else {
            assert!(error.to_string().contains("first row is longer"), "{error}");
        }
    }
    assert!(
        started.elapsed() < Duration::from_secs(120),
        "{:?}",
        started.elapsed()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_data_costs_a_line(which in 0usize..4, at in 0.0f64..1.0, with in 1u8.., cut in 0.0f64..1.0) {
        let (extension, pack) = PACKS[which];
        let mut packed = pack(rows(300).as_bytes());
        let place = ((packed.len() - 1) as f64 * at) as usize;
        packed[place] ^= with;
        if cut > 0.5 {
            packed.truncate(((packed.len() as f64) * cut) as usize);
        }
        let path = format!("x.csv.{extension}");
        if let Err(error) = read_with(&path, packed, &budget(1 << 20)).0 {
            prop_assert!(!error.to_string().contains('\n'));
            prop_assert!(error.kind != FileErrorKind::Panicked, "{}", error);
        }
    }

    #[test]
    fn however_text_is_compressed_its_summary_is_the_same(seed: u32, count in 1u32..3000, limit in 2048u64..32 << 10, which in 0usize..4) {
        let text = rows(count).replace("name", &format!("n{seed}"));
        let (extension, pack) = PACKS[which];
        let packed = pack(text.as_bytes());
        prop_assume!(packed.len() as u64 <= limit);
        let plain = read_with("x-1.csv", text, &budget(limit)).0.unwrap();
        let mut unpacked = read_with(&format!("x-1.csv.{extension}"), packed, &budget(limit)).0.unwrap();
        unpacked.notes.clone_from(&plain.notes);
        prop_assert_eq!(unpacked, plain);
    }
}
