//! Why a statement with semantic functions is no plan.

use limn_sql::SqlError;
use thiserror::Error;

use super::{Function, Place};
use crate::check::MOST_STAGES;
use crate::plan::InstructionError;

/// Why a statement with semantic functions is no plan.
#[derive(Debug, Error)]
pub enum NotCompiled {
    /// It is no query that reads.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A function stands where its rows cannot be distinguished from the rest of the statement.
    #[error("{function} cannot stand {place}: it stands {}", .function.stands())]
    Place {
        /// The function.
        function: Function,
        /// Where it stands.
        place: Place,
    },
    /// No semantic function is called so.
    #[error(
        "there is no function '{0}'; the semantic functions are sem_filter, sem_map, sem_topk, sem_agg and sem_fact"
    )]
    UnknownFunction(String),
    /// What stands in a function's brackets is not what it takes.
    #[error("{function} is written {}", .function.usage())]
    Arguments {
        /// The function.
        function: Function,
    },
    /// The braces of a sentence do not match.
    #[error("{function}: {cause}")]
    Instruction {
        /// The function.
        function: Function,
        /// What is wrong.
        cause: InstructionError,
    },
    /// A sentence about rows has no column.
    #[error(
        "the sentence of {function} names no column: write those that the model is to read in braces"
    )]
    NoColumns {
        /// The function.
        function: Function,
    },
    /// A query is within what runs after a semantic function.
    #[error(
        "a query {place} cannot stand beside {function}: put it into a condition of its own in WHERE, or into a query in FROM"
    )]
    QueryBeside {
        /// The function.
        function: Function,
        /// Where the query stands.
        place: Place,
    },
    /// It takes more stages than a plan may have.
    #[error(
        "the statement takes more than {MOST_STAGES} stages: each sem_filter is one, and each sem_map and sem_fact that differs from others"
    )]
    TooManyStages,
    /// `*` stands where the columns have to be known.
    #[error("* cannot stand beside {0} here: name the columns")]
    Wildcard(Function),
    /// A limit is no number.
    #[error("beside {0}, LIMIT and OFFSET are numbers")]
    Limit(Function),
    /// A ranking has no limit.
    #[error("{0} without LIMIT would ask a model to rank all rows: add LIMIT n")]
    NoLimit(Function),
    /// A ranking goes from the first to the last.
    #[error("sem_topk gives the best rows first, and has no ASC: write what comes first")]
    Ascending,
    /// `sem_agg` without groups has one row.
    #[error(
        "sem_agg writes one text of all rows, which {0} does not change: limit the rows in a query in FROM, or group them"
    )]
    OneText(Place),
    /// What stands beside `sem_agg` is no column of GROUP BY.
    #[error("beside sem_agg stand columns of GROUP BY and nothing else; '{0}' is none")]
    BesideAgg(String),
    /// Distinct rows are ranked by a column that they do not have.
    #[error("SELECT DISTINCT and sem_topk by '{0}': select that column, too")]
    DistinctWithout(String),
}
