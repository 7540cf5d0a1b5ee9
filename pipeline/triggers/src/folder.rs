//! What happens to the files of a local lake, as the system reports it.
//!
//! The system's events are hints as others are: it may drop some (then it says so), and it reports
//! nothing of what other machines do to a shared disk, nor of what lies behind symbolic links. A
//! folder below that cannot be watched, say for want of access, costs itself only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::collector::Collector;
use crate::error::{TriggerError, TriggerErrorKind};
use crate::event::Hints;
use crate::root::is_path;

/// The system's "too many open files", which is also its answer to too many watchers.
const TOO_MANY_FILES: i32 = 24;

/// A folder that is watched until this is dropped.
pub(crate) struct FolderWatch {
    _watcher: RecommendedWatcher,
}

/// Where the lake lies, and what in it is none of it.
struct Place {
    root: PathBuf,
    except: Vec<PathBuf>,
}

/// Watches a folder and all below it, but for the folders of `except`, and returns what below it
/// cannot be watched.
pub(crate) fn watch(
    collector: Arc<Collector>,
    root: &Path,
    except: &[PathBuf],
) -> Result<(FolderWatch, Vec<TriggerError>), TriggerError> {
    // Events carry the names that links resolve to.
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let place = Place {
        root: resolved(root),
        except: except.iter().map(|path| resolved(path)).collect(),
    };
    let shown = root.display().to_string();
    let failed = |error: notify::Error| explain(&shown, &error);
    let watched = place.root.clone();
    let handler_shown = shown.clone();
    let handler = move |event: notify::Result<Event>| match event {
        Ok(event) => collector.hint(place.read(&event)),
        Err(error) => {
            let error = explain(&handler_shown, &error);
            tracing::warn!(%error, "file events are missing, so all of the lake is looked at");
            collector.hint(everything());
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config).map_err(failed)?;
    let add = &mut |folder: &Path| watcher.watch(folder, RecursiveMode::Recursive);
    let unwatched = watch_all(&watched, add).map_err(failed)?;
    let unwatched = unwatched.iter();
    let unwatched = unwatched.map(|(folder, error)| explain(&folder.display().to_string(), error));
    let unwatched = unwatched.collect();
    Ok((FolderWatch { _watcher: watcher }, unwatched))
}

/// Watches a folder by `add`, which watches folders with all below them up to the first that it
/// fails at: all that can be watched is, and what cannot is returned with its error.
fn watch_all(
    root: &Path,
    add: &mut dyn FnMut(&Path) -> notify::Result<()>,
) -> notify::Result<Vec<(PathBuf, notify::Error)>> {
    let mut unwatched = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        let Err(error) = add(&folder) else {
            continue;
        };
        if is_limit(&error) {
            return Err(error);
        }
        // What it has not come to is below.
        let is_below = !error.paths.contains(&folder) && folder.is_dir();
        let error = match is_below.then(|| folders_in(&folder)) {
            Some(Ok(folders)) => {
                left.extend(folders);
                continue;
            }
            Some(Err(unread)) => notify::Error::io(unread),
            None => error,
        };
        if folder == root {
            return Err(error);
        }
        // One that went away meanwhile is not missed.
        if folder.is_dir() {
            unwatched.push((folder, error));
        }
    }
    unwatched.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(unwatched)
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        // The type of a symbolic link is its own.
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Whether the system has no more watchers, which then goes for every folder.
fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::MaxFilesWatch => true,
        ErrorKind::Io(error) => error.raw_os_error() == Some(TOO_MANY_FILES),
        _ => false,
    }
}

impl Place {
    fn read(&self, event: &Event) -> Hints {
        if event.need_rescan() {
            return everything();
        }
        let changes = match event.kind {
            // Reading files must not be taken for a change of them: an index run reads them.
            EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
            _ => true,
        };
        let mut hints = Hints::default();
        if !changes {
            return hints;
        }
        for path in &event.paths {
            if self.except.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            match path.strip_prefix(&self.root).map(Path::to_str) {
                // The root itself was replaced or removed.
                Ok(Some("")) => hints.everything = true,
                Ok(Some(path)) if is_path(path) => hints.objects.push(path.to_owned()),
                // A name that is not UTF-8 is no object's.
                _ => hints.ignored += 1,
            }
        }
        hints
    }
}

fn everything() -> Hints {
    Hints {
        everything: true,
        ..Hints::default()
    }
}

fn explain(folder: &str, error: &notify::Error) -> TriggerError {
    let limit = |cause: &str, setting: &str| {
        TriggerError::new(
            TriggerErrorKind::WatchLimit,
            folder,
            cause,
            format!(
                "raise {setting} (sudo sysctl {setting}=…), or rely on the periodic listing alone"
            ),
        )
    };
    match &error.kind {
        ErrorKind::MaxFilesWatch => limit(
            "it has more folders than the system watches",
            "fs.inotify.max_user_watches",
        ),
        ErrorKind::Io(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => limit(
            "the system has no watcher left",
            "fs.inotify.max_user_instances",
        ),
        ErrorKind::PathNotFound => TriggerError::new(
            TriggerErrorKind::Configuration,
            folder,
            "there is no such folder",
            "create it or check the name",
        ),
        _ => TriggerError::new(
            TriggerErrorKind::Other,
            folder,
            format!("it cannot be watched ({error})"),
            "rely on the periodic listing alone",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_limit_names_its_setting() {
        let text = explain("/lake", &notify::Error::new(ErrorKind::MaxFilesWatch)).to_string();
        assert!(text.contains("fs.inotify.max_user_watches"), "{text}");
        let error = notify::Error::io(std::io::Error::from_raw_os_error(TOO_MANY_FILES));
        let error = explain("/lake", &error);
        assert_eq!(error.kind(), TriggerErrorKind::WatchLimit);
        assert!(error.to_string().contains("max_user_instances"), "{error}");
    }

    /// Watches as the system's own does: folder by folder, up to the first that it fails at.
    fn add(
        watched: &mut Vec<PathBuf>,
        folder: &Path,
        denied: &[&Path],
        removed: &mut Option<PathBuf>,
    ) -> notify::Result<()> {
        if denied.contains(&folder) {
            let error = io::Error::from_raw_os_error(13);
            return Err(notify::Error::io(error).add_path(folder.to_owned()));
        }
        if removed.as_deref() == Some(folder) {
            std::fs::remove_dir(folder).unwrap();
            *removed = None;
            return Err(notify::Error::path_not_found().add_path(folder.to_owned()));
        }
        if !watched.iter().any(|it| it == folder) {
            watched.push(folder.to_owned());
        }
        let mut folders = folders_in(folder).unwrap();
        folders.sort();
        folders
            .iter()
            .try_for_each(|folder| add(watched, folder, denied, removed))
    }

    #[test]
    fn a_folder_that_cannot_be_watched_costs_itself_only() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        for folder in ["a/open", "a/shut/below", "a/z", "b/removed", "b/last", "c"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let (shut, c) = (root.join("a/shut"), root.join("c"));
        let denied = [shut.as_path(), c.as_path()];
        let (mut watched, mut removed) = (Vec::new(), Some(root.join("b/removed")));
        let unwatched = watch_all(root, &mut |folder| {
            add(&mut watched, folder, &denied, &mut removed)
        });
        let unwatched = unwatched.unwrap();
        let folders: Vec<&Path> = unwatched.iter().map(|(folder, _)| &**folder).collect();
        assert_eq!(folders, denied);
        let text = explain("/lake/a/shut", &unwatched[0].1).to_string();
        assert!(
            text.starts_with("/lake/a/shut: it cannot be watched (Permission denied"),
            "{text}"
        );
        watched.sort();
        let expected = ["", "a", "a/open", "a/z", "b", "b/last"].map(|it| root.join(it));
        assert_eq!(
            watched,
            expected.map(|it| it.components().collect::<PathBuf>())
        );

        // Without its root nothing is watched, nor with a limit that is reached.
        let denied = watch_all(root, &mut |folder| {
            add(&mut watched, folder, &[root], &mut None)
        });
        assert!(denied.is_err());
        let mut limited = |_: &Path| Err(notify::Error::new(ErrorKind::MaxFilesWatch));
        assert!(is_limit(&watch_all(root, &mut limited).unwrap_err()));
    }

    #[test]
    fn what_is_read_is_not_changed_and_the_index_is_not_the_lake() {
        let place = Place {
            root: "/lake".into(),
            except: vec!["/lake/index".into()],
        };
        let read = |kind, path: &str| place.read(&Event::new(kind).add_path(path.into()));
        let close = |mode| EventKind::Access(AccessKind::Close(mode));
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        for kind in [open, close(AccessMode::Read)] {
            assert_eq!(read(kind, "/lake/a.csv"), Hints::default());
        }
        let written = close(AccessMode::Write);
        assert_eq!(read(written, "/lake/a.csv").objects, ["a.csv"]);
        assert_eq!(read(EventKind::Any, "/lake/.x/a").objects, [".x/a"]);
        assert_eq!(read(EventKind::Any, "/lake/index/a/b"), Hints::default());
        assert_eq!(read(EventKind::Any, "/lake/index2").objects, ["index2"]);
        assert!(read(EventKind::Any, "/lake").everything);
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(place.read(&overflow).everything);
    }
}
