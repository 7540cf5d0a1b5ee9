//! The index format: segments, catalog, snapshots.
//!
//! An *index* is a root in any object store. Its data are immutable objects named by content
//! hashes; its state is a numbered list of them, the newest *snapshot*:
//!
//! ```text
//! <index>/snapshots/<u64::MAX - number>.json   what is live; created once, newest lists first
//! <index>/segments/<shard>/<hash>.seg          blocks: texts, tantivy index, vectors
//! <index>/catalog/<shard>/<hash>.parquet       tables: columns, files, contexts
//! <index>/joins/<shard>/<hash>.parquet         which tables join, are copies, unions or subsets
//! <index>/deletes/<hash>.roar                  blocks of a segment that are no longer live
//! <index>/cache/narrations/<narrator>/<hash>.parquet   what a language model said of columns
//! <index>/cache/answers/<scope>/<hash>.answers         what a language model said of rows
//! ```
//!
//! A writer calls [`build_segment`] (CPU work) for each shard and epoch, puts segments and catalog
//! files through an [`IndexStore`], and commits by [`IndexStore::publish`]; [`IndexStore::compact`]
//! makes few files of many. A reader takes the
//! newest [`Snapshot`], opens its segments ([`SegmentReader::open`]), and asks them for postings
//! and nearest vectors; merging over segments, statistics and scores are the retrieval crate's.
//! The format is specified, for other implementers too, in `docs/index-format.md`.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use limn_segment::*;
//! let index = IndexStore::new(limn_store::Store::in_memory());
//! let table = TableKey { lake: "memory:///lake".into(), name: "songs".into() };
//! let segment = build_segment(
//!     vec![TableBlocks {
//!         table: table.clone(),
//!         location: "memory:///lake/songs.csv".into(),
//!         blocks: vec![Block {
//!             kind: BlockKind::Schema,
//!             text: "songs: song_name".into(),
//!             fields: vec![(Field::Names, "songs song_name".into())],
//!             vector: Some(vec![half::f16::ONE, half::f16::ZERO]),
//!         }],
//!         content: None,
//!         values: TableValues::default(),
//!     }],
//!     &SegmentSettings::new(2, table.shard(1)),
//! )?;
//! let mut snapshot = Snapshot::first("a-model", 2, 1);
//! snapshot.segments.push(index.put_segment(&segment).await?);
//! index.publish(&snapshot).await?;
//!
//! let newest = index.require_newest().await?;
//! let reader = SegmentReader::open(&index.store, &newest.segments[0]).await?;
//! let mut found = Vec::new();
//! let term = &analyzer::analyze("Song")[0];
//! reader.postings(Field::Names, term, &mut |block, times| found.push((block, times)))?;
//! assert_eq!(found, [(0, 2)]);
//! assert_eq!(reader.nearest(&[1.0, 0.0], 5, &Deletes::none())?, [(0, 1.0)]);
//! assert_eq!(reader.text(0)?, "songs: song_name");
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Guarantees.** A reader sees snapshot N or N+1, never a mixture. Every byte of a segment that
//! reaches an answer was checked against an xxh3-64 of its 64 KiB chunk, which hangs, through the
//! footer, on the hash in the object's name: any flipped bit that is read is an error, never a
//! wrong answer. Other objects are checked whole. Lengths and counts in a file are checked before
//! they are used: a hostile segment is an error, costs memory in proportion to its length, and does
//! not panic; a catalog file has the number of rows that its snapshot says. The same tables and
//! blocks give the same bytes, whatever order they come in, unless a salt is asked for. Scores do
//! not depend on the segment or the machine. Of two concurrent publishers of one number exactly one
//! wins, where the store's conditional PUT is atomic.
//!
//! **Non-guarantees.** Checksums find damage, not malice by somebody who can write to the index.
//! Catalog files are compressed Parquet: how much memory a row takes, a hostile one decides.
//! tantivy was not written for hostile input: its panics are caught and become errors (unless the
//! process aborts on panic), but how much memory it takes is its own affair. A graph may miss
//! neighbours; segments up to [`EXACT_LIMIT`] vectors have none. Truncating a local index file
//! while it is mapped kills the reader. Stores whose listings are not sorted by name (S3 Express)
//! are not supported. A remote segment that is read without a [`SegmentCache`] takes up to its size
//! in temporary disk space (`TMPDIR`); a cache's limit is passed by the hot parts of the segments
//! that are open, where these are more, and by what one read needs at once, and files that lost
//! their names count until the questions that read them are answered.
//!
//! **Recovery.** A killed writer leaves objects that no snapshot names: harmless, and never reused
//! without being written again. A lost race ([`PublishError::Lost`]) is retried from the newest
//! snapshot. A damaged object is named in the error: restore it, or index again; a damaged
//! narration file may be deleted, and a damaged catalog file is left out
//! ([`IndexStore::repair_catalog`]): a run reads its tables again.

mod best;
mod blocks;
mod brief;
mod builder;
mod cache;
mod cache_folder;
mod catalog;
mod catalog_read;
mod catalog_rows;
mod catalog_write;
mod changes;
mod chunks;
mod coarse;
mod codec;
mod compact;
mod deletes;
mod directory;
mod error;
mod fetch;
mod file_keys;
mod format_error;
mod garbage;
mod graph;
mod held;
mod history;
mod index_store;
mod joins;
mod kept_answers;
mod kept_cells;
mod kept_ranking;
mod kept_vectors;
mod kernel;
mod layout;
mod lease;
mod lexical;
mod map;
mod narrations;
mod near;
mod packed_tables;
mod probe;
mod publish;
mod reader;
mod remote;
mod repair;
mod repair_catalog;
mod short;
mod sketches;
mod snapshot;
mod spill;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod values;
mod vectors;
mod verify;

pub mod analyzer;
pub mod diff;
pub mod languages;
pub mod whole;

pub use blocks::TextFrame;
pub use builder::{BuiltSegment, EXACT_LIMIT, SegmentSettings, SegmentStats, build_segment};
pub use cache::SegmentCache;
pub use catalog::{
    CATALOG_FORMAT, ColumnRecord, ContextRecord, FileRecord, KeyRecords, PatternShare, REGISTERED,
    ReferenceRecord, SinceSample, TableRecord, ValueCount,
};
pub use catalog_read::read_catalog;
pub use catalog_write::write_catalog;
pub use changes::{ChangeReader, Within};
pub use compact::{CompactStep, Compacted, IndexSize, Merge, Policy, plan};
pub use deletes::Deletes;
pub use error::{PublishError, SegmentError};
pub use garbage::{Garbage, GarbageObject, Retention};
pub use held::{HeldRows, HeldValue};
pub use history::{HistoryEnd, TableEvent, TableHistory};
pub use index_store::{FOLDERS, IndexStore};
pub use joins::{JOINS_FORMAT, JoinRecord};
pub use kept_answers::{AnswerFile, Answers};
pub use kept_vectors::KeptVector;
pub use layout::SEGMENT_FORMAT;
pub use narrations::{
    NARRATIONS_FORMAT, NarrationRecord, Narrator, narration_context, read_narrations,
    write_narrations,
};
pub use near::{Near, distance};
pub use packed_tables::{ColumnFacts, PackedTables, TableFacts, TextFacts};
pub use reader::{BlockMeta, SegmentReader};
pub use repair_catalog::Repaired;
pub use short::ShortTerms;
pub use sketches::Sketches;
pub use snapshot::{
    CatalogEntry, DeletesEntry, JoinsEntry, SNAPSHOT_FORMAT, SegmentEntry, Snapshot, SnapshotInfo,
    nonce,
};
pub use spill::{Numbers, Spilled, spilled};
pub use table::{
    Block, BlockKind, Field, KeyRef, Shard, TableBlocks, TableContent, TableKey, TextHash, is_under,
};
pub use tables::{SegmentTable, SegmentTables};
pub use values::{ColumnValues, PublishedFile, TableValues};
pub use verify::{Problem, Verified};
