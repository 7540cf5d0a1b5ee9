//! `limn gc`: old snapshots, and what no snapshot names.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::Utc;
use limn_segment::{Garbage, IndexStore, Retention};

use crate::Outcome;
use crate::args::GcArgs;
use crate::commands::{newest, print_json};
use crate::progress::Waiting;
use crate::text::{bytes, plural};

pub async fn run(args: GcArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    newest(&index).await?;
    let retention = Retention {
        older_than: args.older_than,
        keep: args.keep,
    };
    let now = index.time(|| Utc::now().timestamp_millis()).await?;
    let garbage = index.garbage(retention, now).await?;
    if !args.dry_run {
        let waiting = Waiting::start(format!(
            "removing {}",
            plural(garbage.objects.len() as u64, "object")
        ));
        let removed = AtomicU64::new(0);
        let result = index
            .remove_garbage(&garbage, &|| {
                removed.fetch_add(1, Ordering::Relaxed);
            })
            .await;
        waiting.finish();
        result.map_err(|error| {
            let so_far = plural(removed.load(Ordering::Relaxed), "object");
            anyhow::anyhow!("{error}; {so_far} are removed, and the same command goes on")
        })?;
    }
    if args.output.json {
        let mut json = serde_json::to_value(&garbage)?;
        json["bytes"] = garbage.bytes().into();
        json["removed"] = (!args.dry_run).into();
        print_json(&json)?;
    } else {
        print(&garbage, args.dry_run)?;
    }
    Ok(Outcome::Done)
}

fn print(garbage: &Garbage, dry_run: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let what = if garbage.snapshots.is_empty() && garbage.objects.is_empty() {
        "nothing to remove".to_owned()
    } else {
        format!(
            "{}{} and {} that no other snapshot names, {}",
            if dry_run { "would remove " } else { "removed " },
            plural(garbage.snapshots.len() as u64, "snapshot"),
            plural(garbage.objects.len() as u64, "object"),
            bytes(garbage.bytes()),
        )
    };
    let newest = garbage.retained.first().copied().unwrap_or_default();
    writeln!(
        out,
        "{what}; {} {}, up to {newest}",
        plural(garbage.retained.len() as u64, "snapshot"),
        if garbage.retained.len() == 1 {
            "stays"
        } else {
            "stay"
        },
    )?;
    out.flush()
}
