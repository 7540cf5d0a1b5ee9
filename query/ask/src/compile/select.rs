//! The outermost SELECT in stages: SQL over tables, semantic stages, SQL over their rows.

use std::collections::BTreeMap;

use limn_sql::syntax::ast::{GroupByExpr, Query, Select, SetExpr};

use super::call::with_texts;
use super::columns::Columns;
use super::outer::Outer;
use super::place::{Place, functions, refuse};
use super::ranked::Ranked;
use super::split::{Split, all};
use super::stages::{ANSWER, Stages, query_of};
use super::summed::Summed;
use super::{Function, NotCompiled, Table};
use crate::plan::{Operation, SemFilter, SemMap, Stage};

/// The stages of a query; `None` without semantic functions.
pub(super) fn compiled(
    mut query: Query,
    tables: &BTreeMap<String, Table>,
) -> Result<Option<Vec<Stage>>, NotCompiled> {
    let called = functions(&query)?;
    if called.is_empty() {
        return Ok(None);
    }
    with_texts(&mut query);
    refuse(&query.limit_clause, Place::Limit, |_| true)?;
    refuse(&query.fetch, Place::Limit, |_| true)?;
    let mut stages = Stages::new(tables, &query);
    stages.facts(&query)?;
    match called.into_iter().find(|it| *it != Function::Fact) {
        None => stages.over_tables(ANSWER, query)?,
        Some(function) => of_rows(function, query, tables, &mut stages)?,
    }
    Ok(Some(stages.named()))
}

/// The stages of a query that calls functions of rows, this one first.
fn of_rows(
    function: Function,
    query: Query,
    tables: &BTreeMap<String, Table>,
    stages: &mut Stages,
) -> Result<(), NotCompiled> {
    let of_rows = |it| it != Function::Fact;
    refuse(&query.with, Place::With, of_rows)?;
    if query.fetch.is_some() {
        return Err(NotCompiled::Limit(function));
    }
    let Query { with, body, .. } = &query;
    let SetExpr::Select(select) = body.as_ref() else {
        return Err(NotCompiled::Place {
            function,
            place: Place::Set,
        });
    };
    refuse(&select.from, Place::On, of_rows)?;
    let mut outer = Outer::new(function, select.as_ref().clone(), &query);
    let split = Split::of(outer.selection(with.as_ref(), tables))?;
    outer.later = split.later;
    let topk = outer.topk()?;
    outer.check()?;
    let all_columns = outer.has_wildcard();
    if all_columns && (outer.is_joined() || !outer.later.is_empty() || outer.has_maps()) {
        return Err(NotCompiled::Wildcard(function));
    }
    let mut columns = Columns::new(&outer.select.from, all_columns);
    outer.rename(&mut columns);
    let filters = split.filters.iter().map(|it| columns.instruction(it));
    let filters: Vec<_> = filters.collect::<Result<_, _>>()?;
    let maps = outer.maps(&mut columns)?;
    let ending = match (Summed::of(&mut outer, &mut columns)?, topk) {
        (Some(_), Some(_)) => {
            return Err(NotCompiled::Place {
                function: Function::TopK,
                place: Place::OrderBy,
            });
        }
        (Some(summed), None) => Ending::Summed(summed),
        (None, Some(call)) => Ending::Ranked(Ranked::of(&call, &mut outer, &mut columns)?),
        (None, None) => Ending::Plain,
    };
    let first = Select {
        distinct: None,
        projection: columns.items(),
        selection: all(split.first),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        ..outer.select.clone()
    };
    stages.over_tables("found", query_of(first, with.clone(), &query))?;
    for instruction in filters {
        let input = stages.last();
        let filter = SemFilter {
            input,
            instruction,
            threshold: None,
            cascade: None,
        };
        stages.push("kept", Operation::SemFilter(filter))?;
    }
    let mapped: Vec<String> = maps.iter().map(|it| it.output.name.clone()).collect();
    for map in maps {
        let input = stages.last();
        stages.push("mapped", Operation::SemMap(SemMap { input, ..map }))?;
    }
    let names: Vec<String> = columns.names().map(str::to_owned).chain(mapped).collect();
    match ending {
        Ending::Plain => outer.finish(&names, stages),
        Ending::Ranked(ranked) => ranked.finish(outer, &names, stages),
        Ending::Summed(summed) => summed.finish(outer, stages),
    }
}

/// What comes after filters and maps.
enum Ending {
    Plain,
    Ranked(Ranked),
    Summed(Summed),
}
