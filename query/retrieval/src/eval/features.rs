//! What weights of features are learned from: the candidates of questions with their features.

use serde::Serialize;

use super::EvalQuestion;
use crate::answer::{Query, RankedTable};
use crate::error::RetrievalError;
use crate::learned::{Features, Weights};
use crate::searcher::{Candidates, Searcher};

/// Candidates of a question, at most.
pub(super) const MOST: usize = 50;
/// As many tables are wanted of a question, which says how many candidates there are.
pub(super) const WANTED: usize = 10;

/// A question with its candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionFeatures {
    /// The question.
    pub question: String,
    /// The tables that it needs.
    pub gold: Vec<String>,
    /// Those of them that the index lacks, which no candidate is.
    pub missing: Vec<String>,
    /// Its candidates in the order of the formula, the first 50.
    pub candidates: Vec<CandidateFeatures>,
}

/// A candidate of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateFeatures {
    /// The table; of copies the one that is needed, where one of them is.
    pub table: String,
    /// What the formula says of it, without features.
    pub score: f32,
    /// Whether the question names it: it comes before those that it does not name.
    pub is_named: bool,
    /// What counts beside the formula.
    #[serde(flatten)]
    pub features: Features,
}

/// The candidates of a question with their features, of tables ranked one by one.
///
/// # Errors
/// As [`Searcher::search`].
pub fn features(
    searcher: &Searcher,
    question: &EvalQuestion,
    query: &Query,
) -> Result<QuestionFeatures, RetrievalError> {
    let query = Query {
        text: question.question.clone(),
        k: WANTED,
        weights: Some(Weights::FORMULA),
        joins: None,
        ..query.clone()
    };
    let Candidates { ranking, found, .. } = searcher.candidates(&query, MOST)?;
    let named = found.wholes.named();
    let candidate = |it: RankedTable| {
        let needed = it.copies.iter().find(|it| question.tables.contains(it));
        CandidateFeatures {
            is_named: named.iter().any(|(table, _)| *table == it.table),
            table: needed.unwrap_or(&it.key.name).clone(),
            score: it.score,
            features: it.features,
        }
    };
    let missing = question.tables.iter();
    let missing = missing.filter(|it| !searcher.has_table(it));
    Ok(QuestionFeatures {
        question: query.text,
        gold: question.tables.clone(),
        missing: missing.cloned().collect(),
        candidates: ranking.tables.into_iter().map(candidate).collect(),
    })
}
