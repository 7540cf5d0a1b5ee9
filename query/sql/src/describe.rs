//! What DESCRIBE, SHOW COLUMNS and SHOW TABLES answer: what the index knows, without a look at the
//! lake's files.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow::compute::{filter_record_batch, ilike, like};
use arrow::error::ArrowError;

use crate::catalogue::{Catalogue, Line};
use crate::cells::type_word;
use crate::error::SqlError;
use crate::statement::Pattern;
use crate::table::Table;

/// A table's columns: name, type, and what is known of each in words.
pub(crate) fn columns(table: &Table) -> Result<RecordBatch, SqlError> {
    let mut names: Vec<&str> = Vec::new();
    let mut types: Vec<Option<&str>> = Vec::new();
    let mut about: Vec<Option<String>> = Vec::new();
    for field in table.schema.fields() {
        let known = table.column(field.name());
        let words = known.and_then(|it| it.description.clone().or_else(|| it.narration.clone()));
        names.push(field.name());
        types.push(Some(type_word(field.data_type())));
        about.push(words);
    }
    for hidden in &table.withheld {
        names.push(&hidden.name);
        types.push(None);
        about.push(Some(match &hidden.sensitive {
            Some(kind) => format!("withheld: it holds {kind}"),
            None => "withheld".to_owned(),
        }));
    }
    let columns: [(&str, ArrayRef); 3] = [
        ("column", Arc::new(StringArray::from(names))),
        ("type", Arc::new(StringArray::from(types))),
        ("about", Arc::new(StringArray::from(about))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, it)| (name, it, true)))
        .map_err(|error| failed(&error))
}

/// The tables whose names are like a pattern; with their lakes, where there are several.
pub(crate) fn tables(
    catalogue: &Catalogue,
    pattern: Option<&Pattern>,
) -> Result<RecordBatch, SqlError> {
    let mut tables: Vec<Line<'_>> = catalogue.lines().collect();
    tables.sort_unstable_by_key(|it| (it.name, it.lake));
    let names = StringArray::from_iter_values(tables.iter().map(|it| it.name));
    let wanted = pattern.map(|pattern| wanted(&names, pattern)).transpose()?;
    let counted = tables.iter().map(|it| u64::try_from(it.columns).ok());
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("table", Arc::new(names)),
        (
            "rows",
            Arc::new(UInt64Array::from_iter(tables.iter().map(|it| it.rows))),
        ),
        ("columns", Arc::new(UInt64Array::from_iter(counted))),
    ];
    if catalogue.has_several_lakes() {
        let lakes = StringArray::from_iter_values(tables.iter().map(|it| it.lake));
        columns.push(("lake", Arc::new(lakes)));
    }
    let columns = columns.into_iter().map(|(name, it)| (name, it, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns);
    let batch = batch.map_err(|error| failed(&error))?;
    match wanted {
        Some(wanted) => filter_record_batch(&batch, &wanted).map_err(|error| failed(&error)),
        None => Ok(batch),
    }
}

fn wanted(names: &StringArray, pattern: &Pattern) -> Result<BooleanArray, SqlError> {
    let text = StringArray::new_scalar(&pattern.like);
    let matching = match pattern.any_case {
        true => ilike(names, &text),
        false => like(names, &text),
    };
    matching.map_err(|error| SqlError::Plan(limn_store::one_line(&error.to_string())))
}

fn failed(error: &ArrowError) -> SqlError {
    SqlError::Internal(limn_store::one_line(&error.to_string()))
}
