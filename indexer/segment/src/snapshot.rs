//! Snapshots: the numbered, immutable lists of what is live.
//!
//! The only mutable fact of an index is which snapshot has the highest number. File names count
//! down from `u64::MAX`, so that a listing (sorted by name in every store that sorts) starts with
//! the newest. The file is one JSON object whose last member is the xxh3-64 of every byte before
//! its sixteen hexadecimal digits. Specification: `docs/index-format.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::SegmentError;
use crate::table::Shard;

/// Version of the snapshot format that this build writes, and the newest it reads.
pub const SNAPSHOT_FORMAT: u32 = 1;

/// One version of an index: which segments and catalog files are live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Format version, [`SNAPSHOT_FORMAT`].
    pub format: u32,
    /// Counts up from 1.
    pub number: u64,
    /// When it was made, milliseconds since 1970.
    pub created_ms: i64,
    /// Random text of the writer: distinguishes its own snapshot from another's of the same number.
    pub writer: String,
    /// `writer` of the snapshot that this one was built on; none before the first, nor in snapshots
    /// of older versions of limn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Analyzer version of the segments; a question must be analyzed by the same.
    pub analyzer: u32,
    /// Model id of the vectors.
    pub embedder: String,
    /// Length of the vectors.
    pub dimensions: usize,
    /// Number of shards that tables are spread over.
    pub shards: u32,
    /// Settings of the runs that made it, opaque here.
    #[serde(default)]
    pub settings: serde_json::Value,
    /// Live segments, oldest first.
    pub segments: Vec<SegmentEntry>,
    /// Live catalog files in log order: of two rows of one table the later file's holds.
    pub catalog: Vec<CatalogEntry>,
    /// The files of the join graph of each lake, at most one a shard. Of a lake that is not there
    /// it was never made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joins: BTreeMap<String, Vec<JoinsEntry>>,
    /// Counts for people: tables, blocks, bytes. Opaque here.
    #[serde(default)]
    pub statistics: serde_json::Value,
    /// The weights of its own that the index ranks tables by (`limn tune`), opaque here; null where
    /// it has none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub ranking: serde_json::Value,
    /// How many numbers after this one damaged snapshots have taken. Not in the file: who reads the
    /// newest whole snapshot finds out, and the next one is numbered after them.
    #[serde(skip)]
    pub passed_over: u64,
}

/// A live segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// Its shard.
    pub shard: Shard,
    /// Path under the index root.
    pub path: String,
    /// Length of the object.
    pub bytes: u64,
    /// Length of its tail that must be read to open it.
    pub hot: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of tables.
    pub tables: u32,
    /// Blocks that are no longer live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletes: Option<DeletesEntry>,
}

/// A live delete bitmap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletesEntry {
    /// Path under the index root.
    pub path: String,
    /// Number of deleted blocks.
    pub count: u32,
}

/// A live catalog file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogEntry {
    /// Its shard.
    pub shard: Shard,
    /// Path under the index root.
    pub path: String,
    /// Number of rows.
    pub rows: u64,
    /// Length of the object.
    pub bytes: u64,
    /// Path of the segment that its rows with blocks point into, whether or not the snapshot names
    /// it still. `None` if no row has blocks, and in snapshots of writers that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
}

/// The edges of a lake's tables of one shard: those whose left table is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinsEntry {
    /// The shard.
    pub shard: Shard,
    /// Path under the index root.
    pub path: String,
    /// Number of edges.
    pub edges: u64,
    /// Length of the object.
    pub bytes: u64,
}

/// A snapshot's file as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// Its number.
    pub number: u64,
    /// Path under the index root.
    pub path: String,
    /// Length of the object.
    pub bytes: u64,
    /// When it was published, milliseconds since 1970.
    pub modified_ms: i64,
}

impl Snapshot {
    /// An empty first snapshot (number 1, no segments), to be filled and published.
    #[must_use]
    pub fn first(embedder: &str, dimensions: usize, shards: u32) -> Snapshot {
        Snapshot {
            format: SNAPSHOT_FORMAT,
            number: 1,
            created_ms: chrono::Utc::now().timestamp_millis(),
            writer: nonce(),
            parent: None,
            analyzer: crate::analyzer::ANALYZER_VERSION,
            embedder: embedder.to_owned(),
            dimensions,
            shards: shards.max(1),
            settings: serde_json::Value::Null,
            segments: Vec::new(),
            catalog: Vec::new(),
            joins: BTreeMap::new(),
            statistics: serde_json::Value::Null,
            ranking: serde_json::Value::Null,
            passed_over: 0,
        }
    }

    /// What there was before the first snapshot: the same without any table (number 0).
    #[must_use]
    pub fn before_all(&self) -> Snapshot {
        Snapshot {
            number: 0,
            segments: Vec::new(),
            catalog: Vec::new(),
            joins: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// A copy to build the next snapshot from: the next number that is free, now, a fresh writer
    /// nonce, this one as its parent.
    #[must_use]
    pub fn next(&self) -> Snapshot {
        Snapshot {
            format: SNAPSHOT_FORMAT,
            number: self.number.saturating_add(1 + self.passed_over),
            created_ms: chrono::Utc::now().timestamp_millis(),
            writer: nonce(),
            parent: Some(self.writer.clone()),
            passed_over: 0,
            ..self.clone()
        }
    }

    /// Bytes of all live objects that the snapshot names with a length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let segments = self.segments.iter().map(|s| s.bytes);
        let catalog = self.catalog.iter().map(|c| c.bytes);
        let joins = self.join_files().map(|it| it.bytes);
        segments
            .chain(catalog)
            .chain(joins)
            .fold(0, u64::saturating_add)
    }

    /// The files of all lakes' join graphs.
    pub fn join_files(&self) -> impl Iterator<Item = &JoinsEntry> {
        self.joins.values().flatten()
    }

    /// Number of blocks that are live.
    #[must_use]
    pub fn live_blocks(&self) -> u64 {
        let live = |segment: &SegmentEntry| {
            let deleted = segment.deletes.as_ref().map_or(0, |deletes| deletes.count);
            u64::from(segment.blocks.saturating_sub(deleted))
        };
        self.segments.iter().map(live).sum()
    }

    /// Path of the snapshot with this number.
    #[must_use]
    pub fn path(number: u64) -> String {
        format!("snapshots/{:020}.json", u64::MAX - number)
    }

    /// Where what was found at the path of a damaged snapshot is kept when it is set aside.
    #[must_use]
    pub(crate) fn aside(path: &str) -> String {
        format!("{path}.damaged")
    }

    /// Number of the snapshot at this path; `None` if the path is no snapshot's.
    #[must_use]
    pub fn number_of(path: &str) -> Option<u64> {
        let digits = path.strip_prefix("snapshots/")?.strip_suffix(".json")?;
        if digits.len() != 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(u64::MAX - digits.parse::<u64>().ok()?)
    }

    /// A path that it names and that is not where such a thing is: somebody wants another file
    /// read.
    fn stray_path(&self) -> Option<&str> {
        let segments = self.segments.iter().map(|it| (&it.path, "segments/"));
        let deletes = self.segments.iter().filter_map(|it| it.deletes.as_ref());
        let deletes = deletes.map(|it| (&it.path, "deletes/"));
        let catalog = self.catalog.iter().map(|it| (&it.path, "catalog/"));
        let pairs = self.catalog.iter().filter_map(|it| it.segment.as_ref());
        let pairs = pairs.map(|path| (path, "segments/"));
        let joins = self.join_files().map(|it| (&it.path, "joins/"));
        let mut named = segments
            .chain(deletes)
            .chain(catalog)
            .chain(pairs)
            .chain(joins);
        let stray = named.find(|(path, folder)| {
            let mut parts = path.split('/');
            !path.starts_with(folder) || parts.any(|part| matches!(part, "" | "." | ".."))
        });
        stray.map(|(path, _)| path.as_str())
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SegmentError> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|e| {
            SegmentError::invalid(format!("snapshot {}", self.number), e.to_string())
        })?;
        // Reopen the object ("\n}") to append the checksum as its last member.
        bytes.truncate(bytes.len().saturating_sub(2));
        bytes.extend_from_slice(b",\n  \"checksum\": \"");
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes);
        bytes.extend_from_slice(format!("{checksum:016x}\"\n}}\n").as_bytes());
        Ok(bytes)
    }

    /// Reads a file's bytes; `object` names it in errors.
    ///
    /// # Errors
    /// [`SegmentError::DamagedSnapshot`] for any bytes that [`Snapshot::to_bytes`] did not write,
    /// [`SegmentError::NewerFormat`] for a later version's.
    pub fn from_bytes(object: &str, bytes: &[u8]) -> Result<Snapshot, SegmentError> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let damaged = |detail: &str| SegmentError::damaged_snapshot(object, detail);
        let body = bytes
            .strip_suffix(b"\"\n}\n")
            .ok_or_else(|| damaged("it does not end as a snapshot does"))?;
        let (body, digits) = body
            .split_at_checked(body.len().saturating_sub(16))
            .ok_or_else(|| damaged("it is too short"))?;
        let expected = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(body));
        if digits != expected.as_bytes() {
            return Err(damaged("its checksum does not match its content"));
        }
        let version: Version = serde_json::from_slice(bytes)
            .map_err(|e| damaged(&format!("it is no snapshot ({e})")))?;
        if version.format > SNAPSHOT_FORMAT {
            return Err(SegmentError::NewerFormat {
                object: object.to_owned(),
                found: version.format,
                supported: SNAPSHOT_FORMAT,
            });
        }
        let snapshot: Snapshot = serde_json::from_slice(bytes)
            .map_err(|e| damaged(&format!("it is no snapshot ({e})")))?;
        if snapshot.shards == 0 {
            return Err(damaged("it has no shards"));
        }
        if let Some(path) = snapshot.stray_path() {
            return Err(damaged(&format!(
                "it names {path:?}, which is no part of an index"
            )));
        }
        for segment in &snapshot.segments {
            if segment
                .deletes
                .as_ref()
                .is_some_and(|d| d.count > segment.blocks)
            {
                let detail = format!("it deletes more blocks than {} has", segment.path);
                return Err(damaged(&detail));
            }
        }
        Ok(snapshot)
    }
}

/// A fresh random text, to distinguish one writer from another: from the clock, the process and the
/// seeds of the standard hash map, which the system draws at random.
pub fn nonce() -> String {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_i64(chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default());
    let low = hasher.finish();
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(low);
    format!("{low:016x}{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn example() -> Snapshot {
        let mut snapshot = Snapshot::first("hashed-words", 64, 4).next();
        snapshot.segments.push(SegmentEntry {
            shard: Shard(3),
            path: "segments/0003/ab.seg".into(),
            bytes: 10,
            hot: 5,
            blocks: 7,
            tables: 2,
            deletes: Some(DeletesEntry {
                path: "deletes/cd.roar".into(),
                count: 1,
            }),
        });
        snapshot.settings = serde_json::json!({"rows": 5});
        snapshot
    }

    #[test]
    fn counts_that_cannot_be_are_damage_and_no_overflow() {
        let mut snapshot = example();
        assert_eq!((snapshot.live_blocks(), snapshot.bytes()), (6, 10));
        snapshot.segments[0].bytes = u64::MAX;
        snapshot.catalog.push(CatalogEntry {
            shard: Shard(0),
            path: "catalog/0000/ab.parquet".into(),
            rows: 1,
            bytes: u64::MAX,
            segment: None,
        });
        assert_eq!(snapshot.bytes(), u64::MAX);
        snapshot.segments[0].blocks = 0;
        let error = Snapshot::from_bytes("s", &snapshot.to_bytes().unwrap()).unwrap_err();
        assert!(
            error.is_damage() && error.to_string().contains("deletes more"),
            "{error}"
        );
    }

    #[test]
    fn names_count_down_and_back() {
        assert_eq!(Snapshot::path(1), "snapshots/18446744073709551614.json");
        assert!(Snapshot::path(10) < Snapshot::path(9));
        for number in [0, 1, 2, 99, u64::MAX] {
            assert_eq!(Snapshot::number_of(&Snapshot::path(number)), Some(number));
        }
        assert_eq!(Snapshot::number_of("snapshots/1.json"), None);
        assert_eq!(
            Snapshot::number_of("snapshots/99999999999999999999.json"),
            None
        );
    }

    #[test]
    fn round_trip_and_every_flip_is_detected() {
        let snapshot = example();
        let bytes = snapshot.to_bytes().unwrap();
        assert_eq!(Snapshot::from_bytes("s", &bytes).unwrap(), snapshot);
        // A person can read it with any JSON tool.
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[i] ^= 1 << bit;
                assert!(
                    Snapshot::from_bytes("s", &flipped).is_err(),
                    "byte {i} bit {bit}"
                );
            }
            assert!(Snapshot::from_bytes("s", &bytes[..i]).is_err());
        }
    }

    #[test]
    fn paths_that_lead_out_of_the_index_are_damage() {
        let absolute = "/etc/passwd";
        for path in [
            absolute,
            "segments/../../x",
            "segments//x",
            "x",
            "segments/./x",
        ] {
            let change: [fn(&mut Snapshot, &str); 4] = [
                |it, path| it.segments[0].path = path.to_owned(),
                |it, path| it.segments[0].deletes.as_mut().unwrap().path = path.to_owned(),
                |it, path| it.catalog[0].path = path.to_owned(),
                |it, path| it.catalog[0].segment = Some(path.to_owned()),
            ];
            for change in change {
                let mut snapshot = example();
                snapshot.catalog.push(CatalogEntry {
                    shard: Shard(0),
                    path: "catalog/0000/ab.parquet".into(),
                    rows: 1,
                    bytes: 2,
                    segment: None,
                });
                let bytes = snapshot.to_bytes().unwrap();
                assert!(Snapshot::from_bytes("s", &bytes).is_ok());
                change(&mut snapshot, path);
                let error = Snapshot::from_bytes("s", &snapshot.to_bytes().unwrap()).unwrap_err();
                assert!(error.is_damage(), "{path}: {error}");
            }
        }
    }

    #[test]
    fn a_newer_format_says_so() {
        let mut snapshot = example();
        snapshot.format = SNAPSHOT_FORMAT + 1;
        let error = Snapshot::from_bytes("s", &snapshot.to_bytes().unwrap()).unwrap_err();
        assert!(matches!(error, SegmentError::NewerFormat { .. }));
        assert!(error.to_string().contains("newer limn"), "{error}");
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce(), nonce());
    }
}
