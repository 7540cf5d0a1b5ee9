//! Where functions stand in a query.

use std::fmt;
use std::ops::ControlFlow;

use limn_sql::syntax::ast::{BinaryOperator, Expr, Query, UnaryOperator, Visit, Visitor};
use limn_sql::syntax::walk::walk;

use super::call::{PREFIX, name};
use super::{Function, NotCompiled};

/// A place in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A side of OR.
    Or,
    /// Behind NOT.
    Not,
    /// A part of another expression.
    Expression,
    /// A query within the query.
    Subquery,
    /// A query of WITH.
    With,
    /// A part of UNION, EXCEPT or INTERSECT.
    Set,
    /// The condition of a join.
    On,
    /// WHERE.
    Where,
    /// The list of SELECT, or DISTINCT.
    Select,
    /// GROUP BY.
    GroupBy,
    /// HAVING, QUALIFY or WINDOW.
    Having,
    /// ORDER BY.
    OrderBy,
    /// LIMIT, OFFSET or FETCH.
    Limit,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Or => "inside OR",
            Place::Not => "inside NOT",
            Place::Expression => "inside another expression",
            Place::Subquery => "in a query within the query",
            Place::With => "in WITH",
            Place::Set => "in a part of UNION, EXCEPT or INTERSECT",
            Place::On => "in ON of a join",
            Place::Where => "in WHERE",
            Place::Select => "in the list of SELECT",
            Place::GroupBy => "in GROUP BY",
            Place::Having => "in HAVING, QUALIFY or WINDOW",
            Place::OrderBy => "there in ORDER BY",
            Place::Limit => "in LIMIT, OFFSET or FETCH",
        })
    }
}

impl Place {
    /// Where in a condition a function stands that is not the condition itself.
    pub(super) fn within(condition: &Expr) -> Place {
        match condition {
            Expr::BinaryOp {
                op: BinaryOperator::Or,
                ..
            } => Place::Or,
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                ..
            } => Place::Not,
            Expr::Nested(inner) => Place::within(inner),
            _ => Place::Expression,
        }
    }
}

/// Refuses the functions of a part of a query that cannot stand there.
pub(super) fn refuse(
    part: &impl Visit,
    place: Place,
    cannot: impl Fn(Function) -> bool,
) -> Result<(), NotCompiled> {
    let mut search = Search {
        is_meant: cannot,
        depth: 0,
    };
    match walk(part, &mut search) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((function, depth)) => {
            let is_within = depth > 0 && place != Place::With;
            let place = if is_within { Place::Subquery } else { place };
            Err(NotCompiled::Place { function, place })
        }
    }
}

/// Whether a part of a query calls a function.
pub(super) fn calls(part: &impl Visit, function: Function) -> bool {
    let mut search = Search {
        is_meant: |it| it == function,
        depth: 0,
    };
    walk(part, &mut search).is_break()
}

struct Search<F> {
    is_meant: F,
    depth: usize,
}

impl<F: Fn(Function) -> bool> Visitor for Search<F> {
    type Break = (Function, usize);

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match Function::of(expr) {
            Some(function) if (self.is_meant)(function) => {
                ControlFlow::Break((function, self.depth))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether a part of a query has a query in it.
pub(super) fn has_query(part: &impl Visit) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    walk(part, &mut Queries).is_break()
}

/// The semantic functions that a query calls, in order.
pub(super) fn functions(query: &Query) -> Result<Vec<Function>, NotCompiled> {
    #[derive(Default)]
    struct Functions(Vec<Function>);
    impl Visitor for Functions {
        type Break = String;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
            match (Function::of(expr), name(expr)) {
                (Some(function), _) => self.0.push(function),
                (None, Some(name)) if name.starts_with(PREFIX) => return ControlFlow::Break(name),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut functions = Functions::default();
    match walk(query, &mut functions) {
        ControlFlow::Continue(()) => Ok(functions.0),
        ControlFlow::Break(name) => Err(NotCompiled::UnknownFunction(limn_store::one_line(&name))),
    }
}
