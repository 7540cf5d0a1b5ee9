//! What is in the index and what a scan gives, against the rows that were written.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use futures::TryStreamExt;
use limn_formats::{Comparison, Confined, ReadOptions, Test};
use limn_lake::scan::{FILE_COLUMN, Filter, Part, ROW_COLUMN, Request, ScanError, TableRows};
use limn_segment::TableRecord;

use super::rows::{COLUMNS, Row, has_type};
use crate::common::Lab;

/// The rows of a table as an index has it.
pub fn scanned(lab: &Lab, record: &TableRecord) -> TableRows {
    let files = limn_sql::files_of(record).unwrap();
    let options = ReadOptions {
        confined: lab.options.confined_program.clone().map(Confined::new),
        ..ReadOptions::default()
    };
    TableRows::new(lab.lake.clone(), files, options)
}

pub async fn batches(table: &TableRows, request: Request) -> Result<Vec<RecordBatch>, ScanError> {
    let rows = table.scan(request);
    let report = rows.report();
    let batches = rows.try_collect().await?;
    assert_eq!((report.damaged(), report.misfits()), (vec![], vec![]));
    Ok(batches)
}

/// The profile of a table: its rows, columns, types and counts.
pub fn check_profile(record: &TableRecord, rows: &[Row], others: &[(&str, &str)]) {
    let columns = record.columns.iter();
    let columns = columns.map(|it| (it.name.as_str(), it.data_type.as_str()));
    let mut columns: Vec<_> = columns.collect();
    let mut expected: Vec<_> = COLUMNS.iter().chain(others).copied().collect();
    columns.sort_unstable();
    expected.sort_unstable();
    assert_eq!(columns, expected);
    assert_eq!((record.rows_exact, record.error.as_ref()), (true, None));
    let column = |name: &str| record.columns.iter().find(|it| it.name == name).unwrap();
    let (id, name) = (column("id"), column("name"));
    assert_eq!((id.distinct, id.distinct_exact), (rows.len() as u64, true));
    let bounds = (
        rows.iter().map(|it| it.id).min(),
        rows.iter().map(|it| it.id).max(),
    );
    let text = |it: Option<i64>| it.map(|it| it.to_string());
    assert_eq!(
        (id.min.clone(), id.max.clone()),
        (text(bounds.0), text(bounds.1))
    );
    let nulls = rows.iter().filter(|it| it.name.is_none()).count();
    assert_eq!(
        (name.null_share * rows.len() as f64).round() as usize,
        nulls
    );
    let at = |name: &str| {
        record
            .columns
            .iter()
            .position(|it| it.name == name)
            .unwrap()
    };
    let (id, name) = (at("id"), at("name"));
    let sampled = record.sample.iter().map(|row| Row {
        id: row[id].as_ref().unwrap().parse().unwrap(),
        name: row[name].clone(),
    });
    let mut sampled: Vec<Row> = sampled.collect();
    sampled.sort();
    assert_eq!(sampled, rows, "a sample of all rows");
}

/// The scan of a table: all of it, some columns, some rows, and which rows they are.
pub async fn check_scan(table: &TableRows, rows: &[Row], others: &[(&str, &str)]) {
    let schema = table.schema();
    let at = |name: &str| schema.index_of(name).unwrap();
    assert_eq!(schema.fields().len(), COLUMNS.len() + others.len());
    for (name, kind) in COLUMNS {
        let found = schema.field(at(name)).data_type();
        assert!(has_type(kind, found), "{name}: {found}");
    }
    let all = batches(table, Request::default()).await.unwrap();
    assert_eq!(read(&all), rows);
    let some = Request {
        columns: Some(vec![at("name"), at("id")]),
        ..Request::default()
    };
    let some = batches(table, some).await.unwrap();
    assert!(some.iter().all(|it| it.num_columns() == 2));
    assert_eq!(read(&some), rows);
    let limited = Request {
        limit: Some(2),
        ..Request::default()
    };
    let limited = read(&batches(table, limited).await.unwrap());
    assert!(limited.len() == 2 && limited.iter().all(|row| rows.contains(row)));
    let last = rows.last().unwrap().id;
    let filtered = Request {
        filters: vec![Filter {
            column: at("id"),
            test: Test::Is(
                Comparison::GreaterOrEqual,
                Arc::new(Int64Array::from(vec![last])),
            ),
        }],
        ..Request::default()
    };
    assert_eq!(
        read(&batches(table, filtered).await.unwrap()),
        [rows.last().unwrap().clone()]
    );
    let mut parted = Vec::new();
    for number in 0..3 {
        let part = Request {
            part: Part { number, of: 3 },
            ..Request::default()
        };
        parted.extend(read(&batches(table, part).await.unwrap()));
    }
    parted.sort();
    assert_eq!(parted, rows);
    let numbered = Request {
        columns: Some(vec![at("id")]),
        row_ids: true,
        ..Request::default()
    };
    let mut distinct = BTreeSet::new();
    for batch in batches(table, numbered).await.unwrap() {
        let files = text(&batch, FILE_COLUMN);
        let numbers = batch.column_by_name(ROW_COLUMN).unwrap().clone();
        let numbers = numbers.as_primitive::<UInt64Type>();
        let ids = files.iter().zip(numbers.values());
        distinct.extend(ids.map(|(file, row)| (file.unwrap().to_owned(), *row)));
    }
    assert_eq!(distinct.len(), rows.len(), "{distinct:?}");
}

fn text(batch: &RecordBatch, column: &str) -> StringArray {
    let column = batch.column_by_name(column).unwrap();
    cast(column, &DataType::Utf8).unwrap().as_string().clone()
}

/// The rows of batches, by their numbers.
fn read(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let ids = cast(batch.column_by_name("id").unwrap(), &DataType::Int64).unwrap();
        let (ids, names) = (ids.as_primitive::<Int64Type>().clone(), text(batch, "name"));
        for (id, name) in ids.values().iter().zip(&names) {
            rows.push(Row {
                id: *id,
                name: name.map(str::to_owned),
            });
        }
        if let Some(day) = batch.column_by_name("day") {
            let days = cast(day, &DataType::Utf8).unwrap();
            let expected: Vec<String> = rows[rows.len() - ids.len()..]
                .iter()
                .map(Row::day)
                .collect();
            assert_eq!(days.as_string::<i32>(), &StringArray::from(expected));
        }
    }
    rows.sort();
    rows
}
