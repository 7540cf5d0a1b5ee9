//! `limn eval --features`: what weights of the ranking are learned from.

use std::fs;
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
    let (names, mut lines) = (searcher.names(), Vec::new());
    for question in questions {
        let kept = features(searcher, &names, question, &options.query)?;
        serde_json::to_writer(&mut lines, &kept)?;
        lines.push(b'\n');
    }
    fs::write(path, lines)
        .with_context(|| format!("'{}' cannot be written", path.display()))
        .map_err(|error| anyhow::anyhow!("{error:#}; check --features"))
}
