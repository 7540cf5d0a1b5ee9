//! What the index knows of a table's rows and values, as the optimiser wants to know it: which side
//! of a join is the smaller, how many groups there may be. Only the number of rows may be exact; an
//! answer is never made of the rest.

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use limn_formats::{Comparison, Test};
use limn_lake::scan::Filter;
use limn_segment::ColumnRecord;

use crate::table::Table;

/// The share of rows that passes a filter of which nothing is known.
const SHARE: f64 = 1.0 / 3.0;

/// Of a table's columns that are not withheld.
pub(crate) fn of_table(table: &Table) -> Statistics {
    let record = &table.record;
    let rows = record.rows.and_then(|rows| usize::try_from(rows).ok());
    let num_rows = match rows {
        Some(rows) if record.rows_exact && table.left_out == 0 => Precision::Exact(rows),
        Some(rows) => Precision::Inexact(rows),
        None => Precision::Absent,
    };
    let column_statistics =
        table
            .schema
            .fields()
            .iter()
            .map(|field| match table.column(field.name()) {
                Some(column) => of_column(column, rows),
                None => ColumnStatistics::new_unknown(),
            });
    Statistics {
        num_rows,
        total_byte_size: Precision::Absent,
        column_statistics: column_statistics.collect(),
    }
}

/// Without the least and greatest value: DataFusion takes those that are the same for all that a
/// filter lets pass, and the index has those of the values that it looked at.
fn of_column(column: &ColumnRecord, rows: Option<usize>) -> ColumnStatistics {
    // A share of what was looked at; `as` rounds what is no number to zero.
    let nulls = |rows: usize| (column.null_share * rows as f64).round() as usize;
    let distinct = usize::try_from(column.distinct).ok();
    ColumnStatistics::new_unknown()
        .with_null_count(rows.map_or(Precision::Absent, |it| Precision::Inexact(nulls(it))))
        .with_distinct_count(distinct.map_or(Precision::Absent, Precision::Inexact))
}

/// Of the rows that a scan yields: these columns, the rows that pass the filters (by place in
/// `schema`), no more than the limit.
pub(crate) fn of_scan(
    table: &Statistics,
    schema: &SchemaRef,
    projection: Option<&Vec<usize>>,
    filters: &[Filter],
    limit: Option<usize>,
) -> Statistics {
    let mut statistics = table.clone();
    if !filters.is_empty() {
        let share: f64 = filters
            .iter()
            .map(|filter| share(filter, statistics.column_statistics.get(filter.column)))
            .product();
        let rows = statistics.num_rows;
        statistics = statistics.to_inexact();
        statistics.num_rows = rows.with_estimated_selectivity(share).to_inexact();
    }
    if let Some(limit) = limit {
        statistics.num_rows = match statistics.num_rows {
            Precision::Exact(rows) => Precision::Exact(rows.min(limit)),
            Precision::Inexact(rows) => Precision::Inexact(rows.min(limit)),
            Precision::Absent => Precision::Inexact(limit),
        };
    }
    let mut statistics = statistics.project(projection);
    let columns: Vec<usize> = match projection {
        Some(columns) => columns.clone(),
        None => (0..schema.fields().len()).collect(),
    };
    if let Ok(schema) = schema.project(&columns) {
        statistics.calculate_total_byte_size(&schema);
    }
    statistics
}

/// The share of rows that passes a filter, about.
fn share(filter: &Filter, column: Option<&ColumnStatistics>) -> f64 {
    let distinct = column.and_then(|it| it.distinct_count.get_value().copied());
    let one = distinct.map_or(SHARE, |it| 1.0 / it.max(1) as f64);
    match &filter.test {
        Test::Is(Comparison::Equal, _) => one,
        Test::In(values) => (one * values.len() as f64).min(1.0),
        Test::IsNotNull => 1.0,
        Test::Is(..) | Test::IsNull => SHARE,
    }
}
