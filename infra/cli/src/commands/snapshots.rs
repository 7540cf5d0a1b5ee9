//! `limn snapshots`: the history of an index.

use std::io::{self, Write};

use limn_segment::{IndexStore, SegmentError};

use crate::Outcome;
use crate::args::SnapshotsArgs;
use crate::commands::{newest, print_json};
use crate::progress::say;
use crate::table::Table;
use crate::text::{bytes, count, utc};

pub async fn run(args: SnapshotsArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    newest(&index).await?;
    let mut rows = Vec::new();
    for info in index.snapshots().await? {
        match index.snapshot(info.number).await {
            Ok(snapshot) => rows.push(snapshot),
            Err(error) if error.is_damage() => say(&error.to_string()),
            // Collected meanwhile.
            Err(SegmentError::NoSuchSnapshot { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if args.output.json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|snapshot| {
                serde_json::json!({
                    "snapshot": snapshot.number,
                    "created_ms": snapshot.created_ms,
                    "segments": snapshot.segments.len(),
                    "shards": snapshot.shards,
                    "live_blocks": snapshot.live_blocks(),
                    "bytes": snapshot.bytes(),
                    "embedder": snapshot.embedder,
                })
            })
            .collect();
        print_json(&rows)?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(
        &[
            "snapshot",
            "created (UTC)",
            "segments",
            "blocks",
            "bytes",
            "embedder",
        ],
        &[0, 2, 3, 4],
    );
    for snapshot in rows {
        table.row(vec![
            snapshot.number.to_string(),
            utc(snapshot.created_ms),
            snapshot.segments.len().to_string(),
            count(snapshot.live_blocks()),
            bytes(snapshot.bytes()),
            snapshot.embedder.clone(),
        ]);
    }
    let mut out = io::stdout().lock();
    table.write(&mut out)?;
    out.flush()?;
    Ok(Outcome::Done)
}
