//! Joins that multiply rows, as far as the index's counts of distinct values say so.

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use crate::notes::Notes;

/// Rows of a join up to which nothing is said.
const FEW: usize = 1_000;
/// A join multiplies rows where it has so many times as many as its larger side.
const TIMES: usize = 4;

/// Notes the joins of a plan that multiply rows.
pub(crate) fn note(plan: &dyn ExecutionPlan, notes: &Notes) {
    let known = StatisticsContext::new();
    let rows = |step: &dyn ExecutionPlan| {
        let statistics = known.compute(step, &StatisticsArgs::new()).ok()?;
        statistics.num_rows.get_value().copied()
    };
    let mut left = vec![plan];
    while let Some(step) = left.pop() {
        let inputs = step.children();
        if let [a, b] = inputs.as_slice()
            && step.name().contains("Join")
            && let (Some(of_a), Some(of_b)) = (rows(a.as_ref()), rows(b.as_ref()))
            && let Some(joined) = rows(step)
            && joined > FEW.max(TIMES.saturating_mul(of_a.max(of_b)))
        {
            notes.add(format!(
                "a join makes about {joined} rows of {of_a} and {of_b}: neither side has each of the joined values once, so that sums and counts over it are too large"
            ));
        }
        left.extend(inputs.into_iter().map(AsRef::as_ref));
    }
}
