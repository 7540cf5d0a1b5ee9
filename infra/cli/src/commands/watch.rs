//! `limn watch`: keep an index up to date while its lake changes.
//!
//! Triggers say where something may have changed, and a round of the session looks there. A burst is done
//! when its round has published; if the round could not, its hints come again with the next burst.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use limn_pipeline::{PipelineError, Report, RunOptions, Scope, Session};
use limn_segment::PublishError;
use limn_triggers::{
    Burst, Bursts, Coalesce, LakeRoot, ListenOptions, QueueOptions, Token, Triggers,
};

use crate::Outcome;
use crate::args::WatchArgs;
use crate::commands::index::{self, Opened};
use crate::interrupt::stop_when_interrupted;
use crate::progress::say;
use crate::text::{one_line, plural, seconds};

/// The variable with the bearer token of events over HTTP.
const TOKEN: &str = "LIMN_EVENTS_TOKEN";
/// The wait after a run that failed and may succeed, doubled each time…
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// …up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

pub async fn run(args: WatchArgs) -> anyhow::Result<Outcome> {
    let opened = index::open(&args.lake, &args.run, RunOptions::default()).await?;
    let stop = opened.options.stop.clone();
    stop_when_interrupted(stop.clone(), say);
    let mut bursts = sources(&args, &opened).await?;
    let mut session = Session::new(opened.lake, opened.index, opened.embedder, opened.options);
    let mut wait = FIRST_WAIT;
    while let Some(Some(burst)) = stop.run_until_cancelled(bursts.next()).await {
        match session.look(scope(&burst), Arc::default()).await {
            Ok(report) if report.stopped => return Ok(Outcome::Stopped),
            Ok(report) => {
                tell(&report, &burst, args.run.output.json)?;
                if let Err(error) = burst.done().await {
                    // The messages come again, and find nothing to do.
                    say(&one_line(&error.to_string()));
                }
                wait = FIRST_WAIT;
            }
            Err(PipelineError::Stopped) => break,
            Err(error) if passes(&error) => {
                let again = seconds(wait.as_secs_f64());
                say(&format!(
                    "{}; tried again in {again}",
                    one_line(&error.to_string())
                ));
                burst.put_back();
                let slept = stop.run_until_cancelled(tokio::time::sleep(wait)).await;
                if slept.is_none() {
                    break;
                }
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Outcome::Done)
}

/// The sources that the arguments name.
async fn sources(args: &WatchArgs, opened: &Opened) -> anyhow::Result<Bursts> {
    let coalesce = Coalesce {
        quiet: args.quiet,
        ..Coalesce::default()
    };
    let mut triggers = Triggers::new(LakeRoot::of(&opened.lake), coalesce);
    triggers.every(args.every);
    if let Some(url) = &args.queue {
        let queue = QueueOptions {
            set_aside: args.set_aside.clone(),
            tries: args.tries,
            ..QueueOptions::new(url)
        };
        triggers.queue(queue).await?;
    }
    if let Some(address) = args.listen {
        let token = std::env::var(TOKEN).ok().map(Token::new).transpose()?;
        if token.is_none() && !address.ip().is_loopback() {
            bail!(
                "--listen {address} can be reached from other machines: set {TOKEN} to a secret that senders give as bearer token, or listen on 127.0.0.1"
            );
        }
        let address = triggers.listen(ListenOptions { address, token }).await?;
        say(&format!("taking events at http://{address}/v1/events"));
    }
    if let (Some(root), false) = (opened.lake.local_root(), args.no_file_events) {
        let index: Vec<PathBuf> = opened.index.store.local_root().into_iter().collect();
        if let Err(error) = triggers.folder(&root, &index) {
            let every = humantime::format_duration(args.every);
            say(&format!(
                "{}; changes are found every {every}",
                one_line(&error.to_string())
            ));
        }
    }
    Ok(triggers.bursts())
}

/// What a burst tells of.
fn scope(burst: &Burst) -> Scope {
    if burst.everything {
        Scope::Lake
    } else {
        Scope::Objects(burst.objects.clone())
    }
}

/// Whether the same run may succeed later: the lake or the network is away, or another run was faster.
fn passes(error: &PipelineError) -> bool {
    let is_away = matches!(
        error,
        PipelineError::EmptyLake { .. } | PipelineError::Publish(PublishError::Lost { .. })
    );
    is_away || error.is_retryable()
}

/// A line for each run that changed something; with `--json` a line for every run.
fn tell(report: &Report, burst: &Burst, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, report).map_err(io::Error::from)?;
        writeln!(out)?;
        return out.flush();
    }
    let told = if burst.everything {
        "all of the lake".to_owned()
    } else {
        plural(burst.objects.len() as u64, "object")
    };
    let tables = report.tables;
    let changed = tables.added + tables.changed + tables.removed;
    if changed > 0 {
        writeln!(
            out,
            "snapshot {}: {} added, {} changed, {} removed, of {told}, in {}",
            report.snapshot,
            tables.added,
            tables.changed,
            tables.removed,
            seconds(report.seconds.total),
        )?;
    }
    for failure in &report.failures {
        writeln!(out, "failed: {}", one_line(&failure.error))?;
    }
    out.flush()
}
