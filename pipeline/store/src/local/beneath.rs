//! Reaching what lies below a folder without ever leaving it.
//!
//! A path that was checked and is opened afterwards may lead elsewhere by then: somebody swaps a
//! file or folder of it for a symbolic link in between. So nothing here is opened by a path. Each
//! part of it is opened in the folder before it, by descriptor, and no link is followed; where one
//! is met, the whole path is resolved, has to lie below the root, and is walked again in the same
//! way without its links. Whatever is opened in the end was reached from the root through folders
//! alone, however often the path has changed meanwhile.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, canonicalize};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

/// How often a path with links in it is resolved again because it has changed.
const ATTEMPTS: usize = 16;

/// A folder that is only walked through needs no right to read it, where the system has such a
/// descriptor.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;

/// A folder that nothing below it is looked for outside of.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
}

/// A path leads out of the root, by itself or by a symbolic link.
#[derive(Debug)]
struct Leaves;

impl fmt::Display for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its path, or a symbolic link in it, leads to a place outside the folder")
    }
}

impl std::error::Error for Leaves {}

/// Whether this is the error of a path that leads out of the root.
pub(crate) fn leaves_the_root(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Leaves>())
}

/// Whether a path may have met a symbolic link, which is not followed.
fn may_be_a_link(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::LOOP | Errno::NOTDIR)
    )
}

impl Root {
    /// A root at an absolute path, the links of which are trusted; it need not exist.
    pub(crate) fn new(path: PathBuf) -> Root {
        Root { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Does something with the last part of a path, in the folder that it is in; the root is `.` in
    /// itself. `act` has to refuse symbolic links, with `ELOOP` or `ENOTDIR`, and may be called
    /// again then.
    ///
    /// # Errors
    /// Those of `act`; the system's; a path that leads out of the root.
    pub(crate) fn within<T>(
        &self,
        path: &Path,
        act: impl Fn(BorrowedFd<'_>, &OsStr) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut done = self.walk(path, &act);
        for _ in 0..ATTEMPTS {
            let error = match done {
                Err(error) if may_be_a_link(&error) => error,
                done => return done,
            };
            let real = self.resolved(path)?;
            if real == path {
                // No link: something that is no folder is taken for one.
                return Err(error);
            }
            done = self.walk(&real, &act);
        }
        done
    }

    /// A path below the root, links resolved as they are now.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        let root = canonicalize(&self.path)?;
        let real = canonicalize(root.join(path))?;
        let below = real.strip_prefix(&root).map(Path::to_owned);
        below.map_err(|_| io::Error::other(Leaves))
    }

    fn walk<T>(
        &self,
        path: &Path,
        act: impl Fn(BorrowedFd<'_>, &OsStr) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut at = open_folder(CWD, self.path.as_os_str(), THROUGH)?;
        let mut parts = path.components().peekable();
        if parts.peek().is_none() {
            return act(at.as_fd(), OsStr::new("."));
        }
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(io::Error::other(Leaves));
            };
            if parts.peek().is_none() {
                return act(at.as_fd(), name);
            }
            at = open_folder(at, name, THROUGH | OFlags::NOFOLLOW)?;
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Opens a folder to be listed or forced to disk.
    pub(crate) fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.within(path, |folder, name| {
            open_folder(folder, name, OFlags::RDONLY | OFlags::NOFOLLOW)
        })
    }

    /// Opens a file for reading. One that is not a regular file is not there: reading a pipe would
    /// wait for ever.
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = self.within(path, |folder, name| {
            Ok(openat(folder, name, flags, Mode::empty())?)
        })?;
        let file = File::from(file);
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "is no file"))
    }

    /// The system's facts about what a path leads to, below the root.
    pub(crate) fn inspect(&self, path: &Path) -> io::Result<Stat> {
        self.within(path, |folder, name| {
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => Err(Errno::LOOP.into()),
                _ => Ok(stat),
            }
        })
    }
}

/// Opens a folder in another.
pub(crate) fn open_folder(folder: impl AsFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}
