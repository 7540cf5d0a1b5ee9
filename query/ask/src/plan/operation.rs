//! What a stage does, and how that is written in JSON: `{"name": …, "sem_filter": {…}}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

use super::{Column, Instruction, Stage};

/// What a stage does.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Rows by SQL, over tables and other stages.
    Sql(SqlStage),
    /// The rows of which a sentence is true.
    SemFilter(SemFilter),
    /// A column more, written by a model.
    SemMap(SemMap),
    /// Several columns more, drawn from what the rows say.
    SemExtract(SemExtract),
    /// The rows that come first by a criterion in words.
    SemTopK(SemTopK),
    /// One text from many rows, which cites them.
    SemAgg(SemAgg),
    /// Pairs of rows of which a sentence is true.
    SemJoin(SemJoin),
    /// A value or a list of values that no row holds.
    SemFact(Fact),
}

/// Rows by SQL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlStage {
    /// What the statement's tables are, by the names that it gives them.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, WrittenSource>)]
    pub inputs: BTreeMap<String, Source>,
    /// One SELECT, as `limn sql` takes it, over the inputs and no other table.
    pub statement: String,
}

/// What an input of an SQL stage is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenSource", into = "WrittenSource")]
pub enum Source {
    /// A table of the index: its whole name, and its lake's URL where several have one of the name.
    Table {
        /// Its name.
        name: String,
        /// The URL of its lake.
        lake: Option<String>,
    },
    /// Another stage.
    Stage(String),
}

/// An input of an SQL stage as it is written: `{"table": …}` or `{"stage": …}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = PlanSource)]
pub struct WrittenSource {
    /// A table of the index, by its whole name.
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    /// The URL of its lake, where several lakes have a table of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    lake: Option<String>,
    /// Another stage, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
}

/// An input that is no table and no stage, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an input is {{\"table\": NAME}}, perhaps with its \"lake\", or {{\"stage\": NAME}}")]
pub struct NotOneSource;

impl TryFrom<WrittenSource> for Source {
    type Error = NotOneSource;

    fn try_from(written: WrittenSource) -> Result<Source, NotOneSource> {
        match (written.table, written.lake, written.stage) {
            (Some(name), lake, None) => Ok(Source::Table { name, lake }),
            (None, None, Some(stage)) => Ok(Source::Stage(stage)),
            _ => Err(NotOneSource),
        }
    }
}

impl From<Source> for WrittenSource {
    fn from(source: Source) -> WrittenSource {
        let nothing = WrittenSource::default();
        match source {
            Source::Table { name, lake } => WrittenSource {
                table: Some(name),
                lake,
                ..nothing
            },
            Source::Stage(stage) => WrittenSource {
                stage: Some(stage),
                ..nothing
            },
        }
    }
}

/// The rows of which a sentence is true, as a model judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemFilter {
    /// The stage whose rows are judged.
    pub input: String,
    /// The sentence, with columns in braces: `{city} is in Asia`.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// Rows of which the model is less sure than this are not kept: 0 to 1, 0.5 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Lets a cheap score decide the clear rows, and the model the others, so that these targets
    /// are met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cascade: Option<Cascade>,
}

/// How good a filter is to be whose clear rows a cheap score decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cascade {
    /// The share of the rows that the model would keep that are kept, at least: 0 to 1.
    pub recall: f64,
    /// The share of the kept rows that the model would keep, at least: 0 to 1.
    pub precision: f64,
    /// How sure both are: 0 to 1, 0.8 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// A column more, written by a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemMap {
    /// The stage whose rows get it.
    pub input: String,
    /// What is wanted, with columns in braces: `the country in which {city} lies`.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// The new column.
    pub output: ColumnSpec,
}

/// Several columns more, drawn from what the rows say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemExtract {
    /// The stage whose rows get them.
    pub input: String,
    /// Where they are to be found, with columns in braces: `{review}`.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// The new columns.
    pub outputs: Vec<ColumnSpec>,
}

/// The rows that come first by a criterion in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemTopK {
    /// The stage whose rows are compared.
    pub input: String,
    /// What is compared, with columns in braces: `which is more positive: {review}`.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// How many rows are kept, of each group.
    pub k: u64,
    /// Columns by whose values rows are grouped; none for all rows as one group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// A new column with each row's rank, 1 for the first; none unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<String>,
}

/// One text from many rows, which cites them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemAgg {
    /// The stage whose rows are read.
    pub input: String,
    /// What is to be written of them, with the columns that are read in braces.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// Columns by whose values rows are grouped; none for all rows as one group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// The column of the text.
    #[serde(default = "summary")]
    pub output: String,
}

/// Pairs of rows of which a sentence is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SemJoin {
    /// The stage of the left rows.
    pub left: String,
    /// The stage of the right rows.
    pub right: String,
    /// The sentence, with columns of both in braces: `{left.city} is in {right.country}`.
    #[schema(value_type = String)]
    pub instruction: Instruction,
    /// How many right rows are judged for each left row, the likest first: 20 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u64>,
}

/// A value or a list of values that no row holds: what a model knows of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// What is asked: `the counties of the Bay Area`. It has no columns.
    pub instruction: String,
    /// The column of the values.
    pub output: ColumnSpec,
    /// Whether there are several values, a row each.
    #[serde(default)]
    pub list: bool,
    /// The values, where somebody has written them: no model is asked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// A column that a model writes: what it may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", default)]
    pub value_type: ValueType,
    /// The texts that it may hold; any, if none are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<String>,
    /// A regular expression that its texts match from end to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// The type of a column that a model writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PlanValueType)]
pub enum ValueType {
    /// Any text.
    #[default]
    Text,
    /// A whole number of 64 bits.
    Integer,
    /// A number.
    Float,
    /// Yes or no.
    Boolean,
    /// A day: `2024-05-31`.
    Date,
}

impl Operation {
    /// Its name in a plan.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Operation::Sql(_) => "sql",
            Operation::SemFilter(_) => "sem_filter",
            Operation::SemMap(_) => "sem_map",
            Operation::SemExtract(_) => "sem_extract",
            Operation::SemTopK(_) => "sem_topk",
            Operation::SemAgg(_) => "sem_agg",
            Operation::SemJoin(_) => "sem_join",
            Operation::SemFact(_) => "sem_fact",
        }
    }

    /// Whether a model is asked for it.
    #[must_use]
    pub fn is_semantic(&self) -> bool {
        match self {
            Operation::Sql(_) => false,
            Operation::SemFact(fact) => fact.values.is_none(),
            _ => true,
        }
    }

    /// Its sentence, where it is one about columns.
    pub fn instruction_mut(&mut self) -> Option<&mut Instruction> {
        match self {
            Operation::Sql(_) | Operation::SemFact(_) => None,
            Operation::SemFilter(it) => Some(&mut it.instruction),
            Operation::SemMap(it) => Some(&mut it.instruction),
            Operation::SemExtract(it) => Some(&mut it.instruction),
            Operation::SemTopK(it) => Some(&mut it.instruction),
            Operation::SemAgg(it) => Some(&mut it.instruction),
            Operation::SemJoin(it) => Some(&mut it.instruction),
        }
    }

    /// Whether what it asks depends on what was answered before, so that its cost is a guess.
    #[must_use]
    pub fn asks_by_answers(&self) -> bool {
        match self {
            Operation::SemFilter(filter) => filter.cascade.is_some(),
            Operation::SemTopK(_) => true,
            _ => false,
        }
    }

    /// The stages that it reads, in order, each once.
    #[must_use]
    pub fn stages(&self) -> Vec<&str> {
        let all: Vec<&str> = match self {
            Operation::Sql(sql) => {
                let stages = sql.inputs.values().filter_map(|source| match source {
                    Source::Stage(name) => Some(name.as_str()),
                    Source::Table { .. } => None,
                });
                stages.collect()
            }
            Operation::SemFilter(it) => vec![&it.input],
            Operation::SemMap(it) => vec![&it.input],
            Operation::SemExtract(it) => vec![&it.input],
            Operation::SemTopK(it) => vec![&it.input],
            Operation::SemAgg(it) => vec![&it.input],
            Operation::SemJoin(it) => vec![&it.left, &it.right],
            Operation::SemFact(_) => Vec::new(),
        };
        let mut each: Vec<&str> = Vec::with_capacity(all.len());
        for name in all {
            if !each.contains(&name) {
                each.push(name);
            }
        }
        each
    }
}

/// A stage as it is written: a name and one operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = PlanStage)]
pub struct Written {
    /// What other stages call it.
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<SqlStage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_filter: Option<SemFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_map: Option<SemMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_extract: Option<SemExtract>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_topk: Option<SemTopK>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_agg: Option<SemAgg>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_join: Option<SemJoin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sem_fact: Option<Fact>,
    /// The columns of its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<Column>>,
}

/// A stage that has no operation, or several.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "stage '{name}' has {found} operations: give it one of sql, sem_filter, sem_map, sem_extract, sem_topk, sem_agg, sem_join, sem_fact"
)]
pub struct NotOneOperation {
    name: String,
    found: usize,
}

impl TryFrom<Written> for Stage {
    type Error = NotOneOperation;

    fn try_from(written: Written) -> Result<Stage, NotOneOperation> {
        let given = [
            written.sql.map(Operation::Sql),
            written.sem_filter.map(Operation::SemFilter),
            written.sem_map.map(Operation::SemMap),
            written.sem_extract.map(Operation::SemExtract),
            written.sem_topk.map(Operation::SemTopK),
            written.sem_agg.map(Operation::SemAgg),
            written.sem_join.map(Operation::SemJoin),
            written.sem_fact.map(Operation::SemFact),
        ];
        let mut given: Vec<Operation> = given.into_iter().flatten().collect();
        match (given.len(), given.pop()) {
            (1, Some(operation)) => Ok(Stage {
                name: written.name,
                operation,
                columns: written.columns,
            }),
            (found, _) => Err(NotOneOperation {
                name: written.name,
                found,
            }),
        }
    }
}

impl From<Stage> for Written {
    fn from(stage: Stage) -> Written {
        let mut written = Written {
            name: stage.name,
            columns: stage.columns,
            ..Written::default()
        };
        match stage.operation {
            Operation::Sql(it) => written.sql = Some(it),
            Operation::SemFilter(it) => written.sem_filter = Some(it),
            Operation::SemMap(it) => written.sem_map = Some(it),
            Operation::SemExtract(it) => written.sem_extract = Some(it),
            Operation::SemTopK(it) => written.sem_topk = Some(it),
            Operation::SemAgg(it) => written.sem_agg = Some(it),
            Operation::SemJoin(it) => written.sem_join = Some(it),
            Operation::SemFact(it) => written.sem_fact = Some(it),
        }
        written
    }
}

fn summary() -> String {
    "summary".to_owned()
}
