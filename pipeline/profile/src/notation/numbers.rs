//! Numbers with groups, decimal commas, currencies, percent signs and accountants' minus signs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Proof;

/// More digits before the decimal mark than this are a code, not a number.
const MOST_DIGITS: usize = 18;

/// Signs and codes of currencies. A sign stands before those it begins with.
const CURRENCIES: [&str; 36] = [
    "US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "₽", "₺", "₩", "₪", "₫", "฿", "₴", "zł",
    "Kč", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR",
];

/// The mark between whole and fraction, and what parts groups of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberStyle {
    /// `1234.5`.
    Point,
    /// `1234,5`.
    Comma,
    /// `1,234.5`.
    PointCommas,
    /// `1.234,5`.
    CommaPoints,
    /// `1 234.5`.
    PointSpaces,
    /// `1 234,5`.
    CommaSpaces,
    /// `1'234.5`.
    PointApostrophes,
    /// `1'234,5`.
    CommaApostrophes,
    /// `12,34,567.5`.
    PointIndian,
}

/// All styles, the simplest first.
pub(super) const STYLES: [NumberStyle; 9] = [
    NumberStyle::Point,
    NumberStyle::Comma,
    NumberStyle::PointCommas,
    NumberStyle::CommaPoints,
    NumberStyle::PointSpaces,
    NumberStyle::CommaSpaces,
    NumberStyle::PointApostrophes,
    NumberStyle::CommaApostrophes,
    NumberStyle::PointIndian,
];

impl NumberStyle {
    /// Its bit in a set of styles.
    pub(super) fn bit(self) -> u16 {
        1 << self as u16
    }

    /// The decimal mark.
    pub fn decimal(self) -> char {
        match self {
            NumberStyle::Comma
            | NumberStyle::CommaPoints
            | NumberStyle::CommaSpaces
            | NumberStyle::CommaApostrophes => ',',
            _ => '.',
        }
    }

    /// The decimal mark that numbers show to be theirs, if no other reading fits: in groups by
    /// spaces it may occur in none.
    pub fn proven_decimal(self) -> Option<char> {
        match self {
            NumberStyle::Point | NumberStyle::PointSpaces | NumberStyle::PointApostrophes => None,
            other => Some(other.decimal()),
        }
    }

    fn parts(self, mark: char) -> bool {
        match self {
            NumberStyle::Point | NumberStyle::Comma => false,
            NumberStyle::PointCommas | NumberStyle::PointIndian => mark == ',',
            NumberStyle::CommaPoints => mark == '.',
            NumberStyle::PointSpaces | NumberStyle::CommaSpaces => {
                matches!(mark, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
            }
            NumberStyle::PointApostrophes | NumberStyle::CommaApostrophes => {
                matches!(mark, '\'' | '’')
            }
        }
    }

    fn words(self) -> &'static str {
        match self {
            NumberStyle::Point => "",
            NumberStyle::Comma => "decimal comma",
            NumberStyle::PointCommas => "thousands by commas",
            NumberStyle::CommaPoints => "decimal comma, thousands by points",
            NumberStyle::PointSpaces => "thousands by spaces",
            NumberStyle::CommaSpaces => "decimal comma, thousands by spaces",
            NumberStyle::PointApostrophes => "thousands by apostrophes",
            NumberStyle::CommaApostrophes => "decimal comma, thousands by apostrophes",
            NumberStyle::PointIndian => "Indian groups by commas",
        }
    }

    /// Whether digits and marks are a number in this style.
    pub(super) fn fits(self, body: &str) -> bool {
        let (whole, fraction) = match body.rsplit_once(self.decimal()) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (body, None),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if fraction.is_some_and(|fraction| !is_number(fraction)) {
            return false;
        }
        let mut groups = whole.split(|mark| self.parts(mark));
        let first = groups.next().unwrap_or_default();
        // `,5` is a number, `007` a code.
        let is_grouped = groups.clone().next().is_some();
        if first.is_empty() {
            return fraction.is_some() && !is_grouped;
        }
        if !is_number(first) || (first.len() > 1 || is_grouped) && first.starts_with('0') {
            return false;
        }
        if !is_grouped {
            // Spaces are left out of numbers of four digits in several countries; commas are not.
            return first.len()
                <= match self {
                    NumberStyle::Point | NumberStyle::Comma => MOST_DIGITS,
                    NumberStyle::PointSpaces | NumberStyle::CommaSpaces => 4,
                    _ => 3,
                };
        }
        let inner = if self == NumberStyle::PointIndian {
            2
        } else {
            3
        };
        if first.len() > inner {
            return false;
        }
        let mut digits = first.len();
        let mut last = 0;
        let mut inside = true;
        while let Some(group) = groups.next() {
            let is_last = groups.clone().next().is_none();
            inside &= is_number(group) && group.len() == if is_last { 3 } else { inner };
            digits += group.len();
            last = group.len();
        }
        inside && last == 3 && digits <= MOST_DIGITS
    }
}

/// A cell taken apart: a number and what stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// Digits and marks, without a sign.
    pub(super) body: &'a str,
    pub(super) negative: bool,
    pub(super) parenthesised: bool,
    pub(super) trailing_minus: bool,
    /// Its place among the currencies.
    pub(super) currency: Option<usize>,
    pub(super) percent: bool,
}

impl<'a> Parts<'a> {
    /// Takes a cell apart; none where it is surely no number.
    pub(super) fn of(cell: &'a str) -> Option<Parts<'a>> {
        // A number of this length has lost its reader.
        if cell.len() > 64 || !cell.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut rest = cell.trim();
        let mut parts = Parts {
            body: "",
            negative: false,
            parenthesised: false,
            trailing_minus: false,
            currency: None,
            percent: false,
        };
        if let Some(inner) = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
            (rest, parts.negative, parts.parenthesised) = (inner.trim(), true, true);
        }
        let mut signed = parts.parenthesised;
        // A sign may stand before a currency or behind it.
        for _ in 0..2 {
            if let Some(after) = rest.strip_prefix(['-', '−', '+']).filter(|_| !signed) {
                parts.negative = !rest.starts_with('+');
                (rest, signed) = (after.trim_start(), true);
            }
            if parts.currency.is_none()
                && let Some((i, after)) = find(|sign| rest.strip_prefix(sign))
            {
                (rest, parts.currency) = (after.trim_start(), Some(i));
            }
        }
        for _ in 0..2 {
            if let Some(before) = rest.strip_suffix('-').filter(|_| !signed) {
                (rest, signed) = (before.trim_end(), true);
                (parts.negative, parts.trailing_minus) = (true, true);
            }
            if parts.currency.is_none()
                && !parts.percent
                && let Some((i, before)) = find(|sign| rest.strip_suffix(sign))
            {
                (rest, parts.currency) = (before.trim_end(), Some(i));
            }
            if parts.currency.is_none()
                && !parts.percent
                && let Some(before) = rest.strip_suffix('%')
            {
                (rest, parts.percent) = (before.trim_end(), true);
            }
        }
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let starts = rest.starts_with([',', '.']) || is_digit(rest.chars().next());
        (starts && is_digit(rest.chars().next_back())).then_some(Parts {
            body: rest,
            ..parts
        })
    }
}

fn find<'a>(strip: impl Fn(&str) -> Option<&'a str>) -> Option<(usize, &'a str)> {
    let found = |(i, sign): (usize, &&str)| strip(sign).map(|rest| (i, rest));
    CURRENCIES.iter().enumerate().find_map(found)
}

/// A currency's sign or code.
pub(super) fn currency(at: usize) -> Option<String> {
    CURRENCIES.get(at).map(|sign| (*sign).to_owned())
}

/// How a column's numbers are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberNotation {
    /// The decimal mark and the groups.
    pub style: NumberStyle,
    /// The currency's sign or code, with every number but zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Whether a percent sign stands behind every number but zero. `12 %` is profiled as 12.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percent: bool,
    /// Whether negative numbers stand in parentheses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parenthesised: bool,
    /// Whether the minus sign stands behind negative numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trailing_minus: bool,
    /// What decided.
    #[serde(default)]
    pub proof: Proof,
}

impl NumberNotation {
    pub(super) fn plain(&self, value: &str, plain: &mut String) -> bool {
        let Some(parts) = Parts::of(value).filter(|parts| self.style.fits(parts.body)) else {
            return false;
        };
        let zero = parts
            .body
            .bytes()
            .all(|byte| !(b'1'..=b'9').contains(&byte));
        let bare = parts.currency.is_none() && !parts.percent;
        let like = self.percent == parts.percent
            && self.currency.as_deref() == parts.currency.and_then(|i| CURRENCIES.get(i)).copied();
        if !(like || zero && bare) {
            return false;
        }
        if parts.negative && !zero {
            plain.push('-');
        }
        if parts.body.starts_with(self.style.decimal()) {
            plain.push('0');
        }
        plain.extend(parts.body.chars().filter_map(|c| match c {
            '0'..='9' => Some(c),
            c if c == self.style.decimal() => Some('.'),
            _ => None,
        }));
        true
    }
}

impl fmt::Display for NumberNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if self.style != NumberStyle::Point {
            parts.push(self.style.words().to_owned());
        }
        parts.extend(self.currency.iter().map(|sign| format!("in {sign}")));
        if self.percent {
            parts.push("in percent".to_owned());
        }
        if self.parenthesised {
            parts.push("negative in parentheses".to_owned());
        }
        if self.trailing_minus {
            parts.push("minus behind the number".to_owned());
        }
        if parts.is_empty() {
            parts.push("decimal point".to_owned());
        }
        write!(f, "{}{}", parts.join(", "), self.proof.suffix())
    }
}
