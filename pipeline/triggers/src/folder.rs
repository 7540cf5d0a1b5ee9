//! What happens to the files of a local lake, as the system tells it.
//!
//! The system's events are hints as others are: it may drop some (then it says so), and it tells nothing of
//! what other machines do to a shared disk, nor of what lies behind symbolic links.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::collector::Collector;
use crate::error::{TriggerError, TriggerErrorKind};
use crate::event::Told;
use crate::root::is_path;

/// The system's "too many open files", which is also its answer to too many watchers.
const TOO_MANY_FILES: i32 = 24;

/// So often the folders of a lake are gone through while some of them go away.
const TRIES: u32 = 10;

/// A folder that is watched until this is dropped.
pub(crate) struct FolderWatch {
    _watcher: RecommendedWatcher,
}

/// Where the lake lies, and what in it is none of it.
struct Place {
    root: PathBuf,
    except: Vec<PathBuf>,
}

/// Watches a folder and all below it, but for the folders of `except`.
pub(crate) fn watch(
    collector: Arc<Collector>,
    root: &Path,
    except: &[PathBuf],
) -> Result<FolderWatch, TriggerError> {
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
        Ok(event) => collector.tell(place.read(&event)),
        Err(error) => {
            let error = explain(&handler_shown, &error);
            tracing::warn!(%error, "file events are missing, so all of the lake is looked at");
            collector.tell(everything());
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config).map_err(failed)?;
    let mut tries = 0;
    while let Err(error) = watcher.watch(&watched, RecursiveMode::Recursive) {
        tries += 1;
        // A folder below went away while they were gone through.
        let passing = matches!(error.kind, ErrorKind::PathNotFound) && watched.is_dir();
        if !passing || tries == TRIES {
            return Err(failed(error));
        }
    }
    Ok(FolderWatch { _watcher: watcher })
}

impl Place {
    fn read(&self, event: &Event) -> Told {
        if event.need_rescan() {
            return everything();
        }
        let changes = match event.kind {
            // Reading files must not be taken for a change of them: an index run reads them.
            EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
            _ => true,
        };
        let mut told = Told::default();
        if !changes {
            return told;
        }
        for path in &event.paths {
            if self.except.iter().any(|folder| path.starts_with(folder)) {
                continue;
            }
            match path.strip_prefix(&self.root).map(Path::to_str) {
                // The root itself: it was replaced, or is gone.
                Ok(Some("")) => told.everything = true,
                Ok(Some(path)) if is_path(path) => told.objects.push(path.to_owned()),
                // A name that is not UTF-8 is no object's.
                _ => told.ignored += 1,
            }
        }
        told
    }
}

fn everything() -> Told {
    Told {
        everything: true,
        ..Told::default()
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
            assert_eq!(read(kind, "/lake/a.csv"), Told::default());
        }
        let written = close(AccessMode::Write);
        assert_eq!(read(written, "/lake/a.csv").objects, ["a.csv"]);
        assert_eq!(read(EventKind::Any, "/lake/.x/a").objects, [".x/a"]);
        assert_eq!(read(EventKind::Any, "/lake/index/a/b"), Told::default());
        assert_eq!(read(EventKind::Any, "/lake/index2").objects, ["index2"]);
        assert!(read(EventKind::Any, "/lake").everything);
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(place.read(&overflow).everything);
    }
}
