//! Filters: which rows are wanted, and which files and stretches of files can have none of them.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, Scalar, new_null_array};
use arrow::compute::kernels::cmp;
use arrow::compute::{and, cast, filter_record_batch, is_not_null, is_null, or};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;

use super::schema::keeps_order;

/// A test of one column, as SQL has it: a null passes [`Test::IsNull`] only.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The column's place in [`super::TableRows::schema`].
    pub column: usize,
    /// What is tested.
    pub test: Test,
}

/// What is tested. Values are arrays of the column's type.
#[derive(Clone, Debug)]
pub enum Test {
    /// Compared with the one value of an array.
    Is(Comparison, ArrayRef),
    /// One of an array's values.
    In(ArrayRef),
    /// Null.
    IsNull,
    /// Not null.
    IsNotNull,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    fn of(self, values: &ArrayRef, value: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        let value = Scalar::new(value);
        match self {
            Comparison::Equal => cmp::eq(values, &value),
            Comparison::Less => cmp::lt(values, &value),
            Comparison::LessOrEqual => cmp::lt_eq(values, &value),
            Comparison::Greater => cmp::gt(values, &value),
            Comparison::GreaterOrEqual => cmp::gt_eq(values, &value),
        }
    }
}

impl Test {
    /// Which values pass; null where it is not known.
    ///
    /// # Errors
    /// Values of another type.
    pub(super) fn of(&self, values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        match self {
            Test::Is(comparison, value) => comparison.of(values, value),
            Test::In(wanted) => {
                let mut passing = BooleanArray::from(vec![false; values.len()]);
                for at in 0..wanted.len() {
                    passing = or(
                        &passing,
                        &Comparison::Equal.of(values, &wanted.slice(at, 1))?,
                    )?;
                }
                Ok(passing)
            }
            Test::IsNull => is_null(values),
            Test::IsNotNull => is_not_null(values),
        }
    }

    /// Whether a value between these bounds may pass; each is the one value of an array of the column's type, null where it is
    /// not known. `has_nulls`, `has_values`: whether there may be any.
    pub(crate) fn may_pass(&self, bounds: &Bounds) -> bool {
        match self {
            Test::IsNull => bounds.has_nulls,
            Test::IsNotNull => bounds.has_values,
            Test::Is(comparison, value) => bounds.has_values && bounds.allows(*comparison, value),
            Test::In(values) => {
                let mut values = (0..values.len()).map(|at| values.slice(at, 1));
                bounds.has_values && values.any(|value| bounds.allows(Comparison::Equal, &value))
            }
        }
    }
}

/// What is known of some values.
pub(crate) struct Bounds {
    pub(crate) min: ArrayRef,
    pub(crate) max: ArrayRef,
    pub(crate) has_nulls: bool,
    pub(crate) has_values: bool,
    /// Whether there may be values that are not a number beside those between the bounds.
    pub(crate) has_nan: bool,
}

impl Bounds {
    /// Those of values that a file gives the type `from`, where the table gives them the type `to`. `bound` makes a bound one
    /// of the table's type; it is asked only where it then still is one.
    pub(crate) fn conformed(
        from: &DataType,
        to: &DataType,
        (has_nulls, has_values): (bool, bool),
        bound: impl Fn(Side) -> Option<ArrayRef>,
    ) -> Bounds {
        let is_known = keeps_order(from, to);
        let bound = |side| is_known.then(|| bound(side)).flatten();
        let bound = |side| bound(side).unwrap_or_else(|| new_null_array(to, 1));
        Bounds {
            min: bound(Side::Min),
            max: bound(Side::Max),
            // What does not fit is null.
            has_nulls: has_nulls || from != to,
            has_values,
            has_nan: to.is_floating(),
        }
    }

    fn allows(&self, comparison: Comparison, value: &ArrayRef) -> bool {
        // These are greater than all numbers, or less than all. Writers of bounds leave them out, and take one zero for another.
        if self.has_nan && (comparison != Comparison::Equal || is_nan_or_zero(value)) {
            return true;
        }
        // What cannot be compared, or is not known, may pass.
        let is = |comparison: Comparison, bound: &ArrayRef| {
            let told = comparison.of(bound, value);
            told.map_or(true, |told| told.is_null(0) || told.value(0))
        };
        match comparison {
            Comparison::Equal => {
                is(Comparison::LessOrEqual, &self.min) && is(Comparison::GreaterOrEqual, &self.max)
            }
            Comparison::Less | Comparison::LessOrEqual => is(comparison, &self.min),
            Comparison::Greater | Comparison::GreaterOrEqual => is(comparison, &self.max),
        }
    }
}

/// One of two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Min,
    Max,
}

fn is_nan_or_zero(value: &ArrayRef) -> bool {
    let number = cast(value, &DataType::Float64).ok();
    let number = number
        .as_ref()
        .and_then(|it| it.as_primitive_opt::<Float64Type>());
    number.is_none_or(|it| it.is_empty() || it.value(0).is_nan() || it.value(0) == 0.0)
}

/// The rows of a batch that pass all tests, each of the column at its place in the batch.
///
/// # Errors
/// Values of another type.
pub(super) fn passing<'a>(
    batch: RecordBatch,
    tests: impl Iterator<Item = (usize, &'a Test)>,
) -> Result<RecordBatch, ArrowError> {
    let mut passing: Option<BooleanArray> = None;
    for (place, test) in tests {
        let told = test.of(batch.column(place))?;
        passing = Some(match passing {
            Some(before) => and(&before, &told)?,
            None => told,
        });
    }
    match passing {
        Some(passing) => filter_record_batch(&batch, &passing),
        None => Ok(batch),
    }
}
