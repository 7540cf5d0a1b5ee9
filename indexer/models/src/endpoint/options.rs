//! The settings of an endpoint, its key, and its address.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::ModelError;
use crate::net::without_secrets;

/// Where the key is looked for, in this order.
const KEY_VARIABLES: [&str; 2] = ["LIMN_ENDPOINT_KEY", "OPENAI_API_KEY"];

/// The services that take a key in a header of their own. Other hosts of that cloud are anybody's.
const AZURE: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
];

/// How to use an endpoint.
#[derive(Clone)]
pub struct EndpointOptions {
    /// The address, such as `http://localhost:8000/v1`. A query stays with every request: Azure's
    /// `?api-version=…`. Credentials in it are refused.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The key, where the endpoint wants one.
    pub key: Option<EndpointKey>,
    /// The most requests under way; 8 by default.
    pub concurrency: usize,
    /// The most times one request is sent; 5 by default.
    pub attempts: u32,
    /// The longest one attempt may take; two minutes by default.
    pub timeout: Duration,
    /// The model's window in tokens, which the protocol does not give; 8192 by default. Of an
    /// embedder, the most tokens of a text that are sent.
    pub window: usize,
    /// What tokens cost; unknown by default.
    pub prices: Option<Prices>,
}

impl EndpointOptions {
    /// The defaults, without a key.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            concurrency: 8,
            attempts: 5,
            timeout: Duration::from_secs(120),
            window: 8192,
            prices: None,
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Url::parse(&self.url).ok();
        f.debug_struct("EndpointOptions")
            .field("url", &url.map(|url| without_secrets(&url)))
            .field("model", &self.model)
            .field("key", &self.key)
            .field("concurrency", &self.concurrency)
            .field("attempts", &self.attempts)
            .field("timeout", &self.timeout)
            .field("window", &self.window)
            .field("prices", &self.prices)
            .finish()
    }
}

/// What a million tokens cost, in one currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens of prompts.
    pub prompt: f64,
    /// Tokens of prompts that the endpoint says it had in its cache.
    pub cached: f64,
    /// Tokens written.
    pub generated: f64,
}

/// A secret; it shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointKey(String);

impl EndpointKey {
    /// Wraps a key; white space around it is no part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key that the environment holds: `LIMN_ENDPOINT_KEY`, or else `OPENAI_API_KEY`.
    pub fn from_env() -> Option<Self> {
        let set = |name| std::env::var(name).ok().map(|key| Self::new(&key));
        let mut keys = KEY_VARIABLES.into_iter().filter_map(set);
        keys.find(|key| !key.0.is_empty())
    }

    /// The text without this key, wherever it is repeated.
    pub(super) fn removed_from(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&self.0, "[key]")
        }
    }
}

impl fmt::Debug for EndpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointKey(…)")
    }
}

/// An endpoint's address.
#[derive(Clone)]
pub(super) struct Address {
    base: Url,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, ModelError> {
        let url = Url::parse(text.trim()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(mut base) = url else {
            return Err(refused(
                "(unreadable)",
                "it is no http:// or https:// URL; write it like http://localhost:8000/v1",
            ));
        };
        if !base.username().is_empty() || base.password().is_some() {
            let detail =
                "leave user and password out of the URL and put the key into LIMN_ENDPOINT_KEY";
            return Err(refused(&without_secrets(&base), detail));
        }
        base.set_fragment(None);
        // Somebody may have copied the address of a whole request.
        let path = base.path().trim_end_matches('/');
        let path = ["/chat/completions", "/embeddings"]
            .iter()
            .find_map(|end| path.strip_suffix(end))
            .unwrap_or(path)
            .to_owned();
        base.set_path(&path);
        Ok(Self { base })
    }

    /// The address of a kind of request: the path continued, the query kept.
    pub(super) fn of(&self, request: &str) -> Url {
        let mut url = self.base.clone();
        let path = url.path().trim_end_matches('/');
        url.set_path(&format!("{path}/{request}"));
        url
    }

    /// The text without the values of the address's query, which may be a gateway's key.
    pub(super) fn query_removed_from(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.base.query_pairs() {
            if name != "api-version" && !value.is_empty() {
                text = text.replace(&*value, "[query]");
            }
        }
        text
    }

    /// As errors show it.
    pub(super) fn shown(&self) -> String {
        without_secrets(&self.base)
    }

    /// Host, port and path, as ids hold them. Azure's path names the model.
    pub(super) fn place(&self) -> String {
        let shown = self.shown();
        let place = shown.split_once("://").map_or(&*shown, |(_, place)| place);
        place.to_owned()
    }

    /// The header that carries the key: Azure's services take theirs in another than all others,
    /// and refuse a bearer that is no token of theirs.
    pub(super) fn key_header(
        &self,
        key: &EndpointKey,
    ) -> Result<(HeaderName, HeaderValue), ModelError> {
        let host = self.base.host_str().unwrap_or_default();
        let versioned = self
            .base
            .query_pairs()
            .any(|(name, _)| name == "api-version");
        let azure = AZURE.iter().any(|domain| host.ends_with(domain));
        let (name, text) = if versioned || azure {
            (HeaderName::from_static("api-key"), key.0.clone())
        } else {
            (AUTHORIZATION, format!("Bearer {}", key.0))
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let detail = "the key has characters that no key has; set LIMN_ENDPOINT_KEY anew";
            refused(&self.shown(), detail)
        })?;
        value.set_sensitive(true);
        if self.base.scheme() == "http" && !is_loopback(host) {
            tracing::warn!(endpoint = %self.shown(), "the endpoint's key is sent unencrypted");
        }
        Ok((name, value))
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn refused(url: &str, detail: &str) -> ModelError {
    ModelError::Endpoint {
        url: url.to_owned(),
        detail: detail.to_owned(),
        transient: false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(url: &str) -> Address {
        Address::parse(url).unwrap()
    }

    #[test]
    fn requests_continue_the_path_and_keep_the_query() {
        for (url, expected) in [
            ("http://h:8000/v1", "http://h:8000/v1/chat/completions"),
            ("http://h:8000/v1/", "http://h:8000/v1/chat/completions"),
            ("http://h", "http://h/chat/completions"),
            (
                "https://x.openai.azure.com/openai/deployments/d?api-version=1",
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            ),
            (
                "https://h/v1/chat/completions?a=b#c",
                "https://h/v1/chat/completions?a=b",
            ),
        ] {
            assert_eq!(address(url).of("chat/completions").as_str(), expected);
        }
    }

    #[test]
    fn neither_id_nor_error_holds_a_query_or_a_password() {
        let address = address("https://h:1/v1?key=s3cret");
        assert_eq!(address.shown(), "https://h:1/v1");
        assert_eq!(address.place(), "h:1/v1");
        for url in ["https://me:s3cret@h/v1", "me:s3cret", "ftp://h/s3cret", ""] {
            let error = Address::parse(url).map(|_| ()).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        let mut options = EndpointOptions::new("https://me:s3cret@h/v1?k=s3cret", "m");
        options.key = Some(EndpointKey::new("s3cret"));
        assert!(!format!("{options:?}").contains("s3cret"), "{options:?}");
    }

    #[test]
    fn azure_gets_the_key_in_its_own_header() {
        let key = EndpointKey::new(" k3y\n");
        let header = |url| address(url).key_header(&key).unwrap();
        let (name, value) = header("https://mine.westeurope.cloudapp.azure.com/v1");
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("authorization", "Bearer k3y")
        );
        assert!(value.is_sensitive());
        for url in [
            "https://x.openai.azure.com/v1",
            "https://gateway/d?api-version=1",
        ] {
            let (name, value) = header(url);
            assert_eq!((name.as_str(), value.to_str().unwrap()), ("api-key", "k3y"));
        }
        let odd = EndpointKey::new("a\nb");
        let error = address("https://h").key_header(&odd).unwrap_err();
        assert!(!error.to_string().contains("a\nb"), "{error}");
    }
}
