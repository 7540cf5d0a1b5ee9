//! The embedded language model: Llama and Qwen2 weights on this machine's processor.
//!
//! From the outside in (decision 7):
//!
//! - [`model`] is what callers see, a [`LanguageModel`](crate::LanguageModel); [`tokens`] its text.
//! - [`engine`] steps the device with the sequences that [`schedule`] admits: answers being written
//!   and pieces of prompts being read, together (continuous batching).
//! - [`device`] is what the engine asks of whatever computes; [`network`] is the one on this
//!   processor, with its [`cache`] of keys and values, [`products`] of rows with a [`matrix`] in
//!   bytes, and [`stages`] of a layer; `on_gpu` is the same on a GPU, where limn is built for one.
//! - [`load`] packs the tensors of [`gguf`] and [`safetensors`] files.
//!
//! **A sequence's numbers are the same bits alone, in any batch, however its prompt is cut, whether
//! a beginning was shared, on any number of threads and with any kernel.**

mod cache;
mod device;
mod engine;
mod gguf;
mod load;
mod load_error;
mod matrix;
mod model;
mod network;
mod on_cpu;
#[cfg(any(feature = "cuda", test))]
mod on_gpu;
mod products;
mod safetensors;
mod schedule;
mod shape;
mod stages;
mod tokens;

pub use model::{Decoder, DecoderOptions};

#[cfg(test)]
mod reference;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
