//! What is asked and what comes back.

use std::sync::Arc;
use std::time::Instant;

use limn_segment::{BlockKind, TableKey};
use serde::Serialize;

use crate::grade::{Grade, Grading};
use crate::joined::JoinedBy;
use crate::judge::Judge;
use crate::known_joins::KnownJoins;
use crate::learned::{Features, Weights};
use crate::selection::Selection;
use crate::shares::Share;

/// How tables are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// limn's own formula: weighted fields over whole tables, cells among them.
    #[default]
    Limn,
    /// PNEUMA's plain hybrid (§5.1): BM25 over blocks as one field, no cells. For comparison.
    Plain,
}

/// One question.
#[derive(Debug, Clone)]
pub struct Query {
    /// The question in plain words.
    pub text: String,
    /// How many tables are wanted; at least 1.
    pub k: usize,
    /// The share of the lexical side, 0 to 1.
    pub alpha: f32,
    /// Candidates drawn from each side per table wanted (`n` of PNEUMA §5.1). `None` is the
    /// default: 5, and in limn's own mode never fewer than 50 tables a side.
    pub candidates: Option<usize>,
    /// Only tables whose name is this path or lies below it.
    pub prefix: Option<String>,
    /// Only these tables, of those under the prefix where there is one.
    pub selection: Option<Arc<Selection>>,
    /// How many texts are given of each table that is found, at most. With 0, no text is read.
    pub evidence: usize,
    /// How tables are scored.
    pub mode: Mode,
    /// What features count beside the formula, in limn's own mode; `None`: by the index's own
    /// weights where it has any, else by [`Weights::LEARNED`].
    pub weights: Option<Weights>,
    /// How they are graded.
    pub grading: Grading,
    /// The question's vector, where it is known already.
    pub vector: Option<Vec<f32>>,
    /// Who judges the candidates; tables it rejects come last.
    pub judge: Option<Arc<Judge>>,
    /// The joins by which tables that the first one needs come right behind it; without, tables are
    /// ranked one by one.
    pub joins: Option<KnownJoins>,
    /// When nobody waits for the answer any more: the search ends then, with
    /// [`RetrievalError::TooLate`](crate::RetrievalError::TooLate).
    pub until: Option<Instant>,
}

impl Query {
    /// Texts that are given of a table.
    pub const EVIDENCE: usize = 3;

    /// A query with the defaults: k 5, α 0.5, the default candidates, no judge.
    pub fn new(text: impl Into<String>) -> Query {
        Query {
            text: text.into(),
            k: 5,
            alpha: 0.5,
            candidates: None,
            prefix: None,
            selection: None,
            evidence: Query::EVIDENCE,
            mode: Mode::default(),
            weights: None,
            grading: Grading::DEFAULT,
            vector: None,
            judge: None,
            joins: None,
            until: None,
        }
    }
}

/// What scores the tables of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoredBy {
    /// limn's formula, and features of tables by limn's own weights.
    Learned,
    /// The formula, and features by the index's own weights ([`Tuned`](crate::Tuned)).
    Tuned,
    /// The formula alone.
    Formula,
    /// [`Mode::Plain`].
    Plain,
    /// The formula, and features by other weights.
    Given,
}

/// The tables found for a question, best first.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The question as asked.
    pub question: String,
    /// The number of the snapshot that was searched.
    pub snapshot: u64,
    /// What its tables are scored by.
    pub ranking: ScoredBy,
    /// The best grade of its tables; `None` without any, and in plain mode.
    pub grade: Option<Grade>,
    /// The tables, best first.
    pub results: Vec<Hit>,
    /// What the asker should know: words that occur nowhere, nothing relevant found, a judge that
    /// failed.
    pub notes: Vec<String>,
    /// What models, and the servers that they run on, said where they failed. For operators: it may
    /// hold addresses, and values of rows.
    pub failures: Vec<String>,
    /// As [`Ranking::unknown`].
    pub unknown: Vec<String>,
    /// Its words that other tables have, and none of `results` has, as written: those of how it
    /// asks left out. None in plain mode.
    pub lacked: Vec<String>,
}

/// One table that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Hit {
    /// The table's name: its path in its lake.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// The URL of its file or folder.
    pub location: String,
    /// `α·lexical + (1−α)·semantic` with what features of the table add by their [`Weights`], 0 to
    /// 1; 1 where the question names the table; of a table with copies that of the one that fits
    /// best.
    pub score: f32,
    /// How likely it answers the question, whatever else was found; `None` in plain mode.
    pub grade: Option<Grade>,
    /// The share of the question's words that it has, by their inverse document frequencies: 0 to
    /// 1. Unknown words count half of what a word can. 0 in plain mode.
    pub covered: f32,
    /// How close it is to the question in meaning, from -1 to 1: the mean of its two closest kinds
    /// of text, the second with less weight. `None` where it has no vectors.
    pub cosine: Option<f32>,
    /// The lexical score, min-max normalised over the question's candidates: 0 to 1.
    pub lexical: f32,
    /// The semantic score, likewise.
    pub semantic: f32,
    /// The share of the words of the table's own name that the question has: 0 to 1; of a table
    /// with copies that of the one that fits best, as the next one. Both are 0 in plain mode.
    pub name_match: f32,
    /// The share of the question's words, as of `covered`, that texts about the table have.
    pub context_match: f32,
    /// What the score is the sum of; none of a table that no question ranks.
    pub shares: Vec<Share>,
    /// The judge's word; `None` where there was no judge, or it could not decide.
    pub judged: Option<bool>,
    /// What the table has of the question as a whole: `table orders`, `file orders.csv`, `column
    /// promo_code`, `code A-17`. Tables that have a name of it come first.
    pub exact: Vec<String>,
    /// The names of its copies in its lake: tables of equal content, which it stands for.
    pub copies: Vec<String>,
    /// The join with a table before it by which it comes right behind the first table, or behind
    /// the first two, though others may score more.
    pub joined: Option<JoinedBy>,
    /// What made the table match, best first.
    pub blocks: Vec<Evidence>,
}

impl Hit {
    /// Which table it is.
    #[must_use]
    pub fn key(&self) -> TableKey {
        TableKey {
            lake: self.lake.clone(),
            name: self.table.clone(),
        }
    }
}

/// A text of a table that supports its rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What the text is made of.
    pub kind: BlockKind,
    /// The text; of cells, the lines that match.
    pub text: String,
    /// The words of it that match the question, spelled as they are in the text: distinct, those
    /// that are worth most first, at most 8.
    pub words: Vec<String>,
    /// What its place among the table's texts is by: half the share of the question's words (by
    /// their worth) that it holds, half its cosine; of cells the first half alone.
    pub score: f32,
}

/// The ranking behind an [`Answer`], without texts: what measuring needs.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The tables, best first.
    pub tables: Vec<RankedTable>,
    /// As [`Answer::notes`].
    pub notes: Vec<String>,
    /// As [`Answer::failures`].
    pub failures: Vec<String>,
    /// The question's words that occur nowhere and are not searched as others, as written.
    pub unknown: Vec<String>,
}

/// One table of a [`Ranking`].
#[derive(Debug, Clone, PartialEq)]
pub struct RankedTable {
    /// Whose rank it is.
    pub key: TableKey,
    /// As [`Hit::score`].
    pub score: f32,
    /// As [`Hit::grade`].
    pub grade: Option<Grade>,
    /// As [`Hit::covered`].
    pub covered: f32,
    /// As [`Hit::cosine`].
    pub cosine: Option<f32>,
    /// As [`Hit::lexical`].
    pub lexical: f32,
    /// As [`Hit::semantic`].
    pub semantic: f32,
    /// What counts beside the formula; none in plain mode.
    pub features: Features,
    /// As [`Hit::shares`].
    pub shares: Vec<Share>,
    /// As [`Hit::judged`].
    pub judged: Option<bool>,
    /// As [`Hit::exact`].
    pub exact: Vec<String>,
    /// As [`Hit::copies`].
    pub copies: Vec<String>,
    /// As [`Hit::joined`].
    pub joined: Option<JoinedBy>,
    /// The table's number in the searcher.
    pub(crate) table: u32,
    /// Which of the known terms it or a copy has, by their places; all in plain mode, which does
    /// not count.
    pub(crate) held: u64,
    /// Whether the question names it or a copy: its score is 1.
    pub(crate) is_named: bool,
}
