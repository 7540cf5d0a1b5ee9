//! When two values are equal in a join, whatever file format and spelling they come from.
//!
//! | values | rule |
//! |---|---|
//! | numbers written with digits, a sign and a point | equal as numbers: `1`, `1.0`, `+1` and `1.`; `0.5` and `.5`; `0` and `-0.0` |
//! | times as ISO 8601 writes them | equal with `T` or a space, with or without zeros at the end of the fraction, and at midnight without any time: `2024-02-29`, `2024-02-29T00:00:00` |
//! | truth values | equal in any case: `true`, `True`, `TRUE` |
//! | everything else | equal as text, byte by byte, but for white space around it |
//!
//! The types of the two columns do not matter: an integer of Parquet is the integer of a CSV file,
//! and a column of whole numbers that became `1.0, 2.0` because some were missing (pandas does
//! that) still joins the column of integers it refers to. The price: versions `3.1` and `3.10`
//! count as equal in overlaps. Numbers with leading zeros (`007`), exponents or group separators,
//! and dates in other forms than these, are compared as text; a time with a zone equals that with
//! the same zone only. So is a text of more than [`LONGEST`] bytes.
//!
//! This decides about overlaps only. Distinct counts and frequent values keep every spelling.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

/// Texts of more bytes are only equal to themselves. Stored values are cut at 200 characters, and
/// the rule must not need what was cut off.
const LONGEST: usize = 200;

/// The one text that stands for all values which are equal to `value` in a join.
pub fn join_key(value: &str) -> Cow<'_, str> {
    if value.len() > LONGEST {
        return Cow::Borrowed(value);
    }
    let value = value.trim_ascii();
    match value.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => decimal(value)
            .or_else(|| time(value))
            .unwrap_or(Cow::Borrowed(value)),
        Some(b't' | b'T') if value.eq_ignore_ascii_case("true") => Cow::Borrowed("true"),
        Some(b'f' | b'F') if value.eq_ignore_ascii_case("false") => Cow::Borrowed("false"),
        _ => Cow::Borrowed(value),
    }
}

/// The hash (xxh3-64) of a value's [`join_key`]; `hash` is that of the value itself.
#[inline]
pub(super) fn join_hash(value: &str, hash: u64) -> u64 {
    if is_own_key(value.as_bytes()) {
        hash
    } else {
        hash_of_key(value, hash)
    }
}

fn hash_of_key(value: &str, hash: u64) -> u64 {
    if value.len() > LONGEST {
        return hash;
    }
    if let Some(key) = parted_by_space(value.as_bytes()) {
        return xxh3_64(&key);
    }
    let key = join_key(value);
    if key == value {
        hash
    } else {
        xxh3_64(key.as_bytes())
    }
}

/// Whether it takes no more than a glance to see that a value is its own key, as most are: words,
/// whole numbers, and others that begin with a digit and end with another one than zero.
#[inline]
fn is_own_key(value: &[u8]) -> bool {
    match value {
        [_, _, _, _, b'-', _, _, b'-', _, _, _, ..] => false,
        [b'1'..=b'9', .., last] | [b'-', b'1'..=b'9', .., last] | [b'0', b'.', .., last] => {
            (b'1'..=b'z').contains(last) || (*last == b'0' && !value.contains(&b'.'))
        }
        [b't' | b'T' | b'f' | b'F', ..] => false,
        [b'A'..=b'z', .., last] => *last > b' ',
        _ => false,
    }
}

/// The key of a time of whole seconds that is parted from its day by a space, as most are in text;
/// what others have takes a memory of its own.
fn parted_by_space(value: &[u8]) -> Option<[u8; 19]> {
    let mut key: [u8; 19] = value.try_into().ok()?;
    let is_time = key.iter().zip(b"0000-00-00 00:00:00").all(|(byte, form)| {
        let is_digit = byte.is_ascii_digit();
        if *form == b'0' {
            is_digit
        } else {
            byte == form
        }
    });
    key[10] = b'T';
    (is_time && !key.ends_with(b"T00:00:00")).then_some(key)
}

/// The shortest spelling of a day and its time: `T` between them, no zeros at the end of the
/// fraction, no time at midnight without a zone. `None` for what is none.
fn time(value: &str) -> Option<Cow<'_, str>> {
    let (day, rest) = value.split_at_checked(10)?;
    let (clock, rest) = rest.get(1..)?.split_at_checked(8)?;
    let is = |text: &str, form: &[u8]| {
        text.bytes().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == *form,
        })
    };
    let parted = value.as_bytes().get(10);
    if !is(day, b"0000-00-00") || !is(clock, b"00:00:00") || !matches!(parted, Some(b'T' | b' ')) {
        return None;
    }
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            fraction.split_at_checked(digits)?
        }
        None => ("", rest),
    };
    if !(zone.is_empty() || zone.starts_with(['Z', '+', '-'])) {
        return None;
    }
    let is_shortest = !rest.starts_with('.') || fraction.ends_with(|it: char| it != '0');
    let fraction = fraction.trim_end_matches('0');
    Some(match (clock, fraction, zone) {
        ("00:00:00", "", "") => Cow::Borrowed(day),
        _ if parted == Some(&b'T') && is_shortest => Cow::Borrowed(value),
        (_, "", _) => Cow::Owned(format!("{day}T{clock}{zone}")),
        _ => Cow::Owned(format!("{day}T{clock}.{fraction}{zone}")),
    })
}

/// The shortest spelling of a plain decimal number: no plus sign, no zeros at the end of the
/// fraction, no point without a fraction, a digit before the point, no negative zero. `None` for
/// what is none.
fn decimal(value: &str) -> Option<Cow<'_, str>> {
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    let negative = value.starts_with('-');
    let bytes = unsigned.as_bytes();
    let point = bytes
        .iter()
        .position(|byte| *byte == b'.')
        .unwrap_or(bytes.len());
    let (whole, fraction) = bytes.split_at(point);
    let fraction = fraction.get(1..).unwrap_or_default();
    let is_number = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    // 007 is a code.
    if whole.len() > 1 && whole.starts_with(b"0") {
        return None;
    }
    let counts = |digit: &u8| *digit != b'0';
    let end = match fraction.iter().rposition(counts) {
        Some(last) => point + 1 + last + 1,
        None if whole.iter().any(counts) => point,
        None => return Some(Cow::Borrowed("0")),
    };
    if whole.is_empty() {
        let sign = if negative { "-" } else { "" };
        return unsigned
            .get(..end)
            .map(|fraction| Cow::Owned(format!("{sign}0{fraction}")));
    }
    // What is left is a part of the text, with its sign if that is a minus.
    let signs = value.len() - unsigned.len();
    let from = if negative { 0 } else { signs };
    value.get(from..signs + end).map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn equal(values: &[&str]) {
        for value in values {
            assert_eq!(join_key(value), values[0], "{value:?}");
        }
    }

    #[test]
    fn numbers_are_equal_as_numbers() {
        equal(&["1", "1.0", "+1", "1.", "1.000", " 1 ", "+1.0"]);
        equal(&["-12", "-12.0", "-12."]);
        equal(&["0", "-0", "+0", "0.0", "-0.00", ".0", "0."]);
        equal(&["0.5", ".5", "0.50", "+.5"]);
        equal(&["-0.5", "-.5", "-0.500"]);
        equal(&["-12.05", "-12.050"]);
        equal(&["10", "10.0"]);
        equal(&["100.05", "100.050"]);
        equal(&["18446744073709551616", "18446744073709551616.0"]);
    }

    #[test]
    fn times_are_equal_however_they_are_parted() {
        equal(&[
            "2024-02-29",
            "2024-02-29T00:00:00",
            "2024-02-29 00:00:00",
            "2024-02-29 00:00:00.000",
        ]);
        equal(&["2024-02-29T10:20:30", "2024-02-29 10:20:30.000000"]);
        equal(&["2024-02-29T10:20:30.5Z", "2024-02-29 10:20:30.500Z"]);
        equal(&["2024-02-29T00:00:00Z", "2024-02-29 00:00:00.0Z"]);
        for text in [
            "2024-02-29 10:20",
            "2024-02-29_10:20:30",
            "2024-02-29 10:20:30 and more",
            "2024-02-29 10:20:30.",
            "2024-1-29 10:20:30.0",
        ] {
            let key = join_key(text);
            assert!(key == text || text.ends_with('.'), "{key}");
        }
    }

    #[test]
    fn truth_values_are_equal_in_any_case() {
        equal(&["true", "True", "TRUE"]);
        equal(&["false", "False", "FALSE"]);
    }

    #[test]
    fn codes_dates_and_words_are_equal_as_text() {
        for value in [
            "007",
            "00",
            "00.5",
            "1,0",
            "1e3",
            "1e10",
            "2024-02-20",
            "29.02.2020",
            "192.168.0.10",
            "1.2.0",
            "+",
            "-",
            ".",
            "+.",
            "-x0",
            "0x10",
            "tRue!",
            "Truth",
            "",
            "é0",
            "１.0",
            "+49 30",
            "12 0",
            "--0",
        ] {
            assert_eq!(join_key(value), value);
        }
        assert_eq!(join_key("\tBerlin  "), "Berlin");
        assert_eq!(join_key("  "), "");
    }

    #[test]
    fn long_texts_are_equal_to_themselves_only() {
        let long = format!("1.{}", "0".repeat(300));
        assert_eq!(join_key(&long), long);
        let padded = format!("{}x", " ".repeat(300));
        assert_eq!(join_key(&padded), padded);
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key_and_hashes_alike(value in "[-+ ]?[0-9]{0,4}[.]?[0-9]{0,4}|\\PC{0,9}|[tT][rR]ue|2024-0[12]-01([T ]0[01]:00:00([.][05]{0,2})?(Z|[+]01:00)?)?") {
            let key = join_key(&value).into_owned();
            prop_assert_eq!(&join_key(&key), &key);
            prop_assert_eq!(join_hash(&value, xxh3_64(value.as_bytes())), xxh3_64(key.as_bytes()));
        }

        #[test]
        fn decimals_have_one_key_iff_they_are_one_number(a in "[-+]?[0-9]{0,2}[.]?[0-9]{0,2}", b in "[-+]?[0-9]{0,2}[.]?[0-9]{0,2}") {
            let number = |text: &str| crate::infer::number(text);
            if let (Some(x), Some(y)) = (number(&a), number(&b)) {
                prop_assert_eq!(join_key(&a) == join_key(&b), x == y, "{} {}", a, b);
            }
        }
    }
}
