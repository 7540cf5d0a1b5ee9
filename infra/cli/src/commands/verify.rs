//! `limn verify`: whether all of an index is there and as it was written.

use std::collections::BTreeSet;
use std::io::{self, Write};

use limn_segment::{IndexStore, Problem, Verified};

use crate::Outcome;
use crate::args::VerifyArgs;
use crate::commands::{newest, print_json};
use crate::progress::{ByteBar, say};
use crate::text::{bytes, count, one_line, plural};

pub async fn run(args: VerifyArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let (mut set_aside, mut left_out) = (Vec::new(), Vec::new());
    if args.repair {
        set_aside = index.set_damaged_aside().await?;
        for number in &set_aside {
            say(&format!("snapshot {number} was damaged and is set aside"));
        }
        left_out = repair_catalog(&index).await?;
    }
    let snapshot = match args.snapshot {
        Some(number) => index.snapshot(number).await?,
        None => newest(&index).await?,
    };
    let bar = ByteBar::start("verified", snapshot.bytes());
    let verified = index.verify(&snapshot, &|read| bar.add(read)).await;
    bar.finish();
    let mut verified = verified?;
    if args.snapshot.is_none() {
        let damaged = index.damaged_snapshots().await?.into_iter();
        let problems = damaged.map(|(_, problem)| problem);
        verified.problems.splice(0..0, problems);
    }
    if args.output.json {
        let mut json = serde_json::to_value(&verified)?;
        json["set_aside"] = set_aside.into();
        json["left_out"] = left_out.into();
        print_json(&json)?;
    } else {
        print(&verified)?;
    }
    Ok(if verified.problems.is_empty() {
        Outcome::Done
    } else {
        Outcome::SomeFailed
    })
}

/// Leaves damaged catalog files out of the index, and gives which.
async fn repair_catalog(index: &IndexStore) -> anyhow::Result<Vec<String>> {
    let repaired = index.repair_catalog().await?;
    let tables = plural(repaired.lost.len() as u64, "table");
    for Problem { object, error } in &repaired.left_out {
        say(&one_line(&format!(
            "{object} is damaged: {error}; it is left out of the catalog"
        )));
    }
    let lakes: BTreeSet<&str> = repaired.lost.iter().map(|it| it.lake.as_str()).collect();
    if !lakes.is_empty() {
        let lakes = Vec::from_iter(lakes).join(", ");
        say(&one_line(&format!(
            "{tables} cannot be found until limn index is run over {lakes}"
        )));
    }
    let objects = repaired.left_out.into_iter().map(|it| it.object);
    Ok(objects.collect())
}

fn print(verified: &Verified) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "snapshot {}: {}, {} in {} and {}, {}",
        verified.snapshot,
        plural(verified.tables as u64, "table"),
        plural(verified.blocks, "block"),
        plural(verified.segments as u64, "segment"),
        plural(verified.catalog_files as u64, "catalog file"),
        bytes(verified.bytes),
    )?;
    for problem in &verified.problems {
        writeln!(
            out,
            "damaged: {}: {}",
            one_line(&problem.object),
            one_line(&problem.error)
        )?;
    }
    if verified.problems.is_empty() {
        writeln!(out, "all of it is there and as it was written")?;
    } else {
        let problems = verified.problems.len() as u64;
        let what = if problems == 1 { "problem" } else { "problems" };
        writeln!(out, "{} {what}", count(problems))?;
    }
    out.flush()
}
