//! Files that changed or are damaged, and scans that are dropped.

use super::*;

#[tokio::test]
async fn a_file_that_changed_ends_the_scan() {
    let whole = arrow_of(&numbers(10), true);
    let mut other = whole.clone();
    // The same length, other bytes.
    other[300..400].fill(0xff);
    let table = table(&[("d/n.arrow", whole)]).await;
    table.0.store.put("d/n.arrow", other.into()).await.unwrap();
    let rows = table.scan(Request::default());
    let report = rows.report();
    let changed: Result<Vec<RecordBatch>, ScanError> = rows.try_collect().await;
    let is_changed = matches!(&changed, Err(ScanError::Changed { path }) if path == "d/n.arrow");
    assert!(is_changed, "{changed:?} {report:?}");
    let error = changed.unwrap_err().to_string();
    assert!(
        error.contains("d/n.arrow") && error.contains("limn index"),
        "{error}"
    );
    table.0.store.delete("d/n.arrow").await.unwrap();
    let rows = table.scan(Request::default());
    let read: Result<Vec<RecordBatch>, ScanError> = rows.try_collect().await;
    assert!(
        matches!(&read, Err(ScanError::Missing { path }) if path == "d/n.arrow"),
        "{read:?}"
    );
}

#[tokio::test]
async fn a_damaged_file_costs_its_rows() {
    let whole = parquet_of(&numbers(300), 100);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    for byte in &mut damaged[middle - 2_000..middle + 2_000] {
        *byte ^= 0x55;
    }
    let files = [
        ("p/part-00000.parquet", whole.clone()),
        ("p/part-00001.parquet", whole),
    ];
    let table = table(&files).await;
    let Inner {
        store,
        files,
        options,
        ..
    } = &*table.0;
    store
        .put("p/part-00000.parquet", damaged.into())
        .await
        .unwrap();
    // As if it had been damaged when it was indexed, and not been looked at there.
    let mut files = files.clone();
    let info = store.head("p/part-00000.parquet").await.unwrap();
    files[0].0.object = ObjectRecord::from(info);
    let table = TableRows::new(store.clone(), files, options.clone());
    let (found, report) = batches(&table, Request::default()).await;
    let rows = shown(&found).len();
    assert!((300..600).contains(&rows), "{rows}");
    assert_eq!(report.damaged().len(), 1, "{:?}", report.damaged());
    assert!(
        report.damaged()[0].contains("p/part-00000.parquet"),
        "{:?}",
        report.damaged()
    );
}

#[tokio::test]
async fn cells_that_do_not_fit_are_null_and_counted() {
    let options = ReadOptions {
        scan_budget: 64 << 10,
        ..ReadOptions::default()
    };
    let mut text = String::from("n,d\n");
    for n in 0..40_000 {
        text.push_str(&format!("{n},2024-01-{:02}\n", n % 28 + 1));
    }
    let plain = table_with(&[("n.csv", text.clone().into())], &options).await;
    assert_eq!(types(&plain), ["n Int64", "d Date32"]);
    // A cell between the ranges that were looked at.
    let odd = text.replacen("\n20001,2024-01-", "\nodd!!,2024-01-", 1);
    let table = table_with(&[("n.csv", odd.into())], &options).await;
    if types(&table) == ["n Int64", "d Date32"] {
        let (found, report) = batches(&table, Request::default()).await;
        assert_eq!(shown(&found).len(), 40_000);
        assert_eq!(report.misfits(), [("n".to_owned(), 1)]);
    }
}

#[tokio::test]
async fn a_scan_that_is_dropped_reads_nothing_more() {
    let text: String = (0..400_000).map(|n| format!("{n},{n}\n")).collect();
    let options = ReadOptions {
        scan_budget: 64 << 10,
        ..ReadOptions::default()
    };
    let table = table_with(&[("n.csv", format!("a,b\n{text}").into())], &options).await;
    let mut rows = table.scan(Request::default());
    let first = futures::StreamExt::next(&mut rows).await.unwrap().unwrap();
    assert!(first.num_rows() > 0);
    let report = rows.report();
    drop(rows);
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(report.rows() < 400_000, "{}", report.rows());
}
