//! Vectors of epochs that are under way, kept in the index so that a run that is killed inside an
//! epoch does not embed everything again.
//!
//! They are written when much or long was embedded since they were last written: a run of less than
//! half a minute writes none. A vector whose segment is uploaded is no longer kept.
//!
//! A process writes what it has embedded, and finds what killed runs have left of its part of all
//! texts.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use half::f16;
use limn_segment::{IndexStore, KeptVector, TextHash};
use tokio::sync::OnceCell;

use crate::error::PipelineError;
use crate::text_share::TextShare;

/// Vectors are written when so many are not…
const MANY: usize = 16_384;

/// The kept vectors of one embedder; shared by the workers of a process.
pub struct KeptVectors {
    index: IndexStore,
    embedder: String,
    dimensions: usize,
    /// …or when so much time has passed.
    after: Duration,
    share: TextShare,
    /// What earlier runs have left, of the texts that fall to this process.
    found: OnceCell<HashMap<TextHash, Vec<f16>>>,
    state: Mutex<State>,
}

struct State {
    unwritten: HashMap<TextHash, Vec<f16>>,
    written_at: Instant,
    /// This run's files and those it found.
    files: Vec<String>,
}

impl KeptVectors {
    /// The kept vectors of `embedder`, written every `after`.
    pub fn new(
        index: IndexStore,
        embedder: String,
        dimensions: usize,
        after: Duration,
        share: TextShare,
    ) -> Self {
        Self {
            index,
            embedder,
            dimensions,
            after,
            share,
            found: OnceCell::new(),
            state: Mutex::new(State {
                unwritten: HashMap::new(),
                written_at: Instant::now(),
                files: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vector of a text of this process that a killed run has embedded. Reads the index at the
    /// first call.
    ///
    /// # Errors
    /// The index cannot be read.
    pub async fn find(&self, text_hash: TextHash) -> Result<Option<Vec<f16>>, PipelineError> {
        let found = self.found.get_or_try_init(|| self.load()).await?;
        Ok(found.get(&text_hash).cloned())
    }

    async fn load(&self) -> Result<HashMap<TextHash, Vec<f16>>, PipelineError> {
        let mut found = HashMap::new();
        let share = self.share;
        let is_own = |text| share.has(text);
        let files = self
            .index
            .kept_vectors(&self.embedder, self.dimensions, is_own);
        for (path, vectors) in files.await? {
            found.extend(vectors);
            self.state().files.push(path);
        }
        Ok(found)
    }

    /// Takes in what was embedded, and writes if it is time.
    ///
    /// # Errors
    /// The index cannot be written.
    pub async fn add(&self, fresh: Vec<KeptVector>) -> Result<(), PipelineError> {
        let due: Vec<KeptVector> = {
            let mut state = self.state();
            state.unwritten.extend(fresh);
            let is_due = state.unwritten.len() >= MANY || state.written_at.elapsed() >= self.after;
            if !is_due || state.unwritten.is_empty() {
                return Ok(());
            }
            state.written_at = Instant::now();
            state.unwritten.drain().collect()
        };
        let kept = self
            .index
            .keep_vectors(&self.embedder, self.dimensions, &due);
        let path = kept.await?;
        self.state().files.push(path);
        Ok(())
    }

    /// These texts are in a segment now.
    pub fn forget(&self, text_hashes: impl IntoIterator<Item = TextHash>) {
        let mut state = self.state();
        for hash in text_hashes {
            state.unwritten.remove(&hash);
        }
    }

    /// Deletes all files: whatever was embedded is published.
    ///
    /// # Errors
    /// The store refused.
    pub async fn finish(&self) -> Result<(), PipelineError> {
        let files = std::mem::take(&mut self.state().files);
        for path in files {
            self.index.drop_kept_vectors(&path).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_store::Store;

    use super::*;

    #[tokio::test]
    async fn each_process_finds_what_killed_runs_have_left_of_its_texts() {
        let index = IndexStore::new(Store::in_memory());
        let left: Vec<KeptVector> = (0..50u16)
            .map(|text| (TextHash::of(&text.to_string()), vec![f16::from_bits(text)]))
            .collect();
        for part in left.chunks(20) {
            index.keep_vectors("e", 1, part).await.unwrap();
        }
        let mut found = 0;
        for process in 0..3 {
            let share = TextShare::of(process, 3);
            let after = Duration::from_secs(30);
            let kept = KeptVectors::new(index.clone(), "e".to_owned(), 1, after, share);
            for (text, vector) in &left {
                let expected = share.has(*text).then(|| vector.clone());
                assert_eq!(kept.find(*text).await.unwrap(), expected, "{process}");
            }
            found += kept.found.get().unwrap().len();
            assert_eq!(kept.state().files.len(), 3);
        }
        assert_eq!(found, left.len());
    }
}
