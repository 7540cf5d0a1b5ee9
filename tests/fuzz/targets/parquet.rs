//! Footers, pages and dictionaries of Parquet files.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read("t.parquet", content));
