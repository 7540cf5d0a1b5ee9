//! A catalog's server: requests that are tried again, answers that are bounded, a token that goes
//! nowhere else.
//!
//! No redirect is followed: the address is its user's word, what a server says is not.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::answers::{Failed, Granted, read};
use super::error::{CatalogError, Said};
use super::signing::{self, Signer};
use crate::counting::Counters;
use crate::error::why_unanswered;
use crate::requests::wait;
use crate::text::one_line;

/// Bytes of an answer, at most: a table's has its metadata, with all of its snapshots where a
/// server does not leave them out.
const MOST_BYTES: u64 = 32 << 20;
/// Bytes of an answer that is an error.
const MOST_SAID: u64 = 64 << 10;
/// Characters of what it says that are repeated.
const SAID: usize = 200;
/// The wait before the second attempt; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// A whole answer may take so many times what a pause in it may.
const WHOLE: u32 = 5;

/// What asks for credentials along with a table.
const DELEGATION: HeaderName = HeaderName::from_static("x-iceberg-access-delegation");

/// Who asks.
pub(super) enum Caller {
    /// Nobody in particular.
    Anybody,
    /// A caller with this token.
    Bearer(Secret),
    /// A caller that an OAuth2 server gives a token.
    Client(Grant),
}

/// An OAuth2 client (RFC 6749, section 4.4), with the token that it has.
pub(super) struct Grant {
    pub(super) server: Url,
    pub(super) id: Option<String>,
    pub(super) secret: Secret,
    pub(super) scope: String,
    pub(super) token: Mutex<Option<Secret>>,
}

/// What is never shown.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

/// A catalog's client.
pub(super) struct Client {
    http: reqwest::Client,
    permits: Semaphore,
    patience: Duration,
    caller: Caller,
    counters: OnceLock<Arc<Counters>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// What is asked.
enum Request<'a> {
    Get {
        with_credentials: bool,
        signer: Option<&'a Signer>,
    },
    Grant(&'a Grant),
}

impl Client {
    pub(super) fn new(
        patience: Duration,
        at_once: usize,
        caller: Caller,
    ) -> Result<Client, reqwest::Error> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(3))
            // For each piece of an answer, and the wait for the first.
            .read_timeout(patience)
            .timeout(patience.saturating_mul(WHOLE))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Client {
            http,
            permits: Semaphore::new(at_once),
            patience,
            caller,
            counters: OnceLock::new(),
        })
    }

    /// Where requests are counted from here on: as pages of a listing.
    pub(super) fn count_in(&self, counters: &Arc<Counters>) {
        self.counters.get_or_init(|| Arc::clone(counters));
    }

    /// The answer to a GET request, signed where there is a signer. `with_credentials` asks for
    /// what the table's files can be read with.
    pub(super) async fn get(
        &self,
        url: &Url,
        with_credentials: bool,
        signer: Option<&Signer>,
    ) -> Result<Bytes, CatalogError> {
        let request = Request::Get {
            with_credentials,
            signer,
        };
        let answer = self.ask(url, &request).await;
        match (&self.caller, &answer) {
            // Tokens end.
            (Caller::Client(grant), Err(error)) if error.is_status(&[StatusCode::UNAUTHORIZED]) => {
                *grant.token.lock().await = None;
                self.ask(url, &request).await
            }
            _ => answer,
        }
    }

    /// Asks, and again where the failure may pass.
    async fn ask(&self, url: &Url, request: &Request<'_>) -> Result<Bytes, CatalogError> {
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            match self.ask_once(url, request).await {
                Err((error, least)) if attempt < error.attempts() => {
                    tracing::debug!(%error, attempt, "asked again");
                    tokio::time::sleep(wait.max(least)).await;
                    wait *= 2;
                }
                outcome => return outcome.map_err(|(error, _)| error),
            }
        }
        Err(CatalogError::Unreachable("nothing came of it".into()))
    }

    /// Asks once; a refusal comes with how long the server wants to be left alone.
    async fn ask_once(
        &self,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<Bytes, (CatalogError, Duration)> {
        let plain = |error: CatalogError| (error, Duration::ZERO);
        // Asking for a token takes a place, too; a signature is only good for minutes.
        let token = match request {
            Request::Get { .. } => self.token().await.map_err(plain)?,
            Request::Grant(_) => None,
        };
        let closed = |_| {
            plain(CatalogError::Unreachable(
                "the runtime is shutting down".into(),
            ))
        };
        let _place = self.permits.acquire().await.map_err(closed)?;
        let (asked, secrets) = self.request(url, request, token).await.map_err(plain)?;
        if let Some(counters) = self.counters.get() {
            counters.listed_page();
        }
        let response = asked.send().await;
        let response = response.map_err(|error| plain(self.failure(&error)))?;
        let status = response.status();
        if status.is_success() {
            return self.read(response, MOST_BYTES).await.map_err(plain);
        }
        if status.is_redirection() {
            let to = response.headers().get(LOCATION);
            let to = to.and_then(|it| url.join(it.to_str().ok()?).ok());
            let to = to.map_or("nowhere".into(), |it| it.origin().ascii_serialization());
            return Err(plain(CatalogError::Redirected(to)));
        }
        let wait = wait::asked_for(status, response.headers());
        let answer = self.read(response, MOST_SAID).await.unwrap_or_default();
        let said = said(&answer, &secrets);
        Err((CatalogError::Status(status, Said(said)), wait))
    }

    /// A request, and the secrets in it.
    async fn request(
        &self,
        url: &Url,
        request: &Request<'_>,
        token: Option<Secret>,
    ) -> Result<(reqwest::RequestBuilder, Vec<Secret>), CatalogError> {
        match request {
            Request::Get {
                with_credentials,
                signer,
            } => {
                let mut headers = HeaderMap::new();
                if *with_credentials {
                    headers.insert(DELEGATION, HeaderValue::from_static("vended-credentials"));
                }
                if let Some(token) = &token {
                    headers.insert(AUTHORIZATION, bearer(token)?);
                }
                let mut secrets = Vec::from_iter(token);
                let mut url = url.clone();
                if let Some(signer) = signer {
                    url = signing::plain_query(&url);
                    secrets.extend(signer.sign(&url, &mut headers).await?);
                }
                Ok((self.http.get(url).headers(headers), secrets))
            }
            Request::Grant(grant) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.append_pair("grant_type", "client_credentials");
                form.append_pair("scope", &grant.scope);
                if let Some(id) = &grant.id {
                    form.append_pair("client_id", id);
                }
                form.append_pair("client_secret", &grant.secret.0);
                let asked = self.http.post(url.clone());
                let kind = "application/x-www-form-urlencoded";
                let asked = asked
                    .header(http::header::CONTENT_TYPE, kind)
                    .body(form.finish());
                Ok((asked, vec![grant.secret.clone()]))
            }
        }
    }

    /// The token to send, asked for where there is none yet.
    async fn token(&self) -> Result<Option<Secret>, CatalogError> {
        match &self.caller {
            Caller::Anybody => Ok(None),
            Caller::Bearer(token) => Ok(Some(token.clone())),
            Caller::Client(grant) => {
                let mut kept = grant.token.lock().await;
                if kept.is_none() {
                    let answer = Box::pin(self.ask(&grant.server, &Request::Grant(grant))).await?;
                    *kept = Some(Secret(read::<Granted>(&answer)?.access_token));
                }
                Ok(kept.clone())
            }
        }
    }

    async fn read(
        &self,
        mut response: reqwest::Response,
        most: u64,
    ) -> Result<Bytes, CatalogError> {
        let mut content = BytesMut::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.failure(&error))?
        {
            if (content.len() + piece.len()) as u64 > most {
                return Err(CatalogError::TooLong(most));
            }
            content.extend_from_slice(&piece);
        }
        Ok(content.freeze())
    }

    fn failure(&self, error: &reqwest::Error) -> CatalogError {
        match error.is_timeout() && !error.is_connect() {
            true => CatalogError::Stalled(self.patience),
            false => CatalogError::Unreachable(why_unanswered(error)),
        }
    }
}

/// What a server said of an error, in one line. A message that repeats a secret is left out.
fn said(answer: &[u8], secrets: &[Secret]) -> String {
    let failed = read::<Failed>(answer).unwrap_or_default();
    let quotes = |text: &str| secrets.iter().any(|it| text.contains(&it.0));
    let said = [failed.message(), failed.kind()];
    let said = said.into_iter().find(|it| !it.is_empty() && !quotes(it));
    one_line(said.unwrap_or_default())
        .chars()
        .take(SAID)
        .collect()
}

/// A token as the header that carries it.
fn bearer(token: &Secret) -> Result<HeaderValue, CatalogError> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.0));
    let mut value = value.map_err(|_| CatalogError::Refused {
        cause: "the token has characters that no token has".into(),
        remedy: "set it anew",
    })?;
    value.set_sensitive(true);
    Ok(value)
}
