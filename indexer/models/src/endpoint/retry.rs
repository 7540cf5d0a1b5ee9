//! How long to wait before a request is sent again: exponential backoff with full jitter, and what
//! the server asks for.
//!
//! Full jitter (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015): the wait
//! is drawn evenly from zero to the bound, so callers that failed together do not come back
//! together.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rand::Rng;

/// The bound of the first wait; it doubles with every attempt.
const FIRST: Duration = Duration::from_millis(500);
/// The longest bound.
const LONGEST: Duration = Duration::from_secs(30);
/// Where a server asks for a longer wait than this, the caller gets the error instead.
const PATIENCE: Duration = Duration::from_secs(120);

/// The wait after `failures` failed attempts; `None` where the server asks for more than is
/// waited.
pub(super) fn wait(failures: u32, asked: Option<Duration>) -> Option<Duration> {
    let bound = FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    let drawn = bound
        .min(LONGEST)
        .mul_f64(rand::rng().random_range(0.0..=1.0));
    match asked {
        Some(asked) if asked > PATIENCE => None,
        // Spread above what was asked for: all callers were asked for the same.
        Some(asked) => Some(asked + drawn.mul_f64(0.5)),
        None => Some(drawn),
    }
}

/// The wait that a `Retry-After` header asks for (RFC 9110, section 10.2.3): seconds, or a date.
pub(super) fn asked(header: &str, now: DateTime<Utc>) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTime::parse_from_rfc2822(header).ok()?;
    // A date that has passed asks for nothing.
    Some((date.to_utc() - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn waits_grow_and_are_bounded() {
        for failures in [1, 2, 3, 10, 1000, u32::MAX] {
            let bound = FIRST.as_secs_f64() * 2_f64.powi(failures.min(20) as i32 - 1);
            let waits: Vec<f64> = (0..200)
                .map(|_| wait(failures, None).unwrap().as_secs_f64())
                .collect();
            let longest = waits.iter().copied().fold(0.0, f64::max);
            let bound = bound.min(LONGEST.as_secs_f64());
            assert!(
                longest <= bound && longest > bound / 2.0,
                "{longest} of {bound}"
            );
            assert!(waits.iter().any(|it| *it < bound / 2.0), "no jitter");
        }
    }

    #[test]
    fn a_server_is_waited_for_as_long_as_it_asks_within_reason() {
        let asked = Some(Duration::from_secs(7));
        let wait_for = |failures| wait(failures, asked).unwrap();
        assert!(wait_for(1) >= Duration::from_secs(7) && wait_for(1) < Duration::from_secs(8));
        assert_eq!(wait(1, Some(PATIENCE + Duration::from_secs(1))), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = DateTime::parse_from_rfc2822("Sun, 22 Nov 2026 04:00:00 GMT")
            .unwrap()
            .to_utc();
        for (header, seconds) in [
            ("3", Some(3)),
            (" 120 ", Some(120)),
            ("Sun, 22 Nov 2026 04:00:09 GMT", Some(9)),
            ("Sun, 22 Nov 2026 03:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("NaN", None),
            ("1e300", None),
            ("", None),
        ] {
            assert_eq!(
                asked(header, now),
                seconds.map(Duration::from_secs),
                "{header}"
            );
        }
    }
}
