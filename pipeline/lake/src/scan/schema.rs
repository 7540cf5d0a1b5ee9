//! The columns of a table's rows, with the types that their values have together.
//!
//! A type is the one that all files with values give it ([`ColumnSummary::arrow_type`]). Where they differ, and of text, it follows
//! from the widened [`DataType`]: integers are `Int64` (`Decimal128(38, 0)` beyond 64 bits), fractions `Float64`, days `Date32`,
//! times `Timestamp(µs)` without a zone, truth values `Boolean`, bytes `Binary`, and all else is text (`Utf8View`), nested
//! values as JSON. Elements of lists in JSON make a `List`.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType as Arrow, Field, Schema, SchemaRef, TimeUnit};

use crate::data_type::DataType;
use crate::formats::{infer, names};
use crate::layout::DataFile;
use crate::merge::{FilePart, Source, Union};
use crate::place;
use crate::summary::{ColumnSummary, FileSummary};

/// The columns of a table, and where each file has them.
pub(super) struct Columns {
    pub(super) schema: SchemaRef,
    /// Of each column, by file, where its values are.
    places: Vec<HashMap<usize, Place>>,
}

/// Where the values of a column are in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a column of its own.
    Column(usize),
    /// In the path: the value is the same for all rows.
    Constant(Option<String>),
}

impl Columns {
    pub(super) fn of(files: &[(DataFile, FileSummary)]) -> Columns {
        let keys: Vec<_> = files
            .iter()
            .map(|(file, _)| place::partition(&file.object.path))
            .collect();
        let parts: Vec<FilePart<'_>> = files
            .iter()
            .zip(&keys)
            .map(|((file, summary), keys)| FilePart {
                path: &file.object.path,
                summary,
                partition: keys,
            })
            .collect();
        let union = Union::of(&parts);
        let names = names::unique(union.columns.iter().map(|column| column.name));
        let (mut fields, mut places) = (Vec::new(), Vec::new());
        for (column, name) in union.columns.iter().zip(names) {
            let mut evidence = Evidence::default();
            let mut of_files = HashMap::with_capacity(column.sources.len());
            for (file, source) in &column.sources {
                let place = match source {
                    Source::Column(at) => {
                        evidence.column(&files[*file].1.columns[*at]);
                        Place::Column(*at)
                    }
                    Source::Key(at) => {
                        let value = keys[*file][*at].1.clone();
                        evidence.key(value.as_deref());
                        Place::Constant(value)
                    }
                };
                of_files.insert(*file, place);
            }
            fields.push(Field::new(name, evidence.arrow_type(), true));
            places.push(of_files);
        }
        Columns {
            schema: Arc::new(Schema::new(fields)),
            places,
        }
    }

    /// Where a file has the values of a column, if it has any.
    pub(super) fn place(&self, column: usize, file: usize) -> Option<&Place> {
        self.places[column].get(&file)
    }

    pub(super) fn data_type(&self, column: usize) -> &Arrow {
        self.schema.field(column).data_type()
    }
}

/// What the files say of a column's type.
#[derive(Default)]
struct Evidence {
    data_type: DataType,
    /// The Arrow types that files give it; empty where one gives none.
    given: BTreeSet<String>,
    is_list: bool,
    is_single: bool,
    is_beyond_64_bits: bool,
}

impl Evidence {
    fn column(&mut self, column: &ColumnSummary) {
        if column.data_type == DataType::Unknown {
            return;
        }
        self.data_type.widen_with(&column.data_type);
        self.given
            .insert(column.arrow_type.clone().unwrap_or_default());
        match column.profile.is_of_lists() {
            true => self.is_list = true,
            false => self.is_single = true,
        }
        let bounds = [&column.profile.min, &column.profile.max];
        self.values(&column.data_type, bounds.into_iter().flatten());
    }

    fn key(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            let data_type = infer::classify(value);
            self.data_type.widen_with(&data_type);
            self.values(&data_type, std::iter::once(value));
            self.given.insert(String::new());
            self.is_single = true;
        }
    }

    /// Takes values, the least and the greatest among them.
    fn values(&mut self, data_type: &DataType, mut values: impl Iterator<Item: AsRef<str>>) {
        let is_beyond = |text: &str| i64::from_str(text.trim().trim_start_matches('+')).is_err();
        self.is_beyond_64_bits |=
            *data_type == DataType::Integer && values.any(|it| is_beyond(it.as_ref()));
    }

    fn arrow_type(&self) -> Arrow {
        let mut given = self.given.iter();
        if let (Some(one), None) = (given.next(), given.next())
            && let Ok(given) = Arrow::from_str(one)
        {
            return given;
        }
        let element = match self.data_type {
            DataType::Boolean => Arrow::Boolean,
            DataType::Integer if self.is_beyond_64_bits => Arrow::Decimal128(38, 0),
            DataType::Integer => Arrow::Int64,
            DataType::Float => Arrow::Float64,
            DataType::Date => Arrow::Date32,
            DataType::Timestamp => Arrow::Timestamp(TimeUnit::Microsecond, None),
            DataType::Binary => Arrow::Binary,
            DataType::Unknown | DataType::Text | DataType::Other(_) => Arrow::Utf8View,
        };
        match (self.is_list, self.is_single) {
            (true, false) => Arrow::List(Arc::new(Field::new_list_field(element, true))),
            (true, true) => Arrow::Utf8View,
            _ => element,
        }
    }
}

/// The type that a file alone gives a column.
pub(super) fn of_file(column: &ColumnSummary) -> Arrow {
    let mut evidence = Evidence::default();
    evidence.column(column);
    evidence.arrow_type()
}

/// Whether values keep their order where those of one type become another's as [`super::conform`] makes them: what is less in
/// the one is never greater in the other.
pub(super) fn keeps_order(from: &Arrow, to: &Arrow) -> bool {
    let Some(from) = plain_type(from) else {
        return false;
    };
    match to {
        _ if from == *to => {
            to.is_numeric()
                || matches!(to, Arrow::Boolean | Arrow::Date32 | Arrow::Timestamp(..))
                || matches!(to, Arrow::Time32(_) | Arrow::Time64(_))
                || matches!(to, Arrow::Utf8View | Arrow::Binary)
        }
        Arrow::Int64 | Arrow::Float64 | Arrow::Decimal128(38, 0) => from.is_integer(),
        Arrow::Timestamp(TimeUnit::Microsecond, None) => from == Arrow::Date32,
        _ => false,
    }
}

/// What is kept of the type that a file gives a column: none if it follows from limn's own name for it.
pub(crate) fn kept_type(arrow: &Arrow, data_type: &DataType) -> Option<String> {
    let plain = plain_type(arrow)?;
    let implied = Evidence {
        data_type: data_type.clone(),
        ..Evidence::default()
    };
    if plain == implied.arrow_type() {
        return None;
    }
    let told = plain.to_string();
    // What cannot be read back would be another type.
    (Arrow::from_str(&told).ok()? == plain).then_some(told)
}

/// A type without how its values are stored: dictionaries and runs are their values. None of what is read as text.
fn plain_type(arrow: &Arrow) -> Option<Arrow> {
    Some(match arrow {
        Arrow::Dictionary(_, values) => plain_type(values)?,
        Arrow::RunEndEncoded(_, values) => plain_type(values.data_type())?,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => Arrow::Utf8View,
        Arrow::LargeBinary | Arrow::FixedSizeBinary(_) | Arrow::BinaryView => Arrow::Binary,
        Arrow::Date64 => Arrow::Date32,
        Arrow::Float16 => Arrow::Float32,
        Arrow::Null | Arrow::Union(..) => return None,
        other => other.clone(),
    })
}
