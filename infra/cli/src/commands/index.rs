//! `limn index`: describe a lake and publish.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::bail;
use limn_lake::Contexts;
use limn_lake::contexts::read_contexts;
use limn_pipeline::{Narrate, Progress, Report, RunOptions, index_lake};
use limn_segment::IndexStore;
use limn_store::Store;

use crate::Outcome;
use crate::args::{IndexArgs, NarrateArg};
use crate::commands::{embedder, print_json};
use crate::progress::IndexBars;
use crate::text::{count, one_line, plural, seconds};

/// Failures listed for a person; the rest is counted (`--json` has them all).
const FAILURES_SHOWN: usize = 20;

pub async fn run(args: IndexArgs) -> anyhow::Result<Outcome> {
    let lake = Store::open(&args.lake)?;
    let index = IndexStore::open(&args.index.index)?;
    index.prepare().await?;
    let options = options(&args)?;
    let embedder = embedder(&args.embedder).await?;
    let progress = Arc::new(Progress::default());
    let bars = IndexBars::start(Arc::clone(&progress));
    let result = index_lake(lake, index, embedder, options, progress).await;
    bars.finish();
    let report = result?;
    if args.output.json {
        print_json(&report)?;
    } else {
        print(&report, &args)?;
    }
    Ok(if report.tables.failed > 0 || !report.failures.is_empty() {
        Outcome::SomeFailed
    } else {
        Outcome::Done
    })
}

fn options(args: &IndexArgs) -> anyhow::Result<RunOptions> {
    if args.resample_threshold > 0.0 {
        bail!(
            "--resample-threshold: this limn draws a table's rows anew whenever the table changes; leave it out, or use 0"
        );
    }
    let mut contexts = Contexts::new();
    for path in &args.contexts {
        read_contexts(path, &mut contexts)?;
    }
    let defaults = RunOptions::default();
    Ok(RunOptions {
        workers: args.workers.unwrap_or(defaults.workers),
        embed_threads: args.embed_threads.unwrap_or(defaults.embed_threads),
        contexts,
        shards: args.shards,
        allow_empty: args.allow_empty,
        narrate: match args.narrate {
            NarrateArg::Auto | NarrateArg::Names => Narrate::Names,
            NarrateArg::Off => Narrate::Off,
            NarrateArg::Llm => bail!(
                "--narrate llm: this limn has no language model to narrate with; use --narrate names"
            ),
        },
        sample_rows: args.sample_rows,
        scan_budget: args.scan_budget,
        epoch_objects: usize::try_from(args.epoch_objects).unwrap_or(usize::MAX),
        ..defaults
    })
}

fn print(report: &Report, args: &IndexArgs) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let tables = report.tables;
    let mut parts = vec![format!("{} added", count(tables.added))];
    for (number, what) in [
        (tables.changed, "changed"),
        (tables.removed, "removed"),
        (tables.unchanged, "unchanged"),
        (tables.failed, "failed"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    writeln!(out, "snapshot {}: {}", report.snapshot, parts.join(", "))?;
    let took = seconds(report.seconds.total);
    let listed = plural(report.objects.listed, "object");
    if report.objects.read == 0 && report.model.embedded_blocks == 0 {
        writeln!(out, "nothing new to read among {listed}, in {took}")?;
    } else {
        writeln!(
            out,
            "read {} of {listed}, embedded {} in {took}",
            plural(report.objects.read, "data file"),
            plural(report.model.embedded_blocks, "block"),
        )?;
    }
    for note in report.notes.iter().take(FAILURES_SHOWN) {
        writeln!(out, "note: {}", one_line(note))?;
    }
    if report.notes.len() > FAILURES_SHOWN {
        writeln!(
            out,
            "note: … and {} more",
            report.notes.len() - FAILURES_SHOWN
        )?;
    }
    for failure in report.failures.iter().take(FAILURES_SHOWN) {
        writeln!(out, "failed: {}", one_line(&failure.error))?;
    }
    if report.failures.len() > FAILURES_SHOWN {
        writeln!(
            out,
            "failed: … and {} more; --json lists them all",
            report.failures.len() - FAILURES_SHOWN
        )?;
    }
    if tables.added + tables.changed + tables.unchanged + tables.failed == 0 {
        writeln!(
            out,
            "the lake has no tables: nothing in {} is Parquet, CSV, TSV or JSON Lines",
            one_line(&args.lake)
        )?;
    }
    out.flush()
}
