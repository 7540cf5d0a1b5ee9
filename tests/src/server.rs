//! Servers that a program beside the tests starts: it prints its address, and ends when its
//! standard input does.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::repository;

/// A running server; it ends when dropped, or with the test, however that ends.
pub struct Server {
    process: Child,
    /// Its address, `http://127.0.0.1:port`.
    pub endpoint: String,
}

/// Where a tool is that a script installs.
pub fn tools(name: &str, script: &str) -> PathBuf {
    let home = PathBuf::from(std::env::var("HOME").unwrap_or_default());
    let tool = home.join(".cache/limn").join(name);
    assert!(
        tool.exists(),
        "{} is missing; run {script} (infra/test does)",
        tool.display()
    );
    tool
}

impl Server {
    /// Starts a program of `tests/`.
    pub fn start(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut process = Command::new("python3")
            .arg(repository().join("tests").join(program))
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("it was asked for");
        let read = BufReader::new(stdout).read_line(&mut address);
        let endpoint = address.trim().to_owned();
        assert!(
            read.is_ok() && endpoint.starts_with("http://127.0.0.1:"),
            "the server gave no address; run it by hand: python3 tests/{program} {}",
            arguments.join(" ")
        );
        Self { process, endpoint }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends what it has started when its standard input ends.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
