//! What goes wrong with a catalog, in terms that a person needs. Nothing here holds a secret.

use std::time::Duration;

use http::StatusCode;

use super::signing::Signs;
use crate::error::{StoreError, StoreErrorKind};
use crate::web::is_busy;

/// What helps where a signed request is denied.
const SIGNED: &str = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, the region and this machine's clock; or ask for the right to read it";

/// Why a catalog did not give what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    /// It answered with an error, after as many attempts as make sense; with what it said, or
    /// nothing.
    #[error("the catalog answered {0}{1}")]
    Status(StatusCode, Said),
    /// Nobody answered, or the answer broke off.
    #[error("cannot reach the catalog: {0}")]
    Unreachable(String),
    /// The answer began and stopped.
    #[error("cannot reach the catalog: timed out after {0:?}")]
    Stalled(Duration),
    /// It sends us elsewhere.
    #[error("the catalog redirects to {0}")]
    Redirected(String),
    /// An answer is longer than it may be.
    #[error("the catalog's answer has more than {0} bytes")]
    TooLong(u64),
    /// More names than there may be.
    #[error("the catalog has more than {0}")]
    TooMany(String),
    /// An answer is not what the specification says.
    #[error("the catalog's answer makes no sense: {0}")]
    Nonsense(String),
    /// It wants signed requests, and limn does not sign them.
    #[error("the catalog wants requests signed by AWS (SigV4)")]
    Unsigned(Signs),
    /// Nobody gives credentials to sign with.
    #[error("no credentials of AWS were found to sign requests with")]
    NoCredentials,
    /// limn does not do what it would take.
    #[error("{cause}")]
    Refused { cause: String, remedy: &'static str },
    /// The store of a table's files cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Only reading is possible.
    #[error("a catalog can only be read")]
    ReadOnly,
}

/// What a catalog said of an error, in one line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said(pub(crate) String);

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_str() {
            "" => Ok(()),
            said => write!(f, " ({said})"),
        }
    }
}

impl CatalogError {
    /// How often a request that fails so is sent at most.
    pub(super) fn attempts(&self) -> u32 {
        match self {
            CatalogError::Status(StatusCode::INTERNAL_SERVER_ERROR, _) => 2,
            CatalogError::Status(status, _) if is_busy(*status) => 4,
            CatalogError::Unreachable(_) => 3,
            CatalogError::Stalled(_) => 2,
            _ => 1,
        }
    }

    pub(super) fn is_status(&self, among: &[StatusCode]) -> bool {
        matches!(self, CatalogError::Status(status, _) if among.contains(status))
    }

    /// Whether it is about one table or namespace, and says nothing of the catalog's others.
    pub(super) fn is_of_one(&self) -> bool {
        match self {
            CatalogError::Status(status, _) => *status != StatusCode::UNAUTHORIZED,
            CatalogError::TooLong(_)
            | CatalogError::Nonsense(_)
            | CatalogError::Refused { .. }
            | CatalogError::Store(_) => true,
            _ => false,
        }
    }

    /// As a failure to get `object` from a catalog on `host`, with requests that are signed or not.
    pub(super) fn to_store_error(&self, object: String, host: &str, is_signed: bool) -> StoreError {
        let named;
        let (kind, remedy) = match self {
            CatalogError::Store(error) => return error.clone(),
            CatalogError::Status(status, _) => match *status {
                StatusCode::NOT_FOUND => (
                    StoreErrorKind::NotFound,
                    "check the address, the warehouse and the table",
                ),
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if is_signed => {
                    (StoreErrorKind::AccessDenied, SIGNED)
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    named = format!(
                        "set LIMN_ICEBERG_TOKEN or LIMN_ICEBERG_CREDENTIAL (for AWS's signatures LIMN_ICEBERG_SIGNING_NAME), and LIMN_ICEBERG_HOST={host}; or ask for the right to read it"
                    );
                    (StoreErrorKind::AccessDenied, named.as_str())
                }
                status if is_busy(status) || status.is_server_error() => {
                    let error = StoreError::new(
                        StoreErrorKind::Other,
                        object,
                        self.to_string(),
                        "try again later",
                    );
                    return error.that_may_pass();
                }
                _ => (StoreErrorKind::Other, "check the address and the warehouse"),
            },
            CatalogError::Unreachable(_) => (
                StoreErrorKind::Unreachable,
                "check the address and that the catalog runs",
            ),
            CatalogError::Stalled(_) => (
                StoreErrorKind::Unreachable,
                "try again later, or give it more time with LIMN_STALL_TIMEOUT",
            ),
            CatalogError::Redirected(_) => (
                StoreErrorKind::Configuration,
                "limn follows it nowhere with a token: if that is where the catalog is, name its address",
            ),
            CatalogError::TooLong(_) | CatalogError::Nonsense(_) => {
                (StoreErrorKind::Other, "check the address and the catalog")
            }
            CatalogError::TooMany(_) => (StoreErrorKind::Other, "name a smaller warehouse"),
            CatalogError::Unsigned(Signs::Anonymous) => {
                (StoreErrorKind::Configuration, "leave --anonymous away")
            }
            CatalogError::Unsigned(_) => {
                named = format!(
                    "set LIMN_ICEBERG_HOST={host} if it may have them signed with your keys"
                );
                (StoreErrorKind::Configuration, named.as_str())
            }
            CatalogError::NoCredentials => (
                StoreErrorKind::AccessDenied,
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ),
            CatalogError::Refused { remedy, .. } => (StoreErrorKind::Configuration, *remedy),
            CatalogError::ReadOnly => (
                StoreErrorKind::AccessDenied,
                "choose a folder, or an s3://, gs:// or az:// URL",
            ),
        };
        StoreError::new(kind, object, self.to_string(), remedy)
    }
}
