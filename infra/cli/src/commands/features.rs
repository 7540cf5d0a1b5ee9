//! `limn eval --features`: what weights of the ranking are learned from.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use limn_retrieval::Searcher;
use limn_retrieval::eval::{EvalOptions, EvalQuestion, features};

/// Keeps the candidates of each question with their features.
pub fn save_features(
    path: &Path,
    searcher: &Searcher,
    questions: &[EvalQuestion],
    options: &EvalOptions,
) -> anyhow::Result<()> {
    let written = |written: std::io::Result<()>| {
        written
            .with_context(|| format!("'{}' cannot be written", path.display()))
            .map_err(|error| anyhow::anyhow!("{error:#}; check --features"))
    };
    let names = searcher.names();
    let mut file = match File::create(path) {
        Ok(file) => BufWriter::new(file),
        Err(error) => return written(Err(error)),
    };
    for question in questions {
        let kept = features(searcher, &names, question, &options.query)?;
        written(writeln!(file, "{}", serde_json::to_string(&kept)?))?;
    }
    written(file.flush())
}
