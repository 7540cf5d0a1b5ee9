//! Tails, stripes and runs of ORC files.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read("t.orc", content));
