//! What kind of value a cell's text is: integer, float, boolean, date, timestamp or text.
//!
//! Text files carry no types, so every cell of a CSV file is classified: this runs once per cell and
//! is therefore written by hand, one look at the bytes, no allocation, no regular expressions. How
//! the classes of a column's cells add up to the column's type is the column builder's business.
//!
//! The rules lean towards text wherever a number would lose something: `007` and `01234` are text
//! (identifiers, post codes), so are integers beyond 64 bits, `1,234`, `12 %` and `1.2.3`.

use crate::data_type::DataType;

/// Classifies one cell.
///
/// | class | looks like |
/// |---|---|
/// | integer | `0`, `-12`, `+7`; within 64 bits, no leading zeros |
/// | float | `1.5`, `.5`, `-2e-3`, `inf`; a digit is required |
/// | boolean | `true`, `false` in any case |
/// | date | `2024-02-29`, `2024/2/9`, `29.02.2024`, `2/29/2024` with a possible day and month |
/// | timestamp | a date, `T` or a space, and `hh:mm[:ss[.fraction]]`, perhaps with `Z` or an offset |
///
/// Everything else, the empty cell too, is text. Surrounding white space does not count.
pub fn classify(text: &str) -> DataType {
    let cell = text.trim_ascii().as_bytes();
    let Some(&first) = cell.first() else {
        return DataType::Text;
    };
    match first {
        b'0'..=b'9' => number_class(cell)
            .or_else(|| date(cell).map(|(class, _)| class))
            .unwrap_or(DataType::Text),
        b'+' | b'-' | b'.' => number_class(cell).unwrap_or(DataType::Text),
        b't' | b'T' if cell.eq_ignore_ascii_case(b"true") => DataType::Boolean,
        b'f' | b'F' if cell.eq_ignore_ascii_case(b"false") => DataType::Boolean,
        b'i' | b'I' if is_infinity(cell) => DataType::Float,
        _ => DataType::Text,
    }
}

/// The class of a cell, and its [`number`] or [`instant`] if it has one, at one go.
pub(crate) fn read(text: &str) -> (DataType, Option<f64>) {
    let cell = text.trim_ascii();
    let bytes = cell.as_bytes();
    let class = match bytes.first() {
        Some(b'0'..=b'9') => number_class(bytes),
        _ => Some(classify(cell)),
    };
    match class {
        Some(number @ (DataType::Integer | DataType::Float)) => (number, value(cell)),
        Some(class) => (class, None),
        None => match date(bytes) {
            Some((class, instant)) => (class, Some(instant as f64)),
            None => (DataType::Text, None),
        },
    }
}

/// Whether a cell says that there is no value: empty, or one of the spellings that databases, R and
/// pandas write for it. `None`, `-` and `?` are left alone: they are ordinary words in many tables.
pub fn is_null(text: &str) -> bool {
    // The length test keeps this off the path of nearly every cell.
    match text.len() {
        0 => true,
        1 => false,
        2..=4 => matches!(
            text,
            "NA" | "\\N" | "N/A" | "n/a" | "NaN" | "nan" | "NULL" | "null" | "#N/A" | "<NA>"
        ),
        _ => false,
    }
}

/// The value of a cell that [`classify`] calls integer or float: what such columns are ordered by.
pub fn number(text: &str) -> Option<f64> {
    let cell = text.trim_ascii();
    let bytes = cell.as_bytes();
    number_class(bytes).or_else(|| is_infinity(bytes).then_some(DataType::Float))?;
    value(cell)
}

/// The value of a cell that is a number.
fn value(cell: &str) -> Option<f64> {
    let bytes = cell.as_bytes();
    let body = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if body.len() > POWERS.len() {
        return cell.parse().ok();
    }
    // So few digits are exact, as is the power of ten that divides them: only the quotient is rounded.
    let (mut digits, mut behind) = (0u64, None);
    for byte in body {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                behind = behind.map(|behind: usize| behind + 1);
            }
            b'.' if behind.is_none() => behind = Some(0),
            _ => return cell.parse().ok(),
        }
    }
    let value = digits as f64 / POWERS.get(behind.unwrap_or(0))?;
    Some(if body.len() < bytes.len() {
        -value
    } else {
        value
    })
}

/// Powers of ten.
const POWERS: [f64; 15] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
];

/// The instant of a cell that [`classify`] calls date or timestamp, in microseconds since 1970 (UTC,
/// also where the cell names no zone): what such columns are ordered by.
///
/// In `1/2/2024` the first number is taken as the month, in `1.2.2024` and `1-2-2024` the second;
/// where that month is impossible, the other.
pub fn instant(text: &str) -> Option<i64> {
    let cell = text.trim_ascii().as_bytes();
    if !cell.first()?.is_ascii_digit() {
        return None;
    }
    date(cell).map(|(_, instant)| instant)
}

fn is_infinity(cell: &[u8]) -> bool {
    cell.eq_ignore_ascii_case(b"inf") || cell.eq_ignore_ascii_case(b"infinity")
}

/// Integer or float, or none.
fn number_class(cell: &[u8]) -> Option<DataType> {
    let signed = matches!(cell.first(), Some(b'+' | b'-'));
    let body = &cell[usize::from(signed)..];
    let whole = digits(body);
    if whole > 1 && body[0] == b'0' {
        return None;
    }
    if whole == body.len() {
        if whole == 0 {
            return None;
        }
        let fits = whole <= 18
            || std::str::from_utf8(cell)
                .is_ok_and(|text| text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok());
        return fits.then_some(DataType::Integer);
    }
    let mut rest = &body[whole..];
    let mut fraction = 0;
    if rest[0] == b'.' {
        fraction = digits(&rest[1..]);
        rest = &rest[1 + fraction..];
    }
    if whole + fraction == 0 {
        return (signed && is_infinity(rest)).then_some(DataType::Float);
    }
    match rest {
        [] => Some(DataType::Float),
        [b'e' | b'E', exponent @ ..] => {
            let sign = usize::from(matches!(exponent.first(), Some(b'+' | b'-')));
            let power = digits(&exponent[sign..]);
            (power > 0 && sign + power == exponent.len()).then_some(DataType::Float)
        }
        _ => None,
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(bytes.len())
}

/// One to four digits as a number, and what follows.
fn small(bytes: &[u8]) -> Option<(u32, usize, &[u8])> {
    let length = digits(bytes);
    if length == 0 || length > 4 {
        return None;
    }
    let value = bytes[..length]
        .iter()
        .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, length, &bytes[length..]))
}

/// A date or timestamp and its instant, or none. The cell starts with a digit.
fn date(cell: &[u8]) -> Option<(DataType, i64)> {
    let (first, first_length, rest) = small(cell)?;
    let (&separator, rest) = rest.split_first()?;
    if !matches!(separator, b'-' | b'/' | b'.') {
        return None;
    }
    let (second, second_length, rest) = small(rest)?;
    let rest = rest.strip_prefix(&[separator])?;
    let (third, third_length, rest) = small(rest)?;
    let day = match (first_length, second_length, third_length) {
        (4, 1 | 2, 1 | 2) => day_number(first, second, third)?,
        // Which of the two is the month cannot be told from one cell: with slashes the first is
        // tried as the month before the second, otherwise the second before the first.
        (1 | 2, 1 | 2, 4) => {
            let (month_first, day_first) = (
                day_number(third, first, second),
                day_number(third, second, first),
            );
            if separator == b'/' {
                month_first.or(day_first)?
            } else {
                day_first.or(month_first)?
            }
        }
        _ => return None,
    };
    let midnight = day * 86_400_000_000;
    match rest {
        [] => Some((DataType::Date, midnight)),
        [b'T' | b't' | b' ', time @ ..] => {
            Some((DataType::Timestamp, midnight + time_of_day(time)?))
        }
        _ => None,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar; none for a day that is not in it.
pub(crate) fn day_number(year: u32, month: u32, day: u32) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    // Howard Hinnant, "chrono-compatible low-level date algorithms", days_from_civil: years start
    // in March, so that the leap day comes last.
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Microseconds of `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction`, less the zone's offset if there is one.
pub(crate) fn time_of_day(time: &[u8]) -> Option<i64> {
    let (hour, hour_length, rest) = small(time)?;
    let (minute, 2, mut rest) = rest.strip_prefix(b":").and_then(small)? else {
        return None;
    };
    if hour_length > 2 || hour > 24 || minute > 59 {
        return None;
    }
    let mut micros = i64::from(hour * 3600 + minute * 60) * 1_000_000;
    if let Some(seconds) = rest.strip_prefix(b":") {
        let (second, 2, after) = small(seconds)? else {
            return None;
        };
        if second > 60 {
            return None;
        }
        micros += i64::from(second) * 1_000_000;
        rest = after;
        if let Some(fraction) = rest.strip_prefix(b".").or(rest.strip_prefix(b",")) {
            let length = digits(fraction);
            if length == 0 {
                return None;
            }
            let padded = fraction[..length].iter().chain(b"000000").take(6);
            micros += padded.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            rest = &fraction[length..];
        }
    }
    match rest.strip_prefix(b" ").unwrap_or(rest) {
        [] | [b'Z' | b'z'] | b"UTC" | b"GMT" => Some(micros),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, minutes) = match offset {
                [_, _] => (offset, &b"00"[..]),
                [_, _, b':', _, _] => (&offset[..2], &offset[3..]),
                [_, _, _, _] => offset.split_at(2),
                _ => return None,
            };
            let (hours, 2, []) = small(hours)? else {
                return None;
            };
            let (minutes, 2, []) = small(minutes)? else {
                return None;
            };
            let offset = i64::from(hours * 3600 + minutes * 60) * 1_000_000;
            Some(if *sign == b'+' {
                micros - offset
            } else {
                micros + offset
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn all(expected: DataType, cells: &[&str]) {
        for cell in cells {
            assert_eq!(classify(cell), expected, "{cell:?}");
        }
    }

    #[test]
    fn integers() {
        all(
            DataType::Integer,
            &[
                "0",
                "7",
                "-12",
                "+3",
                " 42 ",
                "9223372036854775807",
                "18446744073709551615",
            ],
        );
    }

    #[test]
    fn floats() {
        all(
            DataType::Float,
            &[
                "1.5",
                ".5",
                "5.",
                "-0.25",
                "1e5",
                "2.5E-3",
                "+1.e+2",
                "inf",
                "-Infinity",
            ],
        );
    }

    #[test]
    fn booleans() {
        all(DataType::Boolean, &["true", "FALSE", "True"]);
    }

    #[test]
    fn dates() {
        all(
            DataType::Date,
            &[
                "2024-02-29",
                "2024/2/9",
                "29.02.2024",
                "2/29/2024",
                "31/12/1999",
                "0001-01-01",
            ],
        );
    }

    #[test]
    fn timestamps() {
        all(
            DataType::Timestamp,
            &[
                "2024-02-29T12:30",
                "2024-02-29 12:30:59",
                "2024-02-29 12:30:59.123456789",
                "2024-02-29T12:30:59Z",
                "2024-02-29T12:30:59+02:00",
                "2024-02-29 12:30:59 UTC",
                "2024-02-29 12:30:59+0200",
                "2024-02-29 12:30:59-02",
                "12/31/1999 23:59:59",
            ],
        );
    }

    #[test]
    fn text() {
        all(
            DataType::Text,
            &[
                "",
                " ",
                "-",
                ".",
                "+",
                "e5",
                "-e5",
                "007",
                "00.5",
                "1,234",
                "12%",
                "1.2.3",
                "1e",
                "1e+",
                "99999999999999999999",
                "2023-02-29",
                "2024-13-01",
                "2024-00-10",
                "32.12.2024",
                "2024-1",
                "2024-02-29T25:00",
                "2024-02-29T12",
                "2024-02-29 12:30:59x",
                "12:30",
                "truely",
                "infer",
                "20240229T",
                "1-800-555",
                "192.168.0.1",
                "é",
                "１２",
                "0x1F",
                "NaNa",
            ],
        );
    }

    #[test]
    fn ambiguous_days() {
        assert_eq!(instant("1/2/2024"), instant("2024-01-02"));
        assert_eq!(instant("1.2.2024"), instant("2024-02-01"));
        assert_eq!(instant("31/12/1999"), instant("1999-12-31"));
        assert_eq!(instant("1970-01-02 00:00:01.5"), Some(86_401_500_000));
    }

    #[test]
    fn nulls() {
        for cell in [
            "", "NA", "NULL", "null", "nan", "NaN", "\\N", "n/a", "N/A", "<NA>", "#N/A",
        ] {
            assert!(is_null(cell), "{cell}");
        }
        for cell in ["None", "-", "?", "0", "Na", "nullable"] {
            assert!(!is_null(cell), "{cell}");
        }
    }

    proptest! {
        #[test]
        fn every_i64_is_an_integer(value: i64) {
            prop_assert_eq!(classify(&value.to_string()), DataType::Integer);
        }

        #[test]
        fn numbers_parse(cell in "[-+]?[0-9]{0,20}[.]?[0-9]{0,5}([eE][-+]?[0-9]{0,3})?") {
            if matches!(classify(&cell), DataType::Integer | DataType::Float) {
                prop_assert_eq!(number(&cell), cell.parse::<f64>().ok(), "{}", cell);
            }
        }

        #[test]
        fn iso_days_are_dates_iff_chrono_says_so(year in 1u32..9999, month in 0u32..14, day in 0u32..33) {
            let cell = format!("{year:04}-{month:02}-{day:02}");
            let real = chrono::NaiveDate::parse_from_str(&cell, "%Y-%m-%d").is_ok();
            prop_assert_eq!(classify(&cell) == DataType::Date, real, "{}", cell);
        }

        #[test]
        fn instants_are_those_of_chrono(seconds in -62_135_596_800i64..253_402_300_799, micros in 0u32..1_000_000, offset in -14i32..15) {
            let instant_of = chrono::DateTime::from_timestamp(seconds, micros * 1000).unwrap();
            let zone = chrono::FixedOffset::east_opt(offset * 3600).unwrap();
            let local = instant_of.with_timezone(&zone);
            if (1..=9999).contains(&chrono::Datelike::year(&local)) {
                let cell = local.format("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string();
                prop_assert_eq!(instant(&cell), Some(seconds * 1_000_000 + i64::from(micros)), "{}", cell);
            }
        }

        #[test]
        fn classes_have_order_keys(cell in "[-+]?[0-9./:TZ eE-]{0,25}|[+-]?inf(inity)?") {
            let class = classify(&cell);
            prop_assert_eq!(number(&cell).is_some(), matches!(class, DataType::Integer | DataType::Float), "{}", cell);
            prop_assert_eq!(instant(&cell).is_some(), matches!(class, DataType::Date | DataType::Timestamp), "{}", cell);
        }

        #[test]
        fn anything_goes(cell in "\\PC*") {
            classify(&cell);
            number(&cell);
            instant(&cell);
            is_null(&cell);
        }
    }
}
