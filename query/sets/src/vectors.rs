//! Vectors of columns, made once for each table.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use limn_models::{Embedder, ModelError};

use crate::columns::TableColumns;

/// Texts that are embedded at a time.
const BATCH: usize = 64;

/// The vectors of a table's columns in their order, of unit length.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableVectors {
    /// Of what parts of questions are compared with.
    pub(crate) texts: Vec<Vec<f32>>,
    /// Of the names by which columns join.
    pub(crate) names: Vec<Vec<f32>>,
}

/// Makes the vectors of those tables that have none yet.
///
/// # Errors
/// Where the model fails.
pub(crate) fn prepare(
    embedder: &dyn Embedder,
    tables: &[Arc<TableColumns>],
) -> Result<(), ModelError> {
    let missing = tables.iter().filter(|table| table.vectors.get().is_none());
    let missing: Vec<&Arc<TableColumns>> = missing.collect();
    // Columns are called alike in many tables: each text is embedded once, beside others of its
    // length.
    let columns = missing.iter().flat_map(|table| &table.columns);
    let texts = columns.flat_map(|it| [it.text.as_str(), &it.qualified]);
    let texts: BTreeSet<(usize, &str)> = texts.map(|text| (text.len(), text)).collect();
    let texts: Vec<&str> = texts.into_iter().map(|(_, text)| text).collect();
    let vectors = embed(embedder, &texts)?;
    let vectors: HashMap<&str, Vec<f32>> = texts.into_iter().zip(vectors).collect();
    let of = |text: &String| vectors.get(text.as_str()).cloned().unwrap_or_default();
    for table in missing {
        let columns = table.columns.iter();
        let vectors = TableVectors {
            texts: columns.clone().map(|it| of(&it.text)).collect(),
            names: columns.map(|it| of(&it.qualified)).collect(),
        };
        // Another question may have made the same ones meanwhile.
        let _ = table.vectors.set(vectors);
    }
    Ok(())
}

/// The vectors of texts.
///
/// # Errors
/// Where the model fails.
pub(crate) fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        vectors.extend(embedder.embed(batch)?);
    }
    Ok(vectors)
}

/// The vectors of what questions say.
///
/// # Errors
/// Where the model fails.
pub(crate) fn embed_questions(
    embedder: &dyn Embedder,
    texts: &[&str],
) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(BATCH) {
        vectors.extend(embedder.embed_questions(batch, None)?);
    }
    Ok(vectors)
}

/// The cosine of two vectors of unit length, 0 where they point apart.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f32; 8];
    let (eights, rest) = (a.chunks_exact(8), a.chunks_exact(8).remainder());
    let others = b.chunks_exact(8);
    let tail: f32 = rest
        .iter()
        .zip(others.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in eights.zip(others) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    f64::from(sums.iter().sum::<f32>() + tail).max(0.0)
}
