//! WHERE in three: what holds of the rows that a model sees, what a model judges, and what holds of
//! what it wrote.

use limn_sql::syntax::ast::{BinaryOperator, Expr};

use super::call::Call;
use super::place::{Place, calls, refuse};
use super::{Function, NotCompiled};

/// A condition in parts that all have to be true.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Without semantic functions.
    pub(super) first: Vec<Expr>,
    pub(super) filters: Vec<Call>,
    /// Of values that a model writes.
    pub(super) later: Vec<Expr>,
}

impl Split {
    pub(super) fn of(selection: Option<Expr>) -> Result<Split, NotCompiled> {
        let mut split = Split::default();
        let mut open: Vec<Expr> = selection.into_iter().collect();
        while let Some(expr) = open.pop() {
            match expr {
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::And,
                    right,
                } => open.extend([*right, *left]),
                Expr::Nested(inner) if is_chain(&inner) => open.push(*inner),
                expr => split.add(expr)?,
            }
        }
        Ok(split)
    }

    fn add(&mut self, expr: Expr) -> Result<(), NotCompiled> {
        if Function::of(&expr) == Some(Function::Filter) {
            self.filters.push(Call::read(Function::Filter, &expr)?);
            return Ok(());
        }
        let place = match Function::of(&expr) {
            Some(_) => Place::Where,
            None => Place::within(&expr),
        };
        refuse(&expr, place, |it| it == Function::Filter)?;
        refuse(&expr, Place::Where, |it| {
            !matches!(it, Function::Map | Function::Fact)
        })?;
        match calls(&expr, Function::Map) {
            true => self.later.push(expr),
            false => self.first.push(expr),
        }
        Ok(())
    }
}

/// Whether brackets around it say nothing.
fn is_chain(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::BinaryOp {
            op: BinaryOperator::And,
            ..
        } | Expr::Nested(_)
    ) || Function::of(expr) == Some(Function::Filter)
}

/// Conditions as one.
pub(super) fn all(conditions: Vec<Expr>) -> Option<Expr> {
    let mut conditions = conditions.into_iter();
    let first = conditions.next()?;
    Some(conditions.fold(first, |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    }))
}
