//! What goes into a segment: tables, their blocks, and the names of things.
//!
//! A *block* is a piece of text about one table and the unit of both indexes (PNEUMA §5.2). It has
//! a kind, the text that is shown as evidence, text for the four lexical fields, and a vector.

use std::fmt;

use half::f16;
use serde::{Deserialize, Serialize};

use crate::values::TableValues;

/// A table's identity: the lake's root URL and the table's name in it.
///
/// A run over one lake touches no other lake's tables, even where names coincide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableKey {
    /// Root URL of the lake, as `limn_store::Store::url` gives it.
    pub lake: String,
    /// Name of the table: its path under the lake without the data extension.
    pub name: String,
}

impl TableKey {
    /// The shard that holds this table, of `shards` (0 is read as 1).
    ///
    /// A stable hash (xxh3-64 of lake, a zero byte, name): the same on every machine and build.
    #[must_use]
    pub fn shard(&self, shards: u32) -> Shard {
        let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
        hasher.update(self.lake.as_bytes());
        hasher.update(&[0]);
        hasher.update(self.name.as_bytes());
        // The remainder is below `shards`, so it fits u32.
        Shard((hasher.digest() % u64::from(shards.max(1))) as u32)
    }
}

impl TableKey {
    /// The same, without owning it.
    #[must_use]
    pub fn borrowed(&self) -> KeyRef<'_> {
        KeyRef {
            lake: &self.lake,
            name: &self.name,
        }
    }
}

impl fmt::Display for TableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrowed().fmt(f)
    }
}

/// A table's identity, as [`TableKey`], where somebody else holds the text. Both sort alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRef<'a> {
    /// As [`TableKey::lake`].
    pub lake: &'a str,
    /// As [`TableKey::name`].
    pub name: &'a str,
}

impl KeyRef<'_> {
    /// The key itself.
    #[must_use]
    pub fn to_key(self) -> TableKey {
        TableKey {
            lake: self.lake.to_owned(),
            name: self.name.to_owned(),
        }
    }

    /// Puts it into a key that is there: looking at many of them makes no text for each.
    pub fn write_to(self, key: &mut TableKey) {
        key.lake.clear();
        key.lake.push_str(self.lake);
        key.name.clear();
        key.name.push_str(self.name);
    }
}

impl PartialEq<TableKey> for KeyRef<'_> {
    fn eq(&self, other: &TableKey) -> bool {
        *self == other.borrowed()
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.name, self.lake)
    }
}

/// Number of a shard: tables are spread over shards by the hash of their key.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Shard(pub u32);

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.0)
    }
}

/// What a block is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// Columns: names, narrations, types, ranges.
    Schema,
    /// Sampled rows.
    Rows,
    /// Text about the table that its rows do not hold.
    Context,
    /// Distinct cell values: lexical only, no vector.
    Cells,
}

impl BlockKind {
    /// All kinds, in the order of their codes in the format.
    pub const ALL: [BlockKind; 4] = [
        BlockKind::Schema,
        BlockKind::Rows,
        BlockKind::Context,
        BlockKind::Cells,
    ];

    /// Name as the command line and JSON outputs write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Schema => "schema",
            BlockKind::Rows => "rows",
            BlockKind::Context => "context",
            BlockKind::Cells => "cells",
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Option<BlockKind> {
        BlockKind::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A lexical field: each has its own weight and length normalisation in retrieval (BM25F).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// Table and column names, split into words.
    Names,
    /// Cells of sampled rows, and narrations, which count as much.
    Rows,
    /// Context texts.
    Contexts,
    /// Distinct cell values.
    Cells,
}

impl Field {
    /// All fields, in the order of their numbers in the format.
    pub const ALL: [Field; 4] = [Field::Names, Field::Rows, Field::Contexts, Field::Cells];

    /// Position in [`Field::ALL`], and in every array of four in this crate.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Name of the field in the tantivy schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Field::Names => "names",
            Field::Rows => "rows",
            Field::Contexts => "contexts",
            Field::Cells => "cells",
        }
    }
}

/// One block, ready to be indexed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is about.
    pub kind: BlockKind,
    /// The text shown as evidence; also what was embedded, unless the kind is `Cells`.
    pub text: String,
    /// Text of the lexical fields; several entries of one field are read as one text.
    pub fields: Vec<(Field, String)>,
    /// Unit-length embedding of `text`; `None` for `Cells`.
    #[serde(with = "vector_bits")]
    pub vector: Option<Vec<f16>>,
}

impl Block {
    /// Hash of the text: what vectors are cached by.
    #[must_use]
    pub fn text_hash(&self) -> TextHash {
        TextHash::of(&self.text)
    }
}

/// Whether a table's name is this path or lies below it: `sales` holds `sales/2024`, not
/// `salesforce`.
#[must_use]
pub fn is_under(name: &str, path: &str) -> bool {
    let path = path.trim_matches('/');
    name.strip_prefix(path)
        .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// xxh3-128 of a text: the key under which its vector is cached and found again in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextHash(pub u128);

impl TextHash {
    /// The hash of a text.
    #[must_use]
    pub fn of(text: &str) -> TextHash {
        TextHash(xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> TextHash {
        TextHash(u128::from_le_bytes(bytes))
    }
}

/// A table with all its blocks: what the pipeline sends to the shard that holds the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableBlocks {
    /// Whose blocks they are.
    pub table: TableKey,
    /// URL of the table's file or directory, shown to people.
    pub location: String,
    /// In the order in which they are numbered.
    pub blocks: Vec<Block>,
    /// What its copies have in common with it, where that is known.
    pub content: Option<TableContent>,
    /// Hashes of its values.
    pub values: TableValues,
}

/// What a table holds, as far as it takes to find its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableContent {
    /// A hash: tables of equal content have the same one. Never 0.
    pub hash: u128,
    /// When its newest file was written, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// Serde of `Option<Vec<f16>>` as bit patterns, so that blocks travel between workers.
mod vector_bits {
    use half::f16;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(v: &Option<Vec<f16>>, s: S) -> Result<S::Ok, S::Error> {
        v.as_ref()
            .map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<u16>>())
            .serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<f16>>, D::Error> {
        Ok(
            Option::<Vec<u16>>::deserialize(d)?
                .map(|v| v.into_iter().map(f16::from_bits).collect()),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn a_prefix_is_a_path_and_not_the_beginning_of_a_word() {
        for (name, path, under) in [
            ("sales/2024", "sales", true),
            ("sales/2024", "/sales/", true),
            ("sales", "sales", true),
            ("salesforce", "sales", false),
            ("old/sales", "sales", false),
            ("sales", "", true),
        ] {
            assert_eq!(is_under(name, path), under, "{name} {path}");
        }
    }

    #[test]
    fn shards_are_stable_and_spread() {
        let key = |i: usize| TableKey {
            lake: "file:///lake".into(),
            name: format!("table{i}"),
        };
        // Pinned: another value would strand the tables of existing indexes in the wrong shard.
        assert_eq!(key(0).shard(8), Shard(4));
        assert_eq!(key(0).shard(0), Shard(0));
        let mut counts = [0usize; 8];
        for i in 0..8000 {
            counts[key(i).shard(8).0 as usize] += 1;
        }
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
    }

    #[test]
    fn blocks_survive_serde_bit_by_bit() {
        let block = Block {
            kind: BlockKind::Rows,
            text: "a".into(),
            fields: vec![(Field::Rows, "a".into())],
            vector: Some(vec![f16::from_f32(0.1), f16::NEG_ZERO]),
        };
        let json = serde_json::to_string(&block).unwrap();
        let back: Block = serde_json::from_str(&json).unwrap();
        assert_eq!(back.vector.unwrap()[1].to_bits(), f16::NEG_ZERO.to_bits());
    }
}
