//! Listing a local folder, in the order an S3 listing has, one bad entry costing itself only.
//!
//! The client library's own local listing ends at the first unreadable folder, odd name or
//! symbolic-link loop. A lake is full of such things, so this walk reports each as an item and goes
//! on. Links are followed within the root, and a folder through one link only; a link that leaves
//! the root, and a folder that contains itself through a link, is reported, not entered. Folders
//! are opened in the folders that they are in ([`crate::local::beneath`]), so that one that is
//! swapped for a link meanwhile is not entered either.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use object_store::path::Path;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use crate::ObjectInfo;
use crate::error::{StoreError, StoreErrorKind, from_io};
use crate::local::beneath::{Root, leaves_the_root, open_folder};
use crate::local::etag;

/// One name of a folder that is still to be visited.
struct Entry {
    /// The name, with a '/' added to folders: sorting by it gives the order of full keys.
    sort_key: String,
    relative: String,
    is_dir: bool,
    is_link: bool,
}

impl Entry {
    fn name(&self) -> &OsStr {
        let name = self.relative.rsplit('/').next();
        OsStr::new(name.unwrap_or_default())
    }
}

/// A folder being visited: its identity, and its entries that are left, last one first.
struct Level {
    folder: OwnedFd,
    identity: (u64, u64),
    entries: Vec<Entry>,
}

/// An iterator over the objects below a local folder.
pub(crate) struct Walk {
    root: Arc<Root>,
    /// Folders that were entered through a link.
    linked: HashSet<(u64, u64)>,
    levels: Vec<Level>,
    pending: Vec<StoreError>,
    /// Whether writes in progress are wanted rather than objects.
    staged: bool,
}

impl Walk {
    /// Starts at `root`/`prefix`. A missing `prefix` is an empty listing, as on any object store; a
    /// missing root is an error, for it is nearly always a mistyped path.
    pub(crate) fn new(root: Arc<Root>, prefix: &str) -> Result<Self, StoreError> {
        Self::over(root, prefix, false)
    }

    /// As [`Walk::new`], of writes in progress and those that killed processes have left.
    pub(crate) fn of_staged(root: Arc<Root>, prefix: &str) -> Result<Self, StoreError> {
        Self::over(root, prefix, true)
    }

    fn over(root: Arc<Root>, prefix: &str, staged: bool) -> Result<Self, StoreError> {
        let shown = root.path().display().to_string();
        let meta = std::fs::metadata(root.path()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::new(
                StoreErrorKind::NotFound,
                shown.clone(),
                "this folder does not exist",
                "check the path",
            ),
            _ => from_io(shown.clone(), &error),
        })?;
        if !meta.is_dir() {
            return Err(StoreError::new(
                StoreErrorKind::NotFound,
                shown,
                "is a file, not a folder",
                "name the folder that holds it",
            ));
        }
        let mut walk = Walk {
            root,
            linked: HashSet::new(),
            levels: Vec::new(),
            pending: Vec::new(),
            staged,
        };
        match walk.root.folder(FsPath::new(prefix)) {
            Ok(folder) => {
                let below = match prefix {
                    "" => String::new(),
                    prefix => format!("{prefix}/"),
                };
                walk.enter(folder, &below);
            }
            Err(error) if leaves_the_root(&error) => {
                walk.pending.push(leaving(&walk.path(prefix)));
            }
            // The start itself must be readable: there is nothing to go on with.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let error = from_io(walk.path(prefix).display().to_string(), &error);
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(walk)
    }

    fn path(&self, relative: &str) -> PathBuf {
        match relative {
            "" => self.root.path().to_owned(),
            relative => self.root.path().join(relative),
        }
    }

    /// Reads the names of an open folder and makes it the innermost level; `below` is what its
    /// objects' paths begin with.
    fn enter(&mut self, folder: OwnedFd, below: &str) {
        let at = self.path(below.trim_end_matches('/'));
        let opened = fstat(&folder).and_then(|stat| Ok((stat, Dir::read_from(&folder)?)));
        let (stat, listing) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.pending.push(unreadable(&at, &error.into())),
        };
        let identity = identity(&stat);
        if self.levels.iter().any(|level| level.identity == identity) {
            return self.pending.push(entry_error(
                &at,
                "is a symbolic link to a folder that contains it",
                "remove the link",
            ));
        }
        let mut entries = Vec::new();
        for entry in listing {
            match entry {
                Ok(entry) => entries.extend(self.entry(&folder, &at, below, &entry)),
                Err(error) => self.pending.push(unreadable(&at, &error.into())),
            }
        }
        entries.sort_unstable_by(|a, b| b.sort_key.cmp(&a.sort_key));
        self.levels.push(Level {
            folder,
            identity,
            entries,
        });
    }

    /// One name of a folder, if it may lead to objects.
    fn entry(
        &mut self,
        folder: &OwnedFd,
        at: &FsPath,
        below: &str,
        entry: &DirEntry,
    ) -> Option<Entry> {
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            return None;
        }
        let path = at.join(&name);
        let odd = match name.into_string() {
            Ok(name) if Path::parse(&name).is_ok() => Ok(name),
            Ok(_) => Err("its name has control characters"),
            Err(_) => Err("its name is not UTF-8"),
        };
        let name = match odd {
            Ok(name) => name,
            Err(cause) => {
                self.pending.push(entry_error(&path, cause, "rename it"));
                return None;
            }
        };
        let relative = format!("{below}{name}");
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
            kind = FileType::from_raw_mode(stat.ok()?.st_mode);
        }
        let is_link = kind == FileType::Symlink;
        if is_link {
            match self.root.inspect(FsPath::new(&relative)) {
                Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                Err(error) => {
                    // A link to nothing is no object.
                    let outside = leaves_the_root(&error).then(|| leaving(&path));
                    self.pending.extend(outside);
                    return None;
                }
            }
        }
        let is_dir = kind == FileType::Directory;
        if !is_dir && is_staged(&name) != self.staged {
            return None;
        }
        Some(Entry {
            sort_key: if is_dir { format!("{name}/") } else { name },
            relative,
            is_dir,
            is_link,
        })
    }

    /// Opens and enters a folder of the level that `parent` is of.
    fn enter_entry(&mut self, parent: &OwnedFd, entry: &Entry) -> io::Result<()> {
        let folder = match entry.is_link {
            true => self.root.folder(FsPath::new(&entry.relative)),
            false => open_folder(parent, entry.name(), OFlags::RDONLY | OFlags::NOFOLLOW),
        }?;
        let stat = fstat(&folder)?;
        // Links to folders of links multiply.
        if entry.is_link && !self.linked.insert(identity(&stat)) {
            self.pending.push(entry_error(
                &self.path(&entry.relative),
                "is a symbolic link to a folder that another link led to",
                "remove the link",
            ));
            return Ok(());
        }
        self.enter(folder, &format!("{}/", entry.relative));
        Ok(())
    }

    /// What an entry that is no folder leads to, if that is a file.
    fn object(&self, parent: &OwnedFd, entry: &Entry) -> io::Result<Option<ObjectInfo>> {
        let stat = match entry.is_link {
            true => self.root.inspect(FsPath::new(&entry.relative))?,
            false => statat(parent, entry.name(), AtFlags::SYMLINK_NOFOLLOW)?,
        };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(is_file.then(|| info(entry.relative.clone(), &stat)))
    }
}

impl Iterator for Walk {
    type Item = Result<ObjectInfo, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.pending.pop() {
                return Some(Err(error));
            }
            let level = self.levels.last_mut()?;
            let Some(entry) = level.entries.pop() else {
                self.levels.pop();
                continue;
            };
            let visited = match level.folder.as_fd().try_clone_to_owned() {
                Ok(parent) if entry.is_dir => self.enter_entry(&parent, &entry).map(|()| None),
                Ok(parent) => self.object(&parent, &entry),
                Err(error) => Err(error),
            };
            let path = || self.path(&entry.relative);
            match visited {
                Ok(None) => {}
                Ok(Some(info)) => return Some(Ok(info)),
                // Deleted, or made a link, since its folder was read.
                Err(error) if has_changed(&error) => {}
                Err(error) if leaves_the_root(&error) => return Some(Err(leaving(&path()))),
                Err(error) => return Some(Err(unreadable(&path(), &error))),
            }
        }
    }
}

/// Whether something is no longer what the listing of its folder said.
fn has_changed(error: &io::Error) -> bool {
    let changed = [Errno::LOOP, Errno::NOTDIR].map(Some);
    error.kind() == io::ErrorKind::NotFound || changed.contains(&Errno::from_io_error(error))
}

fn identity(stat: &Stat) -> (u64, u64) {
    // The types differ from system to system; which number it is does not matter.
    (stat.st_dev, stat.st_ino)
}

/// `name#123` is how the client library names a write in progress.
pub(crate) fn is_staged(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, suffix)| {
        !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn leaving(link: &FsPath) -> StoreError {
    entry_error(
        link,
        "is a symbolic link to a place outside this folder",
        "copy what it leads to, or read that place as a lake of its own",
    )
}

fn unreadable(path: &FsPath, error: &io::Error) -> StoreError {
    let error = from_io(path.display().to_string(), error);
    entry_error(path, error.cause(), error.remedy())
}

fn entry_error(path: &FsPath, cause: &str, remedy: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Entry,
        path.display().to_string(),
        cause,
        remedy,
    )
}

/// The same entity tag as a request for the object gives, so that a listing and a head request
/// agree.
fn info(relative: String, stat: &Stat) -> ObjectInfo {
    let nanos = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
    let since = u128::try_from(nanos).unwrap_or_default();
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    ObjectInfo {
        path: relative,
        etag: Some(etag(stat.st_ino, since / 1000, size)),
        version: None,
        size,
        modified_ms: i64::try_from(since / 1_000_000).unwrap_or(i64::MAX),
    }
}
