//! What says which rows of a data file are deleted: deletion vectors, files of position and
//! equality deletes. The first byte chooses which.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [first, content @ ..] = content {
        limn_fuzz::read_deleted(*first, content);
    }
});
