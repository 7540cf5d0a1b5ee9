//! From text to the one statement that it is, if it is one that reads.
//!
//! What a statement does shows in its first word, before it is parsed: whatever writes is refused
//! by name, however it goes on.

use datafusion::sql::sqlparser::ast::{
    DescribeAlias, ObjectName, Query, ShowStatementFilter, ShowStatementFilterPosition,
    ShowStatementInParentType, ShowStatementOptions, Statement as Parsed,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};
use limn_store::one_line;

use crate::dialect::Sql;
use crate::error::SqlError;
use crate::{check, size};

/// A statement that reads.
#[derive(Debug)]
pub(crate) enum Statement {
    /// Rows are wanted.
    Query(Box<Query>),
    /// How the rows would be got is wanted.
    Explain(Box<Query>),
    /// A table's columns are wanted.
    Columns(ObjectName),
    /// The tables whose names are like a pattern of SQL are wanted.
    Tables(Option<Pattern>),
}

/// A pattern of names, as LIKE and ILIKE have it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) like: String,
    pub(crate) any_case: bool,
}

impl Statement {
    /// Parses a statement, and refuses what does not read or is too large. Parsing takes stack in
    /// proportion to the text's length at worst: see [`size::STACK`].
    pub(crate) fn parse(sql: &str) -> Result<Statement, SqlError> {
        size::check_text(sql)?;
        let tokens = Tokenizer::new(&Sql::new(0), sql).tokenize_with_location();
        let tokens = tokens.map_err(|error| syntax(&error.to_string()))?;
        check_tokens(&tokens)?;
        let words = first_words(&tokens);
        let tokens = with_select(tokens);
        size::check_tokens(&tokens)?;
        let dialect = Sql::new(tokens.len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(size::PARSER)
            .with_tokens_with_locations(tokens);
        let parsed = parser.parse_statement().map_err(of_parser)?;
        while parser.consume_token(&Token::SemiColon) {}
        let rest = parser.peek_token();
        if rest.token != Token::EOF {
            return Err(syntax(&format!(
                "it goes on with {rest}{}",
                rest.span.start
            )));
        }
        let statement = Statement::of(parsed, &words)?;
        if let Statement::Query(query) | Statement::Explain(query) = &statement {
            size::check(query)?;
            check::reads_only(query)?;
        }
        Ok(statement)
    }

    fn of(parsed: Parsed, words: &str) -> Result<Statement, SqlError> {
        let refused = || SqlError::ReadsOnly(format!("{words} is refused"));
        match parsed {
            Parsed::Query(query) => Ok(Statement::Query(query)),
            Parsed::Explain {
                describe_alias: DescribeAlias::Explain,
                analyze: false,
                verbose: false,
                query_plan: false,
                estimate: false,
                statement,
                format: None,
                options: None,
            } => match *statement {
                Parsed::Query(query) => Ok(Statement::Explain(query)),
                _ => Err(refused()),
            },
            Parsed::Explain {
                describe_alias: DescribeAlias::Explain,
                ..
            } => Err(SqlError::ReadsOnly(
                "EXPLAIN stands alone, without ANALYZE and other options".to_owned(),
            )),
            Parsed::Explain { .. } => Err(SqlError::ReadsOnly(
                "DESCRIBE takes a table, EXPLAIN a query".to_owned(),
            )),
            Parsed::ExplainTable { table_name, .. } => Ok(Statement::Columns(table_name)),
            Parsed::ShowTables {
                terse: false,
                history: false,
                extended: false,
                full: false,
                external: false,
                show_options,
            } => tables(show_options),
            Parsed::ShowColumns {
                extended: false,
                full: false,
                show_options,
            } => columns(show_options),
            _ => Err(refused()),
        }
    }
}

/// `FROM t WHERE …` with `SELECT *` before it: after FROM, the parser knows no clause but SELECT.
fn with_select(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, keyword: Keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let is_blank = |it: &&TokenWithSpan| matches!(it.token, Token::Whitespace(_));
    let first = tokens.iter().find(|it| !is_blank(it));
    if !first.is_some_and(|it| is(&it.token, Keyword::FROM)) {
        return tokens;
    }
    let mut depth = 0_usize;
    for it in &tokens {
        match &it.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token if depth == 0 && is(token, Keyword::SELECT) => return tokens,
            _ => {}
        }
    }
    let all = [Token::make_keyword("SELECT"), Token::Mul];
    tokens.splice(..0, all.map(TokenWithSpan::wrap));
    tokens
}

/// The first two words of a statement: they say what it does.
fn first_words(tokens: &[TokenWithSpan]) -> String {
    let words = tokens.iter().filter_map(|it| match &it.token {
        Token::Word(word) => Some(one_line(&word.value.to_uppercase())),
        _ => None,
    });
    words.take(2).collect::<Vec<String>>().join(" ")
}

fn tables(options: ShowStatementOptions) -> Result<Statement, SqlError> {
    let ShowStatementOptions {
        show_in: None,
        starts_with: None,
        limit: None,
        limit_from: None,
        filter_position,
    } = options
    else {
        return Err(SqlError::Unsupported(
            "SHOW TABLES with anything but LIKE".to_owned(),
        ));
    };
    let filter = filter_position.map(|it| match it {
        ShowStatementFilterPosition::Infix(filter)
        | ShowStatementFilterPosition::Suffix(filter) => filter,
    });
    let (like, any_case) = match filter {
        None => return Ok(Statement::Tables(None)),
        Some(ShowStatementFilter::Like(like)) => (like, false),
        Some(ShowStatementFilter::ILike(like)) => (like, true),
        Some(_) => {
            return Err(SqlError::Unsupported(
                "SHOW TABLES with anything but LIKE".to_owned(),
            ));
        }
    };
    Ok(Statement::Tables(Some(Pattern { like, any_case })))
}

fn columns(options: ShowStatementOptions) -> Result<Statement, SqlError> {
    let show_in = options.show_in.filter(|it| {
        let of = it.parent_type.as_ref();
        of.is_none_or(|it| *it == ShowStatementInParentType::Table)
    });
    match (
        show_in.and_then(|it| it.parent_name),
        options.filter_position,
    ) {
        (Some(table), None) => Ok(Statement::Columns(table)),
        _ => Err(SqlError::Unsupported(
            "SHOW COLUMNS but with FROM and a table".to_owned(),
        )),
    }
}

/// Refuses what begins as no statement that reads does, and what is several.
fn check_tokens(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let mut tokens = tokens
        .iter()
        .map(|it| &it.token)
        .filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF));
    let first = tokens.find(|it| **it != Token::SemiColon);
    match first {
        None => return Err(syntax("it is empty")),
        Some(Token::Word(Word {
            value,
            keyword,
            quote_style: None,
        })) => match keyword {
            Keyword::SELECT
            | Keyword::WITH
            | Keyword::VALUES
            | Keyword::FROM
            | Keyword::EXPLAIN
            | Keyword::DESCRIBE
            | Keyword::DESC
            | Keyword::SHOW => {}
            // The parser says what it expected.
            Keyword::NoKeyword => {}
            _ => {
                let word = one_line(&value.to_uppercase());
                return Err(SqlError::ReadsOnly(format!("{word} is refused")));
            }
        },
        Some(_) => {}
    }
    let mut after = tokens.skip_while(|it| **it != Token::SemiColon);
    if after.any(|it| *it != Token::SemiColon) {
        return Err(SqlError::ReadsOnly(
            "there are several statements, and one is answered at a time".to_owned(),
        ));
    }
    Ok(())
}

fn syntax(cause: &str) -> SqlError {
    SqlError::Syntax(one_line(cause))
}

fn of_parser(error: ParserError) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => size::too_nested(),
        ParserError::TokenizerError(cause) | ParserError::ParserError(cause) => syntax(&cause),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn statements_that_only_read_are_recognised() {
        for sql in [
            "SELECT 1",
            "  select 1 ;; ",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES (1), (2)",
            "(SELECT 1) UNION ALL SELECT 2",
            "FROM crm.churn SELECT a",
            "-- how many?\nSELECT count(*) FROM churn",
        ] {
            let parsed = Statement::parse(sql);
            assert!(
                matches!(parsed, Ok(Statement::Query(_))),
                "{sql}: {parsed:?}"
            );
        }
        let explained = Statement::parse("EXPLAIN SELECT 1").unwrap();
        assert!(matches!(explained, Statement::Explain(_)));
        for sql in [
            "DESCRIBE crm.churn",
            "DESC \"crm/churn\"",
            "SHOW COLUMNS FROM crm.churn",
            "SHOW COLUMNS IN churn",
        ] {
            let parsed = Statement::parse(sql);
            assert!(
                matches!(parsed, Ok(Statement::Columns(_))),
                "{sql}: {parsed:?}"
            );
        }
        let pattern = |sql| match Statement::parse(sql) {
            Ok(Statement::Tables(pattern)) => pattern.map(|it| (it.like, it.any_case)),
            other => panic!("{other:?}"),
        };
        assert_eq!(pattern("SHOW TABLES"), None);
        assert_eq!(
            pattern("SHOW TABLES LIKE 'crm%'"),
            Some(("crm%".into(), false))
        );
        assert_eq!(
            pattern("SHOW TABLES ILIKE 'crm%'"),
            Some(("crm%".into(), true))
        );
    }

    #[test]
    fn whatever_writes_is_refused_in_one_line() {
        for sql in [
            "CREATE TABLE t (a INT)",
            "CREATE TABLE t AS SELECT 1",
            "CREATE VIEW v AS SELECT 1",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://bucket/x.csv'",
            "CREATE FUNCTION f() RETURNS INT RETURN 1",
            "DROP TABLE churn",
            "ALTER TABLE churn ADD COLUMN a INT",
            "TRUNCATE TABLE churn",
            "INSERT INTO churn VALUES (1)",
            "UPDATE churn SET a = 1",
            "DELETE FROM churn",
            "MERGE INTO churn USING b ON a = b WHEN MATCHED THEN DELETE",
            "COPY churn TO '/tmp/x.parquet'",
            "COPY (SELECT 1) TO 's3://bucket/x'",
            "SET datafusion.execution.batch_size = 1",
            "RESET datafusion.execution.batch_size",
            "SHOW ALL",
            "SHOW datafusion.execution.batch_size",
            "SHOW FUNCTIONS",
            "BEGIN",
            "COMMIT",
            "PREPARE p AS SELECT 1",
            "EXECUTE p",
            "GRANT SELECT ON churn TO anna",
            "USE other",
            "ATTACH DATABASE 'x.db' AS x",
            "PRAGMA table_info(churn)",
            "LOAD 'extension'",
            "CALL f()",
            "EXPLAIN ANALYZE SELECT 1",
            "EXPLAIN VERBOSE SELECT 1",
            "EXPLAIN INSERT INTO churn VALUES (1)",
            "DESCRIBE SELECT 1",
            "SELECT 1; SELECT 2",
            "SELECT 1; DROP TABLE churn",
            "SELECT * INTO copy FROM churn",
            "SELECT * FROM read_csv('x.csv')",
            "SELECT * FROM generate_series(1, 10)",
            "SELECT * FROM range(10)",
            "SELECT * FROM TABLE(f(1))",
            "SELECT * FROM LATERAL f(1)",
            "SELECT * FROM churn FOR UPDATE",
            "WITH a AS (INSERT INTO churn VALUES (1) RETURNING *) SELECT * FROM a",
            "SELECT * FROM 's3://bucket/x.parquet'",
            "SELECT a FROM churn WHERE a IN (SELECT b FROM read_parquet('x'))",
        ] {
            let error = Statement::parse(sql).unwrap_err();
            let line = error.to_string();
            assert!(matches!(error, SqlError::ReadsOnly(_)), "{sql}: {line}");
            assert!(
                line.starts_with("limn sql reads only: ") && !line.contains('\n'),
                "{line}"
            );
        }
    }

    #[test]
    fn what_limn_would_pass_over_is_refused() {
        for sql in [
            "SELECT * FROM churn TABLESAMPLE BERNOULLI (10)",
            "SELECT * FROM churn FOR SYSTEM_TIME AS OF '2024-01-01'",
            "SELECT * FROM churn WITH (NOLOCK)",
            "SELECT a FROM churn PREWHERE a > 1",
            "SELECT count(DISTINCT *) FROM churn",
            "SHOW TABLES FROM crm",
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert!(
                matches!(error, SqlError::Unsupported(_) | SqlError::Syntax(_)),
                "{sql}: {error}"
            );
        }
    }

    #[test]
    fn what_is_no_sql_is_reported_in_one_line() {
        for sql in [
            "",
            " ; ",
            "slect 1",
            "EXPLAIN EXPLAIN SELECT 1",
            "SELECT FROM WHERE",
            "SELECT 'open",
            "SELECT 1 2 3",
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert!(matches!(error, SqlError::Syntax(_)), "{sql}: {error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
