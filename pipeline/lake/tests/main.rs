//! Whole corpora, read as files of a lake; ignored unless asked for, since not every machine has
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod reference;
