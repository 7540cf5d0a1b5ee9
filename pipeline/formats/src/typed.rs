//! What becomes of the values of a file whose columns have types: their profiles and the rows of
//! the sample. Shared by all formats whose decoders give Arrow arrays; which rows are decoded is
//! theirs to choose.

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Field, FieldRef};
use limn_profile::sample::CELL_CHARS;
use limn_profile::text::counted;
use limn_profile::text::prefix;
use limn_profile::{
    ColumnBuilder, ColumnSummary, DataType, FileSummary, FileValues, RowSampler, ValueLimits,
};
use limn_store::one_line;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::documented::{self, Documented};
use super::nested::Nested;
use super::render::{Renderer, Styles, data_type, prepare};
use super::{Failure, ReadOptions, names};
use crate::arrow_type::kept_type;
use crate::error::FileErrorKind;
use crate::room::Held;

/// Budgets of text that a profile takes: a dictionary of few bytes may unpack to any number.
const TEXT_BUDGETS: u64 = 16;
/// Budgets of bytes that are decoded for it, whether or not they become text.
const WORK_BUDGETS: u64 = 32;
/// A budget of text is this many bytes at least.
const SMALLEST_BUDGET: u64 = 4 << 10;

/// More rows than any file has; numbers above come from broken files.
pub(super) const MAX_ROWS: u64 = 1 << 33;

/// Rows of a part of a file whose rows before it are not counted have numbers with its place in the
/// file to the left of this many bits, and the row's place in it to the right.
const PLACE_BITS: u32 = 16;

/// The number of the first row of a part that begins at this byte.
pub(super) fn row_at(offset: u64) -> u64 {
    offset << PLACE_BITS
}

/// Why values were not read.
pub(super) enum Stopped {
    /// They take more memory, or more bytes of the file, than there is for them.
    TooMuch,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(failure)
    }
}

/// What an error of Arrow's means; only the innermost of several says anything.
pub(super) fn decoding(message: &str) -> Failure {
    let outer = [
        "Invalid argument error: ",
        "Ipc error: ",
        "Parser error: ",
        "Io error: ",
        "External error: ",
    ];
    let message = one_line(message);
    let mut message = message.as_str();
    while let Some(rest) = outer.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest;
    }
    let cause = format!("its content cannot be decoded: {message}");
    Failure::new(FileErrorKind::Corrupt, cause)
}

/// The id that a file gives a column.
pub(super) fn field_id(field: &Field) -> Option<i32> {
    field
        .metadata()
        .get(PARQUET_FIELD_ID_META_KEY)?
        .parse()
        .ok()
}

/// A column with this id, if it has one, besides what its metadata says.
pub(super) fn with_id(field: Field, id: Option<i32>) -> Field {
    let Some(id) = id else {
        return field;
    };
    let mut metadata = field.metadata().clone();
    metadata.insert(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
    field.with_metadata(metadata)
}

/// What is counted of the work that decoding is.
pub(super) trait Work {
    /// Whether no more bytes may be decoded.
    fn has_no_work(&self) -> bool;

    /// Counts bytes that were unpacked or walked over: a broken file may have very many that become
    /// no text.
    fn charge(&mut self, bytes: u64);
}

/// As much work as there is, as where all rows are wanted.
pub(super) struct AllWork;

impl Work for AllWork {
    fn has_no_work(&self) -> bool {
        false
    }

    fn charge(&mut self, _: u64) {}
}

/// What values are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Profile,
    Sample,
    Both,
}

/// The columns of one file while it is read.
pub(super) struct Typed {
    fields: Vec<FieldRef>,
    kinds: Vec<DataType>,
    builders: Vec<ColumnBuilder>,
    /// Columns whose values are not all taken, whatever is read.
    left_out: Vec<bool>,
    /// Values and nulls of columns of bytes that were counted and not looked at.
    bytes: Vec<(u64, u64)>,
    /// The rows of the sample, ascending, and their cells.
    drawn: Vec<u64>,
    cells: Vec<Vec<Option<String>>>,
    /// Whether a value of each was looked at.
    reached: Vec<bool>,
    /// Text that the profile took, and may take, in bytes.
    profiled: u64,
    most_profiled: u64,
    /// Bytes that may still be decoded.
    work: u64,
    /// The file's documentation of its columns and of itself.
    documented: Documented,
    /// Names of fields within columns.
    nested: Option<Nested>,
    _turn: Held,
}

/// How a file was read.
pub(super) struct Outcome {
    /// Rows in the file.
    pub(super) rows: u64,
    /// Whether they were counted.
    pub(super) rows_exact: bool,
    /// Whether every row was looked at.
    pub(super) complete: bool,
    /// What else a person should know.
    pub(super) notes: Vec<String>,
}

impl Work for Typed {
    fn has_no_work(&self) -> bool {
        self.work == 0
    }

    fn charge(&mut self, bytes: u64) {
        self.work = self.work.saturating_sub(bytes);
    }
}

impl Typed {
    /// Columns of these fields, and the rows that a sample is made of, ascending.
    pub(super) fn new(fields: Vec<FieldRef>, drawn: Vec<u64>, options: &ReadOptions) -> Self {
        Typed::naming(fields, drawn, Nested::of(options.declared()), options)
    }

    /// As [`Typed::new`], where fields within columns have these names.
    pub(super) fn naming(
        fields: Vec<FieldRef>,
        drawn: Vec<u64>,
        nested: Option<Nested>,
        options: &ReadOptions,
    ) -> Self {
        let fields: Vec<FieldRef> = match &nested {
            // A type that cannot be renamed has values that cannot be either: an error then.
            Some(nested) => fields
                .into_iter()
                .map(|field| nested.field(&field).unwrap_or(field))
                .collect(),
            None => fields,
        };
        let kinds: Vec<DataType> = fields
            .iter()
            .map(|field| data_type(field.data_type()))
            .collect();
        let turn = options.room.columns(fields.len());
        let limits = ValueLimits::for_columns(fields.len());
        let values = FileValues::new(options.values);
        let builders = names::unique(fields.iter().map(|field| field.name()))
            .into_iter()
            .zip(&kinds)
            .map(|(name, kind)| {
                let builder = ColumnBuilder::with_limits(name, limits);
                let mut builder = builder.hashing(&values);
                builder.set_type(kind);
                builder
            })
            .collect();
        let budget = options.scan_budget.max(SMALLEST_BUDGET);
        let described = fields.iter().map(|it| documented::column(it.metadata()));
        Typed {
            documented: Documented {
                table: None,
                columns: described.collect(),
            },
            left_out: vec![false; fields.len()],
            bytes: vec![(0, 0); fields.len()],
            cells: vec![vec![None; fields.len()]; drawn.len()],
            reached: vec![false; drawn.len()],
            fields,
            kinds,
            builders,
            drawn,
            nested,
            profiled: 0,
            most_profiled: budget.saturating_mul(TEXT_BUDGETS),
            work: budget.saturating_mul(WORK_BUDGETS),
            _turn: turn,
        }
    }

    /// Takes the file's documentation from elsewhere; that in the fields themselves holds.
    pub(super) fn document(&mut self, more: Documented) {
        self.documented.fill(more);
    }

    /// The columns' fields in file order.
    pub(super) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// Whether a column holds bytes, whose values are not looked at.
    pub(super) fn is_bytes(&self, column: usize) -> bool {
        self.kinds[column] == DataType::Binary
    }

    /// The rows of the sample, ascending.
    pub(super) fn drawn(&self) -> &[u64] {
        &self.drawn
    }

    /// Which of `rows` are drawn: places among them, and among those drawn.
    pub(super) fn picks(&self, rows: &Range<u64>) -> Vec<(usize, usize)> {
        let first = self.drawn.partition_point(|row| *row < rows.start);
        let last = self.drawn.partition_point(|row| *row < rows.end);
        (first..last)
            .map(|drawn| ((self.drawn[drawn] - rows.start) as usize, drawn))
            .collect()
    }

    /// Whether the profile has taken as much text as it may, or work.
    pub(super) fn is_full(&self) -> bool {
        self.profile_is_full() || self.has_no_work()
    }

    fn profile_is_full(&self) -> bool {
        self.profiled > self.most_profiled
    }

    /// Whether nothing more is decoded of rows of which these are drawn: all work is done, or only
    /// the sample goes on and none of them is in it.
    pub(super) fn is_done(&self, picks: &[(usize, usize)]) -> bool {
        self.has_no_work() || (self.profile_is_full() && picks.is_empty())
    }

    /// Values of a column with the names that fields within it have today.
    ///
    /// # Errors
    /// Those of Arrow; none of values that a reader gives.
    pub(super) fn named(&self, column: usize, values: &ArrayRef) -> Result<ArrayRef, Failure> {
        let Some(nested) = &self.nested else {
            return Ok(values.clone());
        };
        let named = nested.values(self.fields[column].name(), values);
        named.map_err(|error| decoding(&error.to_string()))
    }

    /// Takes values of a column. `picks` says which of them are of drawn rows, and of which.
    pub(super) fn take(
        &mut self,
        column: usize,
        array: &ArrayRef,
        picks: &[(usize, usize)],
        purpose: Purpose,
    ) {
        let styles = Styles::default();
        let mut buffer = String::new();
        let array = prepare(array);
        let mut renderer = Renderer::new(&self.fields[column], &array, &styles);
        if purpose != Purpose::Profile {
            for (i, drawn) in picks.iter().filter(|(i, _)| *i < array.len()) {
                let text = renderer.text(*i, &mut buffer);
                self.reached[*drawn] = true;
                self.work = self.work.saturating_sub(styles.cost(text));
                self.cells[*drawn][column] = text.map(|text| prefix(text, CELL_CHARS).to_owned());
            }
        }
        if purpose != Purpose::Sample {
            let builder = &mut self.builders[column];
            for i in 0..array.len() {
                if self.profiled > self.most_profiled {
                    break;
                }
                let key = renderer.key(i);
                let text = renderer.text(i, &mut buffer);
                self.profiled += styles.cost(text);
                match text {
                    Some(text) => builder.push_declared(text, key),
                    None => builder.push_nulls(1),
                }
            }
        }
    }

    /// Takes the values of a column of bytes: only how many there are.
    pub(super) fn take_bytes(&mut self, column: usize, array: &ArrayRef) {
        let nulls = array.logical_null_count() as u64;
        let counted = &mut self.bytes[column];
        counted.0 += array.len() as u64 - nulls;
        counted.1 += nulls;
    }

    /// Leaves a column's values out: of bytes, or too large to be read.
    pub(super) fn leave_out(&mut self, column: usize) {
        self.left_out[column] = true;
    }

    /// Takes a file's statistics of a whole column ([`ColumnBuilder::set_bounds`]).
    pub(super) fn known(
        &mut self,
        column: usize,
        (min, max): (Option<&str>, Option<&str>),
        nulls: Option<u64>,
        values: Option<u64>,
    ) {
        self.builders[column].set_bounds(min, max, nulls, values);
    }

    /// The file's summary.
    pub(super) fn finish(
        mut self,
        outcome: Outcome,
        sample_path: &str,
        options: &ReadOptions,
    ) -> FileSummary {
        let complete = outcome.complete && !self.is_full();
        let mut sampler = RowSampler::new(options.seed, sample_path, options.sample_rows);
        // Of a table of bytes alone no row has a value that is looked at.
        let all_bytes = (0..self.kinds.len()).all(|column| self.is_bytes(column));
        let cells = std::mem::take(&mut self.cells);
        for ((row, cells), reached) in self.drawn.iter().zip(cells).zip(&self.reached) {
            if !*reached && !all_bytes {
                continue;
            }
            if let Some(priority) = sampler.wants(*row) {
                sampler.keep(priority, *row, cells);
            }
        }
        let mut notes = outcome.notes;
        if self.is_full() {
            notes.push("some values not read that take too much together".to_owned());
        }
        let mut bytes = 0;
        for column in 0..self.kinds.len() {
            if !self.is_bytes(column) {
                continue;
            }
            self.leave_out(column);
            bytes += 1;
            let (values, nulls) = self.bytes[column];
            if values + nulls > 0 {
                self.known(column, (None, None), Some(nulls), Some(values));
            }
        }
        if bytes > 0 {
            notes.push(format!(
                "values of {} of bytes not read",
                counted(bytes, "column")
            ));
        }
        let described = self.documented.columns.into_iter();
        let types = self.fields.iter().zip(&self.kinds);
        let types: Vec<Option<String>> = types
            .map(|(field, kind)| kept_type(field.data_type(), kind))
            .collect();
        let ids = self.fields.iter().map(|field| field_id(field));
        let described = described.zip(types).zip(ids.collect::<Vec<_>>());
        let columns = self.builders.into_iter().zip(self.left_out).zip(described);
        FileSummary {
            columns: columns
                .map(
                    |((column, left_out), ((description, arrow_type), field_id))| ColumnSummary {
                        description,
                        arrow_type,
                        field_id,
                        ..column.finish(complete && !left_out)
                    },
                )
                .collect(),
            rows: outcome.rows,
            rows_exact: outcome.rows_exact,
            sample: sampler.finish(),
            approximate: !complete,
            notes,
            description: self.documented.table,
            ..FileSummary::default()
        }
    }
}
