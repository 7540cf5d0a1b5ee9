//! The `limn` command.
//!
//! Results go to standard output, logs and progress to standard error. Exit codes (a contract):
//! 0 done; 1 finished, but something failed; 2 could not run; 3 lost a publish race; 130 stopped.

mod args;
mod commands;
mod interrupt;
mod memory;
mod progress;
mod skipped;
mod table;
mod text;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use limn_node::traces::{Traces, is_trace};
use limn_pipeline::PipelineError;
use limn_segment::PublishError;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{Args, Command};
use crate::text::one_line;

/// How a command ended, apart from errors.
enum Outcome {
    Done,
    SomeFailed,
    /// What is done is kept, and the same command goes on.
    Stopped,
    /// A process of this command has reported the rest and ended with this code.
    Reported(u8),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.command {
        // In a process as small as can be, which then limits itself.
        Command::PdfText => return commands::pdf_text::run(),
        Command::ReadView => return commands::read_view::run(),
        Command::ReadBook => return commands::read_book::run(),
        _ => {}
    }
    memory::share_arenas();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Command::Serve(_) | Command::Mcp(_) = &args.command {
        // A node answers short questions on these threads, as many at a time as it may: there is
        // one more for everything else.
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let threads = match &args.command {
            Command::Serve(args) => args.threads.unwrap_or(cores),
            _ => cores,
        };
        builder.worker_threads(threads.max(cores) + 1);
    }
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(
                &anyhow::anyhow!("cannot start the runtime: {error}"),
                args.verbose,
            );
        }
    };
    raise_file_limit();
    let traces = match args.command {
        Command::Serve(_) => Traces::from_env(runtime.handle().clone()),
        _ => Ok(None),
    };
    let traces = match traces {
        Ok(traces) => traces,
        Err(error) => return fail(&error.into(), args.verbose),
    };
    start_logging(args.verbose, traces.as_ref());
    let ended = runtime.block_on(run(args.command));
    if let Some(traces) = traces {
        traces.end();
    }
    // A run that was stopped may leave a read of a dead disk or a loading model behind: nobody
    // waits for it. Threads that end while they are let go have been seen to crash glibc, so the
    // end of the process ends them.
    std::mem::forget(runtime);
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::SomeFailed) => ExitCode::from(1),
        Ok(Outcome::Stopped) => ExitCode::from(interrupt::INTERRUPTED),
        Ok(Outcome::Reported(code)) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(&error, args.verbose),
    }
}

async fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Index(args) => commands::index::run(args).await,
        Command::Update(args) => commands::index::update(args).await,
        Command::Context(args) => commands::context::run(*args).await,
        Command::Watch(args) => commands::watch::run(args).await,
        Command::Serve(args) => commands::serve::run(*args).await,
        Command::Mcp(args) => commands::mcp::run(*args).await,
        Command::Keys(args) => commands::keys::run(args).await,
        Command::Search(args) => commands::search::run(args).await,
        Command::Eval(args) => commands::eval::run(args).await,
        Command::Bench(args) => commands::bench::run(args).await,
        Command::Tune(args) => commands::tune::run(args).await,
        Command::Tables(args) => commands::tables::run(args).await,
        Command::Show(args) => commands::show::run(args).await,
        Command::Joins(args) => commands::joins::run(args).await,
        Command::Sql(args) => commands::sql::run(args).await,
        Command::Ask(args) => commands::ask::run(*args).await,
        Command::Cells(args) => commands::cells::run(args).await,
        Command::Diff(args) => commands::diff::run(args).await,
        Command::Snapshots(args) => commands::snapshots::run(args).await,
        Command::Compact(args) => commands::compact::run(args).await,
        Command::Gc(args) => commands::gc::run(args).await,
        Command::Verify(args) => commands::verify::run(args).await,
        Command::Models(args) => commands::models::run(args).await,
        // Has ended before a runtime was made.
        Command::PdfText | Command::ReadView | Command::ReadBook => Ok(Outcome::Done),
    }
}

/// One line for a person; the chain of causes with `-v`.
fn fail(error: &anyhow::Error, verbose: u8) -> ExitCode {
    let mut lines = format!("limn: {}\n", one_line(&error.to_string()));
    if verbose > 0 {
        for cause in error.chain().skip(1) {
            lines += &format!("  because: {}\n", one_line(&cause.to_string()));
        }
    }
    // Where standard error is closed, the exit code still reports it.
    let _ = std::io::stderr().write_all(lines.as_bytes());
    if let Some(PublishError::Lost { .. }) = error.downcast_ref() {
        return ExitCode::from(3);
    }
    ExitCode::from(match error.downcast_ref() {
        Some(
            PipelineError::Publish(PublishError::Lost { .. }) | PipelineError::Overtaken { .. },
        ) => 3,
        Some(PipelineError::Lost { .. }) if commands::processes::is_watched() => {
            commands::processes::LOST
        }
        Some(PipelineError::Stopped) => interrupt::INTERRUPTED,
        _ => 2,
    })
}

/// A reader that went away (`limn tables | head`) is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An open segment of a remote index is a file of the cache, and there may be thousands: more than
/// a shell lets a program have by default, and less than it may ask for.
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the number of open files cannot be raised");
    }
}

fn start_logging(verbose: u8, traces: Option<&Traces>) {
    let default = match verbose {
        0 => "error",
        1 => "limn=info,warn",
        _ => "limn=debug,info",
    };
    let directives = std::env::var("LIMN_LOG").unwrap_or_else(|_| {
        // Every crate of ours logs under its own name.
        default.replace("limn=info", "limn=info,limn_pipeline=info,limn_lake=info,limn_segment=info,limn_models=info").replace(
            "limn=debug",
            "limn=debug,limn_pipeline=debug,limn_lake=debug,limn_segment=debug,limn_models=debug,limn_retrieval=debug",
        )
    });
    let filter = tracing_subscriber::EnvFilter::try_new(directives)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    // Crates that parse, plan and run SQL log what it says, and that may hold values of the lake;
    // one prints rows on standard output where it believes itself logged in detail.
    let is_not_of_sql = filter_fn(|metadata| {
        let target = metadata.target();
        !target.starts_with("datafusion") && !target.starts_with("sqlparser")
    });
    // Spans of traces are no part of the log: each line would repeat them. What is wrong with a
    // table's log is reported as any failure is.
    let is_log =
        filter_fn(|metadata| !is_trace(metadata) && !metadata.target().starts_with("delta_kernel"));
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_filter(filter)
        .with_filter(is_log);
    tracing_subscriber::registry()
        .with(is_not_of_sql)
        .with(log)
        .with(traces.map(Traces::layer))
        .init();
}
