//! Answers of a model that a node keeps: those of the index, and its own, as long as it runs.

use async_trait::async_trait;
use limn_ask::semantic::{
    Answer, AnswerFiles, Answers, AnswersInIndex, KeptAnswers, KeptError, Key, Scope,
};
use limn_segment::IndexStore;
use moka::sync::Cache;
use xxhash_rust::xxh3::Xxh3;

use crate::access::Caller;

/// KiB of answers that are kept.
const KEPT_KIB: u64 = 64 << 10;
/// Bytes that an answer takes beside its text.
const OVERHEAD: usize = 160;

/// Answers, by what was asked, and the files of the index that have others.
#[derive(Clone)]
pub(crate) struct NodeAnswers {
    own: Cache<(Scope, Key), Answer>,
    files: AnswerFiles,
}

impl std::fmt::Debug for NodeAnswers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeAnswers").finish_non_exhaustive()
    }
}

impl Default for NodeAnswers {
    fn default() -> NodeAnswers {
        let bytes = |_: &(Scope, Key), answer: &Answer| {
            let text = match answer {
                Answer::Written { text, .. } => text.len(),
                Answer::Chosen { .. } => 0,
            };
            u32::try_from(text + OVERHEAD).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().weigher(bytes);
        NodeAnswers {
            own: cache.max_capacity(KEPT_KIB << 10).build(),
            files: AnswerFiles::default(),
        }
    }
}

impl NodeAnswers {
    /// These, and those of an index, which is not written to. Who may see a part of the tables has
    /// answers of his own: that an answer is kept says that somebody asked about a value.
    pub(super) fn of(&self, index: &IndexStore, caller: &Caller) -> AnswersOfNode {
        let paths = caller.reach.paths();
        AnswersOfNode {
            own: self.clone(),
            salt: paths.map_or(0, |it| {
                let mut hash = Xxh3::new();
                for path in it {
                    hash.update(path.as_bytes());
                    hash.update(&[0]);
                }
                hash.digest128()
            }),
            index: paths
                .is_none()
                .then(|| AnswersInIndex::new(index.clone(), false).with_files(self.files.clone())),
        }
    }
}

/// What one request is answered with.
pub(super) struct AnswersOfNode {
    own: NodeAnswers,
    /// Tells apart who may see what.
    salt: u128,
    index: Option<AnswersInIndex>,
}

impl AnswersOfNode {
    fn salted(&self, scope: Scope) -> Scope {
        Scope(scope.0 ^ self.salt)
    }
}

#[async_trait]
impl KeptAnswers for AnswersOfNode {
    async fn get_many(&self, scope: Scope, keys: &[Key]) -> Result<Answers, KeptError> {
        let own = |key: &Key| Some((*key, self.own.own.get(&(self.salted(scope), *key))?));
        let mut found: Answers = keys.iter().filter_map(own).collect();
        let others: Vec<Key> = keys
            .iter()
            .copied()
            .filter(|key| !found.contains_key(key))
            .collect();
        if let (Some(index), false) = (&self.index, others.is_empty()) {
            found.extend(index.get_many(scope, &others).await?);
        }
        Ok(found)
    }

    async fn put_many(&self, scope: Scope, answers: Vec<(Key, Answer)>) -> Result<(), KeptError> {
        for (key, answer) in answers {
            self.own.own.insert((self.salted(scope), key), answer);
        }
        Ok(())
    }
}
