//! Delimited and plain text: encodings, dialects, shapes, headers, types.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::read("t.csv", content);
    limn_fuzz::read("t.txt", content);
});
