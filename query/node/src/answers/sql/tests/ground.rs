//! A lake of files in a folder with its index, and a node over it.

use limn_formats::{Format, ObjectRecord, ReadOptions, summarise_file};
use limn_lake::assemble::merge_files;
use limn_lake::{TableFile, TableName};
use limn_models::{Embedder, HashedWords};
use limn_profile::{FileSummary, Redact};
use limn_segment::{ColumnRecord, FileRecord, IndexStore, Shard, Snapshot, TableRecord};
use limn_store::Store;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Access, Arc, Caller, Form, Grant, Node, NodeOptions, Problem, RowsRequest, Running, SqlRequest,
    asked, rows, sql,
};

const ORDERS: &str = "id,town,amount\n1,Eldmere,5\n2,,7\n3,Tarn,\n4,Tarn,2\n5,Ash,9\n";
const CUSTOMERS: &str = "id,name,email\n1,Anna,anna@example.org\n2,Ben,ben@example.org\n";
const STAFF: &str = "id,salary\n1,70\n2,80\n";

/// Tables of one last name.
const LIKE_NAMED: usize = 40;

/// Many numbers, and late among them one that is none.
fn codes() -> String {
    let code = |row: u32| match row {
        30_000 => "none".to_owned(),
        row => row.to_string(),
    };
    let rows = (1..=40_000).map(|row| format!("{row},{}\n", code(row)));
    format!("id,code\n{}", rows.collect::<String>())
}

/// A lake with its index, and a node over it.
pub(super) struct Ground {
    pub(super) folder: TempDir,
    pub(super) node: Arc<Node>,
}

impl Ground {
    pub(super) async fn new() -> Ground {
        Self::with(NodeOptions::new(Access::Open)).await
    }

    pub(super) async fn with(options: NodeOptions) -> Ground {
        let folder = TempDir::new().unwrap();
        let lake = folder.path().join("lake");
        std::fs::create_dir(&lake).unwrap();
        let lake = Store::open(lake.to_str().unwrap()).unwrap();
        let mut records = vec![
            table(&lake, "hr/staff", STAFF).await,
            table(&lake, "shop/codes", &codes()).await,
            table(&lake, "shop/customers", CUSTOMERS).await,
            table(&lake, "shop/orders", ORDERS).await,
        ];
        for lake_of in 10..10 + LIKE_NAMED {
            let name = format!("depths/{lake_of}/table");
            records.push(table(&lake, &name, &format!("depth\n{lake_of}\n")).await);
        }
        records.sort_by(|one, other| one.name.cmp(&other.name));
        let index = folder.path().join("index");
        let index = IndexStore::open(index.to_str().unwrap()).unwrap();
        let embedder = HashedWords;
        let dimensions = embedder.dimensions();
        let mut snapshot = Snapshot::first(&embedder.id().to_string(), dimensions, 1);
        let entry = index.put_catalog(Shard(0), &records).await.unwrap();
        snapshot.catalog.push(entry);
        let node = Node::open(index, snapshot, Arc::new(embedder), options);
        Ground {
            node: Arc::new(node.await.unwrap()),
            folder,
        }
    }

    pub(super) async fn grant(&self, caller: Caller) -> Grant {
        self.node.grant(caller).await.unwrap()
    }

    /// The whole answer to a statement, as JSON.
    pub(super) async fn ask(&self, caller: Caller, asked: &SqlRequest) -> Result<Value, Problem> {
        let grant = self.grant(caller).await;
        let running = sql(&self.node, &grant, asked).await?;
        Ok(serde_json::from_slice(&whole(running, Form::Json).await).unwrap())
    }

    pub(super) async fn says(&self, caller: Caller, statement: &str) -> Problem {
        self.ask(caller, &asked(statement)).await.unwrap_err()
    }

    pub(super) async fn page(&self, asked: &RowsRequest) -> Result<Value, Problem> {
        let grant = self.grant(Caller::anyone()).await;
        let running = rows(&self.node, &grant, asked).await?;
        Ok(serde_json::from_slice(&whole(running, Form::Json).await).unwrap())
    }
}

async fn table(lake: &Store, name: &str, text: &str) -> TableRecord {
    let path = format!("{name}.csv");
    lake.put(&path, text.to_owned().into()).await.unwrap();
    let object = lake.head(&path).await.unwrap();
    let file = TableFile {
        object: ObjectRecord::from(object),
        format: Format::Csv,
        table_name: TableName::parse(name).unwrap(),
        is_beside: false,
        is_alone: false,
        declared: None,
    };
    let options = ReadOptions::default();
    let mut summary = summarise_file(lake, &file.data_file(), &options)
        .await
        .unwrap();
    summary.redact(Redact::Marked);
    record(lake.url(), name, &file, &summary)
}

fn record(lake: &str, name: &str, file: &TableFile, summary: &FileSummary) -> TableRecord {
    let object = &file.object;
    let merged = merge_files(&[(&*object.path, summary)], &[&*object.path]).unwrap();
    let columns = merged.columns.iter().map(|column| ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        sensitive: column.sensitive().map(|it| it.to_string()),
        withheld: column.is_withheld(),
        ..ColumnRecord::default()
    });
    TableRecord {
        lake: lake.to_owned(),
        name: name.to_owned(),
        format: "csv".to_owned(),
        rows: Some(merged.rows),
        columns: columns.collect(),
        files: vec![FileRecord {
            path: object.path.clone(),
            etag: object.etag.clone(),
            version: object.version.clone().map(String::from),
            size: object.size,
            modified_ms: object.modified_ms,
            rows: Some(summary.rows),
            summary: Some(summary.to_stored().unwrap().json),
            ..FileRecord::default()
        }],
        ..TableRecord::default()
    }
}

pub(super) async fn whole(running: Running, form: Form) -> Vec<u8> {
    let mut written = running.written(form);
    let mut bytes = Vec::new();
    while let Some(part) = written.recv().await {
        bytes.extend_from_slice(&part.unwrap());
    }
    bytes
}
