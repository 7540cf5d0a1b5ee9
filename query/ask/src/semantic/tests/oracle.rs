//! A model that answers as a function says, and remembers what it was asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use limn_models::{
    Classified, Embedder, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt,
    Usage,
};

/// What the script says to a prompt.
pub(super) enum Said {
    /// The log-odds of the first of two words.
    Odds(f32),
    /// A word, without probabilities.
    Word(usize),
    Text(String),
    Cut(String),
    Fails,
    /// Never answers.
    Hangs,
}

type Script = Box<dyn Fn(&Prompt) -> Said + Send + Sync>;

pub(super) struct Oracle {
    id: ModelId,
    script: Script,
    pub(super) window: usize,
    pub(super) concurrency: usize,
    /// Whether a prompt costs what it has, and not ten tokens.
    pub(super) counts: bool,
    prompts: Mutex<Vec<Prompt>>,
    under_way: AtomicUsize,
    pub(super) most_under_way: AtomicUsize,
}

impl Oracle {
    pub(super) fn new(script: impl Fn(&Prompt) -> Said + Send + Sync + 'static) -> Oracle {
        Oracle {
            id: ModelId::new("oracle"),
            script: Box::new(script),
            window: 4096,
            concurrency: 4,
            counts: false,
            prompts: Mutex::default(),
            under_way: AtomicUsize::default(),
            most_under_way: AtomicUsize::default(),
        }
    }

    /// Says what the function says of the value that stands before `after` in the sentence.
    pub(super) fn of_cell(
        after: &'static str,
        says: impl Fn(&str) -> Said + Send + Sync + 'static,
    ) -> Oracle {
        Oracle::new(move |prompt| {
            let sentence = sentence(&prompt.own);
            says(sentence.strip_suffix(after).unwrap())
        })
    }

    pub(super) fn asked(&self) -> Vec<Prompt> {
        self.prompts.lock().unwrap().clone()
    }

    pub(super) fn calls(&self) -> usize {
        self.prompts.lock().unwrap().len()
    }

    fn cost(&self, prompt: &Prompt) -> usize {
        match self.counts {
            true => self.count_prompt(prompt),
            false => 10,
        }
    }

    async fn said(&self, prompt: &Prompt) -> Result<Said, ModelError> {
        let tokens: usize = [&*prompt.system, &*prompt.shared, &prompt.own]
            .iter()
            .map(|it| self.count_tokens(it))
            .sum();
        assert!(tokens < self.window, "a prompt of {tokens} tokens");
        self.prompts.lock().unwrap().push(prompt.clone());
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
        // Answers come in another order than questions.
        for _ in 0..prompt.own.len() % 3 {
            tokio::task::yield_now().await;
        }
        let said = (self.script)(prompt);
        if matches!(said, Said::Hangs) {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        match said {
            Said::Fails => Err(ModelError::Stopped),
            said => Ok(said),
        }
    }
}

/// The sentence of a prompt, or what is wanted.
pub(super) fn sentence(own: &str) -> String {
    let mark = if own.contains("<wanted>") {
        "wanted"
    } else {
        "sentence"
    };
    let (_, data) = own.split_once(&format!("<{mark}>\n")).unwrap();
    data.split_once(&format!("\n</{mark}>"))
        .unwrap()
        .0
        .to_owned()
}

/// The value of a column between two marks of a prompt.
pub(super) fn cell(own: &str, mark: &str, column: &str) -> String {
    let (_, data) = own.split_once(&format!("<{mark}>\n")).unwrap();
    let (data, _) = data.split_once(&format!("\n</{mark}>")).unwrap();
    let prefix = format!("{column}: ");
    let line = data.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap().to_owned()
}

#[async_trait]
impl LanguageModel for Oracle {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn window(&self) -> usize {
        self.window
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        let (text, finish) = match self.said(prompt).await? {
            Said::Text(text) => (text, Finish::Stopped),
            Said::Cut(text) => (text, Finish::Length),
            _ => panic!("a text was asked for"),
        };
        assert!(limits.max_tokens > 0);
        Ok(Generated {
            generated_tokens: self.count_tokens(&text),
            text,
            finish,
            prompt_tokens: self.cost(prompt),
        })
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        assert!(words.len() >= 2);
        let (choice, log_probabilities) = match self.said(prompt).await? {
            Said::Odds(odds) => {
                let logs = vec![-(-odds).exp().ln_1p(), -odds.exp().ln_1p()];
                (usize::from(odds < 0.0), Some(logs))
            }
            Said::Word(word) => (word, None),
            _ => panic!("a word was asked for"),
        };
        Ok(Classified {
            choice,
            log_probabilities,
            prompt_tokens: self.cost(prompt),
        })
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// Puts a text on the unit circle, where the number that it has in it says: as like any text
/// without a number as that number.
pub(super) struct Numbered(pub(super) ModelId);

impl Embedder for Numbered {
    fn id(&self) -> &ModelId {
        &self.0
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn window(&self) -> usize {
        256
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let number = |text: &&str| {
            let number = text
                .split_whitespace()
                .find_map(|it| it.parse::<f32>().ok());
            let cosine = number.unwrap_or(1.0);
            vec![cosine, (1.0 - cosine * cosine).max(0.0).sqrt()]
        };
        Ok(texts.iter().map(number).collect())
    }
}
