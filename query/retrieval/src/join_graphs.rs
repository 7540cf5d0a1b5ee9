//! The join graphs of a snapshot. Those of the next are made of the files that both have, and of
//! what is new.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use limn_segment::{IndexStore, JoinRecord, JoinsEntry, SegmentError, Snapshot, TableKey};

use crate::join_graph::{JoinFile, JoinGraph, Sees};

/// Files of a graph that are read at a time.
const FILES_IN_FLIGHT: usize = 16;

/// The join graphs of a snapshot, by the URLs of their lakes.
#[derive(Debug, Default)]
pub struct JoinGraphs {
    of: HashMap<String, LakeGraph>,
}

/// The join graph of a lake, and the files that it is made of, in their order.
#[derive(Clone, Debug)]
struct LakeGraph {
    entries: Vec<JoinsEntry>,
    graph: Arc<JoinGraph>,
}

impl JoinGraphs {
    /// Reads those of a snapshot.
    ///
    /// # Errors
    /// The store's, and damage.
    pub async fn read(index: &IndexStore, snapshot: &Snapshot) -> Result<JoinGraphs, SegmentError> {
        JoinGraphs::default().read_next(index, snapshot).await
    }

    /// Reads those of another snapshot, and of these the files alone that are not known here.
    ///
    /// # Errors
    /// As [`JoinGraphs::read`].
    pub async fn read_next(
        &self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<JoinGraphs, SegmentError> {
        let mut of = HashMap::new();
        for (lake, entries) in &snapshot.joins {
            let before = self.of.get(lake);
            let next = match before.filter(|it| it.entries == *entries) {
                Some(same) => same.clone(),
                None => LakeGraph::read(index, entries, before).await?,
            };
            of.insert(lake.clone(), next);
        }
        Ok(JoinGraphs { of })
    }

    /// Those of one lake with these edges.
    #[cfg(test)]
    pub(crate) fn of_edges(lake: &str, edges: Vec<JoinRecord>) -> JoinGraphs {
        let graph = LakeGraph {
            entries: Vec::new(),
            graph: Arc::new(JoinGraph::of(edges)),
        };
        JoinGraphs {
            of: HashMap::from([(lake.to_owned(), graph)]),
        }
    }

    /// The graph of a lake, where the index has one.
    #[must_use]
    pub fn of_lake(&self, lake: &str) -> Option<&JoinGraph> {
        Some(&self.of.get(lake)?.graph)
    }

    /// As [`JoinGraph::join`]; two lakes have no joins.
    #[must_use]
    pub fn join(&self, one: &TableKey, other: &TableKey, sees: Sees<'_>) -> Option<&JoinRecord> {
        let graph = self.of_lake(&one.lake).filter(|_| one.lake == other.lake)?;
        graph.join(&one.name, &other.name, sees)
    }
}

impl LakeGraph {
    async fn read(
        index: &IndexStore,
        entries: &[JoinsEntry],
        before: Option<&LakeGraph>,
    ) -> Result<LakeGraph, SegmentError> {
        let known = before.into_iter().flat_map(LakeGraph::files);
        let known: HashMap<&str, &JoinFile> = known.collect();
        let reads = entries.iter().map(|entry| {
            let known = known.get(entry.path.as_str()).map(|it| Arc::clone(it));
            async move {
                match known {
                    Some(known) => Ok::<_, SegmentError>(known),
                    None => Ok(index.joins_of(entry).await?.into()),
                }
            }
        });
        let reads: Vec<_> = reads.collect();
        let files = stream::iter(reads).buffered(FILES_IN_FLIGHT);
        let files: Vec<JoinFile> = files.try_collect().await?;
        Ok(LakeGraph {
            entries: entries.to_vec(),
            graph: Arc::new(JoinGraph::of_files(files)),
        })
    }

    fn files(&self) -> impl Iterator<Item = (&str, &JoinFile)> {
        let paths = self.entries.iter().map(|it| it.path.as_str());
        paths.zip(&self.graph.files)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_segment::Shard;
    use limn_store::Store;

    use super::*;
    use crate::join_graph::drafts::edge;

    #[tokio::test]
    async fn of_the_next_snapshot_new_files_alone_are_read() {
        let index = IndexStore::new(Store::in_memory());
        let file = async |lake: &str, shard, edge| {
            let put = index.put_joins(lake, Shard(shard), vec![edge], None);
            put.await.unwrap()
        };
        let mut snapshot = Snapshot::first("m", 3, 2);
        let (one, two) = (
            file("x", 0, edge("a", "b", 0.9)).await,
            file("x", 1, edge("c", "d", 0.9)).await,
        );
        snapshot.joins.insert("x".into(), vec![one, two]);
        let other = file("y", 0, edge("a", "b", 0.9)).await;
        snapshot.joins.insert("y".into(), vec![other]);
        let reads = async |graphs: &JoinGraphs, snapshot: &Snapshot| {
            let before = index.store.counts();
            let next = graphs.read_next(&index, snapshot).await.unwrap();
            (next, index.store.counts().since(&before).get)
        };
        let joins = |graphs: &JoinGraphs, one: &str, other: &str| {
            let key = |name: &str| TableKey {
                lake: "x".into(),
                name: name.into(),
            };
            graphs.join(&key(one), &key(other), &|_| true).is_some()
        };
        let (first, read) = reads(&JoinGraphs::default(), &snapshot).await;
        assert_eq!(read, 3);
        let (same, read) = reads(&first, &snapshot).await;
        assert_eq!(read, 0);
        assert!(joins(&same, "a", "b") && joins(&same, "d", "c"));

        // One file is another, and a lake is removed.
        snapshot.joins.remove("y");
        snapshot.joins.get_mut("x").unwrap()[1] = file("x", 1, edge("c", "e", 0.9)).await;
        let (next, read) = reads(&same, &snapshot).await;
        assert_eq!(read, 1);
        assert!(joins(&next, "a", "b") && joins(&next, "c", "e"));
        assert!(!joins(&next, "c", "d") && next.of_lake("y").is_none());
    }
}
