//! Indexes a lake with hashed words and prints how many bytes the catalog takes:
//! `catalog_bytes LAKE INDEX`.

use std::sync::Arc;

use limn_models::HashedWords;
use limn_pipeline::{Progress, RunOptions, index_lake};
use limn_segment::IndexStore;
use limn_store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [lake, folder] = arguments.as_slice() else {
        return Err("catalog_bytes LAKE INDEX".into());
    };
    let index = IndexStore::open(folder)?;
    let options = RunOptions {
        workers: 2,
        ..RunOptions::default()
    };
    if index.newest().await?.is_none() {
        let progress = Arc::new(Progress::default());
        let (lake, embedder) = (Store::open(lake)?, Arc::new(HashedWords));
        index_lake(lake, index.clone(), embedder, options, progress).await?;
    }
    let snapshot = index.require_newest().await?;
    let bytes: u64 = snapshot.catalog.iter().map(|entry| entry.bytes).sum();
    let rows: u64 = snapshot.catalog.iter().map(|entry| entry.rows).sum();
    let mut best = f64::MAX;
    let mut columns = 0;
    for _ in 0..5 {
        let started = std::time::Instant::now();
        let tables = index.tables(&snapshot, None).await?;
        best = best.min(started.elapsed().as_secs_f64());
        columns = tables.iter().map(|table| table.columns.len()).sum();
    }
    let files = snapshot.catalog.len();
    println!(
        "{bytes} bytes, {rows} tables, {columns} columns, {files} catalog files, read in {best:.3} s"
    );
    Ok(())
}
