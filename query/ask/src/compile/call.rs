//! The semantic functions, and what stands in their brackets.

use std::fmt;
use std::ops::ControlFlow;

use limn_sql::syntax::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Value, ValueWithSpan,
};
use limn_sql::syntax::walk::each_expr_mut;

use super::NotCompiled;
use crate::plan::{ColumnSpec, Instruction, ValueType};

/// How the names of semantic functions begin.
pub(super) const PREFIX: &str = "sem_";

/// A semantic function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Whether a sentence is true of a row.
    Filter,
    /// A value that a model writes for a row.
    Map,
    /// The order of rows by a criterion.
    TopK,
    /// A text of all rows, or of those of a group.
    Agg,
    /// A value that no row holds.
    Fact,
}

impl Function {
    const ALL: [Function; 5] = [
        Function::Filter,
        Function::Map,
        Function::TopK,
        Function::Agg,
        Function::Fact,
    ];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Function::Filter => "sem_filter",
            Function::Map => "sem_map",
            Function::TopK => "sem_topk",
            Function::Agg => "sem_agg",
            Function::Fact => "sem_fact",
        }
    }

    /// Where it may stand.
    pub(super) fn stands(self) -> &'static str {
        match self {
            Function::Filter => "in WHERE of the outermost SELECT, alone or beside others with AND",
            Function::Map => "in the outermost SELECT, anywhere but in FROM and LIMIT",
            Function::TopK => "in ORDER BY of the outermost SELECT, with no other column",
            Function::Agg => {
                "as an item of the outermost SELECT, alone or beside columns of GROUP BY"
            }
            Function::Fact => "wherever a value may, but in LIMIT, OFFSET and FETCH",
        }
    }

    /// How it is written.
    pub(super) fn usage(self) -> &'static str {
        match self {
            Function::Filter => {
                "sem_filter('{column} …'), a sentence that is true of the rows that are wanted"
            }
            Function::Map => {
                "sem_map('… {column}'), perhaps with a type ('integer', 'float', 'boolean', 'date') or all the texts that may come out"
            }
            Function::TopK => {
                "sem_topk('the more …: {column}'), which says which of two rows comes first"
            }
            Function::Agg => "sem_agg('… {column}'), which says what is to be written of the rows",
            Function::Fact => {
                "sem_fact('…'), perhaps with a type ('integer', 'float', 'boolean', 'date') or all the texts that may come out"
            }
        }
    }

    /// The function that an expression calls.
    pub(super) fn of(expr: &Expr) -> Option<Function> {
        let name = name(expr)?;
        Function::ALL.into_iter().find(|it| it.word() == name)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The name of the function that an expression calls, in small letters.
pub(super) fn name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(call) => Some(call.name.to_string().to_lowercase()),
        _ => None,
    }
}

/// Writes what a query's functions have in double quotes as texts: no column may stand there.
pub(super) fn with_texts(query: &mut Query) {
    let _ = each_expr_mut(query, |expr| {
        let is_ours = Function::of(expr).is_some();
        if let (true, Expr::Function(call)) = (is_ours, expr)
            && let FunctionArguments::List(list) = &mut call.args
        {
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument
                    && let Expr::Identifier(Ident {
                        value,
                        quote_style: Some('"'),
                        ..
                    }) = argument
                {
                    let text = Value::SingleQuotedString(std::mem::take(value));
                    *argument = Expr::value(text);
                }
            }
        }
        ControlFlow::<()>::Continue(())
    });
}

/// What a call has in its brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    function: Function,
    text: String,
    more: Vec<String>,
}

impl Call {
    /// Of an expression that calls this function.
    pub(super) fn read(function: Function, expr: &Expr) -> Result<Call, NotCompiled> {
        let wrong = || NotCompiled::Arguments { function };
        let Expr::Function(call) = expr else {
            return Err(wrong());
        };
        let is_plain = call.filter.is_none()
            && call.over.is_none()
            && call.null_treatment.is_none()
            && call.within_group.is_empty();
        let FunctionArguments::List(list) = &call.args else {
            return Err(wrong());
        };
        if !is_plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return Err(wrong());
        }
        let texts: Option<Vec<String>> = list.args.iter().map(text).collect();
        let mut texts = texts.ok_or_else(wrong)?.into_iter();
        let text = texts.next().ok_or_else(wrong)?;
        let more: Vec<String> = texts.collect();
        let takes_more = matches!(function, Function::Map | Function::Fact);
        match more.is_empty() || takes_more {
            true => Ok(Call {
                function,
                text,
                more,
            }),
            false => Err(wrong()),
        }
    }

    /// What it says.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it says, as a sentence about rows whose columns have these names.
    pub(super) fn instruction(
        &self,
        own: impl FnMut(&str) -> String,
    ) -> Result<Instruction, NotCompiled> {
        let failed = |cause| NotCompiled::Instruction {
            function: self.function,
            cause,
        };
        let written = Instruction::try_from(self.text.clone()).map_err(failed)?;
        if written.columns().is_empty() || written.has_all() {
            return Err(NotCompiled::NoColumns {
                function: self.function,
            });
        }
        Instruction::try_from(written.renamed(own)).map_err(failed)
    }

    /// The column that it writes, under this name.
    pub(super) fn output(&self, name: String) -> Result<ColumnSpec, NotCompiled> {
        let (value_type, one_of) = match self.more.as_slice() {
            [] => (ValueType::Text, Vec::new()),
            [word] => {
                let function = self.function;
                let value_type = value_type(word).ok_or(NotCompiled::Arguments { function })?;
                (value_type, Vec::new())
            }
            texts => (ValueType::Text, texts.to_vec()),
        };
        Ok(ColumnSpec {
            name,
            value_type,
            one_of,
            pattern: None,
        })
    }
}

fn text(argument: &FunctionArg) -> Option<String> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }))) => Some(text.clone()),
        _ => None,
    }
}

fn value_type(word: &str) -> Option<ValueType> {
    Some(match word.to_lowercase().as_str() {
        "text" => ValueType::Text,
        "integer" => ValueType::Integer,
        "float" => ValueType::Float,
        "boolean" => ValueType::Boolean,
        "date" => ValueType::Date,
        _ => return None,
    })
}
