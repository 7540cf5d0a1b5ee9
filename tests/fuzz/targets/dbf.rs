//! Heads and records of dBase tables.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read("t.dbf", content));
