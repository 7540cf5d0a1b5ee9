//! Statements that were written, read, mended and tried.

use std::collections::{BTreeMap, HashMap};

use limn_store::one_line;

use super::guard::guarded;
use super::statement::{NoStatement, Statement};
use super::tables::Tables;
use super::try_out::{Refusal, Tried, TryOut};
use super::written::{Candidate, Origin};
use crate::compile::compile;
use crate::plan::{Operation, Source, SqlStage, Stage};

/// Changes that are made to a statement that the engine refuses.
const MENDS: usize = 3;

/// A plan of several stages, and what its first statement gave.
pub(super) struct Planned {
    pub(super) stages: Vec<Stage>,
    /// None where a model comes first.
    pub(super) rows: Option<Tried>,
}

/// Statements that are tried, each once.
pub(super) struct Trials<'a> {
    tables: &'a Tables<'a>,
    inputs: BTreeMap<String, Source>,
    try_out: &'a dyn TryOut,
    done: HashMap<String, Result<Tried, Refusal>>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(tables: &'a Tables<'a>, try_out: &'a dyn TryOut) -> Trials<'a> {
        Trials {
            tables,
            inputs: tables.inputs(),
            try_out,
            done: HashMap::new(),
        }
    }

    async fn run(&mut self, statement: &str) -> Result<Tried, Refusal> {
        let inputs = self.inputs.clone();
        let statement = statement.to_owned();
        self.rows(&SqlStage { inputs, statement }).await
    }

    async fn rows(&mut self, stage: &SqlStage) -> Result<Tried, Refusal> {
        if let Some(done) = self.done.get(&stage.statement) {
            return done.clone();
        }
        let tried = self.try_out.run(stage).await;
        let tried = tried.map_err(|refusal| self.said(refusal));
        self.done.insert(stage.statement.clone(), tried.clone());
        tried
    }

    /// A candidate of what was written, mended and tried.
    pub(super) async fn candidate(&mut self, origin: Origin, answer: &str) -> Candidate {
        let mut statement = match Statement::read(answer) {
            Ok(statement) => statement,
            Err(why) => return Candidate::of_none(origin, answer, why),
        };
        let mut mends = 0;
        loop {
            let sql = guarded(statement.sql());
            let tried = self.run(&sql).await;
            match self.again(&statement, tried.as_ref().err(), mends) {
                Some(mended) => (statement, mends) = (mended, mends + 1),
                None => return Candidate::tried(origin, sql, mends, tried),
            }
        }
    }

    /// A candidate of what was written with semantic functions: its plan is checked, and its rows
    /// that a model would read are looked at. The model is not asked about them.
    pub(super) async fn judging(&mut self, origin: Origin, answer: &str) -> Candidate {
        let mut statement = match Statement::read(answer) {
            Ok(statement) => statement,
            Err(why) => return Candidate::of_none(origin, answer, why),
        };
        let mut mends = 0;
        loop {
            let sql = guarded(statement.sql());
            let planned = match self.planned(&sql).await {
                Ok(None) => return Candidate::of_none(origin, &sql, NoStatement::NoFunction),
                Ok(Some(planned)) => Ok(planned),
                Err(refusal) => Err(refusal),
            };
            match self.again(&statement, planned.as_ref().err(), mends) {
                Some(mended) => (statement, mends) = (mended, mends + 1),
                None => return Candidate::planned(origin, sql, mends, planned),
            }
        }
    }

    /// The stages of a statement with semantic functions, and how many rows the model would read of
    /// the first; `None` of other statements.
    async fn planned(&mut self, sql: &str) -> Result<Option<Planned>, Refusal> {
        let stages = compile(sql, &self.tables.known()).map_err(|error| Refusal {
            line: one_line(&error.to_string()),
            mend: None,
            column: None,
            is_of_statement: true,
        })?;
        let Some(stages) = stages else {
            return Ok(None);
        };
        let reads = |stage: &&Stage| stage.operation.stages().is_empty();
        let first = stages
            .iter()
            .filter(reads)
            .find_map(|it| match &it.operation {
                Operation::Sql(sql) => Some(sql.clone()),
                _ => None,
            });
        let checked = self.try_out.check(&stages).await;
        let stages = checked.map_err(|it| self.said(it))?;
        let rows = match first {
            Some(first) => Some(self.rows(&first).await?),
            None => None,
        };
        Ok(Some(Planned { stages, rows }))
    }

    fn again(
        &self,
        statement: &Statement,
        refusal: Option<&Refusal>,
        mends: usize,
    ) -> Option<Statement> {
        self.mended(statement, refusal.filter(|_| mends < MENDS)?)
    }

    fn said(&self, refusal: Refusal) -> Refusal {
        Refusal {
            line: self.tables.said(&refusal),
            ..refusal
        }
    }

    /// The statement with the one change that may make it right.
    fn mended(&self, statement: &Statement, refusal: &Refusal) -> Option<Statement> {
        let of_name = refusal.mend.as_ref().and_then(|it| statement.mended(it));
        of_name.or_else(|| {
            let column = refusal.column.as_ref()?;
            match self.tables.having(column).as_slice() {
                [table] => statement.requalified(column, table),
                _ => None,
            }
        })
    }
}
