//! Files that are there once they are whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written beside its place and put there at the end. What is no plain file (a pipe,
/// `/dev/null`) is written as it is.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    /// Nothing where the path is no plain file.
    beside: Option<NamedTempFile>,
}

impl WholeFile {
    /// Begins a file at `path`; one that is there stays until the new one is whole.
    ///
    /// # Errors
    /// The folder is not there, or nothing can be written to it.
    pub fn begin(path: &Path) -> io::Result<WholeFile> {
        let known = fs::metadata(path).ok();
        // Links lead where they led before.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(known) = known.as_ref().filter(|known| !known.is_file()) {
            return match known.is_dir() {
                true => Err(io::ErrorKind::IsADirectory.into()),
                false => Ok(WholeFile { path, beside: None }),
            };
        }
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        // The mode of any new file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let beside = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        if let Some(known) = known {
            beside.as_file().set_permissions(known.permissions())?;
        }
        Ok(WholeFile {
            path,
            beside: Some(beside),
        })
    }

    /// What is written to.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> io::Result<File> {
        match &self.beside {
            Some(beside) => beside.reopen(),
            None => File::options().write(true).open(&self.path),
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// It cannot be put there; what was there stays.
    pub fn keep(self) -> io::Result<()> {
        match self.beside {
            Some(beside) => beside.persist(self.path).map(drop).map_err(Into::into),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::TempDir;

    use super::*;

    fn write(path: &Path, text: &str) -> WholeFile {
        let file = WholeFile::begin(path).unwrap();
        file.open().unwrap().write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_file_is_replaced_once_the_new_one_is_whole() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.jsonl");
        fs::write(&path, "old").unwrap();
        drop(write(&path, "broken off"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, "new").keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_at_once() {
        let folder = TempDir::new().unwrap();
        assert!(WholeFile::begin(folder.path()).is_err());
        assert!(WholeFile::begin(&folder.path().join("none/run.jsonl")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_stay_what_they_are() {
        let folder = TempDir::new().unwrap();
        write(Path::new("/dev/null"), "text").keep().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let (path, link) = (folder.path().join("run.jsonl"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "new").keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
