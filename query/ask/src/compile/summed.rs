//! `SELECT sem_agg('…')`, alone or beside columns of GROUP BY: a text of all rows, or of each
//! group.

use limn_sql::syntax::ast::{Expr, GroupByExpr, Ident, SelectItem};

use super::call::Call;
use super::columns::{Columns, ident};
use super::outer::{Outer, plain};
use super::place::Place;
use super::stages::{ANSWER, Stages};
use super::{Function, NotCompiled};
use crate::plan::{Instruction, Operation, SemAgg};

/// What the column of the text is called.
const SUMMARY: &str = "summary";

/// A text of the rows of a SELECT.
pub(super) struct Summed {
    instruction: Instruction,
    group_by: Vec<String>,
    output: String,
}

impl Summed {
    /// The text of a SELECT, if it has one; a column stands in its place from there on.
    pub(super) fn of(
        outer: &mut Outer,
        columns: &mut Columns,
    ) -> Result<Option<Summed>, NotCompiled> {
        let items = outer.select.projection.iter();
        let Some((at, call, alias)) = items.enumerate().find_map(|(at, item)| agg(at, item)) else {
            return Ok(None);
        };
        let call = Call::read(Function::Agg, &call)?;
        let group_by = grouped(outer)?;
        let is_of_all = group_by.is_empty();
        let parts = [
            (
                outer.select.having.is_some() || outer.select.qualify.is_some(),
                Place::Having,
            ),
            (outer.select.distinct.is_some(), Place::Select),
            (is_of_all && outer.order_by.is_some(), Place::OrderBy),
            (
                is_of_all && outer.query.limit_clause.is_some(),
                Place::Limit,
            ),
        ];
        if let Some((_, place)) = parts.into_iter().find(|it| it.0) {
            return Err(NotCompiled::OneText(place));
        }
        let instruction = columns.instruction(&call)?;
        let alias = alias.map_or(SUMMARY.to_owned(), |it| it.value);
        let output = columns.fresh(&alias);
        let column = Expr::Identifier(ident(&output));
        for (place, item) in outer.select.projection.iter_mut().enumerate() {
            let is_group = |it: &Ident| group_by.contains(&it.value);
            match place == at {
                true if output == alias => *item = SelectItem::UnnamedExpr(column.clone()),
                true => {
                    *item = SelectItem::ExprWithAlias {
                        expr: column.clone(),
                        alias: ident(&alias),
                    }
                }
                false if plain(item).is_some_and(|it| is_group(it.0)) => {}
                false => {
                    return Err(NotCompiled::BesideAgg(limn_store::one_line(
                        &item.to_string(),
                    )));
                }
            }
        }
        Ok(Some(Summed {
            instruction,
            group_by,
            output,
        }))
    }

    pub(super) fn finish(self, mut outer: Outer, stages: &mut Stages) -> Result<(), NotCompiled> {
        outer.choose(stages)?;
        let input = stages.last();
        let (group_by, output) = (self.group_by.clone(), self.output.clone());
        let sum = SemAgg {
            input,
            instruction: self.instruction,
            group_by,
            output,
        };
        stages.push("summed", Operation::SemAgg(sum))?;
        outer.select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
        let names: Vec<String> = self.group_by.into_iter().chain([self.output]).collect();
        let has_rest = outer.order_by.is_some() || outer.query.limit_clause.is_some();
        if has_rest || !outer.selects(&names) {
            let query = outer.over(&stages.last())?;
            stages.over_rows(ANSWER, query)?;
        }
        Ok(())
    }
}

/// The call of an item, with its place and alias.
fn agg(at: usize, item: &SelectItem) -> Option<(usize, Expr, Option<Ident>)> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.clone())),
        _ => return None,
    };
    (Function::of(expr) == Some(Function::Agg)).then(|| (at, expr.clone(), alias))
}

/// The columns of GROUP BY, by their own names.
fn grouped(outer: &Outer) -> Result<Vec<String>, NotCompiled> {
    let GroupByExpr::Expressions(by, modifiers) = &outer.select.group_by else {
        return Err(NotCompiled::BesideAgg("GROUP BY ALL".to_owned()));
    };
    if let Some(modifier) = modifiers.first() {
        return Err(NotCompiled::BesideAgg(modifier.to_string()));
    }
    let columns = by.iter().map(|expr| match expr {
        Expr::Identifier(one) => {
            let items = outer.select.projection.iter().filter_map(plain);
            let mut items =
                items.filter(|it| it.1.value.to_lowercase() == one.value.to_lowercase());
            let column = items.next().map_or(one, |it| it.0);
            Ok(column.value.clone())
        }
        other => Err(NotCompiled::BesideAgg(limn_store::one_line(
            &other.to_string(),
        ))),
    });
    columns.collect()
}
