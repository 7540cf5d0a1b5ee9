//! An embedder without a model: words and letter trigrams hashed into a small vector.
//!
//! Feature hashing with signs (Weinberger et al., "Feature Hashing for Large Scale Multitask
//! Learning", ICML 2009). It knows spelling and no meaning: right for tests, for machines with no
//! model, and as the smallest example of the [`Embedder`] trait.

use std::sync::LazyLock;

use crate::{Embedder, ModelError, ModelId};

/// The name under which [`ModelStore`](crate::ModelStore) gives out this embedder.
pub const HASHED_WORDS: &str = "hashed-words";

/// Changes whenever its vectors do.
pub(crate) const HASHED_WORDS_VERSION: &str = "1";

const DIMENSIONS: usize = 64;
const WINDOW: usize = 256;
/// As real tokenizers: one token before and one after the text.
const SPECIAL_TOKENS: usize = 2;
/// A word weighs as much as about four of its trigrams.
const WORD_WEIGHT: f32 = 2.0;
const TRIGRAM_WEIGHT: f32 = 0.5;

static ID: LazyLock<ModelId> =
    LazyLock::new(|| ModelId::new(format!("{HASHED_WORDS}@{HASHED_WORDS_VERSION}")));

/// A tiny deterministic embedder that needs no files; 64 dimensions, a token is a word.
///
/// The vector of a text is the same bits on every machine and in every batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashedWords;

impl Embedder for HashedWords {
    fn id(&self) -> &ModelId {
        &ID
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn window(&self) -> usize {
        WINDOW
    }

    fn count_tokens(&self, text: &str) -> usize {
        words(text).count() + SPECIAL_TOKENS
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    for word in words(text).take(WINDOW - SPECIAL_TOKENS) {
        let word = word.to_lowercase();
        add(&mut vector, word.as_bytes(), WORD_WEIGHT);
        let marked: Vec<char> = format!("<{word}>").chars().collect();
        for trigram in marked.windows(3) {
            let trigram: String = trigram.iter().collect();
            add(&mut vector, trigram.as_bytes(), TRIGRAM_WEIGHT);
        }
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    } else {
        vector[0] = 1.0; // an empty text, or one whose features cancel out, still has a direction
    }
    vector
}

fn add(vector: &mut [f32], feature: &[u8], weight: f32) {
    let hash = hash(feature);
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    vector[(hash % DIMENSIONS as u64) as usize] += sign * weight;
}

/// FNV-1a, then the finaliser of MurmurHash3 so that low and high bits are both well mixed.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn similarity(a: &str, b: &str) -> f32 {
        let vectors = HashedWords.embed(&[a, b]).unwrap();
        vectors[0].iter().zip(&vectors[1]).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn conforms() {
        assert_eq!(
            crate::conformance::embedder_violations(&HashedWords),
            Vec::<String>::new()
        );
    }

    #[test]
    fn shared_words_and_spellings_are_nearer_than_others() {
        let related = similarity("monthly sales orders", "sales order totals");
        let unrelated = similarity("monthly sales orders", "hospital bird census");
        assert!(related > unrelated + 0.2, "{related} against {unrelated}");
        assert!(similarity("Orders, 2024", "orders 2024") > 0.999);
    }
}
