//! Which notations all values of a column fit, narrowed value by value, and which of them it is.

use super::numbers::{self, STYLES};
use super::{DateNotation, DateOrder, Notation, NumberNotation, NumberStyle, Proof, dates};
use crate::data_type::DataType;

/// What a column's values have said so far. Small, and of a fixed size.
#[derive(Clone, Debug)]
pub struct Evidence {
    numbers: Option<Numbers>,
    dates: Option<Dates>,
    seen: bool,
}

impl Default for Evidence {
    fn default() -> Self {
        Evidence {
            numbers: Some(Numbers::default()),
            dates: Some(Dates::default()),
            seen: false,
        }
    }
}

#[derive(Clone, Debug)]
struct Numbers {
    styles: u16,
    // Of the first value that is not zero: all have the same.
    around: Option<(Option<usize>, bool)>,
    parenthesised: bool,
    trailing_minus: bool,
    // A value without parentheses and minus behind it was seen: those are signs then.
    unsigned: bool,
    points: bool,
    commas: bool,
    // A comma has more than two digits behind it somewhere.
    long_fraction: bool,
    // The least and most digits of a value.
    digits: (usize, usize),
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            styles: STYLES.iter().fold(0, |styles, style| styles | style.bit()),
            around: None,
            parenthesised: false,
            trailing_minus: false,
            unsigned: false,
            points: false,
            commas: false,
            long_fraction: false,
            digits: (usize::MAX, 0),
        }
    }
}

impl Numbers {
    fn take(mut self, value: &str) -> Option<Numbers> {
        let parts = numbers::Parts::of(value)?;
        for style in STYLES {
            if self.styles & style.bit() != 0 && !style.fits(parts.body) {
                self.styles &= !style.bit();
            }
        }
        let zero = parts
            .body
            .bytes()
            .all(|byte| !(b'1'..=b'9').contains(&byte));
        let around = (parts.currency, parts.percent);
        if !(zero && around == (None, false)) && *self.around.get_or_insert(around) != around {
            return None;
        }
        self.parenthesised |= parts.parenthesised;
        self.trailing_minus |= parts.trailing_minus;
        self.unsigned |= !parts.parenthesised && !parts.trailing_minus;
        self.points |= parts.body.contains('.');
        self.commas |= parts.body.contains(',');
        let behind = parts.body.rsplit_once(',').map_or(0, |(_, it)| it.len());
        self.long_fraction |= behind > 2;
        let digits = parts.body.bytes().filter(u8::is_ascii_digit).count();
        self.digits = (self.digits.0.min(digits), self.digits.1.max(digits));
        (self.styles != 0).then_some(self)
    }

    fn decide(&self, file: File) -> Option<NumberNotation> {
        let (currency, percent) = self.around.unwrap_or_default();
        if (self.parenthesised || self.trailing_minus) && !self.unsigned {
            return None;
        }
        let has = |style: NumberStyle| self.styles & style.bit() != 0;
        let (comma, point) = (NumberStyle::Comma, NumberStyle::Point);
        let mut proof = Proof::Values;
        // Every mark is followed by three digits: decimals or thousands.
        let style = if self.commas && has(comma) && has(NumberStyle::PointCommas) {
            proof = Proof::File;
            match file.decimal? {
                ',' => comma,
                _ => NumberStyle::PointCommas,
            }
        } else if self.points && has(point) && has(NumberStyle::CommaPoints) {
            proof = Proof::File;
            match file.decimal? {
                ',' => NumberStyle::CommaPoints,
                _ => point,
            }
        } else {
            STYLES.into_iter().find(|style| has(*style))?
        };
        // Telephone numbers and addresses of the internet are grouped, too, and all of one length.
        let (least, most) = self.digits;
        let codes = match style {
            NumberStyle::PointSpaces | NumberStyle::CommaSpaces => least == most,
            NumberStyle::CommaPoints => least == most && most == 12,
            // `4,6` and `13,14` among whole numbers, in a file cut at commas: a list.
            NumberStyle::Comma => file.cut_at_commas && !self.long_fraction,
            _ => false,
        };
        if codes && (currency, percent) == (None, false) {
            return None;
        }
        Some(NumberNotation {
            style,
            currency: currency.and_then(numbers::currency),
            percent,
            parenthesised: self.parenthesised,
            trailing_minus: self.trailing_minus,
            proof,
        })
    }
}

#[derive(Clone, Debug)]
struct Dates {
    orders: u16,
    // What stands between the numbers, and whether years have two digits: all have the same.
    form: Option<(char, bool)>,
}

impl Default for Dates {
    fn default() -> Self {
        Dates {
            orders: u16::MAX,
            form: None,
        }
    }
}

impl Dates {
    fn take(mut self, value: &str) -> Option<Dates> {
        let parts = dates::Parts::of(value)?;
        // ISO dates are what the others become, and say nothing about them.
        if parts.separator == '-' && parts.orders == DateOrder::YearFirst.bit() {
            return Some(self);
        }
        let form = (parts.separator, parts.short_year);
        self.orders &= parts.orders;
        (self.orders != 0 && *self.form.get_or_insert(form) == form).then_some(self)
    }

    fn decide(&self) -> Option<DateNotation> {
        let (separator, short_year) = self.form?;
        let undecided = DateOrder::DayFirst.bit() | DateOrder::MonthFirst.bit();
        let (order, proof) = if self.orders == undecided {
            // Three numbers of two digits each are as likely a code.
            let usual = match separator {
                _ if short_year => return None,
                '/' => DateOrder::MonthFirst,
                _ => DateOrder::DayFirst,
            };
            (usual, Proof::Custom)
        } else {
            let left = |order: &DateOrder| self.orders & order.bit() != 0;
            (dates::ORDERS.into_iter().find(left)?, Proof::Values)
        };
        Some(DateNotation {
            order,
            separator,
            short_year,
            proof,
        })
    }
}

impl Evidence {
    /// Takes a value that is no plain number and no ISO date, or comes after one. Returns whether any notation is
    /// left: if not, there is no need for more values.
    pub fn take(&mut self, value: &str) -> bool {
        self.seen = true;
        self.numbers = self.numbers.take().and_then(|it| it.take(value));
        self.dates = self.dates.take().and_then(|it| it.take(value));
        self.numbers.is_some() || self.dates.is_some()
    }

    fn decide(&self, file: File) -> Option<Notation> {
        if !self.seen {
            return None;
        }
        let dates = self.dates.as_ref().and_then(Dates::decide);
        let numbers = || self.numbers.as_ref().and_then(|it| it.decide(file));
        match dates {
            Some(dates) => Some(Notation::Date(dates)),
            None => numbers().map(Notation::Number),
        }
    }
}

/// What the file as a whole says about its numbers.
#[derive(Clone, Copy, Debug)]
struct File {
    decimal: Option<char>,
    cut_at_commas: bool,
}

/// What is known of a column after it was read for the first time.
pub type Decided<'a> = (&'a DataType, Option<&'a Evidence>);

/// The notations of a file's columns. Where a column alone cannot tell decimals from thousands, the columns that can
/// decide, or else the delimiter: numbers with commas in a file that is itself cut at commas, tabs or bars are
/// thousands; one cut at semicolons says nothing.
pub fn decide(columns: &[Decided<'_>], delimiter: u8) -> Vec<Option<Notation>> {
    let cut_at_commas = delimiter == b',';
    let alone = |(_, evidence): &Decided<'_>| {
        evidence.and_then(|it| {
            it.decide(File {
                decimal: None,
                cut_at_commas,
            })
        })
    };
    let (mut points, mut commas) = (false, false);
    for column in columns {
        match alone(column) {
            Some(Notation::Number(it)) if it.style.decimal() == ',' => commas = true,
            Some(Notation::Number(it)) => points |= it.style != NumberStyle::Point,
            Some(Notation::Date(_)) => {}
            None => points |= *column.0 == DataType::Float,
        }
    }
    let decimal = match (points, commas) {
        (true, false) => Some('.'),
        (false, true) => Some(','),
        _ => (delimiter != b';').then_some('.'),
    };
    let with = |(_, evidence): &Decided<'_>| {
        evidence.and_then(|it| {
            it.decide(File {
                decimal,
                cut_at_commas,
            })
        })
    };
    columns.iter().map(with).collect()
}
