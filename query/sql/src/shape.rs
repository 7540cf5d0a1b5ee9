//! What a SELECT groups by and orders by, as it is written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
};

use crate::syntax::walk::each_expr;

/// A key of groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) expr: Expr,
    /// Its place among the columns that come out, if it is one.
    pub(crate) at: Option<usize>,
}

/// Whether the rows of a SELECT are groups.
pub(crate) fn is_grouped(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(by, _) => !by.is_empty(),
    }
}

/// The keys of a SELECT's groups; `None` where they are not all plain expressions.
pub(crate) fn keys(select: &Select) -> Option<Vec<Key>> {
    let GroupByExpr::Expressions(by, modifiers) = &select.group_by else {
        return None;
    };
    let is_plain = |it: &Expr| {
        !matches!(
            it,
            Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_) | Expr::Tuple(_)
        )
    };
    if !modifiers.is_empty() || !by.iter().all(is_plain) {
        return None;
    }
    let keys = by.iter().map(|it| {
        let at = place(select, it)?;
        let expr = at.and_then(|at| item(select, at)).unwrap_or(it).clone();
        // A column is meant before the alias of what is made of it.
        let is_of_itself =
            matches!(it, Expr::Identifier(name) if expr != *it && names(&expr, name));
        (!is_of_itself).then_some(Key { expr, at })
    });
    keys.collect()
}

/// How many of a query's keys of order decide which rows come first. Where groups are ordered by
/// what is computed of them, their own keys behind that only settle ties. `None` without an order.
pub(crate) fn deciding(query: &Query) -> Option<usize> {
    let OrderByKind::Expressions(order) = &query.order_by.as_ref()?.kind else {
        return None;
    };
    let all = order.len();
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Some(all);
    };
    let keys = keys(select).unwrap_or_default();
    let is_key = |it: &Expr| {
        let at = place(select, it).flatten();
        let mut keys = keys.iter();
        keys.any(|key| is_same(&key.expr, it) || at.is_some() && key.at == at)
    };
    let settling = order.iter().rev().take_while(|it| is_key(&it.expr)).count();
    Some(if settling < all { all - settling } else { all })
}

/// What rows have to meet to come out, as it is written.
pub(crate) fn condition(query: &Query) -> Option<String> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let conditions = [&select.selection, &select.having].into_iter().flatten();
    let conditions: Vec<String> = conditions.map(Expr::to_string).collect();
    match conditions.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("({})", several.join(") AND ("))),
    }
}

/// Whether an expression has a column of this name.
fn names(expr: &Expr, name: &Ident) -> bool {
    let is_it = |it: &Ident| it.value.eq_ignore_ascii_case(&name.value);
    let found = each_expr(expr, |it| match it {
        Expr::Identifier(column) if is_it(column) => ControlFlow::Break(()),
        Expr::CompoundIdentifier(parts) if parts.last().is_some_and(is_it) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The place of what comes out that an expression means: by its number, its alias, or as it is
/// written. `None` for a number that no column has.
#[allow(
    clippy::option_option,
    reason = "a wrong number is not an expression of its own"
)]
fn place(select: &Select, expr: &Expr) -> Option<Option<usize>> {
    if let Expr::Value(value) = expr
        && let Value::Number(number, _) = &value.value
    {
        let number: usize = number.to_string().parse().ok()?;
        let at = number.checked_sub(1)?;
        return item(select, at).map(|_| Some(at));
    }
    let written = (0..select.projection.len())
        .find(|at| item(select, *at).is_some_and(|it| is_same(it, expr)));
    Some(written.or_else(|| {
        select.projection.iter().position(|it| match (it, expr) {
            (SelectItem::ExprWithAlias { alias, .. }, Expr::Identifier(name)) => {
                alias.value.eq_ignore_ascii_case(&name.value)
            }
            _ => false,
        })
    }))
}

/// The expression of a column that comes out, where each before it is one column.
pub(crate) fn item(select: &Select, at: usize) -> Option<&Expr> {
    let is_one = |it: &SelectItem| {
        matches!(
            it,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    let before = select.projection.get(..at)?;
    match select.projection.get(at)? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            before.iter().all(is_one).then_some(expr)
        }
        _ => None,
    }
}

fn is_same(one: &Expr, other: &Expr) -> bool {
    one == other || one.to_string().to_lowercase() == other.to_string().to_lowercase()
}
