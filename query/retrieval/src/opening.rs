//! Opening a snapshot for questions, and following an index from snapshot to snapshot.
//!
//! A segment never changes, and its path is its content's hash: one that is open already is used
//! again as it is, with whatever of it was read, verified and copied for speed. So a node that
//! follows an index pays for what is new: one ranged read a new segment, and one read for each list
//! of deletes that is not the one it had.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use limn_models::Embedder;
use limn_segment::analyzer::ANALYZER_VERSION;
use limn_segment::{Deletes, IndexStore, SegmentCache, SegmentEntry, SegmentReader, Snapshot};

use crate::corpus::Opened;
use crate::error::RetrievalError;
use crate::searcher::Searcher;

/// Segments opened at once.
const OPEN_AT_ONCE: usize = 32;

impl Searcher {
    /// Opens a snapshot: one ranged read a segment, and its deletes.
    ///
    /// # Errors
    /// Where a segment cannot be read or is damaged, or the index was made with another embedder or
    /// analyzer.
    pub async fn open(
        index: &IndexStore,
        snapshot: Snapshot,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Searcher, RetrievalError> {
        Self::open_with(index, snapshot, embedder, None).await
    }

    /// As [`open`](Self::open), keeping what is read of remote segments in a cache: for a process
    /// that stays.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(
        index: &IndexStore,
        snapshot: Snapshot,
        embedder: Arc<dyn Embedder>,
        cache: Option<SegmentCache>,
    ) -> Result<Searcher, RetrievalError> {
        let known = Known::new();
        let opened = open_segments(index, &snapshot, embedder.as_ref(), &known, cache.as_ref());
        let opened = opened.await?;
        Ok(Searcher::from_segments(opened, snapshot, embedder).caching(cache))
    }

    /// Opens another snapshot of the same index, usually the next one, with the embedder of this
    /// searcher and those of its segments that the snapshot names too: reads only what is new.
    ///
    /// This searcher goes on as it is. The other one sees all tables, also where this one is
    /// [restricted](Searcher::restricted): restrict it anew. (What a restricted searcher left out
    /// is opened again: follow with an unrestricted one.)
    ///
    /// # Errors
    /// As [`Searcher::open`].
    pub async fn open_after(
        &self,
        index: &IndexStore,
        snapshot: Snapshot,
    ) -> Result<Searcher, RetrievalError> {
        let mut known = Known::new();
        for opened in self.opened() {
            let path = opened.reader.path().to_owned();
            known.entry(path).or_default().push(opened);
        }
        let embedder = self.embedder().as_ref();
        let opened = open_segments(index, &snapshot, embedder, &known, self.cache()).await?;
        Ok(self.with_segments(opened, snapshot))
    }
}

/// Open segments by path. Several may be one object with different deletes.
type Known = HashMap<String, Vec<Opened>>;

async fn open_segments(
    index: &IndexStore,
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    known: &Known,
    cache: Option<&SegmentCache>,
) -> Result<Vec<Opened>, RetrievalError> {
    if embedder.id().as_str() != snapshot.embedder {
        return Err(RetrievalError::OtherEmbedder {
            index: snapshot.embedder.clone(),
            given: embedder.id().to_string(),
        });
    }
    same_analyzer(
        || format!("snapshot {} of the index", snapshot.number),
        snapshot.analyzer,
    )?;
    let opening = snapshot.segments.iter().map(|entry| async move {
        let known = known.get(&entry.path).map_or(&[][..], Vec::as_slice);
        let reader = match known.first().filter(|known| is_of(&known.reader, entry)) {
            Some(known) => Arc::clone(&known.reader),
            None => SegmentReader::open_with(&index.store, entry, cache).await?,
        };
        same_analyzer(|| reader.path().to_owned(), reader.analyzer())?;
        let deletes_path = entry.deletes.as_ref().map(|deletes| deletes.path.clone());
        let is_same = |known: &&Opened| known.deletes_path == deletes_path;
        let deletes = match (known.iter().find(is_same), &deletes_path) {
            (Some(known), Some(_)) => Arc::clone(&known.deletes),
            (None, Some(_)) => Arc::new(index.deletes(entry).await?),
            (_, None) => Arc::new(Deletes::none()),
        };
        Ok::<_, RetrievalError>(Opened {
            reader,
            deletes,
            deletes_path,
        })
    });
    stream::iter(opening)
        .buffered(OPEN_AT_ONCE)
        .try_collect()
        .await
}

/// Whether an open segment matches its entry; one that is not is opened anew, for the error.
fn is_of(reader: &SegmentReader, entry: &SegmentEntry) -> bool {
    reader.block_count() == entry.blocks && reader.tables().len() == entry.tables as usize
}

/// An error where words were made by another version of the analyzer than questions are.
fn same_analyzer(object: impl FnOnce() -> String, found: u32) -> Result<(), RetrievalError> {
    if found == ANALYZER_VERSION {
        return Ok(());
    }
    Err(RetrievalError::OtherAnalyzer {
        object: object(),
        found,
        supported: ANALYZER_VERSION,
    })
}
