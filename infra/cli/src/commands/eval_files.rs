//! The files that `limn eval` reads and writes: runs, and what weights of the ranking are learned
//! from.

use std::fmt::Display;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use limn_retrieval::Searcher;
use limn_retrieval::eval::{
    EvalOptions, EvalQuestion, SavedQuestion, features, read_saved, write_saved,
};

use crate::whole_file::WholeFile;

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
    file: WholeFile,
}

impl Named {
    /// Begins a file, before there is anything to write.
    ///
    /// # Errors
    /// It cannot be written, or is the one that holds the `questions`.
    pub fn begin(path: &Path, option: &'static str, questions: &Path) -> anyhow::Result<Named> {
        let is_same = |it: PathBuf| {
            questions
                .canonicalize()
                .is_ok_and(|questions| it == questions)
        };
        if path.canonicalize().is_ok_and(is_same) {
            bail!(
                "{option} {} holds the questions; choose another file",
                path.display()
            );
        }
        let file = WholeFile::begin(path);
        let file = file.map_err(|error| unwritten(path, option, error))?;
        Ok(Named {
            path: path.to_owned(),
            option,
            file,
        })
    }

    /// Writes all of it.
    fn write(
        self,
        write: impl FnOnce(&mut BufWriter<std::fs::File>) -> anyhow::Result<io::Result<()>>,
    ) -> anyhow::Result<()> {
        let failed = |error| unwritten(&self.path, self.option, error);
        let mut file = BufWriter::new(self.file.open().map_err(failed)?);
        write(&mut file)?.map_err(failed)?;
        file.flush().map_err(failed)?;
        self.file.keep().map_err(failed)
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_run(self, run: &[SavedQuestion]) -> anyhow::Result<()> {
        self.write(|file| Ok(file.write_all(write_saved(run)?.as_bytes())))
    }

    /// Keeps the candidates of each question with their features.
    ///
    /// # Errors
    /// A question cannot be asked, or they cannot be written.
    pub fn keep_features(
        self,
        searcher: &Searcher,
        questions: &[EvalQuestion],
        options: &EvalOptions,
    ) -> anyhow::Result<()> {
        let names = searcher.names();
        self.write(|file| {
            for question in questions {
                let kept = features(searcher, &names, question, &options.query)?;
                let written = writeln!(file, "{}", serde_json::to_string(&kept)?);
                if written.is_err() {
                    return Ok(written);
                }
            }
            Ok(Ok(()))
        })
    }
}

fn unwritten(path: &Path, option: &str, error: impl Display) -> anyhow::Error {
    anyhow!(
        "{} cannot be written: {error}; check {option}",
        path.display()
    )
}
