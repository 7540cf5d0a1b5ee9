//! `limn watch`: keep an index up to date while its lake changes.
//!
//! Triggers say where something may have changed, and a round of the session looks there. A burst
//! is done when its round has published; if the round could not, its hints come again with the next
//! burst.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use limn_pipeline::{Failure, PipelineError, Report, RunOptions, Scope, Session};
use limn_segment::PublishError;
use limn_triggers::{
    Burst, Bursts, Coalesce, LakeRoot, ListenOptions, QueueOptions, Token, TriggerErrorKind,
    Triggers,
};

use crate::Outcome;
use crate::args::{RunArgs, WatchArgs};
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
    say(&format!(
        "watching {}; all of it is looked at first",
        one_line(opened.lake.url())
    ));
    let mut session = Session::new(opened.lake, opened.index, opened.embedder, opened.options);
    let mut wait = FIRST_WAIT;
    let mut has_looked = false;
    let mut known = Printed::default();
    while let Some(Some(burst)) = stop.run_until_cancelled(bursts.next()).await {
        match session.look(scope(&burst), Arc::default()).await {
            Ok(report) => {
                print(&report, &burst, &args.run, &mut known)?;
                if report.stopped {
                    // What a queue has announced comes again.
                    break;
                }
                has_looked = true;
                if let Err(error) = burst.done().await {
                    // The messages come again, and find nothing to do.
                    say(&one_line(&error.to_string()));
                }
                wait = FIRST_WAIT;
            }
            Err(PipelineError::Stopped) => break,
            Err(error) if passes(&error) || has_looked && is_away(&error) => {
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
    if opened.lake.is_catalog() && (args.queue.is_some() || args.listen.is_some()) {
        bail!(
            "events name objects of buckets, and an Iceberg catalog has tables: leave --queue and --listen away; the catalog is asked --every"
        );
    }
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
        let every = humantime::format_duration(args.every);
        match triggers.folder(&root, &index) {
            Ok(unwatched) => {
                if let Some(first) = unwatched.first() {
                    say(&format!(
                        "{}; changes in {} are found every {every}, those in all others at once",
                        one_line(&first.to_string()),
                        match unwatched.len() {
                            1 => "it".to_owned(),
                            folders => format!("it and {} more like it", folders - 1),
                        }
                    ));
                }
            }
            Err(error) if error.kind() == TriggerErrorKind::Configuration => {
                return Err(error.into());
            }
            Err(error) => say(&format!(
                "{}; changes are found every {every}",
                one_line(&error.to_string())
            )),
        }
    }
    Ok(triggers.bursts())
}

/// What a burst names.
fn scope(burst: &Burst) -> Scope {
    if burst.everything {
        Scope::Lake
    } else {
        Scope::Objects(burst.objects.clone())
    }
}

/// Whether the same run may succeed later: the lake or the network is away, or another run was
/// faster.
fn passes(error: &PipelineError) -> bool {
    let is_away = matches!(
        error,
        PipelineError::EmptyLake { .. }
            | PipelineError::NothingLeft { .. }
            | PipelineError::Publish(PublishError::Lost { .. })
    );
    is_away || error.is_retryable()
}

/// Whether a lake or index that was there is not to be found: a disk may be mounted again.
fn is_away(error: &PipelineError) -> bool {
    matches!(error, PipelineError::Store(error) if error.is_not_found())
}

/// The failures that were printed.
#[derive(Default)]
struct Printed {
    failures: BTreeSet<Failure>,
    /// Whether it was printed how many failures an earlier run has reported.
    has_counted: bool,
}

impl Printed {
    /// What is to be printed of the failures of a run: those that are new or have changed, and
    /// objects that have none any more. A run reports all failures of what it looked at; those but
    /// `to_report` were reported by an earlier one, maybe of another process.
    fn news(
        &mut self,
        failures: &[Failure],
        to_report: &[Failure],
        looked_at: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let (resolved, kept): (BTreeSet<Failure>, _) = std::mem::take(&mut self.failures)
            .into_iter()
            .partition(|it| looked_at(&it.object) && !failures.contains(it));
        self.failures = kept;
        let to_report: BTreeSet<&Failure> = to_report.iter().collect();
        let mut objects: Vec<&str> = resolved.iter().map(|it| it.object.as_str()).collect();
        objects.dedup();
        objects.retain(|object| failures.iter().all(|it| it.object != *object));
        let resolved = objects.into_iter();
        let mut lines: Vec<String> = resolved.map(|it| format!("failed no more: {it}")).collect();
        for failure in failures {
            if self.failures.insert(failure.clone()) && to_report.contains(failure) {
                lines.push(format!("failed: {}", failure.error));
            }
        }
        lines
    }
}

/// Whether a run over a burst has looked at an object: it is named, or a folder that it lies in.
fn looks_at(burst: &Burst, object: &str) -> bool {
    let above = object.match_indices('/').map(|(at, _)| &object[..at]);
    let is_named = |path: &str| burst.objects.contains(path);
    burst.everything || is_named(object) || above.into_iter().any(is_named)
}

/// A line for each run that changed something, and for each failure that is new, changed or
/// resolved; with `--json` a line for every run, with all failures.
fn print(report: &Report, burst: &Burst, args: &RunArgs, known: &mut Printed) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if args.output.json {
        serde_json::to_writer(&mut out, report).map_err(io::Error::from)?;
        writeln!(out)?;
        return out.flush();
    }
    let looked = if burst.everything {
        "all of the lake".to_owned()
    } else {
        plural(burst.objects.len() as u64, "object")
    };
    let tables = report.tables;
    let changed = tables.added + tables.changed + tables.removed;
    if changed > 0 {
        writeln!(
            out,
            "snapshot {}: {} added, {} changed, {} removed, of {looked}, in {}",
            report.snapshot,
            tables.added,
            tables.changed,
            tables.removed,
            seconds(report.seconds.total),
        )?;
    }
    let to_report = index::to_report(report, args.strict);
    let looked_at = |object: &str| looks_at(burst, object);
    for line in known.news(&report.failures, to_report, looked_at) {
        writeln!(out, "{}", one_line(&line))?;
    }
    if !std::mem::replace(&mut known.has_counted, true)
        && let Some(line) = index::reported_before(report, args.strict)
    {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(object: &str, error: &str) -> Failure {
        Failure {
            table: object.trim_end_matches(".csv").to_owned(),
            object: object.to_owned(),
            error: format!("{object}: {error}"),
        }
    }

    #[test]
    fn a_failure_is_printed_when_it_is_new_or_another_and_once_when_it_is_resolved() {
        let mut printed = Printed::default();
        let (a, b) = (
            failure("a.csv", "is empty"),
            failure("b/b.csv", "is cut off"),
        );
        let both = [a.clone(), b.clone()];
        let all = |_: &str| true;
        assert_eq!(
            printed.news(&both, &both, all),
            ["failed: a.csv: is empty", "failed: b/b.csv: is cut off"]
        );
        assert!(printed.news(&both, &both, all).is_empty());
        let twice = [a.clone(), failure("a.csv", "is no table"), b.clone()];
        assert_eq!(
            printed.news(&twice, &twice, all),
            ["failed: a.csv: is no table"]
        );
        assert!(printed.news(&twice, &twice, all).is_empty());
        let other = failure("a.csv", "is no text");
        let now = [other.clone(), b];
        assert_eq!(printed.news(&now, &now, all), ["failed: a.csv: is no text"]);
        // A run over another part of the lake knows nothing of b.
        assert!(
            printed
                .news(&[], &[], |object| object == "c.csv")
                .is_empty()
        );
        let now = [other];
        assert_eq!(printed.news(&now, &now, all), ["failed no more: b/b.csv"]);
        assert_eq!(printed.news(&[], &[], all), ["failed no more: a.csv"]);
        assert!(printed.news(&[], &[], all).is_empty());
        let now = [a];
        assert_eq!(printed.news(&now, &now, all), ["failed: a.csv: is empty"]);
    }

    #[test]
    fn a_failure_that_an_earlier_run_has_reported_is_printed_only_when_it_is_resolved() {
        let mut printed = Printed::default();
        let (new, old) = (failure("a.csv", "is empty"), failure("b.csv", "is cut off"));
        let (both, all) = ([new.clone(), old], |_: &str| true);
        assert_eq!(
            printed.news(&both, &both[..1], all),
            ["failed: a.csv: is empty"]
        );
        assert!(printed.news(&both, &[], all).is_empty());
        assert_eq!(printed.news(&[new], &[], all), ["failed no more: b.csv"]);
    }
}
