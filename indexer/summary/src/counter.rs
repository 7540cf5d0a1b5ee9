//! How long a text may be: measured with the embedder's own tokenizer.

/// Counts tokens as an embedder does, and knows how many it reads.
pub trait TokenCounter {
    /// The tokens of a text, special tokens included.
    fn count(&self, text: &str) -> usize;

    /// The most tokens of a text that are read, special tokens included.
    fn window(&self) -> usize;

    /// Whether all of a text is read.
    fn fits(&self, text: &str) -> bool {
        self.count(text) <= self.window()
    }
}

/// Counts words (runs of characters that are not white space) and nothing else: for tests and for
/// machines without an embedder.
#[derive(Debug, Clone, Copy)]
pub struct WordCounter {
    /// The most words a block may have.
    pub window: usize,
}

impl TokenCounter for WordCounter {
    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn window(&self) -> usize {
        self.window
    }
}
