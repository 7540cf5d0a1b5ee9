//! From a statement to its answer: parse, look names up, plan, run.
//!
//! Planning runs on a thread of its own with a stack that is large enough (`size.rs`): what is deep
//! ends there. What leaves it is a plan of bounded depth, which runs wherever the answer is polled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SessionState, SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::parser::Statement as Planned;
use datafusion::sql::sqlparser::ast::{DescribeAlias, Query, Statement as Parsed};
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::answer::{About, Answer, panic_text, with_own_names};
use crate::catalogue::Catalogue;
use crate::error::SqlError;
use crate::inputs::Inputs;
use crate::limits::Limits;
use crate::notes::Notes;
use crate::provider::{CATALOG, LakeTable, SCHEMA, Tables};
use crate::relations::{Walk, Withs};
use crate::statement::Statement;
use crate::types::Types;
use crate::watch::{self, Stop, Watch};
use crate::{behind, describe, failure, fan_out, functions, names, pasted, shape, size, ties};

/// Answers statements about the tables of a catalogue.
#[derive(Clone)]
pub struct Engine {
    catalogue: Arc<Catalogue>,
    limits: Limits,
    /// Functions and rules, of which every statement takes a copy.
    session: Arc<SessionState>,
    /// Whether rows that tie where a LIMIT cuts them are looked for.
    finds_ties: bool,
}

impl Engine {
    /// An engine over these tables. Every statement is held to the limits by itself.
    pub fn new(catalogue: impl Into<Arc<Catalogue>>, limits: Limits) -> Engine {
        // Functions of values and groups; none that makes a table, no file format, no catalog.
        let session = SessionStateBuilder::new()
            .with_config(limits.config(CATALOG, SCHEMA))
            .with_expr_planners(SessionStateDefaults::default_expr_planners())
            .with_scalar_functions(functions::of_values())
            .with_higher_order_functions(SessionStateDefaults::default_higher_order_functions())
            .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
            .with_window_functions(SessionStateDefaults::default_window_functions())
            .with_catalog_list(Arc::new(Tables::default()))
            .build();
        Engine {
            catalogue: catalogue.into(),
            limits,
            session: Arc::new(session),
            finds_ties: false,
        }
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// What every statement is held to.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same tables and limits, but for the rows of an answer.
    #[must_use]
    pub fn with_rows(&self, most: u64) -> Engine {
        Engine {
            limits: Limits {
                max_rows: Some(most),
                ..self.limits.clone()
            },
            ..self.clone()
        }
    }

    /// The same tables and limits, for the statements of plans. Each table is read in one part:
    /// rows that an order leaves equal come in the same order each time, and a LIMIT leaves the
    /// same ones. NULLs come last unless the statement says otherwise: people and models who ask
    /// for the greatest value do not mean one that is missing. Where a LIMIT cuts rows that the
    /// order leaves equal, the answer says so ([`Answer::tie`]).
    #[must_use]
    pub fn for_plans(&self) -> Engine {
        let mut config = self.session.config().clone().with_target_partitions(1);
        "nulls_last".clone_into(&mut config.options_mut().sql_parser.default_null_ordering);
        let session = SessionStateBuilder::new_from_existing((*self.session).clone());
        Engine {
            session: Arc::new(session.with_config(config).build()),
            finds_ties: true,
            ..self.clone()
        }
    }

    /// Plans a statement and begins to run it. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// The statement is refused, cannot be understood or planned, or took too long before its first
    /// row.
    pub async fn run(&self, sql: &str) -> Result<Answer, SqlError> {
        let deadline = Instant::now() + self.limits.timeout;
        let ready = self.planned(sql, None, deadline).await?;
        self.start(ready, deadline)
    }

    /// As [`Engine::run`], of a query that names these inputs and nothing else.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn run_over(&self, sql: &str, inputs: Inputs) -> Result<Answer, SqlError> {
        let deadline = Instant::now() + self.limits.timeout;
        let ready = self.planned(sql, Some(inputs), deadline).await?;
        self.start(ready, deadline)
    }

    /// The columns that a query over these inputs has, without its rows.
    ///
    /// # Errors
    /// As [`Engine::run`], before the first row.
    pub async fn columns_over(&self, sql: &str, inputs: Inputs) -> Result<SchemaRef, SqlError> {
        let deadline = Instant::now() + self.limits.timeout;
        let ready = self.planned(sql, Some(inputs), deadline).await?;
        Ok(match ready {
            Ready::Known(batch) => batch.schema(),
            Ready::Plan { plan, about, .. } => with_own_names(match &about.cut {
                Some(cut) => cut.schema(&plan.schema()),
                None => plan.schema(),
            }),
        })
    }

    async fn planned(
        &self,
        sql: &str,
        inputs: Option<Inputs>,
        deadline: Instant,
    ) -> Result<Ready, SqlError> {
        let planner = Planner {
            engine: self.clone(),
            sql: sql.to_owned(),
            inputs,
            deadline,
            runtime: Handle::current(),
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name("limn-sql".to_owned())
            .stack_size(size::STACK)
            .spawn(move || {
                let planned = std::panic::catch_unwind(AssertUnwindSafe(|| planner.plan()));
                let planned = planned
                    .unwrap_or_else(|panic| Err(SqlError::Internal(panic_text(panic.as_ref()))));
                // Nobody waits any more where the time is over.
                let _ = sender.send(planned);
            })
            .map_err(|error| SqlError::Execution(format!("a thread cannot be started: {error}")))?;
        match tokio::time::timeout_at(deadline, receiver).await {
            Ok(Ok(planned)) => planned,
            Ok(Err(_)) => Err(SqlError::Internal("the planner has ended".to_owned())),
            Err(_) => Err(SqlError::Timeout(self.limits.timeout)),
        }
    }

    fn start(&self, ready: Ready, deadline: Instant) -> Result<Answer, SqlError> {
        let limits = self.limits.clone();
        match ready {
            Ready::Known(batch) => Ok(Answer::of(batch, limits, deadline)),
            Ready::Plan {
                plan,
                stop,
                session,
                about,
            } => {
                let schema = plan.schema();
                let rows = execute_stream(plan, session.task_ctx());
                let mut rows = rows.map_err(|error| failure::running(&error, &limits))?;
                // In a task of their own: however long one batch takes, whoever waits for it sees
                // that the time is over.
                let mut task = RecordBatchReceiverStream::builder(Arc::clone(&schema), 1);
                let sender = task.tx();
                task.spawn(async move {
                    while let Some(batch) = rows.next().await {
                        if sender.send(batch).await.is_err() {
                            break;
                        }
                    }
                    Ok(())
                });
                // With the batches goes what is computed for them.
                let cut = about.cut.clone();
                let own = match &cut {
                    Some(cut) => cut.schema(&schema),
                    None => schema,
                };
                let batches = task.build().map(move |batch| {
                    let _ = &stop;
                    match &cut {
                        Some(cut) => Ok(cut.kept(&batch?)?),
                        None => batch,
                    }
                });
                let batches = batches.boxed();
                Ok(Answer::new(own, batches, limits, deadline, about))
            }
        }
    }
}

/// What planning comes to.
enum Ready {
    Known(arrow::array::RecordBatch),
    Plan {
        plan: Arc<dyn ExecutionPlan>,
        stop: Stop,
        session: Box<SessionState>,
        about: About,
    },
}

/// One statement on its way to a plan.
struct Planner {
    engine: Engine,
    sql: String,
    inputs: Option<Inputs>,
    deadline: Instant,
    runtime: Handle,
}

impl Planner {
    fn plan(&self) -> Result<Ready, SqlError> {
        let catalogue = &self.engine.catalogue;
        match Statement::parse(&self.sql)? {
            Statement::Query(query) => self.query(query, false),
            _ if self.inputs.is_some() => Err(SqlError::Unsupported(
                "statement over inputs but SELECT, WITH and VALUES".to_owned(),
            )),
            Statement::Explain(query) => self.query(query, true),
            Statement::Columns(name) => {
                let record = catalogue.record(&names::parts(&name))?;
                let table = catalogue.table(record)?;
                describe::columns(&table).map(Ready::Known)
            }
            Statement::Tables(pattern) => {
                describe::tables(catalogue, pattern.as_ref()).map(Ready::Known)
            }
        }
    }

    fn query(&self, mut query: Box<Query>, explains: bool) -> Result<Ready, SqlError> {
        let notes = Arc::<Notes>::default();
        let is_ordered = query.order_by.is_some();
        let behind = behind::behind(&query);
        let condition = shape::condition(&query);
        let inputs = self.inputs.as_ref();
        // A statement cannot say which lake it means.
        let pasted = inputs.filter(|_| !self.engine.catalogue.has_several_lakes());
        let pasted = pasted.and_then(|inputs| pasted::pasted(&query, inputs));
        let deciding = shape::deciding(&query).filter(|_| self.engine.finds_ties && !explains);
        let mut walk = Walk::new(&self.engine.catalogue, self.inputs.as_ref(), &notes);
        walk.query(&mut query, &Withs::default(), None)?;
        let (tables, given) = (walk.tables, walk.given);
        let limits = &self.engine.limits;
        let failed = |error: DataFusionError| failure::planning(&error, &self.sql, &tables, limits);
        let base = &self.engine.session;
        let given = Tables::new(&tables, &given, &notes).map_err(failed)?;
        let types: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(Types {
            notes: Arc::clone(&notes),
        });
        let rules = std::iter::once(types).chain(base.analyzer().rules.iter().cloned());
        let mut session = SessionStateBuilder::new_from_existing((**base).clone())
            .with_analyzer_rules(rules.collect())
            .with_catalog_list(Arc::new(given))
            .with_runtime_env(limits.runtime().map_err(failed)?)
            .build();
        // The time that now() is.
        session.mark_start_execution();
        let statement = Planned::Statement(Box::new(match explains {
            true => explain(query),
            false => Parsed::Query(query),
        }));
        let plan = session.statement_to_plan(statement);
        let plan = self.runtime.block_on(plan).map_err(failed)?;
        reads_only(&plan).map_err(failed)?;
        size::check_plan(&plan)?;
        let (plan, cut) = match deciding {
            Some(deciding) => ties::looked_beyond(plan, deciding).map_err(failed)?,
            None => (plan, None),
        };
        let plan = match limits.max_rows {
            Some(most) if !explains => first_rows(plan, most).map_err(failed)?,
            _ => plan,
        };
        self.is_in_time()?;
        let plan = session.optimize(&plan).map_err(failed)?;
        size::check_plan(&plan)?;
        self.is_in_time()?;
        let planned = session
            .query_planner()
            .create_physical_plan(&plan, &session);
        let plan = self.runtime.block_on(planned).map_err(failed)?;
        size::check_steps(plan.as_ref())?;
        fan_out::note(plan.as_ref(), &notes);
        let watch = Arc::new(Watch::until(self.deadline.into_std()));
        let plan = watch::watched(plan, &watch).map_err(failed)?;
        Ok(Ready::Plan {
            plan,
            stop: Stop(watch),
            session: Box::new(session),
            about: About {
                notes,
                tables: tables.into_values().collect(),
                is_plan: explains,
                is_ordered,
                behind,
                condition,
                pasted,
                cut,
            },
        })
    }

    /// Nobody waits for a plan that comes too late.
    fn is_in_time(&self) -> Result<(), SqlError> {
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(SqlError::Timeout(self.engine.limits.timeout)),
        }
    }
}

fn explain(query: Box<Query>) -> Parsed {
    Parsed::Explain {
        describe_alias: DescribeAlias::Explain,
        analyze: false,
        verbose: false,
        query_plan: false,
        estimate: false,
        statement: Box::new(Parsed::Query(query)),
        format: None,
        options: None,
    }
}

/// One row more than are wanted shows whether there are more; a sort need not keep others.
fn first_rows(plan: LogicalPlan, most: u64) -> Result<LogicalPlan, DataFusionError> {
    let one_more = usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX);
    LogicalPlanBuilder::from(plan)
        .limit(0, Some(one_more))?
        .build()
}

/// The last wall: no step of the plan writes or sets anything, and all rows are those of tables of
/// the catalogue.
fn reads_only(plan: &LogicalPlan) -> Result<(), DataFusionError> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)?;
    plan.apply_with_subqueries(|step| {
        let refused = |what: &str| {
            let refusal = format!("limn sql reads only: {what} is refused");
            Err(DataFusionError::Plan(refusal))
        };
        match step {
            LogicalPlan::TableScan(scan) => {
                let table = source_as_provider(&scan.source)?;
                let is_ours = table.is::<LakeTable>() || table.is::<MemTable>();
                match is_ours || is_work_table(table.as_ref()) {
                    true => Ok(TreeNodeRecursion::Continue),
                    false => refused("a table from elsewhere"),
                }
            }
            LogicalPlan::Extension(_) => refused("a step from elsewhere"),
            LogicalPlan::Analyze(_) => refused("EXPLAIN ANALYZE"),
            _ => Ok(TreeNodeRecursion::Continue),
        }
    })?;
    Ok(())
}

/// Whether it is the rows so far of a query of WITH RECURSIVE.
fn is_work_table(table: &dyn datafusion::catalog::TableProvider) -> bool {
    table.is::<datafusion::catalog::cte_worktable::CteWorkTable>()
}
