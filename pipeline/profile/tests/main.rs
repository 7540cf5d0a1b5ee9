//! Columns of whole corpora; ignored unless asked for, since not every machine has them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod corpora;
