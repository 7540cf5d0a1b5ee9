//! `.limnignore` files: what the owners of a lake, or of a folder in it, want left out.
//!
//! They are written as `.gitignore` files are. A file holds for its folder and all below; of
//! several the one that lies deepest decides, and in a file the last line that matches. A line with
//! `!` brings back what another leaves out, also from a folder that is left out.

use std::collections::HashMap;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use limn_formats::Hasher;
use limn_formats::member::SEPARATOR;

/// The name of such a file.
pub const IGNORE_FILE: &str = ".limnignore";
/// The largest that is read.
pub const MOST_IGNORE_BYTES: u64 = 256 << 10;

/// Whether an object is such a file, as its path says.
pub fn is_ignore_file(path: &str) -> bool {
    let folder = path.strip_suffix(IGNORE_FILE);
    folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Why a `.limnignore` file is not used.
#[derive(Debug, thiserror::Error)]
pub enum IgnoreError {
    /// A line is not understood.
    #[error("line {line} is no pattern: {error}")]
    Line {
        /// Its number, from 1 on.
        line: usize,
        /// What is wrong with it.
        error: ignore::Error,
    },
    /// All lines together are too much.
    #[error(transparent)]
    Patterns(ignore::Error),
}

/// The `.limnignore` files of a lake, by their folders.
#[derive(Clone, Debug, Default)]
pub struct IgnoreFiles {
    files: HashMap<String, (Gitignore, u64)>,
}

impl IgnoreFiles {
    /// Adds the file of a folder (`""` for the root).
    ///
    /// # Errors
    /// What is wrong, and in which line: a file of which a line is not understood is not used at
    /// all, for that line may have been what matters.
    pub fn add(&mut self, folder: &str, text: &str) -> Result<(), IgnoreError> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        for (line, pattern) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let added = builder.add_line(None, pattern);
            added.map_err(|error| IgnoreError::Line { line, error })?;
        }
        let built = builder.build().map_err(IgnoreError::Patterns)?;
        if !built.is_empty() {
            let mut hasher = Hasher::new("ignore file");
            hasher.text(folder);
            hasher.text(text);
            let mark = hasher.finish().0 as u64;
            self.files.insert(folder.to_owned(), (built, mark));
        }
        Ok(())
    }

    /// Whether there are none that leave anything out.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What distinguishes the files that hold for a container's members from others.
    pub fn fingerprint(&self, container: &str) -> u64 {
        let folders = container.match_indices('/').map(|(at, _)| &container[..at]);
        let files = folders
            .chain([""])
            .filter_map(|folder| self.files.get(folder));
        files.fold(0, |all, (_, mark)| all ^ mark)
    }

    /// Whether an object is left out.
    pub fn ignores(&self, path: &str) -> bool {
        if self.files.is_empty() {
            return false;
        }
        // A container is a folder.
        if path.contains(SEPARATOR) {
            return self.ignores(&path.replace(SEPARATOR, "/"));
        }
        let folders = path.rmatch_indices('/').map(|(at, _)| at);
        let parts = folders.map(|at| (&path[..at], &path[at + 1..]));
        for (folder, below) in parts.chain([("", path)]) {
            let Some((file, _)) = self.files.get(folder) else {
                continue;
            };
            // The path itself, then the folders that it lies in.
            let up = std::iter::successors(Some((below, false)), |(path, _)| {
                path.rsplit_once('/').map(|(folder, _)| (folder, true))
            });
            let mut matched = up.map(|(path, is_folder)| file.matched(path, is_folder));
            match matched.find(|it| !it.is_none()) {
                None | Some(Match::None) => {}
                Some(Match::Ignore(_)) => return true,
                Some(Match::Whitelist(_)) => return false,
            }
        }
        false
    }
}
