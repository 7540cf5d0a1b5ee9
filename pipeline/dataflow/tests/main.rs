//! The job as its callers use it, over lakes and indexes in memory: a file for each story.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod changes;
mod cluster;
mod common;
mod containers;
mod costs;
mod damaged_catalog;
mod described_by_programs;
mod edit_scripts;
mod epochs;
mod faults;
mod held_back;
mod joins;
mod killed;
mod narration;
mod narration_again;
mod older_index;
mod passed_over;
mod racing;
mod resample;
#[path = "../../../tests/rounds.rs"]
mod rounds;
mod scope;
mod session;
mod shapefiles;
mod shared_contexts;
mod sketches;
mod sources;
mod unreadable;
mod while_listed;
