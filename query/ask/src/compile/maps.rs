//! The maps of a statement: each a stage, and a column in the place where it stood.

use std::ops::ControlFlow;

use limn_sql::syntax::ast::{Expr, Ident, VisitMut};
use limn_sql::syntax::walk::each_expr_mut;

use super::call::Call;
use super::columns::{Columns, ident};
use super::{Function, NotCompiled};
use crate::check::MOST_STAGES;
use crate::plan::SemMap;

/// Maps, each once.
pub(super) struct Maps<'a> {
    columns: &'a mut Columns,
    done: Vec<(Call, SemMap)>,
}

impl<'a> Maps<'a> {
    pub(super) fn new(columns: &'a mut Columns) -> Maps<'a> {
        Maps {
            columns,
            done: Vec::new(),
        }
    }

    /// The stages, whose inputs are not said yet.
    pub(super) fn into_list(self) -> Vec<SemMap> {
        self.done.into_iter().map(|it| it.1).collect()
    }

    /// The column of a map.
    pub(super) fn column(&mut self, expr: &Expr, name: &str) -> Result<Ident, NotCompiled> {
        let call = Call::read(Function::Map, expr)?;
        if let Some((_, map)) = self.done.iter().find(|it| it.0 == call) {
            return Ok(ident(&map.output.name));
        }
        if self.done.len() >= MOST_STAGES {
            return Err(NotCompiled::TooManyStages);
        }
        let instruction = self.columns.instruction(&call)?;
        let output = call.output(self.columns.fresh(name))?;
        let column = ident(&output.name);
        let input = String::new();
        self.done.push((
            call,
            SemMap {
                input,
                instruction,
                output,
            },
        ));
        Ok(column)
    }

    /// Puts columns into the places of maps.
    pub(super) fn replace(&mut self, part: &mut impl VisitMut) -> Result<(), NotCompiled> {
        let replaced = each_expr_mut(part, |expr| {
            if Function::of(expr) != Some(Function::Map) {
                return ControlFlow::Continue(());
            }
            match self.column(expr, "value") {
                Ok(column) => {
                    *expr = Expr::Identifier(column);
                    ControlFlow::Continue(())
                }
                Err(error) => ControlFlow::Break(error),
            }
        });
        match replaced {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }
}
