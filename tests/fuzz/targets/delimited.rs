//! Delimited text: encodings, dialects, headers, types.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::read("t.csv", content);
});
