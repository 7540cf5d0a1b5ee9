//! The rows behind an answer: those that a query counts, sums or groups; those that hold the
//! greatest value, where that is asked for; those of the groups that were chosen.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion::execution::SessionStateDefaults;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Query, Select,
    SelectItem, SetExpr, Visitor, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::Parser;

use crate::dialect::Sql;
use crate::inputs::Input;
use crate::shape::{self, Key};
use crate::syntax::walk::walk;

/// Functions that skip NULLs.
const SKIPPING: [&str; 6] = ["avg", "sum", "count", "max", "min", "median"];
/// What a statement calls the rows of the answer, with as many signs behind it as make it new.
const ANSWER: &str = "limn_answer";
/// Rows of the answer whose rows are looked for.
const MOST: usize = 10;

/// The statement of the rows that those of an answer are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    sql: String,
    answer: Option<String>,
}

impl Behind {
    /// The statement.
    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The first rows of the answer, under the name by which the statement asks for them; `None`
    /// where it does not.
    #[must_use]
    pub fn input(&self, rows: &RecordBatch) -> Option<(String, Input)> {
        let name = self.answer.as_ref()?;
        let schema = rows.schema();
        let fields = schema.fields().iter().enumerate();
        let fields = fields.map(|(at, it)| Field::clone(it).with_name(column(name, at)));
        let rows = rows.slice(0, rows.num_rows().min(MOST));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let rows =
            RecordBatch::try_new_with_options(Arc::new(schema), rows.columns().to_vec(), &options);
        Some((name.clone(), Input::Rows(rows.ok()?)))
    }
}

/// The query whose rows a query counts, sums or groups: its sources and conditions with all
/// columns. `None` where its rows are such rows themselves, where it is no one SELECT, or where
/// groups were chosen by what does not come out.
pub(crate) fn behind(query: &Query) -> Option<Behind> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let is_grouped = shape::is_grouped(select);
    let mut aggregates = aggregates(select);
    if is_grouped {
        // Rows without a value are of their group.
        aggregates.iter_mut().for_each(|it| it.given = None);
    }
    let is_made_of_several = is_grouped || !aggregates.is_empty();
    if select.from.is_empty() || select.qualify.is_some() || !is_made_of_several {
        return None;
    }
    let is_cut = query.limit_clause.is_some() || query.fetch.is_some();
    let chooses = select.having.is_some() || is_grouped && is_cut;
    let name = new_name(&query.to_string());
    let of_groups = of_groups(select, &name);
    let condition = match (chooses, of_groups) {
        (true, None) => return None,
        (is_chosen, of_groups) => {
            let held = of_groups.is_some().then_some(name.as_str());
            let held = held_by(&aggregates, held);
            let needs_answer = is_chosen || held.as_ref().is_some_and(|it| it.contains(&name));
            match needs_answer {
                true => {
                    let all = of_groups.into_iter().flatten().chain(held);
                    let all: Vec<String> = all.collect();
                    // Rows that are all one group have nothing to be of.
                    let is_any = !all.is_empty();
                    is_any.then(|| {
                        let all = all.join(" AND ");
                        format!("EXISTS (SELECT 1 FROM {name} WHERE {all})")
                    })
                }
                false => held,
            }
        }
    };
    let answer = condition.as_ref().filter(|it| it.contains(&name));
    let answer = answer.map(|_| name.clone());
    let mut select = select.clone();
    if let Some(condition) = &condition {
        select.selection = Some(match &select.selection {
            Some(own) => parsed(&format!("({own}) AND {condition}"))?,
            None => parsed(condition)?,
        });
    }
    select.distinct = None;
    select.having = None;
    select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    let query = Query {
        body: Box::new(SetExpr::Select(select)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        ..query.clone()
    };
    Some(Behind {
        sql: query.to_string(),
        answer,
    })
}

/// The conditions that say that a row is of a group of the answer; `None` where they cannot be
/// said, since a key does not come out. None of rows that are all one group.
fn of_groups(select: &Select, answer: &str) -> Option<Vec<String>> {
    let keys = shape::keys(select)?.into_iter();
    let of_key = |Key { expr, at }: Key| {
        let own = column(answer, at?);
        Some(format!("({answer}.{own} IS NOT DISTINCT FROM ({expr}))"))
    };
    keys.map(of_key).collect()
}

/// The condition that says that one of the aggregates is made of a row: `None` where all rows of a
/// group are. What the answer holds is compared where its name is given.
fn held_by(aggregates: &[Aggregate], answer: Option<&str>) -> Option<String> {
    let each = aggregates.iter().map(|it| {
        let filter = it.filter.as_ref().map(|filter| format!("({filter})"));
        let extreme = it.extreme.as_ref().zip(answer);
        let extreme =
            extreme.map(|((at, of), answer)| format!("{answer}.{} = ({of})", column(answer, *at)));
        let given = it.given.as_ref().filter(|_| extreme.is_none());
        let given = given.map(|of| format!("({of}) IS NOT NULL"));
        let both: Vec<String> = filter.into_iter().chain(extreme).chain(given).collect();
        (!both.is_empty()).then(|| both.join(" AND "))
    });
    let each: Vec<String> = each.collect::<Option<_>>()?;
    (!each.is_empty()).then(|| format!("({})", each.join(" OR ")))
}

/// What a column of the answer is called.
fn column(answer: &str, at: usize) -> String {
    format!("{answer}_{at}")
}

/// A name that a statement does not have.
fn new_name(sql: &str) -> String {
    let sql = sql.to_lowercase();
    let mut name = ANSWER.to_owned();
    while sql.contains(&name) {
        name.push('_');
    }
    name
}

fn parsed(condition: &str) -> Option<Expr> {
    let dialect = Sql::new(condition.len());
    let mut parser = Parser::new(&dialect).try_with_sql(condition).ok()?;
    parser.parse_expr().ok()
}

/// A function of groups.
struct Aggregate {
    /// Which rows it is of.
    filter: Option<Expr>,
    /// What is counted or computed, which skips NULLs.
    given: Option<Expr>,
    /// For the greatest or least value, the place where that comes out, and of what it is.
    extreme: Option<(usize, Expr)>,
}

/// The functions of groups that come out of a SELECT.
fn aggregates(select: &Select) -> Vec<Aggregate> {
    let mut all = Vec::new();
    for (at, item) in select.projection.iter().enumerate() {
        let mut search = Search {
            names: names(),
            depth: 0,
            found: Vec::new(),
        };
        // It never breaks.
        let _ = walk(item, &mut search);
        let whole = shape::item(select, at);
        all.extend(search.found.into_iter().map(|function| {
            let is_whole = matches!(whole, Some(Expr::Function(it)) if *it == function);
            let extreme = argument(&function, &["max", "min"]).filter(|_| is_whole);
            Aggregate {
                given: argument(&function, &SKIPPING).cloned(),
                extreme: extreme.map(|it| (at, it.clone())),
                filter: function.filter.map(|it| *it),
            }
        }));
    }
    all
}

/// The only argument of a function that is called one of these.
fn argument<'a>(function: &'a Function, names: &[&str]) -> Option<&'a Expr> {
    let name = function.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(of))] => {
            names.contains(&name.as_str()).then_some(of)
        }
        _ => None,
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

/// Looks for functions of groups that are not those of a window, nor of a query within.
struct Search {
    names: BTreeSet<String>,
    depth: usize,
    found: Vec<Function>,
}

impl Visitor for Search {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(it) = expr
            && self.depth == 0
            && it.over.is_none()
            && self.names.contains(&it.name.to_string().to_lowercase())
        {
            self.found.push(it.clone());
        }
        ControlFlow::Continue(())
    }
}
