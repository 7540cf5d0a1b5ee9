//! JSON: an object a line, one after another, or in an array.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::read("t.json", content);
});
