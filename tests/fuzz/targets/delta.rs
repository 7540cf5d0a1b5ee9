//! The log of a Delta table: commits, checkpoints, the hint at the last of them. An input is files
//! ([`limn_fuzz::read_log`]).
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read_log("_delta_log", content));
