//! From errors of DataFusion to what a person reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use limn_lake::scan::ScanError;
use limn_store::one_line;

use crate::blame;
use crate::error::SqlError;
use crate::functions;
use crate::limits::Limits;
use crate::near::near;
use crate::scope::same;
use crate::stale::Stale;
use crate::table::Table;
use crate::watch::Over;

/// What DataFusion says where temporary files take too much room.
const DISK: &str = "used disk space during the spilling process";

/// Functions of other dialects, and what is written here.
const FUNCTIONS: [(&str, &str); 14] = [
    ("charindex", "strpos(text, part)"),
    ("date_format", "to_char(time, '%Y-%m')"),
    (
        "datediff",
        "to_unixtime(later) - to_unixtime(earlier), in seconds",
    ),
    ("day", "date_part('day', time)"),
    ("getdate", "now()"),
    ("group_concat", "string_agg(text, ',')"),
    ("if", "CASE WHEN … THEN … ELSE … END"),
    ("iif", "CASE WHEN … THEN … ELSE … END"),
    ("isnull", "coalesce(value, other)"),
    ("len", "length(text)"),
    ("month", "date_part('month', time)"),
    ("strftime", "to_char(time, '%Y-%m')"),
    ("total", "sum(value)"),
    ("year", "date_part('year', time)"),
];

/// Why a statement cannot be planned.
pub(crate) fn planning(
    error: &DataFusionError,
    sql: &str,
    tables: &BTreeMap<String, Arc<Table>>,
    limits: &Limits,
) -> SqlError {
    let schema = match error.find_root() {
        DataFusionError::SchemaError(schema, _) => schema,
        DataFusionError::Plan(cause) | DataFusionError::Internal(cause) => {
            let blamed = blame::of_types(cause, sql, tables);
            return blamed.map_or_else(|| running(error, limits), SqlError::Plan);
        }
        _ => return running(error, limits),
    };
    match schema.as_ref() {
        SchemaError::FieldNotFound { field, .. } => unknown_column(field.name(), sql, tables),
        SchemaError::AmbiguousReference { field } => {
            let name = field.name();
            let has = |table: &&Arc<Table>| table.schema.index_of(name).is_ok();
            let of = tables.values().filter(has);
            let columns = of.map(|table| format!("that of '{}'", one_line(table.name())));
            SqlError::AmbiguousColumn {
                name: one_line(name),
                columns: columns.collect(),
            }
        }
        other => SqlError::Plan(one_line(&other.to_string())),
    }
}

fn unknown_column(name: &str, sql: &str, tables: &BTreeMap<String, Arc<Table>>) -> SqlError {
    for table in tables.values() {
        if let Some(hidden) = table.withheld.iter().find(|it| same(&it.name, name)) {
            return SqlError::Withheld {
                column: hidden.name.clone(),
                table: table.name().to_owned(),
                sensitive: hidden.sensitive.clone(),
            };
        }
    }
    let fields = tables.values().flat_map(|table| table.schema.fields());
    let only = match tables.len() {
        1 => tables.values().next(),
        _ => None,
    };
    SqlError::UnknownColumn {
        name: one_line(name),
        table: only.map(|table| table.name().to_owned()),
        near: near(name, fields.map(|it| it.name().as_str())),
        is_text: sql.contains(&format!("\"{name}\"")),
    }
}

/// Why a query ended before its end.
pub(crate) fn running(error: &DataFusionError, limits: &Limits) -> SqlError {
    let root = error.find_root();
    // Memory and disk are recognised by the words alone, and disk as an error of writing.
    if error.to_string().contains(DISK) {
        return SqlError::Spill(limits.spill_bytes);
    }
    let line = || one_line(&without_tree(&without_prefix(&root.strip_backtrace())));
    match root {
        DataFusionError::External(error) if error.is::<Over>() => SqlError::Timeout(limits.timeout),
        DataFusionError::External(error) => {
            let scan = error.downcast_ref::<ScanError>();
            let stale = error.downcast_ref::<Stale>();
            match (stale, scan) {
                (Some(stale), _) => SqlError::Stale(Box::new(stale.clone())),
                (None, Some(error)) => SqlError::Scan(error.clone()),
                (None, None) => SqlError::Execution(line()),
            }
        }
        DataFusionError::ResourcesExhausted(_) => SqlError::Memory(limits.memory_bytes),
        DataFusionError::Plan(cause) => SqlError::Plan(of_function(cause).unwrap_or_else(line)),
        DataFusionError::SchemaError(..) => SqlError::Plan(line()),
        DataFusionError::NotImplemented(cause) => {
            let cause = one_line(&without_tree(cause));
            SqlError::Plan(format!("limn sql does not have this: {cause}"))
        }
        DataFusionError::ArrowError(error, _) if is_of_values(error) => SqlError::Value(line()),
        DataFusionError::SQL(..) => SqlError::Syntax(line()),
        DataFusionError::Internal(cause) => SqlError::Internal(one_line(&without_tree(cause))),
        _ => SqlError::Execution(line()),
    }
}

/// Whether the values themselves are why: the same query fails on them each time.
fn is_of_values(error: &ArrowError) -> bool {
    matches!(
        error,
        ArrowError::CastError(_)
            | ArrowError::ParseError(_)
            | ArrowError::ArithmeticOverflow(_)
            | ArrowError::DivideByZero
            | ArrowError::InvalidArgumentError(_)
    )
}

/// What is wrong with the name of a function.
fn of_function(cause: &str) -> Option<String> {
    let (before, rest) = cause.split_once('\'')?;
    let (name, _) = rest.split_once('\'')?;
    if !before.ends_with("Invalid function ") {
        return None;
    }
    let known = FUNCTIONS.iter().find(|it| it.0.eq_ignore_ascii_case(name));
    let instead = match (known, functions::like(name).as_slice()) {
        (Some((_, instead)), _) => format!("write {instead}"),
        _ if name.to_lowercase().starts_with("sem_") => {
            "functions that ask a language model are for answers: limn ask --sql, or sql of /v1/ask"
                .to_owned()
        }
        (None, []) => "there are those of DataFusion".to_owned(),
        (None, like) => format!("did you mean {}?", like.join(" or ")),
    };
    Some(format!(
        "there is no function '{}'; {instead}",
        one_line(name)
    ))
}

/// What was said, without the parser's own form of what it was said of.
fn without_tree(text: &str) -> String {
    const MARKS: [&str; 3] = ["quote_style:", "ValueWithSpan", "span: Span"];
    if MARKS.iter().all(|it| !text.contains(it)) {
        return text.to_owned();
    }
    if text.starts_with("Dot access not supported") {
        let advice =
            "a field behind a dot is a name; a column whose name has dots stands in double quotes";
        return advice.to_owned();
    }
    let said = text.split(['(', '{', '[']).next().unwrap_or_default();
    said.rsplit_once(": ").map_or(said, |it| it.0).to_owned()
}

/// What was said, without who said it: `Error during planning: …`.
fn without_prefix(text: &str) -> String {
    const PREFIXES: [&str; 6] = [
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "External error: ",
        "Schema error: ",
        "SQL error: ",
    ];
    let mut text = text;
    while let Some(rest) = PREFIXES.iter().find_map(|it| text.strip_prefix(it)) {
        text = rest;
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_scan_is_kept_as_it_is() {
        let scan = ScanError::Changed {
            path: "crm/churn.csv".to_owned(),
        };
        let inner = DataFusionError::External(Box::new(scan.clone()));
        let arrow = ArrowError::ExternalError(Box::new(inner));
        let outer = DataFusionError::ArrowError(Box::new(arrow), None).context("somewhere");
        let failure = running(&outer, &Limits::default());
        assert!(
            matches!(&failure, SqlError::Scan(it) if *it == scan),
            "{failure}"
        );
        assert_eq!(failure.to_string(), scan.to_string());
    }

    #[test]
    fn values_that_cannot_be_computed_are_no_accident() {
        let of = |error: ArrowError| {
            let error = DataFusionError::ArrowError(Box::new(error), None).context("somewhere");
            running(&error, &Limits::default())
        };
        let value = of(ArrowError::CastError("cannot cast 'x'".to_owned()));
        assert!(matches!(value, SqlError::Value(_)), "{value}");
        assert!(matches!(of(ArrowError::DivideByZero), SqlError::Value(_)));
        let accident = || std::io::Error::other("no room");
        let file = of(ArrowError::IoError("no room".to_owned(), accident()));
        assert!(matches!(file, SqlError::Execution(_)), "{file}");
        let spilled = running(&DataFusionError::IoError(accident()), &Limits::default());
        assert!(matches!(spilled, SqlError::Execution(_)), "{spilled}");
    }

    #[test]
    fn each_limit_has_its_own_error() {
        let of = |text: &str| {
            let error = DataFusionError::ResourcesExhausted(text.to_owned());
            running(&error, &Limits::default())
        };
        let memory = of("Failed to allocate additional 1.0 MB for Sort");
        assert!(matches!(memory, SqlError::Memory(_)), "{memory}");
        let disk = of("The used disk space during the spilling process has exceeded the limit");
        assert!(matches!(disk, SqlError::Spill(_)), "{disk}");
    }

    #[test]
    fn calls_of_functions_are_mended() {
        let of = |text: &str| {
            let error = DataFusionError::Plan(text.to_owned());
            running(&error, &Limits::default()).to_string()
        };
        let year = of("Invalid function 'YEAR'.\nDid you mean 'mean'?");
        assert_eq!(
            year,
            "there is no function 'YEAR'; write date_part('year', time)"
        );
        for (wrong, instead) in [
            ("cnt", "did you mean count?"),
            ("lenght", "did you mean length?"),
            ("summ", "did you mean sum?"),
            ("foo", "there are those of DataFusion"),
            ("percentile_rank_of_all", "there are those of DataFusion"),
        ] {
            let line = of(&format!("Invalid function '{wrong}'.\nDid you mean 'cot'?"));
            assert_eq!(line, format!("there is no function '{wrong}'; {instead}"));
        }
    }

    #[test]
    fn the_parsers_trees_are_left_out() {
        for (text, wanted) in [
            (
                "Dot access not supported for non-string expr: Identifier(Ident { value: \"id\", quote_style: None })",
                "double quotes",
            ),
            (
                "Unsupported ast node in sqltorel: Tuple([ValueWithSpan { value: 1 }])",
                "limn sql does not have this: Unsupported ast node in sqltorel",
            ),
        ] {
            let error = DataFusionError::NotImplemented(text.to_owned());
            let line = running(&error, &Limits::default()).to_string();
            assert!(
                line.ends_with(wanted) || line.contains("double quotes"),
                "{line}"
            );
            assert!(!line.contains('{'), "{line}");
        }
    }

    #[test]
    fn who_said_it_is_left_out() {
        let error = DataFusionError::Plan("Error during planning: it is\nodd".into());
        let line = running(&error, &Limits::default()).to_string();
        assert_eq!(line, "it is odd");
    }
}
