//! The forms that have a name: one table, read from top to bottom.
//!
//! A detector is a name, a regular expression of the whole value and, where an expression does not
//! suffice, a check. To add one, add a row; nothing that is stored has to change. The first that
//! knows a value gives it its form, so the stricter ones stand first.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::bytes::RegexSet;

use super::personal;
use crate::infer;

/// Knows values of one form.
#[derive(Clone, Copy, Debug)]
pub struct Detector {
    /// What people call the form.
    pub name: &'static str,
    /// A regular expression that the whole value matches, on bytes (no Unicode classes).
    pub form: &'static str,
    /// What must hold besides.
    pub holds: fn(&str) -> bool,
}

const fn form(name: &'static str, form: &'static str) -> Detector {
    checked(name, form, |_| true)
}

const fn checked(name: &'static str, form: &'static str, holds: fn(&str) -> bool) -> Detector {
    Detector { name, form, holds }
}

/// The names of months, and their usual abbreviations.
macro_rules! months {
    () => {
        r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
    };
}

/// All forms that have a name.
///
/// Dates are days of the calendar; which of the two first numbers of `12/31/2024` and `31/12/2024`
/// is the month is left open.
pub const DETECTORS: &[Detector] = &[
    checked("YYYY-MM-DD", "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}", is_instant),
    checked("YYYY/MM/DD", "[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}", is_instant),
    checked(
        "DD.MM.YYYY",
        r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}",
        is_instant,
    ),
    checked("DD-MM-YYYY", "[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}", is_instant),
    checked(
        "DD/MM/YYYY or MM/DD/YYYY",
        "[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
        is_instant,
    ),
    checked(
        "YYYYMMDD",
        "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9]",
        is_compact_day,
    ),
    form("YYYY-MM", "(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])"),
    form(
        "DD Month YYYY",
        concat!(
            r"(?i)[0-3]?[0-9](?:st|nd|rd|th|\.)?[ -]",
            months!(),
            r",?[ -][0-9]{2,4}"
        ),
    ),
    form(
        "Month DD, YYYY",
        concat!(
            "(?i)",
            months!(),
            r"[ -][0-3]?[0-9](?:st|nd|rd|th)?,?[ -][0-9]{4}"
        ),
    ),
    checked(
        "YYYY-MM-DD hh:mm",
        "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt ][0-9]{1,2}:[0-9]{2}.*",
        is_instant,
    ),
    checked(
        "day and time",
        "[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}[Tt ][0-9]{1,2}:[0-9]{2}.*",
        is_instant,
    ),
    form(
        "hh:mm",
        r"(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?",
    ),
    form(
        "e-mail",
        r"(?:mailto:)?[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}",
    ),
    form(
        "URL",
        r"(?i)(?:(?:https?|ftps?|s3a?|gs|abfss?|file|jdbc:[a-z0-9]+)://[^\s]+|www\.[^\s.]+\.[^\s]+)",
    ),
    form(
        "UUID",
        r"\{?[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\}?",
    ),
    form(
        "IPv4",
        r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:/[0-9]{1,2}|:[0-9]{1,5})?",
    ),
    form("MAC address", "[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}"),
    checked(
        "IPv6",
        r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:/[0-9]{1,3})?",
        is_ipv6,
    ),
    checked(
        "IBAN",
        "[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?",
        personal::is_account,
    ),
    checked(
        "payment card",
        "[0-9]{4}(?:[ -]?[0-9]{4}){3}|[0-9]{4}[ -]?[0-9]{6}[ -]?[0-9]{4,5}",
        personal::is_card,
    ),
    checked(
        "national id",
        // Of the United States, Spain, the United Kingdom, Italy, Sweden, Brazil, France and China.
        r"[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9XYZ][0-9]{7}-?[A-Z]|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]|[A-Z]{6}[0-9]{2}[ABCDEHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]|[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9][-+][0-9]{4}|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}|[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9][0-9]{3}[0-9Xx]",
        personal::is_national,
    ),
    checked(
        "phone",
        // With the country's code; as North America writes them; with the zero that national
        // numbers begin with.
        r"\+[1-9][0-9 ()./-]{6,20}|(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}(?: ?(?:x|ext\.?) ?[0-9]{1,5})?|\(?0[1-9][0-9]{0,4}\)?[ /-][0-9][0-9 /-]{4,12}",
        is_dialled,
    ),
    checked(
        "hexadecimal",
        "(?:0x)?(?:[0-9a-f]{8,128}|[0-9A-F]{8,128})",
        is_mixed,
    ),
];

/// All expressions at once. A test says that they compile; if they did not, no value would have a
/// named form.
static FORMS: LazyLock<RegexSet> = LazyLock::new(|| {
    let whole = |detector: &Detector| format!("^(?-u:{})$", detector.form);
    RegexSet::new(DETECTORS.iter().map(whole)).unwrap_or_else(|_| RegexSet::empty())
});

/// The first detector that knows a value; white space around it does not count.
pub fn detect(value: &str) -> Option<&'static Detector> {
    let value = value.trim_ascii();
    // All forms hold a digit or one of these; most words do not.
    let may_have_one =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'@' | b':' | b'.' | b'-');
    if !value.bytes().any(may_have_one) {
        return None;
    }
    let matches = FORMS.matches(value.as_bytes());
    matches
        .into_iter()
        .filter_map(|at| DETECTORS.get(at))
        .find(|detector| (detector.holds)(value))
}

fn is_instant(value: &str) -> bool {
    infer::instant(value).is_some()
}

fn is_compact_day(value: &str) -> bool {
    match (value.get(..4), value.get(4..6), value.get(6..8)) {
        (Some(year), Some(month), Some(day)) => is_instant(&format!("{year}-{month}-{day}")),
        _ => false,
    }
}

fn is_ipv6(value: &str) -> bool {
    let address = value.split_once('/').map_or(value, |(address, _)| address);
    address.parse::<Ipv6Addr>().is_ok()
}

/// E.164 allows 15 digits; the shortest numbers that are written like this have 7.
fn is_dialled(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (7..=20).contains(&digits)
}

/// Digits alone are a number, letters alone may be a word.
fn is_mixed(value: &str) -> bool {
    value.starts_with("0x")
        || (value.bytes().any(|byte| byte.is_ascii_digit())
            && value.bytes().any(|byte| byte.is_ascii_alphabetic()))
}
