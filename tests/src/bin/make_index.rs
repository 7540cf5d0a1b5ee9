//! Writes a large index of synthetic tables, without a lake and without a model.
//!
//! What is made of the real tables is described in `limn_tests::synthetic`. Each shard is one
//! segment and one catalog file, made and written by one thread: memory is bounded by the shards
//! under way. The same arguments write the same objects, but for the time in the snapshot.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use limn_segment::{
    CatalogEntry, IndexStore, SegmentEntry, SegmentSettings, Shard, Snapshot, TableBlocks,
    TableKey, TableRecord, build_segment,
};
use limn_tests::synthetic::{Base, Recipe};

/// Writes a large index of synthetic tables, without a lake and without a model.
#[derive(Parser)]
struct Arguments {
    /// An index of real tables, which the synthetic ones are made of
    base: String,
    /// The index to write; there must be none
    index: String,
    /// Tables
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    tables: u64,
    /// Shards, and so segments
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    shards: u32,
    /// How far a block's vector is from the real one that it is made of
    #[arg(long, default_value_t = 0.6)]
    noise: f32,
    /// Noise of one size in all directions
    #[arg(long)]
    isotropic: bool,
    /// Invented words
    #[arg(long, default_value_t = 200_000)]
    vocabulary: usize,
    /// Share of the real words that stay
    #[arg(long, default_value_t = 0.5)]
    kept: f64,
    /// Seed of all chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Segments made at a time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// A segment of more vectors gets a graph
    #[arg(long, default_value_t = limn_segment::EXACT_LIMIT)]
    graph_above: usize,
}

fn main() {
    let arguments = Arguments::parse();
    let (tables, shards, graph_above) = (arguments.tables, arguments.shards, arguments.graph_above);
    let (threads, out) = (arguments.threads.max(1), &arguments.index);
    let recipe = Recipe {
        noise: arguments.noise,
        isotropic: arguments.isotropic,
        vocabulary: arguments.vocabulary,
        kept: arguments.kept,
        seed: arguments.seed,
    };

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let index = IndexStore::open(out).expect("a place for the index");
    let base = runtime.block_on(async {
        assert!(
            index.prepare().await.expect("a place").is_none(),
            "{out} holds an index already"
        );
        let base = IndexStore::open(&arguments.base).expect("the base");
        Base::read(&base).await
    });
    println!("{} real tables", base.len());

    let mut of_shard: Vec<Vec<u64>> = vec![Vec::new(); shards as usize];
    for number in 0..tables {
        of_shard[base.key(number).shard(shards).0 as usize].push(number);
    }
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(SegmentEntry, CatalogEntry)>> = Mutex::default();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let shard = next.fetch_add(1, Ordering::Relaxed);
                    let Some(numbers) = of_shard.get(shard) else {
                        return;
                    };
                    if numbers.is_empty() {
                        continue;
                    }
                    let settings = SegmentSettings {
                        graph_above,
                        ..SegmentSettings::new(base.dimensions, Shard(shard as u32))
                    };
                    let entries = write(&base, &recipe, &settings, numbers, &index, &runtime);
                    println!(
                        "shard {shard}: {} tables, {} MB, {:.0} s",
                        numbers.len(),
                        entries.0.bytes / 1_000_000,
                        started.elapsed().as_secs_f64()
                    );
                    made.lock().unwrap().push(entries);
                }
            });
        }
    });

    let mut made = made.into_inner().unwrap();
    made.sort_by_key(|(segment, _)| segment.shard);
    let mut snapshot = Snapshot::first(&base.embedder, base.dimensions, shards);
    (snapshot.segments, snapshot.catalog) = made.into_iter().unzip();
    runtime
        .block_on(index.publish(&snapshot))
        .expect("published");
    println!(
        "{tables} tables in {} segments, {:.2} GB, {:.0} s",
        snapshot.segments.len(),
        snapshot.bytes() as f64 / 1e9,
        started.elapsed().as_secs_f64()
    );
}

/// Makes and writes what a shard has.
fn write(
    base: &Base,
    recipe: &Recipe,
    settings: &SegmentSettings,
    numbers: &[u64],
    index: &IndexStore,
    runtime: &tokio::runtime::Runtime,
) -> (SegmentEntry, CatalogEntry) {
    let mut tables: Vec<TableBlocks> = Vec::with_capacity(numbers.len());
    let mut records: Vec<TableRecord> = Vec::with_capacity(numbers.len());
    for number in numbers {
        let (table, record) = base.table(*number, recipe);
        tables.push(table);
        records.push(record);
    }
    let segment = build_segment(tables, settings).expect("a segment");
    let entry = runtime
        .block_on(index.put_segment(&segment))
        .expect("the segment is written");
    // Both in the order of keys.
    records.sort_by_cached_key(TableRecord::key);
    for (record, (key, first, blocks)) in records.iter_mut().zip(&segment.tables) {
        assert!(is_of(record, key));
        record.segment.clone_from(&entry.path);
        (record.first_block, record.blocks) = (*first, *blocks);
    }
    drop(segment);
    let catalog = runtime
        .block_on(index.put_catalog(settings.shard, &records))
        .expect("the catalog is written");
    (entry, catalog)
}

fn is_of(record: &TableRecord, key: &TableKey) -> bool {
    record.lake == key.lake && record.name == key.name
}
