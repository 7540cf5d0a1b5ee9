//! What a statement is beside its FROM and what runs before a model: it runs over the rows that
//! come out of semantic stages.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use limn_sql::syntax::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, VisitorMut,
    With,
};
use limn_sql::syntax::walk::walk_mut;

use super::call::Call;
use super::columns::Columns;
use super::maps::Maps;
use super::place::{Place, calls, has_query, refuse};
use super::split::all;
use super::stages::{ANSWER, Stages, all_of, query_of};
use super::{Function, NotCompiled, Table, scope};
use crate::plan::SemMap;

/// What runs after the semantic stages.
#[derive(Clone)]
pub(super) struct Outer {
    /// The first function of rows.
    pub(super) function: Function,
    pub(super) select: Select,
    pub(super) order_by: Option<OrderBy>,
    /// The query, with its limits.
    pub(super) query: Query,
    /// Conditions of what a model wrote.
    pub(super) later: Vec<Expr>,
}

impl Outer {
    pub(super) fn new(function: Function, select: Select, query: &Query) -> Outer {
        Outer {
            function,
            select,
            order_by: query.order_by.clone(),
            query: Query {
                with: None,
                ..query.clone()
            },
            later: Vec::new(),
        }
    }

    /// WHERE, which is taken out. What stands there by the alias of a map is that map, unless a
    /// column is called so: SQL knows no aliases in WHERE.
    pub(super) fn selection(
        &mut self,
        with: Option<&With>,
        tables: &BTreeMap<String, Table>,
    ) -> Option<Expr> {
        let mut selection = self.select.selection.take();
        let items = self.select.projection.iter();
        let maps = items.filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => (Function::of(expr)
                == Some(Function::Map))
            .then(|| (alias.value.to_lowercase(), expr.clone())),
            _ => None,
        });
        let mut maps: HashMap<String, Expr> = maps.collect();
        if !maps.is_empty() {
            let columns = scope::columns(&self.select.from, with, tables);
            maps.retain(|name, _| !columns.contains(name));
            let _ = walk_mut(&mut selection, &mut ByAlias { maps, depth: 0 });
        }
        selection
    }

    /// The ranking of ORDER BY, which is taken out of it.
    pub(super) fn topk(&mut self) -> Result<Option<Call>, NotCompiled> {
        let Some(OrderBy {
            kind: OrderByKind::Expressions(by),
            ..
        }) = &self.order_by
        else {
            return Ok(None);
        };
        let [one] = by.as_slice() else {
            return Ok(None);
        };
        if Function::of(&one.expr) != Some(Function::TopK) {
            return Ok(None);
        }
        if one.options.asc == Some(true) {
            return Err(NotCompiled::Ascending);
        }
        let call = Call::read(Function::TopK, &one.expr)?;
        self.order_by = None;
        Ok(Some(call))
    }

    /// Refuses functions where they cannot stand, and queries within.
    pub(super) fn check(&self) -> Result<(), NotCompiled> {
        let cannot = |it| !matches!(it, Function::Map | Function::Fact);
        let (select, order_by) = (&self.select, &self.order_by);
        for item in &select.projection {
            let is_agg = match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Function::of(expr) == Some(Function::Agg)
                }
                _ => false,
            };
            if !is_agg {
                refuse(item, Place::Select, cannot)?;
            }
        }
        refuse(&select.distinct, Place::Select, cannot)?;
        refuse(&select.group_by, Place::GroupBy, cannot)?;
        let having = (&select.having, &select.qualify);
        refuse(having.0, Place::Having, cannot)?;
        refuse(having.1, Place::Having, cannot)?;
        refuse(&select.named_window, Place::Having, cannot)?;
        refuse(order_by, Place::OrderBy, cannot)?;
        let parts = [
            (has_query(&select.projection), Place::Select),
            (has_query(&select.distinct), Place::Select),
            (has_query(&select.group_by), Place::GroupBy),
            (has_query(having.0) || has_query(having.1), Place::Having),
            (has_query(&select.named_window), Place::Having),
            (has_query(order_by), Place::OrderBy),
            (has_query(&self.later), Place::Where),
        ];
        match parts.into_iter().find(|it| it.0) {
            Some((_, place)) => Err(NotCompiled::QueryBeside {
                function: self.function,
                place,
            }),
            None => Ok(()),
        }
    }

    pub(super) fn has_wildcard(&self) -> bool {
        let mut items = self.select.projection.iter();
        items.any(|it| {
            matches!(
                it,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        })
    }

    pub(super) fn is_joined(&self) -> bool {
        let [one] = self.select.from.as_slice() else {
            return true;
        };
        let mut items = self.select.projection.iter();
        !one.joins.is_empty() || items.any(|it| matches!(it, SelectItem::QualifiedWildcard(..)))
    }

    pub(super) fn has_maps(&self) -> bool {
        let select = &self.select;
        calls(&select.projection, Function::Map)
            || calls(&select.group_by, Function::Map)
            || calls(&select.having, Function::Map)
            || calls(&self.order_by, Function::Map)
    }

    /// The names that the SELECT list gives, in small letters.
    pub(super) fn aliases(&self) -> Vec<String> {
        let items = self.select.projection.iter();
        let aliases = items.filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
            _ => None,
        });
        aliases.collect()
    }

    /// Calls columns as the first stage does.
    pub(super) fn rename(&mut self, columns: &mut Columns) {
        let aliases = self.aliases();
        for item in &mut self.select.projection {
            let written = match item {
                SelectItem::UnnamedExpr(expr) => last_part(expr),
                _ => None,
            };
            columns.rename(item, &[]);
            if let (SelectItem::UnnamedExpr(Expr::Identifier(own)), Some(written)) =
                (&*item, written)
                && own.value != written.value
            {
                *item = SelectItem::ExprWithAlias {
                    expr: Expr::Identifier(own.clone()),
                    alias: written,
                };
            }
        }
        columns.rename(&mut self.later, &[]);
        columns.rename(&mut self.select.distinct, &aliases);
        columns.rename(&mut self.select.group_by, &aliases);
        columns.rename(&mut self.select.having, &aliases);
        columns.rename(&mut self.select.qualify, &aliases);
        columns.rename(&mut self.select.named_window, &aliases);
        columns.rename(&mut self.order_by, &aliases);
    }

    /// The maps, of which the columns stand in their places from here on.
    pub(super) fn maps(&mut self, columns: &mut Columns) -> Result<Vec<SemMap>, NotCompiled> {
        let mut maps = Maps::new(columns);
        for item in &mut self.select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && Function::of(expr) == Some(Function::Map)
            {
                let column = maps.column(expr, &alias.value)?;
                *item = match column.value == alias.value {
                    true => SelectItem::UnnamedExpr(Expr::Identifier(column)),
                    false => SelectItem::ExprWithAlias {
                        expr: Expr::Identifier(column),
                        alias: alias.clone(),
                    },
                };
            }
        }
        let select = &mut self.select;
        maps.replace(&mut select.projection)?;
        maps.replace(&mut self.later)?;
        maps.replace(&mut select.distinct)?;
        maps.replace(&mut select.group_by)?;
        maps.replace(&mut select.having)?;
        maps.replace(&mut select.qualify)?;
        maps.replace(&mut select.named_window)?;
        maps.replace(&mut self.order_by)?;
        Ok(maps.into_list())
    }

    /// The stage of what is left of the statement, over the rows of the last one, which have these
    /// columns; none where nothing is left.
    pub(super) fn finish(self, names: &[String], stages: &mut Stages) -> Result<(), NotCompiled> {
        let is_rest = self.is_grouped() || self.order_by.is_some() || !self.later.is_empty();
        if is_rest || self.query.limit_clause.is_some() || !self.selects(names) {
            let query = self.over(&stages.last())?;
            stages.over_rows(ANSWER, query)?;
        }
        Ok(())
    }

    /// Whether its rows are made of several, or left out.
    pub(super) fn is_grouped(&self) -> bool {
        let select = &self.select;
        let is_by = match &select.group_by {
            GroupByExpr::All(_) => true,
            GroupByExpr::Expressions(by, _) => !by.is_empty(),
        };
        is_by || select.distinct.is_some() || select.having.is_some() || select.qualify.is_some()
    }

    /// Whether the list is these columns and nothing else.
    pub(super) fn selects(&self, names: &[String]) -> bool {
        let items = &self.select.projection;
        let is_name = |(item, name): (&SelectItem, &String)| {
            plain(item).is_some_and(|(column, own)| column.value == *name && own.value == *name)
        };
        match items.as_slice() {
            [SelectItem::Wildcard(options)] => *options == Default::default(),
            items => items.len() == names.len() && items.iter().zip(names).all(is_name),
        }
    }

    /// It over the rows of a stage.
    pub(super) fn over(self, stage: &str) -> Result<Query, NotCompiled> {
        let select = Select {
            from: all_of(stage)?.from,
            selection: all(self.later),
            ..self.select
        };
        Ok(Query {
            body: Box::new(SetExpr::Select(Box::new(select))),
            order_by: self.order_by,
            ..self.query
        })
    }

    /// These items of rows, and nothing else of it.
    pub(super) fn rows_of(&self, items: Vec<SelectItem>) -> Outer {
        let mut rows = self.clone();
        rows.select.projection = items;
        rows.select.distinct = None;
        rows.select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
        rows.select.having = None;
        rows.select.qualify = None;
        rows.select.named_window = Vec::new();
        rows.later = Vec::new();
        rows
    }

    /// Leaves out the rows of which conditions of what a model wrote do not hold.
    pub(super) fn choose(&mut self, stages: &mut Stages) -> Result<(), NotCompiled> {
        let later = std::mem::take(&mut self.later);
        if !later.is_empty() {
            let select = Select {
                selection: all(later),
                ..all_of(&stages.last())?
            };
            stages.over_rows("chosen", query_of(select, None, &self.query))?;
        }
        Ok(())
    }
}

/// Puts maps into the places of their aliases, but not within queries, whose columns are others.
struct ByAlias {
    maps: HashMap<String, Expr>,
    depth: usize,
}

impl VisitorMut for ByAlias {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(one) = expr
            && let Some(map) = self.maps.get(&one.value.to_lowercase())
        {
            *expr = map.clone();
        }
        ControlFlow::Continue(())
    }
}

/// An item that is a column, and what it is called.
pub(super) fn plain(item: &SelectItem) -> Option<(&Ident, &Ident)> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(column)) => Some((column, column)),
        SelectItem::ExprWithAlias {
            expr: Expr::Identifier(column),
            alias,
        } => Some((column, alias)),
        _ => None,
    }
}

fn last_part(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(one) => Some(one.clone()),
        Expr::CompoundIdentifier(path) => path.last().cloned(),
        _ => None,
    }
}
