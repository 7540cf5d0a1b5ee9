//! A language model for tests: it spells a column's name backwards.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use limn_models::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};

/// What a [`FakeNarrator`] does when it was asked so often.
pub type Event = Box<dyn Fn(usize) + Send + Sync>;

/// Describes a column by its name spelled backwards, and by the number of the prompt if it counts.
pub struct FakeNarrator {
    id: ModelId,
    /// Prompts answered, by column name.
    pub asked: Mutex<BTreeMap<String, usize>>,
    /// Whether it says the number of the prompt, so that no two answers are the same.
    pub counts: bool,
    /// Columns that it has no description for.
    pub silent: HashSet<String>,
    /// Columns for which it fails; `*` is all.
    pub failing: Mutex<HashSet<String>>,
    /// How long an answer takes.
    pub takes: Duration,
    /// Called with the number of the prompt before it is answered.
    pub event: Option<Event>,
    /// The most prompts that were under way at once.
    pub at_once: AtomicUsize,
    under_way: AtomicUsize,
    prompts: AtomicU64,
}

impl FakeNarrator {
    pub fn new() -> Self {
        Self::named("teller@1")
    }

    pub fn named(id: &str) -> Self {
        Self {
            id: ModelId::new(id),
            asked: Mutex::default(),
            counts: false,
            silent: HashSet::new(),
            failing: Mutex::default(),
            takes: Duration::ZERO,
            event: None,
            at_once: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            prompts: AtomicU64::new(0),
        }
    }

    /// One that gives no two answers that are the same.
    pub fn counting() -> Self {
        Self {
            counts: true,
            ..Self::new()
        }
    }

    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// All columns asked for so far, with repetitions, and forgets them.
    pub fn take_asked(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let times = asked.into_iter();
        times
            .flat_map(|(column, times)| std::iter::repeat_n(column, times))
            .collect()
    }
}

/// Its description of a column.
pub fn narration_of(column: &str) -> String {
    let backwards: String = column.chars().rev().collect();
    format!("Holds {backwards}.")
}

#[async_trait]
impl LanguageModel for FakeNarrator {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn window(&self) -> usize {
        2048
    }

    fn concurrency(&self) -> usize {
        4
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        let column = prompt.own.split('`').nth(1).unwrap().to_owned();
        assert!(prompt.shared.contains(&format!("`{column}`")));
        assert!(limits.max_tokens <= 32 && limits.stop == ["\n"]);
        let number = self.prompts.fetch_add(1, Ordering::SeqCst) as usize;
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.at_once.fetch_max(now, Ordering::SeqCst);
        *self
            .asked
            .lock()
            .unwrap()
            .entry(column.clone())
            .or_default() += 1;
        if let Some(event) = &self.event {
            event(number);
        }
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let fails = {
            let failing = self.failing.lock().unwrap();
            failing.contains(&column) || failing.contains("*")
        };
        if fails {
            return Err(ModelError::Compute {
                model: self.id.to_string(),
                detail: "injected".into(),
            });
        }
        let text = if self.silent.contains(&column) {
            "No description.".to_owned()
        } else if self.counts {
            format!("{} Answer {number}.", narration_of(&column))
        } else {
            narration_of(&column)
        };
        Ok(Generated {
            text,
            finish: Finish::Stopped,
            prompt_tokens: 40,
            generated_tokens: 5,
        })
    }

    async fn classify(&self, _: &Prompt, _: &[&str]) -> Result<Classified, ModelError> {
        unreachable!("narration classifies nothing")
    }

    fn usage(&self) -> Usage {
        let prompts = self.prompts.load(Ordering::SeqCst);
        Usage {
            prompts,
            busy: Duration::from_millis(prompts),
            ..Usage::default()
        }
    }
}
