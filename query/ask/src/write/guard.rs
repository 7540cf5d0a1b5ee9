//! `NOT IN` of a column with NULLs is true of no row, which nobody means who asks for "customers
//! without orders".

use std::ops::ControlFlow;

use limn_sql::syntax::ast::{BinaryOperator, Expr, GroupByExpr, SelectItem, SetExpr};
use limn_sql::syntax::walk::each_expr_mut;
use limn_sql::syntax::with_query;

/// The statement in which `x NOT IN (SELECT y FROM …)` leaves NULLs of `y` out.
pub(super) fn guarded(statement: String) -> String {
    let words = statement.split_whitespace().map(str::to_lowercase);
    let words: Vec<String> = words.collect();
    let has_not_in = words
        .windows(2)
        .any(|it| it[0].ends_with("not") && it[1].starts_with("in"));
    if !has_not_in {
        return statement;
    }
    let guarded = with_query(&statement, |mut query| {
        let mut is_changed = false;
        let _: ControlFlow<()> = each_expr_mut(&mut query, |expr| {
            is_changed |= guard(expr);
            ControlFlow::Continue(())
        });
        is_changed.then(|| query.to_string())
    });
    // What cannot be parsed is the engine's to refuse.
    guarded.ok().flatten().unwrap_or(statement)
}

fn guard(expr: &mut Expr) -> bool {
    let Expr::InSubquery {
        subquery,
        negated: true,
        ..
    } = expr
    else {
        return false;
    };
    let is_cut = subquery.limit_clause.is_some() || subquery.fetch.is_some();
    let SetExpr::Select(select) = subquery.body.as_mut() else {
        return false;
    };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let column = match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(of @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)))] => {
            of.clone()
        }
        _ => return false,
    };
    if is_cut || is_grouped || select.having.is_some() {
        return false;
    }
    let is_there = Expr::IsNotNull(Box::new(column));
    select.selection = Some(match select.selection.take() {
        Some(own) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(own))),
            op: BinaryOperator::And,
            right: Box::new(is_there),
        },
        None => is_there,
    });
    true
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn nulls_of_not_in_are_left_out() {
        for (sql, guards) in [
            (
                "SELECT name FROM c WHERE id NOT IN (SELECT c_id FROM o)",
                "SELECT name FROM c WHERE id NOT IN (SELECT c_id FROM o WHERE c_id IS NOT NULL)",
            ),
            (
                "SELECT name FROM c WHERE NOT id NOT\nIN(SELECT o.c_id FROM o WHERE a OR b)",
                "SELECT name FROM c WHERE NOT id NOT IN (SELECT o.c_id FROM o WHERE (a OR b) AND o.c_id IS NOT NULL)",
            ),
            (
                "SELECT name FROM c WHERE id NOT IN (SELECT max(c_id) FROM o)",
                "SELECT name FROM c WHERE id NOT IN (SELECT max(c_id) FROM o)",
            ),
            (
                "SELECT name  FROM c WHERE id NOT IN (1, 2)",
                "SELECT name  FROM c WHERE id NOT IN (1, 2)",
            ),
            ("SELECT not in nowhere", "SELECT not in nowhere"),
        ] {
            assert_eq!(guarded(sql.to_owned()), guards);
        }
    }
}
