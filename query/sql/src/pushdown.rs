//! From conditions of a query to filters of the scan. What is converted is exactly the condition:
//! rows that pass the one pass the other, so that DataFusion need not look again. Anything else
//! stays with DataFusion.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use limn_formats::{Comparison, Test};
use limn_lake::scan::Filter;
use std::sync::Arc;

/// Values of an IN list that the scan compares one by one; DataFusion looks longer ones up by hash.
const VALUES: usize = 64;

/// The filters that together are a condition over columns of `schema`, their columns by place in
/// it; `None` if it is no such condition.
pub(crate) fn filters(condition: &Expr, schema: &SchemaRef) -> Option<Vec<Filter>> {
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => {
            let mut both = filters(left, schema)?;
            both.extend(filters(right, schema)?);
            Some(both)
        }
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => {
            let low = compared(expr, Operator::GtEq, low, schema)?;
            let high = compared(expr, Operator::LtEq, high, schema)?;
            Some(vec![low, high])
        }
        condition => filter(condition, schema).map(|it| vec![it]),
    }
}

fn filter(condition: &Expr, schema: &SchemaRef) -> Option<Filter> {
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::Or, ..
        }) => any_of(condition, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            compared(left, *op, right, schema).or_else(|| compared(right, op.swap()?, left, schema))
        }
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) => {
            let (column, data_type) = column(expr, schema)?;
            let values: Option<Vec<ScalarValue>> =
                list.iter().map(|value| literal(value, data_type)).collect();
            one_of(column, values?)
        }
        Expr::IsNull(expr) => test(expr, Test::IsNull, schema),
        Expr::IsNotNull(expr) => test(expr, Test::IsNotNull, schema),
        // A column of truths is a condition itself.
        Expr::Column(_) => is_truth(condition, true, schema),
        Expr::Not(expr) => match expr.as_ref() {
            Expr::IsNull(expr) => test(expr, Test::IsNotNull, schema),
            Expr::IsNotNull(expr) => test(expr, Test::IsNull, schema),
            expr => is_truth(expr, false, schema),
        },
        _ => None,
    }
}

fn test(expr: &Expr, test: Test, schema: &SchemaRef) -> Option<Filter> {
    let (column, _) = column(expr, schema)?;
    Some(Filter { column, test })
}

fn is_truth(expr: &Expr, truth: bool, schema: &SchemaRef) -> Option<Filter> {
    let (column, data_type) = column(expr, schema)?;
    (*data_type == DataType::Boolean).then(|| {
        let value: ArrayRef = Arc::new(BooleanArray::from(vec![truth]));
        Filter {
            column,
            test: Test::Is(Comparison::Equal, value),
        }
    })
}

fn compared(left: &Expr, op: Operator, right: &Expr, schema: &SchemaRef) -> Option<Filter> {
    let (column, data_type) = column(left, schema)?;
    let comparison = match op {
        Operator::Eq => Comparison::Equal,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let value = literal(right, data_type).filter(|it| !it.is_null())?;
    Some(Filter {
        column,
        test: Test::Is(comparison, value.to_array().ok()?),
    })
}

/// `a = 1 OR a = 2 OR a IN (3, 4)`: one of a few values of one column.
fn any_of(condition: &Expr, schema: &SchemaRef) -> Option<Filter> {
    let mut of = None;
    let mut values = Vec::new();
    let mut terms = vec![condition];
    while let Some(term) = terms.pop() {
        let (expr, wanted): (&Expr, Vec<&Expr>) = match term {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Or,
                right,
            }) => {
                terms.extend([left.as_ref(), right.as_ref()]);
                continue;
            }
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Eq,
                right,
            }) => match left.as_ref() {
                Expr::Column(_) => (left, vec![right]),
                _ => (right, vec![left]),
            },
            Expr::InList(InList {
                expr,
                list,
                negated: false,
            }) => (expr, list.iter().collect()),
            _ => return None,
        };
        let (column, data_type) = column(expr, schema)?;
        if *of.get_or_insert(column) != column {
            return None;
        }
        for value in wanted {
            values.push(literal(value, data_type)?);
        }
    }
    one_of(of?, values)
}

/// Nulls among the values equal nothing.
fn one_of(column: usize, mut values: Vec<ScalarValue>) -> Option<Filter> {
    values.retain(|it| !it.is_null());
    if values.is_empty() || values.len() > VALUES {
        return None;
    }
    Some(Filter {
        column,
        test: Test::In(ScalarValue::iter_to_array(values).ok()?),
    })
}

fn column<'a>(expr: &Expr, schema: &'a SchemaRef) -> Option<(usize, &'a DataType)> {
    let Expr::Column(column) = expr else {
        return None;
    };
    let place = schema.index_of(&column.name).ok()?;
    let data_type = schema.field(place).data_type();
    is_plain(data_type).then_some((place, data_type))
}

/// Whether values of a type are compared by Arrow as SQL compares them.
fn is_plain(data_type: &DataType) -> bool {
    data_type.is_primitive()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        )
}

/// A literal as a value of this type, if it is the very same value there.
fn literal(expr: &Expr, data_type: &DataType) -> Option<ScalarValue> {
    let Expr::Literal(value, _) = expr else {
        return None;
    };
    if value.data_type() == *data_type {
        return Some(value.clone());
    }
    let cast = value.cast_to(data_type).ok()?;
    if value.is_null() {
        return Some(cast);
    }
    let back = cast.cast_to(&value.data_type()).ok()?;
    (!cast.is_null() && back == *value).then_some(cast)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow::array::{Array, Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema, TimeUnit};
    use datafusion::prelude::{col, in_list, lit};

    use super::*;

    fn schema() -> SchemaRef {
        let list = DataType::new_list(DataType::Int64, true);
        Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new("name", DataType::Utf8, true),
            Field::new("is_open", DataType::Boolean, true),
            Field::new("day", DataType::Date32, true),
            Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, None), true),
            Field::new("tags", list, true),
        ]))
    }

    fn pushed(condition: &Expr) -> Option<Vec<String>> {
        let text = |filter: Filter| {
            let values = |values: &ArrayRef| {
                let text = arrow::compute::cast(values, &DataType::Utf8).unwrap();
                let text = text.as_any().downcast_ref::<StringArray>().unwrap().clone();
                let text: Vec<&str> = text.iter().flatten().collect();
                text.join(",")
            };
            match filter.test {
                Test::Is(comparison, value) => {
                    format!("{} {comparison:?} {}", filter.column, values(&value))
                }
                Test::In(wanted) => format!("{} in {}", filter.column, values(&wanted)),
                other => format!("{} {other:?}", filter.column),
            }
        };
        Some(
            filters(condition, &schema())?
                .into_iter()
                .map(text)
                .collect(),
        )
    }

    #[test]
    fn comparisons_of_a_column_with_a_value_are_filters() {
        let id = || col("id");
        let value = |it: i64| lit(it);
        for (condition, wanted) in [
            (id().eq(value(3)), &["0 Equal 3"][..]),
            (value(3).lt(id()), &["0 Greater 3"]),
            (id().lt_eq(lit(3_i32)), &["0 LessOrEqual 3"]),
            (
                id().between(value(1), value(5)),
                &["0 GreaterOrEqual 1", "0 LessOrEqual 5"],
            ),
            (
                id().gt(value(1)).and(col("name").eq(lit("x"))),
                &["0 Greater 1", "1 Equal x"],
            ),
            (
                in_list(id(), vec![value(1), value(2)], false),
                &["0 in 1,2"],
            ),
            (
                in_list(id(), vec![value(1), lit(ScalarValue::Int64(None))], false),
                &["0 in 1"],
            ),
            (id().eq(value(1)).or(id().eq(value(2))), &["0 in 2,1"]),
            (col("name").is_null(), &["1 IsNull"]),
            (col("name").is_not_null(), &["1 IsNotNull"]),
            (Expr::Not(Box::new(col("name").is_null())), &["1 IsNotNull"]),
            (col("is_open"), &["2 Equal true"]),
            (Expr::Not(Box::new(col("is_open"))), &["2 Equal false"]),
            (
                col("day").gt_eq(lit(ScalarValue::Date32(Some(1)))),
                &["3 GreaterOrEqual 1970-01-02"],
            ),
            (
                col("at").lt(lit(ScalarValue::TimestampSecond(Some(1), None))),
                &["4 Less 1970-01-01T00:00:01"],
            ),
            (col("tags").is_null(), &[]),
        ] {
            match wanted {
                [] => assert_eq!(pushed(&condition), None, "{condition}"),
                wanted => assert_eq!(pushed(&condition).unwrap(), wanted, "{condition}"),
            }
        }
    }

    #[test]
    fn whatever_is_not_exactly_a_filter_is_none() {
        let id = || col("id");
        let many: Vec<Expr> = (0..100_i64).map(lit).collect();
        for condition in [
            id().eq(lit(3.5)),
            id().not_eq(lit(3_i64)),
            id().eq(lit(ScalarValue::Int64(None))),
            id().eq(col("id")),
            (id() + lit(1_i64)).eq(lit(3_i64)),
            in_list(id(), vec![lit(1_i64)], true),
            in_list(id(), vec![lit(1.5)], false),
            in_list(id(), many, false),
            id().eq(lit(1_i64)).or(col("name").eq(lit("x"))),
            id().eq(lit(1_i64)).or(id().gt(lit(5_i64))),
            id().eq(lit(1_i64)).and(col("name").like(lit("x%"))),
            col("nothing").eq(lit(1_i64)),
            col("name"),
            lit(true),
        ] {
            assert_eq!(pushed(&condition), None, "{condition}");
        }
    }

    #[test]
    fn values_have_the_columns_type() {
        let filters = filters(&col("id").eq(lit(3_u8)), &schema()).unwrap();
        let [
            Filter {
                test: Test::Is(_, value),
                ..
            },
        ] = filters.as_slice()
        else {
            panic!("{filters:?}");
        };
        assert!(value.as_any().is::<Int64Array>());
    }
}
