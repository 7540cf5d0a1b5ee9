//! The vectors that are published, by text hash: no text that has one is embedded again. A process
//! remembers where those of its part of all texts are.
//!
//! Segments are opened when the first vector is looked for, so an unchanged lake reads none. A
//! session keeps them, and opens what is new.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use half::f16;
use limn_segment::{BlockKind, IndexStore, SegmentError, SegmentReader, Snapshot, TextHash};
use tokio::sync::RwLock;

use crate::error::PipelineError;
use crate::text_share::TextShare;

/// The vectors of the newest snapshot that was looked at, of the texts that fall to this process.
#[derive(Debug)]
pub struct PublishedVectors {
    index: IndexStore,
    share: TextShare,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    snapshot: Option<Snapshot>,
    /// Whether all segments of the snapshot are open, and no other.
    is_open: bool,
    /// By their number here.
    segments: HashMap<u32, Arc<SegmentReader>>,
    numbers: HashMap<String, u32>,
    next: u32,
    by_text: HashMap<TextHash, Place>,
    /// Where else a text is, of those that are in several segments.
    elsewhere: HashMap<TextHash, Vec<Place>>,
}

/// Segment and block.
type Place = (u32, u32);

impl PublishedVectors {
    /// No vectors yet.
    pub fn new(index: IndexStore, share: TextShare) -> Self {
        Self {
            index,
            share,
            state: RwLock::default(),
        }
    }

    /// From now on the vectors of `snapshot` are found: made with the embedder that looks for them.
    pub async fn advance(&self, snapshot: Option<Snapshot>) {
        let mut state = self.state.write().await;
        state.is_open = false;
        state.snapshot = snapshot;
    }

    /// A segment of the snapshot.
    ///
    /// # Errors
    /// A published segment cannot be read, or the snapshot does not name it.
    pub async fn segment(&self, path: &str) -> Result<Arc<SegmentReader>, PipelineError> {
        let mut state = self.state.write().await;
        if !state.is_open {
            state.open(&self.index, self.share).await?;
        }
        let number = state.numbers.get(path);
        let reader = number.and_then(|number| state.segments.get(number));
        let unnamed = || SegmentError::Damaged {
            object: path.to_owned(),
            detail: "a row names it, and the snapshot does not".to_owned(),
        };
        Ok(reader.cloned().ok_or_else(unnamed)?)
    }

    /// The vector of a text of this process.
    ///
    /// # Errors
    /// A published segment cannot be read.
    pub async fn find(&self, text_hash: TextHash) -> Result<Option<Vec<f16>>, PipelineError> {
        {
            let state = self.state.read().await;
            if state.is_open {
                return state.find(text_hash);
            }
        }
        let mut state = self.state.write().await;
        if !state.is_open {
            state.open(&self.index, self.share).await?;
        }
        state.find(text_hash)
    }
}

impl State {
    fn find(&self, text_hash: TextHash) -> Result<Option<Vec<f16>>, PipelineError> {
        let place = self.by_text.get(&text_hash);
        let found = place.and_then(|(segment, block)| Some((self.segments.get(segment)?, *block)));
        match found {
            Some((segment, block)) => Ok(segment.vector(block)?),
            None => Ok(None),
        }
    }

    fn point(&mut self, text: TextHash, place: Place) {
        match self.by_text.entry(text) {
            Entry::Vacant(free) => {
                free.insert(place);
            }
            Entry::Occupied(known) => {
                if known.get().0 != place.0 {
                    self.elsewhere.entry(text).or_default().push(place);
                }
            }
        }
    }

    /// Closes the segments that the snapshot does not name, and opens those that are not open.
    async fn open(&mut self, index: &IndexStore, share: TextShare) -> Result<(), PipelineError> {
        let entries = self.snapshot.iter().flat_map(|it| it.segments.clone());
        let entries: Vec<_> = entries.collect();
        let named: HashSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        let open = self.numbers.len();
        self.numbers.retain(|path, _| named.contains(path.as_str()));
        if self.numbers.len() < open {
            let live: HashSet<u32> = self.numbers.values().copied().collect();
            self.segments.retain(|number, _| live.contains(number));
            self.elsewhere.retain(|_, places| {
                places.retain(|(number, _)| live.contains(number));
                !places.is_empty()
            });
            let elsewhere = &mut self.elsewhere;
            self.by_text.retain(|text, place| {
                if !live.contains(&place.0) {
                    match elsewhere.get_mut(text).and_then(Vec::pop) {
                        Some(other) => *place = other,
                        None => return false,
                    }
                }
                true
            });
        }
        for entry in &entries {
            if self.numbers.contains_key(&entry.path) {
                continue;
            }
            let reader = SegmentReader::open(&index.store, entry).await?;
            let blocks = (0..reader.block_count())
                .filter(|block| reader.block(*block).kind != BlockKind::Cells);
            let mut texts: Vec<(TextHash, u32)> = Vec::new();
            for block in blocks {
                let text = reader.text_hash(block)?;
                if share.has(text) {
                    texts.push((text, block));
                }
            }
            let number = self.next;
            self.next += 1;
            for (text, block) in texts {
                self.point(text, (number, block));
            }
            self.segments.insert(number, reader);
            self.numbers.insert(entry.path.clone(), number);
        }
        self.is_open = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ops::Range;

    use limn_segment::{
        Block, Field, SegmentEntry, SegmentSettings, Shard, TableBlocks, TableKey, TableValues,
        build_segment,
    };
    use limn_store::Store;

    use super::*;

    fn vector(text: u16) -> Vec<f16> {
        vec![f16::from_f32(f32::from(text)), f16::ONE]
    }

    /// Puts a segment of one table that has these texts.
    async fn put(index: &IndexStore, table: &str, texts: Range<u16>) -> SegmentEntry {
        let block = |text: u16| Block {
            kind: BlockKind::Rows,
            text: text.to_string(),
            fields: vec![(Field::Rows, text.to_string())],
            vector: Some(vector(text)),
        };
        let table = TableBlocks {
            table: TableKey {
                lake: "memory:///lake".to_owned(),
                name: table.to_owned(),
            },
            location: "memory:///lake".to_owned(),
            blocks: texts.map(block).collect(),
            content: None,
            values: TableValues::default(),
        };
        let built = build_segment(vec![table], &SegmentSettings::new(2, Shard(0))).unwrap();
        index.put_segment(&built).await.unwrap()
    }

    #[tokio::test]
    async fn each_process_knows_the_vectors_of_its_texts_alone() {
        let index = IndexStore::new(Store::in_memory());
        let (first, second) = (
            put(&index, "a", 0..60).await,
            put(&index, "b", 40..100).await,
        );
        // The second snapshot lacks where some of the texts were found at first.
        let snapshots = [
            (vec![first, second.clone()], 0..100u16),
            (vec![second], 40..100),
        ];
        for processes in [1, 2, 3] {
            let mut remembered = 0;
            for process in 0..processes {
                let share = TextShare::of(process, processes);
                let vectors = PublishedVectors::new(index.clone(), share);
                for (segments, published) in &snapshots {
                    let mut snapshot = Snapshot::first("m", 2, 1);
                    snapshot.segments.clone_from(segments);
                    vectors.advance(Some(snapshot)).await;
                    for text in 0..100 {
                        let hash = TextHash::of(&text.to_string());
                        let is_known = published.contains(&text) && share.has(hash);
                        let found = vectors.find(hash).await.unwrap();
                        let expected = is_known.then(|| vector(text));
                        assert_eq!(found, expected, "{text}, {process} of {processes}");
                    }
                }
                remembered += vectors.state.read().await.by_text.len();
            }
            assert_eq!(remembered, 60, "{processes}");
        }
    }
}
