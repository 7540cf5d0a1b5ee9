//! The files that `limn eval` reads and writes: runs, and what weights of the ranking are learned
//! from.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use limn_retrieval::Searcher;
use limn_retrieval::eval::{EvalOptions, EvalQuestion, SavedQuestion, features, read_saved};

/// Reads a file that a flag names.
pub fn read(path: &Path, what: &str, flag: &str) -> anyhow::Result<String> {
    fs::read_to_string(path)
        .with_context(|| format!("cannot read {what} {}", path.display()))
        .map_err(|error| anyhow::anyhow!("{error:#}; check {flag}"))
}

/// A run that was saved, and the file's name.
pub fn saved_run(path: &Path) -> anyhow::Result<(Vec<SavedQuestion>, String)> {
    let text = read(path, "the saved run", "--against")?;
    let path = path.display().to_string();
    Ok((read_saved(&text, &path)?, path))
}

/// A file that an option names.
#[derive(Debug)]
pub struct Named {
    path: PathBuf,
    option: &'static str,
    file: File,
}

impl Named {
    /// Opens a file where an option names one, before there is anything to write: what cannot be
    /// written is known at once. What it holds stays until then.
    ///
    /// # Errors
    /// It cannot be written, or is the one that holds the `questions`.
    pub fn open(
        path: Option<&Path>,
        option: &'static str,
        questions: &Path,
    ) -> anyhow::Result<Option<Named>> {
        let Some(path) = path else {
            return Ok(None);
        };
        if is_same(path, questions) {
            let path = path.display();
            bail!("{option} {path} holds the questions; choose another file");
        }
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let file = options.open(path);
        let file = file.map_err(|error| unwritten(path, option, error))?;
        Ok(Some(Named {
            path: path.to_owned(),
            option,
            file,
        }))
    }

    /// Puts this in the place of what the file holds.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(mut self, text: &str) -> anyhow::Result<()> {
        // Devices and pipes have no length.
        let is_plain = self.file.metadata().is_ok_and(|it| it.is_file());
        let cleared = if is_plain {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        let written = cleared.and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| unwritten(&self.path, self.option, error))
    }
}

/// Whether two paths lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let other = other.canonicalize();
    one.canonicalize()
        .is_ok_and(|one| other.is_ok_and(|other| one == other))
}

/// The candidates of each question with their features, one question a line.
///
/// # Errors
/// A question cannot be asked.
pub fn features_text(
    searcher: &Searcher,
    questions: &[EvalQuestion],
    options: &EvalOptions,
) -> anyhow::Result<String> {
    let names = searcher.names();
    let mut text = String::new();
    for question in questions {
        let kept = features(searcher, &names, question, &options.query)?;
        text.push_str(&serde_json::to_string(&kept)?);
        text.push('\n');
    }
    Ok(text)
}

fn unwritten(path: &Path, option: &str, error: io::Error) -> anyhow::Error {
    let path = path.display();
    anyhow!("{path} cannot be written: {error}; check {option}")
}
