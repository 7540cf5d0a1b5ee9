//! Memory maps: a segment's bytes without copying them to the heap.
//!
//! `unsafe` here: mapping a file, and advice on what is mapped. A map is sound as long as nobody
//! changes or truncates the file behind it. Segments are immutable objects, written under another
//! name and moved into place; nothing in limn opens one for writing again, and deleting a mapped
//! file leaves its bytes alive. The temporary file of a remote segment, and what is made of
//! segments (`spill.rs`), are unlinked at creation, so only this process can reach them; a file of
//! the segment cache is in a folder that this process alone has locked (`cache_folder.rs`), is
//! never made shorter, and is mapped only if it has the segment's length. Each byte of either is
//! written before anybody is given a slice that covers it, and never after (the bitmap of
//! `chunks.rs`, released after the write and acquired before the read). Somebody who truncates an
//! index's or a cache's file by hand while it is being read kills the reader (SIGBUS).

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};
use tantivy::directory::OwnedBytes;

/// No machine of ours has smaller pages, and a multiple of a larger one's size is one of this.
/// (Advice for an address within a larger page is refused, and so does nothing.)
#[cfg(unix)]
const PAGE: usize = 4096;

/// Maps a whole segment for reading. Empty files cannot be mapped and give an error.
pub(crate) fn map(file: &File) -> io::Result<OwnedBytes> {
    // Questions touch postings here and there.
    map_for(file, Advice::Random)
}

/// As [`map`], a file that is read from its beginning to its end.
pub(crate) fn map_for_passes(file: &File) -> io::Result<OwnedBytes> {
    map_for(file, Advice::Normal)
}

/// Lets the system read these bytes of a map ahead, which are about to be looked at one after the
/// other: as a whole, and not a page at a time. Best effort.
pub(crate) fn read_ahead(bytes: &[u8]) {
    #[cfg(unix)]
    {
        let page = PAGE - 1;
        let address = bytes.as_ptr() as usize;
        let start = address & !page;
        let length = address + bytes.len() - start;
        // SAFETY: advice changes nothing of what is mapped, and the pages that hold these bytes
        // are.
        unsafe {
            libc::madvise(start as *mut libc::c_void, length, libc::MADV_WILLNEED);
        }
    }
    #[cfg(not(unix))]
    let _ = bytes;
}

fn map_for(file: &File, advice: Advice) -> io::Result<OwnedBytes> {
    if file.metadata()?.len() == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file is empty",
        ));
    }
    // SAFETY: see the module's text: the file is not changed while it is mapped, but for bytes that
    // no slice covers yet.
    let map = unsafe { Mmap::map(file)? };
    // Best effort.
    let _ = map.advise(advice);
    Ok(OwnedBytes::new(map))
}
