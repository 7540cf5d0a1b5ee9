//! Asking the model: the columns that are wanted, distinct, as many at once as the model likes.
//!
//! One task goes through the contexts, those that the most tables share first, and keeps
//! [`concurrency`](limn_models::LanguageModel::concurrency) prompts under way. When all columns of
//! a table have been answered, the table goes to the first worker of the process, which feeds it
//! into the dataflow again.
//!
//! An answer that fails costs its column only, for this run. A model that fails every time is not
//! asked on: so many failures in a row end the narrating.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use limn_models::{Generated, LanguageModel, Limits, ModelError, Prompt, Usage};
use limn_segment::NarrationRecord;
use limn_summary::narration::{
    NARRATION_STOP, NARRATION_TOKENS, PromptBudget, parse_narration, schema_prompts,
};
use tokio::sync::OnceCell;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Duration, Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::awaiting::AwaitingTable;
use super::outcome::Outcome;
use super::store::NarrationStore;
use super::wanted::{Open, Wanted};
use super::{ContextId, context_of};
use crate::error::{Fatal, PipelineError};
use crate::options::NarrateWith;
use crate::progress::Progress;

/// The most tokens of a schema in a prompt.
const SCHEMA_TOKENS: usize = 1024;
/// Tokens of a prompt beside the schema and the answer, with what a model's format adds.
const OTHER_TOKENS: usize = 200;
/// Failures in a row that end the narrating, or as many as are under way at once if that is more.
const FAILURES: usize = 16;
/// How long a run that is stopped waits for the next of the answers that are just coming in.
const GRACE: Duration = Duration::from_millis(50);
/// Contexts that they must be of, where the failures do not pass: a schema that an endpoint refuses
/// to read costs itself only.
const FAILING_CONTEXTS: usize = 8;

/// Asks a model for what is wanted; shared by a process of a run.
pub struct Asking {
    with: NarrateWith,
    store: Arc<NarrationStore>,
    progress: Arc<Progress>,
    fatal: Arc<Fatal>,
    stop: CancellationToken,
    /// The model once it is open, with what it had done before.
    opened: OnceCell<(Arc<dyn LanguageModel>, Usage)>,
    /// None once it is asked for.
    wanted: Mutex<Option<Wanted>>,
    outcome: Mutex<Outcome>,
}

/// Failures since the last answer.
#[derive(Default)]
struct InARow {
    failures: usize,
    contexts: HashSet<ContextId>,
    /// Whether one of them was of the kind that passes: a model that is down, not a prompt it
    /// refuses.
    passing: bool,
}

impl InARow {
    fn count(&mut self, answer: &Answer) {
        match &answer.result {
            Ok(_) => *self = Self::default(),
            Err(error) => {
                self.failures += 1;
                self.contexts.insert(answer.context);
                self.passing |= error.is_retryable();
            }
        }
    }
}

/// Why columns are not asked for.
enum Left {
    /// The run was stopped.
    Stopped,
    /// The model failed every time.
    GivenUp,
}

/// One answer: where it belongs and what it is.
struct Answer {
    context: ContextId,
    position: u32,
    column: String,
    result: Result<Generated, ModelError>,
}

impl Asking {
    /// Asks `with` for what `store` lacks. `open` is its model, where it is open already.
    pub fn new(
        with: NarrateWith,
        store: Arc<NarrationStore>,
        progress: Arc<Progress>,
        fatal: Arc<Fatal>,
        stop: CancellationToken,
        open: Option<Arc<dyn LanguageModel>>,
    ) -> Self {
        let open = open.map(|model| {
            let before = model.usage();
            (model, before)
        });
        Self {
            opened: OnceCell::new_with(open),
            with,
            store,
            progress,
            fatal,
            stop,
            wanted: Mutex::new(Some(Wanted::default())),
            outcome: Mutex::default(),
        }
    }

    /// How the work is cut.
    pub fn cuts(&self) -> &NarrateWith {
        &self.with
    }

    /// What came of it so far.
    pub fn outcome(&self) -> Outcome {
        let outcome = self.outcome.lock();
        let mut outcome = outcome.unwrap_or_else(PoisonError::into_inner).clone();
        outcome.not_begun = self.wanted().as_ref().is_some_and(|it| !it.is_empty());
        outcome
    }

    /// Seconds that the model was busy.
    pub fn seconds(&self) -> f64 {
        let busy = self.opened.get().map(|(model, before)| {
            let busy = model.usage().busy;
            busy.saturating_sub(before.busy).as_secs_f64()
        });
        busy.unwrap_or_default()
    }

    async fn model(&self) -> Result<&Arc<dyn LanguageModel>, ModelError> {
        let open = || async {
            let model = (self.with.open)().await?;
            let before = model.usage();
            Ok((model, before))
        };
        let (model, _) = self.opened.get_or_try_init(open).await?;
        Ok(model)
    }

    fn wanted(&self) -> MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a published table, to be described again when its columns are narrated. Once what was
    /// noted is asked for, others are for another run.
    pub fn want(&self, table: AwaitingTable) {
        if let Some(wanted) = &mut *self.wanted() {
            wanted.add(table);
        }
    }

    /// Asks for no more than is under way.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Starts asking for what was noted. Tables are sent when all that they wait for was answered;
    /// the channel ends when there is nothing left to ask.
    pub fn start(
        self: &Arc<Self>,
        runtime: &tokio::runtime::Handle,
    ) -> mpsc::Receiver<AwaitingTable> {
        let (send, receive) = mpsc::channel();
        let asking = Arc::clone(self);
        let fatal = Arc::clone(&self.fatal);
        let task = runtime.spawn(async move {
            // An error is reported before the channel ends: who reads it believes that all was
            // asked then.
            if let Err(error) = asking.ask(&send).await {
                asking.fatal.set(error);
            }
        });
        runtime.spawn(async move {
            if task.await.is_err() {
                fatal.set(PipelineError::TaskDied { stage: "narrate" });
            }
        });
        receive
    }

    async fn ask(&self, ready: &mpsc::Sender<AwaitingTable>) -> Result<(), PipelineError> {
        let wanted = self.wanted().take().unwrap_or_default();
        if wanted.is_empty() {
            return Ok(());
        }
        self.store.refresh().await?;
        self.store.retain(&wanted.contexts().collect());
        let mut open = Open::of(wanted, &self.store, ready);
        let columns = open.columns();
        if columns == 0 {
            return Ok(());
        }
        Progress::add(&self.progress.columns_wanted, columns);
        let Some(model) = self.stop.run_until_cancelled(self.model()).await else {
            self.leave(columns, Left::Stopped);
            return Ok(());
        };
        let model = model?;
        let mut left = open.order().into_iter();
        let (mut asked_of, mut asked) = (ContextId::default(), Vec::new().into_iter());
        let mut under_way = JoinSet::new();
        let mut in_a_row = InARow::default();
        let limit = FAILURES.max(model.concurrency());
        let contexts_limit = FAILING_CONTEXTS.min(left.len());
        let after = self.with.flush_after;
        let mut clock = interval_at(Instant::now() + after, after);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let concurrency = model.concurrency().max(1);
        while !self.fatal.is_set() {
            while under_way.len() < concurrency {
                if asked.len() == 0 {
                    let Some(id) = left.next() else { break };
                    let names = open.names(id);
                    let known = self.store.known(id, names.len());
                    let wanted: Vec<usize> = (0..known.len())
                        .filter(|column| known[*column].is_none())
                        .collect();
                    asked_of = id;
                    asked = prompts(model.as_ref(), names, &wanted).into_iter();
                }
                if let Some((place, prompt)) = asked.next() {
                    Progress::add(&self.progress.columns_asked, 1);
                    under_way.spawn(generate(Arc::clone(model), asked_of, place, prompt));
                }
            }
            let answer = tokio::select! {
                answer = under_way.join_next() => answer,
                _ = clock.tick() => {
                    self.store.flush().await?;
                    continue;
                }
                () = self.stop.cancelled() => {
                    // What has come is kept; nobody waits for the rest.
                    while let Ok(Some(answer)) = timeout(GRACE, under_way.join_next()).await {
                        let answer = answered(answer)?;
                        let context = answer.context;
                        self.take_in(answer).await?;
                        open.answered(context);
                    }
                    self.leave(columns, Left::Stopped);
                    return self.store.flush().await;
                }
            };
            let Some(answer) = answer else { break };
            let answer = answered(answer)?;
            in_a_row.count(&answer);
            let context = answer.context;
            self.take_in(answer).await?;
            if in_a_row.failures >= limit
                && (in_a_row.passing || in_a_row.contexts.len() >= contexts_limit)
            {
                self.leave(columns, Left::GivenUp);
                break;
            }
            open.answered(context);
        }
        Ok(())
    }

    /// Keeps an answer, if there is one.
    async fn take_in(&self, answer: Answer) -> Result<(), PipelineError> {
        let generated = match answer.result {
            Ok(generated) => generated,
            Err(error) => {
                tracing::debug!(column = answer.column, %error, "not narrated");
                let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
                outcome.failed += 1;
                outcome.error.get_or_insert_with(|| error.to_string());
                return Ok(());
            }
        };
        let unwritten = self.store.record(NarrationRecord {
            context: answer.context.0,
            position: answer.position,
            narration: parse_narration(&generated.text, &answer.column),
            column: answer.column,
        });
        Progress::add(&self.progress.columns_narrated, 1);
        {
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.narrated += 1;
            outcome.prompt_tokens += generated.prompt_tokens as u64;
            outcome.generated_tokens += generated.generated_tokens as u64;
        }
        if unwritten >= self.with.flush_columns {
            self.store.flush().await?;
        }
        Ok(())
    }

    /// Of so many columns, those that have no answer are not asked for in this run.
    fn leave(&self, columns: usize, why: Left) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let left = (columns as u64).saturating_sub(outcome.narrated + outcome.failed);
        match why {
            Left::Stopped => outcome.stopped = left,
            Left::GivenUp => outcome.given_up = left,
        }
    }
}

/// Opens a model and has it describe a column that no table has, to see that it answers.
///
/// # Errors
/// It cannot be opened, or does not answer.
pub async fn try_out(with: &NarrateWith) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let model = (with.open)().await?;
    let names = ["id".to_owned()];
    for (place, prompt) in prompts(model.as_ref(), &names, &[0]) {
        let answer = generate(Arc::clone(&model), context_of(&names), place, prompt).await;
        answer.result?;
    }
    Ok(model)
}

/// The prompts of the wanted ones of these columns, in order.
fn prompts(model: &dyn LanguageModel, names: &[String], wanted: &[usize]) -> Vec<(Place, Prompt)> {
    let room = model
        .window()
        .saturating_sub(OTHER_TOKENS + NARRATION_TOKENS);
    let budget = PromptBudget {
        count: &|text| model.count_tokens(text),
        tokens: room.min(SCHEMA_TOKENS),
    };
    let prompts = schema_prompts(names, wanted, &budget);
    let places = wanted.iter().map(|&column| Place {
        position: u32::try_from(column).unwrap_or(u32::MAX),
        column: names[column].clone(),
    });
    let prompts = prompts.into_iter().map(|prompt| Prompt {
        system: Arc::from(prompt.system),
        shared: prompt.shared,
        own: prompt.own,
    });
    places.zip(prompts).collect()
}

async fn generate(
    model: Arc<dyn LanguageModel>,
    context: ContextId,
    place: Place,
    prompt: Prompt,
) -> Answer {
    let limits = Limits {
        max_tokens: NARRATION_TOKENS,
        stop: vec![NARRATION_STOP.to_owned()],
    };
    let result = model.generate(&prompt, &limits).await;
    let Place { position, column } = place;
    Answer {
        context,
        position,
        column,
        result,
    }
}

/// A column that is asked for.
struct Place {
    position: u32,
    column: String,
}

/// An answer, unless its task died.
fn answered(answer: Result<Answer, JoinError>) -> Result<Answer, PipelineError> {
    answer.map_err(|_| PipelineError::TaskDied { stage: "narrate" })
}
