//! Damaged and hostile segments: an answer is right or an error, never wrong and never a panic.

use std::sync::Arc;

use bytes::Bytes;
use limn_store::Store;

use super::*;
use crate::builder::segment_path;
use crate::layout::{self, CHUNK, Contents};

fn terms() -> Vec<(Field, String)> {
    let terms = ["song", "citi", "price", "2024", "東", "absent", "lake"];
    terms
        .iter()
        .flat_map(|t| Field::ALL.map(|f| (f, (*t).to_owned())))
        .collect()
}

fn open(bytes: Vec<u8>, entry: &SegmentEntry) -> Result<Arc<SegmentReader>, SegmentError> {
    SegmentReader::from_bytes(Bytes::from(bytes), entry)
}

/// Every read path either answers as `expected` or reports damage; returns the number of errors.
fn check(reader: &SegmentReader, expected: &[String], what: &str) -> usize {
    let answers = read_everything(reader, &terms());
    assert_eq!(answers.len(), expected.len());
    let mut errors = 0;
    for (answer, expected) in answers.into_iter().zip(expected) {
        match answer {
            Ok(answer) => assert_eq!(&answer, expected, "{what}"),
            Err(e) => {
                assert!(e.is_damage(), "{what}: {e}");
                assert!(e.to_string().contains(".seg is damaged"), "{what}: {e}");
                errors += 1;
            }
        }
    }
    errors
}

fn answers(segment: &BuiltSegment) -> Vec<String> {
    let reader = open(segment.bytes.to_vec(), &segment.entry).unwrap();
    read_everything(&reader, &terms())
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

/// Two sorts of segment: without and with a graph.
fn segments(tables: u64) -> [BuiltSegment; 2] {
    let graph = SegmentSettings {
        graph_above: 10,
        ..settings()
    };
    [
        built(tables),
        build_segment(sample_tables(tables), &graph).unwrap(),
    ]
}

#[test]
fn every_flipped_bit_that_is_read_is_detected() {
    for segment in segments(300) {
        assert!(segment.bytes.len() > 3 * CHUNK, "{}", segment.bytes.len());
        let expected = answers(&segment);
        // Evenly over all sections.
        for at in (0..segment.bytes.len()).step_by(segment.bytes.len() / 120) {
            let mut bytes = segment.bytes.to_vec();
            bytes[at] ^= 1 << (at % 8);
            let what = format!("byte {at} of {}", bytes.len());
            let Ok(reader) = open(bytes, &segment.entry) else {
                continue;
            };
            // All sections are read, so the damage must have been met somewhere.
            assert!(
                check(&reader, &expected, &what) > 0,
                "{what} went unnoticed"
            );
        }
    }
}

#[test]
fn damage_costs_only_what_touches_it() {
    let segment = built(150);
    let expected = answers(&segment);
    let mut bytes = segment.bytes.to_vec();
    bytes[0] ^= 1; // The first frame of texts.
    let reader = open(bytes, &segment.entry).unwrap();
    assert!(reader.text(0).is_err());
    assert!(reader.text(reader.block_count() - 1).is_ok());
    reader
        .nearest(&unit_vector(1), 5, &Deletes::none())
        .unwrap();
    assert!(check(&reader, &expected, "first byte") < expected.len() / 2);
}

#[test]
fn remote_and_local_files_are_verified_alike() {
    let segment = built(150);
    let expected = answers(&segment);
    let folder = tempfile::tempdir().unwrap();
    let stores = [
        Store::in_memory(),
        Store::open(folder.path().to_str().unwrap()).unwrap(),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for store in stores {
        for at in (0..segment.bytes.len()).step_by(40_009) {
            let mut bytes = segment.bytes.to_vec();
            bytes[at] ^= 0x10;
            let opened = runtime.block_on(async {
                store.put(&segment.entry.path, bytes.into()).await.unwrap();
                SegmentReader::open(&store, &segment.entry).await
            });
            if let Ok(reader) = opened {
                assert!(check(&reader, &expected, &format!("byte {at}")) > 0);
            }
        }
        // Truncated, empty, deleted, another segment's bytes.
        for cut in [0, 1, 47, 48, 1000, segment.bytes.len() - 1] {
            let result = runtime.block_on(async {
                let bytes = segment.bytes.slice(..cut);
                store.put(&segment.entry.path, bytes).await.unwrap();
                SegmentReader::open(&store, &segment.entry).await
            });
            assert!(result.is_err(), "cut at {cut}");
        }
        let result = runtime.block_on(async {
            store.delete(&segment.entry.path).await.unwrap();
            SegmentReader::open(&store, &segment.entry).await
        });
        assert!(matches!(result, Err(SegmentError::Store(e)) if e.is_not_found()));
        let other = built(149);
        let misplaced = SegmentEntry {
            path: segment.entry.path.clone(),
            ..other.entry.clone()
        };
        let result = runtime.block_on(async {
            store
                .put(&misplaced.path, other.bytes.clone())
                .await
                .unwrap();
            SegmentReader::open(&store, &misplaced).await
        });
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("hash that is its name")
        );
    }
}

#[test]
fn truncations_are_errors() {
    let segment = built(10);
    for end in (0..segment.bytes.len()).step_by(101) {
        assert!(open(segment.bytes[..end].to_vec(), &segment.entry).is_err());
    }
}

#[test]
fn a_wrong_snapshot_entry_is_an_error() {
    let segment = built(10);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = Store::in_memory();
    let wrong = |change: fn(&mut SegmentEntry)| {
        let mut entry = segment.entry.clone();
        change(&mut entry);
        runtime.block_on(async {
            store.put(&entry.path, segment.bytes.clone()).await.unwrap();
            SegmentReader::open(&store, &entry).await.unwrap_err()
        })
    };
    wrong(|e| e.hot = e.bytes + 1);
    wrong(|e| e.hot = 1);
    wrong(|e| e.hot = 0);
    wrong(|e| e.bytes += 1);
    wrong(|e| e.bytes -= 1);
    wrong(|e| e.blocks += 1);
    wrong(|e| e.tables += 1);
    wrong(|e| e.bytes = u64::MAX);
}

/// A segment with changed bytes and right checksums: what a hostile writer could make.
fn forge(
    segment: &BuiltSegment,
    change_body: impl FnOnce(&mut Vec<u8>, &Contents),
    change_contents: impl FnOnce(&mut Contents),
) -> (Vec<u8>, SegmentEntry) {
    let footer = layout::open("s", &segment.bytes, segment.bytes.len() as u64).unwrap();
    let mut body = segment.bytes[..footer.body].to_vec();
    let mut contents = footer.contents;
    change_body(&mut body, &contents);
    change_contents(&mut contents);
    let id = layout::seal(&mut body, &contents).unwrap();
    let entry = SegmentEntry {
        path: segment_path(contents.shard, id),
        bytes: body.len() as u64,
        blocks: contents.blocks,
        tables: contents.tables,
        ..segment.entry.clone()
    };
    (body, entry)
}

/// How far a forged segment gets.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused,
    Failing,
    Answering,
}

/// Reads everything that opens; answers may be anything, but no panic and no crash.
fn survive(bytes: Vec<u8>, entry: &SegmentEntry) -> Outcome {
    match open(bytes, entry) {
        Ok(reader) => match read_everything(&reader, &terms())
            .iter()
            .any(Result::is_err)
        {
            true => Outcome::Failing,
            false => Outcome::Answering,
        },
        Err(_) => Outcome::Refused,
    }
}

#[test]
fn hostile_bytes_do_not_panic() {
    let mut opened = 0;
    for segment in segments(40) {
        for round in 0..u64::from(rounds(100)) {
            let (bytes, entry) = forge(
                &segment,
                |body, contents| {
                    // Aim at each section in turn: most of the bytes are vectors.
                    let sections = &contents.sections;
                    let section = &sections[round as usize % sections.len()];
                    let extent = section.extents[noise(1, round) as usize % section.extents.len()];
                    for change in 0..1 + round % 3 {
                        let at = noise(2 + change, round) % extent.1.max(1);
                        let byte = [0, 0xff, noise(3, round) as u8][(round % 3) as usize];
                        if let Some(slot) = body.get_mut((extent.0 + at) as usize) {
                            *slot = byte;
                        }
                    }
                },
                |_| (),
            );
            opened += usize::from(survive(bytes, &entry) != Outcome::Refused);
        }
    }
    assert!(opened > 30, "the test reaches beyond opening: {opened}");
}

#[test]
fn hostile_contents_do_not_panic() {
    for segment in segments(40) {
        let refused = |change: fn(&mut Contents)| {
            let (bytes, entry) = forge(&segment, |_, _| (), change);
            assert_ne!(survive(bytes, &entry), Outcome::Answering);
        };
        refused(|c| c.dimensions = u32::MAX);
        refused(|c| c.dimensions += 1);
        refused(|c| c.vectors -= 1);
        refused(|c| c.tables -= 1);
        refused(|c| c.tables = 0);
        refused(|c| c.sections.retain(|s| s.name != "tables"));
        refused(|c| c.sections.retain(|s| !s.name.ends_with("meta.json")));
        refused(|c| c.sections.retain(|s| !s.name.ends_with(".idx")));
        // Sections of each other's bytes: errors on opening or on reading, whichever.
        let names: Vec<String> = {
            let footer = layout::open("s", &segment.bytes, segment.bytes.len() as u64).unwrap();
            footer
                .contents
                .sections
                .into_iter()
                .map(|s| s.name)
                .collect()
        };
        for i in 0..names.len() {
            for j in 0..i {
                let (bytes, entry) = forge(
                    &segment,
                    |_, _| (),
                    |c| {
                        let extents = c.sections[i].extents.clone();
                        c.sections[i].extents = c.sections[j].extents.clone();
                        c.sections[j].extents = extents;
                    },
                );
                survive(bytes, &entry);
            }
        }
    }
}

#[test]
fn hostile_graph_links_are_refused() {
    let [_, segment] = segments(40);
    let mut refused = 0;
    let footer = layout::open("s", &segment.bytes, segment.bytes.len() as u64).unwrap();
    let vectors = footer.contents.section("vectors").unwrap().extents[0];
    let matrix = 8 + u64::from(footer.contents.vectors) * DIMENSIONS as u64 * 2;
    let (start, end) = (
        (vectors.0 + matrix) as usize,
        (vectors.0 + vectors.1) as usize,
    );
    for at in (start..end).step_by(7) {
        let (bytes, entry) = forge(&segment, |body, _| body[at] = 0xff, |_| ());
        let reader = open(bytes, &entry).unwrap();
        // Links that lead nowhere would read foreign memory if they got through.
        for seed in 0..5 {
            match reader.nearest(&unit_vector(seed), 5, &Deletes::none()) {
                Ok(found) => assert!(found.iter().all(|(b, _)| *b < reader.block_count())),
                Err(e) => {
                    assert!(e.is_damage());
                    refused += 1;
                    break;
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
