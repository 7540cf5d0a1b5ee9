//! Why an issuer's keys are not known.

use reqwest::StatusCode;
use thiserror::Error;

/// What went wrong when an issuer was asked for its keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IssuerTrouble {
    /// It does not answer.
    #[error("{at}: {cause}")]
    Unreachable {
        /// The address.
        at: String,
        /// The last cause.
        cause: String,
    },
    /// It answers with an error.
    #[error("{at} answers with status {status}")]
    Status {
        /// The address.
        at: String,
        /// The status.
        status: StatusCode,
    },
    /// It answers with more than is read.
    #[error("{at} has more than {most} bytes")]
    TooLong {
        /// The address.
        at: String,
        /// Bytes that are read at most.
        most: usize,
    },
    /// Its discovery document is none.
    #[error("its discovery document cannot be read: {0}")]
    Discovery(String),
    /// The document of another issuer.
    #[error(
        "its discovery document is that of '{0}'; if this is it, give it to --oidc-issuer letter by letter"
    )]
    OtherIssuer(String),
    /// The document names no address of keys.
    #[error("its keys are at no address: {0}")]
    KeyAddress(String),
    /// The keys could be changed on the way.
    #[error("its keys are at an address without TLS")]
    Insecure,
    /// What is at the address is no set of keys.
    #[error("its keys are no JSON Web Key Set (column {0})")]
    KeySet(usize),
    /// More keys than are read.
    #[error("its set has {found} keys, and at most {most} are read")]
    TooManyKeys {
        /// Keys in the set.
        found: usize,
        /// Keys that are read at most.
        most: usize,
    },
}
