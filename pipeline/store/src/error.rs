//! What can go wrong with a store, told in one line: on what, why, what to do next.
//!
//! The client library's errors quote whole requests over several lines. Here the chain of causes is
//! searched for the facts a person needs (which bucket, refused or denied) and the rest is dropped:
//! an error keeps no request, no header and no signature, so it can hold no secret.

use std::error::Error as StdError;

use object_store::Error as ClientError;

use crate::text::one_line;

/// What sort of failure it was; decides the remedy and whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// The object, or the local folder, is not there.
    NotFound,
    /// The store is there and refuses us.
    AccessDenied,
    /// The bucket itself is not there.
    NoSuchBucket,
    /// Nobody answers at the endpoint.
    Unreachable,
    /// The location or a setting cannot be understood.
    Configuration,
    /// A conditional request lost, or the object changed while it was read.
    Precondition,
    /// One entry of a listing (an unreadable folder, a name that is not UTF-8, a link that leaves the
    /// root, an S3 key with empty parts). The listing goes on after it.
    Entry,
    /// Anything else.
    Other,
}

/// A failed request to a store. Its text is one line: object, cause, remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{object}: {cause}{}", if remedy.is_empty() { String::new() } else { format!("; {remedy}") })]
pub struct StoreError {
    kind: StoreErrorKind,
    object: String,
    cause: String,
    remedy: String,
    retryable: bool,
}

impl StoreError {
    /// An error of this crate's own making. `remedy` may be empty.
    pub fn new(
        kind: StoreErrorKind,
        object: impl Into<String>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        StoreError {
            kind,
            object: one_line(&object.into()),
            cause: one_line(&cause.into()),
            remedy: one_line(&remedy.into()),
            retryable: kind == StoreErrorKind::Unreachable,
        }
    }

    /// What sort of failure it was.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The object, folder or bucket that failed, as a full location.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Why, without the object and the remedy.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// What to do about it; may be empty.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Whether the object is simply not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == StoreErrorKind::NotFound
    }
}

/// Where a request went: what a message needs to know beyond the client's own error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The bucket, for remote stores.
    pub(crate) bucket: Option<String>,
    /// The endpoint, for remote stores that were given one.
    pub(crate) endpoint: Option<String>,
}

/// Translates a client's error about `object`.
pub(crate) fn translate(place: &Place, object: String, error: &ClientError) -> StoreError {
    let texts = Texts {
        chain: chain(error),
        keys: key_forms(place, &object),
    };
    let has = |needle: &str| texts.has(needle);
    let remote = place.bucket.is_some();

    if has("NoSuchBucket") {
        let bucket = place.bucket.as_deref().unwrap_or_default();
        let at = place
            .endpoint
            .as_ref()
            .map(|endpoint| format!(" at {endpoint}"))
            .unwrap_or_default();
        return StoreError::new(
            StoreErrorKind::NoSuchBucket,
            object,
            format!("bucket '{bucket}' does not exist{at}"),
            "create it or check the name",
        );
    }
    // No static keys, and the machine's own identity service did not answer.
    if remote && (has("169.254.169.254") || has("latest/api/token") || has("security-credentials"))
    {
        return StoreError::new(
            StoreErrorKind::AccessDenied,
            object,
            "no credentials were found",
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_SKIP_SIGNATURE=true for a \
             public bucket)",
        );
    }
    let denied = matches!(
        error,
        ClientError::PermissionDenied { .. } | ClientError::Unauthenticated { .. }
    ) || has("403 Forbidden")
        || has("401 Unauthorized");
    if remote && denied {
        let code = texts.chain.iter().find_map(|text| xml_code(text));
        return StoreError::new(
            StoreErrorKind::AccessDenied,
            object,
            match code {
                Some(code) => format!("access denied ({code})"),
                None => "access denied".to_owned(),
            },
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's permissions",
        );
    }
    if let Some(cause) = unreachable_cause(error, &texts).filter(|_| remote) {
        let at = place.endpoint.as_deref().unwrap_or("the S3 endpoint");
        return StoreError::new(
            StoreErrorKind::Unreachable,
            object,
            format!("cannot reach {at}: {cause}"),
            match place.endpoint {
                Some(_) => "check AWS_ENDPOINT_URL and that the server runs",
                None => "check the network, AWS_REGION and AWS_ENDPOINT_URL",
            },
        );
    }
    if has("PermanentRedirect") || has("AuthorizationHeaderMalformed") || has("without LOCATION") {
        return StoreError::new(
            StoreErrorKind::Configuration,
            object,
            "the bucket is in another region",
            "set AWS_REGION to the bucket's region",
        );
    }
    match error {
        ClientError::NotFound { .. } => StoreError::new(
            StoreErrorKind::NotFound,
            object,
            "does not exist",
            "check the path",
        ),
        ClientError::AlreadyExists { .. } => {
            StoreError::new(StoreErrorKind::Precondition, object, "exists already", "")
        }
        ClientError::Precondition { .. } | ClientError::NotModified { .. } => StoreError::new(
            StoreErrorKind::Precondition,
            object,
            "changed while it was read",
            "run again",
        ),
        ClientError::NotSupported { .. } | ClientError::NotImplemented { .. } => StoreError::new(
            StoreErrorKind::Other,
            object,
            "the store does not support this request",
            "use a store with conditional writes and ranged reads",
        ),
        ClientError::InvalidPath { .. } => StoreError::new(
            StoreErrorKind::Configuration,
            object,
            "is no valid object name",
            "rename the object",
        ),
        _ => other(object, error, &texts),
    }
}

/// Whatever is left: a local file's own error, a server's 5xx, a broken answer.
fn other(object: String, error: &ClientError, texts: &Texts) -> StoreError {
    if let Some(io) = find_io(error) {
        return from_io(object, io);
    }
    let text = texts.chain.last().cloned().unwrap_or_default();
    let server = ["500 ", "502 ", "503 ", "504 ", "429 ", "SlowDown"]
        .iter()
        .any(|status| texts.says(&text, status));
    let cause = match xml_code(&text) {
        Some(code) => format!("the store answered {code}"),
        None => text,
    };
    let mut result = StoreError::new(
        StoreErrorKind::Other,
        object,
        cause,
        if server { "try again later" } else { "" },
    );
    result.retryable = server;
    result
}

/// Translates an operating system's error about a local object.
pub(crate) fn from_io(object: String, error: &std::io::Error) -> StoreError {
    use std::io::ErrorKind as Io;
    let (kind, cause, remedy) = match error.kind() {
        Io::NotFound => (
            StoreErrorKind::NotFound,
            "does not exist".to_owned(),
            "check the path",
        ),
        Io::PermissionDenied => (
            StoreErrorKind::AccessDenied,
            "permission denied".to_owned(),
            "give this user access to it",
        ),
        Io::NotADirectory => (
            StoreErrorKind::NotFound,
            "a part of the path is a file, not a folder".to_owned(),
            "check the path",
        ),
        Io::StorageFull | Io::QuotaExceeded => (
            StoreErrorKind::Other,
            "the disk is full".to_owned(),
            "free some space",
        ),
        Io::ReadOnlyFilesystem => (
            StoreErrorKind::AccessDenied,
            "the file system is read-only".to_owned(),
            "choose another folder",
        ),
        _ => (StoreErrorKind::Other, error.to_string(), ""),
    };
    StoreError::new(kind, object, cause, remedy)
}

/// What an error says. It may quote the object's key, which says nothing.
struct Texts {
    chain: Vec<String>,
    /// The key as it may stand in a text.
    keys: Vec<String>,
}

impl Texts {
    fn has(&self, needle: &str) -> bool {
        self.chain.iter().any(|text| self.says(text, needle))
    }

    /// Whether the text has this other than in the key.
    fn says(&self, text: &str, needle: &str) -> bool {
        if !self.keys.iter().any(|key| key.contains(needle)) {
            return text.contains(needle);
        }
        let without = self
            .keys
            .iter()
            .fold(text.to_owned(), |text, key| text.replace(key, ""));
        without.contains(needle)
    }
}

/// An object's key plain, as in a URL's path, as in its query, and as in XML.
fn key_forms(place: &Place, object: &str) -> Vec<String> {
    let key = match &place.bucket {
        Some(bucket) => object
            .strip_prefix(&format!("s3://{bucket}/"))
            .unwrap_or_default(),
        None => object.trim_start_matches('/'),
    };
    if key.is_empty() {
        return Vec::new();
    }
    let encoded = |kept: &[u8]| {
        key.bytes().fold(String::new(), |mut text, byte| {
            if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
            text
        })
    };
    let xml = key
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    vec![key.to_owned(), encoded(b"-._~/"), encoded(b"-._~"), xml]
}

/// The texts of an error and of everything that caused it, outermost first.
fn chain(error: &(dyn StdError + 'static)) -> Vec<String> {
    let mut texts = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    texts
}

fn find_io<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a std::io::Error> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            found = Some(io);
        }
        next = error.source();
    }
    found
}

/// Why nobody answered, if that is what happened.
fn unreachable_cause(error: &(dyn StdError + 'static), texts: &Texts) -> Option<String> {
    use std::io::ErrorKind as Io;
    if let Some(io) = find_io(error) {
        let cause = match io.kind() {
            Io::ConnectionRefused => Some("connection refused".to_owned()),
            Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe => {
                Some("the connection was cut".to_owned())
            }
            Io::TimedOut => Some("timed out".to_owned()),
            Io::HostUnreachable | Io::NetworkUnreachable => Some("no route to it".to_owned()),
            _ if io.to_string().contains("lookup address") => {
                Some("the host name is unknown".to_owned())
            }
            _ => None,
        };
        if cause.is_some() {
            return cause;
        }
    }
    let any = |needle: &str| texts.has(needle);
    if any("timed out") {
        Some("timed out".to_owned())
    } else if any("dns error") {
        Some("the host name is unknown".to_owned())
    } else if any("error trying to connect") || any("tcp connect error") {
        texts.chain.last().cloned()
    } else {
        None
    }
}

/// `<Code>…</Code>` of an S3 error document.
fn xml_code(text: &str) -> Option<String> {
    let start = text.find("<Code>")? + "<Code>".len();
    let end = text[start..].find("</Code>")? + start;
    let code = &text[start..end];
    (code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric())).then(|| code.to_owned())
}
