//! A client's error in this crate's terms: what it says anywhere in its chain of causes decides the
//! kind, the cause and the remedy.

use std::error::Error as StdError;

use object_store::Error as ClientError;

use super::place::{Place, Provider};
use super::{StoreError, StoreErrorKind, from_io};
use crate::web::WebError;

/// Translates a client's error about `object`.
pub(crate) fn translate(place: &Place, object: String, error: &ClientError) -> StoreError {
    if let Some(error) = find::<WebError>(error) {
        return error.to_store_error(place, object);
    }
    // Of a store behind a catalog.
    if let Some(error) = find::<StoreError>(error) {
        return error.clone();
    }
    let texts = Texts {
        chain: chain(error),
        keys: key_forms(place, &object),
    };
    let found = no_bucket(place, &texts)
        .or_else(|| no_access(place, error, &texts))
        .or_else(|| no_answer(place, error, &texts))
        .or_else(|| other_region(place, &texts));
    match found {
        Some((kind, cause, remedy)) => StoreError::new(kind, object, cause, remedy),
        None => by_variant(object, error, &texts),
    }
}

/// An error's kind, its cause and its remedy.
type Found = (StoreErrorKind, String, &'static str);

fn no_bucket(place: &Place, texts: &Texts) -> Option<Found> {
    let says = ["NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"];
    if !says.into_iter().any(|it| texts.has(it)) {
        return None;
    }
    let bucket = place.bucket.as_deref().unwrap_or_default();
    let at = place
        .endpoint
        .as_ref()
        .map(|endpoint| format!(" at {endpoint}"))
        .unwrap_or_default();
    Some((
        StoreErrorKind::NoSuchBucket,
        format!("{} '{bucket}' does not exist{at}", place.words().bucket),
        "create it or check the name",
    ))
}

/// No credentials, or none that may do this.
fn no_access(place: &Place, error: &ClientError, texts: &Texts) -> Option<Found> {
    let has = |needle: &str| texts.has(needle);
    let (words, remote) = (place.words(), place.is_remote());
    // No static keys, and the machine's own identity service did not answer.
    let identity = [
        "169.254.169.254",
        "latest/api/token",
        "security-credentials",
        "metadata.google.internal",
        "metadata/identity",
    ];
    let (cause, remedy) = if remote && identity.into_iter().any(has) {
        ("no credentials were found".to_owned(), words.no_credentials)
    } else if place.provider == Provider::Google && has("UserProjectMissing") {
        (
            "whoever asks has to pay for the requests to this bucket (UserProjectMissing)"
                .to_owned(),
            "use --requester-pays, with GOOGLE_CLOUD_QUOTA_PROJECT set to your project's id",
        )
    } else {
        let denied = matches!(
            error,
            ClientError::PermissionDenied { .. } | ClientError::Unauthenticated { .. }
        ) || has("403 Forbidden")
            || has("401 Unauthorized")
            || has("PublicAccessNotPermitted");
        if !remote || !denied {
            return None;
        }
        let cause = match texts.chain.iter().find_map(|text| xml_code(text)) {
            Some(code) => format!("access denied ({code})"),
            None => "access denied".to_owned(),
        };
        (cause, words.denied)
    };
    Some((StoreErrorKind::AccessDenied, cause, remedy))
}

fn no_answer(place: &Place, error: &ClientError, texts: &Texts) -> Option<Found> {
    let cause = unreachable_cause(error, texts).filter(|_| place.is_remote())?;
    let words = place.words();
    let at = place.endpoint.as_deref().unwrap_or(words.service);
    let remedy = match place.endpoint {
        Some(_) => words.endpoint_silent,
        None => words.service_silent,
    };
    Some((
        StoreErrorKind::Unreachable,
        format!("cannot reach {at}: {cause}"),
        remedy,
    ))
}

fn other_region(place: &Place, texts: &Texts) -> Option<Found> {
    let says = [
        "PermanentRedirect",
        "AuthorizationHeaderMalformed",
        "without LOCATION",
    ];
    let is_said = place.provider == Provider::S3 && says.into_iter().any(|it| texts.has(it));
    is_said.then(|| {
        (
            StoreErrorKind::Configuration,
            "the bucket is in another region".to_owned(),
            "set AWS_REGION to the bucket's region",
        )
    })
}

/// What the client itself makes of it.
fn by_variant(object: String, error: &ClientError, texts: &Texts) -> StoreError {
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
        _ => other(object, error, texts),
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
    let kind = StoreErrorKind::Other;
    if server {
        StoreError::new(kind, object, cause, "try again later").that_may_pass()
    } else {
        StoreError::new(kind, object, cause, "")
    }
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
    let below = object.strip_prefix(&place.root).unwrap_or_default();
    let key = below.trim_start_matches('/');
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

/// The innermost cause of this type.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        found = error.downcast_ref::<T>().or(found);
        next = error.source();
    }
    found
}

fn find_io<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a std::io::Error> {
    find(error)
}

/// Why nobody answered, if that is what happened.
fn unreachable_cause(error: &(dyn StdError + 'static), texts: &Texts) -> Option<String> {
    unanswered(error, &|needle| texts.has(needle)).or_else(|| {
        let connecting = texts.has("error trying to connect") || texts.has("tcp connect error");
        connecting.then(|| texts.chain.last().cloned())?
    })
}

/// Why a request of ours got no answer.
pub(crate) fn why_unanswered(error: &reqwest::Error) -> String {
    let mut texts = vec![];
    let mut next: Option<&dyn StdError> = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    let says = |needle: &str| texts.iter().any(|text| text.contains(needle));
    let known = unanswered(error, &says);
    known.unwrap_or_else(|| texts.pop().unwrap_or_else(|| "no answer".to_owned()))
}

/// Why nobody answered, as far as the system's own error or a known text in it shows.
fn unanswered(error: &(dyn StdError + 'static), says: &dyn Fn(&str) -> bool) -> Option<String> {
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
    if says("timed out") {
        Some("timed out".to_owned())
    } else if says("dns error") {
        Some("the host name is unknown".to_owned())
    } else {
        None
    }
}

/// `<Code>…</Code>` of an error document.
fn xml_code(text: &str) -> Option<String> {
    let start = text.find("<Code>")? + "<Code>".len();
    let end = text[start..].find("</Code>")? + start;
    let code = &text[start..end];
    (code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric())).then(|| code.to_owned())
}
