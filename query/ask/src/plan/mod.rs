//! The plan: what is done to answer a question, as a document that people and models edit.
//!
//! A plan is a list of stages, each with a name and one operation, whose inputs are tables of the
//! lake or earlier stages: a directed acyclic graph. Tables enter through SQL alone; semantic
//! operators see the rows of stages. It is the only thing that runs: no model writes code.
//!
//! The JSON form is documented in `docs/plan.md`; [`VERSION`] numbers it.

mod operation;
mod text;

pub use operation::{
    Cascade, ColumnSpec, Fact, Operation, SemAgg, SemExtract, SemFilter, SemJoin, SemMap, SemTopK,
    Source, SqlStage, ValueType, WrittenSource,
};
use serde::{Deserialize, Serialize};
pub use text::{Instruction, InstructionError, Piece};
use utoipa::ToSchema;

/// The form of plans that this code writes and reads.
pub const VERSION: u32 = 1;

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The form: 1.
    pub version: u32,
    /// What it answers, in plain words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// What is done, in any order: each stage after its inputs.
    #[schema(value_type = Vec<operation::Written>)]
    pub stages: Vec<Stage>,
    /// The stage whose rows are the answer.
    pub answer: String,
}

/// One step of a plan: a name, one operation, and the columns that come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "operation::Written", into = "operation::Written")]
pub struct Stage {
    /// What other stages call it: a letter, then letters, digits and `_`, at most 64.
    pub name: String,
    /// What it does.
    pub operation: Operation,
    /// The columns of its rows, where they are stated: a check compares them with those that come
    /// out.
    pub columns: Option<Vec<Column>>,
}

/// A column of a stage's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PlanColumn)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type in a word, as `limn sql` says it: integer, float, decimal, boolean, date, time,
    /// timestamp, interval, text, binary, list, struct, map or null.
    #[serde(rename = "type")]
    pub data_type: String,
}

impl Plan {
    /// Of stages of which the last has the answer.
    #[must_use]
    pub fn of(question: String, stages: Vec<Stage>) -> Plan {
        Plan {
            version: VERSION,
            question,
            answer: stages.last().map(|it| it.name.clone()).unwrap_or_default(),
            stages,
        }
    }

    /// The stage of a name.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}
