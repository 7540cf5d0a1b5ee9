//! Files of tables that have a log: columns by what the log calls them, and rows without those that
//! it has deleted, in the scan as in the profile.

use arrow::datatypes::{Field, Schema};
use base64::Engine;
use limn_formats::{Declaration, column_type};
use limn_profile::{Constant, DeclaredReading, Deletes, Logged, LoggedColumn, LoggedTable};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use roaring::RoaringTreemap;

use super::*;
use crate::assemble::merge_files;

fn declared(logged: Logged) -> Option<Arc<Declaration>> {
    Some(Arc::new(Declaration {
        reading: DeclaredReading {
            logged: Some(Box::new(logged)),
            ..DeclaredReading::default()
        },
        ..Declaration::default()
    }))
}

fn column(name: &str, id: i32, arrow: &Arrow) -> LoggedColumn {
    let (data_type, arrow_type) = column_type(arrow);
    LoggedColumn {
        name: name.to_owned(),
        id: Some(id),
        data_type,
        arrow_type,
        ..LoggedColumn::default()
    }
}

/// A table of Parquet files, each with what its log says of it.
struct Ground {
    store: Store,
    files: Vec<(TableFile, FileSummary)>,
}

impl Ground {
    async fn new(table: LoggedTable) -> Ground {
        let mut ground = Ground {
            store: Store::in_memory(),
            files: Vec::new(),
        };
        let log = Logged {
            table: Some(table),
            ..Logged::default()
        };
        let object = ObjectRecord::unversioned("t/_delta_log", 0);
        ground
            .add(object, Format::Delta, log, &ReadOptions::default())
            .await;
        ground
    }

    async fn add(
        &mut self,
        object: ObjectRecord,
        format: Format,
        logged: Logged,
        options: &ReadOptions,
    ) {
        let file = TableFile {
            table_name: TableName::parse("t").unwrap(),
            object,
            format,
            is_beside: false,
            is_alone: false,
            declared: declared(logged),
        };
        let summary = summarise_file(&self.store, &file.data_file(), options)
            .await
            .unwrap();
        let kept = summary.to_stored().unwrap().read().unwrap();
        self.files.push((file, kept));
    }

    async fn put(&self, path: &str, content: Vec<u8>) -> ObjectRecord {
        self.store.put(path, content.into()).await.unwrap();
        ObjectRecord::from(self.store.head(path).await.unwrap())
    }

    async fn parquet(&mut self, path: &str, batch: &RecordBatch, logged: Logged) {
        let object = self.put(path, parquet_of(batch, 4)).await;
        self.add(object, Format::Parquet, logged, &ReadOptions::default())
            .await;
    }

    fn rows(&self) -> TableRows {
        TableRows::new(
            self.store.clone(),
            self.files.clone(),
            ReadOptions::default(),
        )
    }

    fn merged(&self) -> limn_profile::TableSummary {
        let parts: Vec<(&str, &FileSummary)> = self
            .files
            .iter()
            .map(|(file, summary)| (file.object.path.as_str(), summary))
            .collect();
        let paths: Vec<&str> = parts.iter().map(|(path, _)| *path).collect();
        merge_files(&parts, &paths).unwrap()
    }
}

/// A batch whose columns have these ids.
fn batch(columns: Vec<(&str, i32, ArrayRef)>) -> RecordBatch {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, id, array) in columns {
        let id = (PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
        let field = Field::new(name, array.data_type().clone(), true);
        fields.push(field.with_metadata([id].into()));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn whole(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// A vector that deletes these rows.
fn vector(rows: impl IntoIterator<Item = u64>) -> Deletes {
    let mut bytes = vec![0xd1, 0xd3, 0x39, 0x64];
    let rows: RoaringTreemap = rows.into_iter().collect();
    rows.serialize_into(&mut bytes).unwrap();
    Deletes::Inline(base64::engine::general_purpose::STANDARD.encode(bytes))
}

fn deleting(deletes: Vec<Deletes>) -> Logged {
    Logged {
        deletes,
        ..Logged::default()
    }
}

#[tokio::test]
async fn columns_are_the_logs_whatever_files_call_them() {
    let mut ground = Ground::new(LoggedTable {
        columns: vec![
            column("day", 7, &Arrow::Date32),
            column("called", 2, &Arrow::Utf8View),
            column("n", 1, &Arrow::Int64),
            LoggedColumn {
                missing: Some("unknown".to_owned()),
                ..column("state", 4, &Arrow::Utf8View)
            },
        ],
        description: Some("What was sold".to_owned()),
        key: vec!["n".to_owned()],
        notes: Vec::new(),
        nested: None,
    })
    .await;
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let old = batch(vec![
        ("n", 1, narrow),
        ("name", 2, texts(&[Some("a"), None])),
        ("gone", 3, texts(&[Some("secret"), Some("secret")])),
    ]);
    let day = |day: Option<&str>| Logged {
        constants: vec![Constant {
            id: Some(7),
            name: String::new(),
            value: day.map(str::to_owned),
        }],
        ..Logged::default()
    };
    ground
        .parquet("t/day=x/a.parquet", &old, day(Some("2024-02-29")))
        .await;
    let new = batch(vec![
        ("state", 4, texts(&[Some("new")])),
        ("n", 1, whole([3])),
        ("called", 2, texts(&[Some("c")])),
    ]);
    ground.parquet("t/day=x/b.parquet", &new, day(None)).await;
    let rows = ground.rows();
    let expected = ["day Date32", "called Utf8View", "n Int64", "state Utf8View"];
    assert_eq!(types(&rows), expected);
    let expected = [
        "2024-02-29|a|1|unknown",
        "2024-02-29|-|2|unknown",
        "-|c|3|new",
    ];
    assert_eq!(all(&rows).await, expected);
    let merged = ground.merged();
    let names: Vec<&str> = merged.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["day", "called", "n", "state"]);
    assert_eq!((merged.rows, merged.files), (3, 2));
    assert_eq!(merged.keys.primary, ["n"]);
    assert_eq!(merged.description.as_deref(), Some("What was sold"));
    let n = &merged.columns[2].profile;
    assert_eq!((n.min.as_deref(), n.max.as_deref()), (Some("1"), Some("3")));
    assert!(!format!("{merged:?}").contains("secret"));
}

#[tokio::test]
async fn files_without_ids_have_columns_by_their_stored_names() {
    let mut ground = Ground::new(LoggedTable {
        columns: vec![LoggedColumn {
            stored_as: vec!["col-1".to_owned()],
            ..column("amount", 1, &Arrow::Int64)
        }],
        ..LoggedTable::default()
    })
    .await;
    let stored = RecordBatch::try_from_iter([("col-1", whole([5])), ("amount", whole([6]))]);
    ground
        .parquet("t/a.parquet", &stored.unwrap(), Logged::default())
        .await;
    assert_eq!(types(&ground.rows()), ["amount Int64"]);
    assert_eq!(all(&ground.rows()).await, ["5"]);
}

#[tokio::test]
async fn a_table_without_files_has_its_columns() {
    let table = LoggedTable {
        columns: vec![column("n", 1, &Arrow::Int64)],
        ..LoggedTable::default()
    };
    let ground = Ground::new(table).await;
    assert_eq!(types(&ground.rows()), ["n Int64"]);
    assert_eq!(all(&ground.rows()).await, [""; 0]);
    let merged = ground.merged();
    assert_eq!((merged.rows, merged.files, merged.columns.len()), (0, 0, 1));
}

/// Ten rows in groups of four, of which every third is deleted in one way or another.
#[tokio::test]
async fn deleted_rows_are_nowhere() {
    let text = |n: i64| match n % 3 {
        0 => Some(format!("doomed{n}")),
        _ => Some(format!("kept{n}")),
    };
    let of = |numbers: &[i64]| {
        let texts: Vec<Option<String>> = numbers.iter().map(|n| text(*n)).collect();
        let lists = ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(
            numbers.iter().map(|n| Some(vec![Some(*n), Some(-*n)])),
        );
        batch(vec![
            ("n", 1, whole(numbers.iter().copied())),
            ("s", 2, Arc::new(StringArray::from(texts)) as ArrayRef),
            ("l", 3, Arc::new(lists)),
        ])
    };
    let numbers: Vec<i64> = (0..10).collect();
    let live: Vec<i64> = (0..10).filter(|n| n % 3 != 0).collect();
    let table = LoggedTable {
        columns: vec![
            column("n", 1, &Arrow::Int64),
            column("s", 2, &Arrow::Utf8View),
            column("l", 3, of(&[1]).column(2).data_type()),
        ],
        ..LoggedTable::default()
    };
    let ground = Ground::new(LoggedTable::default()).await;
    let positions = RecordBatch::try_from_iter([
        (
            "file_path",
            texts(&[
                Some("x://a"),
                Some("x://b"),
                Some("x://a"),
                Some("x://a"),
                Some("x://a"),
            ]),
        ),
        ("pos", whole([0, 1, 3, 6, 9])),
    ]);
    let positions = parquet_of(&positions.unwrap(), 4);
    let doomed = [
        Some("doomed0"),
        Some("doomed3"),
        Some("doomed6"),
        Some("doomed9"),
        None,
    ];
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![0, 3, 6, 9, 1]));
    let equal = parquet_of(&batch(vec![("s", 2, texts(&doomed)), ("n", 1, narrow)]), 4);
    let size = |bytes: &[u8]| bytes.len() as u64;
    let ways = [
        vec![vector([0, 3, 6, 9, 77])],
        vec![vector([0, 3]), vector([6, 9])],
        vec![Deletes::Positions {
            path: "p.parquet".to_owned(),
            size: size(&positions),
            of: "x://a".to_owned(),
        }],
        vec![Deletes::Equal {
            path: "e.parquet".to_owned(),
            size: size(&equal),
            ids: vec![1, 2],
            missing: Vec::new(),
        }],
    ];
    drop(ground);
    for deletes in ways {
        let mut ground = Ground::new(table.clone()).await;
        ground.put("p.parquet", positions.clone()).await;
        ground.put("e.parquet", equal.clone()).await;
        ground
            .parquet("t/a.parquet", &of(&numbers), deleting(deletes.clone()))
            .await;
        let mut plain = Ground::new(table.clone()).await;
        plain
            .parquet("t/a.parquet", &of(&live), Logged::default())
            .await;
        let rows = ground.rows();
        assert_eq!(all(&rows).await, all(&plain.rows()).await, "{deletes:?}");
        let (known, expected) = (&ground.files[1].1, &plain.files[1].1);
        assert_eq!(known.columns, expected.columns, "{deletes:?}");
        assert_eq!(known.rows, 6);
        assert!(!format!("{known:?}").contains("doomed"), "{known:?}");
        // A few rows, rows that pass a filter, and which rows of the file these are.
        let some = Request {
            columns: Some(vec![0]),
            limit: Some(3),
            ..Request::default()
        };
        assert_eq!(shown(&batches(&rows, some).await.0), ["1", "2", "4"]);
        let numbered = Request {
            columns: Some(vec![0]),
            filters: vec![is(0, Comparison::GreaterOrEqual, 5)],
            row_ids: true,
            ..Request::default()
        };
        let expected = ["5|t/a.parquet|5", "7|t/a.parquet|7", "8|t/a.parquet|8"];
        assert_eq!(shown(&batches(&rows, numbered).await.0), expected);
        let none = Request {
            columns: Some(Vec::new()),
            ..Request::default()
        };
        let counted = batches(&rows, none).await.0;
        assert_eq!(counted.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
    }
}

/// Of a file beyond the budget, whose profile is otherwise bounded by its footer.
#[tokio::test]
async fn bounds_of_deleted_rows_are_not_known() {
    let table = LoggedTable {
        columns: vec![column("n", 1, &Arrow::Int64)],
        ..LoggedTable::default()
    };
    let mut ground = Ground::new(table).await;
    let rows = batch(vec![("n", 1, whole(0..10_000))]);
    let object = ground.put("t/a.parquet", parquet_of(&rows, 1_000)).await;
    let small = ReadOptions {
        scan_budget: 4 << 10,
        ..ReadOptions::default()
    };
    let deletes = deleting(vec![vector((9_000..10_000).chain([0]))]);
    ground.add(object, Format::Parquet, deletes, &small).await;
    let known = &ground.files[1].1;
    assert_eq!(
        (known.rows, known.rows_exact, known.approximate),
        (8_999, true, true)
    );
    let max: i64 = known.columns[0]
        .profile
        .max
        .as_deref()
        .unwrap()
        .parse()
        .unwrap();
    assert!(max < 9_000);
    assert!(
        known
            .sample
            .rows
            .iter()
            .all(|row| (1..9_000).contains(&row.row))
    );
}

/// What cannot be read of what is deleted costs the file, not its rows' secrecy.
#[tokio::test]
async fn a_file_of_which_it_is_not_known_what_is_deleted_is_not_read() {
    let rows = batch(vec![("n", 1, whole([1]))]);
    let store = Store::in_memory();
    store
        .put("t/a.parquet", parquet_of(&rows, 4).into())
        .await
        .unwrap();
    let file = TableFile {
        table_name: TableName::parse("t").unwrap(),
        object: ObjectRecord::from(store.head("t/a.parquet").await.unwrap()),
        format: Format::Parquet,
        is_beside: false,
        is_alone: false,
        declared: declared(deleting(vec![Deletes::Vector {
            path: "t/gone.bin".to_owned(),
            offset: 1,
            size: 40,
        }])),
    };
    assert!(
        summarise_file(&store, &file.data_file(), &ReadOptions::default())
            .await
            .is_err()
    );
}

/// By a column that a file lacks, rows are deleted as if it were there: null, its default, or what
/// the log says of the file.
#[tokio::test]
async fn rows_are_deleted_by_columns_that_a_file_lacks() {
    let table = LoggedTable {
        columns: vec![
            column("n", 1, &Arrow::Int64),
            column("state", 4, &Arrow::Utf8View),
            column("day", 5, &Arrow::Date32),
        ],
        ..LoggedTable::default()
    };
    let day: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None]));
    let states = texts(&[Some("new"), None]);
    let equal = parquet_of(
        &batch(vec![
            ("n", 1, whole([3, 4])),
            ("state", 4, states),
            ("day", 5, day),
        ]),
        4,
    );
    let rows = batch(vec![("n", 1, whole([2, 3, 4]))]);
    let constant = |id, value: Option<&str>| Constant {
        id: Some(id),
        name: String::new(),
        value: value.map(str::to_owned),
    };
    for (missing, constants, expected) in [
        // Row 4 is deleted where state and day are null.
        (vec![], vec![], vec!["2", "3"]),
        (vec![(4, "new")], vec![], vec!["2", "3", "4"]),
        (
            vec![(4, "new")],
            vec![constant(5, Some("1970-01-02"))],
            vec!["2", "4"],
        ),
        (
            vec![(4, "new"), (5, "1970-01-02")],
            vec![constant(4, None), constant(5, None)],
            vec!["2", "3"],
        ),
    ] {
        let mut ground = Ground::new(table.clone()).await;
        ground.put("e.parquet", equal.clone()).await;
        let missing = missing.into_iter().map(|(id, text)| (id, text.to_owned()));
        let logged = Logged {
            constants,
            deletes: vec![Deletes::Equal {
                path: "e.parquet".to_owned(),
                size: equal.len() as u64,
                ids: vec![1, 4, 5],
                missing: missing.collect(),
            }],
            ..Logged::default()
        };
        ground.parquet("t/a.parquet", &rows, logged.clone()).await;
        let request = Request {
            columns: Some(vec![0]),
            ..Request::default()
        };
        let found = shown(&batches(&ground.rows(), request).await.0);
        assert_eq!(found, expected, "{logged:?}");
    }
}
