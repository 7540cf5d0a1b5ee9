//! Values of different types that a statement compares, where DataFusion alone would end it.
//!
//! In files the same key is a number here and a text there. Text that is compared with numbers is
//! taken as the number that it is written as, and what is none is like nothing: `'n/a'` ends no
//! join. A note says so. A pattern (LIKE) is looked for in what a number or time is as text. A text
//! in the statement itself is not looked at here: `year = 'x'` stays an error.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::{InList, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Cast, Expr, ExprSchemable, Like, LogicalPlan, Operator, TryCast,
};
use datafusion::optimizer::AnalyzerRule;
use limn_store::one_line;

use crate::notes::Notes;

/// What is done before DataFusion gives both sides of a comparison one type.
#[derive(Debug)]
pub(crate) struct Types {
    pub(crate) notes: Arc<Notes>,
}

impl AnalyzerRule for Types {
    fn name(&self) -> &str {
        "limn_types"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            let plan = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = expr.transform_up(|expr| {
                    has_no_number_beside_a_date(&expr, &schema)?;
                    Ok(self.expr(expr, &schema))
                })?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            Ok(plan.update_data(|plan| self.join(plan, &schema)))
        });
        Ok(plan?.data)
    }
}

impl Types {
    fn expr(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        match expr {
            Expr::Like(like) if like.expr.get_type(schema).is_ok_and(|of| is_plain(&of)) => {
                let text = Expr::Cast(Cast::new(like.expr, DataType::Utf8View));
                Transformed::yes(Expr::Like(Like {
                    expr: Box::new(text),
                    ..like
                }))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (left, right) = self.compared(*left, op, *right, schema);
                let (left, right) = (Box::new(left), Box::new(right));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::InList(list) if !list.negated => {
                Transformed::yes(Expr::InList(self.in_list(list, schema)))
            }
            Expr::InSubquery(within) if !within.negated => {
                Transformed::yes(Expr::InSubquery(self.in_subquery(within, schema)))
            }
            Expr::Between(between) if !between.negated => {
                Transformed::yes(Expr::Between(self.between(between, schema)))
            }
            expr => Transformed::no(expr),
        }
    }

    /// A value that is to be equal to one of several.
    fn in_list(&self, list: InList, schema: &DFSchema) -> InList {
        let types: Result<Vec<DataType>> = list.list.iter().map(|it| it.get_type(schema)).collect();
        let (Ok(of), Ok(types)) = (list.expr.get_type(schema), types) else {
            return list;
        };
        let mut numbers = types.iter().filter(|it| !it.is_null());
        if of.is_string() && numbers.clone().all(DataType::is_numeric) {
            let Some(first) = numbers.next() else {
                return list;
            };
            let as_type = match numbers.all(|it| it == first) {
                true => first.clone(),
                false => DataType::Float64,
            };
            let expr = Box::new(self.number(*list.expr, as_type));
            return InList { expr, ..list };
        }
        if !of.is_numeric() {
            return list;
        }
        let items = list.list.into_iter().zip(types);
        let items = items.map(|(item, is)| match is.is_string() {
            true => self.number(item, of.clone()),
            false => item,
        });
        InList {
            list: items.collect(),
            ..list
        }
    }

    /// A text that is to be equal to one of the numbers that a query has.
    fn in_subquery(&self, within: InSubquery, schema: &DFSchema) -> InSubquery {
        let fields = within.subquery.subquery.schema().fields();
        let of_query = fields.first().map(|it| it.data_type().clone());
        match (within.expr.get_type(schema), of_query) {
            (Ok(of), Some(of_query)) if of.is_string() && of_query.is_numeric() => {
                let expr = Box::new(self.number(*within.expr, of_query));
                InSubquery { expr, ..within }
            }
            _ => within,
        }
    }

    /// A value between two others.
    fn between(&self, between: Between, schema: &DFSchema) -> Between {
        let of = |expr: &Expr| expr.get_type(schema).unwrap_or(DataType::Null);
        let (value, low, high) = (of(&between.expr), of(&between.low), of(&between.high));
        let as_number = |expr: Box<Expr>| Box::new(self.number(*expr, DataType::Float64));
        if value.is_string() && low.is_numeric() && high.is_numeric() {
            let expr = as_number(between.expr);
            return Between { expr, ..between };
        }
        let if_text = |expr: Box<Expr>, is: DataType| match value.is_numeric() && is.is_string() {
            true => as_number(expr),
            false => expr,
        };
        Between {
            low: if_text(between.low, low),
            high: if_text(between.high, high),
            ..between
        }
    }

    /// USING is a comparison, too.
    fn join(&self, plan: LogicalPlan, schema: &DFSchema) -> LogicalPlan {
        match plan {
            LogicalPlan::Join(mut join) => {
                let pairs = join.on.into_iter();
                let pairs = pairs.map(|(a, b)| self.compared(a, Operator::Eq, b, schema));
                join.on = pairs.collect();
                LogicalPlan::Join(join)
            }
            plan => plan,
        }
    }

    /// Both sides of a comparison. Where they are to be equal, a text becomes a number of the other
    /// side's very type, so that long keys stay distinct; else a fraction. What differs from a
    /// text that is no number is nobody's guess.
    fn compared(&self, left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> (Expr, Expr) {
        let is_equality = match op {
            Operator::Eq => true,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => false,
            _ => return (left, right),
        };
        let (Ok(of_left), Ok(of_right)) = (left.get_type(schema), right.get_type(schema)) else {
            return (left, right);
        };
        let like = |other: &DataType| match is_equality {
            true => other.clone(),
            false => DataType::Float64,
        };
        if of_left.is_string() && of_right.is_numeric() {
            (self.number(left, like(&of_right)), right)
        } else if of_right.is_string() && of_left.is_numeric() {
            let right = self.number(right, like(&of_left));
            (left, right)
        } else {
            (left, right)
        }
    }

    /// A text as a number of a type.
    fn number(&self, text: Expr, as_type: DataType) -> Expr {
        if matches!(text, Expr::Literal(..)) {
            return text;
        }
        let name = match &text {
            Expr::Column(column) => column.name.clone(),
            other => other.schema_name().to_string(),
        };
        self.notes.add(format!(
            "'{}' is text: only its values that are numbers are compared with numbers",
            one_line(&name)
        ));
        Expr::TryCast(TryCast::new(Box::new(text), as_type))
    }
}

/// Refuses a comparison of a number with a date: DataFusion alone takes the date for the days since
/// 1970, and `20240401 >= DATE '2024-04-01'` for true of any year.
///
/// # Errors
/// There is one.
fn has_no_number_beside_a_date(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let pairs: Vec<(&Expr, &Expr)> = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            vec![(left, right)]
        }
        Expr::Between(between) => vec![
            (&between.expr, &between.low),
            (&between.expr, &between.high),
        ],
        Expr::InList(list) => list.list.iter().map(|it| (&*list.expr, it)).collect(),
        _ => return Ok(()),
    };
    let is =
        |expr: &Expr, fits: fn(&DataType) -> bool| expr.get_type(schema).is_ok_and(|of| fits(&of));
    let is_date: fn(&DataType) -> bool = |of| {
        matches!(
            of,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
        )
    };
    let number = pairs.iter().find_map(|(a, b)| {
        let sides = [(a, b), (b, a)].into_iter();
        let mut sides =
            sides.filter(|(one, other)| is(one, DataType::is_numeric) && is(other, is_date));
        sides.next().map(|(number, _)| *number)
    });
    let Some(number) = number else { return Ok(()) };
    let name = one_line(&number.schema_name().to_string());
    plan_err!(
        "{name} is a number and is compared with a date; write a number as the column has them, \
         such as 20240131, or make a date of it: to_date(CAST({name} AS VARCHAR), '%Y%m%d'); \
         of a date, date_part('year', date) gives a number"
    )
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Whether a value of this type is written in one way, and is no text.
fn is_plain(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_temporal() || *data_type == DataType::Boolean
}
