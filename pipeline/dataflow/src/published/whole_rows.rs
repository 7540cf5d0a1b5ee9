//! Whole rows of the catalog, on the disk: a process keeps what it looks at in every run in memory
//! ([`Row`](super::row::Row)), and comes back for the rest of those rows that it needs.
//!
//! They lie one after the other in a file of the temporary folder that has no name, so that it is
//! gone with the process, however that ends. What was added last waits in memory to be written: of
//! most lakes that is all.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limn_segment::{FileRecord, TableRecord};

use super::packing::{self, Extent};
use crate::error::PipelineError;
use crate::sketches::JoinColumns;

/// Bytes that are written at a time.
const WRITTEN_AT_ONCE: usize = 16 << 20;
/// A file is not made anew for less than this.
const WORTH_TIDYING: u64 = 64 << 20;

/// Whole rows; shared by all that is known of them.
#[derive(Debug, Default)]
pub(super) struct WholeRows {
    rows: Mutex<Rows>,
    /// Bytes of rows that somebody knows.
    live: AtomicU64,
}

#[derive(Debug, Default)]
struct Rows {
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// What comes after them.
    last: Vec<u8>,
    /// Why something could not be written: nothing is kept from then on.
    failed: Option<io::Error>,
}

/// Where a whole row is.
#[derive(Debug)]
pub(super) struct Whole {
    rows: Arc<WholeRows>,
    extent: Extent,
}

impl WholeRows {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a row, with what joins are found by if that is needed. Where it fails,
    /// [`check`](Self::check) says why.
    pub(super) fn keep(self: &Arc<Self>, row: TableRecord, joins: bool) -> Whole {
        let name = row.name.clone();
        let packed = packing::pack(row, joins).unwrap_or_else(|error| {
            let of_row = io::Error::new(error.kind(), format!("the row of {name}: {error}"));
            self.rows().failed = Some(of_row);
            Vec::new()
        });
        self.keep_packed(&packed)
    }

    fn keep_packed(self: &Arc<Self>, packed: &[u8]) -> Whole {
        let bytes = packed.len() as u64;
        self.live.fetch_add(bytes, Ordering::Relaxed);
        let mut rows = self.rows();
        let at = rows.written + rows.last.len() as u64;
        if rows.failed.is_none() {
            rows.last.extend(packed);
            if rows.last.len() >= WRITTEN_AT_ONCE {
                rows.failed = rows.write().err();
            }
        }
        drop(rows);
        Whole {
            rows: Arc::clone(self),
            extent: Extent { at, bytes },
        }
    }

    /// Whether all rows could be kept.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn check(&self) -> Result<(), PipelineError> {
        let failed = self.rows().failed.take();
        failed.map_or(Ok(()), |error| Err(scratch(error)))
    }

    /// Whether most of what is kept is of rows that nobody knows any more.
    pub(super) fn is_wasteful(&self) -> bool {
        let rows = self.rows();
        let kept = rows.written + rows.last.len() as u64;
        kept > WORTH_TIDYING && kept / 2 > self.live.load(Ordering::Relaxed)
    }
}

impl Rows {
    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.written))?;
        file.write_all(&self.last)?;
        self.written += self.last.len() as u64;
        self.last.clear();
        Ok(())
    }

    fn read(&mut self, extent: Extent) -> io::Result<Vec<u8>> {
        let Extent { at, bytes } = extent;
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        if let Some(at) = at.checked_sub(self.written) {
            let at = usize::try_from(at).map_err(io::Error::other)?;
            let found = self.last.get(at..).and_then(|it| it.get(..bytes));
            return found
                .map(<[u8]>::to_vec)
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        let mut found = vec![0; bytes];
        let Some(file) = &mut self.file else {
            return Err(io::ErrorKind::NotFound.into());
        };
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut found)?;
        Ok(found)
    }
}

impl Whole {
    /// The row.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn read(&self) -> Result<TableRecord, PipelineError> {
        packing::unpack(&self.packed()?).map_err(scratch)
    }

    /// The row without its files.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn head(&self) -> Result<TableRecord, PipelineError> {
        packing::head(&mut |part| self.part(part)).map_err(scratch)
    }

    /// The row without its files, and what joins are found by in it.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn joins(&self) -> Result<(TableRecord, JoinColumns), PipelineError> {
        packing::joins(&self.packed()?).map_err(scratch)
    }

    /// One of its files; none if it has fewer.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn file(&self, file: usize) -> Result<Option<FileRecord>, PipelineError> {
        packing::file(file, &mut |part| self.part(part)).map_err(scratch)
    }

    /// Keeps the row among these.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn copy_to(&self, rows: &Arc<WholeRows>) -> Result<Self, PipelineError> {
        Ok(rows.keep_packed(&self.packed()?))
    }

    fn packed(&self) -> Result<Vec<u8>, PipelineError> {
        self.rows.rows().read(self.extent).map_err(scratch)
    }

    /// Some of the packed bytes.
    fn part(&self, part: Extent) -> io::Result<Vec<u8>> {
        let Extent { at, bytes } = self.extent;
        let is_within = part
            .at
            .checked_add(part.bytes)
            .is_some_and(|end| end <= bytes);
        if !is_within {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rows.rows().read(Extent {
            at: at + part.at,
            bytes: part.bytes,
        })
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.rows
            .live
            .fetch_sub(self.extent.bytes, Ordering::Relaxed);
    }
}

fn scratch(error: io::Error) -> PipelineError {
    PipelineError::Scratch {
        folder: std::env::temp_dir(),
        error,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(number: usize, bytes: usize) -> TableRecord {
        let sketches = || [None, Some([number as u8; 3])].into_iter().collect();
        let file = |at: usize, summary| FileRecord {
            path: format!("t/{number}_{at}.csv"),
            summary,
            sketches: sketches(),
            ..FileRecord::default()
        };
        TableRecord {
            name: format!("t{number}"),
            sketches: sketches(),
            awaits_narration: true,
            files: vec![
                file(0, None),
                file(1, Some("x".repeat(bytes))),
                file(2, None),
            ],
            ..TableRecord::default()
        }
    }

    #[test]
    fn rows_are_found_in_memory_and_on_the_disk() {
        let rows = Arc::new(WholeRows::default());
        // 40 MB: some are on the disk, some wait to be written.
        let kept: Vec<Whole> = (0..80)
            .map(|it| rows.keep(row(it, 500_000), it % 2 == 0))
            .collect();
        rows.check().unwrap();
        assert!(rows.rows().written > 0 && !rows.rows().last.is_empty());
        for (number, kept) in kept.iter().enumerate().rev() {
            let row = row(number, 500_000);
            assert_eq!(kept.read().unwrap(), row);
            for (at, file) in row.files.iter().enumerate() {
                assert_eq!(kept.file(at).unwrap().as_ref(), Some(file));
            }
            assert_eq!(kept.file(3).unwrap(), None);
            let joins = match number % 2 {
                0 => JoinColumns::of(&row).0,
                _ => JoinColumns::default(),
            };
            let head = TableRecord {
                files: Vec::new(),
                ..row
            };
            assert_eq!(kept.head().unwrap(), head);
            assert_eq!(kept.joins().unwrap(), (head, joins));
        }
    }

    #[test]
    fn what_nobody_knows_any_more_is_a_waste() {
        let rows = Arc::new(WholeRows::default());
        let kept = (0..200).map(|it| rows.keep(row(it, 500_000), true));
        let mut kept: Vec<Whole> = kept.collect();
        assert!(!rows.is_wasteful());
        kept.truncate(30);
        assert!(rows.is_wasteful());
        let moved = Arc::new(WholeRows::default());
        let copy = kept[29].copy_to(&moved).unwrap();
        kept.clear();
        assert_eq!(rows.live.load(Ordering::Relaxed), 0);
        assert_eq!(copy.read().unwrap(), row(29, 500_000));
    }

    #[test]
    fn nothing_is_kept_once_something_could_not_be_written() {
        let rows = Arc::new(WholeRows::default());
        rows.rows().failed = Some(io::ErrorKind::StorageFull.into());
        let kept = rows.keep(row(1, 10), true);
        assert!(rows.rows().last.is_empty() && kept.read().is_err());
        let error = rows.check().unwrap_err().to_string();
        assert!(error.contains("TMPDIR"), "{error}");
    }
}
