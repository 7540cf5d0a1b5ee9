//! `limn index` and `limn update`: describe a lake, or tables of it, and publish.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use limn_lake::contexts::read_contexts;
use limn_models::{Embedder, ModelError, ModelKind, ModelStore};
use limn_pipeline::{
    CancellationToken, Cluster, Failure, Narrate, NarrateWith, PipelineError, Progress, Report,
    RunOptions, Scope, follow, index_lake,
};
use limn_segment::IndexStore;
use limn_store::Store;

use crate::Outcome;
use crate::args::{IndexArgs, ModelOptions, NarrateArg, RunArgs, UpdateArgs};
use crate::commands::cluster::Part;
use crate::commands::processes::{self, is_watched, stop_when_unwatched};
use crate::commands::{embedder, known, language_model, print_json, warn_passed_over};
use crate::interrupt::stop_when_interrupted;
use crate::progress::{IndexBars, say};
use crate::skipped;
use crate::text::{count, one_line, plural, seconds};

/// Failures listed for a person; the rest is counted (`--json` has them all).
const FAILURES_SHOWN: usize = 20;

pub async fn run(args: IndexArgs) -> anyhow::Result<Outcome> {
    let place = match Part::of(&args.cluster)? {
        Part::Watch(number) => return processes::run(number, &args.run).await,
        Part::Member(place) => place,
        Part::Alone => return run_over(&args.lake, &args.run, RunOptions::default()).await,
    };
    let stop = CancellationToken::new();
    stop_when_interrupted(stop.clone(), say);
    stop_when_unwatched(stop.clone());
    let cluster = Cluster::join(&place, &stop).await?;
    if !cluster.leads() {
        return follow_over(&args.lake, &args.run, cluster, stop).await;
    }
    let defaults = RunOptions {
        cluster: Some(cluster),
        stop,
        ..RunOptions::default()
    };
    run_over(&args.lake, &args.run, defaults).await
}

/// The part of a process that another one leads. It reports nothing. Where processes are started on
/// one machine, the first asks the language model for all: its weights are in memory once.
async fn follow_over(
    location: &str,
    args: &RunArgs,
    cluster: Arc<Cluster>,
    stop: CancellationToken,
) -> anyhow::Result<Outcome> {
    let (lake, index) = places(location, args)?;
    let defaults = RunOptions {
        stop,
        ..RunOptions::default()
    };
    let mut options = options(args, defaults)?;
    let opening = async {
        let narrator = match is_watched() {
            true => None,
            false => narrator(args).await.unwrap_or_else(|error| {
                say(&format!("{error:#}: this process asks no language model"));
                None
            }),
        };
        let devices = language_model::devices(args.model.device).await?;
        let embedder = embedder(&args.embedder, args.embedder_dimensions, devices);
        anyhow::Ok((narrator, embedder.await?))
    };
    let opened = options.stop.run_until_cancelled(opening).await;
    let (narrator, embedder) = opened.ok_or(PipelineError::Stopped)??;
    options.narrator = narrator;
    let progress = Arc::new(Progress::default());
    let followed = follow(lake, index, embedder, options, cluster, progress).await?;
    Ok(if followed.stopped {
        Outcome::Stopped
    } else {
        Outcome::Done
    })
}

/// `limn update`: the same for some tables.
pub async fn update(mut args: UpdateArgs) -> anyhow::Result<Outcome> {
    // Whoever asks for a table wants to know that it cannot be read, however long that has been so.
    args.run.strict = true;
    let tables = args.tables.iter().map(|table| table.trim_matches('/'));
    let scope = Scope::Tables(tables.map(str::to_owned).collect());
    let defaults = RunOptions {
        scope,
        ..RunOptions::default()
    };
    let store = Store::open_as(&args.run.index.index, &args.run.access.to_index())?;
    let lake = known::lake(&IndexStore::new(store), args.lake).await?;
    run_over(&lake, &args.run, defaults).await
}

/// What a run needs, opened.
pub struct Opened {
    /// The lake.
    pub lake: Store,
    /// The index, which may be there or not.
    pub index: IndexStore,
    /// The embedder, loaded.
    pub embedder: Arc<dyn Embedder>,
    /// What the arguments say.
    pub options: RunOptions,
}

/// Opens what a run over the lake at `location` needs. What the arguments leave open is as in
/// `defaults`.
pub async fn open(location: &str, args: &RunArgs, defaults: RunOptions) -> anyhow::Result<Opened> {
    let (lake, index) = places(location, args)?;
    if let Some(newest) = index.prepare().await? {
        warn_passed_over(&newest, index.store.url());
    }
    let mut options = options(args, defaults)?;
    options.narrator = narrator(args).await?;
    let devices = language_model::devices(args.model.device).await?;
    let embedder = embedder(&args.embedder, args.embedder_dimensions, devices).await?;
    Ok(Opened {
        lake,
        index,
        embedder,
        options,
    })
}

/// The lake and the index; nothing is asked of them yet.
fn places(location: &str, args: &RunArgs) -> anyhow::Result<(Store, IndexStore)> {
    is_no_file(location)?;
    let lake = Store::open_as(location, &args.access.to_lake())?;
    let index = Store::open_as(&args.index.index, &args.access.to_index())?;
    Ok((lake, IndexStore::new(index)))
}

/// A lake is a folder: the error for a file says how to index it alone.
fn is_no_file(location: &str) -> anyhow::Result<()> {
    let path = Path::new(location.strip_prefix("file://").unwrap_or(location));
    let Some(name) = path.file_name().filter(|_| path.is_file()) else {
        return Ok(());
    };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new(".")).display();
    let name = name.display();
    bail!(
        "{location} is a file, not a folder; name its folder, and the file: limn index {folder} --include '{name}'"
    );
}

/// One run over the lake at `location`, reported.
pub async fn run_over(
    location: &str,
    args: &RunArgs,
    defaults: RunOptions,
) -> anyhow::Result<Outcome> {
    let stop = defaults.stop.clone();
    let opened = stop.run_until_cancelled(open(location, args, defaults));
    let Opened {
        lake,
        index,
        embedder,
        options,
    } = opened.await.ok_or(PipelineError::Stopped)??;
    let progress = Arc::new(Progress::default());
    let model = options.narrator.as_ref().map(|with| with.model.to_string());
    let bars = IndexBars::start(Arc::clone(&progress), model);
    if options.cluster.is_none() {
        stop_when_interrupted(options.stop.clone(), bars.say());
    }
    let result = index_lake(lake, index, embedder, options, progress).await;
    bars.finish();
    let report = result?;
    if args.output.json {
        print_json(&report)?;
    } else {
        print(&report, location, args.strict)?;
    }
    Ok(if report.stopped {
        Outcome::Stopped
    } else if report.model.failed_columns > 0 || !to_report(&report, args.strict).is_empty() {
        Outcome::SomeFailed
    } else {
        Outcome::Done
    })
}

/// The failures that are news; with `--strict` all of them.
pub fn to_report(report: &Report, strict: bool) -> &[Failure] {
    match strict {
        true => &report.failures,
        false => report.new_failures(),
    }
}

/// How many failures an earlier run has reported in the same words, for people.
pub fn reported_before(report: &Report, strict: bool) -> Option<String> {
    // New ones come first. A text about several tables that cannot be read fails for each of them.
    let before = report.failures.iter().skip(to_report(report, strict).len());
    let before: HashSet<&str> = before.map(|failure| failure.object.as_str()).collect();
    let before = before.len();
    (before > 0).then(|| {
        format!(
            "failed as before: {}; limn index --strict lists them, and ends with 1",
            plural(before as u64, "object")
        )
    })
}

/// What the arguments say, over `defaults`.
fn options(args: &RunArgs, defaults: RunOptions) -> anyhow::Result<RunOptions> {
    let mut contexts = defaults.contexts;
    for path in &args.contexts {
        read_contexts(path, &mut contexts)?;
    }
    Ok(RunOptions {
        workers: args.workers.unwrap_or(defaults.workers),
        embed_threads: args.embed_threads.unwrap_or(defaults.embed_threads),
        filters: args.filters.said(),
        contexts,
        shards: args.shards,
        allow_empty: args.allow_empty,
        compact: !args.no_compact,
        narrate: match args.narrate {
            NarrateArg::Auto => Narrate::Auto,
            NarrateArg::Llm => Narrate::Llm,
            NarrateArg::Names => Narrate::Names,
            NarrateArg::Off => Narrate::Off,
        },
        resample_threshold: args.resample_threshold,
        redact: args.redact.map(Into::into),
        confined_program: std::env::current_exe().ok(),
        sample_rows: args.sample_rows,
        scan_budget: args.scan_budget,
        values: args.values,
        join_tables: args.join_tables,
        epoch_objects: usize::try_from(args.epoch_objects).unwrap_or(usize::MAX),
        ..defaults
    })
}

/// The language model that narrates, if one is to.
async fn narrator(args: &RunArgs) -> anyhow::Result<Option<NarrateWith>> {
    let model = args.model.clone();
    let wanted = match args.narrate {
        NarrateArg::Llm => true,
        // An endpoint alone may be the embedder's.
        NarrateArg::Auto if args.embedder == ModelOptions::ENDPOINT => is_at_hand(&model).await?,
        NarrateArg::Auto => match model.half_an_endpoint() {
            Some(missing) => bail!("{missing}; --narrate names goes without a language model"),
            None => is_at_hand(&model).await?,
        },
        NarrateArg::Names | NarrateArg::Off => false,
    };
    if !wanted {
        return Ok(None);
    }
    let named = model.is_named();
    let narrator = open_later(model).await.map_err(|error| {
        let remedy = format!("{error}; --narrate names goes without a language model");
        error.context(remedy)
    })?;
    Ok(Some(NarrateWith { named, ..narrator }))
}

/// The model, fetched now if it is not here, and loaded when something is to be narrated.
async fn open_later(options: ModelOptions) -> anyhow::Result<NarrateWith> {
    if options.is_endpoint() {
        return Ok(NarrateWith::new(language_model::open(&options).await?));
    }
    let id = language_model::files(&options).await?.id().clone();
    let options = Arc::new(options);
    let narrator = NarrateWith::opened_by(id, move || {
        let options = Arc::clone(&options);
        Box::pin(async move {
            let opened = language_model::load(&options).await;
            opened.map_err(|error| match error.downcast::<ModelError>() {
                Ok(error) => error,
                Err(error) => ModelError::Compute {
                    model: options.name().to_owned(),
                    detail: error.to_string(),
                },
            })
        })
    });
    Ok(narrator)
}

/// Whether a language model can be used without fetching anything: an endpoint is named, or the
/// embedded model is here.
async fn is_at_hand(options: &ModelOptions) -> anyhow::Result<bool> {
    if options.is_endpoint() {
        return Ok(true);
    }
    let name = options.name().to_owned();
    let ready =
        tokio::task::spawn_blocking(move || ModelStore::from_env().has_language_model(&name));
    let ready = ready.await.context("looking for the language model died")?;
    if !options.is_named() {
        return Ok(ready.unwrap_or_else(|error| {
            tracing::warn!(%error, "no language model narrates");
            false
        }));
    }
    let ready = ready?;
    if !ready {
        let card = ModelStore::card(options.name());
        if !card.is_ok_and(|card| card.kind == ModelKind::LanguageModel) {
            // There is no such model: the error says which there are.
            language_model::files(options).await?;
        }
        let name = one_line(options.name());
        say(&format!(
            "{name} is not here and narrates nothing; --narrate llm fetches it, or limn models pull {name}"
        ));
    }
    Ok(ready)
}

/// Prints what a run did, for people.
pub fn print(report: &Report, lake: &str, strict: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let tables = report.tables;
    let mut parts = Vec::new();
    for (number, what) in [
        (tables.added, "added"),
        (tables.changed, "changed"),
        (tables.removed, "removed"),
        (tables.unchanged, "unchanged"),
        (tables.failed, "failed"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    if parts.is_empty() {
        parts.push("no tables".to_owned());
    }
    writeln!(out, "snapshot {}: {}", report.snapshot, parts.join(", "))?;
    let took = seconds(report.seconds.total);
    let listed = plural(report.objects.listed, "object");
    let models = report.model.embedded_blocks + report.model.narrated_columns;
    let touched = tables.added + tables.changed + tables.removed;
    if report.objects.read == 0 && models == 0 && touched == 0 {
        writeln!(out, "nothing new to read among {listed}, in {took}")?;
    } else {
        let narrated = match report.model.narrated_columns {
            0 => String::new(),
            columns => format!(" narrated {},", plural(columns, "column")),
        };
        writeln!(
            out,
            "listed {listed}, read {},{narrated} embedded {} in {took}",
            plural(report.objects.read, "data file"),
            plural(report.model.embedded_blocks, "block"),
        )?;
    }
    if let Some(line) = skipped::line(&report.objects) {
        writeln!(out, "{line}")?;
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
    // A text about several tables that cannot be read fails for each, and is printed once.
    let mut seen = HashSet::new();
    let failures = to_report(report, strict).iter();
    let errors = failures.map(|failure| failure.error.as_str());
    let errors: Vec<&str> = errors.filter(|error| seen.insert(*error)).collect();
    for error in errors.iter().take(FAILURES_SHOWN) {
        writeln!(out, "failed: {}", one_line(error))?;
    }
    if errors.len() > FAILURES_SHOWN {
        writeln!(
            out,
            "failed: … and {} more; --json lists them all",
            errors.len() - FAILURES_SHOWN
        )?;
    }
    if let Some(line) = reported_before(report, strict) {
        writeln!(out, "{line}")?;
    }
    if tables.added + tables.changed + tables.unchanged + tables.failed == 0 {
        writeln!(
            out,
            "the lake has no tables: {} holds no file that is read as one; limn index --help lists which are",
            one_line(lake)
        )?;
    }
    out.flush()
}
