//! JSON: an object a line, one after another, in an array or a wrapper, or GeoJSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::read("t.json", content);
});
