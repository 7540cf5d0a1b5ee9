//! `limn` as its users run it: the real binary end to end, a file for each story.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod api_fuzz;
mod authorisation;
mod bad_input;
mod cluster;
mod compact;
mod context;
mod corpora;
mod diff;
mod endpoint;
mod example_lake;
mod faulty;
mod filters;
mod gc;
mod injection;
mod invariance;
mod judge;
mod keys;
mod kill;
mod kill_random;
mod mcp;
mod models;
mod narrating;
mod odd_files;
mod openapi;
mod page;
mod pdf;
mod privacy;
mod python_client;
mod racing;
#[path = "../rounds.rs"]
mod rounds;
mod s3;
mod serve;
mod stores;
mod terminal;
mod tls;
mod tokens;
mod traces;
mod triggers;
mod usage;
mod verify;
mod watch;
