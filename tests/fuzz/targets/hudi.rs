//! The timeline of a Hudi table: its properties, commits as JSON and Avro, the history of its
//! schema. An input is files ([`limn_fuzz::read_log`]).
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read_log(".hoodie", content));
