//! What can be wrong with a plan.

use std::fmt;

use limn_sql::SqlError;
use thiserror::Error;

use crate::plan::{Column, VERSION};
use crate::semantic::SemanticError;

/// One thing that is wrong with a plan.
#[derive(Debug, Error)]
pub enum Fault {
    /// It is of a form that this limn does not know.
    #[error("the plan has version {0}, and this limn runs version {VERSION}")]
    Version(u32),
    /// There is nothing to run.
    #[error("the plan has no stages: give it one, such as {{\"name\": \"rows\", \"sql\": …}}")]
    Empty,
    /// It has more stages than are run.
    #[error("the plan has {found} stages, and {most} are allowed")]
    TooMany {
        /// How many it has.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A stage's name is none.
    #[error(
        "'{0}' is no name of a stage: begin with a letter, and go on with letters, digits and _, 64 at most"
    )]
    Name(String),
    /// Two stages have one name.
    #[error("several stages are called '{0}': give each a name of its own")]
    Twice(String),
    /// A stage reads one that is not there.
    #[error("stage '{stage}' reads '{name}', which is no stage{}", meant(.near))]
    UnknownStage {
        /// The stage.
        stage: String,
        /// What it reads.
        name: String,
        /// The stages that are called nearly so.
        near: Vec<String>,
    },
    /// The answer is no stage.
    #[error("the answer is '{name}', which is no stage{}", meant(.near))]
    UnknownAnswer {
        /// What is given as the answer.
        name: String,
        /// The stages that are called nearly so.
        near: Vec<String>,
    },
    /// Stages read each other in a circle.
    #[error("stages read each other in a circle: {}", .0.join(" reads "))]
    Cycle(Vec<String>),
    /// A statement cannot run.
    #[error("stage '{stage}': {cause}")]
    Sql {
        /// The stage.
        stage: String,
        /// Why not.
        cause: Box<SqlError>,
    },
    /// A semantic operator cannot run.
    #[error("stage '{stage}': {cause}")]
    Semantic {
        /// The stage.
        stage: String,
        /// Why not.
        cause: SemanticError,
    },
    /// Rows without columns.
    #[error("stage '{stage}' has no columns: select one")]
    NoColumns {
        /// The stage.
        stage: String,
    },
    /// The columns that a stage states are not those that come out.
    #[error("stage '{stage}' states the columns {}, and {} come out: change its `columns`, or leave them out", listed(.stated), listed(.found))]
    Columns {
        /// The stage.
        stage: String,
        /// The columns that it states.
        stated: Vec<Column>,
        /// Those that come out.
        found: Vec<Column>,
    },
}

/// All that was found to be wrong with a plan; at least one thing.
#[derive(Debug)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            match at {
                0 => write!(f, "{fault}")?,
                _ => write!(f, "; {fault}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Faults {
        Faults(vec![fault])
    }
}

fn meant(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

fn listed(columns: &[Column]) -> String {
    let columns = columns.iter();
    let columns = columns.map(|it| format!("{} ({})", it.name, it.data_type));
    columns.collect::<Vec<_>>().join(", ")
}
