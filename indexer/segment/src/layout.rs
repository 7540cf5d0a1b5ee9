//! The frame of a segment: sections, footer, trailer. Specification: `docs/index-format.md`.
//!
//! ```text
//! 0 ........................... footer start ............ end - 48 ..... end
//! | body: sections, in 64 KiB  | contents (JSON),        | trailer        |
//! | chunks, hot ones last      | one checksum per chunk  | 48 bytes       |
//! ```
//!
//! The trailer guards itself and the footer, the footer holds an xxh3-64 for every chunk of the
//! body: whoever holds the trailer can verify any byte. The segment's id is the xxh3-128 of its
//! footer, hence of everything, and names the object: a misplaced file is noticed at opening.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::table::Shard;

/// Version of the segment format that this build writes, and the newest it reads. Segments of
/// version 1 have no whole terms, those of version 2 no values by their hashes, those of version 3
/// no marked terms.
pub const SEGMENT_FORMAT: u32 = 4;

/// Unit of verification.
pub(crate) const CHUNK: usize = 64 << 10;
pub(crate) const MAGIC: [u8; 8] = *b"limn.seg";
pub(crate) const TRAILER: usize = 48;
/// Sections, and extents of one section: a sane file has a few dozen.
const MAX_SECTIONS: usize = 1024;

/// Names of limn's own sections; tantivy's files are `tantivy/NAME`.
pub(crate) mod section {
    pub(crate) const TEXTS: &str = "texts";
    pub(crate) const TEXT_HASHES: &str = "text-hashes";
    pub(crate) const VECTORS: &str = "vectors";
    pub(crate) const BLOCKS: &str = "blocks";
    pub(crate) const TABLES: &str = "tables";
    pub(crate) const TABLE_CONTENTS: &str = "table-contents";
    pub(crate) const FILE_VALUES: &str = "file-values";
    pub(crate) const VALUES: &str = "values";
    pub(crate) const VALUE_INDEX: &str = "value-index";
    pub(crate) const TANTIVY: &str = "tantivy/";
}

/// A run of bytes in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent(pub(crate) u64, pub(crate) u64);

/// A named run of content: its extents, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) extents: Vec<Extent>,
}

impl Section {
    /// Sum of the extents' lengths; they were checked against the body's length.
    pub(crate) fn length(&self) -> u64 {
        self.extents.iter().map(|e| e.1).sum()
    }
}

/// The footer's facts about the whole segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// Analyzer version of the lexical fields.
    pub(crate) analyzer: u32,
    pub(crate) shard: Shard,
    pub(crate) dimensions: u32,
    pub(crate) blocks: u32,
    pub(crate) tables: u32,
    pub(crate) vectors: u32,
    /// Whether the vectors section goes on with a graph.
    pub(crate) graph: bool,
    /// Whatever makes this segment's name one that none had before; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) salt: String,
    /// Where the bytes begin that every opening needs.
    pub(crate) hot: u64,
    pub(crate) sections: Vec<Section>,
}

impl Contents {
    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }
}

/// A verified footer.
#[derive(Clone, Debug)]
pub(crate) struct Footer {
    pub(crate) contents: Contents,
    pub(crate) checksums: Vec<u64>,
    /// Where the body ends and the footer begins.
    pub(crate) body: usize,
    pub(crate) id: u128,
}

/// Appends footer and trailer to a body; returns the segment's id.
pub(crate) fn seal(out: &mut Vec<u8>, contents: &Contents) -> Result<u128, SegmentError> {
    let json = serde_json::to_vec(contents)
        .map_err(|e| SegmentError::invalid("the segment", e.to_string()))?;
    let mut footer = json;
    let json_length = footer.len() as u32;
    for chunk in out.chunks(CHUNK) {
        footer.extend_from_slice(&xxh3_64(chunk).to_le_bytes());
    }
    let mut trailer = Vec::with_capacity(TRAILER);
    trailer.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
    trailer.extend_from_slice(&(footer.len() as u64).to_le_bytes());
    trailer.extend_from_slice(&((out.len() + footer.len() + TRAILER) as u64).to_le_bytes());
    trailer.extend_from_slice(&json_length.to_le_bytes());
    trailer.extend_from_slice(&SEGMENT_FORMAT.to_le_bytes());
    trailer.extend_from_slice(&xxh3_64(&trailer).to_le_bytes());
    trailer.extend_from_slice(&MAGIC);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&trailer);
    Ok(xxh3_128(&footer))
}

/// Reads footer and trailer from the last bytes of an object of `size` bytes.
pub(crate) fn open(object: &str, tail: &[u8], size: u64) -> Result<Footer, SegmentError> {
    let damaged = |detail: &str| SegmentError::damaged(object, detail);
    let trailer = tail
        .last_chunk::<TRAILER>()
        .ok_or_else(|| damaged("it is too short for a segment"))?;
    if trailer[40..] != MAGIC {
        return Err(damaged("it is no limn segment, or its end is missing"));
    }
    let u64_at = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&trailer[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if xxh3_64(&trailer[..32]) != u64_at(32) {
        return Err(damaged("its trailer's checksum does not match"));
    }
    let (json_length, version) = (u64_at(24) as u32, (u64_at(24) >> 32) as u32);
    if version > SEGMENT_FORMAT {
        return Err(SegmentError::NewerFormat {
            object: object.to_owned(),
            found: version,
            supported: SEGMENT_FORMAT,
        });
    }
    if u64_at(16) != size {
        return Err(damaged(&format!(
            "it has {size} bytes and was written with {}",
            u64_at(16)
        )));
    }
    let footer_length = usize::try_from(u64_at(8)).unwrap_or(usize::MAX);
    let footer = (tail.len() - TRAILER)
        .checked_sub(footer_length)
        .map(|start| &tail[start..tail.len() - TRAILER])
        .ok_or_else(|| damaged("its footer is longer than its hot part"))?;
    if xxh3_64(footer) != u64_at(0) {
        return Err(damaged("its footer's checksum does not match"));
    }
    // The footer is whole from here on; what it says may still be hostile.
    let body = (size - TRAILER as u64)
        .checked_sub(footer_length as u64)
        .and_then(|b| usize::try_from(b).ok())
        .ok_or_else(|| damaged("its footer is longer than the object"))?;
    let (json, sums) = footer
        .split_at_checked(json_length as usize)
        .ok_or_else(|| damaged("its contents are longer than its footer"))?;
    if sums.len() % 8 != 0 || sums.len() / 8 != body.div_ceil(CHUNK) {
        return Err(damaged("its checksums do not cover its body"));
    }
    let contents: Contents = serde_json::from_slice(json)
        .map_err(|e| damaged(&format!("its contents cannot be read ({e})")))?;
    check_sections(&contents, body as u64).map_err(|e| damaged(&e.to_string()))?;
    Ok(Footer {
        contents,
        checksums: sums
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect(),
        body,
        id: xxh3_128(footer),
    })
}

fn section_error(section: &Section, problem: &'static str) -> FormatError {
    FormatError::Section {
        section: section.name.clone(),
        problem,
    }
}

fn check_sections(contents: &Contents, body: u64) -> Result<(), FormatError> {
    if contents.sections.len() > MAX_SECTIONS || contents.hot > body {
        return Err("its contents are nonsense".into());
    }
    for section in &contents.sections {
        if section.extents.len() > MAX_SECTIONS {
            return Err(section_error(section, "has too many extents"));
        }
        let mut total = 0u64;
        for Extent(offset, length) in &section.extents {
            let end = offset.checked_add(*length);
            total = total.saturating_add(*length);
            if end.is_none_or(|end| end > body) || total > body {
                return Err(section_error(section, "lies outside the body"));
            }
        }
    }
    // Lengths below are derived from these counts, so they must fit the bytes that are there: a
    // block has a 16-byte hash, a table at least one block.
    let hashes = contents
        .section(section::TEXT_HASHES)
        .map_or(0, Section::length);
    if hashes != u64::from(contents.blocks) * 16
        || contents.tables > contents.blocks
        || contents.vectors > contents.blocks
    {
        return Err("its counts do not fit its sections".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn contents() -> Contents {
        Contents {
            analyzer: 1,
            shard: Shard(2),
            dimensions: 4,
            blocks: 1,
            tables: 1,
            vectors: 1,
            graph: false,
            salt: String::new(),
            hot: 10,
            sections: vec![
                Section {
                    name: section::TEXT_HASHES.to_owned(),
                    extents: vec![Extent(3, 16)],
                },
                Section {
                    name: "tantivy/x".to_owned(),
                    extents: vec![Extent(0, 3), Extent(19, 100)],
                },
            ],
        }
    }

    fn sealed(contents: &Contents) -> Vec<u8> {
        let mut out: Vec<u8> = (0..150_000u32).map(|i| (i % 251) as u8).collect();
        seal(&mut out, contents).unwrap();
        out
    }

    #[test]
    fn round_trip() {
        let bytes = sealed(&contents());
        let footer = open("s", &bytes, bytes.len() as u64).unwrap();
        assert_eq!(footer.contents, contents());
        assert_eq!((footer.body, footer.checksums.len()), (150_000, 3));
        // A tail is enough, as long as it holds the footer.
        let tail = &bytes[150_000..];
        assert_eq!(open("s", tail, bytes.len() as u64).unwrap().id, footer.id);
        assert!(open("s", &tail[1..], bytes.len() as u64).is_err());
    }

    #[test]
    fn every_flip_and_cut_of_footer_and_trailer_is_detected() {
        let bytes = sealed(&contents());
        let tail = &bytes[150_000..];
        let size = bytes.len() as u64;
        for i in 0..tail.len() {
            for bit in 0..8 {
                let mut flipped = tail.to_vec();
                flipped[i] ^= 1 << bit;
                assert!(open("s", &flipped, size).is_err(), "byte {i} bit {bit}");
            }
            assert!(open("s", &tail[..i], size - (tail.len() - i) as u64).is_err());
        }
        assert!(open("s", tail, size + 1).is_err());
    }

    #[test]
    fn hostile_contents_are_errors() {
        let check = |change: fn(&mut Contents)| {
            let mut c = contents();
            change(&mut c);
            let bytes = sealed(&c);
            assert!(
                open("s", &bytes, bytes.len() as u64)
                    .unwrap_err()
                    .is_damage()
            );
        };
        check(|c| c.blocks = u32::MAX);
        check(|c| c.tables = 2);
        check(|c| c.vectors = 2);
        check(|c| c.hot = u64::MAX);
        check(|c| c.sections[1].extents[0] = Extent(u64::MAX, 2));
        check(|c| c.sections[1].extents[0] = Extent(0, 150_001));
        check(|c| c.sections[1].extents = vec![Extent(0, 100_000); 2]);
        check(|c| c.sections[1].extents = vec![Extent(0, 1); 2000]);
        check(|c| c.sections.clear());
    }

    #[test]
    fn a_newer_format_says_so() {
        let mut bytes = sealed(&contents());
        let end = bytes.len();
        bytes[end - 20..end - 16].copy_from_slice(&(SEGMENT_FORMAT + 1).to_le_bytes());
        let sum = xxh3_64(&bytes[end - TRAILER..end - 16]);
        bytes[end - 16..end - 8].copy_from_slice(&sum.to_le_bytes());
        let error = open("s", &bytes, end as u64).unwrap_err();
        let SegmentError::NewerFormat { found, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(found, SEGMENT_FORMAT + 1);
    }
}
