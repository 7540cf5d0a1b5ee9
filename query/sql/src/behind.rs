//! The rows behind an answer: those that a query counts, sums or groups.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::execution::SessionStateDefaults;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, Visit, Visitor,
    WildcardAdditionalOptions,
};

/// The query whose rows a query counts, sums or groups: its sources and conditions with all
/// columns. `None` where its rows are such rows themselves, or where it is no one SELECT.
pub(crate) fn behind(query: &Query) -> Option<Query> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    // Of groups that were chosen, the rows of others would be shown.
    let chooses = select.having.is_some()
        || select.qualify.is_some()
        || is_grouped(select) && (query.limit_clause.is_some() || query.fetch.is_some());
    if select.from.is_empty() || chooses || !aggregates(select) {
        return None;
    }
    let mut select = select.clone();
    select.distinct = None;
    select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    Some(Query {
        body: Box::new(SetExpr::Select(select)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        ..query.clone()
    })
}

/// Whether rows of a SELECT are made of several rows each.
fn aggregates(select: &Select) -> bool {
    let mut search = Aggregates(names());
    is_grouped(select) || select.projection.visit(&mut search).is_break()
}

fn is_grouped(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(by, _) => !by.is_empty(),
    }
}

/// What the functions of groups are called.
fn names() -> BTreeSet<String> {
    let functions = SessionStateDefaults::default_aggregate_functions();
    let names = functions.iter().flat_map(|it| {
        let aliases = it.aliases().iter().map(|alias| alias.to_lowercase());
        std::iter::once(it.name().to_lowercase()).chain(aliases)
    });
    names.collect()
}

/// Looks for a function of groups that is not one of a window.
struct Aggregates(BTreeSet<String>);

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(it) if it.over.is_none() => {
                let name = it.name.to_string().to_lowercase();
                match self.0.contains(&name) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
