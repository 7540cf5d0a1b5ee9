//! The conformance suites: what every [`Embedder`](crate::Embedder) and every
//! [`LanguageModel`](crate::LanguageModel) must keep, checked on any implementation.
//!
//! They return the broken promises rather than panicking, so that a test prints them all, and so
//! that this crate can test the suites themselves on models that are broken on purpose.

mod embedders;
mod language_models;

pub use embedders::embedder_violations;
pub use language_models::language_model_violations;
