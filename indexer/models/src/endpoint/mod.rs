//! Models behind an OpenAI-compatible endpoint: vLLM, llama.cpp's server, Ollama, OpenAI, Azure.
//!
//! [`EndpointModel`] speaks `/chat/completions`, [`EndpointEmbedder`] `/embeddings`; the addresses
//! are what follows the endpoint's own path, which usually ends in `/v1`.
//!
//! | file | what |
//! |---|---|
//! | [`options`] | the settings, the key, the address |
//! | [`client`] | one request: bounded, retried, its failures distinguished |
//! | [`retry`] | how long to wait before the next attempt |
//! | [`reply`] | what a server sent, read with suspicion |
//! | [`dialect`] | what a server refused once and is not sent again |
//! | [`chat`] | the language model |
//! | [`choice`] | from the first token's probabilities to those of words |
//! | [`embeddings`] | the embedder |
//! | [`tokens`] | the estimate of a text's tokens |
//! | [`meter`] | what was used |
//!
//! # Guarantees
//! - The key is in no error, log line, id or debug output, and goes to the endpoint's address only:
//!   no redirect is followed.
//! - At most [`EndpointOptions::concurrency`] requests are under way; each prompt is answered once,
//!   whatever was retried for it.
//! - A reply is read up to a bound; what is malformed is a
//!   [`ModelError::Endpoint`](crate::ModelError).
//!
//! # Non-guarantees
//! - An endpoint may give other answers or vectors tomorrow under the same name, or in another
//!   batch: the id names the model and the address, not what is behind them.
//! - Tokens are estimated before a request; a server that cuts long prompts silently is not
//!   noticed.
//!
//! # Recovery
//! Nothing is kept. What failed with a transient error may be asked again.

mod chat;
mod choice;
mod client;
mod dialect;
mod embeddings;
mod meter;
mod options;
mod reply;
mod retry;
#[cfg(test)]
mod tests;
mod tokens;

pub use chat::EndpointModel;
pub use embeddings::EndpointEmbedder;
pub use options::{EndpointKey, EndpointOptions, Prices};
