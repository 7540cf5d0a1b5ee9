//! A model for tests: says what a function of the prompt says, and keeps the prompts.

use std::sync::Mutex;

use async_trait::async_trait;
use limn_models::{
    Classified, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};

type Answer = Box<dyn Fn(&Prompt) -> Result<f32, String> + Send + Sync>;

pub(crate) struct FakeModel {
    id: ModelId,
    /// The log-odds of yes, or why it fails.
    answer: Answer,
    /// Whether it gives probabilities.
    pub(crate) gives_probabilities: bool,
    pub(crate) prompts: Mutex<Vec<Prompt>>,
}

impl FakeModel {
    pub(crate) fn new(
        answer: impl Fn(&Prompt) -> Result<f32, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            id: ModelId::new("fake"),
            answer: Box::new(answer),
            gives_probabilities: true,
            prompts: Mutex::default(),
        }
    }
}

impl Default for FakeModel {
    fn default() -> Self {
        Self::new(|_| Ok(1.0))
    }
}

#[async_trait]
impl LanguageModel for FakeModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count().max(text.len() / 6)
    }

    fn window(&self) -> usize {
        4096
    }

    fn concurrency(&self) -> usize {
        4
    }

    async fn generate(&self, _: &Prompt, _: &Limits) -> Result<Generated, ModelError> {
        Err(ModelError::Stopped)
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        assert_eq!(words, ["yes", "no"]);
        self.prompts.lock().unwrap().push(prompt.clone());
        let odds = (self.answer)(prompt).map_err(|detail| ModelError::Compute {
            model: "fake".into(),
            detail,
        })?;
        Ok(Classified {
            choice: usize::from(odds < 0.0),
            log_probabilities: self
                .gives_probabilities
                .then(|| vec![odds.min(0.0), (-odds).min(0.0)]),
            prompt_tokens: 10,
        })
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
