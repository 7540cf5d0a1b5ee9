//! The end of a statement's time, where its rows are computed.
//!
//! A stream of batches can be stopped where it is polled. A join may compute for hours without
//! that: it compares the rows of its two sides until a batch of them agrees, or goes on giving
//! batches to a step above that asks for more. So two things look at the time there: the condition
//! of a join, each time that it is computed (for one batch of pairs of rows), and a step behind
//! each one that may give many batches for one that it takes. That step lets others have the thread
//! now and then, too.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
    SendableRecordBatchStream,
};
use futures::StreamExt;
use thiserror::Error;

/// Whether a statement may go on.
#[derive(Debug)]
pub(crate) struct Watch {
    deadline: Instant,
    is_dropped: AtomicBool,
}

/// The statement's time is over, or nobody waits for its answer any more.
#[derive(Clone, Copy, Debug, Error)]
#[error("the time is over")]
pub(crate) struct Over;

impl Watch {
    pub(crate) fn until(deadline: Instant) -> Watch {
        Watch {
            deadline,
            is_dropped: AtomicBool::new(false),
        }
    }

    fn check(&self) -> Result<()> {
        match self.is_dropped.load(Ordering::Relaxed) || Instant::now() >= self.deadline {
            true => Err(DataFusionError::External(Box::new(Over))),
            false => Ok(()),
        }
    }
}

/// Ends what is computed for an answer when it is dropped.
pub(crate) struct Stop(pub(crate) Arc<Watch>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// The plan with the looks at the time in it.
pub(crate) fn watched(
    plan: Arc<dyn ExecutionPlan>,
    watch: &Arc<Watch>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|step| {
        let gives_one_for_one = step.children().is_empty()
            || step.is::<FilterExec>()
            || step.is::<ProjectionExec>()
            || step.is::<CooperativeExec>();
        if gives_one_for_one {
            return Ok(Transformed::no(step));
        }
        let input = with_condition(step, watch)?;
        let watch = Arc::clone(watch);
        Ok(Transformed::yes(
            Arc::new(Behind { input, watch }) as Arc<dyn ExecutionPlan>
        ))
    });
    Ok(plan?.data)
}

/// A join with its condition watched; any other step as it is.
fn with_condition(
    step: Arc<dyn ExecutionPlan>,
    watch: &Arc<Watch>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let watched = |filter: &JoinFilter| {
        let condition = Condition {
            inner: Arc::clone(filter.expression()),
            watch: Arc::clone(watch),
        };
        let columns = filter.column_indices().to_vec();
        Some(JoinFilter::new(
            Arc::new(condition),
            columns,
            Arc::clone(filter.schema()),
        ))
    };
    if let Some(join) = step.downcast_ref::<NestedLoopJoinExec>()
        && let Some(filter) = join.filter()
    {
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(watched(filter));
        return Ok(Arc::new(join.build()?));
    }
    if let Some(join) = step.downcast_ref::<HashJoinExec>()
        && let Some(filter) = join.filter()
    {
        return join.builder().with_filter(watched(filter)).build_exec();
    }
    Ok(step)
}

/// The condition of a join, which is an error once the time is over.
#[derive(Debug)]
struct Condition {
    inner: Arc<dyn PhysicalExpr>,
    watch: Arc<Watch>,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl PhysicalExpr for Condition {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.watch.check()?;
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let inner = children.pop().unwrap_or_else(|| Arc::clone(&self.inner));
        let watch = Arc::clone(&self.watch);
        Ok(Arc::new(Condition { inner, watch }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

/// Passes on what a step gives, and looks at the time before each batch.
#[derive(Debug)]
struct Behind {
    input: Arc<dyn ExecutionPlan>,
    watch: Arc<Watch>,
}

impl DisplayAs for Behind {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimnWatch")
    }
}

impl ExecutionPlan for Behind {
    fn name(&self) -> &str {
        "LimnWatch"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        let watch = Arc::clone(&self.watch);
        Ok(Arc::new(Behind { input, watch }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = self.input.execute(part, context)?;
        let watch = Arc::clone(&self.watch);
        // Behind the batch, which is kept meanwhile: a deep plan that let others go first before it
        // would never come to one.
        let batches = batches.then(move |batch| {
            let batch = watch.check().and(batch);
            async move {
                tokio::task::consume_budget().await;
                batch
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }
}
