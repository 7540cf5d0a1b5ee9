//! The stages of a statement, as they are put together.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use limn_sql::syntax;
use limn_sql::syntax::ast::{
    Expr, Query, Select, SetExpr, With, visit_expressions_mut, visit_relations,
};

use super::call::Call;
use super::place::Place;
use super::{Function, NotCompiled};
use crate::plan::{Fact, Operation, Source, SqlStage, Stage};

/// What the last stage of a statement is called.
pub(super) const ANSWER: &str = "answer";

/// The stages so far.
pub(super) struct Stages {
    /// What the statement's tables are, and its facts.
    inputs: BTreeMap<String, Source>,
    list: Vec<Stage>,
}

impl Stages {
    pub(super) fn new(inputs: &BTreeMap<String, Source>) -> Stages {
        Stages {
            inputs: inputs.clone(),
            list: Vec::new(),
        }
    }

    /// All of them, the last by its name.
    pub(super) fn named(mut self) -> Vec<Stage> {
        if let Some(last) = self.list.last_mut() {
            ANSWER.clone_into(&mut last.name);
        }
        self.list
    }

    /// The name of the last one.
    pub(super) fn last(&self) -> String {
        self.list
            .last()
            .map(|it| it.name.clone())
            .unwrap_or_default()
    }

    /// Adds one, which gets a name of its own.
    pub(super) fn push(&mut self, name: &str, operation: impl FnOnce(&str) -> Operation) -> String {
        let numbered = (2_usize..).map(|at| format!("{name}_{at}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let is_free = |it: &String| {
            self.list.iter().all(|stage| stage.name != *it) && !self.inputs.contains_key(it)
        };
        let name = names.find(is_free).unwrap_or_default();
        self.list.push(Stage {
            operation: operation(&name),
            name: name.clone(),
            columns: None,
        });
        name
    }

    /// Adds a query over the statement's tables and facts.
    pub(super) fn over_tables(&mut self, name: &str, query: Query) {
        let mut named: Vec<String> = Vec::new();
        let _ = visit_relations(&query, |relation| {
            if let [part] = relation.0.as_slice()
                && let Some(one) = part.as_ident()
            {
                named.push(one.value.to_lowercase());
            }
            ControlFlow::<()>::Continue(())
        });
        let inputs = self.inputs.iter();
        let inputs = inputs.filter(|(name, _)| named.contains(&name.to_lowercase()));
        let stage = SqlStage {
            inputs: inputs
                .map(|(name, source)| (name.clone(), source.clone()))
                .collect(),
            statement: query.to_string(),
        };
        self.push(name, |_| Operation::Sql(stage));
    }

    /// Adds a query over the rows of the last stage.
    pub(super) fn over_rows(&mut self, name: &str, query: Query) {
        let last = self.last();
        let stage = SqlStage {
            inputs: BTreeMap::from([(last.clone(), Source::Stage(last))]),
            statement: query.to_string(),
        };
        self.push(name, |_| Operation::Sql(stage));
    }

    /// Puts facts into stages of their own, which the query reads from there on.
    pub(super) fn facts(&mut self, query: &mut Query) -> Result<(), NotCompiled> {
        let mut known: Vec<(Call, String)> = Vec::new();
        let replaced = visit_expressions_mut(query, |expr| {
            if Function::of(expr) != Some(Function::Fact) {
                return ControlFlow::Continue(());
            }
            match self.fact(expr, &mut known) {
                Ok(query) => {
                    *expr = Expr::Subquery(Box::new(query));
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

    /// The query that gives a fact.
    fn fact(&mut self, expr: &Expr, known: &mut Vec<(Call, String)>) -> Result<Query, NotCompiled> {
        let call = Call::read(Function::Fact, expr)?;
        let name = match known.iter().find(|it| it.0 == call) {
            Some((_, name)) => name.clone(),
            None => {
                let output = call.output("fact".to_owned())?;
                let instruction = call.text().to_owned();
                let name = self.push("fact", |_| {
                    Operation::SemFact(Fact {
                        instruction,
                        output,
                        list: false,
                        values: None,
                    })
                });
                self.inputs
                    .insert(name.clone(), Source::Stage(name.clone()));
                known.push((call, name.clone()));
                name
            }
        };
        Ok(syntax::query(&format!("SELECT fact FROM {name}"))?)
    }
}

/// A query of this SELECT and nothing else.
pub(super) fn query_of(select: Select, with: Option<With>, like: &Query) -> Query {
    Query {
        with,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        ..like.clone()
    }
}

/// `SELECT *` of a stage.
pub(super) fn all_of(stage: &str) -> Result<Select, NotCompiled> {
    let query = syntax::query(&format!("SELECT * FROM {stage}"))?;
    match *query.body {
        SetExpr::Select(select) => Ok(*select),
        _ => Err(NotCompiled::Place {
            function: Function::Filter,
            place: Place::Set,
        }),
    }
}
