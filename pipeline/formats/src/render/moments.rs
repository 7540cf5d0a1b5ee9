//! Days and times as Arrow writes them, in ISO 8601, but by hand: that machinery takes longer than
//! decoding does. Years that do not have four digits are left to it.

use arrow::datatypes::TimeUnit;

/// 0000-01-01 and 9999-12-31, in days since 1970.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;
const SECONDS_A_DAY: i64 = 86_400;

/// A value as a number of units since 1970.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) value: i64,
    pub(super) unit: TimeUnit,
}

impl Moment {
    fn seconds_and_nanos(self) -> (i64, i64) {
        let a_second = match self.unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        };
        let rest = self.value.rem_euclid(a_second);
        (
            self.value.div_euclid(a_second),
            rest * (1_000_000_000 / a_second),
        )
    }

    /// What it is ordered by: microseconds since 1970, as [`limn_profile::infer::instant`] has them
    /// of its text.
    pub(super) fn instant(self) -> Option<f64> {
        let (seconds, nanos) = self.seconds_and_nanos();
        let is_written = DAYS.contains(&seconds.div_euclid(SECONDS_A_DAY));
        is_written.then(|| (seconds * 1_000_000 + nanos / 1_000) as f64)
    }

    /// Writes day and time, with a `Z` where it has a `zone`.
    pub(super) fn write(self, zone: bool, out: &mut String) -> Option<()> {
        let (seconds, nanos) = self.seconds_and_nanos();
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        write_day(seconds.div_euclid(SECONDS_A_DAY), &mut text)?;
        let second = seconds.rem_euclid(SECONDS_A_DAY) as u32;
        digits(second / 3600, &mut text[11..13]);
        digits(second / 60 % 60, &mut text[14..16]);
        digits(second % 60, &mut text[17..19]);
        digits(nanos as u32, &mut text[20..29]);
        let mut length = match nanos {
            0 => 19,
            _ if nanos % 1_000_000 == 0 => 23,
            _ if nanos % 1_000 == 0 => 26,
            _ => 29,
        };
        if zone {
            text[length] = b'Z';
            length += 1;
        }
        out.push_str(std::str::from_utf8(text.get(..length)?).ok()?);
        Some(())
    }
}

/// Writes a day by its number since 1970.
pub(super) fn day(day: i64, out: &mut String) -> Option<()> {
    let mut text = *b"0000-00-00";
    write_day(day, &mut text)?;
    out.push_str(std::str::from_utf8(&text).ok()?);
    Some(())
}

/// What a day is ordered by.
pub(super) fn instant_of_day(day: i64) -> Option<f64> {
    let is_written = DAYS.contains(&day);
    is_written.then(|| (day * SECONDS_A_DAY * 1_000_000) as f64)
}

/// Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days: years start in
/// March, so that the leap day comes last.
fn write_day(day: i64, text: &mut [u8]) -> Option<()> {
    if !DAYS.contains(&day) {
        return None;
    }
    // Days since 0000-03-01 of an era earlier, so that nothing is negative.
    let days = (day + 719_468 + 146_097) as u32;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + next - 400;
    digits(year, text.get_mut(0..4)?);
    digits(month, text.get_mut(5..7)?);
    digits(of_month, text.get_mut(8..10)?);
    Some(())
}

/// Fills a place with a number's last digits.
#[inline]
fn digits(mut number: u32, place: &mut [u8]) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use arrow::array::{
        Array, ArrayRef, Date32Array, TimestampMicrosecondArray, TimestampMillisecondArray,
        TimestampNanosecondArray, TimestampSecondArray,
    };
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    use limn_profile::infer;
    use proptest::prelude::*;

    use super::*;

    fn arrows(array: &dyn Array) -> String {
        let formatter = ArrayFormatter::try_new(array, &FormatOptions::new()).unwrap();
        formatter.value(0).to_string()
    }

    fn is_as_arrows(value: i64, unit: TimeUnit, zone: bool) {
        let utc = zone.then_some("+00:00");
        macro_rules! array {
            ($array:ident) => {
                std::sync::Arc::new($array::from(vec![value]).with_timezone_opt(utc)) as ArrayRef
            };
        }
        let array = match unit {
            TimeUnit::Second => array!(TimestampSecondArray),
            TimeUnit::Millisecond => array!(TimestampMillisecondArray),
            TimeUnit::Microsecond => array!(TimestampMicrosecondArray),
            TimeUnit::Nanosecond => array!(TimestampNanosecondArray),
        };
        let (moment, mut text) = (Moment { value, unit }, String::new());
        if moment.write(zone, &mut text).is_some() {
            assert_eq!(text, arrows(&array));
            assert_eq!(moment.instant(), infer::instant(&text).map(|it| it as f64));
        } else {
            assert_eq!(moment.instant(), None);
        }
    }

    #[test]
    fn only_years_of_four_digits_are_written() {
        for day_number in [*DAYS.start(), 0, -1, *DAYS.end()] {
            assert!(day(day_number, &mut String::new()).is_some());
        }
        for day_number in [DAYS.start() - 1, DAYS.end() + 1, i64::MIN, i64::MAX] {
            assert!(day(day_number, &mut String::new()).is_none());
        }
    }

    proptest! {
        #[test]
        fn days_are_as_arrows(number in -800_000i32..3_000_000) {
            let mut text = String::new();
            if day(i64::from(number), &mut text).is_some() {
                prop_assert_eq!(&text, &arrows(&Date32Array::from(vec![number])));
                let instant = infer::instant(&text).map(|it| it as f64);
                prop_assert_eq!(instant_of_day(i64::from(number)), instant);
            }
        }

        #[test]
        fn times_are_as_arrows(value: i64, by in 0u32..44, zone: bool) {
            let value = value >> by;
            for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
                is_as_arrows(value, unit, zone);
                is_as_arrows(value / 1_000_000 * 1_000_000, unit, zone);
            }
        }
    }
}
