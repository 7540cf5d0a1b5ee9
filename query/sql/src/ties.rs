//! Rows that an order leaves equal where a LIMIT cuts them.
//!
//! `ORDER BY x DESC LIMIT 1` gives one row also where several have the greatest x, and says nothing
//! of the others. So the plan of such a query reads a few rows more, each with the keys of its
//! order, in the same scan; those rows are counted where they equal the last one that is kept, and
//! go no further.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::tree_node::TreeNode;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::logical_plan::{FetchType, SkipType};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort};

/// Rows behind the last one that are read.
const BEYOND: usize = 20;
/// Rows that tie which are given.
const GIVEN: usize = 5;
/// What the keys of the order are called.
const KEY: &str = "__limn_key_";

/// Rows of which a LIMIT keeps some and leaves out others, though their order says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Tie {
    /// The place that all of them have, from 1.
    pub place: usize,
    /// How many there are, as far as they were read.
    pub count: usize,
    /// Whether there may be more.
    pub is_more: bool,
    /// How many of them the answer has.
    pub kept: usize,
    /// The first of them.
    pub rows: RecordBatch,
}

/// Where the rows of a plan are cut.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    skipped: usize,
    kept: usize,
    /// How many columns are keys of the order; they come last.
    keys: usize,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    rows: usize,
    converter: Option<RowConverter>,
    /// The rows that are equal to the last one that is kept.
    run: Option<Run>,
    beyond: usize,
    has_ended: bool,
}

#[derive(Debug)]
struct Run {
    key: OwnedRow,
    from: usize,
    count: usize,
    first: Vec<RecordBatch>,
}

/// A plan that reads a few rows more than its LIMIT, with the first so many keys of its order; as
/// it is, where it is no order that is cut.
pub(crate) fn looked_beyond(
    plan: LogicalPlan,
    deciding: usize,
) -> Result<(LogicalPlan, Option<Cut>), DataFusionError> {
    let Some((sort, columns, skipped, kept)) = parts(&plan)? else {
        return Ok((plan, None));
    };
    let keys = sort.expr.iter().take(deciding);
    let keys: Vec<Expr> = keys.map(|it| it.expr.clone()).collect();
    let schema = plan.schema();
    let is_taken = schema.fields().iter().any(|it| it.name().starts_with(KEY));
    if is_taken || kept == 0 || keys.is_empty() || !keys.iter().all(is_plain) {
        return Ok((plan, None));
    }
    let cut = Cut {
        skipped,
        kept,
        keys: keys.len(),
        seen: Arc::default(),
    };
    let keys = keys.into_iter().enumerate();
    let keys = keys.map(|(at, it)| it.alias(format!("{KEY}{at}")));
    let columns = columns.into_iter().chain(keys).collect();
    let sorted = Arc::new(LogicalPlan::Sort(sort.clone()));
    let with_keys = LogicalPlan::Projection(Projection::try_new(columns, sorted)?);
    let most = kept.saturating_add(BEYOND);
    let plan = LogicalPlanBuilder::from(with_keys).limit(skipped, Some(most))?;
    Ok((plan.build()?, Some(cut)))
}

/// Whether an expression can be written twice: it is computed of its row, and of that alone.
fn is_plain(key: &Expr) -> bool {
    let is_more = |it: &Expr| {
        let is_more = matches!(
            it,
            Expr::AggregateFunction(_)
                | Expr::WindowFunction(_)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
        );
        Ok(is_more)
    };
    !key.is_volatile() && !key.exists(is_more).unwrap_or(true)
}

/// The order that a plan cuts, the columns that come out, and how many rows are skipped and kept.
#[allow(clippy::type_complexity, reason = "read at once")]
fn parts(plan: &LogicalPlan) -> Result<Option<(&Sort, Vec<Expr>, usize, usize)>, DataFusionError> {
    let LogicalPlan::Limit(limit) = plan else {
        return Ok(None);
    };
    let (SkipType::Literal(skipped), FetchType::Literal(Some(kept))) =
        (limit.get_skip_type()?, limit.get_fetch_type()?)
    else {
        return Ok(None);
    };
    let (sort, columns) = match limit.input.as_ref() {
        LogicalPlan::Sort(sort) => {
            let columns = sort.input.schema().columns();
            (sort, columns.into_iter().map(Expr::Column).collect())
        }
        LogicalPlan::Projection(projection) => match projection.input.as_ref() {
            LogicalPlan::Sort(sort) => (sort, projection.expr.clone()),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some((sort, columns, skipped, kept)))
}

impl Cut {
    /// The columns without the keys.
    pub(crate) fn schema(&self, schema: &Schema) -> SchemaRef {
        let fields = schema.fields().iter();
        let own = schema.fields().len().saturating_sub(self.keys);
        let fields: Vec<_> = fields.take(own).cloned().collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// The rows of a batch that are kept, without the keys.
    pub(crate) fn kept(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let schema = self.schema(batch.schema_ref());
        let (columns, keys) = batch.columns().split_at(schema.fields().len());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let own = RecordBatch::try_new_with_options(schema, columns.to_vec(), &options)?;
        let kept = self.kept.saturating_sub(seen.rows).min(own.num_rows());
        seen.add(&own, keys, self.kept)?;
        Ok(own.slice(0, kept))
    }

    /// The rows that tie at the cut, once all have been read.
    pub(crate) fn tie(&self) -> Option<Tie> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let run = seen.run.as_ref().filter(|_| seen.beyond > 0)?;
        Some(Tie {
            place: self.skipped + run.from + 1,
            count: run.count,
            is_more: seen.beyond == BEYOND,
            kept: self.kept - run.from,
            rows: concat_batches(&run.first.first()?.schema(), &run.first).ok()?,
        })
    }
}

impl Seen {
    fn add(&mut self, own: &RecordBatch, keys: &[ArrayRef], kept: usize) -> Result<(), ArrowError> {
        let fields = keys.iter().map(|it| SortField::new(it.data_type().clone()));
        let fields: Vec<SortField> = fields.collect();
        if self.has_ended || !RowConverter::supports_fields(&fields) {
            self.has_ended = true;
            self.rows += own.num_rows();
            return Ok(());
        }
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => none.insert(RowConverter::new(fields)?),
        };
        let rows = converter.convert_columns(keys)?;
        // Where the rows that are equal to the last one begin, if they do in this batch.
        let (mut begins, mut ends) = (None, 0);
        for (at, key) in rows.iter().enumerate() {
            let is_kept = self.rows + at < kept;
            let is_equal = match (begins, &self.run) {
                (Some(begins), _) => rows.row(begins) == key,
                (None, run) => run.as_ref().is_some_and(|it| it.key.row() == key),
            };
            match (is_equal, is_kept) {
                (true, _) => self.beyond += usize::from(!is_kept),
                (false, true) => begins = Some(at),
                (false, false) => {
                    self.has_ended = true;
                    break;
                }
            }
            ends = at + 1;
        }
        let run = match (begins, self.run.take()) {
            (None, run) => run,
            (Some(begins), _) => Some(Run {
                key: rows.row(begins).owned(),
                from: self.rows + begins,
                count: 0,
                first: Vec::new(),
            }),
        };
        self.run = run.map(|mut run| {
            let begins = begins.unwrap_or(0);
            let here = ends - begins;
            let first = here.min(GIVEN.saturating_sub(run.count));
            run.first.push(own.slice(begins, first));
            run.count += here;
            run
        });
        self.rows += own.num_rows();
        Ok(())
    }
}
