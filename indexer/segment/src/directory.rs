//! tantivy's files inside a segment: a read-only `Directory` over sections.
//!
//! Every read goes through the chunk bitmap, so tantivy never sees an unverified byte. A file may
//! lie in two extents: its body among the cold bytes, its last kilobyte (footers, which opening
//! needs) among the hot ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};

use crate::chunks::ChunkedFile;
use crate::error::SegmentError;
use crate::layout::{Contents, Extent, section};

thread_local! {
    /// tantivy passes errors on as text; the one that caused them waits here, on the same thread.
    static LAST_ERROR: RefCell<Option<SegmentError>> = const { RefCell::new(None) };
}

/// The error behind tantivy's last one on this thread, if it was ours.
pub(crate) fn take_last_error() -> Option<SegmentError> {
    LAST_ERROR.take()
}

/// Forgets errors that tantivy coped with.
pub(crate) fn clear_last_error() {
    LAST_ERROR.set(None);
}

/// One file: where its bytes are.
#[derive(Clone, Debug)]
pub(crate) struct SectionFile {
    file: Arc<ChunkedFile>,
    extents: Vec<Range<usize>>,
    length: usize,
}

impl SectionFile {
    /// The extents were checked against the body when the footer was read.
    pub(crate) fn new(file: &Arc<ChunkedFile>, extents: &[Extent]) -> SectionFile {
        let extents: Vec<Range<usize>> = extents
            .iter()
            .map(|Extent(offset, length)| *offset as usize..(*offset + *length) as usize)
            .collect();
        SectionFile {
            file: Arc::clone(file),
            length: extents.iter().map(Range::len).sum(),
            extents,
        }
    }

    pub(crate) fn read(&self, range: Range<usize>) -> Result<OwnedBytes, SegmentError> {
        if range.start > range.end || range.end > self.length {
            return Err(self.file.damaged("a length in it points beyond its end"));
        }
        let mut parts = Vec::new();
        let mut before = 0;
        for extent in &self.extents {
            let start = range.start.max(before) - before;
            let end = range.end.min(before + extent.len()).saturating_sub(before);
            if start < end {
                parts.push(extent.start + start..extent.start + end);
            }
            before += extent.len();
        }
        match parts.as_slice() {
            [] => Ok(OwnedBytes::empty()),
            [part] => self.file.slice(part.clone()),
            _ => {
                let mut joined = Vec::with_capacity(range.len());
                for part in parts {
                    joined.extend_from_slice(&self.file.slice(part)?);
                }
                Ok(OwnedBytes::new(joined))
            }
        }
    }

    pub(crate) fn damaged(&self, detail: &str) -> SegmentError {
        self.file.damaged(detail)
    }

    pub(crate) fn read_all(&self) -> Result<OwnedBytes, SegmentError> {
        self.read(0..self.length)
    }
}

impl HasLen for SectionFile {
    fn len(&self) -> usize {
        self.length
    }
}

/// A file as tantivy's readers hold it. The segment holds these readers, so they must not hold the
/// segment.
#[derive(Clone, Debug)]
struct HeldByReader {
    file: Weak<ChunkedFile>,
    extents: Vec<Range<usize>>,
    length: usize,
}

impl HasLen for HeldByReader {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for HeldByReader {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let closed = || io::Error::other("the segment is closed");
        let section = SectionFile {
            file: self.file.upgrade().ok_or_else(closed)?,
            extents: self.extents.clone(),
            length: self.length,
        };
        section.read(range).map_err(|e| {
            let error = io::Error::other(e.to_string());
            LAST_ERROR.set(Some(e));
            error
        })
    }
}

/// tantivy's files of one segment, which somebody else has to hold.
#[derive(Clone, Debug)]
pub(crate) struct SectionDirectory {
    files: Arc<HashMap<PathBuf, HeldByReader>>,
}

impl SectionDirectory {
    pub(crate) fn new(file: &Arc<ChunkedFile>, contents: &Contents) -> SectionDirectory {
        let files = contents
            .sections
            .iter()
            .filter_map(|s| {
                let name = s.name.strip_prefix(section::TANTIVY)?;
                let SectionFile {
                    extents, length, ..
                } = SectionFile::new(file, &s.extents);
                let held = HeldByReader {
                    file: Arc::downgrade(file),
                    extents,
                    length,
                };
                Some((PathBuf::from(name), held))
            })
            .collect();
        SectionDirectory {
            files: Arc::new(files),
        }
    }

    fn file(&self, path: &Path) -> Result<&HeldByReader, OpenReadError> {
        self.files
            .get(path)
            .ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "a segment is read-only")
}

impl Directory for SectionDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(self.file(path)?.clone()))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.files.contains_key(path))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let file = self.file(path)?;
        file.read_bytes(0..file.length)
            .map(|bytes| bytes.to_vec())
            .map_err(|e| OpenReadError::wrap_io_error(e, path.to_owned()))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(read_only()),
            filepath: path.to_owned(),
        })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        // Nothing changes, so nothing needs to be locked.
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
