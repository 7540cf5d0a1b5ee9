//! Vectors: every block that is searched by meaning gets one, and no text gets one twice.
//!
//! A table first [asks](BlockEmbedder::ask) for the vectors of its texts that are known
//! (`crate::known_vectors`), by their hashes, so that one that changed in one block embeds one
//! block. What is left goes to the embedding service, which batches over all workers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use half::f16;
use limn_formats::Held;
use limn_models::{Embedder, EmbeddingService};
use limn_segment::{
    Block, BlockKind, Field, IndexStore, SegmentEntry, SegmentReader, TableValues, TextHash,
};
use limn_summary::TextBlock;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::describe::TableChange;
use crate::error::PipelineError;
use crate::kept::KeptVectors;
use crate::known_vectors::{AnsweredTable, Asked, Asker};
use crate::narrate::awaiting::AwaitingTable;
use crate::position::Position;
use crate::progress::Progress;
use crate::published_vectors::PublishedVectors;
use crate::report::Failure;
use crate::text_share::TextShare;
use crate::values::DraftValues;
use crate::wire::{Wire, WireRow};

/// A table's change with its vectors, ready for a segment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EmbeddedTable {
    /// The catalog row to write.
    pub row: Option<WireRow>,
    /// Texts with their vectors.
    pub blocks: Wire<Vec<Block>>,
    /// Hashes of its values.
    pub values: Wire<TableValues>,
    /// The blocks it had until now.
    pub replaces: Option<Position>,
    /// Whether the index had the table.
    pub known: bool,
    /// What could not be read of it.
    pub failures: Vec<Failure>,
    /// The table, if it awaits a narration.
    pub awaits: Option<AwaitingTable>,
    /// The memory that it takes in this process.
    #[serde(skip)]
    pub held: Held,
}

/// Gives blocks their vectors; shared by the workers of a process.
pub struct BlockEmbedder {
    service: EmbeddingService,
    index: IndexStore,
    /// The segments that the run began with.
    published: Arc<PublishedVectors>,
    /// What is embedded and not published yet.
    kept: Arc<KeptVectors>,
    /// Segments that this run made, with tables that it describes again, as far as they are open.
    reopened: Mutex<HashMap<String, Arc<OnceCell<Arc<SegmentReader>>>>>,
    progress: Arc<Progress>,
    share: TextShare,
    /// Tables that have asked so far.
    asked: AtomicU64,
}

impl BlockEmbedder {
    /// An embedder of blocks that runs `embedder` on so many threads; `published` are its own
    /// vectors. Which process knows which of them, `share` says.
    pub fn new(
        embedder: Arc<dyn Embedder>,
        threads: usize,
        index: IndexStore,
        published: Arc<PublishedVectors>,
        kept: Arc<KeptVectors>,
        progress: Arc<Progress>,
        share: TextShare,
    ) -> Self {
        Self {
            service: EmbeddingService::start(embedder, threads),
            index,
            published,
            kept,
            reopened: Mutex::default(),
            progress,
            share,
            asked: AtomicU64::new(0),
        }
    }

    /// What the embedding service has done.
    pub fn stats(&self) -> limn_models::EmbedStats {
        self.service.stats()
    }

    /// What a table on this worker asks before it is embedded: the vectors of all its texts but
    /// those that it has in its segment of this run.
    ///
    /// # Errors
    /// That segment cannot be read.
    pub async fn ask(&self, table: TableChange, worker: u64) -> Result<Vec<Asked>, PipelineError> {
        let own = self.own_segment(table.published_in.as_ref()).await?;
        let replaced = replaced_texts(own.as_deref(), table.replaces.as_ref())?;
        let blocks = table.blocks.0.iter().filter(|block| is_embedded(block));
        let texts = blocks.map(|block| TextHash::of(&block.text));
        let wanted: Vec<TextHash> = texts.filter(|it| !replaced.contains(it)).collect();
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Asked::by(
            Asker { worker, number },
            table,
            wanted,
            self.share,
        ))
    }

    /// Embeds the blocks of one table whose vectors are not known.
    ///
    /// # Errors
    /// The embedder failed, or a published segment is damaged.
    pub async fn embed(
        &self,
        answered: AnsweredTable,
    ) -> Result<Vec<EmbeddedTable>, PipelineError> {
        let AnsweredTable { table, vectors } = answered;
        let TableChange {
            row,
            blocks,
            values,
            replaces,
            known,
            failures,
            published_in,
            awaits,
            held,
        } = table;
        let own = self.own_segment(published_in.as_ref()).await?;
        let texts = blocks.0;
        let values = match texts.is_empty() {
            true => TableValues::default(),
            false => self.values(values.0, own.as_deref()).await?,
        };
        let replaced = replaced_vectors(own.as_deref(), replaces.as_ref())?;
        let vectors = self.vectors(&texts, &[replaced, vectors]).await?;
        let blocks = texts
            .into_iter()
            .zip(vectors)
            .map(|(block, vector)| segment_block(block, vector))
            .collect();
        Ok(vec![EmbeddedTable {
            row,
            blocks: Wire(blocks),
            values: Wire(values),
            replaces,
            known,
            failures,
            awaits,
            held,
        }])
    }

    /// The vectors of the blocks that are searched by meaning: what is known, or else new ones.
    async fn vectors(
        &self,
        texts: &[TextBlock],
        known: &[HashMap<TextHash, Vec<f16>>],
    ) -> Result<Vec<Option<Vec<f16>>>, PipelineError> {
        let mut vectors: Vec<Option<Vec<f16>>> = vec![None; texts.len()];
        let mut wanted = Vec::new();
        for (index, block) in texts.iter().enumerate() {
            if is_embedded(block) {
                Progress::add(&self.progress.blocks_wanted, 1);
                let text = TextHash::of(&block.text);
                vectors[index] = known.iter().find_map(|known| known.get(&text)).cloned();
                if vectors[index].is_none() {
                    wanted.push(index);
                }
            }
        }
        if !wanted.is_empty() {
            let fresh = self
                .service
                .embed(
                    wanted
                        .iter()
                        .map(|index| texts[*index].text.clone())
                        .collect(),
                )
                .await?;
            Progress::add(&self.progress.blocks_embedded_anew, wanted.len());
            let mut keep = Vec::with_capacity(wanted.len());
            for (index, vector) in wanted.into_iter().zip(fresh) {
                let vector: Vec<f16> = vector.into_iter().map(f16::from_f32).collect();
                keep.push((TextHash::of(&texts[index].text), vector.clone()));
                vectors[index] = Some(vector);
            }
            self.kept.add(keep).await?;
        }
        Progress::add(
            &self.progress.blocks_embedded,
            vectors.iter().flatten().count(),
        );
        Ok(vectors)
    }

    /// The segment that a table has been in until now, if this run made that.
    async fn own_segment(
        &self,
        published_in: Option<&Wire<SegmentEntry>>,
    ) -> Result<Option<Arc<SegmentReader>>, PipelineError> {
        match published_in {
            Some(Wire(segment)) => Ok(Some(self.reopened(segment).await?)),
            None => Ok(None),
        }
    }

    /// A segment that this run made, with tables that it describes again.
    async fn reopened(&self, entry: &SegmentEntry) -> Result<Arc<SegmentReader>, PipelineError> {
        let reader = {
            let mut open = self.reopened.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(open.entry(entry.path.clone()).or_default())
        };
        let open = || SegmentReader::open(&self.index.store, entry);
        Ok(Arc::clone(reader.get_or_try_init(open).await?))
    }

    /// The hashes of a table's values, with those that are published: in its `own` segment of this
    /// run, or in those that the run began with.
    async fn values(
        &self,
        values: DraftValues,
        own: Option<&SegmentReader>,
    ) -> Result<TableValues, PipelineError> {
        let mut from = Vec::with_capacity(values.from.len());
        for (position, files) in values.from {
            let published;
            let reader = match own.filter(|own| own.path() == position.segment) {
                Some(own) => own,
                None => {
                    published = self.published.segment(&position.segment).await?;
                    &published
                }
            };
            let table = reader.table_of(position.first_block);
            from.push((reader.table_values(table)?, files));
        }
        Ok(match values.table {
            Some(mut table) => {
                table.fill(&from);
                table
            }
            None => from.pop().map(|(table, _)| table).unwrap_or_default(),
        })
    }
}

/// Whether a block is searched by meaning.
fn is_embedded(block: &TextBlock) -> bool {
    block.kind != limn_summary::BlockKind::Cells
}

/// The texts that have vectors in the place of a table in a segment of this run, if it is in one.
fn replaced_texts(
    own: Option<&SegmentReader>,
    replaces: Option<&Position>,
) -> Result<HashSet<TextHash>, PipelineError> {
    let mut texts = HashSet::new();
    if let (Some(segment), Some(position)) = (own, replaces) {
        for block in position.first_block..position.first_block + position.blocks {
            let text = segment.text_hash(block)?;
            if segment.block(block).kind != BlockKind::Cells {
                texts.insert(text);
            }
        }
    }
    Ok(texts)
}

/// The vectors, by the hash of their text, that a table has in a segment of this run, if it is in
/// one: the snapshot that the run began with does not have them.
fn replaced_vectors(
    own: Option<&SegmentReader>,
    replaces: Option<&Position>,
) -> Result<HashMap<TextHash, Vec<f16>>, PipelineError> {
    let mut vectors = HashMap::new();
    if let (Some(segment), Some(position)) = (own, replaces) {
        for block in position.first_block..position.first_block + position.blocks {
            if let Some(vector) = segment.vector(block)? {
                vectors.insert(segment.text_hash(block)?, vector);
            }
        }
    }
    Ok(vectors)
}

/// The summary's block as the segment keeps it.
fn segment_block(block: TextBlock, vector: Option<Vec<f16>>) -> Block {
    let kind = match block.kind {
        limn_summary::BlockKind::Schema => BlockKind::Schema,
        limn_summary::BlockKind::Rows => BlockKind::Rows,
        limn_summary::BlockKind::Context => BlockKind::Context,
        limn_summary::BlockKind::Cells => BlockKind::Cells,
    };
    let fields = block
        .fields
        .into_iter()
        .map(|(field, text)| {
            let field = match field {
                limn_summary::Field::Names => Field::Names,
                limn_summary::Field::Rows => Field::Rows,
                limn_summary::Field::Contexts => Field::Contexts,
                limn_summary::Field::Cells => Field::Cells,
            };
            (field, text)
        })
        .collect();
    Block {
        kind,
        text: block.text,
        fields,
        vector,
    }
}
