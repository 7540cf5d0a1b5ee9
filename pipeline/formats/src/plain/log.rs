//! Logs: lines that begin with a time or an address, and name a level or a request. Many are cut
//! alike line after line, as tables are.

use std::net::IpAddr;

use super::shape::Line;

/// The level stands among so many words.
const WORDS: usize = 6;

const LEVELS: [&str; 14] = [
    "TRACE", "DEBUG", "VERBOSE", "INFO", "NOTICE", "WARN", "WARNING", "ERR", "ERROR", "SEVERE",
    "CRIT", "CRITICAL", "ALERT", "FATAL",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Dates and times as lines begin with them, `9` for any digit.
const TIMES: [&str; 8] = [
    "9999-99-99",
    "9999/99/99",
    "9999.99.99",
    "99-99-9999",
    "99/99/9999",
    "99.99.9999",
    "99/99/99 ",
    "99:99:99",
];

/// Whether the lines are a log's, from the first on: what has a header is a table.
pub(super) fn is_log(lines: &[Line<'_>]) -> bool {
    let entries = lines.iter().filter(|line| is_entry(line.text)).count();
    let is_first = lines.first().is_some_and(|line| is_entry(line.text));
    is_first && entries > 1 && entries * 10 >= lines.len() * 9
}

fn is_entry(line: &str) -> bool {
    let line = line.trim_start();
    let is_placed = || begins_with_time(line) || begins_with_address(line);
    has_stamped_request(line) || is_placed() && (has_level(line) || has_request(line))
}

fn begins_with_time(line: &str) -> bool {
    let line = line.trim_start_matches(['[', '<']);
    let as_shape = |c: char| if c.is_ascii_digit() { '9' } else { c };
    let shape: String = line.chars().take(10).map(as_shape).collect();
    let is_named = |from: usize, names: &[&str]| {
        let name = line.get(from..from + 3);
        name.is_some_and(|name| names.contains(&name))
    };
    let has_month = || {
        let is_day = ["99/", "99-", "99 "].iter().any(|it| shape.starts_with(it));
        is_day && is_named(3, &MONTHS)
    };
    let has_name = || {
        (is_named(0, &MONTHS) || is_named(0, &DAYS)) && shape.get(3..4).is_some_and(|it| it == " ")
    };
    TIMES.iter().any(|time| shape.starts_with(time)) || has_month() || has_name()
}

fn begins_with_address(line: &str) -> bool {
    let word = line.split_ascii_whitespace().next().unwrap_or_default();
    word.parse::<IpAddr>().is_ok()
}

/// Whether one of the first words is a level: `INFO`, `WARN:`, `[error]`.
fn has_level(line: &str) -> bool {
    let words = line.split(' ').filter(|word| !word.is_empty());
    words.take(WORDS).any(|word| {
        let bare = word.trim_matches(['[', ']', '<', '>', '(', ')', ':']);
        let is_bracketed = word.starts_with(['[', '<']);
        LEVELS.contains(&bare)
            || is_bracketed && LEVELS.contains(&bare.to_ascii_uppercase().as_str())
    })
}

/// Whether something in quotes is a request: `"GET /a.gif HTTP/1.0"`.
fn has_request(line: &str) -> bool {
    line.split('"').skip(1).step_by(2).any(|quoted| {
        let mut words = quoted.split(' ');
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        method.len() >= 3
            && method.bytes().all(|byte| byte.is_ascii_uppercase())
            && (target.starts_with('/') || target.contains("://"))
    })
}

/// As the servers of the web write, whatever the host's name:
/// `ada.example.org - - [10/Oct/2000:13:55:00 -0700] "GET …"`.
fn has_stamped_request(line: &str) -> bool {
    let stamped = line.split_once(" [").and_then(|(_, it)| it.split_once(']'));
    stamped.is_some_and(|(stamp, rest)| {
        stamp.matches(':').count() >= 2
            && stamp.starts_with(|c: char| c.is_ascii_digit())
            && rest.trim_start().starts_with('"')
    })
}
