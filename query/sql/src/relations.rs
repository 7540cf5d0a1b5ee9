//! What the names of a query mean: tables of the index, names of WITH, columns.
//!
//! The parsed query is walked from its innermost parts out, and each name is replaced by the one
//! that is meant, in quotes: a table by its whole name in the one schema that there is
//! (`provider.rs`), with an alias by which its columns are called; a column by its spelling
//! (`scope.rs`). DataFusion then takes all names as they are written.

mod naming;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, Select, SelectFlavor, SelectItem, SetExpr, SetQuantifier, TableAlias,
    TableFactor, TableWithJoins, VisitMut, WildcardAdditionalOptions,
};
use limn_segment::TableRecord;

use crate::catalogue::Catalogue;
use crate::columns::{Exprs, Projection};
use crate::error::SqlError;
use crate::groups;
use crate::inputs::{Input, Inputs};
use crate::names;
use crate::notes::Notes;
use crate::provider::{GIVEN, SCHEMA};
use crate::scope::{Column, Columns, Relation, Scope, Scopes, resolved, same};
use crate::size::{self, RELATIONS};
use crate::table::Table;

pub(crate) use naming::alias_of;
use naming::{columns_of, free_alias, named, names_of, renamed, rewrite_using, unnamed, using};

/// Walks a query, and opens the tables that it names.
pub(crate) struct Walk<'a> {
    catalogue: &'a Catalogue,
    /// What its tables are, where it may name nothing else.
    inputs: Option<&'a Inputs>,
    pub(crate) notes: &'a Notes,
    /// By their whole names.
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
    /// Rows that are given, by their names.
    pub(crate) given: BTreeMap<String, RecordBatch>,
    /// Tables so far, those of WITH as often as they are named.
    relations: usize,
    /// Columns of those tables and of `*` so far.
    pub(crate) columns: usize,
}

/// The queries of WITH that can be named, the innermost first.
#[derive(Clone, Default)]
pub(crate) struct Withs(Option<Rc<With>>);

struct With {
    name: String,
    columns: Columns,
    relations: usize,
    before: Withs,
}

impl Withs {
    fn and(self, name: &str, columns: Columns, relations: usize) -> Withs {
        Withs(Some(Rc::new(With {
            name: name.to_owned(),
            columns,
            relations,
            before: self,
        })))
    }

    fn find(&self, written: &Ident) -> Option<&With> {
        let all = || std::iter::successors(self.0.as_deref(), |it| it.before.0.as_deref());
        let alike = |it: &&With| written.quote_style.is_none() && same(&it.name, &written.value);
        all()
            .find(|it| it.name == written.value)
            .or_else(|| all().find(alike))
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        catalogue: &'a Catalogue,
        inputs: Option<&'a Inputs>,
        notes: &'a Notes,
    ) -> Walk<'a> {
        Walk {
            catalogue,
            inputs,
            notes,
            tables: BTreeMap::new(),
            given: BTreeMap::new(),
            relations: 0,
            columns: 0,
        }
    }

    /// The names of a query, and the columns that it has.
    pub(crate) fn query(
        &mut self,
        query: &mut Query,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<Columns, SqlError> {
        let withs = self.with(query, withs, outer)?;
        let (columns, scope) = match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, &withs, outer)?,
            set => {
                let columns = self.set(set, &withs, outer)?;
                let scope = Scope::of(vec![unnamed(columns.clone())]);
                (columns, scope)
            }
        };
        let scopes = Scopes::of(&scope, outer);
        self.exprs(&mut query.order_by, scopes, &withs)?;
        self.exprs(&mut query.limit_clause, scopes, &withs)?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            groups::settle(select, query.order_by.as_mut(), &scope, self.notes);
        }
        Ok(columns)
    }

    fn with(
        &mut self,
        query: &mut Query,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<Withs, SqlError> {
        let mut withs = withs.clone();
        let Some(with) = &mut query.with else {
            return Ok(withs);
        };
        for cte in &mut with.cte_tables {
            let before = self.relations;
            let mut inner = withs.clone();
            if with.recursive {
                // It names itself: its columns are those of its first part.
                let mut first = cte.query.clone();
                while let SetExpr::SetOperation { left, .. } = *first.body {
                    first.body = left;
                }
                first.order_by = None;
                if let Ok(columns) = self.query(&mut first, &withs, outer) {
                    let columns = renamed(columns, &cte.alias);
                    inner = inner.and(&cte.alias.name.value, columns, 1);
                }
            }
            let columns = self.query(&mut cte.query, &inner, outer)?;
            let columns = renamed(columns, &cte.alias);
            let relations = self.relations - before;
            withs = withs.and(&cte.alias.name.value, columns, relations);
        }
        Ok(withs)
    }

    fn set(
        &mut self,
        set: &mut SetExpr,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<Columns, SqlError> {
        match set {
            SetExpr::Select(select) => {
                let (columns, scope) = self.select(select, withs, outer)?;
                groups::settle(select, None, &scope, self.notes);
                Ok(columns)
            }
            SetExpr::Query(query) => self.query(query, withs, outer),
            SetExpr::SetOperation {
                left,
                right,
                set_quantifier,
                ..
            } => {
                let mut columns = self.set(left, withs, outer)?;
                let others = self.set(right, withs, outer)?;
                if let SetQuantifier::ByName
                | SetQuantifier::AllByName
                | SetQuantifier::DistinctByName = set_quantifier
                {
                    columns.has_others |= others.has_others;
                    let is_known = |name: &str| columns.list.iter().any(|it| *it.name == *name);
                    let more = others.list.into_iter().filter(|it| !is_known(&it.name));
                    let more: Vec<Column> = more.collect();
                    columns.list.extend(more);
                }
                Ok(columns)
            }
            SetExpr::Values(values) => {
                let count = values.rows.first().map_or(0, |row| row.content.len());
                let nothing = Scope::default();
                self.exprs(values, Scopes::of(&nothing, outer), withs)?;
                let names = (1..=count).map(|it| Column::named(format!("column{it}")));
                Ok(Columns {
                    list: names.collect(),
                    has_others: false,
                })
            }
            // Refused before.
            _ => Ok(Columns::default()),
        }
    }

    /// The columns of a SELECT, and the scope that ORDER BY sees.
    fn select(
        &mut self,
        select: &mut Select,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<(Columns, Scope), SqlError> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            // `FROM t` is short for all of it.
            let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
            select.projection = vec![all];
            select.flavor = SelectFlavor::FromFirst;
        }
        let mut scope = Scope::default();
        for from in &mut select.from {
            self.joins(from, &mut scope, withs, outer)?;
        }
        let scopes = Scopes::of(&scope, outer);
        self.exprs(&mut select.selection, scopes, withs)?;
        let Projection { columns, aliases } =
            self.projection(&mut select.projection, scopes, withs)?;
        scope.aliases = aliases;
        let scopes = Scopes::of(&scope, outer);
        self.exprs(&mut select.distinct, scopes, withs)?;
        self.exprs(&mut select.group_by, scopes, withs)?;
        self.exprs(&mut select.having, scopes, withs)?;
        self.exprs(&mut select.named_window, scopes, withs)?;
        self.exprs(&mut select.qualify, scopes, withs)?;
        Ok((columns, scope))
    }

    fn joins(
        &mut self,
        from: &mut TableWithJoins,
        scope: &mut Scope,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<(), SqlError> {
        self.factor(&mut from.relation, scope, withs, outer)?;
        for join in &mut from.joins {
            let left = scope.relations.len();
            self.factor(&mut join.relation, scope, withs, outer)?;
            if let Some(columns) = using(&mut join.join_operator) {
                for column in columns {
                    rewrite_using(column, &scope.relations, left);
                }
            }
            self.exprs(&mut join.join_operator, Scopes::of(scope, outer), withs)?;
        }
        Ok(())
    }

    fn factor(
        &mut self,
        factor: &mut TableFactor,
        scope: &mut Scope,
        withs: &Withs,
        outer: Option<&Scopes<'_>>,
    ) -> Result<(), SqlError> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let relation = self.table(name, alias, scope, withs)?;
                scope.relations.push(relation);
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => {
                let around = Scopes::of(scope, outer);
                let outer = if *lateral { Some(&around) } else { outer };
                let columns = self.query(subquery, withs, outer)?;
                // DataFusion confuses columns of a subquery without a name with those of tables.
                let number = scope.relations.len() + 1;
                let alias = alias.get_or_insert_with(|| alias_of(&format!("subquery {number}")));
                scope.relations.push(named(alias, columns));
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.joins(table_with_joins, scope, withs, outer)?,
            TableFactor::NestedJoin {
                table_with_joins,
                alias: Some(alias),
            } => {
                let mut inner = Scope::default();
                self.joins(table_with_joins, &mut inner, withs, outer)?;
                let mut columns = Columns::default();
                for relation in inner.relations {
                    columns.extend(relation.columns);
                }
                scope.relations.push(named(alias, columns));
            }
            factor => {
                self.exprs(factor, Scopes::of(scope, outer), withs)?;
                let alias = match factor {
                    TableFactor::UNNEST { alias, .. } => alias.as_ref(),
                    // Refused before.
                    _ => None,
                };
                let columns = Columns::unknown();
                scope.relations.push(match alias {
                    Some(alias) => named(alias, columns),
                    None => unnamed(columns),
                });
            }
        }
        Ok(())
    }

    fn table(
        &mut self,
        name: &mut ObjectName,
        alias: &mut Option<TableAlias>,
        scope: &Scope,
        withs: &Withs,
    ) -> Result<Relation, SqlError> {
        let written = names::parts(name);
        let with = match name.0.as_slice() {
            [part] => part.as_ident().and_then(|it| withs.find(it)),
            _ => None,
        };
        if let Some(with) = with {
            self.count(with.relations.max(1))?;
            self.count_columns(&with.columns)?;
            let (spelt, columns) = (with.name.clone(), with.columns.clone());
            *name = ObjectName::from(vec![resolved(&spelt)]);
            return Ok(match alias {
                Some(alias) => named(alias, columns),
                None => Relation {
                    names: vec![vec![spelt.clone()]],
                    label: Some(spelt.clone()),
                    alias: Some(spelt),
                    columns,
                },
            });
        }
        self.count(1)?;
        let (record, names) = match self.inputs {
            None => {
                let record = self.catalogue.record(&written)?;
                let names = names_of(&record, &written);
                (record, names)
            }
            Some(inputs) => {
                let idents = name.0.iter().filter_map(|part| part.as_ident());
                let idents: Vec<Ident> = idents.cloned().collect();
                match inputs.find(&idents)? {
                    (given, Input::Rows(rows)) => {
                        return self.given(given, rows, name, alias);
                    }
                    (called, Input::Table { name, lake }) => {
                        let record = self.catalogue.record_of(name, lake.as_deref())?;
                        alias.get_or_insert_with(|| alias_of(called));
                        (record, Vec::new())
                    }
                }
            }
        };
        let table = self.open(&record)?;
        let columns = columns_of(&table);
        self.count_columns(&columns)?;
        *name = ObjectName::from(vec![resolved(SCHEMA), resolved(&record.name)]);
        let mut relation = match alias {
            Some(alias) => named(alias, columns),
            None => {
                let free = free_alias(&record.name, scope);
                *alias = Some(alias_of(&free));
                Relation {
                    alias: Some(free),
                    names,
                    label: None,
                    columns,
                }
            }
        };
        relation.label = Some(record.name.clone());
        Ok(relation)
    }

    /// Rows that are given.
    fn given(
        &mut self,
        called: &str,
        rows: &RecordBatch,
        name: &mut ObjectName,
        alias: &mut Option<TableAlias>,
    ) -> Result<Relation, SqlError> {
        let schema = rows.schema();
        let fields = schema.fields().iter();
        let columns = Columns {
            list: fields.map(|it| Column::named(it.name().as_str())).collect(),
            has_others: false,
        };
        self.count_columns(&columns)?;
        let known = self.given.entry(called.to_owned());
        known.or_insert_with(|| rows.clone());
        *name = ObjectName::from(vec![resolved(GIVEN), resolved(called)]);
        Ok(named(
            alias.get_or_insert_with(|| alias_of(called)),
            columns,
        ))
    }

    fn open(&mut self, record: &Arc<TableRecord>) -> Result<Arc<Table>, SqlError> {
        if let Some(table) = self.tables.get(&record.name) {
            // Tables of a statement are distinguished by their names.
            return match table.record.lake == record.lake {
                true => Ok(Arc::clone(table)),
                false => Err(SqlError::SeveralLakes {
                    name: record.name.clone(),
                    lakes: vec![table.record.lake.clone(), record.lake.clone()],
                }),
            };
        }
        let table = Arc::new(self.catalogue.table(Arc::clone(record))?);
        if table.left_out > 0 {
            self.notes.is_missing_files(&table);
        }
        self.tables.insert(record.name.clone(), Arc::clone(&table));
        Ok(table)
    }

    fn count(&mut self, more: usize) -> Result<(), SqlError> {
        self.relations = self.relations.saturating_add(more);
        match self.relations > RELATIONS {
            true => Err(size::too_many_relations()),
            false => Ok(()),
        }
    }

    /// The names in the expressions of a part of a query.
    pub(crate) fn exprs(
        &mut self,
        part: &mut impl VisitMut,
        scopes: Scopes<'_>,
        withs: &Withs,
    ) -> Result<(), SqlError> {
        Exprs::walk(self, part, scopes, withs)
    }
}
