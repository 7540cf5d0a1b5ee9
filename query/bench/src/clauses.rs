//! The clauses of a statement in a form that compares, whatever order and spelling they have: the
//! check that a question put in English means the statement (PNEUMA, section 6.1.2; clause by
//! clause as in the exact match of Spider).

use limn_sql::syntax::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    LimitClause, OrderByKind, Query, SelectItem, SetExpr, UnaryOperator, Value,
};
use limn_sql::syntax::with_query;

/// A statement, clause by clause. Of one that is more than a SELECT of one table there is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Clauses {
    select: Vec<String>,
    conditions: Vec<String>,
    groups: Vec<String>,
    having: Vec<String>,
    order: Vec<String>,
    limit: Option<String>,
}

impl Clauses {
    /// The clauses of a statement.
    pub(crate) fn of(sql: &str) -> Option<Clauses> {
        with_query(sql, |query| Clauses::of_query(&query)).ok()?
    }

    fn of_query(query: &Query) -> Option<Clauses> {
        let SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let is_plain = query.with.is_none()
            && query.fetch.is_none()
            && select.distinct.is_none()
            && select.qualify.is_none()
            && matches!(select.from.as_slice(), [one] if one.joins.is_empty());
        let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else {
            return None;
        };
        if !is_plain || !modifiers.is_empty() {
            return None;
        }
        let items = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                Some(of(expr))
            }
            _ => None,
        });
        Some(Clauses {
            select: sorted(items.collect::<Option<_>>()?),
            conditions: all(select.selection.as_ref()),
            groups: sorted(groups.iter().map(of).collect()),
            having: all(select.having.as_ref()),
            order: order(query)?,
            limit: limit(query)?,
        })
    }
}

fn sorted(mut parts: Vec<String>) -> Vec<String> {
    parts.sort_unstable();
    parts
}

/// The conditions that all have to be met.
fn all(condition: Option<&Expr>) -> Vec<String> {
    fn split(condition: &Expr, into: &mut Vec<String>) {
        match condition {
            Expr::Nested(inner) => split(inner, into),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                split(left, into);
                split(right, into);
            }
            other => into.push(of(other)),
        }
    }
    let mut parts = Vec::new();
    if let Some(condition) = condition {
        split(condition, &mut parts);
    }
    sorted(parts)
}

/// By what rows are ordered, in order. Where NULLs come says no question.
fn order(query: &Query) -> Option<Vec<String>> {
    let Some(order) = &query.order_by else {
        return Some(Vec::new());
    };
    let OrderByKind::Expressions(by) = &order.kind else {
        return None;
    };
    let by = by.iter().map(|by| match by.options.asc {
        Some(false) => format!("{} down", of(&by.expr)),
        _ => of(&by.expr),
    });
    Some(by.collect())
}

fn limit(query: &Query) -> Option<Option<String>> {
    match &query.limit_clause {
        None => Some(None),
        Some(LimitClause::LimitOffset {
            limit,
            offset: None,
            ..
        }) => Some(limit.as_ref().map(of)),
        Some(_) => None,
    }
}

/// An expression without what may differ in its spelling.
fn of(expr: &Expr) -> String {
    match expr {
        Expr::Nested(inner) => of(inner),
        Expr::Identifier(name) => name.value.to_lowercase(),
        Expr::CompoundIdentifier(parts) => {
            let last = parts.last().map(|it| it.value.to_lowercase());
            last.unwrap_or_default()
        }
        Expr::Value(value) => of_value(&value.value),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(&format!("-{}", of(expr))),
        Expr::BinaryOp { left, op, right } => of_comparison(left, op, right),
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => format!("{} between {} {}", of(expr), of(low), of(high)),
        Expr::Function(call) => {
            let arguments = match &call.args {
                FunctionArguments::List(list) if list.duplicate_treatment.is_none() => {
                    list.args.iter().map(of_argument).collect()
                }
                _ => vec![call.to_string()],
            };
            let name = call.name.to_string().to_lowercase();
            format!("{name}({})", arguments.join(", "))
        }
        other => other.to_string(),
    }
}

fn of_argument(argument: &FunctionArg) -> String {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => of(expr),
        other => other.to_string(),
    }
}

/// A comparison with its constant to the right.
fn of_comparison(left: &Expr, op: &BinaryOperator, right: &Expr) -> String {
    let turned = match op {
        BinaryOperator::Lt => Some(BinaryOperator::Gt),
        BinaryOperator::Gt => Some(BinaryOperator::Lt),
        BinaryOperator::Eq => Some(BinaryOperator::Eq),
        _ => None,
    };
    match turned {
        Some(turned) if matches!(left, Expr::Value(_)) => {
            format!("{} {turned} {}", of(right), of(left))
        }
        _ => format!("{} {op} {}", of(left), of(right)),
    }
}

fn of_value(value: &Value) -> String {
    match value {
        Value::Number(text, _) => number(text),
        // Whether a number stands in quotes is a matter of the column's type, which no question
        // says. Codes are texts: '0012', '1e5'.
        Value::SingleQuotedString(text) => match is_plain(text) {
            true => number(text),
            false => format!("'{text}'"),
        },
        other => other.to_string(),
    }
}

fn number(text: &str) -> String {
    // More digits than a double has are compared, too.
    match (text.parse::<i128>(), text.parse::<f64>()) {
        (Ok(whole), _) => whole.to_string(),
        (_, Ok(number)) => number.to_string(),
        _ => text.to_owned(),
    }
}

/// Whether a text is a number as one writes it.
fn is_plain(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    is_digits(whole) && is_digits(part) && (whole == "0" || !whole.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(a: &str, b: &str) -> bool {
        let (a, b) = (Clauses::of(a), Clauses::of(b));
        assert!(a.is_some(), "{a:?}");
        a == b
    }

    #[test]
    fn order_and_spelling_do_not_count() {
        let one = "SELECT \"Name\", \"town\" FROM \"a/b\" WHERE \"Depth\" > 5 AND \"lake\" = 'Thun' \
                   ORDER BY \"Area\" DESC NULLS LAST LIMIT 3";
        assert!(is_same(
            one,
            "select t.town, name as n from t where lake = 'Thun' and (5.0 < depth) order by area desc limit 3"
        ));
        let groups = "SELECT \"lake\", avg(\"depth\") FROM t WHERE y BETWEEN -1 AND 2 GROUP BY \"lake\" HAVING avg(\"depth\") > 4";
        assert!(is_same(
            groups,
            "SELECT AVG(depth), lake FROM x WHERE y BETWEEN '-1' AND 2.0 GROUP BY lake HAVING AVG(depth) > 4"
        ));
    }

    #[test]
    fn numbers_in_quotes_are_numbers_and_codes_are_texts() {
        let with = |value: &str| format!("SELECT name FROM t WHERE code = {value}");
        assert!(is_same(&with("'12'"), &with("12.0")));
        assert!(is_same(&with("'0.50'"), &with("0.5")));
        for (code, other) in [
            ("'0012'", "12"),
            ("'1e2'", "100"),
            ("'nan'", "'NaN'"),
            ("' 12'", "12"),
            ("'9007199254740993'", "9007199254740992"),
        ] {
            assert!(!is_same(&with(code), &with(other)), "{code} {other}");
        }
    }

    #[test]
    fn whatever_else_differs_counts() {
        let one = "SELECT name FROM t WHERE depth > 5 ORDER BY area LIMIT 3";
        for other in [
            "SELECT name, town FROM t WHERE depth > 5 ORDER BY area LIMIT 3",
            "SELECT DISTINCT name FROM t WHERE depth > 5 ORDER BY area LIMIT 3",
            "SELECT name FROM t WHERE depth >= 5 ORDER BY area LIMIT 3",
            "SELECT name FROM t WHERE depth > 6 ORDER BY area LIMIT 3",
            "SELECT name FROM t WHERE depth > 5 OR x = 1 ORDER BY area LIMIT 3",
            "SELECT name FROM t WHERE depth > 5 ORDER BY area DESC LIMIT 3",
            "SELECT name FROM t WHERE depth > 5 ORDER BY area LIMIT 5",
            "SELECT name FROM t WHERE depth > 5 ORDER BY area",
            "SELECT name FROM t WHERE depth > 5 GROUP BY name ORDER BY area LIMIT 3",
            "SELECT name FROM t JOIN u ON t.a = u.a WHERE depth > 5 ORDER BY area LIMIT 3",
            "SELECT max(name) FROM t WHERE depth > 5 ORDER BY area LIMIT 3",
            "SELECT * FROM t",
            "no SQL at all",
        ] {
            assert!(!is_same(one, other), "{other}");
        }
        assert!(!is_same(
            "SELECT sum(a) FROM t",
            "SELECT sum(DISTINCT a) FROM t"
        ));
        assert!(!is_same(
            "SELECT a FROM t WHERE b = 'Thun'",
            "SELECT a FROM t WHERE b = 'thun'"
        ));
    }
}
