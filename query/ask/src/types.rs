//! Values of different types that a statement compares, where DataFusion alone would end it.
//!
//! In files the same key is a number here and a text there. Text that is compared with numbers is taken as the number that it
//! is written as, and what is none is like nothing: `'n/a'` ends no join. A note says so. A pattern (LIKE) is looked for in what
//! a number or time is as text. A text in the statement itself is not looked at here: `year = 'x'` stays an error.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, Like, LogicalPlan, Operator, TryCast,
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
                let expr = expr.transform_up(|expr| Ok(self.expr(expr, &schema)))?;
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
            expr => Transformed::no(expr),
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

    /// Both sides of a comparison. Where they are to be equal, a text becomes a number of the other side's very type, so that
    /// long keys are told apart; else a fraction. What differs from a text that is no number is nobody's guess.
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

/// Whether a value of this type is written in one way, and is no text.
fn is_plain(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_temporal() || *data_type == DataType::Boolean
}
