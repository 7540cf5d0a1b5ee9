//! Statements over tables of a lake in memory, which the scan reads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bounds;
mod columns;
mod groups;
mod inputs;
mod queries;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use bytes::Bytes;
use futures::TryStreamExt;
use limn_formats::{Format, ObjectRecord, ReadOptions, summarise_file};
use limn_lake::assemble::merge_files;
use limn_lake::{TableFile, TableName};
use limn_profile::{FileSummary, Redact};
use limn_segment::{ColumnRecord, FileRecord, TableRecord};
use limn_store::Store;

use crate::{Catalogue, Engine, Lake, Limits, ReadCounts, SqlError};

/// A lake and the tables that its index has.
struct Made {
    store: Store,
    tables: Vec<TableRecord>,
}

const CUSTOMERS: &str = "CustomerID,Name,e_mail,Joined,Credit\n\
    1,Anna,anna@example.org,2024-01-05,10.5\n\
    2,Ben,ben@example.org,2024-02-01,\n\
    3,Cleo,cleo@example.org,2023-12-31,7\n\
    4,,dora@example.org,2022-07-01,0.5\n";
const ORDERS_1: &str = "OrderID,customerid,Amount,Day\n\
    100,1,5,2024-03-01\n101,1,7,2024-03-02\n102,2,11,2024-03-02\n";
const ORDERS_2: &str = "OrderID,customerid,Amount,Day\n\
    103,3,2,2024-04-01\n104,9,1,2024-04-02\n";
const STAFF: &str = "ID,id_old,Name\n1,7,Anna\n2,8,Emil\n";

impl Made {
    async fn new() -> Made {
        let mut made = Made {
            store: Store::in_memory(),
            tables: Vec::new(),
        };
        made.table(
            "crm/Customers",
            &[("crm/Customers.csv", CUSTOMERS)],
            Redact::Marked,
        )
        .await;
        let orders = [
            ("sales/orders/1.csv", ORDERS_1),
            ("sales/orders/2.csv", ORDERS_2),
        ];
        made.table("sales/orders", &orders, Redact::Off).await;
        made.table("hr/staff", &[("hr/staff.csv", STAFF)], Redact::Off)
            .await;
        made
    }

    async fn table(&mut self, name: &str, files: &[(&str, &str)], redact: Redact) {
        let mut read: Vec<(TableFile, FileSummary)> = Vec::new();
        for (path, text) in files {
            let content = Bytes::from((*text).to_owned());
            self.store.put(path, content).await.unwrap();
            let object = self.store.head(path).await.unwrap();
            let file = TableFile {
                object: ObjectRecord::from(object),
                format: Format::of_path(path).unwrap(),
                table_name: TableName::parse(name).unwrap(),
                is_beside: false,
                is_alone: false,
                declared: None,
            };
            let options = ReadOptions::default();
            let mut summary = summarise_file(&self.store, &file.data_file(), &options)
                .await
                .unwrap();
            summary.redact(redact);
            read.push((file, summary));
        }
        self.tables.push(record(name, &read));
    }

    fn engine(&self, limits: Limits) -> Engine {
        let store = self.store.clone();
        let open = move |_: &str| {
            Ok(Lake {
                store: store.clone(),
                options: ReadOptions::default(),
            })
        };
        Engine::new(Catalogue::new(self.tables.clone(), open), limits)
    }

    async fn ask(&self, sql: &str) -> Result<Answer, SqlError> {
        ask(&self.engine(Limits::default()), sql).await
    }
}

fn record(name: &str, read: &[(TableFile, FileSummary)]) -> TableRecord {
    let files = read.iter().map(|(file, summary)| FileRecord {
        path: file.object.path.clone(),
        etag: file.object.etag.clone(),
        version: file.object.version.clone().map(String::from),
        size: file.object.size,
        modified_ms: file.object.modified_ms,
        rows: Some(summary.rows),
        summary: Some(summary.to_stored().unwrap().json),
        ..FileRecord::default()
    });
    let summaries: Vec<(&str, &FileSummary)> = read
        .iter()
        .map(|(file, summary)| (file.object.path.as_str(), summary))
        .collect();
    let paths: Vec<&str> = summaries.iter().map(|it| it.0).collect();
    let merged = merge_files(&summaries, &paths).unwrap();
    let columns = merged.columns.iter().map(|column| ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        null_share: column.profile.null_share(),
        distinct: column.profile.distinct(),
        min: column.profile.min.clone(),
        max: column.profile.max.clone(),
        sensitive: column.sensitive().map(|it| it.to_string()),
        withheld: column.is_withheld(),
        ..ColumnRecord::default()
    });
    TableRecord {
        lake: "/lake".to_owned(),
        name: name.to_owned(),
        format: "csv".to_owned(),
        rows: Some(merged.rows),
        rows_exact: merged.rows_exact,
        columns: columns.collect(),
        files: files.collect(),
        ..TableRecord::default()
    }
}

/// An answer that has ended.
#[derive(Debug)]
struct Answer {
    batches: Vec<RecordBatch>,
    is_truncated: bool,
    is_partial: bool,
    notes: Vec<String>,
    read: ReadCounts,
}

async fn ask(engine: &Engine, sql: &str) -> Result<Answer, SqlError> {
    let mut answer = engine.run(sql).await?;
    let mut batches = vec![RecordBatch::new_empty(answer.schema())];
    while let Some(batch) = answer.try_next().await? {
        assert_eq!(
            batch.schema().fields().len(),
            answer.schema().fields().len()
        );
        batches.push(batch);
    }
    Ok(Answer {
        batches,
        is_truncated: answer.is_truncated(),
        is_partial: answer.is_partial(),
        notes: answer.notes(),
        read: answer.read(),
    })
}

impl Answer {
    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn columns(&self) -> Vec<String> {
        let schema = self.batches[0].schema();
        schema.fields().iter().map(|it| it.name().clone()).collect()
    }

    /// The rows, a line each, cells with a bar between.
    fn lines(&self) -> Vec<String> {
        let text = pretty_format_batches(&self.batches).unwrap().to_string();
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
        let cells = |line: &str| {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            cells.collect::<Vec<_>>().join("|")
        };
        lines.map(cells).collect()
    }
}

fn shared(tables: Vec<TableRecord>, store: &Store) -> Arc<Catalogue> {
    let store = store.clone();
    let open = move |_: &str| {
        Ok(Lake {
            store: store.clone(),
            options: ReadOptions::default(),
        })
    };
    Arc::new(Catalogue::new(tables, open))
}
