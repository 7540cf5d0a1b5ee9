//! The Python client (infra/python) as it is published: its wheel is built and installed, its own
//! tests run over real nodes of this binary, and its types are checked.

use std::env::{home_dir, join_paths};
use std::path::{Path, PathBuf};
use std::process::Command;

use limn_tests::{binary, repository, text};
use tempfile::TempDir;

/// Runs a module of Python with the tools that `infra/python-tools` installs, and these folders
/// before them.
fn python(folders: &[&Path], arguments: &[&str]) {
    let tools = home_dir().unwrap().join(".cache/limn/python");
    let path = join_paths(folders.iter().copied().chain([tools.as_path()])).unwrap();
    let status = Command::new("python3")
        .arg("-m")
        .args(arguments)
        .current_dir(repository().join("infra/python"))
        .env("PYTHONPATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LIMN_BINARY", binary())
        .status();
    assert!(
        status.unwrap().success(),
        "{arguments:?} failed; infra/python-tools installs what it needs"
    );
}

/// Builds the package, and gives the folder into which it was installed.
fn installed(scratch: &Path) -> PathBuf {
    let (wheels, site) = (scratch.join("wheels"), scratch.join("site"));
    python(
        &[],
        &["hatchling", "build", "-t", "wheel", "-d", text(&wheels)],
    );
    let wheel = std::fs::read_dir(&wheels).unwrap().next().unwrap().unwrap();
    let mut arguments = vec!["pip", "install", "--quiet", "--no-deps", "--no-index"];
    let wheel = wheel.path();
    arguments.extend(["--target", text(&site), text(&wheel)]);
    python(&[], &arguments);
    site
}

#[test]
fn the_client_asks_real_nodes() {
    let scratch = TempDir::new().unwrap();
    let site = installed(scratch.path());
    let kept = text(&scratch.path().join("pytest")).to_owned();
    let arguments = ["pytest", "--quiet", "-p", "no:cacheprovider", "--basetemp"];
    python(&[&site], &[&arguments[..], &[&kept]].concat());
}

#[test]
fn the_client_is_typed() {
    let scratch = TempDir::new().unwrap();
    let cache = text(&scratch.path().join("mypy")).to_owned();
    python(&[], &["mypy", "--cache-dir", &cache]);
}
