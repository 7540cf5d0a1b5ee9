//! Indexes whose newest snapshot is damaged, and garbage collection beside writers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod collecting;
mod damaged_snapshots;
