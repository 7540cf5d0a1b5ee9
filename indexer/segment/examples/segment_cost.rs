//! What a segment costs: bytes by purpose, time to build, time to ask.
//!
//! `cargo run --release -p limn-segment --example segment_cost -- TABLES_FOLDER [CONTEXTS.jsonl]`
//! makes a segment of a folder of CSV files (read naively: this measures segments, not readers),
//! with made-up vectors of 384 dimensions in clusters. Prints one line a figure.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};

use half::f16;
use limn_segment::*;

const DIMENSIONS: usize = 384;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder of CSV files")?;
    let tables = tables_of(&folder, arguments.next().as_deref())?;
    let names = tables.iter().step_by(97).map(|it| it.table.name.as_str());
    let terms: Vec<String> = names.flat_map(analyzer::analyze).collect();

    let (flat, graph) = build(tables)?;
    let reader = SegmentReader::from_bytes(flat.bytes.clone(), &flat.entry)?;
    println!(
        "graph: {} bytes a vector",
        (graph.stats.vectors - flat.stats.vectors) / reader.vector_count().max(1) as u64,
    );
    let graph = SegmentReader::from_bytes(graph.bytes, &graph.entry)?;
    open(&flat)?;
    search(&reader, &graph)?;
    look_up(&reader, &terms)
}

/// The tables of a folder, with the contexts that a file has for them.
fn tables_of(folder: &str, contexts_file: Option<&str>) -> Outcome<Vec<TableBlocks>> {
    let mut contexts: BTreeMap<String, String> = BTreeMap::new();
    if let Some(path) = contexts_file {
        for line in std::fs::read_to_string(path)?.lines() {
            let row: serde_json::Value = serde_json::from_str(line)?;
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            contexts.insert(text("table"), text("context"));
        }
    }
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let context = contexts.get(&name).cloned();
        tables.push(table(&name, &std::fs::read_to_string(&path)?, context));
    }
    Ok(tables)
}

/// A segment whose vectors are scanned, and one with a graph of them.
fn build(tables: Vec<TableBlocks>) -> Outcome<(BuiltSegment, BuiltSegment)> {
    let count = tables.len();
    let start = Instant::now();
    let settings = SegmentSettings::new(DIMENSIONS, Shard(0));
    let flat = build_segment(tables.clone(), &settings)?;
    println!(
        "{count} tables, {} blocks, built in {:?}",
        flat.entry.blocks,
        start.elapsed()
    );
    println!(
        "{} bytes, {} of them hot: {:?}",
        flat.entry.bytes, flat.entry.hot, flat.stats
    );
    let start = Instant::now();
    let with_graph = SegmentSettings {
        graph_above: 1,
        ..settings
    };
    let graph = build_segment(tables, &with_graph)?;
    println!("with a graph: built in {:?}", start.elapsed());
    Ok((flat, graph))
}

/// Opens it on a disk, and asks it once.
fn open(flat: &BuiltSegment) -> Outcome {
    let folder = std::env::temp_dir().join(format!("segment-cost-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let index = IndexStore::open(&folder.to_string_lossy())?;
        let entry = index.put_segment(flat).await?;
        let start = Instant::now();
        let local = SegmentReader::open(&index.store, &entry).await?;
        println!("open: {:?}", start.elapsed());
        let start = Instant::now();
        local.nearest(&vector(1), 5, &Deletes::none())?;
        println!(
            "first question (verifies {} vectors): {:?}",
            local.vector_count(),
            start.elapsed()
        );
        Ok::<(), Box<dyn Error>>(())
    })?;
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// Searches vectors with and without the graph.
fn search(reader: &SegmentReader, graph: &SegmentReader) -> Outcome {
    let none = Deletes::none();
    println!(
        "exact scan: {:?}",
        median(|i| reader.nearest(&vector(i), 5, &none).map(drop))
    );
    println!(
        "graph search: {:?}",
        median(|i| graph.nearest(&vector(i), 5, &none).map(drop))
    );
    let mut hits = 0;
    for i in 0..100 {
        let exact = reader.nearest(&vector(i), 10, &none)?;
        let found = graph.nearest(&vector(i), 10, &none)?;
        hits += exact.iter().filter(|e| found.contains(e)).count();
    }
    println!("graph recall at 10: {}", hits as f64 / 1000.0);
    Ok(())
}

/// Looks words and texts up, and takes texts apart.
fn look_up(reader: &SegmentReader, terms: &[String]) -> Outcome {
    println!(
        "postings of one term in four fields: {:?}",
        median(|i| {
            let term = &terms[i as usize % terms.len()];
            Field::ALL
                .iter()
                .try_for_each(|f| reader.postings(*f, term, &mut |_, _| ()))
        })
    );
    let blocks = u64::from(reader.block_count());
    println!(
        "a text: {:?}",
        median(|i| reader.text((i * 7919 % blocks) as u32).map(drop))
    );
    let text: String = (0..reader.block_count())
        .map(|b| reader.text(b))
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let mut tokens = 0u64;
    analyzer::analyze_into(&text, &mut |_: &str| tokens += 1);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "analyzer: {:.0} MB/s, {:.1} M terms/s",
        text.len() as f64 / 1e6 / seconds,
        tokens as f64 / 1e6 / seconds
    );
    Ok(())
}

fn median<E: Into<Box<dyn Error>>>(mut run: impl FnMut(u64) -> Result<(), E>) -> Duration {
    let mut times: Vec<Duration> = (0..201)
        .map(|i| {
            let start = Instant::now();
            // A failure shows in what is printed next, not in the time.
            let _ = run(i);
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn table(name: &str, csv: &str, context: Option<String>) -> TableBlocks {
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .map(|line| line.split(',').map(|c| c.trim_matches('"')).collect())
        .collect();
    let header: Vec<&str> = rows.first().cloned().unwrap_or_default();
    let schema = format!("{name}: {}", header.join(" | "));
    let mut blocks = vec![block(BlockKind::Schema, Field::Names, schema)];
    for pair in rows[1.min(rows.len())..].chunks(3).take(2) {
        let text = pair
            .iter()
            .map(|row| {
                let cells = header.iter().zip(row).map(|(h, c)| format!("{h}: {c}"));
                cells.collect::<Vec<_>>().join(" | ")
            })
            .collect::<Vec<_>>()
            .join("\n");
        blocks.push(block(BlockKind::Rows, Field::Rows, text));
    }
    if let Some(text) = context {
        blocks.push(block(BlockKind::Context, Field::Contexts, text));
    }
    let cells: BTreeSet<&str> = rows.iter().skip(1).flatten().copied().collect();
    let cells: Vec<&str> = cells.into_iter().take(500).collect();
    blocks.push(block(BlockKind::Cells, Field::Cells, cells.join(" | ")));
    TableBlocks {
        content: None,
        values: TableValues::default(),
        table: TableKey {
            lake: "file:///corpora".into(),
            name: name.into(),
        },
        location: format!("file:///corpora/{name}.csv"),
        blocks,
    }
}

fn block(kind: BlockKind, field: Field, text: String) -> Block {
    let seed = (TextHash::of(&text).0 >> 64) as u64;
    Block {
        kind,
        fields: vec![(field, text.clone())],
        text,
        vector: (kind != BlockKind::Cells)
            .then(|| vector(seed).into_iter().map(f16::from_f32).collect()),
    }
}

/// A unit vector near one of 300 centres, as embeddings cluster.
fn vector(seed: u64) -> Vec<f32> {
    let raw = |seed: u64, i: u64| {
        let hash = TextHash::of(&format!("{seed} {i}")).0 as u64;
        (hash >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    };
    let mixed: Vec<f32> = (0..DIMENSIONS as u64)
        .map(|i| raw(seed % 300, i) + 0.6 * raw(seed | 1 << 40, i))
        .collect();
    let norm = mixed.iter().map(|x| x * x).sum::<f32>().sqrt();
    mixed.into_iter().map(|x| x / norm).collect()
}
