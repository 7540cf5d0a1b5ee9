//! The profile of one column of one file, built in one pass.
//!
//! [`ColumnBuilder`] takes one column's values in one pass: infers the type, counts nulls, keeps
//! minimum and maximum in the order of the type, and the values themselves in a
//! [`Frequent`](crate::values::Frequent). A value it still remembers costs a hash and a look-up,
//! nothing else.

use crate::bounds::{self, Bounds};
use crate::data_type::DataType;
use crate::infer;
use crate::notation::Evidence;
use crate::order::Order;
use crate::profile::ColumnProfile;
use crate::reading::DeclaredReading;
use crate::summary::ColumnSummary;
use crate::value_hashes::collected::HashCollector;
use crate::value_hashes::{FileHashes, FileValues, is_sought};
use crate::values::{ValueCounter, ValueLimits};

/// Profiles one column of one file in one pass.
#[derive(Debug)]
pub struct ColumnBuilder {
    name: String,
    data_type: DataType,
    values: u64,
    nulls: u64,
    counter: ValueCounter,
    // Of values that the counter may not keep.
    hashes: Option<Box<HashCollector>>,
    // Both are kept while the type may still widen to text.
    by_bytes: Option<Bounds<u64>>,
    by_value: Option<Bounds<f64>>,
    // A number or instant beyond those that are ordered: none is known to be the least or the
    // greatest.
    is_beyond: bool,
    footer: Footer,
    // How values may be written, where that is asked for and anything is left.
    evidence: Option<Box<Evidence>>,
    // Dates of which no notation fits all.
    mixed_dates: bool,
    // The type is declared: values that are not written as the others are not looked at.
    is_declared: bool,
    // Decimals are declared to have commas: a point is no plain one.
    asks_points: bool,
    // Cells that may stand for a missing value are looked for, and found. Till the end the type is
    // that of the others.
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
            hashes: None,
            by_bytes: None,
            by_value: None,
            is_beyond: false,
            footer: Footer::default(),
            evidence: None,
            mixed_dates: false,
            is_declared: false,
            asks_points: false,
            is_asked: false,
            has_markers: false,
        }
    }

    /// The same, whose values beyond those that are kept are hashed, as one of a file's columns.
    #[must_use]
    pub fn hashing(mut self, file: &FileValues) -> Self {
        self.hashes = file.collector();
        self
    }

    /// The same, keeping an eye on how numbers, dates and missing ones are written, as far as it is
    /// not declared.
    pub fn with_evidence(mut self, declared: &DeclaredReading) -> Self {
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

    /// Whether the column has [markers](infer::is_marker), and all its other values are plain
    /// numbers or plain dates.
    pub fn is_plain_but_for_markers(&self) -> bool {
        self.has_markers
            && match self.data_type.order() {
                Order::Number => true,
                Order::Instant => !self.mixed_dates,
                Order::Text => false,
            }
    }

    /// Whether the column has [markers](infer::is_marker).
    pub fn has_markers(&self) -> bool {
        self.has_markers
    }

    /// Whether all values of the column are [markers](infer::is_marker), and there are any.
    pub fn has_only_markers(&self) -> bool {
        self.has_markers && self.data_type == DataType::Unknown
    }

    /// What was seen of how values are written.
    pub fn evidence(&self) -> (&DataType, Option<&Evidence>) {
        (&self.data_type, self.evidence.as_deref())
    }

    #[inline]
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
    pub fn refuse_mixed_dates(&mut self) {
        self.mixed_dates = true;
    }

    /// Takes over the hashes of the same values as they are written.
    pub fn take_hashes(&mut self, of: &mut ColumnBuilder) {
        self.hashes = of.hashes.take();
    }

    /// Counts a value. Returns whether it is new (or was forgotten).
    #[inline]
    fn count(&mut self, value: &str) -> bool {
        let was_beyond = self.counter.is_beyond();
        let is_new = self.counter.add(value);
        if is_new && self.hashes.is_some() && self.counter.is_beyond() {
            self.hash(value, was_beyond);
        }
        is_new
    }

    fn hash(&mut self, value: &str, was_beyond: bool) {
        let Some(hashes) = &mut self.hashes else {
            return;
        };
        if was_beyond {
            hashes.add(value);
        } else {
            self.counter.kept().for_each(|value| hashes.add(value));
        }
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
        if !self.count(value) {
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
        if let Some(evidence) = &mut self.evidence {
            let is_pointed = self.asks_points && class == DataType::Float && value.contains('.');
            if class == DataType::Float && !is_pointed {
                evidence.take_fraction(value);
            } else if is_pointed || is_marked(&class, value) {
                self.look_at_notation(value);
            }
        }
        self.bound(&class, value, key);
        self.data_type.widen_with(&class);
    }

    /// Takes the next value of a source that types each value (`None` is null, and still carries
    /// the type). Values are to be written such that equal values have equal text.
    #[inline]
    pub fn push_typed(&mut self, data_type: &DataType, value: Option<&str>) {
        self.data_type.widen_with(data_type);
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        self.values += 1;
        if self.count(value) {
            self.bound(data_type, value, key(data_type, value));
        }
    }

    /// Takes the next text of a source that distinguishes texts from other values, but not from
    /// dates.
    #[inline]
    pub fn push_text(&mut self, value: &str) {
        self.values += 1;
        let is_new = self.count(value);
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

    /// Takes the next value of a column that has been [declared](ColumnBuilder::set_type) to hold
    /// nothing but values of its type; `known` is what it is ordered by, where that is at hand.
    #[inline]
    pub fn push_declared(&mut self, value: &str, known: Option<f64>) {
        self.values += 1;
        if !is_sought(&self.data_type) {
            self.hashes = None;
        }
        if !self.count(value) {
            return;
        }
        if self.data_type.order() == Order::Text {
            bounds::by_bytes(&mut self.by_bytes, value);
        } else if let Some(key) = known.or_else(|| key(&self.data_type, value)) {
            let compare = |a: &str, b: &str| self.data_type.compare(a, b);
            bounds::by_value(&mut self.by_value, key, value, compare);
        } else {
            self.is_beyond = true;
        }
    }

    /// Takes `n` nulls at once.
    #[inline]
    pub fn push_nulls(&mut self, n: u64) {
        self.nulls += n;
    }

    /// Declares (widens) the type, where no value may have been read.
    pub fn set_type(&mut self, data_type: &DataType) {
        self.data_type.widen_with(data_type);
    }

    /// Takes a file's own statistics of the whole column. Each that is given overrides
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
            Order::Number | Order::Instant => {
                self.by_value.filter(|_| !self.is_beyond).map(Bounds::texts)
            }
        };
        let (min, max) = counted.unzip();
        let values = self.footer.values.unwrap_or(self.values);
        let digest = self.counter.digest();
        let hashes = self.hashes.take();
        let hashes = hashes.and_then(|hashes| hashes.finish(&self.data_type));
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
            otherwise: Box::default(),
            in_files: None,
            field_id: None,
            left_out: false,
            arrow_type: None,
            description: None,
            hashes: hashes.into_iter().map(FileHashes::of_own).collect(),
        }
    }

    /// The summary of a column of nothing but [markers](infer::is_marker) if they are no values.
    /// Without a name.
    pub fn without_markers(&self, exact: bool) -> ColumnSummary {
        let mut others = ColumnBuilder::new("");
        others.push_nulls(self.nulls + self.values);
        others.finish(exact)
    }

    /// The summary of a column to which the elements of lists were pushed: how many rows have any,
    /// and how many elements those rows have, of which perhaps not all were pushed.
    pub fn finish_list(self, rows: u64, elements: u64, exact: bool) -> ColumnSummary {
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
        } else if class.order() != Order::Text {
            self.is_beyond = true;
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
