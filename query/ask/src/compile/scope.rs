//! The columns that FROM has, as far as a statement and its tables say.

use std::collections::{BTreeMap, HashMap, HashSet};

use limn_sql::syntax::ast::{
    Expr, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, With,
};

use super::Table;
use super::columns::alias;

/// The names of the columns of FROM, in small letters.
pub(super) fn columns(
    from: &[TableWithJoins],
    with: Option<&With>,
    tables: &BTreeMap<String, Table>,
) -> HashSet<String> {
    let known = tables.iter().map(|(name, table)| {
        let columns = table.columns.iter().map(|it| it.to_lowercase());
        (name.to_lowercase(), columns.collect())
    });
    let tables = Scope {
        around: None,
        known: known.collect(),
    };
    tables.within(with).of_from(from)
}

/// What names in FROM mean.
struct Scope<'a> {
    /// What they mean around the query.
    around: Option<&'a Scope<'a>>,
    /// The columns of tables, or of queries of WITH.
    known: HashMap<String, HashSet<String>>,
}

impl<'a> Scope<'a> {
    /// In a query that has this WITH: each of its queries knows those before it.
    fn within(&'a self, with: Option<&With>) -> Scope<'a> {
        let mut scope = Scope {
            around: Some(self),
            known: HashMap::new(),
        };
        for query in with.iter().flat_map(|it| &it.cte_tables) {
            let own = listed(&query.alias);
            let columns = own.unwrap_or_else(|| scope.of_query(&query.query));
            let name = query.alias.name.value.to_lowercase();
            scope.known.insert(name, columns);
        }
        scope
    }

    fn of_query(&self, query: &Query) -> HashSet<String> {
        self.within(query.with.as_ref()).of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> HashSet<String> {
        match body {
            SetExpr::Select(select) => self.of_select(select),
            SetExpr::Query(query) => self.of_query(query),
            // The first part names the columns.
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            _ => HashSet::new(),
        }
    }

    fn of_select(&self, select: &Select) -> HashSet<String> {
        let mut columns = HashSet::new();
        let mut has_all = false;
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(one)) => {
                    columns.insert(one.value.to_lowercase());
                }
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(path)) => {
                    columns.extend(path.last().map(|it| it.value.to_lowercase()));
                }
                SelectItem::ExprWithAlias { alias, .. } => {
                    columns.insert(alias.value.to_lowercase());
                }
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => has_all = true,
                _ => {}
            }
        }
        if has_all {
            columns.extend(self.of_from(&select.from));
        }
        columns
    }

    fn of_from(&self, from: &[TableWithJoins]) -> HashSet<String> {
        let mut columns = HashSet::new();
        for part in from {
            let joined = part.joins.iter().map(|it| &it.relation);
            for factor in std::iter::once(&part.relation).chain(joined) {
                columns.extend(self.of_factor(factor));
            }
        }
        columns
    }

    fn of_factor(&self, factor: &TableFactor) -> HashSet<String> {
        if let Some(own) = alias(factor).and_then(listed) {
            return own;
        }
        match factor {
            TableFactor::Table { name, .. } => {
                let last = name.0.last().and_then(|it| it.as_ident());
                let known = last.and_then(|it| self.known(&it.value.to_lowercase()));
                known.cloned().unwrap_or_default()
            }
            TableFactor::Derived { subquery, .. } => self.of_query(subquery),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.of_from(std::slice::from_ref(table_with_joins)),
            _ => HashSet::new(),
        }
    }

    fn known(&self, name: &str) -> Option<&HashSet<String>> {
        let mut scope = self;
        loop {
            match (scope.known.get(name), scope.around) {
                (None, Some(around)) => scope = around,
                (known, _) => return known,
            }
        }
    }
}

/// The columns that stand behind an alias, if any do.
fn listed(alias: &TableAlias) -> Option<HashSet<String>> {
    let columns = alias.columns.iter();
    let columns: HashSet<String> = columns.map(|it| it.name.value.to_lowercase()).collect();
    (!columns.is_empty()).then_some(columns)
}
