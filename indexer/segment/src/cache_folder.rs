//! The folder of a segment cache on disk: one *slot* a process, one file a segment.
//!
//! ```text
//! <folder>/limn-segments-0/lock          locked while a process has the slot
//! <folder>/limn-segments-0/<hash>.seg    the segment of this hash, as long as it is, with holes
//! ```
//!
//! Two processes never write one file: each takes the lowest slot that is free, and the lock goes
//! with the process however it ends. What lies in the other slots that nobody has is removed: a
//! process that ran beside this one for a while leaves no bytes for good. Only files that limn
//! names so are touched.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Processes that may share a folder.
const SLOTS: usize = 64;
/// Nobody else's business: what a lake says, and where it is, is in these files.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The unit of `st_blocks`.
const DISK_BLOCK: u64 = 512;

/// A slot that this process has.
pub(crate) struct Slot {
    folder: PathBuf,
    unnamed: AtomicU64,
    /// Whether its disk plays a full one.
    #[cfg(test)]
    pub(crate) is_full: std::sync::atomic::AtomicBool,
    // Unlocked when it is closed.
    _lock: File,
}

/// A file that was found in the slot.
pub(crate) struct Found {
    pub(crate) id: u128,
    /// Bytes that it takes on disk.
    pub(crate) bytes: u64,
    /// When it was last written, seconds since 1970.
    pub(crate) modified: i64,
}

/// A file that does not have its name yet; removed if it never gets it.
pub(crate) struct Unnamed {
    pub(crate) file: File,
    path: Option<PathBuf>,
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // If that fails, the next process removes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Slot {
    /// Takes the first free slot of a folder, which is made if it is not there.
    pub(crate) fn take(folder: &Path) -> io::Result<Slot> {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)?;
        let mut taken: Option<Slot> = None;
        for number in 0..SLOTS {
            let path = folder.join(format!("limn-segments-{number}"));
            let is_spare = taken.is_some();
            if is_spare && !path.is_dir() {
                continue;
            }
            if let Some(slot) = Slot::at(path)? {
                if is_spare {
                    slot.clear()?;
                } else {
                    taken = Some(slot);
                }
            }
        }
        taken.ok_or_else(|| io::Error::other(format!("{SLOTS} processes share it already")))
    }

    /// The slot at a path, unless another process has it.
    fn at(folder: PathBuf) -> io::Result<Option<Slot>> {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(&folder)?;
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(FOLDER_MODE))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(FILE_MODE)
            .open(folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Slot {
                folder,
                unnamed: AtomicU64::new(0),
                #[cfg(test)]
                is_full: false.into(),
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, id: u128) -> PathBuf {
        self.folder.join(format!("{id:032x}.seg"))
    }

    /// The segments that earlier processes left; what they did not finish is removed.
    pub(crate) fn scan(&self) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((stem, kind)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            let metadata = entry.metadata()?;
            match (id_of(stem), kind) {
                (Some(id), "seg") if metadata.is_file() => found.push(Found {
                    id,
                    bytes: metadata.blocks() * DISK_BLOCK,
                    modified: metadata.mtime(),
                }),
                (_, "new") => std::fs::remove_file(entry.path())?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn clear(&self) -> io::Result<()> {
        for found in self.scan()? {
            self.remove(found.id)?;
        }
        Ok(())
    }

    /// The file of a segment, if there is one of this length.
    pub(crate) fn existing(&self, id: u128, size: u64) -> Option<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(self.path(id)).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && metadata.len() == size).then_some(file)
    }

    /// A file of `size` bytes, all holes but for `tail`, which begins at `from`. It gets its name
    /// by [`Slot::name`].
    pub(crate) fn fresh(&self, size: u64, from: u64, tail: &[u8]) -> io::Result<Unnamed> {
        let number = self.unnamed.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number}.new"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .mode(FILE_MODE)
            .open(&path)?;
        let fresh = Unnamed {
            file,
            path: Some(path),
        };
        fresh.file.set_len(size)?;
        self.write(&fresh.file, tail, from)?;
        Ok(fresh)
    }

    /// Writes a part of a file of this slot.
    pub(crate) fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        #[cfg(test)]
        if self.is_full.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all_at(bytes, at)
    }

    /// Names a file; one that had the name before lives on for those who have it open.
    pub(crate) fn name(&self, id: u128, fresh: &mut Unnamed) -> io::Result<()> {
        if let Some(path) = &fresh.path {
            std::fs::rename(path, self.path(id))?;
            fresh.path = None;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, id: u128) -> io::Result<()> {
        match std::fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The number that 32 lower-case hexadecimal digits stand for.
pub(crate) fn id_of(digits: &str) -> Option<u128> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (digits.len() == 32 && digits.bytes().all(is_digit))
        .then(|| u128::from_str_radix(digits, 16).ok())?
}
