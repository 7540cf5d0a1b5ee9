//! Messages, schemas and buffers of Arrow IPC, file and stream.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read("t.arrow", content));
