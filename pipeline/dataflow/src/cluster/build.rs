//! Which build of limn a process runs: the versions of two builds may be the same.

use std::fs::File;
use std::io::{self, Read};

use xxhash_rust::xxh3::Xxh3;

/// Linkers write their id of a build near the beginning of the file.
const HEAD: u64 = 1 << 16;
/// Bytes of that id that name a build.
const NAMED: usize = 8;

/// limn's version and build, the same for all copies of an executable.
///
/// # Errors
/// The executable cannot be read.
pub fn build() -> io::Result<String> {
    // Linux gives the file that runs, also where another build has taken its place.
    let executable = File::open("/proc/self/exe");
    let executable = executable.or_else(|_| File::open(std::env::current_exe()?))?;
    let id = id_of(executable)?;
    Ok(format!("{} (build {id})", env!("CARGO_PKG_VERSION")))
}

/// An id of an executable's content: what its linker has hashed of all of it, at the beginning
/// of the file, or else a hash of the file, which has hundreds of megabytes. No commit, which says nothing
/// of code that is not committed, and each of which would have this crate compiled again.
fn id_of(mut executable: impl Read) -> io::Result<String> {
    let mut block = Vec::new();
    executable.by_ref().take(HEAD).read_to_end(&mut block)?;
    if let Some(id) = linked_id(&block) {
        return Ok(id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let mut hash = Xxh3::new();
    while !block.is_empty() {
        hash.update(&block);
        block.clear();
        executable.by_ref().take(HEAD).read_to_end(&mut block)?;
    }
    Ok(format!("{:016x}", hash.digest()))
}

/// The beginning of the id in an ELF file's note, as `readelf -n` shows it.
fn linked_id(head: &[u8]) -> Option<&[u8]> {
    // The lengths of the owner's name and of the id, the note's kind, and the name.
    let is_note = |it: &[u8]| it[..4] == [4, 0, 0, 0] && it[8..] == *b"\x03\0\0\0GNU\0";
    let at = head.windows(16).position(is_note)? + 16;
    head.get(at..at + NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";

    #[test]
    fn a_build_is_named_by_its_linker_or_by_all_of_its_file() {
        let id = |parts: &[&[u8]]| id_of(&parts.concat()[..]).ok();
        let linked = [b"\x7fELF..".as_slice(), NOTE, &[0xab; 20]];
        assert_eq!(id(&linked).as_deref(), Some("abababababababab"));
        let long = vec![7; 3 * HEAD as usize];
        assert_eq!(id(&[&long]), id(&[&long]));
        assert_ne!(id(&[&long]), id(&[&long, b"."]));
        assert_ne!(id(&[&long, b"."]), id(&[&long, b","]));
        // A note that is cut off is none.
        assert_ne!(id(&[NOTE, b"1234567"]), id(&[NOTE, b"7654321"]));
    }

    #[test]
    fn a_copy_is_of_the_same_build() -> io::Result<()> {
        let folder = tempfile::TempDir::new()?;
        let copy = folder.path().join("copy");
        std::fs::copy(std::env::current_exe()?, &copy)?;
        let id = id_of(File::open(copy)?)?;
        assert!(build()?.contains(&id));
        Ok(())
    }
}
