//! A statement over inputs as one that `limn sql` takes: each input by the whole name of its table,
//! under the name that the statement calls it by, and orders with the place of their NULLs.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArgumentClause, FunctionArguments, Ident, NamedWindowDefinition, NamedWindowExpr,
    ObjectName, OrderByExpr, OrderByKind, Query, SetExpr, TableFactor, VisitorMut, WindowType,
};

use crate::inputs::{Input, Inputs};
use crate::relations::alias_of;
use crate::scope::same;
use crate::syntax::walk::walk_mut;

/// The statement; `None` where it reads rows that are given, or names a query of its own as an
/// input is named.
pub(crate) fn pasted(query: &Query, inputs: &Inputs) -> Option<String> {
    let mut query = query.clone();
    let mut names = Names { inputs };
    match walk_mut(&mut query, &mut names) {
        ControlFlow::Continue(()) => Some(query.to_string()),
        ControlFlow::Break(()) => None,
    }
}

struct Names<'a> {
    inputs: &'a Inputs,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let with = query.with.iter().flat_map(|it| &it.cte_tables);
        let mut own = with.map(|it| it.alias.name.value.as_str());
        if own.any(|own| self.inputs.names().any(|it| same(it, own))) {
            return ControlFlow::Break(());
        }
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(order) = &mut order.kind
        {
            order.iter_mut().for_each(nulls_last);
        }
        windows(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        if let Some(WindowType::WindowSpec(window)) = &mut function.over {
            window.order_by.iter_mut().for_each(nulls_last);
        }
        function.within_group.iter_mut().for_each(nulls_last);
        if let FunctionArguments::List(list) = &mut function.args {
            for clause in &mut list.clauses {
                if let FunctionArgumentClause::OrderBy(order) = clause {
                    order.iter_mut().for_each(nulls_last);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, .. } = table else {
            return ControlFlow::Continue(());
        };
        let idents = name.0.iter().filter_map(|part| part.as_ident().cloned());
        let written: Vec<Ident> = idents.collect();
        match self.inputs.find(&written) {
            Ok((called, Input::Table { name: whole, .. })) => {
                if alias.is_none() && called != whole {
                    *alias = Some(alias_of(called));
                }
                *name = ObjectName::from(vec![Ident::with_quote('"', whole)]);
                ControlFlow::Continue(())
            }
            Ok((_, Input::Rows(_))) => ControlFlow::Break(()),
            // A query of WITH.
            Err(_) => ControlFlow::Continue(()),
        }
    }
}

/// The windows that a SELECT names.
fn windows(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for NamedWindowDefinition(_, window) in &mut select.named_window {
                if let NamedWindowExpr::WindowSpec(window) = window {
                    window.order_by.iter_mut().for_each(nulls_last);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            windows(left);
            windows(right);
        }
        _ => {}
    }
}

/// As statements of plans have it (`Engine::for_plans`).
fn nulls_last(order: &mut OrderByExpr) {
    if order.options.asc == Some(false) && order.options.nulls_first.is_none() {
        order.options.nulls_first = Some(false);
    }
}
