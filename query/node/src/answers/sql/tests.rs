//! Statements on a node, over a lake of files in a folder.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ground;

use arrow::ipc::reader::StreamReader;
use arrow::util::display::array_value_to_string;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::access::{Access, Caller, Reach};
use crate::http::{Hosts, router};
use crate::node::NodeOptions;
use ground::Ground;

fn asked(sql: &str) -> SqlRequest {
    SqlRequest {
        sql: sql.to_owned(),
        ..SqlRequest::default()
    }
}

fn caller(reach: Reach, rights: &[Right]) -> Caller {
    Caller {
        id: "somebody".into(),
        reach,
        rights: rights.into(),
        per_minute: None,
    }
}

fn of_shop() -> Caller {
    let reach = Reach::under(["shop".to_owned()]);
    caller(reach, &[Right::Search, Right::Rows])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_answered_over_http_in_both_forms() {
    let ground = Ground::new().await;
    let router = router(Arc::clone(&ground.node), Hosts::Any);
    let statement = r#"SELECT "town", sum("amount") AS total, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1 NULLS LAST"#;
    let send = async |accept: &str| {
        let request = Request::post("/v1/sql")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, accept)
            .body(Body::from(json!({ "sql": statement }).to_string()))
            .unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let kind = answer.headers()[header::CONTENT_TYPE].clone();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (kind, bytes)
    };
    let (kind, bytes) = send("application/json").await;
    assert_eq!(kind, "application/json");
    let mut answer: Value = serde_json::from_slice(&bytes).unwrap();
    let read = answer.as_object_mut().unwrap().remove("read").unwrap();
    for count in ["requests", "bytes"] {
        assert!(read[count].as_u64() > Some(0), "{read}");
    }
    let wanted = json!({
        "columns": [
            {"name": "town", "type": "text"},
            {"name": "total", "type": "integer"},
            {"name": "n", "type": "integer"},
        ],
        "rows": [["Ash", 9, 1], ["Eldmere", 5, 1], ["Tarn", 2, 2], [null, 7, 1]],
        "truncated": false,
        "notes": [],
    });
    assert_eq!(answer, wanted);
    let (kind, bytes) = send("application/vnd.apache.arrow.stream").await;
    assert_eq!(kind, "application/vnd.apache.arrow.stream");
    let mut rest = &bytes[..];
    let reader = StreamReader::try_new(&mut rest, None).unwrap();
    let mut cells = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let texts = batch.columns().iter();
            let texts = texts.map(|it| array_value_to_string(it, row).unwrap());
            cells.push(texts.collect::<Vec<_>>().join(" "));
        }
    }
    assert_eq!(cells, ["Ash 9 1", "Eldmere 5 1", "Tarn 2 2", " 7 1"]);
    let end = StreamReader::try_new(&mut rest, None).unwrap();
    let metadata = end.schema().metadata().clone();
    assert_eq!(metadata["limn.truncated"], "false");
    assert_eq!(metadata["limn.notes"], "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_read_whichever_of_many_of_its_name_it_is() {
    let ground = Ground::new().await;
    let statement =
        r#"SELECT a."depth" + b."depth" AS sum FROM "depths/48/table" a, "depths/49/table" b"#;
    let answer = ground.ask(Caller::anyone(), &asked(statement)).await;
    assert_eq!(answer.unwrap()["rows"], json!([[97]]));
    let answer = ground
        .says(Caller::anyone(), "SELECT * FROM \"table\"")
        .await;
    assert_eq!(answer.code, Code::BadRequest, "{answer}");
    assert!(answer.message.contains("may be"), "{answer}");
}

/// Its threads are free again: there may be one only.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_end_is_stopped() {
    let ground = Ground::new().await;
    let endless = "SELECT count(*) FROM codes a, codes b, codes c WHERE a.id + b.id + c.id < 0";
    let begun = Instant::now();
    for _ in 0..2 {
        let asked = SqlRequest {
            timeout_s: Some(1),
            ..asked(endless)
        };
        let answer = ground.ask(Caller::anyone(), &asked).await.unwrap_err();
        assert_eq!(answer.code, Code::Timeout, "{answer}");
    }
    let answer = ground
        .ask(Caller::anyone(), &asked("SELECT 1 AS one"))
        .await;
    assert_eq!(answer.unwrap()["rows"], json!([[1]]));
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_rows_is_refused() {
    let ground = Ground::new().await;
    let statement = "SELECT * FROM orders";
    for rights in [&[Right::Search][..], &[Right::Rows], &[Right::Admin], &[]] {
        let caller = caller(Reach::Everything, rights);
        let answer = ground.says(caller, statement).await;
        assert_eq!(answer.code, Code::Forbidden, "{answer}");
    }
    let hidden = NodeOptions {
        previews: false,
        ..NodeOptions::new(Access::Open)
    };
    let other = Ground::with(hidden).await;
    let answer = other.says(Caller::anyone(), statement).await;
    assert_eq!(answer.code, Code::Forbidden, "{answer}");
    let off = NodeOptions {
        sql: None,
        ..NodeOptions::new(Access::Open)
    };
    let other = Ground::with(off).await;
    let answer = other.says(Caller::anyone(), statement).await;
    assert_eq!(answer.code, Code::NotFound, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_one_folder_learns_nothing_of_the_others() {
    let ground = Ground::new().await;
    for (there, nowhere) in [
        ("\"hr/staff\"", "\"hr/stoff\""),
        ("hr.staff", "hr.stoff"),
        ("staff", "stoff"),
    ] {
        for form in ["SELECT * FROM ", "DESCRIBE ", "EXPLAIN SELECT 1 FROM "] {
            let answer = ground.says(of_shop(), &format!("{form}{there}")).await;
            let nothing = ground.says(of_shop(), &format!("{form}{nowhere}")).await;
            assert_eq!(answer.code, Code::NotFound);
            let same = answer.to_string().replace("staff", "stoff");
            assert_eq!(same, nothing.to_string());
        }
    }
    let answer = ground.says(of_shop(), "SELECT * FROM staf").await;
    assert!(!answer.to_string().contains("hr"), "{answer}");
    let answer = ground.says(of_shop(), "SELECT * FROM ordes").await;
    assert!(answer.remedy.contains("orders"), "{answer}");
    let answer = ground.ask(of_shop(), &asked("SHOW TABLES")).await.unwrap();
    let names: Vec<&Value> = answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it[0])
        .collect();
    assert_eq!(names, ["shop/codes", "shop/customers", "shop/orders"]);
    let joined = ground.says(
        of_shop(),
        "SELECT * FROM orders JOIN \"hr/staff\" USING (\"id\")",
    );
    assert_eq!(joined.await.code, Code::NotFound);
    let answer = RowsRequest {
        table: "hr/staff".to_owned(),
        ..RowsRequest::default()
    };
    let grant = ground.grant(of_shop()).await;
    let answer = rows(&ground.node, &grant, &answer).await.unwrap_err();
    assert_eq!(answer.code, Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withheld_column_is_refused_by_name() {
    let ground = Ground::new().await;
    let statement = "SELECT \"email\" FROM customers";
    let answer = ground.says(Caller::anyone(), statement).await;
    assert_eq!(answer.code, Code::BadRequest);
    assert!(answer.message.contains("'email'") && answer.message.contains("withheld"));
    let answer = asked("SELECT * FROM customers ORDER BY 1");
    let answer = ground.ask(Caller::anyone(), &answer).await.unwrap();
    assert_eq!(answer["rows"], json!([[1, "Anna"], [2, "Ben"]]));
    for asked in [
        RowsRequest {
            sort: Some("email".to_owned()),
            ..of("shop/customers")
        },
        RowsRequest {
            columns: Some("id,email".to_owned()),
            ..of("shop/customers")
        },
    ] {
        let answer = ground.page(&asked).await.unwrap_err();
        assert!(answer.message.contains("withheld"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_and_are_reported() {
    let options = NodeOptions {
        sql: Some(SqlOptions {
            max_rows: 3,
            at_once: 1,
            ..SqlOptions::default()
        }),
        ..NodeOptions::new(Access::Open)
    };
    let ground = Ground::with(options).await;
    for (max_rows, wanted) in [(Some(2), 2), (Some(100), 3), (None, 3)] {
        let asked = SqlRequest {
            max_rows,
            ..asked("SELECT * FROM orders")
        };
        let answer = ground.ask(Caller::anyone(), &asked).await.unwrap();
        assert_eq!(answer["rows"].as_array().unwrap().len(), wanted);
        assert_eq!(answer["truncated"], true);
        let note = format!("stopped after {wanted} rows, and there are more");
        assert_eq!(answer["notes"], json!([note]));
    }
    for asked in [
        SqlRequest {
            max_rows: Some(0),
            ..asked("SELECT 1")
        },
        asked(" "),
        asked(&"x".repeat(STATEMENT + 1)),
        asked("DELETE FROM orders"),
        SqlRequest {
            lake: Some("/elsewhere".to_owned()),
            ..asked("SELECT 1")
        },
    ] {
        let answer = ground.ask(Caller::anyone(), &asked).await.unwrap_err();
        assert_eq!(answer.code, Code::BadRequest, "{answer}");
    }
    // A turn is kept until the rows are read.
    let grant = ground.grant(Caller::anyone()).await;
    let question = asked("SELECT 1");
    let first = sql(&ground.node, &grant, &question).await.unwrap();
    let second = sql(&ground.node, &grant, &question);
    let waited = tokio::time::timeout(Duration::from_millis(200), second).await;
    assert!(waited.is_err(), "one at a time");
    drop(first);
    sql(&ground.node, &grant, &question).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_after_the_first_rows_is_reported() {
    let options = NodeOptions {
        sql: Some(SqlOptions {
            max_rows: 100_000,
            // Read in one part, in the file's order.
            memory_bytes: 32 << 20,
            ..SqlOptions::default()
        }),
        ..NodeOptions::new(Access::Open)
    };
    let ground = Ground::with(options).await;
    let question = asked("SELECT CAST(\"code\" AS BIGINT) AS n FROM codes");
    let answer = ground.ask(Caller::anyone(), &question).await.unwrap();
    let rows = answer["rows"].as_array().unwrap().len();
    assert!((1..30_000).contains(&rows), "{rows}");
    assert_eq!(
        answer["error"]["code"], "bad_request",
        "{}",
        answer["error"]
    );
    let grant = ground.grant(Caller::anyone()).await;
    let running = sql(&ground.node, &grant, &question).await.unwrap();
    let mut written = running.written(Form::Arrow);
    let mut last = None;
    while let Some(part) = written.recv().await {
        last = Some(part);
    }
    assert!(last.unwrap().is_err(), "the stream breaks off");
}

fn of(table: &str) -> RowsRequest {
    RowsRequest {
        table: table.to_owned(),
        ..RowsRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_in_pages_and_sorted() {
    let ground = Ground::new().await;
    let page = async |asked: RowsRequest| {
        let answer = ground.page(&asked).await.unwrap();
        let rows = answer["rows"].as_array().unwrap().clone();
        let ids: Vec<i64> = rows.iter().map(|row| row[0].as_i64().unwrap()).collect();
        assert_eq!(answer["notes"], json!([]));
        (ids, answer["truncated"].as_bool().unwrap())
    };
    let orders = || of("shop/orders");
    assert_eq!(page(orders()).await, (vec![1, 2, 3, 4, 5], false));
    let first = RowsRequest {
        limit: Some(2),
        ..orders()
    };
    assert_eq!(page(first.clone()).await, (vec![1, 2], true));
    let second = RowsRequest {
        offset: Some(2),
        ..first.clone()
    };
    assert_eq!(page(second).await, (vec![3, 4], true));
    let last = RowsRequest {
        offset: Some(4),
        ..first
    };
    assert_eq!(page(last).await, (vec![5], false));
    let by = |column: &str, descending| RowsRequest {
        sort: Some(column.to_owned()),
        descending: Some(descending),
        ..orders()
    };
    assert_eq!(page(by("amount", false)).await.0, [4, 1, 2, 5, 3]);
    assert_eq!(page(by("amount", true)).await.0, [5, 2, 1, 4, 3]);
    assert_eq!(page(by("town", false)).await.0, [5, 1, 3, 4, 2]);
    let answer = RowsRequest {
        columns: Some("town,id".to_owned()),
        limit: Some(1),
        ..orders()
    };
    let answer = ground.page(&answer).await.unwrap();
    assert_eq!(answer["rows"], json!([["Eldmere", 1]]));
    let wrong = [
        RowsRequest {
            columns: Some("nothing".to_owned()),
            ..orders()
        },
        RowsRequest {
            limit: Some(1001),
            ..orders()
        },
        RowsRequest {
            offset: Some(u64::MAX),
            ..orders()
        },
    ];
    for asked in wrong {
        let answer = ground.page(&asked).await.unwrap_err();
        assert_eq!(answer.code, Code::BadRequest, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_that_changed_is_reported_without_its_place() {
    let ground = Ground::new().await;
    let lake = ground.folder.path().join("lake");
    let answer = async || {
        let answer = ground.says(Caller::anyone(), "SELECT * FROM orders").await;
        assert_eq!(answer.code, Code::Unavailable, "{answer}");
        let place = ground.folder.path().to_str().unwrap();
        assert!(!answer.to_string().contains(place), "{answer}");
    };
    std::fs::write(lake.join("shop/orders.csv"), "id,town,amount\n9,Ash,1\n").unwrap();
    answer().await;
    std::fs::remove_dir_all(lake.join("shop")).unwrap();
    answer().await;
}
