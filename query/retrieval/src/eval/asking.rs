//! The questions of a measurement, each asked at several k.

use std::sync::{Mutex, PoisonError};

use super::EvalQuestion;
use super::grades::GradedAnswer;
use crate::answer::{Query, RankedTable};
use crate::error::RetrievalError;
use crate::judge::Verdicts;
use crate::searcher::Searcher;

/// What is asked, and of whom.
pub(super) struct Asking<'a> {
    searcher: &'a Searcher,
    questions: &'a [EvalQuestion],
    /// Everything about a search but its text, k and vector.
    query: &'a Query,
    /// By question: a table that is a candidate at several k is judged once.
    verdicts: Vec<Mutex<Verdicts>>,
}

/// What a question found, by the names that count, how the answer is graded, and the question's
/// vector.
type Asked = (Vec<String>, GradedAnswer, Vec<f32>);

impl<'a> Asking<'a> {
    pub(super) fn new(
        searcher: &'a Searcher,
        questions: &'a [EvalQuestion],
        query: &'a Query,
    ) -> Asking<'a> {
        let unjudged = || Mutex::new(Verdicts::of_one_measurement());
        Asking {
            searcher,
            questions,
            query,
            verdicts: questions.iter().map(|_| unjudged()).collect(),
        }
    }

    /// The query of a question, with its vector where that is known.
    pub(super) fn query(&self, at: usize, k: usize, vector: Option<Vec<f32>>) -> Query {
        Query {
            text: self.questions[at].question.clone(),
            k,
            vector,
            ..self.query.clone()
        }
    }

    /// Asks a question.
    pub(super) fn ask(
        &self,
        at: usize,
        k: usize,
        vector: Option<Vec<f32>>,
    ) -> Result<Asked, RetrievalError> {
        let mut known = self.verdicts[at]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let query = self.query(at, k, vector);
        let ranked = self.searcher.rank_with(&query, &mut known)?;
        let tables = ranked.ranking.tables;
        let graded = GradedAnswer::of(&tables, self.searcher.table_count());
        let tables = tables.into_iter();
        let found = tables.flat_map(|table| names(table, &self.questions[at]));
        Ok((found.collect(), graded, ranked.vector))
    }
}

/// The names by which a result counts: those gold tables that it is, or has among its copies; else
/// its own.
fn names(table: RankedTable, question: &EvalQuestion) -> Vec<String> {
    let is_gold = |name: &String| question.tables.contains(name);
    let gold: Vec<String> = table.copies.into_iter().filter(is_gold).collect();
    let own = gold.is_empty() || is_gold(&table.key.name);
    own.then_some(table.key.name)
        .into_iter()
        .chain(gold)
        .collect()
}
