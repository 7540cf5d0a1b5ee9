//! Schemas and blocks of Avro files.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read("t.avro", content));
