//! How a store is asked: the options beside its location.

use std::time::Duration;

use crate::error::{StoreError, StoreErrorKind};
use crate::requests::stall;

/// The environment variable for [`Access::at_once`].
pub(crate) const CONCURRENCY: &str = "LIMN_CONCURRENCY";
/// Requests to an object store under way at once, by default.
const STORE_AT_ONCE: usize = 64;
/// Requests to a web server under way at once, by default: it is somebody else's, and may be small.
const WEB_AT_ONCE: usize = 8;
/// More at once than this is a mistake.
const MOST_AT_ONCE: usize = 1000;

/// How a store is asked. Where nothing is said, the environment says it, as the clouds' own tools
/// have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Requests carry no credentials, for public buckets. None are looked for.
    pub anonymous: bool,
    /// The requester pays for the requests, for buckets that demand it.
    pub requester_pays: bool,
    /// Requests under way at once, at most; by default 64, and 8 to a web server. Local disks have
    /// no such limit.
    pub at_once: Option<usize>,
}

/// The variables that a store is opened with.
#[derive(Clone)]
pub(crate) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Variables(variables.into_iter().collect())
    }

    /// These and others, of which those that are set already stay as they are.
    pub(crate) fn and(&self, others: Vec<(String, String)>) -> Variables {
        let mut all = self.0.clone();
        let others = others.into_iter();
        all.extend(others.filter(|(name, _)| self.get(name).is_none()));
        Variables(all)
    }

    /// A variable's value.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// A variable's value; one that is empty counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.is_empty())
    }

    /// Those whose names begin with `prefix` and that have a value.
    pub(crate) fn beginning<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.0.iter().map(|(name, value)| (&**name, &**value));
        all.filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty())
    }

    /// How long a request may make no progress.
    pub(crate) fn patience(&self) -> Result<Duration, StoreError> {
        let Some(text) = self.get(stall::VARIABLE) else {
            return Ok(stall::DEFAULT);
        };
        let time = humantime::parse_duration(text).ok();
        time.filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
            .ok_or_else(|| {
                wrong(
                    stall::VARIABLE,
                    text,
                    "is no time",
                    "write 30s or 2m, or unset it",
                )
            })
    }

    /// How many requests may be under way at once to an object store, or to a web server.
    pub(crate) fn at_once(&self, access: &Access, is_web: bool) -> Result<usize, StoreError> {
        if let Some(wanted) = access.at_once {
            return Ok(wanted.clamp(1, MOST_AT_ONCE));
        }
        let Some(text) = self.get(CONCURRENCY) else {
            return Ok(if is_web { WEB_AT_ONCE } else { STORE_AT_ONCE });
        };
        let wanted = text.trim().parse().ok();
        wanted
            .filter(|wanted| (1..=MOST_AT_ONCE).contains(wanted))
            .ok_or_else(|| {
                wrong(
                    CONCURRENCY,
                    text,
                    "is no number from 1 to 1000",
                    "write such a number, or unset it",
                )
            })
    }
}

fn wrong(name: &str, text: &str, cause: &str, remedy: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Configuration,
        format!("{name}={text}"),
        cause,
        remedy,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let owned = pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        Variables::new(owned)
    }

    #[test]
    fn a_flag_comes_before_the_environment_and_that_before_the_default() {
        let access = Access::default();
        let set = variables(&[(CONCURRENCY, "12")]);
        assert_eq!(variables(&[]).at_once(&access, false).unwrap(), 64);
        assert_eq!(variables(&[]).at_once(&access, true).unwrap(), 8);
        assert_eq!(set.at_once(&access, true).unwrap(), 12);
        let flagged = Access {
            at_once: Some(3),
            ..access
        };
        assert_eq!(set.at_once(&flagged, false).unwrap(), 3);
        for nonsense in ["0", "many", "1001", "-1"] {
            let error = variables(&[(CONCURRENCY, nonsense)]).at_once(&access, false);
            assert_eq!(
                error.unwrap_err().kind(),
                StoreErrorKind::Configuration,
                "{nonsense}"
            );
        }
    }
}
