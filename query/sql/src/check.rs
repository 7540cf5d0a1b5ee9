//! Whether a query only reads tables of the index, and has nothing that would be passed over in
//! silence.
//!
//! This is the first of three walls. The second is what is registered: no other catalog, no table
//! function, no store, no file format. The third looks at the plan (`engine.rs`).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, Query, Select, SetExpr, Statement, TableFactor, Visitor,
};
use limn_store::one_line;

use crate::error::SqlError;
use crate::syntax::walk::walk;

/// Refuses a query that does more than read tables by name.
pub(crate) fn reads_only(query: &Query) -> Result<(), SqlError> {
    match walk(query, &mut Check) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Check;

type Checked = ControlFlow<SqlError>;

impl Visitor for Check {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        if !query.locks.is_empty() {
            return refuse("rows are not locked");
        }
        if let Some(with) = &query.with
            && with.cte_tables.iter().any(|it| it.from.is_some())
        {
            return lacks("FROM after a WITH query");
        }
        let parts = [
            (query.for_clause.is_some(), "FOR XML or FOR JSON"),
            (query.settings.is_some(), "SETTINGS"),
            (query.format_clause.is_some(), "FORMAT"),
            (!query.pipe_operators.is_empty(), "|> operators"),
        ];
        has_none_of(&parts)?;
        of_set(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Checked {
        if select.into.is_some() {
            return refuse("SELECT INTO is refused");
        }
        let parts = [
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!select.lateral_views.is_empty(), "LATERAL VIEW"),
            (select.exclude.is_some(), "EXCLUDE but after *"),
            (
                select.value_table_mode.is_some(),
                "SELECT AS STRUCT or AS VALUE",
            ),
            (select.select_modifiers.is_some(), "modifiers of SELECT"),
            (select.top.is_some(), "TOP; write LIMIT at the end"),
        ];
        has_none_of(&parts)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            // DataFusion would count one row.
            Expr::Function(function) if is_of_distinct_rows(function) => {
                lacks("count(DISTINCT *); write count(*) FROM (SELECT DISTINCT * FROM …)")
            }
            _ => Checked::Continue(()),
        }
    }

    fn pre_visit_statement(&mut self, _: &Statement) -> Checked {
        refuse("a query in WITH reads, too")
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        match factor {
            TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. } => table_function(name),
            TableFactor::TableFunction { .. } => refuse("TABLE(…) is refused"),
            TableFactor::Table {
                name,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
                ..
            } => {
                is_table_name(name)?;
                has_none_of(&[
                    (
                        version.is_some(),
                        "versions of tables: a query reads those that the index has",
                    ),
                    (sample.is_some(), "TABLESAMPLE"),
                    (!with_hints.is_empty() || !index_hints.is_empty(), "hints"),
                    (*with_ordinality, "WITH ORDINALITY"),
                    (!partitions.is_empty(), "PARTITION"),
                    (json_path.is_some(), "JSON paths in FROM"),
                ])
            }
            TableFactor::Derived { sample, .. } => {
                has_none_of(&[(sample.is_some(), "TABLESAMPLE")])
            }
            TableFactor::NestedJoin { .. } | TableFactor::UNNEST { .. } => Checked::Continue(()),
            TableFactor::Pivot { .. } => lacks("PIVOT"),
            TableFactor::Unpivot { .. } => lacks("UNPIVOT"),
            _ => lacks("such a source of rows in FROM"),
        }
    }
}

fn is_of_distinct_rows(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    let is_all = |arg: &FunctionArg| {
        matches!(
            arg,
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::QualifiedWildcard(_))
        )
    };
    list.duplicate_treatment == Some(DuplicateTreatment::Distinct) && list.args.iter().any(is_all)
}

/// What the parts of UNION, EXCEPT and INTERSECT may be; their queries are visited by themselves.
fn of_set(set: &SetExpr) -> Checked {
    let mut set = set;
    // The left side of a chain goes as deep as the chain is long.
    while let SetExpr::SetOperation { left, right, .. } = set {
        of_set(right)?;
        set = left;
    }
    match set {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => Checked::Continue(()),
        SetExpr::Table(_) => lacks("TABLE; write SELECT * FROM"),
        _ => refuse("a query in WITH reads, too"),
    }
}

fn is_table_name(name: &ObjectName) -> Checked {
    let part = name.0.iter().find_map(|part| match part.as_ident() {
        // Text, where a name is expected: some write a file so.
        Some(Ident {
            value,
            quote_style: Some('\''),
            ..
        }) => Some(value),
        _ => None,
    });
    match part {
        Some(text) => {
            let text = one_line(text);
            refuse(&format!(
                "'{text}' is text, and only tables of the index can be read"
            ))
        }
        None if name.0.iter().any(|part| part.as_ident().is_none()) => {
            refuse("a table's name is not computed")
        }
        None => Checked::Continue(()),
    }
}

fn table_function(name: &ObjectName) -> Checked {
    let name = one_line(&name.to_string());
    refuse(&format!(
        "{name}(…) in FROM is refused, and only tables of the index can be read"
    ))
}

fn has_none_of(parts: &[(bool, &str)]) -> Checked {
    match parts.iter().find(|it| it.0) {
        Some((_, what)) => lacks(what),
        None => Checked::Continue(()),
    }
}

fn refuse(why: &str) -> Checked {
    Checked::Break(SqlError::ReadsOnly(why.to_owned()))
}

fn lacks(what: &str) -> Checked {
    Checked::Break(SqlError::Unsupported(what.to_owned()))
}
