//! Filters leave out what cannot pass, and prune files.

use super::*;

#[tokio::test]
async fn filters_leave_out_what_cannot_pass_unread() {
    let table = table(&[("n.parquet", parquet_of(&numbers(10_000), 2_500))]).await;
    let request = Request {
        columns: Some(vec![1]),
        filters: vec![
            is(0, Comparison::GreaterOrEqual, 5_050),
            is(0, Comparison::Less, 5_053),
        ],
        ..Request::default()
    };
    let (found, report) = batches(&table, request.clone()).await;
    assert_eq!(shown(&found), ["s5050", "s5051", "s5052"]);
    // Of one page of a hundred rows those that pass.
    assert_eq!(report.rows(), 3);
    let numbered = Request {
        row_ids: true,
        ..request
    };
    let (found, report) = batches(&table, numbered).await;
    assert_eq!(
        shown(&found),
        [
            "s5050|n.parquet|5050",
            "s5051|n.parquet|5051",
            "s5052|n.parquet|5052"
        ]
    );
    assert_eq!(report.rows(), 2_500);
    let none = Request {
        filters: vec![is(0, Comparison::Less, 0)],
        ..Request::default()
    };
    let (found, report) = batches(&table, none).await;
    assert_eq!(
        (
            shown(&found).len(),
            report.rows(),
            report.files_passed_over()
        ),
        (0, 0, 1)
    );
}

#[tokio::test]
async fn the_columns_of_a_filter_are_read_first() {
    let table = table(&[("n.parquet", parquet_of(&numbers(10_000), 2_500))]).await;
    let read = |columns: Vec<usize>, value: &str| {
        let value = Arc::new(arrow::array::StringViewArray::from(vec![value]));
        let request = Request {
            columns: Some(columns),
            filters: vec![Filter {
                column: 1,
                test: Test::Is(Comparison::Equal, value),
            }],
            ..Request::default()
        };
        let table = table.clone();
        async move {
            let before = table.0.store.counts().bytes_read;
            let (found, report) = batches(&table, request).await;
            let bytes = table.0.store.counts().bytes_read - before;
            (shown(&found), report.rows(), bytes)
        }
    };
    // By its bounds it may be in three of the four groups, and in a page of each.
    let (found, rows, one) = read(vec![0, 2], "s5051").await;
    assert_eq!(found, [format!("5051|{:0200}", 5051)]);
    assert_eq!(rows, 1);
    let (found, rows, none) = read(vec![0, 2], "s505x").await;
    assert_eq!((found.len(), rows), (0, 0));
    assert!(none < one, "{none} {one}");
    // Where the filter's column is all that is wanted, it is read once.
    let (found, rows, _) = read(vec![1], "s5051").await;
    assert_eq!(found, ["s5051"]);
    assert!(rows >= 1);
}

#[tokio::test]
async fn partitions_and_bounds_prune_files() {
    let table = table(&[
        ("o/y=2023/a.csv", "n\n1\n2\n".into()),
        ("o/y=2024/b.csv", "n\n1\n9\n".into()),
        ("o/y=2024/c.csv", "n\n3\n4\n".into()),
    ])
    .await;
    let filters = vec![
        is(1, Comparison::Equal, 2024),
        is(0, Comparison::Greater, 4),
    ];
    let request = Request {
        filters,
        ..Request::default()
    };
    let (found, report) = batches(&table, request).await;
    assert_eq!(shown(&found), ["9|2024"]);
    assert_eq!((report.files_passed_over(), report.rows()), (2, 2));
}
