//! From a plan to its answer: checked, costed, run.

use limn_sql::{Engine, SqlError};
use thiserror::Error;

use crate::answer::{self, AskAnswer};
use crate::check::{Faults, check};
use crate::plan::Plan;
use crate::run::{CostEstimate, Event, RunError, Runner};
use crate::semantic::Asker;

/// What a plan is run with.
pub struct Asking<'a> {
    /// The tables, and the limits of each statement.
    pub engine: &'a Engine,
    /// Who answers for semantic stages, if there is a model.
    pub asker: Option<&'a Asker>,
    /// Tokens of prompts and answers that running it may take.
    pub budget_tokens: Option<u64>,
    /// What hears how it goes.
    pub on: &'a (dyn Fn(&Event<'_>) + Send + Sync),
}

/// Why a plan has no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] Faults),
    /// It did not run to its end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its rows cannot be written.
    #[error("the rows of the answer cannot be written: {0}; please report it")]
    Rows(#[from] arrow::error::ArrowError),
}

impl AskError {
    /// The statement's own error, where one stopped the plan.
    #[must_use]
    pub fn sql(&self) -> Option<&SqlError> {
        match self {
            AskError::Run(RunError::Sql { cause, .. }) => Some(cause),
            _ => None,
        }
    }
}

impl Asking<'_> {
    /// Checks a plan, and says what it costs: its SQL that no model precedes is run for that, where
    /// a model is needed.
    ///
    /// # Errors
    /// The plan is wrong, or its SQL fails.
    pub async fn estimate(&self, plan: Plan) -> Result<AskAnswer, AskError> {
        let checked = check(self.engine, plan).await?;
        let needs_model = checked.needs_model();
        let mut runner = Runner::new(self.engine, checked, self.on);
        let estimate = match self.asker {
            Some(asker) if needs_model => {
                runner.relational().await?;
                runner.estimate(asker).await?
            }
            _ => CostEstimate::default(),
        };
        let mut answer = answer::of_run(&runner, None)?;
        answer.cost.estimate = estimate;
        Ok(answer)
    }

    /// Checks a plan, says what it will cost, and runs it.
    ///
    /// # Errors
    /// The plan is wrong, needs more than the budget or a model that is not there, or fails.
    pub async fn answer(&self, plan: Plan) -> Result<AskAnswer, AskError> {
        let checked = check(self.engine, plan).await?;
        let mut runner = Runner::new(self.engine, checked, self.on);
        runner.needs(self.asker)?;
        runner.relational().await?;
        let estimate = match self.asker {
            Some(asker) if runner.checked().needs_model() => runner.estimate(asker).await?,
            _ => CostEstimate::default(),
        };
        let needed = estimate.prompt_tokens + estimate.generated_tokens;
        if let Some(budget) = self.budget_tokens.filter(|budget| needed > *budget) {
            return Err(RunError::Budget { needed, budget }.into());
        }
        (self.on)(&Event::Estimated {
            estimate: &estimate,
        });
        runner.rest(self.asker).await?;
        let (behind, unseen) = match runner.behind().await {
            Ok(behind) => (behind, None),
            Err(error) => {
                tracing::info!(%error, "the rows behind an answer cannot be read");
                (
                    None,
                    Some("the rows behind the answer cannot be shown".to_owned()),
                )
            }
        };
        let mut answer = answer::of_run(&runner, behind.as_ref())?;
        answer.notes.extend(unseen);
        answer.cost.estimate = estimate;
        answer.cost.spent = self.asker.map(|it| it.spent().into()).unwrap_or_default();
        Ok(answer)
    }
}
