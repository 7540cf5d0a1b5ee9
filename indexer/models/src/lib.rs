//! Embedders: text to vectors whose dot product says how alike two texts are in meaning.
//!
//! Three layers, each usable without the one above:
//!
//! 1. An [`Embedder`] turns texts into unit vectors on the calling thread. [`Encoder`] is the
//!    default (all-MiniLM-L6-v2 in 8-bit integers, on kernels of this crate), the same weights in
//!    candle's 32-bit floats, and any BERT, RoBERTa or ModernBERT of a person's own
//!    [folder](EncoderFolder); [`HashedWords`] one that needs no files.
//! 2. An [`EmbeddingService`] runs one on N device threads behind an asynchronous queue: batches by
//!    a token budget, equal texts computed once, panics contained.
//! 3. A [`ModelStore`] knows where the files of a model are, fetches them at first use, and gives
//!    out the embedder of a name.
//!
//! A [`LanguageModel`] writes short texts and chooses among words; [`EndpointModel`] is one behind
//! an OpenAI-compatible server, and [`EndpointEmbedder`] its counterpart among the embedders.
//!
//! ```
//! use std::sync::Arc;
//! use limn_models::{Embedder, EmbeddingService, HashedWords};
//!
//! # futures::executor::block_on(async {
//! let service = EmbeddingService::start(Arc::new(HashedWords), 2);
//! let vectors = service.embed(vec!["monthly sales".into(), "sales by month".into()]).await?;
//! assert_eq!(vectors[0].len(), service.embedder().dimensions());
//! # Ok::<(), limn_models::ModelError>(())
//! # }).unwrap();
//! ```
//!
//! # Guarantees
//! - What the suite in [`conformance`] checks: unit length, determinism, independence of the batch,
//!   text cut at the window and nowhere else.
//! - A [`ModelId`] changes whenever vectors may: equal ids, comparable vectors.
//! - A model file is used only after its SHA-256 matched the pinned one.
//! - A failing or panicking text fails its own callers with a typed error; no call hangs.
//!
//! # Non-guarantees
//! - Vectors of the 32-bit engine agree across machines within rounding (1e-5), not to the bit.
//! - A model file altered without a change of size or modification time after it was verified is
//!   not noticed.
//! - Queue length is not bounded here: the pipeline bounds its bytes in flight.
//!
//! # Recovery
//! Nothing here outlives the process but model files. A pull that was killed leaves a `.pull-…`
//! folder in the store, which may be deleted, and no half-written file; the next pull starts anew.

pub mod conformance;
#[cfg(any(feature = "cuda", test))]
mod cuda;
mod decoder;
mod devices;
mod embedder;
mod encoder;
mod endpoint;
mod error;
mod files;
mod hashed;
mod kernels;
mod language;
mod net;
mod service;

pub use decoder::{Decoder, DecoderOptions};
pub use devices::{DeviceChoice, Devices};
pub use embedder::{AsQuestions, Embedder, ModelId};
pub use encoder::{
    Encoder, EncoderFolder, EncoderOverrides, EncoderRecord, MOST_HIDDEN as MOST_DIMENSIONS,
};
pub use endpoint::{EndpointEmbedder, EndpointKey, EndpointModel, EndpointOptions, Prices};
pub use error::ModelError;
pub use files::cards::{
    ALL_MINILM, ALL_MINILM_F32, CardFile, ModelCard, ModelKind, QWEN_CODER, SMOLLM2,
};
pub use files::language::LanguageModelFiles;
pub use files::store::{ModelFiles, ModelStore, Progress};
pub use hashed::{HASHED_WORDS, HashedWords};
pub use language::{
    Classified, DECODER_ARITHMETIC, Finish, Generated, LanguageModel, Limits, Prompt, Usage, quote,
    quote_tokens,
};
pub use service::{EmbedStats, EmbeddingService};
