//! Columns of a grouped SELECT that it does not group by.
//!
//! The standard has no such columns, and people write them: `SELECT id, name … GROUP BY id`. SQLite
//! and MySQL take the value of one row of the group, and so does this: each such column becomes a
//! `first_value` with an order that all of them share, so that they are of one row, and of the same
//! one in every run. It is the row that has the minimum or maximum, if the SELECT asks for exactly
//! one (SQLite's rule); else the first by these columns' own values. A note names the columns.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::execution::SessionStateDefaults;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, OrderByKind,
    OrderByOptions, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Value, VisitorMut,
    WildcardAdditionalOptions,
};
use limn_store::one_line;

use crate::notes::Notes;
use crate::scope::{Relation, Scope, is_resolved, resolved};
use crate::syntax::walk::walk_mut;

/// The functions of groups, by all their names.
static AGGREGATES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let functions = SessionStateDefaults::default_aggregate_functions();
    let names = functions.iter().flat_map(|function| {
        let aliases = function.aliases().iter().cloned();
        std::iter::once(function.name().to_owned()).chain(aliases)
    });
    names.collect()
});

/// Gives columns that are not grouped by the value of one row of their group. The names of the
/// SELECT were looked up before, in this scope; `order_by` is what is said behind it.
pub(crate) fn settle(
    select: &mut Select,
    order_by: Option<&mut OrderBy>,
    scope: &Scope,
    notes: &Notes,
) {
    let GroupByExpr::Expressions(keys, _) = &select.group_by else {
        return;
    };
    let has_keys = !keys.is_empty();
    let mut order_by = order_by.and_then(|order_by| match &mut order_by.kind {
        OrderByKind::Expressions(exprs) => Some(exprs),
        OrderByKind::All(_) => None,
    });
    let mut bare = Bare {
        scope,
        keys: keys_of(keys, &select.projection, scope),
        passed: 0,
        outputs: HashSet::new(),
        found: Found::default(),
        order: None,
    };
    bare.walk(select, order_by.as_deref_mut());
    if !has_keys && !bare.found.has_aggregates {
        return;
    }
    for (at, columns) in bare.wildcards(&select.projection).into_iter().rev() {
        let others = columns.iter().filter(|it| !bare.keys.contains(it));
        bare.found.add_all(others);
        let items = columns.into_iter().map(SelectItem::UnnamedExpr);
        select.projection.splice(at..=at, items);
    }
    let found = std::mem::take(&mut bare.found);
    if found.columns.is_empty() {
        return;
    }
    notes.add(found.note(has_keys));
    name_items(&mut select.projection, scope, &found.columns);
    bare.order = Some(found.order());
    bare.walk(select, order_by);
}

/// What is grouped by, numbers and names of the SELECT list replaced by what they stand for.
fn keys_of(keys: &[Expr], items: &[SelectItem], scope: &Scope) -> Vec<Expr> {
    let mut found = Vec::new();
    let mut left: Vec<&Expr> = keys.iter().collect();
    while let Some(key) = left.pop() {
        match key {
            Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
                left.extend(sets.iter().flatten());
            }
            Expr::Tuple(parts) => left.extend(parts),
            Expr::Nested(inner) => left.push(inner),
            key => {
                let meant = meant_by(key, items, scope).unwrap_or(key);
                found.push(whole(meant, scope));
            }
        }
    }
    found
}

fn meant_by<'a>(key: &Expr, items: &'a [SelectItem], scope: &Scope) -> Option<&'a Expr> {
    match key {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                let at: usize = number.to_string().parse().ok()?;
                expr_of(items.get(at.checked_sub(1)?)?)
            }
            _ => None,
        },
        Expr::Identifier(name) if scope.source(name).is_none() => {
            let is_it = |item: &&SelectItem| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == name.value);
            expr_of(items.iter().find(is_it)?)
        }
        _ => None,
    }
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// An expression with its columns in the one form: with their source, where that has a name.
fn whole(expr: &Expr, scope: &Scope) -> Expr {
    struct Whole<'s>(&'s Scope);
    impl VisitorMut for Whole<'_> {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = expr
                && let Some(alias) = self.0.source(name).and_then(|it| it.alias.clone())
            {
                *expr = Expr::CompoundIdentifier(vec![resolved(alias), name.clone()]);
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expr.clone();
    while let Expr::Nested(inner) = expr {
        expr = *inner;
    }
    // Nothing there ends it.
    let _ = walk_mut(&mut expr, &mut Whole(scope));
    expr
}

/// What a grouped SELECT has that is not grouped by.
#[derive(Default)]
struct Found {
    has_aggregates: bool,
    /// The columns, in the one form.
    columns: Vec<Expr>,
    /// The calls of min() and max(): what of, and whether the greatest.
    extremes: Vec<(Expr, bool)>,
}

impl Found {
    fn add_all<'a>(&mut self, columns: impl IntoIterator<Item = &'a Expr>) {
        for column in columns {
            if !self.columns.contains(column) {
                self.columns.push(column.clone());
            }
        }
    }

    /// Which row of a group comes first.
    fn order(&self) -> Vec<OrderByExpr> {
        let by = |expr: &Expr, asc: bool| OrderByExpr {
            expr: expr.clone(),
            options: OrderByOptions {
                asc: Some(asc),
                nulls_first: Some(false),
            },
            with_fill: None,
        };
        let mut order = Vec::new();
        if let [(of, is_max)] = self.extremes.as_slice() {
            order.push(by(of, !is_max));
        }
        order.extend(self.columns.iter().map(|it| by(it, true)));
        order
    }

    fn note(&self, has_keys: bool) -> String {
        let names: Vec<String> = self.columns.iter().map(named).collect();
        let (are, they) = match names.len() {
            1 => ("is", "it is"),
            _ => ("are", "they are"),
        };
        let row = match self.extremes.as_slice() {
            [(of, is_max)] => {
                let function = if *is_max { "max" } else { "min" };
                format!("the row with the {function} of {}", named(of))
            }
            _ => "one row".to_owned(),
        };
        let (lacks, of) = match has_keys {
            true => ("not in GROUP BY", " of each group"),
            false => ("in no aggregate", ""),
        };
        let names = names.join(", ");
        format!("{names} {are} {lacks}: {they} of {row}{of}")
    }
}

/// A column as a message names it: `'name'`.
fn named(expr: &Expr) -> String {
    match last_name(expr) {
        Some(name) => format!("'{}'", one_line(name)),
        None => one_line(&expr.to_string()),
    }
}

fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(parts) => parts.last().map(|it| it.value.as_str()),
        _ => None,
    }
}

/// Finds the columns, and then replaces them.
struct Bare<'s> {
    scope: &'s Scope,
    /// What is grouped by, in the one form.
    keys: Vec<Expr>,
    /// Levels below a part that is no column of the SELECT: a key, a function of groups, a query.
    passed: usize,
    /// The names that the SELECT list gives, where they count.
    outputs: HashSet<String>,
    found: Found,
    /// The order in which a group's first row is found, once all columns are known.
    order: Option<Vec<OrderByExpr>>,
}

impl Bare<'_> {
    fn walk(&mut self, select: &mut Select, order_by: Option<&mut Vec<OrderByExpr>>) {
        // Nothing there ends it.
        let _ = walk_mut(&mut select.projection, self);
        let names = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        });
        self.outputs = names.collect();
        let _ = walk_mut(&mut select.having, self);
        let _ = walk_mut(&mut select.qualify, self);
        if let Some(order_by) = order_by {
            let _ = walk_mut(order_by, self);
        }
        self.outputs.clear();
    }

    /// The columns that `*` and `t.*` stand for, by the place of each in the SELECT list. None
    /// where they have something behind them, or columns that are not known.
    fn wildcards(&self, items: &[SelectItem]) -> Vec<(usize, Vec<Expr>)> {
        let columns = |item: &SelectItem| -> Option<Vec<Expr>> {
            let relations: Vec<&Relation> = match item {
                SelectItem::Wildcard(options) if is_plain(options) => {
                    self.scope.relations.iter().collect()
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_plain(options) => {
                    let [part] = name.0.as_slice() else {
                        return None;
                    };
                    let alias = &part.as_ident()?.value;
                    let is_it = |it: &&Relation| it.alias.as_ref() == Some(alias);
                    vec![self.scope.relations.iter().find(is_it)?]
                }
                _ => return None,
            };
            let mut columns = Vec::new();
            for relation in relations {
                let alias = relation.alias.as_ref()?;
                if relation.columns.has_others {
                    return None;
                }
                let open = relation.columns.list.iter();
                let open = open.filter(|it| it.withheld.is_none());
                columns.extend(open.map(|it| {
                    Expr::CompoundIdentifier(vec![resolved(alias), resolved(&*it.name)])
                }));
            }
            Some(columns)
        };
        let found = items.iter().enumerate();
        let found = found.filter_map(|(at, item)| Some((at, columns(item)?)));
        found.collect()
    }

    /// A column of this SELECT that is not grouped by, in the one form.
    fn column(&self, expr: &Expr) -> Option<Expr> {
        let is_known = match expr {
            Expr::Identifier(name) => !self.outputs.contains(&name.value) && self.scope.has(name),
            Expr::CompoundIdentifier(parts) => {
                let alias = parts.first().filter(|it| is_resolved(it))?;
                let mut relations = self.scope.relations.iter();
                relations.any(|it| it.alias.as_ref() == Some(&alias.value))
            }
            _ => false,
        };
        is_known.then(|| whole(expr, self.scope))
    }

    /// Whether the columns in an expression need nothing: it is grouped by, or a function of
    /// groups.
    fn passes(&mut self, expr: &Expr) -> bool {
        if let Expr::Function(function) = expr
            && let Some(name) = aggregate(function)
        {
            self.found.has_aggregates = true;
            if let ("min" | "max", Some(of)) = (name.as_str(), argument(function)) {
                let extreme = (whole(of, self.scope), name == "max");
                if !self.found.extremes.contains(&extreme) {
                    self.found.extremes.push(extreme);
                }
            }
            return true;
        }
        !self.keys.is_empty() && self.keys.contains(&whole(expr, self.scope))
    }
}

impl VisitorMut for Bare<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.passed += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.passed -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.passed > 0 || self.passes(expr) {
            self.passed += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.passed > 0 {
            self.passed -= 1;
        } else if let Some(column) = self.column(expr) {
            match &self.order {
                None => self.found.add_all([&column]),
                Some(order) => *expr = first(column, order.clone()),
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of a function of groups that an expression calls.
fn aggregate(function: &Function) -> Option<String> {
    let [part] = function.name.0.as_slice() else {
        return None;
    };
    let name = part.as_ident()?.value.to_lowercase();
    (function.over.is_none() && AGGREGATES.contains(&name)).then_some(name)
}

/// What a function of one argument is called with, if it takes all rows.
fn argument(function: &Function) -> Option<&Expr> {
    match &function.args {
        FunctionArguments::List(FunctionArgumentList { args, .. }) => match args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))] if function.filter.is_none() => {
                Some(expr)
            }
            _ => None,
        },
        _ => None,
    }
}

fn first(column: Expr, order: Vec<OrderByExpr>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("first_value")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(column))],
            clauses: vec![FunctionArgumentClause::OrderBy(order)],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Items of a SELECT list keep the names that they have: `name`, or `t.name` where another one has
/// that.
fn name_items(items: &mut [SelectItem], scope: &Scope, columns: &[Expr]) {
    let written: Vec<Option<String>> = items
        .iter()
        .map(|item| match item {
            SelectItem::UnnamedExpr(expr) => last_name(expr).map(str::to_owned),
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        })
        .collect();
    for at in 0..items.len() {
        let SelectItem::UnnamedExpr(expr) = &items[at] else {
            continue;
        };
        let column = whole(expr, scope);
        if !columns.contains(&column) {
            continue;
        }
        let is_alone = written.iter().filter(|it| **it == written[at]).count() == 1;
        let name = match (&column, &written[at]) {
            (Expr::CompoundIdentifier(parts), _) if !is_alone => {
                let parts: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
                parts.join(".")
            }
            (_, Some(name)) => name.clone(),
            (_, None) => continue,
        };
        items[at] = SelectItem::ExprWithAlias {
            expr: column,
            alias: resolved(name),
        };
    }
}

/// Whether nothing stands behind a `*`.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    *options == WildcardAdditionalOptions::default()
}
