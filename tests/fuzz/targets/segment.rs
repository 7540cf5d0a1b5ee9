//! Segments whose checksums are right and whose content is anything.
//!
//! An input is `u32 length of the contents | contents, JSON | body`; the target adds checksums,
//! footer and trailer as docs/index-format.md has them. So inputs reach what a checksum would keep
//! from them in a real index.
#![no_main]

use limn_segment::{Deletes, Field, SegmentEntry, SegmentReader};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

const CHUNK: usize = 64 << 10;

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::watch_panics();
    if let Some((bytes, entry)) = seal(content) {
        look_through(bytes, &entry);
    }
});

/// The segment of this input, and its entry in a snapshot.
fn seal(content: &[u8]) -> Option<(Vec<u8>, SegmentEntry)> {
    let (length, content) = content.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    let (json, body) = content.split_at_checked(length as usize)?;
    let contents: serde_json::Value = serde_json::from_slice(json).ok()?;
    let count = |name: &str| {
        contents[name]
            .as_u64()
            .and_then(|it| u32::try_from(it).ok())
    };
    let mut footer = json.to_vec();
    for chunk in body.chunks(CHUNK) {
        footer.extend_from_slice(&xxh3_64(chunk).to_le_bytes());
    }
    let size = (body.len() + footer.len() + 48) as u64;
    let mut trailer = Vec::with_capacity(48);
    trailer.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
    trailer.extend_from_slice(&(footer.len() as u64).to_le_bytes());
    trailer.extend_from_slice(&size.to_le_bytes());
    trailer.extend_from_slice(&length.to_le_bytes());
    trailer.extend_from_slice(&limn_segment::SEGMENT_FORMAT.to_le_bytes());
    trailer.extend_from_slice(&xxh3_64(&trailer).to_le_bytes());
    trailer.extend_from_slice(b"limn.seg");
    let shard = serde_json::from_value(contents["shard"].clone()).ok()?;
    let entry = SegmentEntry {
        shard,
        path: format!("segments/{shard}/{:032x}.seg", xxh3_128(&footer)),
        bytes: size,
        hot: size,
        blocks: count("blocks")?,
        tables: count("tables")?,
        deletes: None,
    };
    Some(([body, &footer, &trailer].concat(), entry))
}

/// Reads everything that a search reads.
fn look_through(bytes: Vec<u8>, entry: &SegmentEntry) {
    let reader = match SegmentReader::from_bytes(bytes.into(), entry) {
        Ok(reader) => reader,
        Err(error) => {
            let line = error.to_string();
            // Sealed as it is, a segment is never refused for what guards it.
            assert!(!line.contains("checksum"), "{line}");
            assert!(!line.contains("hash that is its name"), "{line}");
            return;
        }
    };
    for table in reader.tables().iter() {
        let _ = (table.location.len(), table.blocks, table.first_block);
    }
    for block in 0..reader.block_count().min(64) {
        let _ = (
            reader.block(block),
            reader.text(block),
            reader.text_hash(block),
        );
        let _ = reader.vector(block);
    }
    for field in Field::ALL {
        for term in ["orders", "id", "name", "city"] {
            let _ = reader.postings(field, term, &mut |_, _| {});
        }
    }
    if reader.dimensions() <= 4096 {
        let mut query = vec![0.0; reader.dimensions()];
        if let Some(first) = query.first_mut() {
            *first = 1.0;
        }
        let _ = reader.nearest(&query, 3, &Deletes::default());
        let _ = reader.similarities(&query, 0..reader.block_count(), |_, _| {});
    }
}
