//! Events that are handed on: to a `limn watch --listen`, which knows what to do with them.
//!
//! The node is light: it indexes nothing. It checks that the caller may announce changes, and
//! passes the body on with the watcher's own token.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Url};
use thiserror::Error;

use crate::problem::{Code, Problem};

/// How long the watcher may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where events go to.
pub struct EventsTo {
    url: Url,
    token: Option<String>,
    client: Client,
}

impl std::fmt::Debug for EventsTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventsTo").finish_non_exhaustive()
    }
}

/// Why no watcher can be notified.
#[derive(Debug, Error)]
pub enum NoWatcher {
    /// The text is no address.
    #[error("'{0}' is no address: write it as http://127.0.0.1:7701")]
    Address(String),
    /// There is no client for it.
    #[error(transparent)]
    Client(#[from] reqwest::Error),
}

impl EventsTo {
    /// The watcher at this address (`http://host:port`), and the token that it asks for.
    ///
    /// # Errors
    /// No address, or no client for it.
    pub fn new(watcher: &str, token: Option<String>) -> Result<EventsTo, NoWatcher> {
        let url = Url::parse(watcher).and_then(|url| url.join("/v1/events"));
        let url = url
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| NoWatcher::Address(watcher.to_owned()))?;
        let client = Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        Ok(EventsTo {
            url,
            token,
            client: client?,
        })
    }

    /// The watcher asks for another token than the node has: sending again changes nothing.
    fn refused(&self) -> Problem {
        let watcher = self.url.origin().ascii_serialization();
        tracing::error!(
            watcher,
            "the watcher refuses the node's token: give both the same LIMN_EVENTS_TOKEN"
        );
        Problem::new(
            Code::Unavailable,
            "the watcher refuses events of this node",
            "tell the operator, who finds the reason in the node's log; a later listing finds what was missed",
        )
    }

    /// Hands events on.
    ///
    /// # Errors
    /// The watcher's answer to them, or that it does not answer.
    pub async fn send(&self, body: Bytes) -> Result<(), Problem> {
        let mut request = self.client.post(self.url.clone()).body(body);
        request = request.header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let away = |why: String| {
            let watcher = self.url.origin().ascii_serialization();
            tracing::error!(
                watcher,
                why,
                "events cannot be handed on: see that limn watch --listen runs there"
            );
            Problem::new(
                Code::Unavailable,
                "the watcher takes no events now",
                "send them again; a later listing finds what was missed",
            )
            .after(Duration::from_secs(10))
        };
        let answer = request
            .send()
            .await
            .map_err(|error| away(error.without_url().to_string()))?;
        match answer.status().as_u16() {
            200..=299 => Ok(()),
            status @ (400 | 413 | 422) => Err(Problem::bad(
                format!("the watcher understands none of it (status {status})"),
                "send the events of S3 or EventBridge as they come",
            )),
            401 | 403 => Err(self.refused()),
            status => Err(away(format!("status {status}"))),
        }
    }
}
