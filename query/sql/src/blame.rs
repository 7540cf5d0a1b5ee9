//! Which column of a statement is to blame where types do not fit: DataFusion names types, and
//! people have columns.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Visitor,
};
use limn_store::one_line;

use crate::cells::type_word;
use crate::error::quoted;
use crate::scope::same;
use crate::statement::Statement;
use crate::syntax::walk::walk;
use crate::table::Table;

/// How DataFusion begins where an operator does not take such values.
const OPERATOR: &str = "Cannot coerce arithmetic expression ";

/// What is said of numbers that are text.
const OR_NULL: &str = "which is null where there is no number";

type Tables = BTreeMap<String, Arc<Table>>;

/// What is wrong with the types of an operator's or function's values, if that is what was said.
pub(crate) fn of_types(cause: &str, sql: &str, tables: &Tables) -> Option<String> {
    if let Some((_, rest)) = cause.split_once(OPERATOR) {
        let (values, _) = rest.split_once(" to valid types")?;
        return Some(of_operator(values, sql, tables));
    }
    let (before, rest) = cause.split_once('\'')?;
    let (name, rest) = rest.split_once('\'')?;
    let is_of_types = before.ends_with("a call to ")
        || (before.ends_with("Function ") && rest.contains("failed to match any signature"));
    is_of_types.then(|| of_function(name, sql, tables))
}

fn of_operator(values: &str, sql: &str, tables: &Tables) -> String {
    let parts = [" + ", " - ", " * ", " / ", " % "].iter().find_map(|it| {
        let (left, right) = values.split_once(it)?;
        Some((word(left), it.trim(), word(right)))
    });
    let Some((left, operator, right)) = parts else {
        return format!("{values} cannot be computed; CAST(value AS type) gives another type");
    };
    let is_text = |it: &DataType| it.is_string();
    if let Some(column) = Look::at(sql, tables, Wanted::Operator(operator), &is_text) {
        return format!(
            "{} is text, and {operator} takes numbers; write {}, {OR_NULL}",
            column.words(),
            column.as_number()
        );
    }
    format!(
        "{left} {operator} {right} cannot be computed; CAST(value AS type) gives a value another type"
    )
}

fn of_function(name: &str, sql: &str, tables: &Tables) -> String {
    let is_other = |it: &DataType| !it.is_numeric();
    match Look::at(sql, tables, Wanted::Function(name), &is_other) {
        Some(column) if column.data_type.is_string() => format!(
            "{name}() takes no text, and {} is text; write {name}({}), {OR_NULL}",
            column.words(),
            column.as_number()
        ),
        Some(column) => format!(
            "{name}() does not take {}, which is {}; CAST(value AS type) gives it another type",
            column.words(),
            type_word(&column.data_type)
        ),
        None => format!(
            "{name}() takes no values of such types; TRY_CAST(value AS type) gives them another one"
        ),
    }
}

/// A type of Arrow's, as it is called in an error, in a word.
fn word(data_type: &str) -> &str {
    const WORDS: [(&str, &str); 13] = [
        ("Utf8", "text"),
        ("LargeUtf8", "text"),
        ("Int", "integer"),
        ("UInt", "integer"),
        ("Float", "float"),
        ("Decimal", "decimal"),
        ("Boolean", "boolean"),
        ("Date", "date"),
        ("Timestamp", "timestamp"),
        ("Time", "time"),
        ("Duration", "interval"),
        ("List", "list"),
        ("Struct", "struct"),
    ];
    let data_type = data_type.trim();
    match data_type.starts_with("Interval") {
        true => "interval",
        false => WORDS
            .iter()
            .find(|(it, _)| data_type.starts_with(it))
            .map_or(data_type, |(_, word)| word),
    }
}

/// Whose values do not fit.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Operator(&'a str),
    Function(&'a str),
}

/// A column of a table.
struct Column {
    name: String,
    table: String,
    data_type: DataType,
}

impl Column {
    fn words(&self) -> String {
        format!("'{}' of '{}'", one_line(&self.name), one_line(&self.table))
    }

    fn as_number(&self) -> String {
        format!("TRY_CAST({} AS DOUBLE)", quoted(&one_line(&self.name)))
    }
}

/// Looks for the first column that an operator or function has and that is of a type that it does
/// not take.
struct Look<'a> {
    wanted: Wanted<'a>,
    tables: &'a Tables,
    is_wrong: &'a dyn Fn(&DataType) -> bool,
}

impl<'a> Look<'a> {
    fn at(
        sql: &str,
        tables: &'a Tables,
        wanted: Wanted<'a>,
        is_wrong: &'a dyn Fn(&DataType) -> bool,
    ) -> Option<Column> {
        let query: Box<Query> = match Statement::parse(sql) {
            Ok(Statement::Query(query) | Statement::Explain(query)) => query,
            _ => return None,
        };
        let mut look = Look {
            wanted,
            tables,
            is_wrong,
        };
        walk(&query, &mut look).break_value()
    }

    /// The column that an expression is, if its type is wrong.
    fn column(&self, expr: &Expr) -> Option<Column> {
        let name = match expr {
            Expr::Nested(inner) => return self.column(inner),
            Expr::Identifier(ident) => &ident.value,
            Expr::CompoundIdentifier(parts) => &parts.last()?.value,
            _ => return None,
        };
        let fields = self.tables.values().flat_map(|table| {
            let fields = table.schema.fields().iter();
            fields.map(move |field| (table, field))
        });
        let mut fields = fields.filter(|(_, field)| (self.is_wrong)(field.data_type()));
        let (table, field) = fields.find(|(_, field)| same(field.name(), name))?;
        Some(Column {
            name: field.name().clone(),
            table: table.name().to_owned(),
            data_type: field.data_type().clone(),
        })
    }

    fn arguments<'f>(&self, function: &'f Function) -> impl Iterator<Item = &'f Expr> {
        let list = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        list.iter().filter_map(|it| match it {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
    }
}

impl Visitor for Look<'_> {
    type Break = Column;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Column> {
        let found = match (self.wanted, expr) {
            (Wanted::Operator(wanted), Expr::BinaryOp { left, op, right })
                if op.to_string() == wanted =>
            {
                self.column(left).or_else(|| self.column(right))
            }
            (Wanted::Function(wanted), Expr::Function(function))
                if same(&function.name.to_string(), wanted) =>
            {
                let mut arguments = self.arguments(function);
                arguments.find_map(|it| self.column(it))
            }
            _ => None,
        };
        match found {
            Some(column) => ControlFlow::Break(column),
            None => ControlFlow::Continue(()),
        }
    }
}
