//! A moment, as a person says it: a date, or how long ago.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime};
use serde::{Deserialize, Serialize};

/// A moment: `2024-01-31` (UTC, at its beginning), `2024-01-31T12:00:00Z`, or `90d` before a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment {
    text: String,
    said: Said,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// Milliseconds since 1970.
    At(i64),
    Ago(Duration),
}

impl Moment {
    /// Whether it is an age, which later runs see from another moment.
    pub fn is_relative(&self) -> bool {
        matches!(self.said, Said::Ago(_))
    }

    /// The moment in milliseconds since 1970, as seen from a run at `now_ms`.
    pub fn at(&self, now_ms: i64) -> i64 {
        match self.said {
            Said::At(ms) => ms,
            Said::Ago(time) => {
                let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
                now_ms.saturating_sub(time)
            }
        }
    }
}

/// A text is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no time: write how long ago, such as 12h, 90d or 1year, or a date, such as 2024-01-31"
)]
pub struct NoMoment(String);

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let text = text.trim();
        let said = if let Ok(date) = text.parse::<NaiveDate>() {
            Said::At(date.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
        } else if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            Said::At(time.timestamp_millis())
        } else if let Ok(time) = humantime::parse_duration(text) {
            Said::Ago(time)
        } else {
            return Err(NoMoment(text.to_owned()));
        };
        Ok(Moment {
            text: text.to_owned(),
            said,
        })
    }
}

impl TryFrom<String> for Moment {
    type Error = NoMoment;

    fn try_from(text: String) -> Result<Self, NoMoment> {
        text.parse()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> String {
        moment.text
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
