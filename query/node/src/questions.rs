//! What is remembered of questions: their meaning, embedded in small batches across requests, and a
//! judge's verdicts, which hold for as long as a table is described in the same words.
//!
//! What is remembered is remembered for one caller: how fast an answer comes reveals nothing of
//! what others have asked.

use std::sync::{Arc, Mutex};

use limn_models::{AsQuestions, Embedder, EmbeddingService};
use limn_retrieval::TRACE;
use limn_retrieval::judge::Verdicts;
use moka::sync::Cache;
use tracing::Instrument;

use crate::access::Caller;
use crate::problem::{Code, Problem};

/// Questions that are remembered: 1.5 KiB each with 384 dimensions.
const REMEMBERED: u64 = 4_096;

/// Questions of which verdicts are remembered: some tens of bytes for each table that was judged.
const JUDGED: u64 = 1_024;

/// Turns questions into vectors.
pub struct Questions {
    service: EmbeddingService,
    known: Cache<Asked, Arc<Vec<f32>>>,
    verdicts: Cache<Asked, Arc<Mutex<Verdicts>>>,
}

/// A caller's id, and a question.
type Asked = (Arc<str>, String);

impl std::fmt::Debug for Questions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Questions").finish_non_exhaustive()
    }
}

impl Questions {
    /// Starts threads for the embedder; without memory, every question is embedded anew.
    pub fn new(embedder: Arc<dyn Embedder>, threads: usize, remembers: bool) -> Questions {
        Questions {
            service: EmbeddingService::start(Arc::new(AsQuestions(embedder)), threads),
            known: Cache::new(if remembers { REMEMBERED } else { 0 }),
            verdicts: Cache::new(if remembers { JUDGED } else { 0 }),
        }
    }

    /// A question's vector.
    ///
    /// # Errors
    /// Where the model fails.
    pub async fn vector(&self, caller: &Caller, question: &str) -> Result<Vec<f32>, Problem> {
        let key = (Arc::clone(&caller.id), question.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.to_vec());
        }
        let embedding = self.service.embed(vec![question.to_owned()]);
        let span = tracing::info_span!(target: TRACE, "embed");
        let embedded = embedding.instrument(span).await;
        let mut vectors = embedded.map_err(|error| {
            tracing::error!(%error, "a question cannot be embedded");
            Problem::new(
                Code::Unavailable,
                "the model that reads questions failed",
                "ask again soon; if it stays so, the node's log says why",
            )
        })?;
        let vector = vectors.pop().ok_or_else(Problem::internal)?;
        self.known.insert(key, Arc::new(vector.clone()));
        Ok(vector)
    }

    /// The verdicts that a judge has given on a question, to be looked up and added to.
    pub fn verdicts(&self, caller: &Caller, question: &str) -> Arc<Mutex<Verdicts>> {
        let key = (Arc::clone(&caller.id), question.to_owned());
        self.verdicts.get_with(key, Arc::default)
    }
}
