//! One request to an endpoint: bounded in number, time and size, sent again where that may help.

use std::time::Duration;

use chrono::Utc;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url, redirect};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::meter::Meter;
use super::options::{Address, EndpointKey, EndpointOptions};
use super::reply::{Refusal, one_line};
use super::retry;
use crate::ModelError;
use crate::net::{innermost, without_address, without_secrets};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// As much of a refusal's body is read.
const REFUSAL_LIMIT: usize = 64 << 10;

/// A connection to an endpoint that all callers share.
pub(super) struct Client {
    http: reqwest::Client,
    pub(super) address: Address,
    pub(super) model: String,
    pub(super) meter: Meter,
    key: Option<EndpointKey>,
    key_header: Option<(HeaderName, HeaderValue)>,
    attempts: u32,
    permits: Semaphore,
}

/// Why a request has no reply.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server answered, and refused it.
    Refused(Refusal),
    /// Anything else.
    Other(ModelError),
}

/// How one attempt failed.
struct Attempt {
    failure: Failure,
    transient: bool,
    asked: Option<Duration>,
}

impl Client {
    pub(super) fn new(options: &EndpointOptions) -> Result<Self, ModelError> {
        let address = Address::parse(&options.url)?;
        let key_header = options.key.as_ref().map(|key| address.key_header(key));
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(options.timeout)
            // The key and the prompts are for the address that was named.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
            .build();
        let http = http.map_err(|error| ModelError::Endpoint {
            url: address.shown(),
            detail: without_address(error),
            transient: false,
        })?;
        let permits = options.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self {
            http,
            key_header: key_header.transpose()?,
            key: options.key.clone(),
            model: options.model.clone(),
            meter: Meter::new(options.prices),
            attempts: options.attempts.max(1),
            permits: Semaphore::new(permits),
            address,
        })
    }

    /// Sends a request until it is answered, refused for good, or has failed too often.
    ///
    /// A caller waits its turn, and keeps it while it waits before another attempt: a server that
    /// is overloaded is asked less.
    pub(super) async fn post(
        &self,
        request: &str,
        body: &Value,
        limit: usize,
    ) -> Result<Value, Failure> {
        let url = self.address.of(request);
        let body = body.to_string();
        let permit = self.permits.acquire().await;
        let _permit = permit.map_err(|_| Failure::Other(ModelError::Stopped))?;
        let mut failures = 0;
        loop {
            let attempt = match self.once(&url, &body, limit).await {
                Ok(reply) => return Ok(reply),
                Err(attempt) => attempt,
            };
            failures += 1;
            if !attempt.transient || failures >= self.attempts {
                return Err(attempt.failure);
            }
            let Some(wait) = retry::wait(failures, attempt.asked) else {
                return Err(attempt.failure);
            };
            tracing::debug!(
                endpoint = %self.address.shown(), failures, ?wait, "the request is sent again"
            );
            self.meter.retried();
            tokio::time::sleep(wait).await;
        }
    }

    async fn once(&self, url: &Url, body: &str, limit: usize) -> Result<Value, Attempt> {
        let mut request = self
            .http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_owned());
        if let Some((name, value)) = &self.key_header {
            request = request.header(name.clone(), value.clone());
        }
        // Until the reply has arrived whole, whatever fails may pass.
        let lost = |error: reqwest::Error| {
            let detail = if error.is_timeout() {
                "there was no reply in time; if it is slow, give it longer (--endpoint-timeout)"
                    .to_owned()
            } else {
                let cause = innermost(&error.without_url());
                format!("it cannot be reached ({cause}); is it running, and is the address right?")
            };
            self.failed(&detail, true)
        };
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response));
        }
        let asked = response.headers().get(RETRY_AFTER);
        let asked = asked.and_then(|header| retry::asked(header.to_str().ok()?, Utc::now()));
        let limit = if status.is_success() {
            limit
        } else {
            REFUSAL_LIMIT
        };
        let (bytes, whole) = read(response, limit).await.map_err(lost)?;
        if !status.is_success() {
            return Err(self.refused(status, &bytes, asked));
        }
        if !whole {
            let detail = format!("its reply is longer than {} MiB", limit >> 20);
            return Err(self.failed(&detail, false));
        }
        let reply: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let text = self.said(&String::from_utf8_lossy(&bytes));
            self.failed(&format!("its reply is no JSON: {text:?}"), false)
        })?;
        // Some gateways report what is behind them in a reply that succeeds.
        if reply.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.refused(status, &bytes, asked));
        }
        Ok(reply)
    }

    fn failed(&self, detail: &str, transient: bool) -> Attempt {
        Attempt {
            failure: Failure::Other(self.error(detail, transient)),
            transient,
            asked: None,
        }
    }

    fn redirected(&self, response: &Response) -> Attempt {
        let to = response.headers().get(LOCATION);
        let to = to.and_then(|to| response.url().join(to.to_str().ok()?).ok());
        let to = to.map_or_else(|| "nowhere".to_owned(), |to| without_secrets(&to));
        let detail = format!(
            "it redirects to {}, which is not followed; name the right address",
            self.said(&to)
        );
        self.failed(&detail, false)
    }

    fn refused(&self, status: StatusCode, body: &[u8], asked: Option<Duration>) -> Attempt {
        let body = String::from_utf8_lossy(body);
        let refusal = Refusal::read(status.as_u16(), &body, |text| self.said(text));
        Attempt {
            transient: refusal.is_transient(),
            failure: Failure::Refused(refusal),
            asked,
        }
    }

    /// What a server said, as an error may repeat it.
    pub(super) fn said(&self, text: &str) -> String {
        let text = self.address.query_removed_from(text);
        match &self.key {
            Some(key) => one_line(&key.removed_from(&text)),
            None => one_line(&text),
        }
    }

    /// An error of this endpoint.
    pub(super) fn error(&self, detail: &str, transient: bool) -> ModelError {
        ModelError::Endpoint {
            url: self.address.shown(),
            detail: detail.to_owned(),
            transient,
        }
    }

    /// The error for a refusal, with what a person can do about it.
    pub(super) fn explain_refusal(&self, refusal: &Refusal) -> ModelError {
        let Refusal {
            status, message, ..
        } = refusal;
        let what = match status {
            200..=299 => format!("it answered with an error: {message}"),
            401 | 403 if self.key.is_none() => {
                format!("it wants a key ({status}): {message}; put it into LIMN_ENDPOINT_KEY")
            }
            401 | 403 => format!(
                "it refuses the key ({status}): {message}; put the right one into LIMN_ENDPOINT_KEY"
            ),
            404 => format!(
                "it has no such address, or no model {:?} ({status}): {message}; most addresses end in /v1",
                self.model
            ),
            429 => {
                format!("it has had too many requests ({status}): {message}; lower the concurrency")
            }
            500..=599 => format!("it failed ({status}): {message}"),
            _ => format!("it refuses the request ({status}): {message}"),
        };
        self.error(&what, refusal.is_transient())
    }
}

/// The body up to a bound, and whether that was all.
async fn read(mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}
