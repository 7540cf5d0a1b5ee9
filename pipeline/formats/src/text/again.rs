//! The second reading of delimited text: of columns whose numbers or dates are not written plainly,
//! or are missing where a sign stands, as plain ones and nulls; and in the other ways in which
//! their values may be meant.

use csv::ByteRecord;
use limn_profile::infer::{Nulls, is_marker};
use limn_profile::notation::{self, Decided, Readings};
use limn_profile::text::counted;
use limn_profile::{
    ColumnBuilder, ColumnSummary, DataType, DeclaredReading, Notation, ValueLimits,
};

use crate::dialect::Plan;
use crate::fitting::fit;

/// Letters of column names that a note quotes.
const QUOTED: usize = 120;

/// A second reading of a file.
pub(super) struct Again {
    columns: Vec<Column>,
    plain: String,
}

/// The readings of one column.
#[derive(Default)]
pub(super) struct Column {
    /// The likeliest, if it is not the first reading.
    own: Option<Renoted>,
    /// What else may be meant.
    others: Vec<Renoted>,
}

impl Column {
    fn new(name: &str, writings: Writings, limits: ValueLimits) -> Column {
        let reading = |writing: Writing| {
            let mut builder = ColumnBuilder::with_limits(name, limits);
            if let Some(declared) = &writing.declared {
                builder.set_type(declared);
            }
            Renoted {
                writing,
                builder,
                markers: 0,
                unfit: 0,
                misfit: false,
            }
        };
        Column {
            own: writings.own.map(reading),
            others: writings.others.into_iter().map(reading).collect(),
        }
    }

    /// The column's summary; `first` is what the first reading made of it.
    pub(super) fn finish(self, mut first: ColumnBuilder, exact: bool) -> ColumnSummary {
        let others = self.others.into_iter().filter(|read| !read.misfit);
        let others = others.map(|read| ColumnSummary {
            name: String::new(),
            ..read.finish(exact)
        });
        let mut otherwise: Vec<ColumnSummary> = others.collect();
        if first.has_only_markers() {
            otherwise.push(first.without_markers(exact));
        }
        let own = match self.own {
            Some(mut read) if !read.misfit => {
                read.builder.take_hashes(&mut first);
                read.finish(exact)
            }
            Some(_) => {
                first.refuse_mixed_dates();
                first.finish(exact)
            }
            None => first.finish(exact),
        };
        ColumnSummary {
            otherwise: otherwise.into(),
            ..own
        }
    }
}

/// The ways in which a column may be written.
#[derive(Default)]
pub(super) struct Writings {
    /// The likeliest; none for the plain way.
    own: Option<Writing>,
    others: Vec<Writing>,
}

/// How a column of numbers or dates is written, if not plainly.
struct Writing {
    notation: Option<Notation>,
    /// Signs stand where values are missing.
    has_markers: bool,
    /// Its declared type.
    declared: Option<DataType>,
}

/// A column read as it is written.
pub(super) struct Renoted {
    writing: Writing,
    builder: ColumnBuilder,
    /// Cells that were read as nulls for the sign in them.
    markers: u64,
    /// Cells that were read as nulls, since they do not fit the declared type.
    unfit: u64,
    /// A value is not written so.
    misfit: bool,
}

impl Renoted {
    fn finish(self, exact: bool) -> ColumnSummary {
        ColumnSummary {
            notation: self.writing.notation,
            ..self.builder.finish(exact)
        }
    }

    fn take(&mut self, text: &str, nulls: Nulls<'_>, plain: &mut String) {
        if nulls.has(text) {
            self.builder.push(None);
        } else if let Some(data_type) = &self.writing.declared {
            let fits = fit(text, data_type, self.writing.notation.as_ref(), plain);
            self.unfit += u64::from(!fits);
            let value = fits.then_some(plain.as_str());
            self.builder.push_typed(data_type, value);
        } else if self.writing.has_markers && is_marker(text) {
            self.markers += 1;
            self.builder.push(None);
        } else if let Some(notation) = &self.writing.notation {
            self.misfit = !notation.plain(text, plain);
            self.builder.push(Some(plain));
        } else {
            self.builder.push(Some(text));
        }
    }

    /// Whether a cell was read as null.
    pub(super) fn is_null(&self, cell: &str, plain: &mut String) -> bool {
        match &self.writing.declared {
            Some(declared) => !fit(cell, declared, self.writing.notation.as_ref(), plain),
            None => is_marker(cell),
        }
    }
}

impl Again {
    /// None where the first reading is the only one.
    pub(super) fn new(
        plan: &Plan,
        first: &[ColumnBuilder],
        declared: &DeclaredReading,
    ) -> Option<Again> {
        let writings = writings(first, plan.dialect.delimiter, declared);
        let is_read = |it: &Writings| it.own.is_some() || !it.others.is_empty();
        if !writings.iter().any(is_read) {
            return None;
        }
        let limits = ValueLimits::for_columns(plan.columns.len());
        let columns = plan.columns.iter().zip(writings);
        Some(Again {
            columns: columns
                .map(|(name, writings)| Column::new(name, writings, limits))
                .collect(),
            plain: String::new(),
        })
    }

    /// The readings that hold, by their places.
    fn own(&self) -> impl Iterator<Item = (usize, &Renoted)> {
        let columns = self.columns.iter().enumerate();
        let read = columns.filter_map(|(i, column)| Some((i, column.own.as_ref()?)));
        read.filter(|(_, column)| !column.misfit)
    }

    /// The columns in which cells were read as nulls, by their places.
    pub(super) fn with_nulls(&self) -> impl Iterator<Item = (usize, &Renoted)> {
        self.own()
            .filter(|(_, column)| column.markers + column.unfit > 0)
    }

    /// The columns.
    pub(super) fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The notes on cells that were read as nulls, for signs in them or since they do not fit.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |count: fn(&Renoted) -> u64, what: &str| {
            let columns = || self.own().map(|(_, it)| it).filter(|it| count(it) > 0);
            let cells: u64 = columns().map(count).sum();
            let names: Vec<&str> = columns().map(|it| it.builder.name()).collect();
            let names: String = names.join(", ").chars().take(QUOTED).collect();
            let cells_of = counted(cells, "cell");
            (cells > 0).then(|| format!("{cells_of} {what} read as null: {names}"))
        };
        let signs = note(|it| it.markers, "with a sign for a missing value (`-`)");
        let unfit = note(|it| it.unfit, "not of the declared type");
        signs.into_iter().chain(unfit).collect()
    }

    /// Takes a row.
    pub(super) fn row(&mut self, record: &ByteRecord, nulls: Nulls<'_>) {
        for (i, column) in self.columns.iter_mut().enumerate() {
            let readings = column.own.iter_mut().chain(&mut column.others);
            for reading in readings.filter(|reading| !reading.misfit) {
                // What is not UTF-8 has become another text in the first reading, and fits nothing.
                let cell = record.get(i).unwrap_or_default().trim_ascii();
                let text = std::str::from_utf8(cell).unwrap_or("?");
                reading.take(text, nulls, &mut self.plain);
            }
        }
    }
}

/// How columns may be written. Of one whose type people declare nothing is left open.
fn writings(columns: &[ColumnBuilder], delimiter: u8, declared: &DeclaredReading) -> Vec<Writings> {
    let seen: Vec<Decided<'_>> = columns.iter().map(ColumnBuilder::evidence).collect();
    let readings = notation::decide(&seen, delimiter);
    let writings = |(column, readings): (&ColumnBuilder, Readings)| {
        let data_type = declared.types.get(column.name());
        let has_markers = data_type.is_none() && column.has_markers();
        let writing = |notation| Writing {
            notation,
            has_markers,
            declared: data_type.cloned(),
        };
        let is_written_oddly = readings.own.is_some() || column.is_plain_but_for_markers();
        let is_read = data_type.is_some() || is_written_oddly;
        let others = readings.others.into_iter().filter(|_| data_type.is_none());
        Writings {
            own: is_read.then(|| writing(readings.own)),
            others: others.map(|other| writing(Some(other))).collect(),
        }
    };
    columns.iter().zip(readings).map(writings).collect()
}
