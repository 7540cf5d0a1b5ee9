//! What errors may say of addresses and transfers: everything but secrets, on one line.

use std::error::Error;

use reqwest::Url;

/// An address without a user, a password or a query, which hold secrets.
pub(crate) fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // A URL with a host may have a user, so these do not fail.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// A transfer's error, without its address: servers redirect to addresses that hold a signature.
pub(crate) fn without_address(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

/// What an error comes down to: the last of its causes.
pub(crate) fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// An error with its causes on one line: reqwest keeps the informative part in the causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}
