//! What the end-to-end tests share: the real binary, scratch folders, lakes, real servers of object
//! stores, of SQS and of language models.
//!
//! Every test here runs `limn` as a user would, as a process with arguments, and looks at what it
//! prints, at its exit code and at what it leaves behind.
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub mod answers;
pub mod azurite;
pub mod catalog;
pub mod certificates;
pub mod encoder;
pub mod faulty;
pub mod google;
pub mod ground;
pub mod issuer;
pub mod kill;
pub mod lake;
pub mod llama;
pub mod network;
pub mod node;
pub mod oracle;
pub mod pages;
pub mod s3;
pub mod server;
pub mod sqs;
pub mod synthetic;
pub mod web;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The repository's root, asked of cargo at run time: a target folder shared by several clones
/// keeps the path of one of them.
pub fn repository() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    let mut above = Path::new(&package).ancestors();
    let root = above.find(|folder| folder.join("Cargo.lock").is_file());
    root.expect("a workspace has a lock file").to_owned()
}

/// The corpora that measure quality; not every machine has them.
pub fn corpora() -> PathBuf {
    let corpora = repository().join("../shared/corpora");
    assert!(corpora.is_dir(), "no corpora at {}", corpora.display());
    corpora
}

/// The `limn` binary of this build.
///
/// cargo builds it before the end-to-end tests, which are tests of its package; it lies beside the
/// folder of the test executables, and beside the other programs.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its executable");
    let near = own.ancestors().skip(1).take(2).map(|it| it.join("limn"));
    let found = near.into_iter().find(|binary| binary.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "limn is missing beside {}; run the tests with infra/test or cargo test --workspace",
            own.display()
        )
    })
}

/// How a run of `limn` ended.
#[derive(Debug)]
pub struct Run {
    /// Exit code; -1 when killed by a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// That the run ended so.
    pub fn code_is(&self, code: i32) {
        assert_eq!(self.code, code, "{self:?}");
    }

    /// Standard output as JSON of a run that must have succeeded.
    pub fn ok(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        self.json()
    }
}

/// A `limn` command that can be given environment variables. It asks no language model that this
/// machine may have by default.
pub fn limn_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .env_remove("LIMN_INDEX")
        .env_remove("LIMN_LAKE")
        .env_remove("LIMN_EMBEDDER")
        .env_remove("LIMN_MODEL")
        .env_remove("LIMN_ENDPOINT")
        .env("LIMN_NARRATE", "names")
        // What is compared with an index built anew is drawn anew at every change.
        .env("LIMN_RESAMPLE_THRESHOLD", "0")
        // A calibration of the user's own must not make searches judge.
        .env("LIMN_JUDGE", "off");
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Run {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("limn starts");
    Run {
        code: status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Runs `limn` with arguments.
pub fn limn(arguments: &[&str]) -> Run {
    run(&mut limn_command(arguments))
}

/// The n-th number of a sequence that looks random (splitmix64), for seeded tests.
pub fn random(n: u64) -> u64 {
    let mut x = n
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// Indexes a lake with the model-free embedder (fast; ranks by words and hashed words).
pub fn index_hashed(lake: &Path, index: &Path, more: &[&str]) -> Run {
    run(&mut index_hashed_command(lake, index, more))
}

/// What [`index_hashed`] runs.
pub fn index_hashed_command(lake: &Path, index: &Path, more: &[&str]) -> Command {
    let mut arguments = vec![
        "index",
        text(lake),
        "--index",
        text(index),
        "--embedder",
        "hashed-words",
        "--json",
    ];
    arguments.extend(more);
    limn_command(&arguments)
}

/// A folder with a varied `lake` in it, and an `index` of that with the model-free embedder.
pub fn varied_index() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    lake::varied(&at("lake"));
    index_hashed(&at("lake"), &at("index"), &[]).code_is(0);
    folder
}

/// Runs a command to its end, and says how much memory it took at most, in bytes; so did any
/// process that it waited for. A small process starts it: Linux counts what the parent of a process
/// takes as that process's own until it runs its program.
pub fn measured(command: &Command) -> (Run, u64) {
    const MEASURE: &str = "\
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], 'w') as got:
    got.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code if code >= 0 else 255)";
    let folder = TempDir::new().expect("a temporary folder");
    let got = folder.path().join("kib");
    let mut measuring = Command::new("python3");
    measuring.args(["-c", MEASURE]).arg(&got);
    measuring
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measuring.env(name, value),
            None => measuring.env_remove(name),
        };
    }
    let run = run(&mut measuring);
    let kib = std::fs::read_to_string(&got).expect("the memory was measured");
    let kib: u64 = kib.trim().parse().expect("a number of KiB");
    (run, kib * 1024)
}
