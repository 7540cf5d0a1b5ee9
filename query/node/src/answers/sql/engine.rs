//! An engine over the tables that a caller may see, for answers that run several statements.

use std::sync::Arc;
use std::time::Instant;

use limn_ask::AskError;
use limn_ask::check::Fault;
use limn_ask::compile::NotCompiled;
use limn_ask::run::RunError;
use limn_ask::semantic::SemanticError;
use limn_sql::{Catalogue, Engine, Limits};

use super::tables::Seen;
use super::threads::Home;
use super::{admitted, problems, within};
use crate::access::Turn;
use crate::answers::Grant;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// What an answer of several statements runs with.
pub(in crate::answers) struct Several {
    /// The engine, over the caller's tables.
    pub(in crate::answers) engine: Engine,
    /// Where statements run.
    pub(in crate::answers) home: Home,
    /// What each of them may take.
    pub(in crate::answers) limits: Limits,
    /// The caller's turn: it lasts as long as the answer.
    pub(in crate::answers) turn: Turn,
}

impl Several {
    /// For this caller, until then; of one lake, where it is named.
    ///
    /// # Errors
    /// A caller without the rights; as many statements are running as may.
    pub(in crate::answers) async fn of(
        node: &Arc<Node>,
        grant: &Grant,
        lake: Option<&str>,
        until: Instant,
    ) -> Result<Several, Problem> {
        let sql = admitted(node, grant)?;
        let limits = Limits {
            max_rows: None,
            ..sql.options.limits(None, None)
        };
        let turn = sql.ask_turn(&grant.caller).await?;
        let lakes = sql.lakes();
        let mut catalogue = Catalogue::over(Seen::by(grant, node), move |url| lakes.open(url));
        if let Some(lake) = lake {
            let of_lake = catalogue.of_lake(lake);
            catalogue = of_lake.map_err(|error| problems::problem(&error, &limits))?;
        }
        let limits = Limits {
            timeout: within(&limits, until)?.timeout.min(limits.timeout),
            ..limits
        };
        Ok(Several {
            engine: Engine::new(catalogue, limits.clone()),
            home: sql.home(),
            limits,
            turn,
        })
    }
}

/// The answer to a semantic stage that failed. What a model or a store says goes to the log.
fn of_semantic(cause: &SemanticError, stage: &str) -> Problem {
    match cause {
        SemanticError::TooMany { .. }
        | SemanticError::InstructionTooLong { .. }
        | SemanticError::TokensSpent(_)
        | SemanticError::NoEmbedder(_) => Problem::bad(
            cause.to_string(),
            "let SQL leave out more before a model is asked",
        ),
        SemanticError::TimeSpent(_) => Problem::new(
            Code::Timeout,
            "the time of an answer is over",
            "ask again: what the model has answered is not asked twice",
        ),
        _ => {
            tracing::error!(%cause, stage, "a semantic stage failed");
            Problem::unavailable(
                "the language model did not answer",
                "ask again soon; if it stays so, the node's log says why",
            )
        }
    }
}

/// The answer to a statement that is no plan.
pub(in crate::answers) fn of_statement(error: NotCompiled, limits: &Limits) -> Problem {
    match error {
        NotCompiled::Sql(cause) => problems::problem(&cause, limits),
        error => Problem::bad(
            error.to_string(),
            "write the statement so, and send it again",
        ),
    }
}

/// The answer to a plan that is wrong or fails, without what is the operator's business.
pub(in crate::answers) fn of_plan(error: &AskError, limits: &Limits) -> Problem {
    let in_stage = |stage: &str, problem: Problem| Problem {
        message: format!("stage '{stage}': {}", problem.message),
        ..problem
    };
    match error {
        AskError::Run(RunError::Sql { stage, cause }) => {
            in_stage(stage, problems::problem(cause, limits))
        }
        AskError::Plan(faults) => match faults.0.as_slice() {
            [Fault::Sql { stage, cause }] => in_stage(stage, problems::problem(cause, limits)),
            _ => Problem::bad(faults.to_string(), "mend the plan and send it again"),
        },
        AskError::Run(RunError::NoModel { stage, operation }) => Problem::bad(
            format!("stage '{stage}' ({operation}) needs a language model, and this node has none"),
            "ask its operator for one (limn serve --ask llm)",
        ),
        AskError::Run(RunError::Budget { needed, budget }) => Problem::bad(
            format!("the plan needs about {needed} tokens, and {budget} may be spent"),
            "filter rows in SQL before a model sees them, or allow more (budget_tokens)",
        ),
        AskError::Run(error @ (RunError::TooMuch { .. } | RunError::Endless { .. })) => {
            Problem::bad(error.to_string(), "mend the plan and send it again")
        }
        AskError::Run(RunError::Semantic { stage, cause }) => {
            in_stage(stage, of_semantic(cause, stage))
        }
        AskError::Rows(error) => {
            tracing::error!(%error, "an answer cannot be written");
            Problem::internal()
        }
    }
}
