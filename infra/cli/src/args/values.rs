//! Values of options.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Why a text is no value of an option. The command line names the option.
#[derive(Debug, Error)]
pub(super) enum ValueError {
    #[error("'{0}' is not a number from 0 to 1")]
    NoShare(String),
    #[error("'{text}' is not a number from 1 to {most}")]
    NoCount { text: String, most: usize },
    #[error("'{0}' is not a number of values, nor off")]
    NoNumberOfValues(String),
    #[error(transparent)]
    Duration(#[from] humantime::DurationError),
    #[error("a time of {0} or more is expected, such as 10s or 5min")]
    TooShort(humantime::FormattedDuration),
    #[error("'{text}' is no size: write it as {examples}")]
    NoSize {
        text: String,
        examples: &'static str,
    },
    #[error("'{0}' is not two or three prices such as 0.15,0.6,0.075")]
    NoPrices(String),
    /// What is wrong, or what is expected instead.
    #[error("{0}")]
    Wrong(&'static str),
}

pub(super) fn share<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, ValueError> {
    match text.parse::<T>() {
        Ok(value) if (T::from(0)..=T::from(1)).contains(&value) => Ok(value),
        _ => Err(ValueError::NoShare(text.to_owned())),
    }
}

pub(super) fn positive(text: &str) -> Result<usize, ValueError> {
    up_to(1000, text)
}

/// Numbers of a vector.
pub(super) fn dimensions(text: &str) -> Result<usize, ValueError> {
    up_to(limn_models::MOST_DIMENSIONS, text)
}

/// How many columns and cells.
pub(super) fn number_of_cells(text: &str) -> Result<usize, ValueError> {
    up_to(limn_cells::MOST, text)
}

fn up_to(most: usize, text: &str) -> Result<usize, ValueError> {
    match text.trim().parse::<usize>() {
        Ok(value) if (1..=most).contains(&value) => Ok(value),
        _ => Err(ValueError::NoCount {
            text: text.to_owned(),
            most,
        }),
    }
}

/// How many questions.
pub(super) fn number_of_questions(text: &str) -> Result<usize, ValueError> {
    up_to(100_000, text)
}

/// How many values; none where it is off.
pub(super) fn number_of_values(text: &str) -> Result<u32, ValueError> {
    match text.trim() {
        "off" => Ok(0),
        number => number
            .parse()
            .map_err(|_| ValueError::NoNumberOfValues(text.to_owned())),
    }
}

/// A length of time; a number alone is of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, ValueError> {
    let seconds = text.trim().parse().ok();
    match seconds.and_then(|it| Duration::try_from_secs_f64(it).ok()) {
        Some(time) => Ok(time),
        None => Ok(humantime::parse_duration(text)?),
    }
}

pub(super) fn ago(text: &str) -> Result<Duration, ValueError> {
    let expected = "a length of time is expected, such as 30m, 12h, 1d or 2w";
    humantime::parse_duration(text).map_err(|_| ValueError::Wrong(expected))
}

pub(super) fn silence(text: &str) -> Result<Duration, ValueError> {
    let time = duration(text)?;
    if time < Duration::from_secs(1) {
        return Err(ValueError::Wrong(
            "a process is not silent for being quiet for less than a second",
        ));
    }
    Ok(time)
}

pub(super) fn old_enough(text: &str) -> Result<Duration, ValueError> {
    let time = duration(text)?;
    if time < Duration::from_secs(3600) {
        return Err(ValueError::Wrong(
            "a running job may be about to publish what was written in the last hour",
        ));
    }
    Ok(time)
}
