//! Tests over whole segments and indexes. Here: made-up tables, and every read path at once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../../../tests/rounds.rs"]
mod rounds;

mod cached;
mod catalogs;
mod damage;
mod fixtures;
mod narrations;
mod opening;
mod publishing;
mod segments;

use std::collections::BTreeMap;

use half::f16;

use crate::*;

pub(crate) use rounds::rounds;

pub(crate) const DIMENSIONS: usize = 24;

const WORDS: [&str; 40] = [
    "Song_Name",
    "sickLeaveHours",
    "city",
    "cities",
    "HTTPServer",
    "price",
    "2024",
    "Zürich",
    "東京",
    "river",
    "lake",
    "employee",
    "employees",
    "rate",
    "rating",
    "address",
    "postal_code",
    "country",
    "amount",
    "total",
    "date",
    "born",
    "height_cm",
    "weight",
    "species",
    "genus",
    "station",
    "temperature",
    "rainfall",
    "budget",
    "revenue",
    "margin",
    "title",
    "album",
    "artist",
    "genre",
    "label",
    "year",
    "rank",
    "score",
];

/// A stable pseudo-random number.
pub(crate) fn noise(seed: u64, i: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed)
}

fn words(seed: u64, n: u64) -> String {
    // Squared, so that some words are frequent and some rare.
    let pick = |i| {
        let x = (noise(seed, i) % 1000) as usize;
        WORDS[x * x * WORDS.len() / 1_000_000]
    };
    (0..n).map(pick).collect::<Vec<_>>().join(" ")
}

pub(crate) fn unit_vector(seed: u64) -> Vec<f32> {
    let raw: Vec<f32> = (0..DIMENSIONS as u64)
        .map(|i| (noise(seed, i) >> 40) as f32 / (1u32 << 24) as f32 - 0.5)
        .collect();
    let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.into_iter().map(|x| x / norm).collect()
}

pub(crate) fn stored(vector: &[f32]) -> Vec<f16> {
    vector.iter().map(|x| f16::from_f32(*x)).collect()
}

/// Tables of two lakes with all kinds of blocks.
pub(crate) fn sample_tables(n: u64) -> Vec<TableBlocks> {
    (0..n)
        .map(|t| {
            let block = |kind: BlockKind, i: u64, field: Field, length: u64| {
                let seed = t * 100 + i;
                let text = format!("{kind} {t}.{i}: {}", words(seed, length));
                let mut fields = vec![(field, words(seed, length))];
                if kind == BlockKind::Schema {
                    fields.push((Field::Names, format!("table{t}")));
                    fields.push((Field::Rows, words(seed + 7, 3)));
                }
                Block {
                    kind,
                    text,
                    fields,
                    vector: (kind != BlockKind::Cells).then(|| stored(&unit_vector(seed))),
                }
            };
            let mut blocks = vec![block(BlockKind::Schema, 0, Field::Names, 8)];
            for i in 1..1 + t % 4 {
                blocks.push(block(BlockKind::Rows, i, Field::Rows, 60));
            }
            if t % 3 == 0 {
                blocks.push(block(BlockKind::Context, 8, Field::Contexts, 200));
            }
            if t % 2 == 0 {
                blocks.push(block(BlockKind::Cells, 9, Field::Cells, 300));
            }
            TableBlocks {
                content: None,
                values: TableValues::default(),
                table: TableKey {
                    lake: format!("s3://lake-{}", t % 2),
                    name: format!("folder/table{t}"),
                },
                location: format!("s3://lake-{}/folder/table{t}.csv", t % 2),
                blocks,
            }
        })
        .collect()
}

pub(crate) fn settings() -> SegmentSettings {
    SegmentSettings::new(DIMENSIONS, Shard(3))
}

pub(crate) fn built(n: u64) -> BuiltSegment {
    build_segment(sample_tables(n), &settings()).unwrap()
}

/// What the terms of some tables should be: (field, term) to (block, frequency).
pub(crate) type Postings = BTreeMap<(Field, String), BTreeMap<u32, u32>>;

/// Blocks in the order in which a segment numbers them, and their postings, made the plain way.
pub(crate) fn expected(mut tables: Vec<TableBlocks>) -> (Vec<Block>, Postings) {
    tables.sort_by(|a, b| a.table.cmp(&b.table));
    let blocks: Vec<Block> = tables.into_iter().flat_map(|t| t.blocks).collect();
    let mut postings = Postings::new();
    for (b, block) in blocks.iter().enumerate() {
        for (field, text) in &block.fields {
            for term in analyzer::analyze(text) {
                *postings
                    .entry((*field, term))
                    .or_default()
                    .entry(b as u32)
                    .or_default() += 1;
            }
        }
    }
    (blocks, postings)
}

/// Every read path of a segment, each to a printable answer or an error.
pub(crate) fn read_everything(
    reader: &SegmentReader,
    terms: &[(Field, String)],
) -> Vec<Result<String, SegmentError>> {
    let mut answers = Vec::new();
    for (field, term) in terms {
        let mut found = Vec::new();
        answers.push(
            reader
                .postings(*field, term, &mut |b, n| found.push((b, n)))
                .map(|()| format!("{found:?}")),
        );
    }
    for block in 0..reader.block_count() {
        answers.push(reader.text(block));
        answers.push(reader.text_hash(block).map(|h| h.0.to_string()));
        answers.push(reader.vector(block).map(|v| format!("{v:?}")));
        answers.push(Ok(format!("{:?}", reader.block(block))));
    }
    let query = unit_vector(1);
    let nearest = reader.nearest(&query, 7, &Deletes::none());
    answers.push(nearest.map(|found| {
        let bits: Vec<(u32, u32)> = found.iter().map(|(b, s)| (*b, s.to_bits())).collect();
        format!("{bits:?}")
    }));
    answers.push(Ok(format!("{:?}", reader.tables())));
    answers
}
