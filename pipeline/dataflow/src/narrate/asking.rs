//! Asking the model: the columns that are wanted, distinct, as many at once as the model likes.
//!
//! One task goes through the contexts, those that the most tables share first, and keeps
//! [`concurrency`](limn_models::LanguageModel::concurrency) prompts under way. When all that a group
//! of tables waits for has been answered, the group is told to the driver, which feeds it into the
//! dataflow again.
//!
//! An answer that fails costs its column only, for this run. A model that fails every time is not
//! asked on: so many failures in a row end the narrating.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use limn_models::{Generated, LanguageModel, Limits, ModelError, Prompt, Usage};
use limn_segment::NarrationRecord;
use limn_summary::narration::{
    NARRATION_STOP, NARRATION_TOKENS, PromptBudget, parse_narration, schema_prompts,
};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::awaiting::{Awaiting, AwaitingTable};
use super::store::NarrationStore;
use super::{ContextId, context_of};
use crate::changes::GroupId;
use crate::error::{Fatal, PipelineError};
use crate::options::NarrateWith;
use crate::progress::Progress;

/// The most tokens of a schema in a prompt.
const SCHEMA_TOKENS: usize = 1024;
/// Tokens of a prompt beside the schema and the answer, with what a model's format adds.
const OTHER_TOKENS: usize = 200;
/// Failures in a row that end the narrating, or as many as are under way at once if that is more.
const FAILURES: usize = 16;
/// Contexts that they must be of, where the failures do not pass: a schema that an endpoint refuses to
/// read costs itself only.
const FAILING_CONTEXTS: usize = 8;

/// Asks a model for what is wanted; shared by a run.
pub struct Asking {
    with: NarrateWith,
    store: Arc<NarrationStore>,
    awaiting: Arc<Awaiting>,
    progress: Arc<Progress>,
    fatal: Arc<Fatal>,
    stop: CancellationToken,
    /// The model once it is open, with what it had done before.
    opened: OnceCell<(Arc<dyn LanguageModel>, Usage)>,
    wanted: Mutex<Wanted>,
    outcome: Mutex<Outcome>,
}

/// Failures since the last answer.
#[derive(Default)]
struct InARow {
    failures: usize,
    contexts: HashSet<ContextId>,
    /// Whether one of them was of the kind that passes: a model that is down, not a prompt it refuses.
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

/// The contexts that published tables await, with the groups of those tables.
#[derive(Default)]
struct Wanted {
    contexts: BTreeMap<ContextId, Context>,
}

struct Context {
    names: Vec<String>,
    groups: HashSet<GroupId>,
    tables: usize,
    /// Columns that are not answered yet.
    open: usize,
}

/// What came of asking.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Columns that the model answered for, with or without a description.
    pub narrated: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub generated_tokens: u64,
    /// Columns for which the model failed.
    pub failed: u64,
    /// The first failure.
    pub error: Option<String>,
    /// Columns that were not asked for…
    pub unasked: u64,
    /// …because the model failed every time, not because the run was stopped.
    pub given_up: bool,
}

/// One answer: where it belongs and what it is.
struct Answer {
    context: ContextId,
    position: u32,
    column: String,
    result: Result<Generated, ModelError>,
}

impl Asking {
    /// Asks `with` for what `store` lacks.
    pub fn new(
        with: NarrateWith,
        store: Arc<NarrationStore>,
        awaiting: Arc<Awaiting>,
        progress: Arc<Progress>,
        fatal: Arc<Fatal>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            opened: OnceCell::new(),
            with,
            store,
            awaiting,
            progress,
            fatal,
            stop,
            wanted: Mutex::default(),
            outcome: Mutex::default(),
        }
    }

    /// How the work is cut.
    pub fn cuts(&self) -> &NarrateWith {
        &self.with
    }

    /// The tables that await what is asked for.
    pub fn awaiting(&self) -> &Awaiting {
        &self.awaiting
    }

    /// What came of it so far.
    pub fn outcome(&self) -> Outcome {
        let outcome = self.outcome.lock();
        outcome.unwrap_or_else(PoisonError::into_inner).clone()
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

    /// Has the model describe a column that no table has, to see that it answers.
    ///
    /// # Errors
    /// It cannot be opened, or does not answer.
    pub async fn try_out(&self) -> Result<(), ModelError> {
        let model = self.model().await?;
        let names = ["id".to_owned()];
        let prompt = self.prompts(model.as_ref(), &names, vec![0]).next();
        if let Some((place, prompt)) = prompt {
            generate(Arc::clone(model), context_of(&names), place, prompt)
                .await
                .result?;
        }
        Ok(())
    }

    /// Notes a published table, to be described again when its columns are narrated.
    pub fn want(&self, table: AwaitingTable) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let context = wanted
            .contexts
            .entry(context_of(&table.columns))
            .or_insert_with(|| Context {
                names: table.columns.clone(),
                groups: HashSet::new(),
                tables: 0,
                open: 0,
            });
        context.groups.insert(table.group);
        context.tables += 1;
        self.awaiting.add(table);
    }

    /// Whether anything was noted that was not asked for yet.
    pub fn is_wanted(&self) -> bool {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        !wanted.contexts.is_empty()
    }

    /// Starts asking for what was noted. Groups are told when all that they wait for was answered;
    /// the channel ends when there is nothing left to ask.
    pub fn start(self: &Arc<Self>, runtime: &tokio::runtime::Handle) -> mpsc::Receiver<GroupId> {
        let (send, receive) = mpsc::channel();
        let asking = Arc::clone(self);
        let fatal = Arc::clone(&self.fatal);
        let task = runtime.spawn(async move { asking.ask(&send).await });
        runtime.spawn(async move {
            match task.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => fatal.set(error),
                Err(_) => fatal.set(PipelineError::TaskDied { stage: "narrate" }),
            }
        });
        receive
    }

    async fn ask(&self, ready: &mpsc::Sender<GroupId>) -> Result<(), PipelineError> {
        let mut contexts = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut wanted.contexts)
        };
        self.store.retain(&contexts.keys().copied().collect());
        let mut groups: HashMap<GroupId, usize> = HashMap::new();
        for context in contexts.values() {
            for group in &context.groups {
                *groups.entry(*group).or_default() += 1;
            }
        }
        let mut order: Vec<(Reverse<usize>, ContextId)> = Vec::new();
        let mut columns = 0;
        for (id, context) in &mut contexts {
            // An alias may have come after the table was published.
            let known = self.store.known(*id, context.names.len());
            context.open = known.iter().filter(|known| known.is_none()).count();
            if context.open == 0 {
                close(context, &mut groups, ready);
            } else {
                columns += context.open;
                order.push((Reverse(context.tables), *id));
            }
        }
        order.sort_unstable();
        if order.is_empty() {
            return Ok(());
        }
        Progress::add(&self.progress.columns_wanted, columns);
        let Some(model) = self.stop.run_until_cancelled(self.model()).await else {
            self.leave(columns, false);
            return Ok(());
        };
        let model = model?;
        let mut left = order.into_iter();
        let mut prompts = Vec::new().into_iter();
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
                if prompts.len() == 0 {
                    let Some((_, id)) = left.next() else { break };
                    let Some(context) = contexts.get(&id) else {
                        continue;
                    };
                    let known = self.store.known(id, context.names.len());
                    let wanted = (0..known.len()).filter(|column| known[*column].is_none());
                    let asked = self.prompts(model.as_ref(), &context.names, wanted.collect());
                    prompts = asked
                        .map(|asked| (id, asked))
                        .collect::<Vec<_>>()
                        .into_iter();
                }
                if let Some((id, (place, prompt))) = prompts.next() {
                    Progress::add(&self.progress.columns_asked, 1);
                    under_way.spawn(generate(Arc::clone(model), id, place, prompt));
                }
            }
            if under_way.is_empty() {
                break;
            }
            let answer = tokio::select! {
                answer = under_way.join_next() => answer,
                _ = clock.tick() => {
                    self.store.flush().await?;
                    continue;
                }
                () = self.stop.cancelled() => {
                    self.leave(columns, false);
                    break;
                }
            };
            let Some(answer) = answer else { continue };
            let answer = answer.map_err(|_| PipelineError::TaskDied { stage: "narrate" })?;
            in_a_row.count(&answer);
            let context = contexts.get_mut(&answer.context);
            self.take_in(answer).await?;
            if in_a_row.failures >= limit
                && (in_a_row.passing || in_a_row.contexts.len() >= contexts_limit)
            {
                self.leave(columns, true);
                break;
            }
            if let Some(context) = context {
                context.open -= 1;
                if context.open == 0 {
                    close(context, &mut groups, ready);
                }
            }
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
            context: answer.context,
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
    fn leave(&self, columns: usize, given_up: bool) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.unasked = (columns as u64).saturating_sub(outcome.narrated + outcome.failed);
        outcome.given_up = given_up;
    }

    /// The prompts of the wanted ones of these columns, in order.
    fn prompts(
        &self,
        model: &dyn LanguageModel,
        names: &[String],
        wanted: Vec<usize>,
    ) -> impl Iterator<Item = (Place, Prompt)> {
        let room = model
            .window()
            .saturating_sub(OTHER_TOKENS + NARRATION_TOKENS);
        let budget = PromptBudget {
            count: &|text| model.count_tokens(text),
            tokens: room.min(SCHEMA_TOKENS),
        };
        let prompts = schema_prompts(names, &wanted, &budget);
        let places = wanted.into_iter().map(|column| Place {
            position: u32::try_from(column).unwrap_or(u32::MAX),
            column: names[column].clone(),
        });
        let prompts = prompts.into_iter().map(|prompt| Prompt {
            system: Arc::from(prompt.system),
            shared: prompt.shared,
            own: prompt.own,
        });
        places.collect::<Vec<_>>().into_iter().zip(prompts)
    }
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

/// All of a context's columns were answered: groups that wait for nothing else are ready.
fn close(
    context: &mut Context,
    groups: &mut HashMap<GroupId, usize>,
    ready: &mpsc::Sender<GroupId>,
) {
    for group in context.groups.drain() {
        if let Some(open) = groups.get_mut(&group) {
            *open -= 1;
            if *open == 0 {
                groups.remove(&group);
                // Nobody listens only when the run is being given up.
                let _ = ready.send(group);
            }
        }
    }
}

impl Outcome {
    /// Columns that have no answer because of the model.
    pub fn lost(&self) -> u64 {
        self.failed + if self.given_up { self.unasked } else { 0 }
    }

    /// What a person should know of what went wrong, if anything did.
    pub fn notes(&self, model: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unasked > 0 && !self.given_up {
            let all = self.narrated + self.failed + self.unasked;
            notes.push(format!(
                "stopped: {} of {all} columns are narrated, and kept; the same command goes on with the rest",
                self.narrated,
            ));
        }
        let Some(error) = &self.error else {
            return notes;
        };
        let columns = |number: u64| match number {
            1 => "1 column".to_owned(),
            _ => format!("{number} columns"),
        };
        notes.push(if self.given_up {
            format!(
                "narrating was given up: {model} failed again and again, and {} were not asked for ({error}); their tables are searchable by names, and the same command goes on",
                columns(self.unasked),
            )
        } else {
            format!(
                "{} could not be narrated by {model} and are told by their names; the same command tries again ({error})",
                columns(self.failed),
            )
        });
        notes
    }
}
