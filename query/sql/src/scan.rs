//! The step of a plan that reads a table: DataFusion's side of [`TableRows::scan`].

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
    SendableRecordBatchStream,
};
use futures::TryStreamExt;
use limn_lake::scan::{Part, Request};

use crate::notes::Notes;
use crate::stale::Stale;
use crate::table::Table;

/// Reads rows of a table, in parts.
pub(crate) struct ScanStep {
    table: Arc<Table>,
    request: Request,
    /// The conditions that the request's filters are, in SQL.
    conditions: Vec<String>,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    notes: Arc<Notes>,
}

impl ScanStep {
    /// `schema` is that of the rows that the request asks for.
    pub(crate) fn new(
        table: Arc<Table>,
        request: Request,
        conditions: Vec<String>,
        parts: u32,
        (schema, statistics): (SchemaRef, Statistics),
        notes: Arc<Notes>,
    ) -> ScanStep {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(parts.max(1) as usize),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        ScanStep {
            table,
            request,
            conditions,
            statistics: Arc::new(statistics),
            properties: Arc::new(properties),
            notes,
        }
    }

    fn parts(&self) -> usize {
        self.properties.partitioning.partition_count()
    }
}

impl fmt::Debug for ScanStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for ScanStep {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimnScan: {}", self.table.name())?;
        let schema = self.properties.eq_properties.schema();
        let columns: Vec<&str> = schema
            .fields()
            .iter()
            .map(|it| it.name().as_str())
            .collect();
        write!(f, ", columns=[{}]", columns.join(", "))?;
        if !self.conditions.is_empty() {
            write!(f, ", where=[{}]", self.conditions.join(" AND "))?;
        }
        if let Some(limit) = self.request.limit {
            write!(f, ", limit={limit}")?;
        }
        write!(
            f,
            ", files={}, parts={}",
            self.table.rows.files(),
            self.parts()
        )
    }
}

impl ExecutionPlan for ScanStep {
    fn name(&self) -> &str {
        "LimnScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let number = |it: usize| {
            u32::try_from(it).map_err(|error| DataFusionError::External(Box::new(error)))
        };
        let request = Request {
            part: Part {
                number: number(partition)?,
                of: number(self.parts())?,
            },
            ..self.request.clone()
        };
        let rows = self.table.rows.scan(request);
        self.notes.of_scan(&self.table, rows.report());
        let record = Arc::clone(&self.table.record);
        let rows = rows.map_err(move |error| {
            DataFusionError::External(match Stale::of(&error, &record) {
                Some(stale) => Box::new(stale),
                None => Box::new(error),
            })
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match args.partition() {
            // How the rows are spread over the parts is not known.
            Some(_) if self.parts() > 1 => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
            _ => Ok(Arc::clone(&self.statistics)),
        }
    }

    fn fetch(&self) -> Option<usize> {
        // Of several parts each may yield as many.
        let limit = self.request.limit.filter(|_| self.parts() == 1)?;
        usize::try_from(limit).ok()
    }
}
