//! Files of a server that sends no parts of them, kept for a moment: a reader wants many parts of
//! one.
//!
//! What is kept is served only while the server says the same of the file as it said with it.

use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use url::Url;

use super::client::{Asked, Client, Facts};
use super::error::WebError;

/// Bytes of files that are kept at most.
const KEPT: u64 = 128 << 20;
/// How long a file is kept that nobody asks for.
const IDLE: Duration = Duration::from_secs(20);

/// A file, as it came.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) facts: Facts,
    pub(super) content: Bytes,
}

/// Files that came whole, by path.
#[derive(Debug)]
pub(super) struct WholeFiles(Cache<String, Kept>);

impl Default for WholeFiles {
    fn default() -> Self {
        let weigh = |path: &String, kept: &Kept| {
            u32::try_from(path.len() + kept.content.len()).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder()
            .max_capacity(KEPT)
            .weigher(weigh)
            .time_to_idle(IDLE)
            .build();
        WholeFiles(cache)
    }
}

impl WholeFiles {
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub(super) fn keep(&self, path: &str, facts: Facts, content: Bytes) {
        self.0.insert(path.to_owned(), Kept { facts, content });
    }

    /// A file that is kept, if it is still what the server has.
    pub(super) async fn get(
        &self,
        path: &str,
        client: &Client,
        url: &Url,
    ) -> Result<Option<Kept>, WebError> {
        let Some(kept) = self.0.get(path) else {
            return Ok(None);
        };
        let now = match client.ask(url, Asked::Facts).await {
            Ok(answer) => answer.facts,
            Err(WebError::Status(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        // A server that says nothing of a file's version is asked for the file.
        let is_versioned = now.etag.is_some() || now.modified_ms != 0;
        let is_same = (&now.etag, now.modified_ms) == (&kept.facts.etag, kept.facts.modified_ms)
            && now.size.is_none_or(|size| Some(size) == kept.facts.size);
        Ok((is_versioned && is_same).then_some(kept))
    }
}
