//! `limn compact`: small files become few, and what is no longer live leaves.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use limn_segment::{CompactStep, IndexSize, IndexStore, Merge, Policy};
use serde_json::json;

use crate::Outcome;
use crate::args::CompactArgs;
use crate::commands::{newest, print_json};
use crate::progress::ByteBar;
use crate::text::{bytes, count, plural};

pub async fn run(args: CompactArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let policy = if args.full {
        Policy::full()
    } else {
        Policy::default()
    };
    if args.dry_run {
        let (snapshot, merges) = index.plan_compaction(&policy).await?;
        let size = IndexSize::of(&snapshot);
        print_outcome(&args, snapshot.number, &merges, size, None)?;
        return Ok(Outcome::Done);
    }
    let index = index.leased();
    let bar: Mutex<Option<ByteBar>> = Mutex::new(None);
    let result = index
        .compact(&policy, &|step| {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            match step {
                CompactStep::Planned { bytes } => *bar = Some(ByteBar::start("merged", bytes)),
                CompactStep::Merged { bytes } => {
                    bar.iter().for_each(|bar| bar.add(bytes));
                }
            }
        })
        .await;
    if let Some(bar) = bar.into_inner().unwrap_or_else(PoisonError::into_inner) {
        bar.finish();
    }
    index.end_lease().await;
    match result? {
        Some(done) => print_outcome(
            &args,
            done.snapshot,
            &done.merges,
            done.before,
            Some(done.after),
        )?,
        None => {
            let snapshot = newest(&index).await?;
            let size = IndexSize::of(&snapshot);
            print_outcome(&args, snapshot.number, &[], size, Some(size))?;
        }
    }
    Ok(Outcome::Done)
}

/// `after` is `None` where nothing was merged yet.
fn print_outcome(
    args: &CompactArgs,
    snapshot: u64,
    merges: &[Merge],
    before: IndexSize,
    after: Option<IndexSize>,
) -> io::Result<()> {
    if args.output.json {
        return print_json(&json!({
            "snapshot": snapshot,
            "merges": merges,
            "before": before,
            "after": after,
        }));
    }
    let mut out = io::stdout().lock();
    let files = |size: IndexSize| {
        format!(
            "{} and {}, {}",
            plural(size.segments as u64, "segment"),
            plural(size.catalog_files as u64, "catalog file"),
            bytes(size.bytes),
        )
    };
    let inputs = merges.iter().map(|merge| merge.catalog.len() as u64).sum();
    match after {
        _ if merges.is_empty() => {
            writeln!(
                out,
                "snapshot {snapshot}: nothing to merge in {}",
                files(before)
            )?;
        }
        None => writeln!(
            out,
            "snapshot {snapshot}: would merge {} with their segments into {}; {} now",
            plural(inputs, "catalog file"),
            merges.len(),
            files(before),
        )?,
        Some(after) => writeln!(
            out,
            "snapshot {snapshot}: {} became {}; deleted blocks removed: {}",
            files(before),
            files(after),
            count(before.deleted_blocks.saturating_sub(after.deleted_blocks)),
        )?,
    }
    out.flush()
}
