//! Column profiles: what a column's values look like, per file and merged per table.
//!
//! [`ColumnBuilder`] takes one column's values in one pass: infers the type, counts nulls, keeps
//! minimum and maximum in the order of the type, and the values themselves in a
//! [`Frequent`]. A value it still remembers costs a hash and a look-up, nothing else.
//!
//! What follows from a profile is computed from it when asked for, and not stored: distinct counts, uniqueness
//! and likely keys ([`crate::keys`]), the forms of values ([`crate::patterns`]), how two columns overlap
//! ([`crate::value_set`]).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::bounds::Bounds;
pub use crate::data_type::DataType;
use crate::data_type::Order;
use crate::formats::infer;
use crate::notation::Evidence;
use crate::reading::DeclaredReading;
use crate::summary::ColumnSummary;
use crate::values::ValueCounter;
pub use crate::values::{EXACT_BELOW, Frequent, HyperLogLog, VALUE_CHARS, ValueLimits, join_key};

mod bounds;

/// What a column's values look like. Merged over files by [`ColumnProfile::merge`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnProfile {
    /// Values that are not null, in the whole file or table (where the profile is not
    /// [`ColumnProfile::exact`]: as far as known).
    #[serde(rename = "v", default, skip_serializing_if = "is_zero")]
    pub values: u64,
    /// Nulls, likewise.
    #[serde(rename = "z", default, skip_serializing_if = "is_zero")]
    pub nulls: u64,
    /// Of `values`, those that `frequent` did not count because profile reading was cut short.
    #[serde(rename = "u", default, skip_serializing_if = "is_zero")]
    pub uncounted: u64,
    /// Least value in the order of the column's type; unknown where there is none, or where files
    /// disagree about the order (integers here, text there).
    #[serde(rename = "lo", default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Greatest value, likewise.
    #[serde(rename = "hi", default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Distinct values with counts.
    #[serde(rename = "f", default, skip_serializing_if = "Frequent::is_empty")]
    pub frequent: Frequent,
    /// Where the column is of the elements of lists (`tags[]`): how many of them `frequent` counted. Then `values` are the
    /// rows with any; least, greatest and distinct values are of elements.
    #[serde(rename = "l", default, skip_serializing_if = "is_zero")]
    pub elements: u64,
    /// Whether every value was looked at. If not, `frequent` is of a part of the rows.
    #[serde(rename = "x", default = "yes", skip_serializing_if = "is_true")]
    pub exact: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn yes() -> bool {
    true
}

fn is_true(b: &bool) -> bool {
    *b
}

impl ColumnProfile {
    /// The profile of a column that is null in all of a file's rows: a column that others of the
    /// table's files have and this one lacks.
    pub fn absent(rows: u64) -> Self {
        ColumnProfile {
            nulls: rows,
            exact: true,
            ..ColumnProfile::default()
        }
    }

    /// The profile of a column that has one value in all rows (a partition key's).
    pub fn constant(value: &str, rows: u64) -> Self {
        let bound = (rows > 0).then(|| bounds::cut(value).to_owned());
        ColumnProfile {
            values: rows,
            min: bound.clone(),
            max: bound,
            frequent: Frequent::constant(value, rows),
            exact: true,
            ..ColumnProfile::default()
        }
    }

    /// The profile without any value: how many there are, how many distinct ones, nulls.
    pub(crate) fn withheld(&self) -> Self {
        if self.frequent.is_empty() || self.frequent.is_withheld() {
            return ColumnProfile {
                min: None,
                max: None,
                ..self.clone()
            };
        }
        let exact = self.frequent.distinct_exact();
        ColumnProfile {
            min: None,
            max: None,
            frequent: Frequent::withheld(self.distinct(), exact, !self.is_unique()),
            ..self.clone()
        }
    }

    /// Takes out the values that a test finds, as if they had not been looked at.
    pub(crate) fn drop_values(&mut self, is_dropped: impl Fn(&str) -> bool) {
        let bounds = [&self.min, &self.max];
        if bounds.into_iter().flatten().any(|bound| is_dropped(bound)) {
            self.min = None;
            self.max = None;
        }
        let dropped = self.frequent.drop_values(is_dropped);
        if dropped == 0 {
            return;
        }
        self.exact = false;
        match self.elements {
            0 => self.uncounted = self.uncounted.saturating_add(dropped).min(self.values),
            _ => self.elements = self.elements.saturating_sub(dropped).max(1),
        }
    }

    /// The same profile, if it is of a part of `rows` rows with its counts scaled to all of them.
    pub fn scaled_to(&self, rows: u64) -> Cow<'_, ColumnProfile> {
        let seen = self.values + self.nulls;
        if self.exact || seen == 0 || seen >= rows {
            return Cow::Borrowed(self);
        }
        let nulls =
            (u128::from(self.nulls) * u128::from(rows) + u128::from(seen / 2)) / u128::from(seen);
        let nulls = (nulls as u64).min(rows);
        let values = rows - nulls;
        Cow::Owned(ColumnProfile {
            values,
            nulls,
            uncounted: values.saturating_sub(self.values.saturating_sub(self.uncounted)),
            ..self.clone()
        })
    }

    /// Nulls as a share of all rows; 0 without rows.
    pub fn null_share(&self) -> f64 {
        let rows = self.values.saturating_add(self.nulls);
        if rows == 0 {
            0.0
        } else {
            self.nulls as f64 / rows as f64
        }
    }

    /// Values that `frequent` counted; of lists their elements.
    pub fn counted(&self) -> u64 {
        match self.elements {
            0 => self.values.saturating_sub(self.uncounted),
            elements => elements,
        }
    }

    /// Whether the column is of the elements of lists.
    pub fn is_of_lists(&self) -> bool {
        self.elements > 0
    }

    /// The profile of several files' rows together; `parts` in path order (see [`Frequent::merge`]).
    /// Returns it with the widened type. Everything but the frequent values beyond the exact range
    /// is associative and commutative.
    pub fn merge(parts: &[(&DataType, &ColumnProfile)]) -> (DataType, ColumnProfile) {
        let mut data_type = DataType::Unknown;
        for (part, _) in parts {
            data_type.widen_with(part);
        }
        let order = data_type.order();
        let mut merged = ColumnProfile {
            exact: true,
            ..ColumnProfile::default()
        };
        let mut bounded = true;
        if parts.iter().any(|(_, part)| part.is_of_lists()) {
            let elements = parts.iter().map(|(_, part)| part.counted());
            merged.elements = elements.fold(0, u64::saturating_add);
        }
        for (part_type, part) in parts {
            merged.values = merged.values.saturating_add(part.values);
            merged.nulls = merged.nulls.saturating_add(part.nulls);
            merged.uncounted = merged.uncounted.saturating_add(part.uncounted);
            merged.exact &= part.exact;
            if part.values == 0 {
                continue;
            }
            bounded &= part_type.order() == order && part.min.is_some() && part.max.is_some();
            if bounded {
                replace_if(&mut merged.min, part.min.as_ref(), |new, old| {
                    data_type.compare(new, old).is_lt()
                });
                replace_if(&mut merged.max, part.max.as_ref(), |new, old| {
                    data_type.compare(new, old).is_gt()
                });
            }
        }
        if !bounded {
            merged.min = None;
            merged.max = None;
        }
        merged.frequent = Frequent::merge(parts.iter().map(|(_, part)| &part.frequent));
        (data_type, merged)
    }
}

fn replace_if(
    kept: &mut Option<String>,
    new: Option<&String>,
    better: impl Fn(&str, &str) -> bool,
) {
    if let Some(new) = new
        && kept.as_ref().is_none_or(|old| better(new, old))
    {
        *kept = Some(new.clone());
    }
}

/// Profiles one column of one file in one pass.
#[derive(Debug)]
pub struct ColumnBuilder {
    name: String,
    data_type: DataType,
    values: u64,
    nulls: u64,
    counter: ValueCounter,
    // Both are kept while the type may still widen to text.
    by_bytes: Option<Bounds<u64>>,
    by_value: Option<Bounds<f64>>,
    footer: Footer,
    // How values may be written, where that is asked for and anything is left.
    evidence: Option<Box<Evidence>>,
    // Dates of which no notation fits all.
    mixed_dates: bool,
    // People say the type: values that are not written as the others are not looked at.
    is_declared: bool,
    // People say that decimals have commas: a point is no plain one.
    asks_points: bool,
    // Cells that may stand for a missing value are looked for, and found. Till the end the type is that of the others.
    is_asked: bool,
    has_markers: bool,
}

#[derive(Debug, Default)]
struct Footer {
    min: Option<String>,
    max: Option<String>,
    nulls: Option<u64>,
    values: Option<u64>,
}

impl ColumnBuilder {
    /// A column that remembers as much as the catalog keeps of one.
    pub fn new(name: impl Into<String>) -> Self {
        ColumnBuilder::with_limits(name, ValueLimits::default())
    }

    /// A column of a wide table: see [`ValueLimits::for_columns`].
    pub fn with_limits(name: impl Into<String>, limits: ValueLimits) -> Self {
        ColumnBuilder {
            name: name.into(),
            data_type: DataType::Unknown,
            values: 0,
            nulls: 0,
            counter: ValueCounter::new(limits),
            by_bytes: None,
            by_value: None,
            footer: Footer::default(),
            evidence: None,
            mixed_dates: false,
            is_declared: false,
            asks_points: false,
            is_asked: false,
            has_markers: false,
        }
    }

    /// The same, keeping an eye on how numbers, dates and missing ones are written, as far as people do not say it.
    pub(crate) fn with_evidence(mut self, declared: &DeclaredReading) -> Self {
        let data_type = declared.types.get(&self.name);
        let order = data_type.map(DataType::order);
        self.is_declared = order.is_some();
        self.asks_points = declared.conventions.decimal == Some(',');
        self.is_asked = !self.is_declared && declared.nulls.is_none();
        if order != Some(Order::Text) {
            let evidence = Evidence::with(declared.conventions, order);
            self.evidence = Some(Box::new(evidence));
        }
        self
    }

    /// Whether the column has [markers](infer::is_marker), and all its other values are plain numbers or plain dates.
    pub(crate) fn is_plain_but_for_markers(&self) -> bool {
        self.has_markers
            && match self.data_type.order() {
                Order::Number => true,
                Order::Instant => !self.mixed_dates,
                Order::Text => false,
            }
    }

    /// Whether the column has [markers](infer::is_marker).
    pub(crate) fn has_markers(&self) -> bool {
        self.has_markers
    }

    /// What was seen of how values are written.
    pub(crate) fn evidence(&self) -> (&DataType, Option<&Evidence>) {
        (&self.data_type, self.evidence.as_deref())
    }

    fn look_at_notation(&mut self, value: &str) {
        let Some(evidence) = &mut self.evidence else {
            return;
        };
        if self.is_declared {
            evidence.take_fitting(value);
        } else if !evidence.take(value) {
            self.evidence = None;
            self.mixed_dates = true;
        }
    }

    /// Dates that are written in more than one order are text.
    pub(crate) fn refuse_mixed_dates(&mut self) {
        self.mixed_dates = true;
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next value of an untyped source; `None` is null. Its type is inferred
    /// ([`infer::classify`]), once per distinct value.
    #[inline]
    pub fn push(&mut self, value: Option<&str>) {
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        self.values += 1;
        if !self.counter.add(value) {
            return;
        }
        if self.is_asked && infer::is_marker(value) {
            self.has_markers = true;
            bounds::by_bytes(&mut self.by_bytes, value);
            return;
        }
        if self.data_type == DataType::Text {
            if self.evidence.is_some() {
                self.look_at_notation(value);
            }
            bounds::by_bytes(&mut self.by_bytes, value);
            return;
        }
        let (class, key) = infer::read(value);
        let is_pointed = self.asks_points && class == DataType::Float && value.contains('.');
        if self.evidence.is_some() && (is_pointed || is_marked(&class, value)) {
            self.look_at_notation(value);
        }
        self.bound(&class, value, key);
        self.data_type.widen_with(&class);
    }

    /// Takes the next value of a source that types each value (`None` is null, and still carries the type). Values
    /// are to be written such that equal values have equal text.
    #[inline]
    pub fn push_typed(&mut self, data_type: &DataType, value: Option<&str>) {
        self.data_type.widen_with(data_type);
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        self.values += 1;
        if self.counter.add(value) {
            self.bound(data_type, value, key(data_type, value));
        }
    }

    /// Takes the next text of a source that tells texts from other values, but not from dates.
    #[inline]
    pub(crate) fn push_text(&mut self, value: &str) {
        self.values += 1;
        let is_new = self.counter.add(value);
        match self.data_type {
            DataType::Text => {
                if is_new {
                    bounds::by_bytes(&mut self.by_bytes, value);
                }
            }
            // Of dates alone a text that is known is one.
            DataType::Date | DataType::Timestamp if !is_new => {}
            _ => {
                let (class, key) = match infer::read(value) {
                    dated @ (DataType::Date | DataType::Timestamp, _) => dated,
                    // A number in quotes is a number on purpose not.
                    _ => (DataType::Text, None),
                };
                self.data_type.widen_with(&class);
                if is_new {
                    self.bound(&class, value, key);
                }
            }
        }
    }

    /// Takes the next value of a column that has been [declared](ColumnBuilder::set_type) to hold nothing but values of its type;
    /// `known` is what it is ordered by, where that is at hand.
    #[inline]
    pub(crate) fn push_declared(&mut self, value: &str, known: Option<f64>) {
        self.values += 1;
        if !self.counter.add(value) {
            return;
        }
        if self.data_type.order() == Order::Text {
            bounds::by_bytes(&mut self.by_bytes, value);
        } else if let Some(key) = known.or_else(|| key(&self.data_type, value)) {
            let compare = |a: &str, b: &str| self.data_type.compare(a, b);
            bounds::by_value(&mut self.by_value, key, value, compare);
        }
    }

    /// Takes `n` nulls at once.
    pub fn push_nulls(&mut self, n: u64) {
        self.nulls += n;
    }

    /// Declares (widens) the type, where no value may have been read.
    pub fn set_type(&mut self, data_type: &DataType) {
        self.data_type.widen_with(data_type);
    }

    /// Takes what a file's own statistics say of the whole column. Each that is given overrides
    /// what was counted.
    pub fn set_bounds(
        &mut self,
        min: Option<&str>,
        max: Option<&str>,
        nulls: Option<u64>,
        values: Option<u64>,
    ) {
        let cut = |bound: Option<&str>| bound.map(|bound| bounds::cut(bound).to_owned());
        self.footer = Footer {
            min: cut(min),
            max: cut(max),
            nulls,
            values,
        };
    }

    /// The column's summary. `exact`: every value of the file was pushed.
    pub fn finish(mut self, exact: bool) -> ColumnSummary {
        if self.has_markers {
            self.data_type.widen_with(&DataType::Text);
        }
        let is_pointed = self.asks_points && self.data_type == DataType::Float;
        if self.mixed_dates && (is_pointed || self.data_type.order() == Order::Instant) {
            self.data_type = DataType::Text;
        }
        let counted = match self.data_type.order() {
            Order::Text => self.by_bytes.map(Bounds::texts),
            Order::Number | Order::Instant => self.by_value.map(Bounds::texts),
        };
        let (min, max) = counted.unzip();
        let values = self.footer.values.unwrap_or(self.values);
        let digest = self.counter.digest();
        let profile = ColumnProfile {
            values,
            nulls: self.footer.nulls.unwrap_or(self.nulls),
            uncounted: values.saturating_sub(self.values),
            min: self.footer.min.or(min),
            max: self.footer.max.or(max),
            frequent: self.counter.finish(),
            elements: 0,
            exact,
        };
        ColumnSummary {
            name: self.name,
            data_type: self.data_type,
            profile,
            digest,
            marked: None,
            notation: None,
            in_files: None,
            arrow_type: None,
            description: None,
        }
    }

    /// The summary of a column to which the elements of lists were pushed: how many rows have any, and how many elements
    /// those rows have, of which perhaps not all were pushed.
    pub(crate) fn finish_list(self, rows: u64, elements: u64, exact: bool) -> ColumnSummary {
        let mut summary = self.finish(exact);
        let profile = &mut summary.profile;
        profile.elements = profile.values;
        profile.values = rows;
        if profile.elements == 0 {
            profile.uncounted = rows;
        }
        profile.exact &= profile.elements == elements;
        summary
    }

    fn bound(&mut self, class: &DataType, value: &str, key: Option<f64>) {
        bounds::by_bytes(&mut self.by_bytes, value);
        if let Some(key) = key {
            let compare = |a: &str, b: &str| class.compare(a, b);
            bounds::by_value(&mut self.by_value, key, value, compare);
        }
    }
}

/// What a value of a type is ordered by, if not by its bytes.
fn key(data_type: &DataType, value: &str) -> Option<f64> {
    match data_type.order() {
        Order::Number => infer::number(value),
        Order::Instant => infer::instant(value).map(|instant| instant as f64),
        Order::Text => None,
    }
}

/// Whether a value may be a number or date that is not written plainly.
fn is_marked(class: &DataType, value: &str) -> bool {
    match class {
        DataType::Text => true,
        DataType::Date | DataType::Timestamp => value.as_bytes().get(4) != Some(&b'-'),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
