//! The stages of a statement, as they are put together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use limn_sql::syntax;
use limn_sql::syntax::ast::{Expr, Query, Select, SetExpr, TableFactor, Visitor, With};
use limn_sql::syntax::walk::{each_expr, each_expr_mut, each_relation, walk};

use super::call::Call;
use super::columns::alias;
use super::place::Place;
use super::{Function, NotCompiled, Table};
use crate::check::MOST_STAGES;
use crate::plan::{Fact, Operation, Source, SqlStage, Stage};

/// What the last stage of a statement is called.
pub(super) const ANSWER: &str = "answer";

/// The stages so far.
pub(super) struct Stages {
    /// What the statement's tables are, and its facts.
    inputs: BTreeMap<String, Source>,
    /// The stages of facts.
    facts: HashMap<Call, String>,
    /// Names that no further stage may have, in small letters.
    taken: HashSet<String>,
    /// How many names with this beginning have been tried.
    tried: HashMap<String, usize>,
    list: Vec<Stage>,
}

impl Stages {
    /// None yet, for a query over these tables.
    pub(super) fn new(tables: &BTreeMap<String, Table>, query: &Query) -> Stages {
        let mut names = Names(tables.keys().map(|it| it.to_lowercase()).collect());
        let _ = walk(query, &mut names);
        let inputs = tables.iter();
        let inputs = inputs.map(|(name, table)| (name.clone(), table.source.clone()));
        Stages {
            inputs: inputs.collect(),
            facts: HashMap::new(),
            taken: names.0,
            tried: HashMap::new(),
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
    pub(super) fn push(&mut self, name: &str, operation: Operation) -> Result<String, NotCompiled> {
        if self.list.len() >= MOST_STAGES {
            return Err(NotCompiled::TooManyStages);
        }
        let tried = self.tried.entry(name.to_owned()).or_default();
        let name = loop {
            *tried += 1;
            let name = match *tried {
                1 => name.to_owned(),
                at => format!("{name}_{at}"),
            };
            if self.taken.insert(name.to_lowercase()) {
                break name;
            }
        };
        self.list.push(Stage {
            operation,
            name: name.clone(),
            columns: None,
        });
        Ok(name)
    }

    /// Adds a query over the statement's tables.
    pub(super) fn over_tables(&mut self, name: &str, query: Query) -> Result<(), NotCompiled> {
        let inputs = BTreeMap::new();
        self.over(name, query, inputs)
    }

    /// Adds a query over the rows of the last stage.
    pub(super) fn over_rows(&mut self, name: &str, query: Query) -> Result<(), NotCompiled> {
        let last = self.last();
        let inputs = BTreeMap::from([(last.clone(), Source::Stage(last))]);
        self.over(name, query, inputs)
    }

    /// Adds a query over these, and over the tables and facts that it names.
    fn over(
        &mut self,
        name: &str,
        mut query: Query,
        mut inputs: BTreeMap<String, Source>,
    ) -> Result<(), NotCompiled> {
        self.with_facts(&mut query)?;
        let mut named: HashSet<String> = HashSet::new();
        let _ = each_relation(&query, |relation| {
            if let [part] = relation.0.as_slice()
                && let Some(one) = part.as_ident()
            {
                named.insert(one.value.to_lowercase());
            }
            ControlFlow::<()>::Continue(())
        });
        let known = self.inputs.iter();
        let known = known.filter(|(name, _)| named.contains(&name.to_lowercase()));
        inputs.extend(known.map(|(name, source)| (name.clone(), source.clone())));
        let statement = query.to_string();
        self.push(name, Operation::Sql(SqlStage { inputs, statement }))?;
        Ok(())
    }

    /// Adds the stages of a query's facts, each once.
    pub(super) fn facts(&mut self, query: &Query) -> Result<(), NotCompiled> {
        let added = each_expr(query, |expr| {
            if Function::of(expr) != Some(Function::Fact) {
                return ControlFlow::Continue(());
            }
            match self.fact(expr) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        match added {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    fn fact(&mut self, expr: &Expr) -> Result<(), NotCompiled> {
        let call = Call::read(Function::Fact, expr)?;
        if self.facts.contains_key(&call) {
            return Ok(());
        }
        let fact = Fact {
            instruction: call.text().to_owned(),
            output: call.output("fact".to_owned())?,
            list: false,
            values: None,
        };
        let name = self.push("fact", Operation::SemFact(fact))?;
        self.inputs
            .insert(name.clone(), Source::Stage(name.clone()));
        self.facts.insert(call, name);
        Ok(())
    }

    /// Puts queries of the stages of facts into the places of these.
    fn with_facts(&self, query: &mut Query) -> Result<(), NotCompiled> {
        let replaced = each_expr_mut(query, |expr| {
            if Function::of(expr) != Some(Function::Fact) {
                return ControlFlow::Continue(());
            }
            match self.query_of_fact(expr) {
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

    fn query_of_fact(&self, expr: &Expr) -> Result<Query, NotCompiled> {
        let function = Function::Fact;
        let call = Call::read(function, expr)?;
        let name = self.facts.get(&call);
        let name = name.ok_or(NotCompiled::Arguments { function })?;
        Ok(syntax::query(&format!("SELECT fact FROM {name}"))?)
    }
}

/// What a query calls tables and the queries of WITH, in small letters.
struct Names(HashSet<String>);

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let withs = query.with.iter().flat_map(|it| &it.cte_tables);
        self.0
            .extend(withs.map(|it| it.alias.name.value.to_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.0
            .extend(alias(factor).map(|it| it.name.value.to_lowercase()));
        ControlFlow::Continue(())
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
