//! A Parquet footer's statistics of a column: null counts, minimum and maximum, over all row
//! groups.
//!
//! Used where only a part of the values is read. Each is taken only if every row group gives it,
//! and a bound only if it is a value of the column: writers may shorten long text, and old ones
//! ordered text by signed bytes.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::FieldRef;
use limn_profile::DataType;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::ParquetMetaData;

use crate::render::{Renderer, Styles, data_type, prepare};

/// What is known of one column.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) nulls: Option<u64>,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
}

/// The statistics of the leaf column `leaf`, which is a column of the table and not part of one.
pub(super) fn known(metadata: &ParquetMetaData, leaf: usize, field: &FieldRef) -> Known {
    read(metadata, leaf, field).unwrap_or_default()
}

fn read(metadata: &ParquetMetaData, leaf: usize, field: &FieldRef) -> Option<Known> {
    let schema = metadata.file_metadata().schema_descr();
    let converter = StatisticsConverter::from_column_index(leaf, field, schema)
        .ok()?
        .with_missing_null_counts_as_zero(false);
    let groups = metadata.row_groups();
    let null_counts = converter.row_group_null_counts(groups).ok()?;
    let nulls = (null_counts.null_count() == 0).then(|| null_counts.iter().flatten().sum());

    let kind = data_type(field.data_type());
    // A group of nulls has no bounds and needs none.
    let empty =
        |i: usize| null_counts.is_valid(i) && null_counts.value(i) == groups[i].num_rows() as u64;
    let text_by_signed_bytes = || {
        kind == DataType::Text
            && groups.iter().any(|group| {
                group
                    .column(leaf)
                    .statistics()
                    .is_some_and(|s| s.is_min_max_deprecated())
            })
    };
    let bound = |values: ArrayRef, exact: &BooleanArray, better: Ordering| {
        let cut = |i| kind == DataType::Text && !(exact.is_valid(i) && exact.value(i));
        if (0..groups.len()).any(|i| !empty(i) && (values.is_null(i) || cut(i))) {
            return None;
        }
        best(field, &values, &kind, better)
    };
    let (mut min, mut max) = (None, None);
    if !matches!(kind, DataType::Binary | DataType::Other(_)) && !text_by_signed_bytes() {
        let mins = converter.row_group_mins(groups).ok()?;
        let maxes = converter.row_group_maxes(groups).ok()?;
        min = bound(
            mins,
            &converter.row_group_is_min_value_exact(groups).ok()?,
            Ordering::Less,
        );
        max = bound(
            maxes,
            &converter.row_group_is_max_value_exact(groups).ok()?,
            Ordering::Greater,
        );
    }
    Some(Known { nulls, min, max })
}

/// The least or greatest value of an array, as text.
fn best(field: &FieldRef, values: &ArrayRef, kind: &DataType, better: Ordering) -> Option<String> {
    let styles = Styles::default();
    let values = prepare(values);
    let mut renderer = Renderer::new(field, &values, &styles);
    let mut buffer = String::new();
    let mut best: Option<String> = None;
    for i in 0..values.len() {
        if let Some(text) = renderer.text(i, &mut buffer)
            && best
                .as_ref()
                .is_none_or(|best| kind.compare(text, best) == better)
        {
            best = Some(text.to_owned());
        }
    }
    best
}
