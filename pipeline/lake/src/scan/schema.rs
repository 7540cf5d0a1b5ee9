//! The columns of a table's rows, with the types that their values have together.
//!
//! Of a table with a log the types are the log's. Of others a type is the one that all files with
//! values give it ([`ColumnSummary::arrow_type`]). Where they differ, and of text, it follows from
//! the widened [`DataType`]: integers are `Int64` (`Decimal128(38, 0)` beyond 64 bits), fractions
//! `Float64`, days `Date32`, times `Timestamp(µs)` without a zone, truth values `Boolean`, bytes
//! `Binary`, and all else is text (`Utf8View`), nested values as JSON. Elements of lists in JSON
//! make a `List`.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType as Arrow, Field, Schema, SchemaRef};
use limn_formats::{arrow_type, names};
use limn_profile::merge::{Source, Union};
use limn_profile::{ColumnSummary, DataType, FilePart, FileSummary, LoggedColumn, infer};

use crate::layout::TableFile;
use crate::settled::table;

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
    /// The columns of these files, which have these constants besides.
    pub(super) fn of(
        files: &[(TableFile, FileSummary)],
        keys: &[Vec<(String, Option<String>)>],
    ) -> Columns {
        let logged = table(files.iter().map(|(_, summary)| summary));
        let logged = logged.map_or(&[][..], |table| &table.columns);
        let logged: HashMap<&str, &LoggedColumn> =
            logged.iter().map(|it| (it.name.as_str(), it)).collect();
        let parts: Vec<FilePart<'_>> = files
            .iter()
            .zip(keys)
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
            let arrow_type = match logged.get(column.name) {
                // What is nested is as files have it, where they agree.
                Some(logged) if !matches!(logged.data_type, DataType::Other(_)) => of_log(logged),
                _ => evidence.arrow_type(),
            };
            fields.push(Field::new(name, arrow_type, true));
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
            DataType::Integer if self.is_beyond_64_bits => Arrow::Decimal128(38, 0),
            _ => arrow_type(&self.data_type),
        };
        match (self.is_list, self.is_single) {
            (true, false) => Arrow::List(Arc::new(Field::new_list_field(element, true))),
            (true, true) => Arrow::Utf8View,
            _ => element,
        }
    }
}

/// The type that a log gives a column.
fn of_log(column: &LoggedColumn) -> Arrow {
    let given = column.arrow_type.as_deref();
    let given = given.and_then(|it| Arrow::from_str(it).ok());
    given.unwrap_or_else(|| arrow_type(&column.data_type))
}

/// The type that a file alone gives a column.
pub(super) fn of_file(column: &ColumnSummary) -> Arrow {
    let mut evidence = Evidence::default();
    evidence.column(column);
    evidence.arrow_type()
}
