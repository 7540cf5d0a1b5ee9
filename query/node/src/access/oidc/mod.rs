//! Callers known by tokens of an OpenID Connect issuer.
//!
//! A token is a JWT (RFC 7519) that the issuer has signed. The node reads the issuer's discovery
//! document and the keys that it publishes ([`key_set`]), and checks tokens by itself: an issuer is
//! asked for keys, never about a request. Keys are asked for again every few minutes, so that one
//! that is withdrawn is refused soon, and when a token names a key that is not known: then at a
//! bounded rate, whatever tokens come. While the issuer is away the keys known before hold, for a
//! day at most.
//!
//! What a token may see and do is in its claims ([`claims`]). Checks follow RFC 8725 (JWT best
//! current practices): a signature of a published key that is for its algorithm, no shared secrets,
//! the issuer and the audience that the node was started with, times, and a type that is no other
//! kind of token's.

mod claims;
mod key_set;
mod signatures;
mod trouble;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{AlgorithmFamily, DecodingKey, Header, Validation, decode, decode_header};
use reqwest::{Certificate, Client, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::Caller;
use crate::problem::{Code, Problem};
use claims::{ClaimNames, Claims};
use key_set::{KeySet, NoKey};
pub use trouble::IssuerTrouble;

/// Bytes of a token.
const TOKEN: usize = 16 << 10;
/// Bytes of the discovery document, and of a set of keys.
const DOCUMENT: usize = 256 << 10;
/// How long each of the two may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often keys are asked for while all is well, and after a failure.
const EVERY: Duration = Duration::from_secs(300);
const AFTER_FAILURE: Duration = Duration::from_secs(15);
/// How long keys hold that cannot be asked for again.
const HOLD: Duration = Duration::from_secs(24 * 60 * 60);
/// Tokens of unknown keys have the issuer asked so often at most, after so many times at once.
const UNKNOWN_EVERY: Duration = Duration::from_secs(10);
const UNKNOWN_AT_ONCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);
/// Seconds by which clocks may differ.
const LEEWAY: u64 = 30;

/// Whose tokens are believed.
#[derive(Clone, Debug)]
pub struct IssuerOptions {
    /// The issuer's URL, as its tokens name it.
    pub issuer: String,
    /// Tokens must be for one of these.
    pub audiences: Vec<String>,
    /// The claim with the paths that a token may see.
    pub prefix_claim: String,
    /// The claim with its rights.
    pub rights_claim: String,
    /// Certificates in PEM that the issuer's may be signed by, besides the public ones.
    pub roots: Option<PathBuf>,
}

/// An issuer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Its URL is none that may be asked.
    #[error(
        "'{issuer}' is no issuer: {detail}; give the https:// URL that its tokens have as 'iss'"
    )]
    Url {
        /// What was given.
        issuer: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The file of certificates cannot be used.
    #[error("{file}: {detail}; give a file of certificates in PEM")]
    Roots {
        /// The file.
        file: String,
        /// Why.
        detail: String,
    },
    /// There is no client for HTTPS.
    #[error("no connections can be made: {0}")]
    Client(String),
}

/// An issuer whose tokens are believed.
pub struct Issuer {
    issuer: String,
    url: Url,
    client: Client,
    validation: Validation,
    claims: ClaimNames,
    known: RwLock<Known>,
    /// How often the issuer was asked.
    asked: AtomicU64,
    turn: Arc<Mutex<()>>,
    unknown: DefaultDirectRateLimiter,
}

/// What is known of an issuer.
struct Known {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// Why it could not be asked the last time.
    trouble: Option<IssuerTrouble>,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// The part of a discovery document that is read.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Issuer {
    /// An issuer that is not asked yet.
    ///
    /// # Errors
    /// [`IssuerError`].
    pub fn new(options: IssuerOptions) -> Result<Issuer, IssuerError> {
        signatures::use_ring();
        let wrong = |detail: &str| IssuerError::Url {
            issuer: options.issuer.clone(),
            detail: detail.to_owned(),
        };
        let url = Url::parse(&options.issuer).map_err(|error| wrong(&error.to_string()))?;
        if !is_safe(&url) {
            return Err(wrong("whose keys are asked for without TLS can be anybody"));
        }
        let is_bare = url.query().is_none() && url.fragment().is_none();
        if !is_bare || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it has more than a host and a path"));
        }
        let mut client = Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&url) {
            client = client.no_proxy();
        }
        if let Some(file) = &options.roots {
            for root in certificates(file)? {
                client = client.add_root_certificate(root);
            }
        }
        // Replaced by the token's own, once a key says that it fits.
        let mut validation = Validation::new_for_family(AlgorithmFamily::Ed);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_issuer(&[&options.issuer]);
        validation.set_audience(&options.audiences);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let quota = Quota::with_period(UNKNOWN_EVERY).unwrap_or(Quota::per_minute(NonZeroU32::MIN));
        Ok(Issuer {
            url,
            client: client
                .build()
                .map_err(|error| IssuerError::Client(error.to_string()))?,
            validation,
            claims: ClaimNames {
                prefixes: options.prefix_claim,
                rights: options.rights_claim,
            },
            issuer: options.issuer,
            known: RwLock::new(Known {
                keys: None,
                trouble: None,
            }),
            asked: AtomicU64::new(0),
            turn: Arc::default(),
            unknown: RateLimiter::direct(quota.allow_burst(UNKNOWN_AT_ONCE)),
        })
    }

    /// Asks for the keys, and from now on every few minutes, for as long as somebody holds the
    /// issuer.
    ///
    /// # Errors
    /// Why there are no keys yet. They are asked for again soon.
    pub async fn start(self: &Arc<Self>) -> Result<(), IssuerTrouble> {
        self.ask().await;
        let held = Arc::downgrade(self);
        let mut pause = self.pause();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(issuer) = held.upgrade() else { break };
                let turn = Arc::clone(&issuer.turn).lock_owned().await;
                issuer.ask().await;
                drop(turn);
                pause = issuer.pause();
            }
        });
        self.trouble().map_or(Ok(()), Err)
    }

    /// The caller that shows this token.
    ///
    /// # Errors
    /// Why it is refused, or that the issuer's keys are not known.
    pub(super) async fn caller(self: &Arc<Self>, token: &str) -> Result<Caller, Problem> {
        if token.len() > TOKEN {
            return Err(refused(
                format!("the token has more than {TOKEN} bytes"),
                "get one with fewer claims",
            ));
        }
        let unreadable = |_| {
            refused(
                "what was shown is no key, and no token that can be checked",
                "send a key of limn keys add, or a JWT that its issuer has signed with a key that it publishes",
            )
        };
        let header = decode_header(token).map_err(unreadable)?;
        plain(&header)?;
        // Nothing is believed yet: it saves asking for keys that can be of no use.
        let claims: Claims = insecure_decode_claims(token).map_err(unreadable)?;
        if claims.get("iss").and_then(|issuer| issuer.as_str()) != Some(self.issuer.as_str()) {
            return Err(refused(
                "the token is of an issuer that is not believed here",
                "get one of the issuer that the node was started with",
            ));
        }
        let key = self.key(&header).await?;
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let checked = decode::<Claims>(token, &key, &validation);
        let claims = checked.map_err(|error| unaccepted(error.kind()))?.claims;
        self.claims.caller(&self.issuer, &claims)
    }

    /// The key that a token names; where it is not known, the issuer is asked for it.
    async fn key(self: &Arc<Self>, header: &Header) -> Result<DecodingKey, Problem> {
        let asked = self.asked.load(Ordering::Acquire);
        let found = match self.find(header) {
            Err(None | Some(NoKey::Unknown)) => {
                self.ask_again(asked).await;
                self.find(header)
            }
            found => found,
        };
        let away = || {
            Problem::unavailable(
                "the issuer of tokens cannot be asked for its keys now",
                "ask again soon, or with an API key; if it stays so, the node's log says why",
            )
        };
        found.map_err(|why| match why {
            None => away(),
            Some(NoKey::Unknown) if self.trouble().is_some() => away(),
            Some(NoKey::Unknown) => refused(
                "the token is signed with a key that its issuer does not publish",
                "get a new one; if its key was published just now, try again in some seconds",
            ),
            Some(NoKey::Misfit) => refused(
                "the key that the token names does not check signatures of its algorithm",
                "get a token that is signed as its issuer's keys say",
            ),
            Some(NoKey::Ambiguous) => refused(
                "the token does not name its key, and its issuer has several",
                "get a token with a 'kid' in its header",
            ),
        })
    }

    /// A key among those that are known; `None` for no keys at all.
    fn find(&self, header: &Header) -> Result<DecodingKey, Option<NoKey>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (keys, read) = known.keys.as_ref().ok_or(None)?;
        if read.elapsed() > HOLD {
            return Err(None);
        }
        let key = keys.key(header.kid.as_deref(), header.alg);
        key.cloned().map_err(Some)
    }

    /// Asks for the keys, unless somebody has since they were looked at, or too often lately.
    async fn ask_again(self: &Arc<Self>, asked: u64) {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if self.asked.load(Ordering::Acquire) != asked || self.unknown.check().is_err() {
            return;
        }
        let issuer = Arc::clone(self);
        // On a task of its own: a client that goes away does not end what others wait for.
        let asking = tokio::spawn(async move {
            issuer.ask().await;
            drop(turn);
        });
        // A panic leaves what is known as it was.
        let _ = asking.await;
    }

    async fn ask(&self) {
        let read = self.read().await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(keys) => {
                if known.trouble.take().is_some() {
                    tracing::info!(issuer = self.issuer, "the issuer of tokens is back");
                }
                if keys.len() == 0 {
                    tracing::error!(
                        issuer = self.issuer,
                        "the issuer publishes no key that can be used: no token is valid"
                    );
                }
                tracing::debug!(issuer = self.issuer, keys = keys.len(), "keys were read");
                known.keys = Some((Arc::new(keys), Instant::now()));
            }
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    tracing::error!(issuer = self.issuer, %trouble, "the issuer of tokens cannot be asked for its keys");
                }
                known.trouble = Some(trouble);
            }
        }
        drop(known);
        self.asked.fetch_add(1, Ordering::Release);
    }

    /// Reads the keys as they are now (OpenID Connect Discovery 1.0, section 4).
    async fn read(&self) -> Result<KeySet, IssuerTrouble> {
        let mut document = self.url.clone();
        let path = document.path().trim_end_matches('/').to_owned();
        document.set_path(&format!("{path}/.well-known/openid-configuration"));
        let text = self.fetch(document).await?;
        let discovery: Discovery = serde_json::from_slice(&text)
            .map_err(|error| IssuerTrouble::Discovery(error.to_string()))?;
        if discovery.issuer != self.issuer {
            let named = crate::problem::shortened(&discovery.issuer, 200);
            return Err(IssuerTrouble::OtherIssuer(named));
        }
        let keys = Url::parse(&discovery.jwks_uri)
            .map_err(|error| IssuerTrouble::KeyAddress(error.to_string()))?;
        // An issuer with TLS has its keys there, too.
        let is_allowed = is_safe(&keys) && (keys.scheme() == "https" || is_loopback(&self.url));
        if !is_allowed {
            return Err(IssuerTrouble::Insecure);
        }
        KeySet::read(&self.fetch(keys).await?)
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, IssuerTrouble> {
        let at = crate::problem::shortened(url.as_str(), 300);
        let failed = |error: reqwest::Error| IssuerTrouble::Unreachable {
            at: at.clone(),
            cause: root_of(&error),
        };
        let asked = self.client.get(url).header("accept", "application/json");
        let mut answer = asked.send().await.map_err(failed)?;
        if answer.status() != reqwest::StatusCode::OK {
            let status = answer.status();
            return Err(IssuerTrouble::Status { at, status });
        }
        let mut text = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(failed)? {
            if text.len() + part.len() > DOCUMENT {
                return Err(IssuerTrouble::TooLong { at, most: DOCUMENT });
            }
            text.extend_from_slice(&part);
        }
        Ok(text)
    }

    fn trouble(&self) -> Option<IssuerTrouble> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.trouble.clone()
    }

    fn pause(&self) -> Duration {
        match self.trouble() {
            None => EVERY,
            Some(_) => AFTER_FAILURE,
        }
    }
}

/// A token of bearers, signed and in the clear; not another kind of JWT, that is made for other
/// ends.
fn plain(header: &Header) -> Result<(), Problem> {
    let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
    let kind = kind.strip_prefix("application/").unwrap_or(&kind);
    let is_plain = matches!(kind, "jwt" | "at+jwt")
        && header.crit.is_none()
        && header.enc.is_none()
        && header.zip.is_none();
    let is_shared = header.alg.family() == AlgorithmFamily::Hmac;
    match (is_plain, is_shared) {
        (true, false) => Ok(()),
        (_, true) => Err(refused(
            "the token is signed with a shared secret, which proves nothing",
            "get one that its issuer has signed with a key that it publishes",
        )),
        (false, _) => Err(refused(
            "the token is of a kind that is not taken here",
            "get an access token: a signed JWT without extensions",
        )),
    }
}

/// The answer to a token that is not in order.
fn unaccepted(why: &ErrorKind) -> Problem {
    let again = "get a new one from its issuer";
    match why {
        ErrorKind::ExpiredSignature => refused("the token is over", again),
        ErrorKind::ImmatureSignature => refused(
            "the token is not valid yet",
            "wait; if it stays so, compare the clocks of the issuer and the node",
        ),
        ErrorKind::InvalidAudience => refused(
            "the token is for another audience",
            "get one for the audience that the node was started with (--oidc-audience)",
        ),
        ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => {
            refused(format!("the token says nothing as '{claim}'"), again)
        }
        ErrorKind::InvalidSignature => {
            refused("the token's signature is not that of its issuer", again)
        }
        _ => refused("the token is not in order", again),
    }
}

fn refused(what: impl Into<String>, remedy: &str) -> Problem {
    Problem::new(Code::Unauthorized, what, remedy)
}

/// What a failure comes from: the words around it say only that there was one.
fn root_of(error: &reqwest::Error) -> String {
    let mut root: &dyn std::error::Error = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

/// Whether what comes from there is from whom it says: with TLS, or from this machine.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, IssuerError> {
    let unusable = |detail: String| IssuerError::Roots {
        file: file.display().to_string(),
        detail,
    };
    let text = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
    let read = Certificate::from_pem_bundle(&text).map_err(|error| unusable(error.to_string()))?;
    match read.is_empty() {
        true => Err(unusable("it holds no certificate".to_owned())),
        false => Ok(read),
    }
}

#[cfg(test)]
mod tests;
