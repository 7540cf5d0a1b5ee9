//! The functions that a statement may call: DataFusion's, of which those whose results are as long
//! as an argument says are bounded.
//!
//! `repeat('a', 2000000000)` takes all memory in one call, where no limit of a query looks. So what
//! such a call would make is computed from its arguments first.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{
    DataType, FieldRef, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampSecondType,
};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::error::bytes;

/// Bytes of one value that a call makes, at most.
const VALUE: u64 = 4 << 20;
/// Bytes of all values that a call makes, at most.
const VALUES: u64 = 256 << 20;
/// Rows of a batch, each of which has a constant once.
const BATCH: usize = 8192;
/// Bytes of an element of a list, besides what is in it.
const ELEMENT: u64 = 16;
/// Names that are suggested, at most.
const SUGGESTED: usize = 3;
/// Seconds of the shortest day and the days of the shortest month.
const DAY: f64 = 82_800.0;
const MONTH: f64 = 28.0;

/// All functions of values.
pub(crate) fn of_values() -> Vec<Arc<ScalarUDF>> {
    let all = SessionStateDefaults::default_scalar_functions().into_iter();
    let bounded = all.map(|inner| match Length::of(inner.name()) {
        Some(length) => Arc::new(ScalarUDF::from(Bounded::new(inner, length))),
        None => inner,
    });
    bounded.collect()
}

/// The names of all functions.
static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    let mut add = |name: &str, aliases: &[String]| {
        names.insert(name.to_owned());
        names.extend(aliases.iter().cloned());
    };
    for it in SessionStateDefaults::default_scalar_functions() {
        add(it.name(), it.aliases());
    }
    for it in SessionStateDefaults::default_aggregate_functions() {
        add(it.name(), it.aliases());
    }
    for it in SessionStateDefaults::default_window_functions() {
        add(it.name(), it.aliases());
    }
    names
});

/// Functions that are most like one that there is none of: a name that is short for theirs (`cnt`),
/// or with a letter or two wrong.
pub(crate) fn like(wanted: &str) -> Vec<&'static str> {
    let wanted = wanted.to_lowercase();
    let most = match wanted.chars().count() {
        0..=2 | 64.. => return Vec::new(),
        3..=5 => 1,
        _ => 2,
    };
    let unlike = |name: &str| match strsim::osa_distance(&wanted, name) {
        1..=2 if is_short_for(&wanted, name) => Some(0),
        wrong => (wrong <= most).then_some(wrong),
    };
    let names = NAMES
        .iter()
        .filter_map(|it| Some((unlike(it)?, it.as_str())));
    let mut found: Vec<(usize, &str)> = names.collect();
    found.sort_unstable();
    let least = found.first().map(|it| it.0);
    let alike = found.into_iter().filter(|it| Some(it.0) == least);
    alike.map(|it| it.1).take(SUGGESTED).collect()
}

/// Whether a word is a name without some letters within.
fn is_short_for(word: &str, name: &str) -> bool {
    let mut letters = name.chars();
    word.chars().next() == name.chars().next()
        && word.chars().last() == name.chars().last()
        && word.chars().all(|letter| letters.any(|it| it == letter))
}

/// A function that makes no values that are too large.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    length: Length,
    signature: Signature,
}

impl Bounded {
    fn new(inner: Arc<ScalarUDF>, length: Length) -> Bounded {
        let mut signature = inner.signature().clone();
        if length.is_of_list() {
            // A list is not computed while planning, to stand in the plan as a constant: it may be
            // a long one.
            signature.volatility = Volatility::Volatile;
        }
        Bounded {
            inner,
            length,
            signature,
        }
    }

    fn check(&self, args: &ScalarFunctionArgs) -> Result<()> {
        let refused = |size: u64, most: u64, what: &str| {
            let (name, size, most) = (self.inner.name(), bytes(size), bytes(most));
            let refusal = format!("{name}() would make {what} of {size}, and {most} are allowed");
            Err(DataFusionError::Execution(refusal))
        };
        let is_constant = (args.args.iter()).all(|it| matches!(it, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let parts = args.args.iter().map(Part::of);
        let parts = parts.collect::<Result<Vec<Part>>>()?;
        let mut all = 0_u64;
        for row in 0..rows {
            let size = self.length.bytes(&parts, row)?.unwrap_or(0);
            if size > VALUE {
                return refused(size, VALUE, "a value");
            }
            all = all.saturating_add(size);
        }
        let times = match is_constant {
            // While planning there is one row, whatever there are later.
            true if !self.length.is_of_list() => args.number_rows.max(BATCH),
            true => args.number_rows,
            false => 1,
        };
        let all = all.saturating_mul(times as u64);
        match all > VALUES {
            true => refused(all, VALUES, "values for some thousand rows"),
            false => Ok(()),
        }
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.check(&args)?;
        self.inner.invoke_with_args(args)
    }
}

/// What says how long a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Length {
    /// A text, so many times.
    Repeated,
    /// A text of so many letters.
    Padded,
    /// A text with other texts where one was.
    Replaced,
    /// A list with a value so many times.
    Copies,
    /// A list of so many elements.
    Resized,
    /// A list from one value to another.
    Range,
}

impl Length {
    fn of(function: &str) -> Option<Length> {
        Some(match function {
            "repeat" => Length::Repeated,
            "lpad" | "rpad" => Length::Padded,
            "replace" => Length::Replaced,
            "array_repeat" => Length::Copies,
            "array_resize" => Length::Resized,
            "range" | "generate_series" => Length::Range,
            _ => return None,
        })
    }

    fn is_of_list(self) -> bool {
        matches!(self, Length::Copies | Length::Resized | Length::Range)
    }

    /// The bytes of a row's value, or a few more; `None` where an argument is null or of a type
    /// that is refused.
    fn bytes(self, parts: &[Part], row: usize) -> Result<Option<u64>> {
        let part = |at: usize| parts.get(at);
        let text = |at: usize| part(at).and_then(|it| it.text(row));
        let number = |at: usize| part(at).and_then(|it| it.number(row));
        let length = number(1).map(|it| u64::try_from(it).unwrap_or(0));
        Ok(match self {
            Length::Repeated => text(0)
                .zip(length)
                .map(|(text, times)| times.saturating_mul(text.len() as u64)),
            // No letter has more than four bytes.
            Length::Padded => length.map(|it| it.saturating_mul(4)),
            Length::Replaced => match (text(0), text(1), text(2)) {
                (Some(text), Some(from), Some(to)) => Some(replaced(text, from, to)),
                _ => None,
            },
            Length::Copies => {
                let element = part(0).map_or(Ok(0), |it| it.bytes(row))?;
                length.map(|it| it.saturating_mul(ELEMENT + element))
            }
            Length::Resized => {
                let element = part(2).map_or(Ok(0), |it| it.bytes(row))?;
                length.map(|it| it.saturating_mul(ELEMENT + element))
            }
            Length::Range => {
                let count = match number(0) {
                    Some(_) => whole_numbers(number(0), number(1), number(2), parts.len()),
                    None => times(parts, row),
                };
                count.map(|it| it.saturating_mul(ELEMENT))
            }
        })
    }
}

/// The bytes of a text with `to` wherever it has `from`; between all letters, if that is empty.
fn replaced(text: &str, from: &str, to: &str) -> u64 {
    let most = (text.len() / from.len().max(1) + 1) as u64;
    let size =
        |count: u64| (text.len() as u64).saturating_add(count.saturating_mul(to.len() as u64));
    match size(most) > VALUE / 128 {
        // It is worth the while to count.
        true => size(text.matches(from).count() as u64),
        false => size(most),
    }
}

/// The numbers from one to another.
fn whole_numbers(
    first: Option<i64>,
    second: Option<i64>,
    third: Option<i64>,
    given: usize,
) -> Option<u64> {
    let (start, stop, step) = match given {
        1 => (0, first?, 1),
        2 => (first?, second?, 1),
        _ => (first?, second?, third?),
    };
    Some(steps(
        i128::from(stop) - i128::from(start),
        i128::from(step),
    ))
}

fn steps(way: i128, step: i128) -> u64 {
    match step != 0 && (way < 0) == (step < 0) {
        true => u64::try_from(way / step).map_or(u64::MAX, |it| it.saturating_add(1)),
        // None, or one where both ends are the same.
        false => 1,
    }
}

/// The dates or times from one to another.
fn times(parts: &[Part], row: usize) -> Option<u64> {
    let start = parts.first()?.seconds(row)?;
    let stop = parts.get(1)?.seconds(row)?;
    let (months, days, nanos) = parts.get(2)?.interval(row)?;
    let signs = [i64::from(months), i64::from(days), nanos].map(i64::signum);
    if signs.contains(&1) && signs.contains(&-1) {
        // One that goes forth and back may stand still.
        return Some(u64::MAX);
    }
    let step = (f64::from(months) * MONTH + f64::from(days)) * DAY + nanos as f64 / 1e9;
    let way = (stop as f64) - (start as f64);
    match step != 0.0 && (way < 0.0) == (step < 0.0) {
        // What is larger than any number is the largest.
        true => Some((way / step) as u64 + 1),
        false => Some(1),
    }
}

/// The one of the types of a kind that is looked at.
fn plain_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        it if it.is_integer() => Some(DataType::Int64),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            Some(DataType::Timestamp(TimeUnit::Second, None))
        }
        DataType::Interval(_) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Dictionary(_, values) => plain_type(values),
        _ => None,
    }
}

/// An argument: a value, or one for each row.
struct Part {
    values: ArrayRef,
    is_constant: bool,
}

impl Part {
    fn of(value: &ColumnarValue) -> Result<Part> {
        let (values, is_constant) = match value {
            ColumnarValue::Array(values) => (Arc::clone(values), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        let plain = plain_type(values.data_type());
        let values = match plain {
            Some(plain) if plain != *values.data_type() => cast(&values, &plain)?,
            _ => values,
        };
        Ok(Part {
            values,
            is_constant,
        })
    }

    /// The place of a row's value, if there is one.
    fn place(&self, row: usize) -> Option<usize> {
        let place = if self.is_constant { 0 } else { row };
        (place < self.values.len() && self.values.is_valid(place)).then_some(place)
    }

    fn text(&self, row: usize) -> Option<&str> {
        let place = self.place(row)?;
        let texts = self.values.as_string_view_opt()?;
        Some(texts.value(place))
    }

    fn number(&self, row: usize) -> Option<i64> {
        let place = self.place(row)?;
        let numbers = self.values.as_primitive_opt::<Int64Type>()?;
        Some(numbers.value(place))
    }

    fn seconds(&self, row: usize) -> Option<i64> {
        let place = self.place(row)?;
        let times = self.values.as_primitive_opt::<TimestampSecondType>()?;
        Some(times.value(place))
    }

    /// Months, days and nanoseconds.
    fn interval(&self, row: usize) -> Option<(i32, i32, i64)> {
        let place = self.place(row)?;
        let intervals = self.values.as_primitive_opt::<IntervalMonthDayNanoType>()?;
        Some(IntervalMonthDayNanoType::to_parts(intervals.value(place)))
    }

    /// The bytes of a row's value.
    fn bytes(&self, row: usize) -> Result<u64> {
        let Some(place) = self.place(row) else {
            return Ok(0);
        };
        let one = take(&self.values, &UInt64Array::from(vec![place as u64]), None)?;
        Ok(one.to_data().get_slice_memory_size()? as u64)
    }
}
