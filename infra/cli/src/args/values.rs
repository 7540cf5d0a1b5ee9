//! Values of options.

use std::str::FromStr;
use std::time::Duration;

pub(super) fn share<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    match text.parse::<T>() {
        Ok(value) if (T::from(0)..=T::from(1)).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not a number from 0 to 1")),
    }
}

pub(super) fn positive(text: &str) -> Result<usize, String> {
    up_to(1000, text)
}

/// How many columns and cells.
pub(super) fn number_of_cells(text: &str) -> Result<usize, String> {
    up_to(limn_cells::MOST, text)
}

fn up_to(most: usize, text: &str) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(value) if (1..=most).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not a number from 1 to {most}")),
    }
}

/// How many questions.
pub(super) fn number_of_questions(text: &str) -> Result<usize, String> {
    up_to(100_000, text)
}

/// How many values; none where it is off.
pub(super) fn number_of_values(text: &str) -> Result<u32, String> {
    match text.trim() {
        "off" => Ok(0),
        number => number
            .parse()
            .map_err(|_| format!("'{text}' is not a number of values, nor off")),
    }
}

/// A length of time; a number alone is of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok();
    match seconds.and_then(|it| Duration::try_from_secs_f64(it).ok()) {
        Some(time) => Ok(time),
        None => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

pub(super) fn ago(text: &str) -> Result<Duration, String> {
    let wrong = |_| "a length of time is expected, such as 30m, 12h, 1d or 2w".to_owned();
    humantime::parse_duration(text).map_err(wrong)
}

pub(super) fn silence(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < Duration::from_secs(1) {
        return Err("a process is not silent for being quiet for less than a second".to_owned());
    }
    Ok(time)
}

pub(super) fn old_enough(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < Duration::from_secs(3600) {
        return Err(
            "a running job may be about to publish what was written in the last hour".to_owned(),
        );
    }
    Ok(time)
}
