//! The embedded models themselves, beside their references.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod decoder;
mod encoders;
mod minilm;
