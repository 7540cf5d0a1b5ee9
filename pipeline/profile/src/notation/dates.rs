//! Dates in other orders than ISO 8601's, with numbers or English names for months.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::Proof;
use crate::infer::{day_number, time_of_day};

/// Two-digit years up to this one are of this century, as POSIX has it.
const LAST_OF_2000S: u32 = 68;

/// The order of day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// `31.12.2020`.
    DayFirst,
    /// `12/31/2020`.
    MonthFirst,
    /// `2020/12/31`.
    YearFirst,
    /// `31 Dec 2020`.
    NamedDayFirst,
    /// `Dec 31, 2020`.
    NamedMonthFirst,
}

pub(super) const ORDERS: [DateOrder; 5] = [
    DateOrder::DayFirst,
    DateOrder::MonthFirst,
    DateOrder::YearFirst,
    DateOrder::NamedDayFirst,
    DateOrder::NamedMonthFirst,
];

impl DateOrder {
    pub(super) fn bit(self) -> u16 {
        1 << self as u16
    }

    /// What people call it in a `.limn.yaml`.
    pub fn label(self) -> &'static str {
        match self {
            DateOrder::DayFirst | DateOrder::NamedDayFirst => "day-first",
            DateOrder::MonthFirst | DateOrder::NamedMonthFirst => "month-first",
            DateOrder::YearFirst => "year-first",
        }
    }
}

/// A cell taken apart: three numbers in the order in which they stand, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    fields: [u32; 3],
    pub(super) separator: char,
    pub(super) short_year: bool,
    /// The orders of the calendar that fit, as bits.
    pub(super) orders: u16,
    time: &'a str,
}

fn small(text: &str) -> Option<(u32, usize, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=4).contains(&length) {
        return None;
    }
    let (number, rest) = text.split_at_checked(length)?;
    Some((number.parse().ok()?, length, rest))
}

/// An English month's name or its first letters, and what follows.
fn month(text: &str) -> Option<(u32, &str)> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = text.split_at_checked(length)?;
    let is = |whole: &&str| {
        let short = length == 3 || *whole == "september" && length == 4 || length == whole.len();
        short
            && whole
                .get(..length)
                .is_some_and(|it| it.eq_ignore_ascii_case(name))
    };
    let at = NAMES.iter().position(is)?;
    Some((at as u32 + 1, rest.strip_prefix('.').unwrap_or(rest)))
}

fn year(number: u32, short: bool) -> u32 {
    match (short, number <= LAST_OF_2000S) {
        (true, true) => 2000 + number,
        (true, false) => 1900 + number,
        _ => number,
    }
}

impl<'a> Parts<'a> {
    pub(super) fn of(cell: &'a str) -> Option<Parts<'a>> {
        if cell.len() > 64 {
            return None;
        }
        let parts = Parts::read(cell.trim())?;
        let mut orders = 0;
        for order in ORDERS {
            if parts.orders & order.bit() != 0 && parts.day(order).is_some() {
                orders |= order.bit();
            }
        }
        let timed = parts.time.is_empty() || Time::of(parts.time).is_some();
        (orders != 0 && timed).then_some(Parts { orders, ..parts })
    }

    /// The parts as they are written, with the orders in which they may be read, whether there are
    /// such a day and time or not.
    fn read(cell: &'a str) -> Option<Parts<'a>> {
        let named = |fields, separator, length, order: DateOrder, time| {
            let short_year = length == 2;
            (length == 4 || short_year).then_some(Parts {
                fields,
                separator,
                short_year,
                orders: order.bit(),
                time,
            })
        };
        if cell.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (month, rest) = month(cell)?;
            let (day, day_length, rest) = small(rest.strip_prefix(' ')?)?;
            let rest = rest.strip_prefix(',').unwrap_or(rest).strip_prefix(' ')?;
            let (year, length, time) = small(rest)?;
            if day_length > 2 {
                return None;
            }
            named(
                [month, day, year],
                ' ',
                length,
                DateOrder::NamedMonthFirst,
                time,
            )
        } else {
            let (first, first_length, rest) = small(cell)?;
            let separator = rest.chars().next()?;
            if !matches!(separator, '.' | '/' | '-' | ' ') {
                return None;
            }
            let rest = rest.strip_prefix(separator)?;
            if let Some((month, rest)) = month(rest) {
                let (year, length, time) = small(rest.strip_prefix(separator)?)?;
                if first_length > 2 {
                    return None;
                }
                let fields = [first, month, year];
                named(fields, separator, length, DateOrder::NamedDayFirst, time)
            } else {
                let (second, second_length, rest) = small(rest)?;
                let (third, third_length, time) = small(rest.strip_prefix(separator)?)?;
                let (orders, short_year) = match (first_length, second_length, third_length) {
                    (4, 1 | 2, 1 | 2) => (DateOrder::YearFirst.bit(), false),
                    (1 | 2, 1 | 2, 4) => (
                        DateOrder::DayFirst.bit() | DateOrder::MonthFirst.bit(),
                        false,
                    ),
                    // Shorter ones with points are versions.
                    (1 | 2, 1 | 2, 2) if separator == '/' || first_length + second_length == 4 => (
                        DateOrder::DayFirst.bit() | DateOrder::MonthFirst.bit(),
                        true,
                    ),
                    _ => return None,
                };
                if separator == ' ' {
                    return None;
                }
                Some(Parts {
                    fields: [first, second, third],
                    separator,
                    short_year,
                    orders,
                    time,
                })
            }
        }
    }

    /// Year, month and day in this order, if there is such a day.
    fn day(&self, order: DateOrder) -> Option<(u32, u32, u32)> {
        let [a, b, c] = self.fields;
        let (y, month, day) = match order {
            DateOrder::DayFirst | DateOrder::NamedDayFirst => (c, b, a),
            DateOrder::MonthFirst | DateOrder::NamedMonthFirst => (c, a, b),
            DateOrder::YearFirst => (a, b, c),
        };
        let y = year(y, self.short_year);
        day_number(y, month, day).map(|_| (y, month, day))
    }
}

/// A time of day: its hour of 24, and what stands behind the hour.
struct Time<'a> {
    hour: u32,
    rest: &'a str,
}

impl<'a> Time<'a> {
    fn of(text: &'a str) -> Option<Time<'a>> {
        let text = text.strip_prefix(',').unwrap_or(text);
        let text = text.strip_prefix([' ', 'T'])?;
        let cut = |half: &str| {
            let (before, after) = text.split_at_checked(text.len().checked_sub(half.len())?)?;
            after.eq_ignore_ascii_case(half).then(|| before.trim_end())
        };
        let (clock, half) = match (cut("am"), cut("pm")) {
            (Some(clock), _) => (clock, Some(0)),
            (_, Some(clock)) => (clock, Some(12)),
            _ => (text, None),
        };
        time_of_day(clock.as_bytes())?;
        let (hour, _, rest) = small(clock)?;
        let hour = match half {
            Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
            Some(_) => return None,
            None => hour,
        };
        Some(Time { hour, rest })
    }
}

/// How a column's dates are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateNotation {
    /// The order of day, month and year.
    pub order: DateOrder,
    /// What stands between them.
    pub separator: char,
    /// Whether years have two digits: up to 68 they are of this century.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_year: bool,
    /// What decided.
    #[serde(default)]
    pub proof: Proof,
}

impl DateNotation {
    pub(super) fn plain(&self, value: &str, plain: &mut String) -> bool {
        let Some(parts) = Parts::of(value) else {
            return false;
        };
        let iso = parts.separator == '-' && parts.orders == DateOrder::YearFirst.bit();
        let like = parts.separator == self.separator
            && parts.short_year == self.short_year
            && parts.orders & self.order.bit() != 0;
        let order = if iso {
            DateOrder::YearFirst
        } else {
            self.order
        };
        let Some((year, month, day)) = parts.day(order).filter(|_| like || iso) else {
            return false;
        };
        let mut written = write!(plain, "{year:04}-{month:02}-{day:02}").is_ok();
        if !parts.time.is_empty() {
            let Some(time) = Time::of(parts.time) else {
                return false;
            };
            // The minutes are always two digits; the seconds may be missing.
            let seconds = time.rest.get(3..).is_some_and(|rest| rest.starts_with(':'));
            let (minutes, rest) = time.rest.split_at_checked(3).unwrap_or((time.rest, ""));
            let missing = if seconds { "" } else { ":00" };
            let rest = rest.replace(',', ".");
            written &= write!(plain, " {:02}{minutes}{missing}{rest}", time.hour).is_ok();
        }
        written
    }
}

impl fmt::Display for DateNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, s) = (if self.short_year { "YY" } else { "YYYY" }, self.separator);
        match self.order {
            DateOrder::DayFirst => write!(f, "DD{s}MM{s}{year}")?,
            DateOrder::MonthFirst => write!(f, "MM{s}DD{s}{year}")?,
            DateOrder::YearFirst => write!(f, "{year}{s}MM{s}DD")?,
            DateOrder::NamedDayFirst => write!(f, "DD{s}month{s}{year}, the month in English")?,
            DateOrder::NamedMonthFirst => write!(f, "month DD {year}, the month in English")?,
        }
        f.write_str(self.proof.suffix())
    }
}
