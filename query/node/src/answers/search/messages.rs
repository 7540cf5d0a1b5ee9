//! What a search is asked, and what it answers.

use limn_retrieval::{Evidence, ScoredBy, Share};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answers::TableLine;
use crate::answers::preview::Matching;
use crate::answers::sets::{SearchMode, SetPlan};
use crate::answers::time_or_date::TimeOrDate;
use crate::table_list::Column;

/// A question.
#[derive(Clone, Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchRequest {
    /// The question in plain words.
    pub q: String,
    /// What is wanted: `tables` that each answer it, ranked one by one, or the `set` of tables that
    /// do together. If nothing is said, tables, and behind the first one those that join it and
    /// have words of the question that it lacks.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub mode: Option<SearchMode>,
    /// How many tables are wanted: 1 to 1000, 5 if nothing is said. Of a set 1 to 20, as many as
    /// are worth it if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    #[schema(minimum = 1, maximum = 1000)]
    pub k: Option<usize>,
    /// The share of the words' side in the score, 0 to 1.
    #[serde(default)]
    #[param(minimum = 0.0, maximum = 1.0)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub alpha: Option<f32>,
    /// Candidates that each side gives for each table wanted: 1 to 1000.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    #[schema(minimum = 1, maximum = 1000)]
    pub candidates: Option<usize>,
    /// How many texts are given of each table: 0 to 10, 3 if nothing is said. With 0 there is the
    /// ranking alone, sooner.
    #[serde(default)]
    #[param(minimum = 0, maximum = 10)]
    #[schema(minimum = 0, maximum = 10)]
    pub blocks: Option<usize>,
    /// How many rows are shown of each table, with the columns that match: 0 to 10, 0 if nothing is
    /// said.
    #[serde(default)]
    #[param(minimum = 0, maximum = 10)]
    #[schema(minimum = 0, maximum = 10)]
    pub preview_rows: Option<usize>,
    /// Whether a language model judges the first tables, where the node has one. Takes seconds.
    #[serde(default)]
    pub judge: Option<bool>,
    /// Only tables at this path or below it.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Only tables of this format: `arrow`, `avro`, `csv`, `dbf`, `delta`, `hudi`, `iceberg`,
    /// `jsonlines`, `orc`, `parquet`, `sheet`, `sqlite` or `text`.
    #[serde(default)]
    pub format: Option<String>,
    /// Only tables with a column of this type: `binary`, `boolean`, `date`, `float`, `integer`,
    /// `text`, `timestamp`, `unknown`, or another that the lake has, such as `list`.
    #[serde(default)]
    pub column_type: Option<String>,
    /// Only tables with at least so many rows.
    #[serde(default)]
    pub min_rows: Option<u64>,
    /// Only tables with at most so many rows.
    #[serde(default)]
    pub max_rows: Option<u64>,
    /// Only tables that were changed at this time or later: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub modified_after: Option<TimeOrDate>,
    /// Only tables that were changed before this time: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub modified_before: Option<TimeOrDate>,
}

/// The tables found, best first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchAnswer {
    /// The question as asked.
    pub question: String,
    /// The snapshot that was searched.
    pub snapshot: u64,
    /// What its tables are scored by.
    pub ranking: Ranking,
    /// The best grade of its tables; null without any.
    pub grade: Option<Grade>,
    /// The tables, best first; of a set in the order of its plan.
    pub results: Vec<SearchResult>,
    /// How the tables of a set join; null where no set was asked for.
    pub plan: Option<SetPlan>,
    /// What took part.
    pub modes: Modes,
    /// The number of tables among which was searched.
    pub tables_searched: usize,
    /// The number of tables that there are. More than were searched where some could never be read:
    /// nothing but their names is known.
    pub tables: usize,
    /// What there is to know besides: words that occur nowhere, why nothing was found.
    pub notes: Vec<String>,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
}

/// What scores tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// limn's formula, and features of tables by limn's own weights.
    Learned,
    /// The formula, and features by the index's own weights, which `limn tune` has fitted.
    Tuned,
    /// The formula alone, as where `alpha` is 0 or 1.
    Formula,
}

impl Ranking {
    pub(super) fn of(scored_by: ScoredBy) -> Ranking {
        match scored_by {
            ScoredBy::Learned => Ranking::Learned,
            // The only other weights that a node has.
            ScoredBy::Tuned | ScoredBy::Given => Ranking::Tuned,
            ScoredBy::Formula | ScoredBy::Plain => Ranking::Formula,
        }
    }
}

/// The ways in which a question was answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Modes {
    /// By its words.
    pub lexical: bool,
    /// By its meaning.
    pub semantic: bool,
    /// By a language model's verdicts.
    pub judge: bool,
}

/// A table that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResult {
    /// Which table.
    #[serde(flatten)]
    pub line: TableLine,
    /// Its first columns.
    pub columns: Vec<ColumnLine>,
    /// `α·lexical + (1−α)·semantic`, with what its name and contexts add; 1 where the question
    /// names the table.
    pub score: f32,
    /// How likely it answers the question, whatever else was found: grades of different questions
    /// compare, scores do not.
    pub grade: Option<Grade>,
    /// The share of the question's words that it has, by how rare they are: 0 to 1.
    pub covered: f32,
    /// How close it is to the question in meaning, from -1 to 1; null where it has no vectors, and
    /// for a key that may not see values.
    pub cosine: Option<f32>,
    /// The words' side: 0 to 1 among this question's candidates.
    pub lexical: f32,
    /// The meaning's side, likewise.
    pub semantic: f32,
    /// The share of the words of the table's own name that the question has: 0 to 1; of a table
    /// with copies that of the one that fits best.
    pub name_match: f32,
    /// The share of the question's words that texts about the table have, likewise.
    pub context_match: f32,
    /// What the score is the sum of; nothing of a table that a set needs and the question does not
    /// find.
    pub shares: Vec<ScoreShare>,
    /// The judge's word; null where there was none.
    pub judged: Option<bool>,
    /// What the table has of the question as a whole: `table orders`, `file orders.csv`, `column
    /// promo_code`, `code A-17`. Tables that have a name of it come first.
    pub exact: Vec<String>,
    /// The names of its copies in its lake: tables of equal content, which it stands for.
    pub copies: Vec<String>,
    /// The join by which it comes right behind the first table, though others may score more; null
    /// of all others.
    pub joined: Option<JoinedBy>,
    /// The texts that made it match, best first.
    pub blocks: Vec<Block>,
    /// Columns and rows that match, where rows were asked for.
    pub preview: Option<Matching>,
    /// The family that it belongs to, if it does: tables of one folder with the same columns.
    pub family: Option<String>,
}

/// One term of a score: the contributions of all of them sum to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScoreShare {
    /// What it is of: `formula_words` and `formula_meaning` are the formula's two sides; `meaning`,
    /// `covered`, `name` and `contexts` are features; `named` is what is missing to 1 where the
    /// question names the table.
    pub name: String,
    /// The side's or the feature's value: 0 to 1.
    pub value: f32,
    /// What the value counts.
    pub weight: f32,
    /// The product of both.
    pub contribution: f32,
}

impl ScoreShare {
    pub(super) fn of(share: Share) -> Self {
        Self {
            name: share.name.to_owned(),
            value: share.value,
            weight: share.weight,
            contribution: share.contribution,
        }
    }
}

/// A join that brings a table behind another.
#[derive(Debug, Serialize, ToSchema)]
pub struct JoinedBy {
    /// The table before it.
    pub partner: String,
    /// Its own columns by which they join.
    pub columns: Vec<String>,
    /// The partner's, in the same order.
    pub partner_columns: Vec<String>,
    /// What its place counts more than its score: 0.1, and the share of the question's words that
    /// it has and those before it lack.
    pub bonus: f32,
}

/// How likely a table answers its question.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It has what was asked for, in words or in meaning.
    Strong,
    /// It has a part of what was asked for.
    Weak,
    /// It is among the nearest, no more.
    Unlikely,
}

impl Grade {
    pub(in crate::answers) fn of(grade: limn_retrieval::Grade) -> Self {
        match grade {
            limn_retrieval::Grade::Strong => Self::Strong,
            limn_retrieval::Grade::Weak => Self::Weak,
            limn_retrieval::Grade::Unlikely => Self::Unlikely,
        }
    }
}

/// A column in a search result.
#[derive(Debug, Serialize, ToSchema)]
pub struct ColumnLine {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// A language model's description of it.
    pub narration: Option<String>,
}

/// A text that made a table match.
#[derive(Debug, Serialize, ToSchema)]
pub struct Block {
    /// What it is made of: `schema`, `rows`, `context` or `cells`.
    pub kind: String,
    /// The text.
    pub text: String,
    /// The question's words as they stand in it.
    pub words: Vec<String>,
    /// How well it matches, for the order of the texts.
    pub score: f32,
}

impl Block {
    pub(super) fn of(evidence: Evidence) -> Block {
        Block {
            kind: evidence.kind.to_string(),
            text: evidence.text,
            words: evidence.words,
            score: evidence.score,
        }
    }
}

impl ColumnLine {
    pub(in crate::answers) fn of(column: Column<'_>) -> ColumnLine {
        ColumnLine {
            name: column.name.to_owned(),
            data_type: column.data_type.to_owned(),
            narration: column.narration.map(str::to_owned),
        }
    }
}
