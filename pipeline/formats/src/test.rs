//! Tests of values, and which stretches of a file can have none that passes.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Scalar, new_null_array};
use arrow::compute::kernels::cmp;
use arrow::compute::{cast, is_not_null, is_null, or};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;

use crate::arrow_type::keeps_order;

/// What is tested, as SQL has it: a null passes [`Test::IsNull`] only. Values are arrays of the
/// column's type.
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
    pub fn of(&self, values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
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

    /// The type of its values, if it has any.
    pub fn data_type(&self) -> Option<&DataType> {
        match self {
            Test::Is(_, values) | Test::In(values) => Some(values.data_type()),
            Test::IsNull | Test::IsNotNull => None,
        }
    }

    /// Whether a value between these bounds may pass; each is the one value of an array of the
    /// column's type, null where it is not known. `has_nulls`, `has_values`: whether there may be
    /// any.
    pub fn may_pass(&self, bounds: &Bounds) -> bool {
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
pub struct Bounds {
    /// The least, or less; null where it is not known.
    pub min: ArrayRef,
    /// The greatest, or more; null where it is not known.
    pub max: ArrayRef,
    /// Whether there may be nulls.
    pub has_nulls: bool,
    /// Whether there may be values.
    pub has_values: bool,
    /// Whether there may be values that are not a number beside those between the bounds.
    pub has_nan: bool,
}

impl Bounds {
    /// Those of nothing but nulls of a type.
    pub fn nulls(data_type: &DataType) -> Bounds {
        Bounds {
            min: new_null_array(data_type, 1),
            max: new_null_array(data_type, 1),
            has_nulls: true,
            has_values: false,
            has_nan: false,
        }
    }

    /// Those of values that a file gives the type `from`, where the table gives them the type `to`.
    /// `bound` makes a bound one of the table's type; it is asked only where it then still is one.
    pub fn conformed(
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
        // These are greater than all numbers, or less than all. Writers of bounds leave them out,
        // and take one zero for another.
        if self.has_nan && (comparison != Comparison::Equal || is_nan_or_zero(value)) {
            return true;
        }
        // What cannot be compared, or is not known, may pass.
        let is = |comparison: Comparison, bound: &ArrayRef| {
            let compared = comparison.of(bound, value);
            compared.map_or(true, |it| it.is_null(0) || it.value(0))
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
pub enum Side {
    /// The least value.
    Min,
    /// The greatest value.
    Max,
}

fn is_nan_or_zero(value: &ArrayRef) -> bool {
    let number = cast(value, &DataType::Float64).ok();
    let number = number
        .as_ref()
        .and_then(|it| it.as_primitive_opt::<Float64Type>());
    number.is_none_or(|it| it.is_empty() || it.value(0).is_nan() || it.value(0) == 0.0)
}
