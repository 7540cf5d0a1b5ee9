//! What weights of features are learned from: the candidates of questions with their features, and
//! with what else a search knows of them, of which further features may be tried.

use std::collections::{BTreeMap, HashSet};

use limn_segment::{BlockKind, Field};
use serde::Serialize;

use super::EvalQuestion;
use super::explain::looked_up_as;
use crate::answer::{Query, RankedTable};
use crate::corpus::Corpus;
use crate::error::RetrievalError;
use crate::learned::{Features, Weights, own_name};
use crate::lexical::Found;
use crate::question::Question;
use crate::scratch::TERM_BITS;
use crate::searcher::{Candidates, Searcher};
use crate::semantic::kind_cosines;
use crate::shared::{Shared, shared};

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
    /// The table.
    pub table: String,
    /// Which of the needed tables it is: itself, or those it stands for that are equal.
    pub needed: Vec<String>,
    /// What the formula says of it, without features; 1 where the question names it.
    pub score: f32,
    /// Whether the question names it: it comes before those that it does not name.
    pub is_named: bool,
    /// What counts beside the formula.
    #[serde(flatten)]
    pub features: Features,
    /// What else is known of it, and counts nothing of its own.
    #[serde(flatten)]
    pub traits: Traits,
}

/// What a search knows of a candidate beside the features that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traits {
    /// The words' side: 0 to 1 among the candidates.
    pub lexical: f32,
    /// Its best cosine by kind of text: `schema`, `rows`, `context`; of those that it has.
    pub cosines: BTreeMap<&'static str, f32>,
    /// The share of the question's words, by what they are worth, that each field has: `names`,
    /// `rows`, `contexts`, `cells`. Values that are kept as hashes are in none, nor are texts that
    /// many tables have.
    pub coverage: BTreeMap<&'static str, f32>,
    /// How much of the question it has as a whole: names and values ([`Hit::exact`](crate::Hit)).
    pub wholes: usize,
    /// The share of the letter triples of its own name that the question has.
    pub name_grams: f32,
    /// Its texts, of all kinds: how large it is.
    pub texts: usize,
    /// The copies that it stands for.
    pub copies: usize,
}

/// The candidates of a question with their features, of tables ranked one by one; `names` are those
/// of the searcher's [tables](Searcher::names).
///
/// # Errors
/// As [`Searcher::search`].
pub fn features(
    searcher: &Searcher,
    names: &HashSet<&str>,
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
    let Candidates {
        ranking,
        found,
        vector,
        question: asked,
        ..
    } = searcher.candidates(&query, MOST)?;
    let corpus = searcher.corpus();
    let shared = shared(corpus)?;
    let mut by_field = held_by_field((corpus, shared), &ranking.tables, (&found, &asked))?;
    let grams = grams(&query.text);
    let mut candidate = |it: RankedTable| {
        let table = &corpus.tables[it.table as usize];
        let held = by_field.remove(&it.table).unwrap_or_default();
        let kinds = BlockKind::ALL
            .iter()
            .zip(kind_cosines((corpus, shared), &vector, it.table)?);
        let own = self::grams(own_name(&it.key.name));
        let traits = Traits {
            lexical: it.lexical,
            cosines: kinds
                .filter_map(|(kind, cosine)| Some((kind.name(), cosine?)))
                .collect(),
            coverage: Field::ALL
                .iter()
                .map(|field| (field.name(), found.share_of(held[field.index()])))
                .collect(),
            wholes: it.exact.len(),
            name_grams: own.intersection(&grams).count() as f32 / own.len().max(1) as f32,
            texts: corpus.blocks_of(table).count(),
            copies: it.copies.len(),
        };
        let own_and_copies = std::iter::once(&it.key.name).chain(&it.copies);
        let needed = own_and_copies.filter(|it| question.tables.contains(it));
        Ok(CandidateFeatures {
            is_named: it.is_named,
            needed: needed.cloned().collect(),
            table: it.key.name,
            score: it.score,
            features: it.features,
            traits,
        })
    };
    let candidates = ranking.tables.into_iter().map(&mut candidate);
    let candidates = candidates.collect::<Result<_, RetrievalError>>()?;
    let missing = question.tables.iter();
    let missing = missing.filter(|it| !names.contains(it.as_str()));
    Ok(QuestionFeatures {
        question: query.text,
        gold: question.tables.clone(),
        missing: missing.cloned().collect(),
        candidates,
    })
}

/// The terms that tables have in each field, as bits by their places among those that are known: by
/// the tables' numbers. Reads the postings of each term once.
fn held_by_field(
    (corpus, shared): (&Corpus, Option<&Shared>),
    tables: &[RankedTable],
    (found, question): (&Found, &Question),
) -> Result<BTreeMap<u32, [u64; Field::ALL.len()]>, RetrievalError> {
    let none = [0; Field::ALL.len()];
    let mut held: BTreeMap<u32, _> = tables.iter().map(|it| (it.table, none)).collect();
    let known = found.known.iter().take(TERM_BITS);
    let looked_up = known.map(|(term, _)| looked_up_as(corpus, question, term));
    let looked_up: Vec<Vec<String>> = looked_up.collect::<Result<_, _>>()?;
    for (number, segment) in corpus.segments.iter().enumerate() {
        let is_own = |block: &&u32| shared.is_none_or(|it| !it.has(number, **block));
        let terms = looked_up.iter().enumerate();
        for (at, term) in terms.flat_map(|(at, terms)| terms.iter().map(move |it| (at, it))) {
            for field in Field::ALL {
                let mut visit = |blocks: &[u32], _: &[u32]| {
                    for block in blocks.iter().filter(is_own) {
                        if let Some(held) = held.get_mut(&segment.table_of[*block as usize]) {
                            held[field.index()] |= 1 << at;
                        }
                    }
                };
                segment.reader.posting_runs(field, term, &mut visit)?;
            }
        }
    }
    Ok(held)
}

/// The runs of three letters and digits of a text, in lower case and without what is between words.
fn grams(text: &str) -> HashSet<[char; 3]> {
    let letters = text.chars().filter(|it| it.is_alphanumeric());
    let letters: Vec<char> = letters.flat_map(char::to_lowercase).collect();
    letters.windows(3).map(|it| [it[0], it[1], it[2]]).collect()
}
