//! Vectors of short texts, each embedded once as long as there is room for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use limn_models::{Embedder, ModelError};
use moka::sync::Cache;

/// Bytes of vectors that are kept: of 384 dimensions, of about 40,000 columns.
const KEPT_BYTES: u64 = 64 << 20;
/// Texts that are embedded at a time.
const BATCH: usize = 64;

/// A text's vector, of unit length.
pub(crate) type Vector = Arc<[f32]>;

/// An embedder and what it gave.
pub(crate) struct Vectors {
    embedder: Arc<dyn Embedder>,
    kept: Cache<u128, Vector>,
}

impl Vectors {
    pub(crate) fn new(embedder: Arc<dyn Embedder>) -> Vectors {
        let weigh = |_: &u128, vector: &Vector| u32::try_from(64 + 4 * vector.len());
        Vectors {
            embedder,
            kept: Cache::builder()
                .weigher(move |key, vector| weigh(key, vector).unwrap_or(u32::MAX))
                .max_capacity(KEPT_BYTES)
                .build(),
        }
    }

    /// The vectors of texts that are not kept: how soon an answer comes says nothing of what others have asked.
    ///
    /// # Errors
    /// Where the model fails.
    pub(crate) fn fresh(
        &self,
        texts: impl Iterator<Item = String>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let texts: Vec<String> = texts.collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.embedder.embed(&texts)
    }

    /// The vectors of texts, in order.
    ///
    /// # Errors
    /// Where the model fails.
    pub(crate) fn of(&self, texts: &[&str]) -> Result<Vec<Vector>, ModelError> {
        let key = |text: &str| limn_segment::text_hash(text);
        let mut found: Vec<Option<Vector>> =
            texts.iter().map(|text| self.kept.get(&key(text))).collect();
        let missing = texts.iter().zip(&found);
        let missing: BTreeSet<&str> = missing
            .filter(|(_, found)| found.is_none())
            .map(|(text, _)| *text)
            .collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        let mut made: Vec<(&str, Vector)> = Vec::with_capacity(missing.len());
        for batch in missing.chunks(BATCH) {
            let vectors = self.embedder.embed(batch)?.into_iter().map(Vector::from);
            made.extend(batch.iter().copied().zip(vectors));
        }
        for (text, vector) in &made {
            self.kept.insert(key(text), Arc::clone(vector));
        }
        for (text, found) in texts.iter().zip(&mut found) {
            if found.is_none() {
                let at = made.binary_search_by(|(made, _)| made.cmp(text)).ok();
                *found = at.map(|at| Arc::clone(&made[at].1));
            }
        }
        // Whatever was not kept has been made.
        let none = || Vector::from(vec![0.0; self.embedder.dimensions()]);
        Ok(found
            .into_iter()
            .map(|it| it.unwrap_or_else(none))
            .collect())
    }
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
