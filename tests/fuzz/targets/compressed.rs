//! Text in each compression, which the first byte chooses.
#![no_main]

const NAMES: [&str; 4] = ["t.csv.gz", "t.csv.zst", "t.csv.bz2", "t.csv.xz"];

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [first, content @ ..] = content {
        limn_fuzz::read(NAMES[usize::from(*first) % NAMES.len()], content);
    }
});
