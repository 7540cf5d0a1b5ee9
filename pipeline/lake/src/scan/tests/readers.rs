//! What readers do whatever the caller's options are, how many scans are open, and how little of a
//! file is wanted.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use limn_formats::Room;

use super::*;

fn budget(scan_budget: u64) -> ReadOptions {
    ReadOptions {
        scan_budget,
        ..ReadOptions::default()
    }
}

fn tar_gz(name: &str, content: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, content).unwrap();
    gzip(&tar.into_inner().unwrap())
}

pub(super) fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default();
    zip.start_file(name, options).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap().into_inner()
}

fn sqlite(statements: &str) -> Vec<u8> {
    let mut base = rusqlite::Connection::open_in_memory().unwrap();
    base.execute_batch(statements).unwrap();
    base.serialize("main").unwrap().to_vec()
}

const NUMBERED: &str = "CREATE TABLE t AS WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id < 5999)
                        SELECT id, printf('%040d', id) AS text FROM n";

/// Budgets are those of the index; a scan, which may be of another process, reads all rows with
/// any.
#[tokio::test]
async fn rows_do_not_depend_on_budgets() {
    let rows = 6_000;
    let csv: String = (0..rows).map(|n| format!("{n},{n:040}\n")).collect();
    let csv = format!("id,text\n{csv}").into_bytes();
    let json: String = (0..rows)
        .map(|n| format!("{{\"id\":{n},\"text\":\"{n:040}\"}}\n"))
        .collect();
    let array = format!("[{}]", json.trim_end().replace('\n', ","));
    let batch = numbers(rows);
    for (path, content) in [
        ("a.csv", csv.clone()),
        ("a.csv.gz", gzip(&csv)),
        ("a.jsonl", json.clone().into_bytes()),
        ("a.json", array.into_bytes()),
        ("a.parquet", parquet_of(&batch, 500)),
        ("a.zip", zip("in.csv", &csv)),
        ("a.tar.gz", tar_gz("in.csv", &csv)),
        ("b.tar.gz", tar_gz("in.parquet", &parquet_of(&batch, 500))),
        ("a.sqlite", sqlite(NUMBERED)),
    ] {
        // Some of it lies within the first and all within the second.
        for of_index in [64 << 10, 16 << 20] {
            if of_index == 64 << 10 && ["a.json", "b.tar.gz", "a.sqlite"].contains(&path) {
                continue;
            }
            let table = table_with(&[(path, content.clone())], &budget(of_index)).await;
            for of_scan in [1 << 10, 1 << 30] {
                let Inner { store, files, .. } = &*table.0;
                let table = TableRows::new(store.clone(), files.clone(), budget(of_scan));
                let request = Request {
                    columns: Some(vec![0]),
                    ..Request::default()
                };
                let (found, report) = batches(&table, request).await;
                let at = format!("{path} {of_index} {of_scan} {:?}", report.damaged());
                let ids = shown(&found);
                assert_eq!(ids.len(), rows as usize, "{at}");
                assert!((0..ids.len()).all(|n| ids[n] == n.to_string()), "{at}");
            }
        }
    }
}

/// Readers wait for their turn to give rows; what they read is read by others.
#[test]
fn more_scans_than_blocking_threads_come_to_an_end() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let text: String = (0..50_000).map(|n| format!("{n},{n:030}\n")).collect();
    std::fs::write(folder.path().join("n.csv"), format!("a,b\n{text}")).unwrap();
    std::fs::write(folder.path().join("n.zip"), zip("n.csv", text.as_bytes())).unwrap();
    let scans = async {
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        for path in ["n.csv", "n.zip"] {
            let files = indexed(&store, path, &Declared::default(), &budget(64 << 10)).await;
            let table = TableRows::new(store.clone(), files, ReadOptions::default());
            let mut scans: Vec<Rows> = (0..12).map(|_| table.scan(Request::default())).collect();
            let mut rows = 0;
            for scan in &mut scans {
                rows += scan.next().await.unwrap().unwrap().num_rows();
            }
            for scan in scans {
                let rest: Vec<RecordBatch> = scan.try_collect().await.unwrap();
                rows += rest.iter().map(RecordBatch::num_rows).sum::<usize>();
            }
            assert!(rows >= 12 * 49_999, "{rows}");
        }
    };
    let ended =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(120), scans).await });
    runtime.shutdown_background();
    ended.expect("the scans wait for each other");
}

#[tokio::test]
async fn a_full_room_slows_readers_and_stops_none() {
    let files = [
        ("p/part-00000.parquet", parquet_of(&numbers(3_000), 1_000)),
        ("p/part-00001.parquet", parquet_of(&numbers(3_000), 1_000)),
    ];
    let table = table(&files).await;
    let room = Room::of(1);
    let _held = room.hold(2);
    let Inner { store, files, .. } = &*table.0;
    let options = ReadOptions {
        room,
        ..ReadOptions::default()
    };
    let table = TableRows::new(store.clone(), files.clone(), options);
    assert_eq!(all(&table).await.len(), 6_000);
}

/// Nothing is given of blank lines, and yet it is noticed that nobody waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_dropped_scan_of_blank_lines_ends() {
    let blank = "\n".repeat(96 << 20);
    let text = format!("{{\"a\":1}}\n{{\"a\":2}}\n{blank}{{\"a\":3}}\n");
    let table = table_with(&[("a.jsonl", text.into())], &budget(64 << 10)).await;
    let store = &table.0.store;
    let before = store.counts();
    let mut rows = table.scan(Request::default());
    assert!(rows.next().now_or_never().is_none());
    drop(rows);
    let mut read = store.counts().since(&before).get;
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let now = store.counts().since(&before).get;
        if now == read {
            break;
        }
        read = now;
    }
    assert!(read < 8, "{read} of 24 reads");
}

#[tokio::test]
async fn a_few_rows_cost_little() {
    let sqlite = table(&[("a.sqlite", sqlite(NUMBERED))]).await;
    let parquet = table(&[("n.parquet", parquet_of(&numbers(20_000), 20_000))]).await;
    for table in [sqlite, parquet] {
        let before = table.0.store.counts();
        let request = Request {
            limit: Some(20),
            columns: Some(vec![0]),
            ..Request::default()
        };
        let (found, report) = batches(&table, request).await;
        assert_eq!(shown(&found).len(), 20);
        assert_eq!(report.rows(), 20);
        let read = table.0.store.counts().since(&before).bytes_read;
        assert!(read < 1_500_000, "{read}");
    }
}

#[tokio::test]
async fn rows_without_columns_come_in_batches() {
    let table = table(&[("n.parquet", parquet_of(&numbers(20_000), 20_000))]).await;
    for limit in [None, Some(10_000)] {
        let request = Request {
            columns: Some(vec![]),
            limit,
            ..Request::default()
        };
        let (found, _) = batches(&table, request).await;
        let rows: Vec<usize> = found.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows.iter().sum::<usize>(), limit.unwrap_or(20_000) as usize);
        assert!(rows.iter().all(|rows| *rows <= 8192), "{rows:?}");
    }
}

#[tokio::test]
async fn a_group_of_which_no_page_passes_is_not_read() {
    let even = RecordBatch::try_from_iter(vec![
        (
            "n",
            Arc::new(Int64Array::from_iter_values((0..20_000).map(|n| n * 2))) as ArrayRef,
        ),
        ("wide", numbers(20_000).column(2).clone()),
    ])
    .unwrap();
    let table = table(&[("n.parquet", parquet_of(&even, 20_000))]).await;
    let before = table.0.store.counts();
    let request = Request {
        // Between two pages of a hundred rows.
        filters: vec![is(0, Comparison::Equal, 199)],
        ..Request::default()
    };
    let (found, _) = batches(&table, request).await;
    assert_eq!(shown(&found).len(), 0);
    // The footer and the page index.
    let read = table.0.store.counts().since(&before);
    assert!(read.get <= 3, "{read:?}");
}

#[tokio::test]
async fn bytes_of_databases_are_bytes_or_do_not_fit() {
    let statements = "CREATE TABLE t (b, m, n);
        INSERT INTO t VALUES (X'00FF', 1, 1e300), (X'', X'0A', 2.5), (NULL, 3, NULL)";
    let table = table(&[("a.sqlite", sqlite(statements))]).await;
    assert_eq!(types(&table), ["b Binary", "m Int64", "n Float64"]);
    let (found, report) = batches(&table, Request::default()).await;
    assert_eq!(shown(&found), ["00ff|1|1e300", "|-|2.5", "-|3|-"]);
    assert_eq!(report.misfits(), [("m".to_owned(), 1)]);
    for (test, rows) in [(Test::IsNull, 1), (Test::IsNotNull, 2)] {
        let filters = vec![Filter { column: 0, test }];
        let request = Request {
            filters,
            ..Request::default()
        };
        assert_eq!(shown(&batches(&table, request).await.0).len(), rows);
    }
}

#[tokio::test]
async fn columns_of_json_are_found_whatever_they_are_called() {
    let text = "{\"\":1,\"a.b\":2,\"a\":{\"b\":3,\"\":4},\"c\":5}\n{\"c\":6,\"a\":{\"b\":7}}\n";
    let table = table(&[("a.jsonl", text.into())]).await;
    let names = [
        "column_1 Int64",
        "a.b Int64",
        "a.b_2 Int64",
        "a. Int64",
        "c Int64",
    ];
    assert_eq!(types(&table), names);
    assert_eq!(all(&table).await, ["1|2|3|4|5", "-|-|7|-|6"]);
    // As redaction leaves them.
    let Inner { store, files, .. } = &*table.0;
    let mut files = files.clone();
    files[0].1.columns[4].name = "column_5".to_owned();
    let table = TableRows::new(store.clone(), files, ReadOptions::default());
    assert_eq!(all(&table).await, ["1|2|3|4|5", "-|-|7|-|6"]);
}

#[tokio::test]
async fn a_column_of_long_json_that_cannot_be_found_is_said_to_be_so() {
    let text: String = (0..20_000)
        .map(|n| format!("{{\"\":{n},\"b\":1}}\n"))
        .collect();
    let table = table_with(&[("a.jsonl", text.into())], &budget(16 << 10)).await;
    let (found, report) = batches(&table, Request::default()).await;
    assert_eq!(shown(&found).len(), 20_000);
    let damaged = report.damaged();
    assert!(
        damaged.len() == 1 && damaged[0].contains("'column_1'"),
        "{damaged:?}"
    );
}

#[tokio::test]
async fn long_lists_are_lists() {
    let elements: Vec<String> = (0..70_000).map(|n| n.to_string()).collect();
    let text = format!("{{\"n\":[{}]}}\n{{\"n\":[1]}}\n", elements.join(","));
    let table = table(&[("a.jsonl", text.into())]).await;
    let (found, report) = batches(&table, Request::default()).await;
    assert_eq!(report.misfits(), []);
    let list = found[0].column(0).as_any().downcast_ref::<ListArray>();
    assert_eq!(list.unwrap().value_length(0), 70_000);
}

#[tokio::test]
async fn large_numbers_are_partition_keys_too() {
    let table = table(&[("o/k=18446744073709551615/a.csv", "a\n1\n".into())]).await;
    assert_eq!(all(&table).await, ["1|18446744073709551615"]);
}

#[tokio::test]
async fn few_rows_that_pass_come_together_and_keep_no_other_text() {
    let text: String = (0..40_000).map(|n| format!("{n},{n:0100}\n")).collect();
    let table = table(&[("n.csv", format!("n,text\n{text}").into())]).await;
    let wanted: ArrayRef = Arc::new(Int64Array::from_iter_values((0..40_000).step_by(4_000)));
    let filters = vec![Filter {
        column: 0,
        test: Test::In(wanted),
    }];
    let request = Request {
        filters,
        ..Request::default()
    };
    let (found, _) = batches(&table, request).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].num_rows(), 10);
    // Of 4 MB.
    let held = found[0].column(1).get_array_memory_size();
    assert!(held < 16 << 10, "{held}");
}

#[test]
fn a_great_many_damaged_files_are_counted() {
    let report = Report::default();
    (0..30).for_each(|n| report.damage(format!("{n}")));
    let lines = report.damaged();
    assert_eq!(lines.len(), 21);
    assert!(lines[20].starts_with("10 more files"), "{lines:?}");
}
