//! A question to its answer: tables, columns and cells, a plan, its rows (`limn-ask`).
//!
//! All of it is of the caller's view: the tables that are found and named, the statements, and what
//! a model is shown. The caller must have the right `ask`, and `rows`, since answers are made of
//! values. What a model answered is kept in this process, by the whole of what it was asked.

mod kept;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limn_ask::compile;
use limn_ask::plan::Plan;
use limn_ask::run::Event;
use limn_ask::semantic::{Asker, Budget, KeptAnswers};
use limn_ask::write::{EngineTryOut, TRIED, Written, write};
use limn_ask::{AskAnswer, Asking, KeptModel, SpentTokens};
use limn_models::LanguageModel;
use limn_segment::{TableKey, TableRecord};
use limn_sql::{Engine, Limits};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use utoipa::ToSchema;

pub(crate) use kept::NodeAnswers;

use super::cells::{CellsRequest, cells};
use super::sets::SearchMode;
use super::sql::{Several, may_read_rows, of_plan, of_statement};
use super::{Grant, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// What to do where no statement could be written.
const REMEDY: &str =
    "a statement of your own is answered by sql (POST /v1/sql; the tool of that name)";
/// Bytes of a question.
const QUESTION: usize = 4_000;
/// Time in which an answer that is late keeps what a model has answered.
const KEEPING: Duration = Duration::from_secs(1);

/// How a node answers questions.
#[derive(Clone)]
pub struct AskOptions {
    /// Who writes SQL and judges rows; without one, rules answer what they can.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Tokens that running one plan may take.
    pub budget_tokens: u64,
}

impl Default for AskOptions {
    fn default() -> AskOptions {
        AskOptions {
            model: None,
            timeout: Duration::from_secs(120),
            budget_tokens: 200_000,
        }
    }
}

impl std::fmt::Debug for AskOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskOptions")
            .field("timeout", &self.timeout)
            .field("budget_tokens", &self.budget_tokens)
            .finish_non_exhaustive()
    }
}

/// A question, or a plan that answers one.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// The question in plain words. With a plan it is what the plan answers.
    #[serde(default)]
    pub q: Option<String>,
    /// The names of the tables to answer from, at most 10; those that answer the question together
    /// if nothing is said.
    #[serde(default)]
    pub tables: Option<Vec<String>>,
    /// Only tables of the lake of this URL, where several lakes have a table of one name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Only tables at this path or below it, if none are named.
    #[serde(default)]
    pub prefix: Option<String>,
    /// A plan to run: an edited one, or one's own.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// A statement that answers instead: SQL that may have semantic functions (`sem_filter`,
    /// `sem_map`, `sem_topk`, `sem_agg`, `sem_fact`), which becomes a plan.
    #[serde(default)]
    pub sql: Option<String>,
    /// Whether the plan is not run: what it will cost is said.
    #[serde(default)]
    pub plan_only: Option<bool>,
    /// Tokens that running the plan may take; the node's own limit if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub budget_tokens: Option<u64>,
}

/// Whether a caller may have questions answered here.
pub(crate) fn may_ask(node: &Node, grant: &Grant) -> bool {
    node.ask.is_some() && may_read_rows(node, grant) && grant.caller.may(Right::Ask)
}

/// What hears how an answer goes: the events of its stages.
pub(crate) type Steps = UnboundedSender<serde_json::Value>;

/// Answers a question.
///
/// # Errors
/// A caller without the rights, a request that makes no sense, a plan that is wrong or fails.
pub async fn ask(
    node: &Arc<Node>,
    grant: &Grant,
    request: AskRequest,
    steps: Option<Steps>,
) -> Result<AskAnswer, Problem> {
    let start = Instant::now();
    grant.require(Right::Ask)?;
    let asked = Checked::of(node, grant, request)?;
    let kept: Arc<dyn KeptAnswers> = Arc::new(node.answers.of(node.live.index(), &grant.caller));
    let mut notes = Vec::new();
    let mut writing = SpentTokens::default();
    let given = match asked.given() {
        Some(given) => given,
        None => {
            let planned = planned(node, grant, &asked, Arc::clone(&kept), &steps).await?;
            let written = planned.0;
            writing = planned.1;
            let Some(plan) = written.plan else {
                let mut answer = AskAnswer::unanswered(&asked.question, &written, REMEDY);
                answer.cost.writing = writing;
                answer.cost.seconds = start.elapsed().as_secs_f64();
                return Ok(answer);
            };
            notes = written.notes;
            Given::Plan(plan)
        }
    };
    let mut answer = ran(node, grant, &asked, given, kept, steps).await?;
    let records = records(node, grant, &answer).await?;
    answer.of_snapshot(grant.view.snapshot.number, |key| records.get(key));
    answer.cost.writing = writing;
    answer.cost.seconds = start.elapsed().as_secs_f64();
    answer.notes.extend(notes);
    Ok(answer)
}

/// What is run.
enum Given {
    Plan(Plan),
    Sql(String),
}

/// A request that makes sense.
struct Checked {
    request: AskRequest,
    question: String,
    options: AskOptions,
    until: Instant,
}

impl Checked {
    fn of(node: &Node, grant: &Grant, request: AskRequest) -> Result<Checked, Problem> {
        let options = node.ask.clone().ok_or_else(|| {
            Problem::new(
                Code::NotFound,
                "this node answers no questions by plans",
                "its operator may start it without --ask off",
            )
        })?;
        let question = request.q.clone().unwrap_or_default();
        short_enough("the question", &question, QUESTION)?;
        let is_given = request.plan.is_some() || request.sql.is_some();
        if question.trim().is_empty() && !is_given {
            return Err(Problem::bad(
                "there is no question, no plan and no statement",
                "ask in plain words, or send a plan or a statement",
            ));
        }
        if request.plan.is_some() && request.sql.is_some() {
            return Err(Problem::bad("a plan is given, and sql", "send one of them"));
        }
        if is_given && (request.tables.is_some() || request.prefix.is_some()) {
            return Err(Problem::bad(
                "a plan or a statement is given, and tables or a prefix",
                "a plan and a statement name their tables themselves",
            ));
        }
        if request.lake.is_some() && request.tables.is_none() && !is_given {
            return Err(Problem::bad(
                "a lake is given, and no tables, no plan and no statement",
                "name the tables, too, or leave the lake out",
            ));
        }
        if request.budget_tokens == Some(0) {
            return Err(Problem::bad("budget_tokens is 0", "choose from 1 on"));
        }
        Ok(Checked {
            // While somebody waits, and with time to keep what a model has answered.
            until: (Instant::now() + options.timeout).min(grant.until) - KEEPING,
            request,
            question,
            options,
        })
    }

    /// The plan or the statement that was sent.
    fn given(&self) -> Option<Given> {
        let sql = || self.request.sql.clone().map(Given::Sql);
        self.request.plan.clone().map(Given::Plan).or_else(sql)
    }
}

/// Writes a plan for a question.
async fn planned(
    node: &Arc<Node>,
    grant: &Grant,
    asked: &Checked,
    kept: Arc<dyn KeptAnswers>,
    steps: &Option<Steps>,
) -> Result<(Written, SpentTokens), Problem> {
    let named = asked.request.tables.is_some();
    let request = CellsRequest {
        q: asked.question.clone(),
        tables: asked.request.tables.clone(),
        lake: asked.request.lake.clone().filter(|_| named),
        mode: (!named).then_some(SearchMode::Set),
        prefix: asked.request.prefix.clone(),
        ..CellsRequest::default()
    };
    let cells = cells(node, grant, &request).await?;
    if let Some(steps) = steps {
        let tables: Vec<&str> = cells.tables.iter().map(|it| it.table.as_str()).collect();
        // The listener may have left.
        let _ = steps.send(serde_json::json!({"event": "tables_found", "tables": tables}));
    }
    let several = Several::of(node, grant, asked.request.lake.as_deref(), asked.until).await?;
    let model = asked.options.model.clone();
    let model = model.map(|model| Arc::new(KeptModel::new(model, kept)));
    let (question, until) = (asked.question.clone(), asked.until);
    let (engine, turn) = (several.engine.with_rows(TRIED), several.turn);
    let writing = async move {
        let _turn = turn;
        let try_out = EngineTryOut::new(&engine);
        let asked = model.as_deref().map(|it| it as &dyn LanguageModel);
        let left = until.saturating_duration_since(Instant::now());
        let mut written = write(&question, &cells, asked, &try_out, left).await;
        let spent = model.as_ref().map(|it| it.spent()).unwrap_or_default();
        if let Some(model) = &model
            && let Err(error) = model.keep().await
        {
            tracing::warn!(%error, "what a model wrote is not kept");
        }
        written.notes.extend(cells.notes);
        (written, spent)
    };
    several.home.run(writing).await
}

/// Runs a plan, or says what it will cost.
async fn ran(
    node: &Arc<Node>,
    grant: &Grant,
    asked: &Checked,
    given: Given,
    kept: Arc<dyn KeptAnswers>,
    steps: Option<Steps>,
) -> Result<AskAnswer, Problem> {
    let lake = asked.request.lake.as_deref();
    let Several {
        engine,
        home,
        limits,
        turn,
    } = Several::of(node, grant, lake, asked.until).await?;
    let most = asked.options.budget_tokens;
    let tokens = asked.request.budget_tokens.map_or(most, |it| it.min(most));
    let left = asked.until.saturating_duration_since(Instant::now());
    let budget = Budget {
        tokens: Some(tokens),
        time: Some(left),
    };
    let left = left + KEEPING;
    let model = asked.options.model.clone();
    let embedder = Arc::clone(node.sets.embedder());
    let asker = model.map(|model| {
        let asker = Asker::new(model, kept).with_embedder(embedder);
        asker.with_budget(budget)
    });
    let tells_only = asked.request.plan_only == Some(true);
    let question = asked.question.clone();
    let running = async move {
        let _turn = turn;
        let mut plan = match given {
            Given::Plan(plan) => plan,
            Given::Sql(sql) => compiled(&engine, sql, &limits).await?,
        };
        if !question.is_empty() {
            plan.question = question;
        }
        let on = |event: &Event<'_>| {
            if let (Some(steps), Ok(event)) = (&steps, serde_json::to_value(event)) {
                let _ = steps.send(event);
            }
        };
        let asking = Asking {
            engine: &engine,
            asker: asker.as_ref(),
            budget_tokens: Some(tokens),
            on: &on,
        };
        let answered = match tells_only {
            true => asking.estimate(plan).await,
            false => asking.answer(plan).await,
        };
        answered.map_err(|error| of_plan(&error, &limits))
    };
    let ran = tokio::time::timeout(left, home.run(running)).await;
    let ran = ran.map_err(|_| {
        Problem::new(
            Code::Timeout,
            format!(
                "stopped: an answer may take {}",
                humantime::format_duration(asked.options.timeout)
            ),
            "ask for less, or the operator for a longer --ask-timeout",
        )
    })?;
    ran?
}

/// The plan of a statement. Its tables are read of the index, which is waited for.
async fn compiled(engine: &Engine, sql: String, limits: &Limits) -> Result<Plan, Problem> {
    let engine = engine.clone();
    let plan = move || compile::plan_of(&engine, &sql, String::new());
    let plan = tokio::task::spawn_blocking(plan).await.map_err(|error| {
        tracing::error!(%error, "a statement ended in a panic");
        Problem::internal()
    })?;
    plan.map_err(|error| of_statement(error, limits))
}

/// The records of the tables that an answer reads.
async fn records(
    node: &Node,
    grant: &Grant,
    answer: &AskAnswer,
) -> Result<HashMap<TableKey, TableRecord>, Problem> {
    let keys: Vec<TableKey> = answer.table_keys().collect();
    let _turn = node.row_turn().await?;
    Ok(node
        .live
        .rows(&grant.view, &keys)
        .await?
        .into_iter()
        .collect())
}
