//! `limn read-view`: what a view of a database on standard input holds, for the process that
//! started it ([`limn_formats::Confined`]).
//!
//! SQLite does what the view says, and preparing it may take any time and memory; so the process
//! limits itself first ([`limits`]).

use std::io::{BufReader, Write};
use std::process::ExitCode;

use limn_formats::answer_view;

use super::limits;

/// Processor time that it may take, in seconds.
const SECONDS: u64 = 5;

/// Reads a request and a database, and writes what the view holds, or why it cannot be read.
pub fn run() -> ExitCode {
    if let Err(unlimited) = limits::limit(SECONDS) {
        return unlimited;
    }
    let answer = answer_view(BufReader::new(std::io::stdin()));
    match answer.map(|answer| std::io::stdout().write_all(&answer)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
