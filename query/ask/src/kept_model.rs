//! A language model whose texts are kept: what was written once is not asked for again.
//!
//! Semantic stages keep their answers themselves (`semantic`). This is for callers that ask a model
//! directly, as the writer of plans does.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use limn_models::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};
use xxhash_rust::xxh3::Xxh3;

use crate::answer::SpentTokens;
use crate::semantic::{Answer, KeptAnswers, KeptError, Key, Scope};

/// What it keeps is of another form when this changes.
const VERSION: u32 = 1;

/// A model, and the texts that it has written.
pub struct KeptModel {
    model: Arc<dyn LanguageModel>,
    kept: Arc<dyn KeptAnswers>,
    scope: Scope,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    new: Vec<(Key, Answer)>,
    spent: SpentTokens,
}

impl KeptModel {
    /// This model, with what it wrote before.
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, kept: Arc<dyn KeptAnswers>) -> KeptModel {
        let mut hash = Xxh3::new();
        hash.update(b"texts");
        hash.update(&VERSION.to_le_bytes());
        hash.update(model.id().as_str().as_bytes());
        KeptModel {
            scope: Scope(hash.digest128()),
            model,
            kept,
            state: Mutex::default(),
        }
    }

    /// What was asked so far.
    #[must_use]
    pub fn spent(&self) -> SpentTokens {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spent
    }

    /// Hands new texts to where they are kept.
    ///
    /// # Errors
    /// The keeper's.
    pub async fn keep(&self) -> Result<(), KeptError> {
        let new = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut state.new)
        };
        match new.is_empty() {
            true => Ok(()),
            false => self.kept.put_many(self.scope, new).await,
        }
    }
}

/// What a text depends on, beside its model.
fn key(prompt: &Prompt, limits: &Limits) -> Key {
    let mut hash = Xxh3::new();
    let stops = limits.stop.iter().map(String::as_str);
    let parts = [&*prompt.system, &*prompt.shared, prompt.own.as_str()];
    for part in parts.into_iter().chain(stops) {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(&(limits.max_tokens as u64).to_le_bytes());
    Key(hash.digest128())
}

#[async_trait]
impl LanguageModel for KeptModel {
    fn id(&self) -> &ModelId {
        self.model.id()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.model.count_tokens(text)
    }

    fn count_prompt(&self, prompt: &Prompt) -> usize {
        self.model.count_prompt(prompt)
    }

    fn window(&self) -> usize {
        self.model.window()
    }

    fn concurrency(&self) -> usize {
        self.model.concurrency()
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        let key = key(prompt, limits);
        // An index that cannot give it costs a call, nothing else.
        let kept = match self.kept.get_many(self.scope, &[key]).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::info!(%error, "kept answers cannot be read");
                Default::default()
            }
        };
        if let Some(Answer::Written { text, is_whole }) = kept.get(&key) {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.spent.kept += 1;
            return Ok(Generated {
                text: text.clone(),
                finish: match is_whole {
                    true => Finish::Stopped,
                    false => Finish::Length,
                },
                prompt_tokens: 0,
                generated_tokens: 0,
            });
        }
        let written = self.model.generate(prompt, limits).await?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spent.calls += 1;
        state.spent.prompt_tokens += written.prompt_tokens as u64;
        state.spent.generated_tokens += written.generated_tokens as u64;
        let answer = Answer::Written {
            text: written.text.clone(),
            is_whole: written.finish == Finish::Stopped,
        };
        state.new.push((key, answer));
        Ok(written)
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        self.model.classify(prompt, words).await
    }

    fn usage(&self) -> Usage {
        self.model.usage()
    }
}
