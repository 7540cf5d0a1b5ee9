//! Listing a local folder, in the order an S3 listing has, one bad entry costing itself only.
//!
//! The client library's own local listing ends at the first unreadable folder, odd name or
//! symbolic-link loop. A lake is full of such things, so this walk reports each as an item and goes
//! on. Links are followed within the root, and a folder through one link only; a link that leaves
//! the root, and a folder that contains itself through a link, is reported, not entered.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path as FsPath, PathBuf};
use std::time::UNIX_EPOCH;

use object_store::path::Path;

use crate::ObjectInfo;
use crate::error::{StoreError, StoreErrorKind, from_io};

/// One name of a folder that is still to be visited.
struct Entry {
    /// The name, with a '/' added to folders: sorting by it gives the order of full keys.
    sort_key: String,
    path: PathBuf,
    relative: String,
    is_dir: bool,
    is_link: bool,
}

/// A folder being visited: its identity, and its entries that are left, last one first.
struct Level {
    identity: (u64, u64),
    entries: Vec<Entry>,
}

/// An iterator over the objects below a local folder.
pub(crate) struct Walk {
    /// The root, links resolved.
    root: PathBuf,
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
    pub(crate) fn new(root: PathBuf, prefix: &str) -> Result<Self, StoreError> {
        Self::over(root, prefix, false)
    }

    /// As [`Walk::new`], of writes in progress and those that killed processes have left.
    pub(crate) fn of_staged(root: PathBuf, prefix: &str) -> Result<Self, StoreError> {
        Self::over(root, prefix, true)
    }

    fn over(root: PathBuf, prefix: &str, staged: bool) -> Result<Self, StoreError> {
        let shown = root.display().to_string();
        let meta = std::fs::metadata(&root).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreError::new(
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
        let real = std::fs::canonicalize(&root).map_err(|error| from_io(shown, &error))?;
        let mut walk = Walk {
            root: real,
            linked: HashSet::new(),
            levels: Vec::new(),
            pending: Vec::new(),
            staged,
        };
        let start = if prefix.is_empty() {
            root
        } else {
            root.join(prefix)
        };
        match std::fs::metadata(&start) {
            Ok(meta) if meta.is_dir() && !walk.is_inside(&start) => {
                walk.pending.push(leaves_the_root(&start));
            }
            Ok(meta) if meta.is_dir() => {
                let relative = if prefix.is_empty() {
                    String::new()
                } else {
                    format!("{prefix}/")
                };
                walk.enter(start, &relative, &meta);
                // The start itself must be readable: there is nothing to go on with.
                match walk.pending.pop() {
                    Some(error) if walk.levels.is_empty() => {
                        return Err(StoreError::new(
                            StoreErrorKind::AccessDenied,
                            error.object(),
                            error.cause(),
                            error.remedy(),
                        ));
                    }
                    Some(error) => walk.pending.push(error),
                    None => {}
                }
            }
            _ => {}
        }
        Ok(walk)
    }

    /// Whether a path, links resolved, lies within the root.
    fn is_inside(&self, path: &FsPath) -> bool {
        std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.root))
    }

    /// Reads the names of a folder and makes it the innermost level.
    fn enter(&mut self, path: PathBuf, relative: &str, meta: &Metadata) {
        let identity = (meta.dev(), meta.ino());
        if self.levels.iter().any(|level| level.identity == identity) {
            self.pending.push(entry_error(
                &path,
                "is a symbolic link to a folder that contains it",
                "remove the link",
            ));
            return;
        }
        let listing = match std::fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) => {
                let told = from_io(path.display().to_string(), &error);
                self.pending
                    .push(entry_error(&path, told.cause(), told.remedy()));
                return;
            }
        };
        let mut entries = Vec::new();
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.pending
                        .push(entry_error(&path, &error.to_string(), ""));
                    continue;
                }
            };
            let child = entry.path();
            let name = match entry.file_name().into_string() {
                Ok(name) if Path::parse(&name).is_ok() => name,
                Ok(_) => {
                    self.pending.push(entry_error(
                        &child,
                        "its name has control characters",
                        "rename it",
                    ));
                    continue;
                }
                Err(_) => {
                    self.pending
                        .push(entry_error(&child, "its name is not UTF-8", "rename it"));
                    continue;
                }
            };
            let kind = entry.file_type();
            let is_link = kind.as_ref().is_ok_and(|kind| kind.is_symlink());
            let is_dir = if is_link {
                match std::fs::metadata(&child) {
                    Ok(_) if !self.is_inside(&child) => {
                        self.pending.push(leaves_the_root(&child));
                        continue;
                    }
                    Ok(meta) => meta.is_dir(),
                    // A link to nothing is no object.
                    Err(_) => continue,
                }
            } else {
                kind.is_ok_and(|kind| kind.is_dir())
            };
            if !is_dir && is_staged(&name) != self.staged {
                continue;
            }
            entries.push(Entry {
                sort_key: if is_dir {
                    format!("{name}/")
                } else {
                    name.clone()
                },
                relative: format!("{relative}{name}"),
                path: child,
                is_dir,
                is_link,
            });
        }
        entries.sort_unstable_by(|a, b| b.sort_key.cmp(&a.sort_key));
        self.levels.push(Level { identity, entries });
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
            let meta = match std::fs::metadata(&entry.path) {
                Ok(meta) => meta,
                // Deleted since its folder was read.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let told = from_io(entry.path.display().to_string(), &error);
                    return Some(Err(entry_error(&entry.path, told.cause(), told.remedy())));
                }
            };
            if entry.is_dir {
                // Links to folders of links multiply.
                if entry.is_link && !self.linked.insert((meta.dev(), meta.ino())) {
                    return Some(Err(entry_error(
                        &entry.path,
                        "is a symbolic link to a folder that another link led to",
                        "remove the link",
                    )));
                }
                self.enter(entry.path, &format!("{}/", entry.relative), &meta);
            } else if meta.is_file() {
                return Some(Ok(info(entry.relative, &meta)));
            }
        }
    }
}

/// `name#123` is how the client library names a write in progress.
pub(crate) fn is_staged(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, suffix)| {
        !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn leaves_the_root(link: &FsPath) -> StoreError {
    entry_error(
        link,
        "is a symbolic link to a place outside this folder",
        "copy what it leads to, or read that place as a lake of its own",
    )
}

fn entry_error(path: &FsPath, cause: &str, remedy: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Entry,
        path.display().to_string(),
        cause,
        remedy,
    )
}

/// The same entity tag as the client library gives, so that a listing and a head request agree.
fn info(relative: String, meta: &Metadata) -> ObjectInfo {
    let modified = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    ObjectInfo {
        path: relative,
        etag: Some(format!(
            "{:x}-{:x}-{:x}",
            meta.ino(),
            modified.as_micros(),
            meta.len()
        )),
        version: None,
        size: meta.len(),
        modified_ms: i64::try_from(modified.as_millis()).unwrap_or(i64::MAX),
    }
}
