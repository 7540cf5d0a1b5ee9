//! Which notations all values of a column fit, narrowed value by value, and which of them it is.

use super::numbers::{self, STYLES};
use super::{
    Conventions, DateNotation, DateOrder, Notation, NumberNotation, NumberStyle, Proof, dates,
};
use crate::data_type::DataType;
use crate::order::Order;

/// How a column's values may be written, as far as its file shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// The likeliest; none for the plain way.
    pub own: Option<Notation>,
    /// What else fits all values.
    pub others: Vec<Notation>,
}

/// What a column's values have said so far. Small, and of a fixed size.
#[derive(Clone, Debug)]
pub struct Evidence {
    numbers: Option<Numbers>,
    dates: Option<Dates>,
    seen: bool,
    fractions: Fractions,
    conventions: Conventions,
}

/// Whether the points of plain fractions may part thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fractions {
    None,
    MayBeGroups,
    Surely,
}

impl Default for Evidence {
    fn default() -> Self {
        Evidence {
            numbers: Some(Numbers::default()),
            dates: Some(Dates::default()),
            seen: false,
            fractions: Fractions::None,
            conventions: Conventions::default(),
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

    /// The likeliest notation, and the others that fit; none does where people declare the decimal
    /// mark.
    fn decide(
        &self,
        file: File,
        declared: Option<char>,
    ) -> (Option<NumberNotation>, Vec<NumberNotation>) {
        if (self.parenthesised || self.trailing_minus) && !self.unsigned {
            return (None, Vec::new());
        }
        let has = |style: NumberStyle| self.styles & style.bit() != 0;
        let proof = match declared {
            Some(_) => Proof::Declared,
            None => Proof::Values,
        };
        // Every mark is followed by three digits: decimals or thousands.
        let both = [
            (self.commas, [NumberStyle::Comma, NumberStyle::PointCommas]),
            (self.points, [NumberStyle::Point, NumberStyle::CommaPoints]),
        ];
        let undecided = both
            .into_iter()
            .find(|(is_seen, styles)| *is_seen && styles.iter().all(|style| has(*style)));
        let Some((_, styles)) = undecided else {
            let style = STYLES.into_iter().find(|style| has(*style));
            let own = style.and_then(|style| self.in_style(style, proof, file));
            return (own, Vec::new());
        };
        let fit = styles
            .into_iter()
            .filter_map(|style| self.in_style(style, Proof::File, file));
        let (mut own, others): (Vec<_>, Vec<_>) =
            fit.partition(|it| Some(it.style.decimal()) == file.decimal);
        (own.pop(), others)
    }

    fn in_style(&self, style: NumberStyle, proof: Proof, file: File) -> Option<NumberNotation> {
        let (currency, percent) = self.around.unwrap_or_default();
        // Telephone numbers and addresses of the internet are grouped, too, and all of one length.
        let (least, most) = self.digits;
        let codes = match style {
            NumberStyle::PointSpaces | NumberStyle::CommaSpaces => least == most,
            NumberStyle::CommaPoints => least == most && most == 12,
            // `4,6` and `13,14` among whole numbers, in a file cut at commas: a list.
            NumberStyle::Comma => {
                file.cut_at_commas && !self.long_fraction && proof != Proof::Declared
            }
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

    /// The likeliest notation, and the others that fit; none does where people declare the order.
    fn decide(&self, declared: Option<DateOrder>) -> (Option<DateNotation>, Vec<DateNotation>) {
        let Some((separator, short_year)) = self.form else {
            return (None, Vec::new());
        };
        let of = |order, proof| DateNotation {
            order,
            separator,
            short_year,
            proof,
        };
        let undecided = [DateOrder::DayFirst, DateOrder::MonthFirst];
        if self.orders != undecided[0].bit() | undecided[1].bit() {
            let left = |order: &DateOrder| self.orders & order.bit() != 0;
            let order = dates::ORDERS.into_iter().find(left);
            let proof = match order == declared {
                true => Proof::Declared,
                false => Proof::Values,
            };
            return (order.map(|order| of(order, proof)), Vec::new());
        }
        let usual = match separator {
            // Three numbers of two digits each are as likely a code.
            _ if short_year => None,
            '/' => Some(DateOrder::MonthFirst),
            _ => Some(DateOrder::DayFirst),
        };
        let others = undecided.into_iter().filter(|it| Some(*it) != usual);
        let others = others.map(|order| of(order, Proof::Custom)).collect();
        (usual.map(|order| of(order, Proof::Custom)), others)
    }
}

impl Evidence {
    /// Of a file in which numbers and dates are written so; of a column whose values are declared
    /// to be numbers or dates, of these alone.
    pub(crate) fn with(conventions: Conventions, order: Option<Order>) -> Evidence {
        let mut evidence = Evidence {
            conventions,
            ..Evidence::default()
        };
        if let (Some(decimal), Some(numbers)) = (conventions.decimal, &mut evidence.numbers) {
            let others = STYLES.iter().filter(|style| style.decimal() != decimal);
            numbers.styles &= !others.fold(0, |styles, style| styles | style.bit());
        }
        if let (Some(order), Some(dates)) = (conventions.date_order, &mut evidence.dates) {
            // A year of four digits stands first of itself.
            let numeric = [DateOrder::DayFirst, DateOrder::MonthFirst];
            let others = numeric.iter().filter(|other| **other != order);
            dates.orders &= !others.fold(0, |orders, other| orders | other.bit());
        }
        match order {
            Some(Order::Number) => evidence.dates = None,
            Some(Order::Instant) => evidence.numbers = None,
            _ => {}
        }
        evidence
    }

    /// As [`Evidence::take`], of a column whose type is declared: a value that is not written as
    /// those before it says nothing.
    pub(crate) fn take_fitting(&mut self, value: &str) {
        if let Some(numbers) = self.numbers.clone().and_then(|it| it.take(value)) {
            (self.numbers, self.seen) = (Some(numbers), true);
        }
        if let Some(dates) = self.dates.clone().and_then(|it| it.take(value)) {
            (self.dates, self.seen) = (Some(dates), true);
        }
    }

    /// Takes a value that is no plain number and no ISO date, or comes after one. Returns whether
    /// any notation is left: if not, there is no need for more values.
    pub fn take(&mut self, value: &str) -> bool {
        self.seen = true;
        self.numbers = self.numbers.take().and_then(|it| it.take(value));
        self.dates = self.dates.take().and_then(|it| it.take(value));
        self.numbers.is_some() || self.dates.is_some()
    }

    /// Takes a plain fraction.
    pub(crate) fn take_fraction(&mut self, value: &str) {
        if self.fractions != Fractions::Surely {
            let body = value.strip_prefix(['-', '+']).unwrap_or(value);
            self.fractions = match NumberStyle::CommaPoints.fits(body) {
                true => Fractions::MayBeGroups,
                false => Fractions::Surely,
            };
        }
    }

    fn decide(&self, file: File) -> Readings {
        let Conventions {
            date_order,
            decimal,
        } = self.conventions;
        if !self.seen {
            let groups = NumberNotation {
                style: NumberStyle::CommaPoints,
                currency: None,
                percent: false,
                parenthesised: false,
                trailing_minus: false,
                proof: Proof::File,
            };
            let may_be = decimal.is_none() && self.fractions == Fractions::MayBeGroups;
            let others = may_be.then_some(Notation::Number(groups));
            return Readings {
                own: None,
                others: others.into_iter().collect(),
            };
        }
        let dates = self.dates.as_ref().map(|it| it.decide(date_order));
        let dates = dates.unwrap_or_default();
        if let (Some(_), _) | (_, [_, ..]) = (&dates.0, &dates.1[..]) {
            return Readings {
                own: dates.0.map(Notation::Date),
                others: dates.1.into_iter().map(Notation::Date).collect(),
            };
        }
        let numbers = self.numbers.as_ref().map(|it| it.decide(file, decimal));
        let (own, others) = numbers.unwrap_or_default();
        Readings {
            own: own.map(Notation::Number),
            others: others.into_iter().map(Notation::Number).collect(),
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

/// The notations of a file's columns. Where a column alone does not distinguish decimals from
/// thousands, the columns that can decide, or else the delimiter: numbers with commas in a file
/// that is itself cut at commas, tabs or bars are thousands; one cut at semicolons says nothing.
/// What fits besides is left to the table.
pub fn decide(columns: &[Decided<'_>], delimiter: u8) -> Vec<Readings> {
    let cut_at_commas = delimiter == b',';
    let with = |(_, evidence): &Decided<'_>, decimal| {
        let file = File {
            decimal,
            cut_at_commas,
        };
        evidence.map(|it| it.decide(file)).unwrap_or_default()
    };
    let (mut points, mut commas) = (false, false);
    for column in columns {
        match with(column, None).own {
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
    columns.iter().map(|column| with(column, decimal)).collect()
}

/// How one value by itself may be written.
pub fn of_value(value: &str) -> Readings {
    let mut evidence = Evidence::default();
    match evidence.take(value) {
        true => evidence.decide(File {
            decimal: None,
            cut_at_commas: false,
        }),
        false => Readings::default(),
    }
}
