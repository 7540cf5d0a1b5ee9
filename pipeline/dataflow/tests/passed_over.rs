//! Files whose names promise no table: one that is none is passed over, remembered, and looked at
//! again when it changes.

use crate::common;

use common::narrated::records;
use common::{Lab, seen};
use limn_lake::Filters;

const LETTER: &str =
    "Dear all,\n\nthe report is done, and I will send it tomorrow.\n\nYours,\nAda\n";
const TABLE: &str = "id  name\n1   ada\n2   bob\n3   cyd\n";

/// Over an unchanged lake a listing is enough.
async fn expect_idle(lab: &Lab) {
    let before = lab.lake.counts();
    lab.run_is_idle().await;
    let since = lab.lake.counts().since(&before);
    assert_eq!((since.get, since.head), (0, 0));
}

async fn run(lab: &Lab) -> Vec<(String, u64)> {
    let report = lab.run().await;
    assert_eq!(report.failures, []);
    assert_eq!(report.tables.failed, 0);
    let skipped = report.objects.skipped.into_iter();
    skipped.map(|it| (it.extension, it.objects)).collect()
}

fn skipped(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    of.iter()
        .map(|(extension, count)| ((*extension).to_owned(), *count))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_no_table_is_read_once() {
    let lab = Lab::new();
    lab.put("letters/to_all.txt", LETTER).await;
    lab.put("letters/again.dat", LETTER).await;
    lab.put("people.txt", TABLE).await;
    assert_eq!(run(&lab).await, skipped(&[("dat", 1), ("txt", 1)]));
    lab.expect([("people", seen(3))]).await;
    expect_idle(&lab).await;
    // A letter becomes a table, and a table a letter.
    lab.put("letters/to_all.txt", TABLE).await;
    lab.put("people.txt", LETTER).await;
    assert_eq!(run(&lab).await, skipped(&[("dat", 1), ("txt", 1)]));
    lab.expect([("letters/to_all", seen(3))]).await;
    expect_idle(&lab).await;
    // All go.
    for path in ["letters/to_all.txt", "letters/again.dat"] {
        lab.remove(path).await;
    }
    assert_eq!(run(&lab).await, skipped(&[("txt", 1)]));
    lab.expect([]).await;
    expect_idle(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_object_is_a_row_where_another_file_is_like_it() {
    let lab = Lab::new();
    let order = |id: u32| format!("{{\"id\": {id}, \"of\": {{\"name\": \"ada\"}}}}");
    lab.put("orders/order_1.json", &order(1)).await;
    lab.put("state.json", "{\"last\": 7}").await;
    lab.put("lines.jsonl", "{\"last\": 7}\n").await;
    assert_eq!(run(&lab).await, skipped(&[("json", 2)]));
    lab.expect([("lines", seen(1))]).await;
    expect_idle(&lab).await;
    lab.put("orders/order_2.json", &order(2)).await;
    assert_eq!(run(&lab).await, skipped(&[("json", 1)]));
    lab.expect([("lines", seen(1)), ("orders", seen(2))]).await;
    expect_idle(&lab).await;
    // What is declared of one makes it a table.
    lab.put(".limn.yaml", "tables: [{files: state.json, name: state}]")
        .await;
    assert_eq!(run(&lab).await, []);
    lab.remove("orders/order_1.json").await;
    assert_eq!(run(&lab).await, skipped(&[("json", 1)]));
    lab.expect([("lines", seen(1)), ("state", seen(1))]).await;
    // What is declared is read at every run.
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_beside_a_table_is_about_it_while_the_table_is_there() {
    let lab = Lab::new();
    let about = r#"{"title": "What was ordered", "id": "the number on the label"}"#;
    lab.put("orders.csv", "id,amount\n1,2\n2,3\n").await;
    lab.put("orders.json", about).await;
    lab.put("people.csv", "id,name\n1,ada\n").await;
    let about =
        "field\tmeaning\nid\tthe number of the person\nname\tas on the badge\nage\tin years\n";
    lab.put("people.txt", about).await;
    // What is about a table is not skipped.
    assert_eq!(run(&lab).await, []);
    lab.expect([("orders.csv", seen(2)), ("people", seen(1))])
        .await;
    expect_idle(&lab).await;
    // Without them, they stand for themselves: one object alone is a document.
    lab.remove("orders.csv").await;
    lab.remove("people.csv").await;
    assert_eq!(run(&lab).await, skipped(&[("json", 1)]));
    lab.expect([("people", seen(3))]).await;
    expect_idle(&lab).await;
    lab.put("orders.csv", "id,amount\n1,2\n2,3\n").await;
    run(&lab).await;
    lab.expect([("orders.csv", seen(2)), ("people", seen(3))])
        .await;
    // Rows are a table, whatever lies beside them, also in a wrapper.
    for rows in [
        "{\"id\": 1}\n{\"id\": 2}\n",
        "{\"count\": 2, \"data\": [{\"id\": 1}, {\"id\": 2}]}",
    ] {
        lab.put("orders.json", rows).await;
        run(&lab).await;
        lab.expect([
            ("orders.csv", seen(2)),
            ("orders.json", seen(2)),
            ("people", seen(3)),
        ])
        .await;
        expect_idle(&lab).await;
    }
    // A list of its columns describes the table.
    let schema = r#"{"fields": [{"name": "id", "description": "the number"}, {"name": "amount"}]}"#;
    lab.put("orders.json", schema).await;
    run(&lab).await;
    lab.expect([("orders.csv", seen(2)), ("people", seen(3))])
        .await;
    let described = records(&lab).await["orders.csv"].columns[0]
        .description
        .clone();
    assert_eq!(described.as_deref(), Some("the number"));
    lab.put("people.csv", "id,name\n1,ada\n").await;
    lab.put("people.txt", TABLE).await;
    run(&lab).await;
    lab.expect([
        ("orders.csv", seen(2)),
        ("people", seen(1)),
        ("people.txt", seen(3)),
    ])
    .await;
    expect_idle(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_filters_do_not_choose_is_no_table_beside_one_either() {
    let mut lab = Lab::new();
    lab.put("people.csv", "id,name\n1,ada\n").await;
    lab.put("people.txt", TABLE).await;
    lab.put("orders.csv", "id,n\n1,2\n").await;
    lab.put("orders.txt", LETTER).await;
    lab.options.filters = Some(Filters {
        include: vec!["*.csv".to_owned()],
        ..Filters::default()
    });
    run(&lab).await;
    lab.expect([("orders", seen(1)), ("people", seen(1))]).await;
    lab.run_is_idle().await;
    lab.options.filters = Some(Filters::default());
    run(&lab).await;
    lab.expect([
        ("orders", seen(1)),
        ("people", seen(1)),
        ("people.txt", seen(3)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_without_an_extension_are_what_they_hold() {
    let lab = Lab::new();
    for part in 0..3 {
        let rows = format!("{{\"id\": {part}}}\n{{\"id\": 7}}\n");
        lab.put(&format!("events/delivery-1-2024-06-0{part}-uuid"), &rows)
            .await;
        lab.put(&format!("t/k={part}/000000_0"), TABLE).await;
    }
    lab.put("events/LICENSE", LETTER).await;
    lab.put("notes/minutes_2024", LETTER).await;
    let blob = "\u{0}\u{1}".repeat(1 << 20);
    lab.put("notes/blob_000001", &blob).await;
    let before = lab.lake.counts();
    assert_eq!(run(&lab).await, skipped(&[("", 3)]));
    let read = lab.lake.counts().since(&before).bytes_read;
    assert!(read < 1 << 20, "{read} bytes");
    lab.expect([("events", seen(6)), ("t", seen(9))]).await;
    expect_idle(&lab).await;
    lab.put("notes/minutes_2024", TABLE).await;
    run(&lab).await;
    lab.expect([
        ("events", seen(6)),
        ("notes/minutes_2024", seen(3)),
        ("t", seen(9)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_a_log_and_no_commit_holds_no_table() {
    let lab = Lab::new();
    lab.put("crashed/_delta_log/_commit_8f1.json.tmp", "{}")
        .await;
    lab.put("crashed/part-00000.csv", "id,n\n1,2\n").await;
    lab.put("crashed/k=1/part-00000.csv", "id,n\n1,2\n").await;
    lab.put("crashed/other/orders.csv", "id,n\n1,2\n").await;
    let report = lab.run().await;
    let failed: Vec<&str> = report
        .failures
        .iter()
        .map(|it| it.object.as_str())
        .collect();
    assert_eq!(failed, ["crashed/_delta_log"]);
    assert!(report.failures[0].error.contains("no commit"));
    lab.expect([("crashed/other/orders", seen(1))]).await;
    // It goes with its log.
    lab.remove("crashed/_delta_log/_commit_8f1.json.tmp").await;
    assert_eq!(lab.run().await.failures, []);
    lab.expect([("crashed", seen(2)), ("crashed/other/orders", seen(1))])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_beside_a_file_that_is_left_out_stands_for_itself() {
    let lab = Lab::new();
    lab.put("people.csv", "id,name\n1,ada\n").await;
    lab.put("people.txt", TABLE).await;
    lab.put(".limnignore", "*.csv\n").await;
    run(&lab).await;
    lab.expect([("people", seen(3))]).await;
    lab.run_is_idle().await;
    lab.remove(".limnignore").await;
    run(&lab).await;
    lab.expect([("people", seen(1)), ("people.txt", seen(3))])
        .await;
    expect_idle(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_file_that_is_no_table_the_beginning_is_read() {
    let lab = Lab::new();
    lab.put("letters.txt", &LETTER.repeat(100_000)).await;
    let binary = [0u8, 1, 2, 255].repeat(1 << 20);
    lab.lake.put("model.dat", binary.into()).await.unwrap();
    let before = lab.lake.counts();
    assert_eq!(run(&lab).await, skipped(&[("dat", 1), ("txt", 1)]));
    let read = lab.lake.counts().since(&before).bytes_read;
    assert!(read <= 2 * (256 << 10), "{read} bytes");
    expect_idle(&lab).await;
    let rows: String = (0..100_000).map(|i| format!("{i}  name {i}\n")).collect();
    lab.put("letters.txt", &format!("id  name\n{rows}")).await;
    run(&lab).await;
    lab.expect([("letters", seen(100_000))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_takes_the_name_of_a_removed_table_is_remembered() {
    let mut lab = Lab::new();
    lab.options.epoch_objects = 2;
    let names: Vec<String> = (0..8).map(|i| format!("f{i}/notes")).collect();
    for name in &names {
        lab.put(&format!("{name}.csv"), "id,name\n1,ada\n").await;
        lab.put(&format!("{name}.txt"), LETTER).await;
    }
    assert_eq!(lab.run().await.tables.added, 8);
    for name in &names {
        lab.remove(&format!("{name}.csv")).await;
    }
    assert_eq!(run(&lab).await, skipped(&[("txt", 8)]));
    lab.expect([]).await;
    expect_idle(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_json_that_may_be_one_table_are_read_once() {
    let lab = Lab::new();
    let rows = "{\"id\": 1}\n{\"id\": 2}\n";
    lab.put("d/x1.json", rows).await;
    lab.corrupt("d/x2.json").await;
    lab.put("e/x1.json", rows).await;
    lab.put("e/x2.json", rows).await;
    lab.put("e/x1.dat", LETTER).await;
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1);
    expect_idle(&lab).await;
}
