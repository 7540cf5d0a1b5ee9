//! What sources of rows and their columns are called.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{JoinConstraint, JoinOperator, ObjectName, TableAlias};
use limn_segment::TableRecord;

use crate::scope::{Column, Columns, Hidden, Relation, Scope, column_of, resolved};
use crate::table::Table;

/// A source of rows that has a name of its own.
pub(crate) fn alias_of(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: resolved(name),
        columns: Vec::new(),
        at: None,
    }
}

pub(super) fn named(alias: &TableAlias, columns: Columns) -> Relation {
    let name = alias.name.value.clone();
    Relation {
        names: vec![vec![name.clone()]],
        label: Some(name.clone()),
        alias: Some(name),
        columns: renamed(columns, alias),
    }
}

pub(super) fn unnamed(columns: Columns) -> Relation {
    Relation {
        alias: None,
        names: Vec::new(),
        label: None,
        columns,
    }
}

/// The columns with the names that an alias gives: `AS x (a, b)`.
pub(super) fn renamed(mut columns: Columns, alias: &TableAlias) -> Columns {
    // A withheld column is none that could be counted.
    if !alias.columns.is_empty() {
        columns.list.retain(|it| it.withheld.is_none());
    }
    for (at, named) in alias.columns.iter().enumerate() {
        let column = Column::named(named.name.value.as_str());
        match columns.list.get_mut(at) {
            Some(old) => *old = column,
            None => columns.list.push(column),
        }
    }
    columns
}

pub(super) fn columns_of(table: &Table) -> Columns {
    let open = table
        .schema
        .fields()
        .iter()
        .map(|it| Column::named(it.name().as_str()));
    let withheld = table.withheld.iter().map(|it| Column {
        name: it.name.as_str().into(),
        withheld: Some(Rc::new(Hidden {
            table: table.name().to_owned(),
            column: it.name.clone(),
            sensitive: it.sensitive.clone(),
        })),
    });
    Columns {
        list: open.chain(withheld).collect(),
        has_others: false,
    }
}

/// What may be written before a table's columns: what was written in FROM, the whole name, and its
/// end.
pub(super) fn names_of(record: &TableRecord, written: &[&str]) -> Vec<Vec<String>> {
    let owned = |parts: &[&str]| parts.iter().map(|it| (*it).to_owned()).collect();
    let folders: Vec<&str> = record.name.split('/').collect();
    let mut names: Vec<Vec<String>> = vec![owned(written), vec![record.name.clone()]];
    names.extend((0..folders.len()).map(|from| owned(&folders[from..])));
    names
}

/// What a table is called: by the end of its name, or all of it where another one is called so.
pub(super) fn free_alias(name: &str, scope: &Scope) -> String {
    let end = name.rsplit('/').next().unwrap_or(name);
    let is_taken = |alias: &str| {
        scope
            .relations
            .iter()
            .any(|it| it.alias.as_deref() == Some(alias))
    };
    match is_taken(end) {
        true => name.to_owned(),
        false => end.to_owned(),
    }
}

/// The columns of USING.
pub(super) fn using(join: &mut JoinOperator) -> Option<&mut Vec<ObjectName>> {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)
    | JoinOperator::Right(constraint)
    | JoinOperator::RightOuter(constraint)
    | JoinOperator::FullOuter(constraint)
    | JoinOperator::Semi(constraint)
    | JoinOperator::LeftSemi(constraint)
    | JoinOperator::RightSemi(constraint)
    | JoinOperator::Anti(constraint)
    | JoinOperator::LeftAnti(constraint)
    | JoinOperator::RightAnti(constraint)) = join
    else {
        return None;
    };
    match constraint {
        JoinConstraint::Using(columns) => Some(columns),
        _ => None,
    }
}

/// A column of USING is spelt as both sides spell it, if they agree.
pub(super) fn rewrite_using(column: &mut ObjectName, relations: &[Relation], left: usize) {
    let [part] = column.0.as_slice() else {
        return;
    };
    let Some(written) = part.as_ident() else {
        return;
    };
    let side = |relations: &[Relation]| column_of(relations, &[], written).ok().flatten();
    let (a, b) = relations.split_at(left);
    if let (Some(a), Some(b)) = (side(a), side(b))
        && a == b
    {
        *column = ObjectName::from(vec![resolved(a)]);
    }
}
