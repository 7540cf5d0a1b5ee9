//! Directories, headers and members of zip and tar archives. The first byte chooses which.
#![no_main]

const BLOCK: usize = 512;
/// Where a tar header has its checksum.
const SUM: std::ops::Range<usize> = 148..156;

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [first, content @ ..] = content {
        match first % 4 {
            0 => limn_fuzz::read_container("t.zip", content),
            1 => limn_fuzz::read_container("t.tar", content),
            // Recognised by its content, so that any compression is reached by one name.
            2 => limn_fuzz::read_container("t.tar.gz", content),
            _ => limn_fuzz::read_container("t.tar", &summed(content)),
        }
    }
});

/// The archive with right checksums, which would keep inputs from the reader otherwise.
fn summed(content: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    for block in content.chunks_exact_mut(BLOCK) {
        if block[257..262] == *b"ustar" {
            block[SUM].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    content
}
