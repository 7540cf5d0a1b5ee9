//! `limn read-book`: the sheets of a spreadsheet on standard input, for the process that started it
//! ([`limn_formats::Confined`]).
//!
//! The library that reads spreadsheets takes what memory and time a file makes it take; so the
//! process limits itself first ([`limits`]).

use std::io::{BufReader, Write};
use std::process::ExitCode;

use limn_formats::answer_book;

use super::limits;

/// Processor time that it may take, in seconds.
const SECONDS: u64 = 20;

/// Reads a request and a spreadsheet, and answers with its sheets, or with the reason why it cannot
/// be read.
pub fn run() -> ExitCode {
    if let Err(unlimited) = limits::limit(SECONDS) {
        return unlimited;
    }
    // What the library gives up over is reported in the answer.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = answer_book(BufReader::new(std::io::stdin()));
    match answer.map(|answer| std::io::stdout().write_all(&answer)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
