//! The columns that the first stage of a statement selects, and what they are called from there on.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use limn_sql::syntax::ast::{
    Expr, Ident, SelectItem, TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};
use limn_sql::syntax::walk::walk_mut;

use super::NotCompiled;
use super::call::Call;
use crate::plan::Instruction;
use crate::write::lexer;

/// The columns of a first stage.
#[derive(Debug)]
pub(super) struct Columns {
    list: Vec<Column>,
    /// Their places in the list, by what is the same however a column is written.
    places: HashMap<Vec<Part>, usize>,
    /// Names that are taken, in small letters.
    taken: HashSet<String>,
    /// What stands in FROM may be called so.
    sources: Vec<String>,
    /// All columns of the one source are selected.
    all: bool,
}

/// A part of a column's name, and its quotes.
type Part = (Option<char>, String);

#[derive(Debug)]
struct Column {
    written: Vec<Ident>,
    own: Ident,
}

impl Columns {
    pub(super) fn new(from: &[TableWithJoins], all: bool) -> Columns {
        Columns {
            list: Vec::new(),
            places: HashMap::new(),
            taken: HashSet::new(),
            sources: sources(from),
            all,
        }
    }

    /// What a column is called that the statement writes so.
    pub(super) fn own(&mut self, written: &[Ident]) -> Ident {
        let Some(last) = written.last() else {
            return Ident::new(String::new());
        };
        if self.all {
            return last.clone();
        }
        let parts: Vec<Part> = written.iter().map(part).collect();
        if let Some(place) = self.places.get(&parts) {
            return self.list[*place].own.clone();
        }
        let name = self.fresh(&last.value);
        let own = match name == last.value {
            true => last.clone(),
            false => ident(&name),
        };
        self.places.insert(parts, self.list.len());
        self.list.push(Column {
            written: written.to_vec(),
            own: own.clone(),
        });
        own
    }

    /// A name that no column has.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let numbered = (2_usize..).map(|at| format!("{base}_{at}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let free = names.find(|it| !self.taken.contains(&it.to_lowercase()));
        let free = free.unwrap_or_default();
        self.taken.insert(free.to_lowercase());
        free
    }

    /// Names that the SELECT list gives: no further column gets one.
    pub(super) fn reserve(&mut self, names: impl IntoIterator<Item = String>) {
        self.taken.extend(names);
    }

    /// What selects them.
    pub(super) fn items(&self) -> Vec<SelectItem> {
        if self.all {
            return vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        let items = self.list.iter().map(|column| {
            let expr = match column.written.as_slice() {
                [one] => Expr::Identifier(one.clone()),
                path => Expr::CompoundIdentifier(path.to_vec()),
            };
            match column.written.last().map(|it| &it.value) == Some(&column.own.value) {
                true => SelectItem::UnnamedExpr(expr),
                false => SelectItem::ExprWithAlias {
                    expr,
                    alias: column.own.clone(),
                },
            }
        });
        items.collect()
    }

    /// Their names, in order; none where all are selected.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|it| it.own.value.as_str())
    }

    /// The instruction of a call, by their names.
    pub(super) fn instruction(&mut self, call: &Call) -> Result<Instruction, NotCompiled> {
        call.instruction(|name| {
            let path = self.path(name);
            self.own(&path).value
        })
    }

    /// A column of an instruction as SQL has it: `{T1.title}` is of a source of FROM.
    pub(super) fn path(&self, name: &str) -> Vec<Ident> {
        match name.split_once('.') {
            Some((source, column)) if self.sources.contains(&source.to_lowercase()) => {
                vec![ident(source), ident(column)]
            }
            _ => vec![ident(name)],
        }
    }

    /// Calls the columns of a part of the statement by their own names, but for the names that the
    /// SELECT list gives, in small letters.
    pub(super) fn rename(&mut self, part: &mut impl VisitMut, but: &[String]) {
        let mut renamer = Renamer { columns: self, but };
        let _ = walk_mut(part, &mut renamer);
    }
}

struct Renamer<'a> {
    columns: &'a mut Columns,
    but: &'a [String],
}

impl VisitorMut for Renamer<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let own = match expr {
            Expr::Identifier(one) if !self.but.contains(&one.value.to_lowercase()) => {
                self.columns.own(std::slice::from_ref(one))
            }
            Expr::CompoundIdentifier(path) => self.columns.own(path),
            _ => return ControlFlow::Continue(()),
        };
        *expr = Expr::Identifier(own);
        ControlFlow::Continue(())
    }
}

/// A name, in quotes where it needs them.
pub(super) fn ident(name: &str) -> Ident {
    match lexer::name(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    }
}

/// A part of a column's name: without quotes, case is no difference.
fn part(written: &Ident) -> Part {
    match written.quote_style {
        None => (None, written.value.to_lowercase()),
        quote => (quote, written.value.clone()),
    }
}

/// What may stand before a column, in small letters.
fn sources(from: &[TableWithJoins]) -> Vec<String> {
    let relations = from.iter().flat_map(|it| {
        let joined = it.joins.iter().map(|join| &join.relation);
        std::iter::once(&it.relation).chain(joined)
    });
    let names = relations.filter_map(|relation| match (alias(relation), relation) {
        (Some(alias), _) => Some(alias.name.value.to_lowercase()),
        (None, TableFactor::Table { name, .. }) => {
            Some(name.0.last()?.as_ident()?.value.to_lowercase())
        }
        _ => None,
    });
    names.collect()
}

/// What FROM calls one of its parts.
pub(super) fn alias(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}
