//! `ORDER BY sem_topk('…')`: the best rows first.

use limn_sql::syntax::ast::{
    Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, SelectItem, Value, ValueWithSpan,
};

use super::call::Call;
use super::columns::{Columns, ident};
use super::outer::{Outer, plain};
use super::stages::{ANSWER, Stages};
use super::{Function, NotCompiled};
use crate::plan::{Instruction, Operation, SemTopK};

/// A ranking of the rows of a SELECT.
pub(super) struct Ranked {
    instruction: Instruction,
    /// How many rows come out.
    k: u64,
    has_offset: bool,
    /// No row is asked for.
    is_empty: bool,
    /// A name for the column of places, which no other has.
    rank: String,
    /// The SELECT list is columns of the rows and nothing else: it runs behind the ranking.
    is_plain: bool,
    /// The items that the statement has; those that are behind them only rank.
    items: usize,
}

impl Ranked {
    pub(super) fn of(
        call: &Call,
        outer: &mut Outer,
        columns: &mut Columns,
    ) -> Result<Ranked, NotCompiled> {
        let (limit, offset) = limits(outer.query.limit_clause.as_ref())?;
        let items = outer.select.projection.clone();
        let is_plain = !outer.is_grouped()
            && (outer.has_wildcard() || items.iter().all(|it| plain(it).is_some()));
        let mut more: Vec<(String, SelectItem)> = Vec::new();
        let instruction = call.instruction(|name| {
            // What the SELECT list calls so comes first.
            if let Some(named) = items.iter().find(|it| is_called(it, name)) {
                return match plain(named).filter(|_| is_plain) {
                    Some((column, _)) => column.value.clone(),
                    None => name.to_owned(),
                };
            }
            let path = columns.path(name);
            let column = columns.own(&path);
            if is_plain {
                return column.value;
            }
            let mut listed = items.iter().filter_map(plain);
            if let Some((_, own)) = listed.find(|it| *it.0 == column) {
                return own.value.clone();
            }
            let item = SelectItem::UnnamedExpr(Expr::Identifier(column.clone()));
            if more.iter().all(|it| it.1 != item) {
                more.push((name.to_owned(), item));
            }
            column.value
        })?;
        if let (Some(_), Some((name, _))) = (&outer.select.distinct, more.first()) {
            return Err(NotCompiled::DistinctWithout(name.clone()));
        }
        columns.reserve(outer.aliases());
        let has_more = !more.is_empty();
        outer
            .select
            .projection
            .extend(more.into_iter().map(|it| it.1));
        if (has_more || offset > 0) && outer.has_wildcard() && !is_plain {
            return Err(NotCompiled::Wildcard(Function::TopK));
        }
        Ok(Ranked {
            instruction,
            k: limit.saturating_add(offset),
            has_offset: offset > 0,
            is_empty: limit == 0,
            rank: columns.fresh("place"),
            is_plain,
            items: items.len(),
        })
    }

    pub(super) fn finish(
        self,
        mut outer: Outer,
        names: &[String],
        stages: &mut Stages,
    ) -> Result<(), NotCompiled> {
        if self.is_empty {
            outer.select.projection.truncate(self.items);
            return outer.finish(names, stages);
        }
        let limits = outer.query.limit_clause.take();
        let is_all = match self.is_plain {
            true => outer.selects(names),
            false => outer.select.projection.len() == self.items,
        };
        let mut items = outer.select.projection.clone();
        items.truncate(self.items);
        if self.is_plain {
            outer.choose(stages)?;
        } else {
            if !is_all || self.has_offset {
                items.iter_mut().for_each(by_name);
                let named = outer.select.projection.iter_mut().take(self.items);
                named.for_each(with_name);
            }
            let over = stages.last();
            stages.over_rows("grouped", outer.clone().over(&over)?)?;
        }
        let is_last = is_all && !self.has_offset;
        if !is_last && outer.has_wildcard() {
            return Err(NotCompiled::Wildcard(Function::TopK));
        }
        let input = stages.last();
        let top = SemTopK {
            input,
            instruction: self.instruction,
            k: self.k,
            group_by: Vec::new(),
            rank: (!is_last).then(|| self.rank.clone()),
        };
        stages.push("ranked", Operation::SemTopK(top))?;
        if !is_last {
            let mut rest = outer.rows_of(items);
            rest.order_by = Some(by(&self.rank));
            rest.query.limit_clause = limits;
            let query = rest.over(&stages.last())?;
            stages.over_rows(ANSWER, query)?;
        }
        Ok(())
    }
}

/// Whether the SELECT list calls an item so.
fn is_called(item: &SelectItem, name: &str) -> bool {
    let own = match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        item => plain(item).map(|it| it.1),
    };
    own.is_some_and(|it| it.value.to_lowercase() == name.to_lowercase())
}

/// `ORDER BY` of one column.
fn by(column: &str) -> OrderBy {
    OrderBy {
        kind: OrderByKind::Expressions(vec![OrderByExpr::from(ident(column))]),
        interpolate: None,
    }
}

/// Gives an item a name, where it has none.
fn with_name(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr) = item
        && !matches!(expr, Expr::Identifier(_))
    {
        let alias = ident(&expr.to_string());
        let expr = expr.clone();
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// An item of rows that have it already.
fn by_name(item: &mut SelectItem) {
    with_name(item);
    if let SelectItem::ExprWithAlias { alias, .. } = item {
        *item = SelectItem::UnnamedExpr(Expr::Identifier(alias.clone()));
    }
}

/// LIMIT and OFFSET, which have to be numbers. Without LIMIT all rows would be ranked, each by many
/// questions to a model.
fn limits(clause: Option<&LimitClause>) -> Result<(u64, u64), NotCompiled> {
    let number = |expr: &Expr| match expr {
        Expr::Value(ValueWithSpan {
            value: Value::Number(number, _),
            ..
        }) => number
            .parse()
            .map_err(|_| NotCompiled::Limit(Function::TopK)),
        _ => Err(NotCompiled::Limit(Function::TopK)),
    };
    match clause {
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) if limit_by.is_empty() => {
            let limit = limit.as_ref().ok_or(NotCompiled::NoLimit(Function::TopK))?;
            let offset = offset.as_ref().map(|it| number(&it.value)).transpose()?;
            Ok((number(limit)?, offset.unwrap_or(0)))
        }
        Some(LimitClause::LimitOffset { .. }) => Err(NotCompiled::Limit(Function::TopK)),
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok((number(limit)?, number(offset)?))
        }
        None => Err(NotCompiled::NoLimit(Function::TopK)),
    }
}
