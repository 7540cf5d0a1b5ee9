//! What kind of value a cell's text is: integer, float, boolean, date, timestamp or text.
//!
//! Text files carry no types, so every cell of a CSV file is classified: this runs once per cell
//! and is therefore written by hand, one look at the bytes, no allocation, no regular expressions.
//! How the classes of a column's cells add up to the column's type is the column builder's
//! business.
//!
//! The rules lean towards text wherever a number would lose something: `007` and `01234` are text
//! (identifiers, post codes), so are integers beyond 64 bits, `1,234`, `12 %` and `1.2.3`.

use crate::data_type::DataType;
use crate::reading::DeclaredReading;

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
#[inline]
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

/// Which cells say that there is no value: limn's own signs ([`is_null`]), or those that people
/// declare.
#[derive(Clone, Copy)]
pub struct Nulls<'a>(Option<&'a [String]>);

impl<'a> Nulls<'a> {
    /// Of a file with this declaration.
    pub fn of(declared: &'a DeclaredReading) -> Nulls<'a> {
        Nulls(declared.nulls.as_deref())
    }

    /// Whether they are limn's own.
    pub fn are_own(self) -> bool {
        self.0.is_none()
    }

    /// Whether a cell says that there is no value. An empty one always does.
    #[inline]
    pub fn has(self, text: &str) -> bool {
        match self.0 {
            None => is_null(text),
            Some(signs) => text.is_empty() || signs.iter().any(|sign| sign == text),
        }
    }
}

/// Whether a cell is a sign that people put where a number or date is missing. It may as well be a
/// value: what all other values of its column are decides.
#[inline]
pub fn is_marker(text: &str) -> bool {
    text.len() <= 4
        && matches!(
            text,
            "-" | "--" | "?" | "." | ".." | "*" | "–" | "—" | "n.d." | "n/d"
        )
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
    // So few digits are exact, as is the power of ten that divides them: only the quotient is
    // rounded.
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

/// The instant of a cell that [`classify`] calls date or timestamp, in microseconds since 1970
/// (UTC, also where the cell names no zone): what such columns are ordered by.
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
        // One cell does not show which of the two is the month: with slashes the first is
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
pub fn day_number(year: u32, month: u32, day: u32) -> Option<i64> {
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

/// Microseconds of `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction`, less the zone's offset if there is
/// one.
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
mod tests;
