//! Schemas, views and pages of SQLite databases.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read_container("t.sqlite", content));
