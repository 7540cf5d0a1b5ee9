//! One web server: requests that are tried again, answers that are bounded.
//!
//! Redirects are followed on the same host only (and from `http` to `https` there): a lake's
//! address is its operator's word, what its pages and answers say is not.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, RANGE,
};
use http::{Method, StatusCode};
use reqwest::redirect::{Attempt, Policy};
use tokio::sync::Semaphore;
use url::Url;

use super::error::WebError;
use crate::error::why_unanswered;
use crate::requests::wait;

/// Of an answer without its length no more than this is read.
const MOST_OF_UNKNOWN: u64 = 16 << 20;
/// Long answers that are read at once have no more than so many MiB together.
const LONG_AT_ONCE: u32 = 128;
/// The wait before the second attempt; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Redirects in a row.
const REDIRECTS: usize = 5;

/// A web server's client. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    permits: Arc<Semaphore>,
    /// A permit for each MiB of answers longer than that.
    memory: Arc<Semaphore>,
    patience: Duration,
}

/// What is said of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Bytes of all of it, where that is said.
    pub(crate) size: Option<u64>,
    pub(crate) etag: Option<String>,
    /// Milliseconds since 1970, 0 where nothing is said.
    pub(crate) modified_ms: i64,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// Where it came from, after redirects.
    pub(crate) url: Url,
    pub(crate) facts: Facts,
    pub(crate) content_type: Option<String>,
    /// Where a part of a file begins in it.
    pub(crate) begins: u64,
    pub(crate) content: Bytes,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// What is said of it.
    Facts,
    /// All of it, if that is no more than so many bytes.
    Whole(u64),
    /// These bytes (the second the last of them), of a file that may come whole if it has no more
    /// than so many bytes.
    Part(u64, u64, u64),
    /// So many of its last bytes, likewise.
    Tail(u64, u64),
}

impl Client {
    pub(crate) fn new(patience: Duration, at_once: usize) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(3))
            // For each piece of an answer, and the wait for the first.
            .read_timeout(patience)
            .redirect(Policy::custom(follow))
            .build()?;
        Ok(Client {
            http,
            permits: Arc::new(Semaphore::new(at_once)),
            memory: Arc::new(Semaphore::new(LONG_AT_ONCE as usize)),
            patience,
        })
    }

    /// Asks, and again where the failure may pass.
    pub(crate) async fn ask(&self, url: &Url, asked: Asked) -> Result<Answer, WebError> {
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            match self.ask_once(url, asked).await {
                Err((error, least)) if attempt < error.attempts() => {
                    tracing::debug!(%error, attempt, "asked again");
                    tokio::time::sleep(wait.max(least)).await;
                    wait *= 2;
                }
                outcome => return outcome.map_err(|(error, _)| error),
            }
        }
        Err(WebError::Nonsense("nothing came of it"))
    }

    /// Asks once; a refusal comes with how long the server wants to be left alone.
    async fn ask_once(&self, url: &Url, asked: Asked) -> Result<Answer, (WebError, Duration)> {
        let plain = |error: WebError| (error, Duration::ZERO);
        let closed = |_| plain(WebError::Unreachable("the runtime is shutting down".into()));
        let _place = self.permits.acquire().await.map_err(closed)?;
        let method = match asked {
            Asked::Facts => Method::HEAD,
            _ => Method::GET,
        };
        let mut request = self.http.request(method, url.clone());
        request = match asked {
            Asked::Facts | Asked::Whole(_) => request,
            Asked::Part(first, last, _) => request.header(RANGE, format!("bytes={first}-{last}")),
            Asked::Tail(bytes, _) => request.header(RANGE, format!("bytes=-{bytes}")),
        };
        let failed = |error: reqwest::Error| plain(self.failure(&error));
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            let wait = wait::asked_for(status, response.headers());
            return Err((WebError::Status(status), wait));
        }
        self.read(response, asked).await.map_err(plain)
    }

    async fn read(
        &self,
        mut response: reqwest::Response,
        asked: Asked,
    ) -> Result<Answer, WebError> {
        let (status, url) = (response.status(), response.url().clone());
        let headers = std::mem::take(response.headers_mut());
        let length = header(&headers, CONTENT_LENGTH).and_then(|it| it.parse::<u64>().ok());
        let mut facts = Facts {
            size: length,
            etag: header(&headers, ETAG).map(str::to_owned),
            modified_ms: header(&headers, LAST_MODIFIED)
                .and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok())
                .map_or(0, |date| date.timestamp_millis()),
        };
        let mut begins = 0;
        let most = match asked {
            Asked::Facts => 0,
            Asked::Whole(most) => most,
            Asked::Part(first, last, _) if status == StatusCode::PARTIAL_CONTENT => {
                let (from, size) = part(&headers)?;
                if from != first {
                    return Err(WebError::Nonsense("another part came than was asked for"));
                }
                (begins, facts.size) = (from, size);
                (last - first).saturating_add(1)
            }
            Asked::Tail(bytes, _) if status == StatusCode::PARTIAL_CONTENT => {
                (begins, facts.size) = part(&headers)?;
                bytes
            }
            Asked::Part(.., most) | Asked::Tail(_, most) => most,
        };
        let content_type = header(&headers, CONTENT_TYPE).map(|kind| {
            let kind = kind.split(';').next().unwrap_or(kind).trim();
            kind.to_ascii_lowercase()
        });
        let too_long = match asked {
            Asked::Facts => None,
            Asked::Part(..) | Asked::Tail(..) if status == StatusCode::PARTIAL_CONTENT => {
                Some(WebError::Nonsense("more came than was asked for"))
            }
            _ => Some(length.map_or(WebError::Endless(MOST_OF_UNKNOWN), WebError::NoParts)),
        };
        let most = match length {
            Some(_) => most,
            None => most.min(MOST_OF_UNKNOWN),
        };
        let mut content = BytesMut::new();
        if let Some(too_long) = too_long {
            if length.is_some_and(|length| length > most) {
                return Err(too_long);
            }
            let mebibytes = u32::try_from(length.unwrap_or(0) >> 20).unwrap_or(LONG_AT_ONCE);
            let room = self.memory.acquire_many(mebibytes.min(LONG_AT_ONCE)).await;
            let _room = room.map_err(|_| WebError::Nonsense("nobody reads the answer"))?;
            let failed = |error: reqwest::Error| self.failure(&error);
            while let Some(piece) = response.chunk().await.map_err(failed)? {
                if (content.len() + piece.len()) as u64 > most {
                    return Err(too_long);
                }
                content.extend_from_slice(&piece);
            }
            if status != StatusCode::PARTIAL_CONTENT {
                facts.size = Some(content.len() as u64);
            }
        }
        Ok(Answer {
            status,
            url,
            facts,
            content_type,
            begins,
            content: content.freeze(),
        })
    }

    fn failure(&self, error: &reqwest::Error) -> WebError {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(Elsewhere(origin)) = error.downcast_ref() {
                return WebError::OtherServer(origin.clone());
            }
            cause = error.source();
        }
        if error.is_timeout() && !error.is_connect() {
            return WebError::Stalled(self.patience);
        }
        if error.is_redirect() {
            return WebError::Nonsense("it redirects without end");
        }
        WebError::Unreachable(why_unanswered(error))
    }
}

/// A redirect that leaves the server.
#[derive(Debug, thiserror::Error)]
#[error("redirected to {0}")]
struct Elsewhere(String);

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let Some(first) = attempt.previous().first() else {
        return attempt.stop();
    };
    if !is_same_server(first, attempt.url()) {
        let origin = attempt.url().origin().ascii_serialization();
        return attempt.error(Elsewhere(origin));
    }
    if attempt.previous().len() > REDIRECTS {
        return attempt.error(std::io::Error::other("redirected too often"));
    }
    attempt.follow()
}

/// Whether a URL is of the same server as the one that was named: the same origin, or the same host
/// with encryption.
pub(crate) fn is_same_server(named: &Url, other: &Url) -> bool {
    let upgraded = || {
        let default_ports = named.port().is_none() && other.port().is_none();
        let schemes = (named.scheme(), other.scheme()) == ("http", "https");
        default_ports && schemes && named.host() == other.host()
    };
    named.origin() == other.origin() || upgraded()
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Where a part begins, and the size of the whole: `bytes 0-9/100`.
fn part(headers: &HeaderMap) -> Result<(u64, Option<u64>), WebError> {
    let read = || {
        let range = header(headers, CONTENT_RANGE)?.trim();
        let (range, size) = range.strip_prefix("bytes")?.trim().split_once('/')?;
        let (first, _) = range.split_once('-')?;
        Some((first.trim().parse().ok()?, size.trim().parse().ok()))
    };
    read().ok_or(WebError::Nonsense("a part came without its place"))
}
