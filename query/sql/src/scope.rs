//! The columns that are in scope at a place of a query, and which of them a written name means.
//!
//! Columns of lakes are called `CustomerID`, and people write `customerid`. A name in quotes is
//! exact. One without quotes means the column that is spelt so; where there is none, the only one
//! that is spelt so but for case. Inner queries are looked through before outer ones, and a
//! withheld column is found so that it can be refused by name.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::slice;

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Location, Span};
use limn_store::one_line;

use crate::error::SqlError;
use crate::near::near;

/// A column that a source of rows has.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: Rc<str>,
    /// Why nobody sees its values, if so.
    pub(crate) withheld: Option<Rc<Hidden>>,
}

/// A withheld column, as its table has it.
#[derive(Debug)]
pub(crate) struct Hidden {
    pub(crate) table: String,
    pub(crate) column: String,
    /// What it holds, if that is why.
    pub(crate) sensitive: Option<String>,
}

impl Column {
    pub(crate) fn named(name: impl Into<Rc<str>>) -> Column {
        Column {
            name: name.into(),
            withheld: None,
        }
    }

    /// The column, if its values may be seen.
    fn seen(&self) -> Result<&str, SqlError> {
        match &self.withheld {
            None => Ok(&self.name),
            Some(hidden) => Err(SqlError::Withheld {
                column: hidden.column.clone(),
                table: hidden.table.clone(),
                sensitive: hidden.sensitive.clone(),
            }),
        }
    }
}

/// The columns of a query or table, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) list: Vec<Column>,
    /// There are others, whose names are not known.
    pub(crate) has_others: bool,
}

/// A source of rows in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// What it is called in the statement that is planned; what nobody can call has none.
    pub(crate) alias: Option<String>,
    /// What may be written before its columns, each in parts.
    pub(crate) names: Vec<Vec<String>>,
    /// What it is called in messages.
    pub(crate) label: Option<String>,
    pub(crate) columns: Columns,
}

/// The columns of one SELECT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) relations: Vec<Relation>,
    /// The names that the SELECT list gives, for where they count.
    pub(crate) aliases: Vec<String>,
}

/// A scope, and those around it.
#[derive(Clone, Copy)]
pub(crate) struct Scopes<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) outer: Option<&'a Scopes<'a>>,
}

/// What was looked up, and is not looked up again, has this place in the text.
const RESOLVED: Location = Location {
    line: u64::MAX,
    column: u64::MAX,
};

/// Whether a name was looked up.
pub(crate) fn is_resolved(ident: &Ident) -> bool {
    ident.span.start == RESOLVED
}

/// A name that is exactly meant.
pub(crate) fn resolved(name: impl Into<String>) -> Ident {
    let mut ident = Ident::with_quote('"', name);
    ident.span = Span::new(RESOLVED, RESOLVED);
    ident
}

impl<'a> Scopes<'a> {
    pub(crate) fn of(scope: &'a Scope, outer: Option<&'a Scopes<'a>>) -> Scopes<'a> {
        Scopes { scope, outer }
    }

    fn levels(&'a self) -> impl Iterator<Item = &'a Scope> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let level = next?;
            next = level.outer;
            Some(level.scope)
        })
    }

    /// The spelling of the column that is meant; `None` where none is known, which the planner
    /// reports.
    pub(crate) fn column(&self, written: &Ident) -> Result<Option<String>, SqlError> {
        for scope in self.levels() {
            if let Some(name) = scope.column(written)? {
                return Ok(Some(name));
            }
            if scope.relations.iter().any(|it| it.columns.has_others) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// As [`Scopes::column`], of a name with dots: a column of a source, a field of a column, or a
    /// column that is called so.
    pub(crate) fn path(&self, written: &[Ident]) -> Result<Option<Vec<Ident>>, SqlError> {
        for scope in self.levels() {
            if let Some(path) = scope.path(written)? {
                return Ok(Some(path));
            }
        }
        for scope in self.levels() {
            if let Some(path) = scope.dotted(written)? {
                return Ok(Some(path));
            }
        }
        self.is_of_known_source(written)?;
        Ok(None)
    }

    /// An error where all sources are known, and none is called as it is written before the last
    /// dot.
    fn is_of_known_source(&self, written: &[Ident]) -> Result<(), SqlError> {
        let relations = || self.levels().flat_map(|it| &it.relations);
        let is_known = |it: &Relation| it.alias.is_some() && !it.columns.has_others;
        let (Some((_, source)), true) = (written.split_last(), relations().all(is_known)) else {
            return Ok(());
        };
        let names: BTreeSet<&str> = relations().filter_map(Relation::called).collect();
        if names.is_empty() {
            return Ok(());
        }
        let columns = relations().flat_map(|it| &it.columns.list);
        let open = columns.filter(|it| it.withheld.is_none() && it.name.contains('.'));
        Err(SqlError::UnknownSource {
            name: one_line(&joined(source).value),
            known: names.into_iter().map(one_line).collect(),
            near: near(&joined(written).value, open.map(|it| &*it.name)),
        })
    }

    /// The source that is meant by these parts of a name.
    pub(crate) fn relation(&self, written: &[Ident]) -> Result<Option<&'a Relation>, SqlError>
    where
        Self: 'a,
    {
        self.scope.relation(written)
    }
}

impl Scope {
    /// The columns of these sources.
    pub(crate) fn of(relations: Vec<Relation>) -> Scope {
        Scope {
            relations,
            aliases: Vec::new(),
        }
    }

    /// Whether a name that was looked up is a column here.
    pub(crate) fn has(&self, column: &Ident) -> bool {
        is_resolved(column)
            && columns(&self.relations)
                .any(|(_, it)| *it.name == *column.value && it.withheld.is_none())
    }

    /// The only source that has a column of this very name.
    pub(crate) fn source(&self, column: &Ident) -> Option<&Relation> {
        let mut found = columns(&self.relations)
            .filter(|(_, it)| *it.name == *column.value && it.withheld.is_none());
        let (relation, _) = found.next()?;
        found.next().is_none().then_some(relation)
    }

    fn column(&self, written: &Ident) -> Result<Option<String>, SqlError> {
        column_of(&self.relations, &self.aliases, written)
    }

    fn path(&self, written: &[Ident]) -> Result<Option<Vec<Ident>>, SqlError> {
        let mut missing = None;
        for at in (1..written.len()).rev() {
            let (qualifier, rest) = written.split_at(at);
            let Some(relation) = self.relation(qualifier)? else {
                continue;
            };
            let (Some(alias), Some((column, fields))) = (&relation.alias, rest.split_first())
            else {
                continue;
            };
            let (found, fields) = match relation.column(column)? {
                Some(found) => (found, fields),
                None => match dotted(rest, |name| relation.column(name))? {
                    Some(found) => found,
                    // The planner knows.
                    None if relation.columns.has_others => (column.value.clone(), fields),
                    None => {
                        missing.get_or_insert((relation, column));
                        continue;
                    }
                },
            };
            let mut path = vec![resolved(alias), resolved(found)];
            path.extend(fields.iter().map(|it| resolved(&it.value)));
            return Ok(Some(path));
        }
        if let Some((column, fields)) = written.split_first()
            && let Some(found) = self.column(column)?
        {
            let mut path = vec![resolved(found)];
            path.extend(fields.iter().map(|it| resolved(&it.value)));
            return Ok(Some(path));
        }
        match missing {
            Some((relation, column)) => Err(relation.lacks(&column.value)),
            None => Ok(None),
        }
    }

    /// A column whose name has dots, as those of JSON, and perhaps a field of it: `user.id` where
    /// nothing is called `user`.
    fn dotted(&self, written: &[Ident]) -> Result<Option<Vec<Ident>>, SqlError> {
        let found = dotted(written, |name| self.column(name))?;
        Ok(found.map(|(found, fields)| {
            let fields = fields.iter().map(|it| resolved(&it.value));
            std::iter::once(resolved(found)).chain(fields).collect()
        }))
    }

    fn relation(&self, written: &[Ident]) -> Result<Option<&Relation>, SqlError> {
        let find = |any_case: bool| -> Vec<&Relation> {
            let relations = self.relations.iter();
            relations
                .filter(|it| it.is_called(written, any_case))
                .collect()
        };
        let mut found = find(false);
        if found.is_empty() {
            found = find(true);
        }
        match found.as_slice() {
            [] => Ok(None),
            [relation] => Ok(Some(relation)),
            several => {
                let name: Vec<&str> = written.iter().map(|it| it.value.as_str()).collect();
                let names = several
                    .iter()
                    .map(|it| it.label.clone().unwrap_or_default());
                Err(SqlError::AmbiguousTable {
                    name: name.join("."),
                    tables: names.collect(),
                })
            }
        }
    }
}

/// The column that the first two or more parts of a name are together, and the parts behind it.
fn dotted(
    written: &[Ident],
    column: impl Fn(&Ident) -> Result<Option<String>, SqlError>,
) -> Result<Option<(String, &[Ident])>, SqlError> {
    for parts in 2..=written.len() {
        let (name, fields) = written.split_at(parts);
        if let Some(found) = column(&joined(name))? {
            return Ok(Some((found, fields)));
        }
    }
    Ok(None)
}

/// Parts of a name as one, exact if any of them is.
fn joined(parts: &[Ident]) -> Ident {
    let texts: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
    let mut ident = Ident::new(texts.join("."));
    ident.quote_style = parts.iter().find_map(|it| it.quote_style);
    ident
}

impl Relation {
    /// What a person calls it in the statement.
    fn called(&self) -> Option<&str> {
        let is_own = |name: &&String| self.label.as_ref() == Some(name);
        let alias = self.alias.as_deref();
        // A table without an alias was given the end of its name.
        let whole = self.names.iter().flatten().find(is_own);
        whole.map(String::as_str).or(alias)
    }

    fn is_called(&self, written: &[Ident], any_case: bool) -> bool {
        let is = |part: &Ident, name: &String| match any_case {
            true => part.value == *name || (part.quote_style.is_none() && same(&part.value, name)),
            false => part.value == *name,
        };
        self.names.iter().any(|name| {
            name.len() == written.len() && written.iter().zip(name).all(|(part, it)| is(part, it))
        })
    }

    fn column(&self, written: &Ident) -> Result<Option<String>, SqlError> {
        column_of(slice::from_ref(self), &[], written)
    }

    fn lacks(&self, column: &str) -> SqlError {
        let open = self.columns.list.iter().filter(|it| it.withheld.is_none());
        SqlError::UnknownColumn {
            name: column.to_owned(),
            table: self.label.clone(),
            near: near(column, open.map(|it| &*it.name)),
            is_text: false,
        }
    }
}

/// The columns of these sources, with those.
fn columns(relations: &[Relation]) -> impl Iterator<Item = (&Relation, &Column)> {
    let relations = relations.iter();
    relations.flat_map(|relation| relation.columns.list.iter().map(move |it| (relation, it)))
}

/// The spelling of the column of these sources, or of the alias, that is meant.
pub(crate) fn column_of(
    relations: &[Relation],
    aliases: &[String],
    written: &Ident,
) -> Result<Option<String>, SqlError> {
    let name = written.value.as_str();
    let is_alias = aliases.iter().any(|it| it == name);
    let mut hidden = None;
    for (_, column) in columns(relations).filter(|(_, it)| *it.name == *name) {
        match column.withheld {
            None => return Ok(Some(name.to_owned())),
            Some(_) => hidden = hidden.or(Some(column)),
        }
    }
    if is_alias {
        return Ok(Some(name.to_owned()));
    }
    if let Some(hidden) = hidden {
        return hidden.seen().map(|it| Some(it.to_owned()));
    }
    if written.quote_style.is_some() {
        return Ok(None);
    }
    let alike: Vec<(&Relation, &Column)> = columns(relations)
        .filter(|(_, it)| same(&it.name, name))
        .collect();
    let open = alike.iter().filter(|(_, it)| it.withheld.is_none());
    let mut spellings: BTreeSet<&str> = open.map(|(_, it)| &*it.name).collect();
    let aliases = aliases.iter().map(String::as_str);
    let aliases: Vec<&str> = aliases.filter(|it| same(it, name)).collect();
    spellings.extend(&aliases);
    match (spellings.first(), spellings.len(), alike.first()) {
        (Some(one), 1, _) => Ok(Some((*one).to_owned())),
        (Some(_), _, _) => Err(ambiguous(name, &alike, &aliases, relations.len() > 1)),
        (None, _, Some((_, hidden))) => hidden.seen().map(|it| Some(it.to_owned())),
        (None, _, None) => Ok(None),
    }
}

fn ambiguous(
    name: &str,
    alike: &[(&Relation, &Column)],
    aliases: &[&str],
    are_several: bool,
) -> SqlError {
    let columns = alike.iter().filter(|(_, it)| it.withheld.is_none());
    let mut columns: Vec<String> = columns
        .map(|(relation, column)| match &relation.alias {
            Some(alias) if are_several => format!("\"{alias}\".\"{}\"", column.name),
            _ => format!("\"{}\"", column.name),
        })
        .collect();
    columns.extend(aliases.iter().map(|it| format!("\"{it}\"")));
    columns.dedup();
    SqlError::AmbiguousColumn {
        name: name.to_owned(),
        columns,
    }
}

/// Whether names are the same but for case.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}
