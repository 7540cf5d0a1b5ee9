//! What goes wrong with a web server, in terms that a person needs.

use std::time::Duration;

use http::StatusCode;

use crate::error::place::Place;
use crate::error::{StoreError, StoreErrorKind};

/// Why a web server did not give what it was asked for. Holds no address: one may hold a secret.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// It answered with an error, after as many attempts as make sense.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// Nobody answered, or the answer broke off.
    #[error("{0}")]
    Unreachable(String),
    /// The answer began and stopped.
    #[error("timed out: nothing came for {0:?}")]
    Stalled(Duration),
    /// It sends us elsewhere.
    #[error("the server redirects to {0}")]
    OtherServer(String),
    /// It gives files whole only, and this one is too large for that.
    #[error("the server gives files whole only, and this one has {0} bytes")]
    NoParts(u64),
    /// It does not say how long the file is, and it is too long to find out.
    #[error("the server does not say how long it is, and it has more than {0} bytes")]
    Endless(u64),
    /// The answer contradicts itself or what was asked.
    #[error("the server's answer makes no sense: {0}")]
    Nonsense(&'static str),
    /// It is no page of links.
    #[error("it is no page of links: the server says that it is {0}")]
    NoPage(String),
    /// Only reading is possible.
    #[error("a web server can only be read")]
    ReadOnly,
}

impl WebError {
    /// How often a request that fails so is sent at most.
    pub(crate) fn attempts(&self) -> u32 {
        match self {
            WebError::Status(status) if is_busy(*status) => 6,
            // It may be the file's fault as well.
            WebError::Status(StatusCode::INTERNAL_SERVER_ERROR) => 2,
            WebError::Unreachable(_) => 4,
            WebError::Stalled(_) => 2,
            _ => 1,
        }
    }

    /// As a failure to get `object`.
    pub(crate) fn to_store_error(&self, place: &Place, object: String) -> StoreError {
        let at = place.endpoint.as_deref().unwrap_or("the server");
        let cause = self.to_string();
        let (kind, cause, remedy) = match self {
            WebError::Status(StatusCode::NOT_FOUND | StatusCode::GONE) => (
                StoreErrorKind::NotFound,
                "does not exist".to_owned(),
                "check the address",
            ),
            WebError::Status(status)
                if matches!(
                    *status,
                    StatusCode::UNAUTHORIZED
                        | StatusCode::FORBIDDEN
                        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
                ) =>
            {
                (
                    StoreErrorKind::AccessDenied,
                    format!("access denied ({})", status.as_u16()),
                    "limn reads what everybody may read: open it, or copy it to a folder or bucket",
                )
            }
            WebError::Status(status) if is_busy(*status) => {
                return StoreError::new(StoreErrorKind::Other, object, cause, "try again later")
                    .that_may_pass();
            }
            WebError::Status(_) => (
                StoreErrorKind::Other,
                cause,
                "check the address and the server",
            ),
            WebError::Unreachable(why) => (
                StoreErrorKind::Unreachable,
                format!("cannot reach {at}: {why}"),
                "check the address and that the server runs",
            ),
            WebError::Stalled(_) => (
                StoreErrorKind::Unreachable,
                format!("cannot reach {at}: {cause}"),
                "try again later, or give it more time with LIMN_STALL_TIMEOUT",
            ),
            WebError::OtherServer(_) => (
                StoreErrorKind::Configuration,
                cause,
                "limn follows no link to another server: if that is where the data is, name its address",
            ),
            WebError::NoParts(_) => (
                StoreErrorKind::Other,
                cause,
                "let the server answer range requests, or copy the file to a folder or bucket",
            ),
            WebError::Endless(_) => (
                StoreErrorKind::Other,
                cause,
                "copy the file to a folder or bucket",
            ),
            WebError::Nonsense(_) => (StoreErrorKind::Other, cause, "check the server"),
            WebError::NoPage(_) => (
                StoreErrorKind::Configuration,
                cause,
                "name a folder whose server lists it, or one file, without '/' at the end",
            ),
            WebError::ReadOnly => (
                StoreErrorKind::AccessDenied,
                cause,
                "choose a folder, or an s3://, gs:// or az:// URL",
            ),
        };
        StoreError::new(kind, object, cause, remedy)
    }

    /// As the client library's kind of error.
    pub(crate) fn into_client(self, path: &str) -> object_store::Error {
        match self {
            WebError::Status(StatusCode::NOT_FOUND | StatusCode::GONE) => {
                object_store::Error::NotFound {
                    path: path.to_owned(),
                    source: Box::new(self),
                }
            }
            error => object_store::Error::Generic {
                store: "web server",
                source: Box::new(error),
            },
        }
    }
}

/// Whether an answer is about the server as it is now, and not about what was asked for.
pub(crate) fn is_busy(status: StatusCode) -> bool {
    let answers = [
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    answers.contains(&status)
}
