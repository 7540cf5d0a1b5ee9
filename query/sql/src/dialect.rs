//! The SQL that is parsed: the parser's generic dialect, as far as DataFusion goes along, within
//! bounds.
//!
//! Where the parser cannot tell how to read what comes, it tries one way and then another. In
//! brackets within brackets each level may be tried twice, or three times, and a text of a hundred
//! letters would be parsed for years. So every beginning of an expression counts, and after
//! [`Sql::new`]'s many the parser hears that it went too deep, which no trial gets past.

use std::any::TypeId;
use std::cell::Cell;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// Beginnings of expressions for each token: one is what a text needs that is read in one way.
const TRIALS: usize = 16;
/// And for short texts, in which a few brackets may well be tried often.
const AT_LEAST: usize = 20_000;

/// The dialect, for one statement.
#[derive(Debug)]
pub(crate) struct Sql {
    left: Cell<usize>,
}

impl Sql {
    /// For a text of so many tokens.
    pub(crate) fn new(tokens: usize) -> Sql {
        Sql {
            left: Cell::new(AT_LEAST.saturating_add(TRIALS.saturating_mul(tokens))),
        }
    }
}

/// What is true of a dialect.
macro_rules! has {
    ($($what:ident),* $(,)?) => {
        $(fn $what(&self) -> bool {
            true
        })*
    };
}

impl Dialect for Sql {
    /// Where the parser asks for a dialect by its name.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        GenericDialect {}.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        GenericDialect {}.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        GenericDialect {}.is_identifier_part(letter)
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                None
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    has!(
        allow_extract_custom,
        allow_extract_single_quotes,
        support_map_literal_syntax,
        supports_array_typedef_with_brackets,
        supports_bitwise_shift_operators,
        supports_comma_separated_trim,
        supports_dictionary_syntax,
        supports_filter_during_aggregation,
        supports_from_first_select,
        supports_group_by_expr,
        supports_interval_options,
        supports_limit_comma,
        supports_nested_comments,
        supports_order_by_all,
        supports_parens_around_table_factor,
        supports_projection_trailing_commas,
        supports_select_wildcard_except,
        supports_select_wildcard_exclude,
        supports_select_wildcard_ilike,
        supports_select_wildcard_replace,
        supports_string_escape_constant,
        supports_struct_literal,
        supports_unicode_string_literal,
        supports_window_clause_named_window_reference,
        supports_window_function_null_treatment_arg,
    );
}
