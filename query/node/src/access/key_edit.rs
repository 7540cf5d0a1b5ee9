//! Changing a file of keys: one change after the other, however many want to, and none
//! half-written.
//!
//! Whoever changes the file holds its lock and puts a new file in its place, so that nodes read the
//! one or the other. The lock is on the file itself: one that has been replaced while somebody
//! waited for its lock is not the file any more, and the wait begins anew. The new file has the
//! owner and the mode of the old one, or is not put there: a node that may read the one may read
//! the other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::keys::{KeyError, KeyRecord, io_error, read_records};

/// Changes the records of a file, and returns what the change returns. `makes` says whether a file
/// that is not there is made, readable by its owner only.
///
/// # Errors
/// [`KeyError::Io`] without a file, [`KeyError::Change`], [`KeyError::Line`], and those of the
/// change: the file is as it was.
pub fn edit_records<T>(
    path: &Path,
    makes: bool,
    change: impl FnOnce(&mut Vec<KeyRecord>) -> Result<T, KeyError>,
) -> Result<T, KeyError> {
    let failed = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => io_error(path, source),
        _ => KeyError::Change {
            path: path.display().to_string(),
            source,
        },
    };
    let (locked, place) = lock(path, makes).map_err(failed)?;
    let mut records = read_records(path)?;
    let changed = change(&mut records)?;
    replace(&place, &locked, &records).map_err(failed)?;
    Ok(changed)
}

/// The file with its lock, which lasts as long as it, and where it really is: a link stays one.
fn lock(path: &Path, makes: bool) -> io::Result<(File, PathBuf)> {
    loop {
        let file = open(path, makes)?;
        file.lock()?;
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            path => path?,
        };
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            now => {
                if is_same(&file, &now?)? {
                    return Ok((file, path));
                }
            }
        }
    }
}

/// To be written where that is allowed: locks of network file systems ask for it.
fn open(path: &Path, makes: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(makes);
    owners_only(&mut options);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

/// Puts a file of these records in the place of this one.
fn replace(path: &Path, old: &File, records: &[KeyRecord]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // Left by a killed process: only the holder of the lock writes it.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owners_only(&mut options);
    let written = options.open(&beside).and_then(|mut file| {
        for record in records {
            serde_json::to_writer(&mut file, record)?;
            file.write_all(b"\n")?;
        }
        be_as(&file, old)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // So that a key that was taken out stays out whatever happens to the machine.
        path.parent()
            .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    });
    if written.is_err() {
        // The failure is reported; a file that stays is removed by the next change.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(unix)]
fn owners_only(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn owners_only(_: &mut OpenOptions) {}

#[cfg(unix)]
fn is_same(one: &File, other: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn is_same(_: &File, _: &File) -> io::Result<bool> {
    Ok(true)
}

/// Gives a new file the owner, the group and the mode of an old one.
#[cfg(unix)]
fn be_as(new: &File, old: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (is, was) = (new.metadata()?, old.metadata()?);
    if (is.uid(), is.gid()) != (was.uid(), was.gid()) {
        fchown(new, Some(was.uid()), Some(was.gid())).map_err(|error| {
            let why = format!(
                "its owner ({}:{}) cannot be given to the new file ({error}): run this as its owner",
                was.uid(),
                was.gid()
            );
            io::Error::new(error.kind(), why)
        })?;
    }
    new.set_permissions(was.permissions())
}

#[cfg(not(unix))]
fn be_as(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::Right;
    use super::*;

    fn add(path: &Path, name: &str) -> Result<(), KeyError> {
        edit_records(path, true, |records| {
            records.push(KeyRecord::make(name, None, vec![Right::Search])?.record);
            Ok(())
        })
    }

    #[test]
    fn changes_at_the_same_time_are_all_made() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys");
        std::thread::scope(|threads| {
            for n in 0..8 {
                let path = &path;
                threads.spawn(move || {
                    for m in 0..10 {
                        add(path, &format!("{n} {m}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(read_records(&path).unwrap().len(), 80);
        // Nothing else is left there.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys");
        let missing = edit_records(&path, false, |_| Ok(()));
        assert!(matches!(missing, Err(KeyError::Io { .. })) && !path.exists());
        add(&path, "one").unwrap();
        let before = fs::read(&path).unwrap();
        let failed = edit_records(&path, true, |records| -> Result<(), KeyError> {
            records.clear();
            Err(KeyError::Random("none".to_owned()))
        });
        assert!(matches!(failed, Err(KeyError::Random(_))));
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::write(&path, "no record\n").unwrap();
        assert!(matches!(add(&path, "two"), Err(KeyError::Line { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"no record\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_its_owners_and_an_old_one_keeps_its_mode_and_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::TempDir::new().unwrap();
        let (path, link) = (folder.path().join("keys"), folder.path().join("link"));
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        add(&path, "one").unwrap();
        assert_eq!(mode(), 0o600);
        for kept in [0o640, 0o644, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            add(&path, "more").unwrap();
            assert_eq!(mode(), kept);
        }
        symlink("keys", &link).unwrap();
        add(&link, "by the link").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read_records(&path).unwrap().len(), 5);
        // A file that somebody left there, or put there, is not written to.
        let (left, other) = (folder.path().join("keys.new"), folder.path().join("other"));
        symlink(&other, &left).unwrap();
        add(&path, "last").unwrap();
        assert!(!other.exists() && !left.exists());
    }
}
