//! How large a statement may be. SQL is parsed, planned and computed by functions that call
//! themselves once a level: a statement that is deep enough ends a process whose stack is not. So
//! the depth of everything is bounded before it is walked, and what is walked before that is known
//! has a stack for the longest text that is taken ([`STACK`]).

use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Query, SetExpr, TableFactor, Visitor,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::SqlError;
use crate::syntax::walk::walk;

/// Bytes of a statement.
const TEXT: usize = 256 << 10;
/// Brackets, queries and types within each other. Brackets in FROM may be tried twice a level.
pub(crate) const NESTED: usize = 20;
/// Calls of the parser to itself: a few for each query and bracket.
pub(crate) const PARSER: usize = 200;
/// Times that the parser may try a query in brackets.
const TRIALS: usize = 1024;
/// Levels of an expression; a chain such as `a OR b OR c` has one a term.
const DEEP: usize = 300;
/// Tables and queries, those of WITH as often as they are named.
pub(crate) const RELATIONS: usize = 300;
/// Columns of those tables and queries, and of `*`.
pub(crate) const COLUMNS: usize = 200_000;
/// Steps of a plan, one above the other.
const STEPS: usize = 400;
/// The stack of the thread that plans, in bytes. It takes no memory until it is used.
pub(crate) const STACK: usize = 256 << 20;

/// Refuses a text that is too long.
pub(crate) fn check_text(sql: &str) -> Result<(), SqlError> {
    let bytes = sql.len();
    if bytes > TEXT {
        return Err(SqlError::TooLarge {
            what: format!("it has {bytes} bytes"),
            most: TEXT,
            remedy: "put long lists of values in a table and join it",
        });
    }
    Ok(())
}

/// Refuses brackets that are too deep.
pub(crate) fn check_tokens(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    // The brackets that are open: how often the parser may try what is in each.
    let mut open: Vec<usize> = Vec::new();
    // `a[1][1]…` and `INT[][]…`: each bracket is a level more. `ARRAY<ARRAY<…`: likewise.
    let (mut row, mut types) = (0_usize, 0_usize);
    // Round brackets without anything between them.
    let mut run = 0_usize;
    let mut before = &Token::EOF;
    let tokens = tokens.iter().map(|it| &it.token);
    for token in tokens.filter(|it| !matches!(it, Token::Whitespace(_))) {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push(1);
                row = match (before, token) {
                    (Token::RBracket, Token::LBracket) => row + 1,
                    _ => 0,
                };
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            Token::Lt => types += usize::from(begins_type(before)),
            // `((SELECT` may be a query in brackets or a join that begins with one: both are tried,
            // for each bracket.
            Token::Word(word) if begins_query(word.keyword) => {
                if let Some(trials) = open.last_mut() {
                    *trials = run.max(1);
                }
            }
            _ => {}
        }
        run = match token {
            Token::LParen => run + 1,
            _ => 0,
        };
        let trials = open
            .iter()
            .try_fold(1_usize, |all, it| all.checked_mul(*it));
        let is_tried_often = trials.is_none_or(|it| it > TRIALS);
        if open.len().max(row).max(types) > NESTED || is_tried_often {
            return Err(too_nested());
        }
        before = token;
    }
    Ok(())
}

fn begins_query(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM
    )
}

fn begins_type(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP | Keyword::TABLE
        ),
        _ => false,
    }
}

/// The error of brackets, queries or types that are too deep.
pub(crate) fn too_nested() -> SqlError {
    SqlError::TooLarge {
        what: "its brackets or queries are too deep in each other".to_owned(),
        most: NESTED,
        remedy: "give inner queries names, with WITH",
    }
}

/// Refuses expressions that are too deep, and too many tables.
pub(crate) fn check(query: &Query) -> Result<(), SqlError> {
    let mut measure = Measure {
        depth: 0,
        relations: 0,
    };
    match walk(query, &mut measure) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Measure {
    depth: usize,
    relations: usize,
}

impl Measure {
    fn relation(&mut self, more: usize) -> ControlFlow<SqlError> {
        self.relations += more;
        match self.relations > RELATIONS {
            true => ControlFlow::Break(too_many_relations()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Measure {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        self.relation(1 + set_operations(&query.body))
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<SqlError> {
        self.relation(1)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
        self.depth += 1;
        // What is one node of the tree, and many levels of the plan.
        let inside = match expr {
            Expr::CompoundFieldAccess { access_chain, .. } => access_chain.len(),
            Expr::CompoundIdentifier(parts) => parts.len(),
            Expr::JsonAccess { path, .. } => path.path.len(),
            Expr::Cast { data_type, .. } => type_depth(data_type),
            _ => 0,
        };
        match self.depth + inside > DEEP {
            true => ControlFlow::Break(too_deep()),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<SqlError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn set_operations(set: &SetExpr) -> usize {
    let (mut set, mut count) = (set, 0);
    while let SetExpr::SetOperation { left, right, .. } = set {
        count += 1 + set_operations(right);
        set = left;
    }
    count
}

fn type_depth(data_type: &DataType) -> usize {
    let (mut data_type, mut depth) = (data_type, 0);
    while let DataType::Array(
        ArrayElemTypeDef::AngleBracket(inner)
        | ArrayElemTypeDef::SquareBracket(inner, _)
        | ArrayElemTypeDef::Parenthesis(inner),
    ) = data_type
    {
        depth += 1;
        data_type = inner;
    }
    depth
}

fn too_deep() -> SqlError {
    SqlError::TooLarge {
        what: "an expression has too many levels or terms in a row".to_owned(),
        most: DEEP,
        remedy: "write a = 1 OR a = 2 … as a IN (1, 2, …)",
    }
}

/// The error of too many tables and queries.
pub(crate) fn too_many_relations() -> SqlError {
    SqlError::TooLarge {
        what:
            "it has too many tables and queries, those of WITH counted as often as they are named"
                .to_owned(),
        most: RELATIONS,
        remedy: "ask in several statements",
    }
}

/// The error of too many columns.
pub(crate) fn too_many_columns() -> SqlError {
    SqlError::TooLarge {
        what: "its tables and queries have too many columns, counted as often as they are named"
            .to_owned(),
        most: COLUMNS,
        remedy: "name the columns that you want in place of *",
    }
}

/// Refuses a plan that is deeper than what was written let expect: some of what is short is long as
/// a plan.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut levels = vec![(plan, 1_usize)];
    while let Some((plan, depth)) = levels.pop() {
        if depth > 2 * STEPS {
            return Err(too_many_steps());
        }
        for expr in plan.expressions() {
            check_expr(&expr)?;
        }
        levels.extend(plan.inputs().into_iter().map(|it| (it, depth + 1)));
    }
    Ok(())
}

fn check_expr(expr: &datafusion::logical_expr::Expr) -> Result<(), SqlError> {
    let mut levels = vec![(expr, 1_usize)];
    while let Some((expr, depth)) = levels.pop() {
        if depth > 2 * DEEP {
            return Err(too_deep());
        }
        // What is computed of constants while planning may stand in every row.
        if matches!(expr, datafusion::logical_expr::Expr::Literal(value, _) if value.size() > 2 * TEXT)
        {
            return Err(SqlError::TooLarge {
                what: "a constant that it computes is too long, in bytes".to_owned(),
                most: 2 * TEXT,
                remedy: "compute shorter ones",
            });
        }
        let children = expr.apply_children(|child| {
            levels.push((child, depth + 1));
            Ok::<_, DataFusionError>(TreeNodeRecursion::Continue)
        });
        // Nothing above fails.
        debug_assert!(children.is_ok());
    }
    Ok(())
}

/// As [`check_plan`], of the plan that is run.
pub(crate) fn check_steps(plan: &dyn ExecutionPlan) -> Result<(), SqlError> {
    let mut levels = vec![(plan, 1_usize)];
    while let Some((plan, depth)) = levels.pop() {
        if depth > STEPS {
            return Err(too_many_steps());
        }
        levels.extend(
            plan.children()
                .into_iter()
                .map(|it| (it.as_ref(), depth + 1)),
        );
    }
    Ok(())
}

fn too_many_steps() -> SqlError {
    SqlError::TooLarge {
        what: "its plan has too many steps, one above the other".to_owned(),
        most: STEPS,
        remedy: "join fewer tables, and ask in several statements",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::statement::Statement;

    /// Parses on a stack as the planner's.
    fn parse(sql: String) -> Result<(), SqlError> {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let parsed = thread.spawn(move || Statement::parse(&sql).map(drop));
        parsed.unwrap().join().unwrap()
    }

    fn is_too_large(sql: String) {
        let start: String = sql.chars().take(60).collect();
        let parsed = parse(sql);
        assert!(
            matches!(parsed, Err(SqlError::TooLarge { .. } | SqlError::Syntax(_))),
            "{start}… {parsed:?}"
        );
    }

    #[test]
    fn what_is_deep_is_an_error() {
        let n = 10_000;
        let around =
            |a: &str, inner: &str, b: &str| format!("{}{inner}{}", a.repeat(n), b.repeat(n));
        for sql in [
            format!("SELECT {}", around("(", "1", ")")),
            format!("SELECT * FROM {}", around("(", "t", ")")),
            format!("SELECT * FROM {}", around("(SELECT * FROM ", "t", ")")),
            around("(", "SELECT 1", ")"),
            format!("SELECT {}", around("abs(", "1", ")")),
            format!("SELECT {}", around("[", "1", "]")),
            format!("SELECT {}1", "NOT ".repeat(n)),
            format!("SELECT {}1", "- ".repeat(n)),
            format!(
                "SELECT {}1{}",
                "CASE WHEN 1 THEN ".repeat(n),
                " END".repeat(n)
            ),
            format!("SELECT 1{}", " + 1".repeat(n)),
            format!("SELECT 1{}", "+1".repeat(100_000)),
            format!("SELECT 'a'{}", " || 'a'".repeat(n)),
            format!("SELECT 1{}", "::INT".repeat(n)),
            format!("SELECT a{}", "[1]".repeat(n)),
            format!("SELECT CAST(a AS INT{})", "[]".repeat(n)),
            format!(
                "SELECT CAST(a AS {}INT{})",
                "ARRAY<".repeat(n),
                ">".repeat(n)
            ),
            format!("SELECT a{}", ".a".repeat(n)),
            format!("SELECT * FROM t WHERE a = 0{}", " OR a = 1".repeat(n)),
            format!("SELECT * FROM t WHERE a = 0{}", " AND a = 1".repeat(n)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n)),
            format!("SELECT 1{}", " INTERSECT SELECT 1".repeat(n)),
            format!("SELECT * FROM t{}", ", t".repeat(n)),
            format!("SELECT * FROM t{}", " JOIN t ON 1 = 1".repeat(n)),
            format!("SELECT {} 1", "(SELECT 1), ".repeat(n)),
            format!("{} SELECT 1", "EXPLAIN ".repeat(n)),
        ] {
            is_too_large(sql);
        }
        is_too_large(format!("SELECT '{}'", "a".repeat(TEXT)));
    }

    #[test]
    fn what_is_wide_is_no_error() {
        let numbers: Vec<String> = (0..20_000).map(|it| it.to_string()).collect();
        let numbers = numbers.join(",");
        parse(format!("SELECT * FROM t WHERE a IN ({numbers})")).unwrap();
        parse(format!("SELECT {numbers}")).unwrap();
        parse(format!("SELECT concat({numbers})")).unwrap();
        parse(format!(
            "SELECT * FROM t WHERE a = 0{}",
            " OR a = 1".repeat(200)
        ))
        .unwrap();
        parse(format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(100))).unwrap();
        parse(format!("SELECT {}1{}", "(".repeat(20), ")".repeat(20))).unwrap();
    }

    /// The parser tries some brackets in two ways: that must not take twice as long a level.
    #[test]
    fn brackets_are_parsed_soon() {
        let n = NESTED / 2;
        for (a, inner, b) in [
            ("(", "1", ")"),
            ("f(", "1", ")"),
            ("(1, ", "1", ")"),
            ("CAST(", "1", " AS INT)"),
            ("(SELECT ", "1", ")"),
            ("EXISTS (SELECT ", "1", ")"),
            ("CASE WHEN (", "1", ") THEN 1 END"),
            ("1 IN (", "1", ")"),
            ("[", "1", "]"),
            ("{'a': ", "1", "}"),
            ("POSITION(", "1", " IN 'a')"),
            ("SUBSTRING(", "1", ")"),
            ("ARRAY[", "1", "]"),
            ("INTERVAL ", "1", ""),
            ("CEIL(", "1", ")"),
            ("CONVERT(", "1", ", INT)"),
            ("f(a := ", "1", ")"),
            ("((SELECT * FROM ", "t", ") x)"),
            ("((SELECT ", "1", ") x)"),
        ] {
            let begun = std::time::Instant::now();
            let _ = parse(format!("SELECT {}{inner}{}", a.repeat(n), b.repeat(n)));
            let _ = parse(format!(
                "SELECT * FROM {}{inner}{}",
                a.repeat(n),
                b.repeat(n)
            ));
            let _ = parse(format!("SELECT {}", a.repeat(n)));
            let _ = parse(format!("SELECT * FROM {}", a.repeat(n)));
            let took = begun.elapsed();
            assert!(took.as_secs() < 5, "{a} {took:?}");
        }
    }
}
