//! Writing below a local folder so that what was written survives a power cut.
//!
//! A write is a file of another name (`name#N`), forced to disk, then renamed or linked to its own
//! name, and its folder is forced to disk. The folders above are, too, when this process first
//! writes into one: they may be as young. Until the last of these steps a power cut leaves no
//! object of that name, or the one before; never a part of one.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::beneath::Root;

const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Forces to disk. Apart, so that tests can see what is forced and cut the power.
pub(crate) trait Disk: fmt::Debug + Send + Sync {
    /// Forces a file's content to disk.
    fn keep_file(&self, file: &File) -> io::Result<()>;
    /// Forces the names in a folder to disk.
    fn keep_folder(&self, folder: &File) -> io::Result<()>;
}

/// The machine's own.
#[derive(Debug)]
pub(crate) struct SystemDisk;

impl Disk for SystemDisk {
    fn keep_file(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn keep_folder(&self, folder: &File) -> io::Result<()> {
        match folder.sync_all() {
            // Some network file systems keep folders themselves and know no such request.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            done => done,
        }
    }
}

/// What becomes of an object of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Replace,
    Keep,
}

/// Writes below a root.
#[derive(Debug)]
pub(crate) struct Writer {
    disk: Box<dyn Disk>,
    /// Folders that are on disk, with all above them.
    kept: Mutex<HashSet<PathBuf>>,
}

impl Writer {
    pub(crate) fn new(disk: Box<dyn Disk>) -> Writer {
        Writer {
            disk,
            kept: Mutex::default(),
        }
    }

    /// Writes an object; the file's metadata are of the object.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`] if there is one that is to be kept.
    pub(crate) fn write<'a>(
        &self,
        root: &Root,
        path: &Path,
        content: impl Iterator<Item = &'a [u8]>,
        existing: Existing,
    ) -> io::Result<std::fs::Metadata> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = self.folder(root, above)?;
        let (file, staged) = stage(folder.as_fd(), name)?;
        let written = self.fill(file, content).and_then(|metadata| {
            self.publish(folder.as_fd(), &staged, name, existing)?;
            Ok(metadata)
        });
        if written.is_err() || existing == Existing::Keep {
            // What stays is found as a leftover.
            let _ = unlinkat(&folder, &staged, AtFlags::empty());
        }
        let metadata = written?;
        self.disk.keep_folder(&File::from(folder))?;
        Ok(metadata)
    }

    fn fill<'a>(
        &self,
        mut file: File,
        mut content: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<std::fs::Metadata> {
        content.try_for_each(|bytes| file.write_all(bytes))?;
        self.disk.keep_file(&file)?;
        // Some file systems in user space upload a file when it is closed: before it is renamed.
        file.metadata()
    }

    fn publish(
        &self,
        folder: BorrowedFd<'_>,
        staged: &OsStr,
        name: &OsStr,
        existing: Existing,
    ) -> io::Result<()> {
        match existing {
            Existing::Replace => renameat(folder, staged, folder, name)?,
            // One winner: a link is never made over a name that is there.
            Existing::Keep => linkat(folder, staged, folder, name, AtFlags::empty())?,
        }
        Ok(())
    }

    /// The folder at a path, made if it is not there, and on disk.
    pub(crate) fn folder(&self, root: &Root, path: &Path) -> io::Result<OwnedFd> {
        let is_kept = self.known().contains(path);
        if is_kept {
            match root.folder(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened,
            }
        }
        self.make_root(root.path())?;
        let mut above = PathBuf::new();
        for name in path {
            let folder = root.folder(&above)?;
            match mkdirat(&folder, name, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            // One that another process has made a moment ago need not be on disk either.
            self.disk.keep_folder(&File::from(folder))?;
            above.push(name);
        }
        let folder = root.folder(path)?;
        self.known().insert(path.to_owned());
        Ok(folder)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        // A poisoned lock guards a set that is whole at every moment.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the root and the folders above it that are missing, and keeps the root's own name.
    fn make_root(&self, root: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = root.ancestors().take_while(|it| !it.is_dir()).collect();
        for folder in missing.iter().rev() {
            match std::fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        let made = missing.into_iter().chain([root]);
        for above in made.filter_map(Path::parent) {
            match File::open(above) {
                Ok(above) => self.disk.keep_folder(&above)?,
                // A folder of somebody else's, in which this user has made nothing.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A fresh file `name#N`.
fn stage(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<(File, OsString)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for number in 1u64.. {
        let mut staged = name.to_owned();
        staged.push(format!("#{number}"));
        match openat(folder, &staged, flags, FILE_MODE) {
            Ok(file) => return Ok((File::from(file), staged)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
