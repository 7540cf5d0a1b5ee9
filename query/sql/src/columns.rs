//! The names in expressions and SELECT lists: what [`crate::relations`] does for sources of rows,
//! for columns.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, ExcludeSelectItem, Expr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    Query, SelectItem, SelectItemQualifiedWildcardKind, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};
use limn_store::one_line;

use crate::error::SqlError;
use crate::relations::{Walk, Withs};
use crate::scope::{Column, Columns, Relation, Scopes, is_resolved, resolved};
use crate::size::{self, COLUMNS};
use crate::syntax::walk::walk_mut;

/// What a SELECT list makes.
pub(crate) struct Projection {
    pub(crate) columns: Columns,
    /// The names that it gives.
    pub(crate) aliases: Vec<String>,
}

impl Walk<'_> {
    /// The names of a SELECT list.
    pub(crate) fn projection(
        &mut self,
        items: &mut [SelectItem],
        scopes: Scopes<'_>,
        withs: &Withs,
    ) -> Result<Projection, SqlError> {
        let mut made = Projection {
            columns: Columns::default(),
            aliases: Vec::new(),
        };
        let mut before: Vec<Expr> = Vec::new();
        for item in items {
            if let SelectItem::UnnamedExpr(expr) = item {
                self.exprs(expr, scopes, withs)?;
                // DataFusion takes no column twice by one name.
                let times = before.iter().filter(|it| *it == expr).count();
                before.push(expr.clone());
                if let (Some(name), 1..) = (last_name(expr), times) {
                    *item = SelectItem::ExprWithAlias {
                        alias: resolved(format!("{name}_{}", times + 1)),
                        expr: expr.clone(),
                    };
                }
            }
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    match last_name(expr) {
                        Some(name) => made.columns.list.push(Column::named(name)),
                        // It has a name that DataFusion gives it.
                        None => made.columns.has_others = true,
                    }
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.exprs(expr, scopes, withs)?;
                    made.columns.list.push(Column::named(alias.value.as_str()));
                    made.aliases.push(alias.value.clone());
                }
                SelectItem::ExprWithAliases { expr, .. } => {
                    self.exprs(expr, scopes, withs)?;
                    made.columns.has_others = true;
                }
                SelectItem::Wildcard(options) => {
                    let relations: Vec<&Relation> = scopes.scope.relations.iter().collect();
                    let columns = self.wildcard(&relations, options, scopes, withs)?;
                    made.columns.extend(columns);
                }
                SelectItem::QualifiedWildcard(of, options) => {
                    let columns = self.qualified_wildcard(of, options, scopes, withs)?;
                    made.columns.extend(columns);
                }
            }
        }
        Ok(made)
    }

    fn qualified_wildcard(
        &mut self,
        of: &mut SelectItemQualifiedWildcardKind,
        options: &mut WildcardAdditionalOptions,
        scopes: Scopes<'_>,
        withs: &Withs,
    ) -> Result<Columns, SqlError> {
        let SelectItemQualifiedWildcardKind::ObjectName(name) = of else {
            self.exprs(of, scopes, withs)?;
            return Ok(Columns::unknown());
        };
        let parts = name.0.iter().filter_map(ObjectNamePart::as_ident);
        let parts: Vec<Ident> = parts.cloned().collect();
        let Some(relation) = scopes.relation(&parts)? else {
            return Ok(Columns::unknown());
        };
        if let Some(alias) = &relation.alias {
            *name = ObjectName::from(vec![resolved(alias)]);
        }
        self.wildcard(&[relation], options, scopes, withs)
    }

    fn wildcard(
        &mut self,
        relations: &[&Relation],
        options: &mut WildcardAdditionalOptions,
        scopes: Scopes<'_>,
        withs: &Withs,
    ) -> Result<Columns, SqlError> {
        let mut columns = Columns::default();
        for relation in relations {
            self.count_columns(&relation.columns)?;
            columns.extend(relation.columns.clone());
        }
        self.note_withheld(&columns)?;
        let mut left_out: Vec<String> = Vec::new();
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => left_out.extend(excluded(name, scopes)?),
            Some(ExcludeSelectItem::Multiple(names)) => {
                for name in names {
                    left_out.extend(excluded(name, scopes)?);
                }
            }
            None => {}
        }
        if let Some(except) = &mut options.opt_except {
            let more = except.additional_elements.iter_mut();
            for ident in std::iter::once(&mut except.first_element).chain(more) {
                resolve(ident, scopes)?;
                left_out.push(ident.value.clone());
            }
        }
        if let Some(replace) = &mut options.opt_replace {
            for item in &mut replace.items {
                self.exprs(&mut item.expr, scopes, withs)?;
                resolve(&mut item.column_name, scopes)?;
            }
        }
        columns
            .list
            .retain(|it| left_out.iter().all(|name| **name != *it.name));
        // Which ones it leaves, the planner knows.
        columns.has_others |= options.opt_ilike.is_some() || options.opt_rename.is_some();
        Ok(columns)
    }

    /// Refuses what has too many columns in all: each `SELECT *, *` of the one before has twice as
    /// many.
    pub(crate) fn count_columns(&mut self, more: &Columns) -> Result<(), SqlError> {
        self.columns = self.columns.saturating_add(more.list.len());
        match self.columns > COLUMNS {
            true => Err(size::too_many_columns()),
            false => Ok(()),
        }
    }

    /// Says which columns `*` does not stand for.
    fn note_withheld(&self, columns: &Columns) -> Result<(), SqlError> {
        let mut withheld: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for hidden in columns.list.iter().filter_map(|it| it.withheld.as_ref()) {
            let column = format!("'{}'", one_line(&hidden.column));
            withheld.entry(&hidden.table).or_default().push(column);
        }
        let is_empty = columns.list.iter().all(|it| it.withheld.is_some()) && !columns.has_others;
        if let (Some((table, _)), true) = (withheld.first_key_value(), is_empty) {
            return Err(SqlError::AllWithheld {
                table: (*table).to_owned(),
            });
        }
        for (table, columns) in withheld {
            let are = if columns.len() == 1 { "is" } else { "are" };
            self.notes.add(format!(
                "'{}' is without {}, which {are} withheld",
                one_line(table),
                columns.join(", ")
            ));
        }
        Ok(())
    }
}

impl Columns {
    /// Columns of which nothing is known.
    pub(crate) fn unknown() -> Columns {
        Columns {
            list: Vec::new(),
            has_others: true,
        }
    }

    pub(crate) fn extend(&mut self, others: Columns) {
        self.list.extend(others.list);
        self.has_others |= others.has_others;
    }
}

/// The name that an expression without one has.
fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(ident) => Some(&ident.value),
        Expr::CompoundIdentifier(parts) => Some(&parts.last()?.value),
        _ => None,
    }
}

fn excluded(name: &mut ObjectName, scopes: Scopes<'_>) -> Result<Option<String>, SqlError> {
    let Some(ObjectNamePart::Identifier(ident)) = name.0.last_mut() else {
        return Ok(None);
    };
    resolve(ident, scopes)?;
    Ok(Some(ident.value.clone()))
}

fn resolve(ident: &mut Ident, scopes: Scopes<'_>) -> Result<(), SqlError> {
    if !is_resolved(ident)
        && let Some(name) = scopes.column(ident)?
    {
        *ident = resolved(name);
    }
    Ok(())
}

/// `user` and such, which the parser takes for functions that are called without brackets, and of
/// which there is none.
fn user(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Function(function) if matches!(function.args, FunctionArguments::None) => {
            let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
                return None;
            };
            let is_user = ["user", "current_user", "session_user", "current_catalog"]
                .iter()
                .any(|it| it.eq_ignore_ascii_case(&name.value));
            is_user.then(|| name.clone())
        }
        _ => None,
    }
}

/// A name that was looked up.
fn of_path(path: Vec<Ident>) -> Expr {
    match path.as_slice() {
        [one] => Expr::Identifier(one.clone()),
        _ => Expr::CompoundIdentifier(path),
    }
}

/// Walks expressions; queries within them are walked by themselves, with the scopes around them.
pub(crate) struct Exprs<'w, 'a, 's> {
    walk: &'w mut Walk<'a>,
    scopes: Scopes<'s>,
    withs: &'s Withs,
    /// Queries around, below the part that is walked: what is in them is done.
    within: usize,
}

impl<'w, 'a, 's> Exprs<'w, 'a, 's> {
    pub(crate) fn walk(
        walk: &'w mut Walk<'a>,
        part: &mut impl VisitMut,
        scopes: Scopes<'s>,
        withs: &'s Withs,
    ) -> Result<(), SqlError> {
        let mut exprs = Exprs {
            walk,
            scopes,
            withs,
            within: 0,
        };
        match walk_mut(part, &mut exprs) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<(), SqlError> {
        match expr {
            Expr::Identifier(ident) => {
                // `@x` is a variable, of which there is none.
                match ident.value.starts_with('@') {
                    true => Ok(()),
                    false => resolve(ident, self.scopes),
                }
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some(path) = self.path(parts)? {
                    *expr = of_path(path);
                }
                Ok(())
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                if let Some(user) = user(root) {
                    **root = Expr::Identifier(user);
                }
                self.access(root, access_chain)?;
                if access_chain.is_empty() {
                    *expr = Expr::clone(root);
                }
                Ok(())
            }
            Expr::Function(_) => {
                if let Some(mut user) = user(expr) {
                    resolve(&mut user, self.scopes)?;
                    *expr = Expr::Identifier(user);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn path(&self, parts: &[Ident]) -> Result<Option<Vec<Ident>>, SqlError> {
        if parts.iter().any(is_resolved) {
            return Ok(None);
        }
        self.scopes.path(parts)
    }

    /// `t.list[1].field`: names up to the first bracket are a path; names behind it are fields.
    fn access(&self, root: &mut Expr, chain: &mut Vec<AccessExpr>) -> Result<(), SqlError> {
        for access in chain.iter_mut() {
            if let AccessExpr::Dot(expr) = access
                && let Some(user) = user(expr)
            {
                *expr = Expr::Identifier(user);
            }
        }
        let mut path = match &*root {
            Expr::Identifier(ident) => vec![ident.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => Vec::new(),
        };
        let mut leading = 0;
        if !path.is_empty() {
            for access in chain.iter() {
                let AccessExpr::Dot(Expr::Identifier(ident)) = access else {
                    break;
                };
                path.push(ident.clone());
                leading += 1;
            }
        }
        let found = match path.as_slice() {
            [] => None,
            [one] => self.scopes.column(one)?.map(|it| vec![resolved(it)]),
            several => self.path(several)?,
        };
        if let Some(found) = found {
            if leading == chain.len() {
                chain.clear();
                *root = of_path(found);
                return Ok(());
            }
            let mut found = found.into_iter();
            if let Some(first) = found.next() {
                *root = Expr::Identifier(first);
            }
            let dots = found.map(|it| AccessExpr::Dot(Expr::Identifier(it)));
            chain.splice(..leading, dots);
        }
        for access in chain {
            if let AccessExpr::Dot(Expr::Identifier(ident)) = access {
                *ident = resolved(&ident.value);
            }
        }
        Ok(())
    }
}

impl VisitorMut for Exprs<'_, '_, '_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if self.within == 0
            && let Err(error) = self.walk.query(query, self.withs, Some(&self.scopes))
        {
            return ControlFlow::Break(error);
        }
        self.within += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.within -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if self.within > 0 {
            return ControlFlow::Continue(());
        }
        match self.expr(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}
