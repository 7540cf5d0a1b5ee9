//! Limits of rows, time, memory, disk and depth.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_no_more_rows_than_are_wanted() {
    let made = Made::new().await;
    let of = |max_rows| {
        made.engine(Limits {
            max_rows: Some(max_rows),
            ..Limits::default()
        })
    };
    for (most, rows, is_truncated) in [(0, 0, true), (2, 2, true), (5, 5, false), (6, 5, false)] {
        for sql in [
            "SELECT * FROM orders",
            "SELECT * FROM orders ORDER BY amount",
        ] {
            let answer = ask(&of(most), sql).await.unwrap();
            assert_eq!(
                (answer.rows(), answer.is_truncated),
                (rows, is_truncated),
                "{most} {sql}"
            );
            assert_eq!(
                answer.notes.len(),
                usize::from(is_truncated),
                "{:?}",
                answer.notes
            );
        }
    }
    let answer = ask(&of(2), "SELECT * FROM orders").await.unwrap();
    assert_eq!(
        answer.notes,
        ["stopped after 2 rows, and there are more: --max-rows"]
    );
    let answer = ask(&of(1), "SHOW TABLES").await.unwrap();
    assert!(answer.rows() == 1 && answer.is_truncated);
    // A count of many rows is one row.
    assert!(
        !ask(&of(1), "SELECT count(*) FROM orders")
            .await
            .unwrap()
            .is_truncated
    );
}

/// A table of `rows` rows of about 50 bytes, in a few files.
async fn large(rows: usize) -> Made {
    let mut made = Made::new().await;
    let part = |part: usize| {
        let mut text = "id,word,other\n".to_owned();
        for row in (part * rows / 4)..((part + 1) * rows / 4) {
            let _ = writeln!(
                text,
                "{row},word {:016x},{}",
                row.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                row % 97
            );
        }
        text
    };
    let texts: Vec<String> = (0..4).map(part).collect();
    let paths: Vec<String> = (0..4).map(|it| format!("large/{it}.csv")).collect();
    let files: Vec<(&str, &str)> = paths
        .iter()
        .zip(&texts)
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    made.table("large", &files, Redact::Off).await;
    made
}

/// What computes for long without a batch of rows, and what has more batches than anybody waits
/// for. A thread that computed on would hold up the end of the runtime.
#[test]
fn a_query_without_end_is_stopped() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let made = runtime.block_on(large(100_000));
    let engine = made.engine(Limits {
        timeout: Duration::from_secs(2),
        memory_bytes: 64 << 20,
        ..Limits::default()
    });
    for sql in [
        "SELECT count(*) FROM large a, large b, large c WHERE a.id + b.id = c.id + 1",
        "SELECT count(*) FROM large a, large b, large c WHERE a.id + b.id + c.id < 0",
        "SELECT max(a.id + b.id + c.id) FROM large a, large b, large c",
        "SELECT count(*) FROM large a JOIN large b ON a.other = b.other \
         JOIN large c ON b.other = c.other AND a.id + c.id < 0",
        "SELECT count(*) FROM large a WHERE NOT EXISTS \
         (SELECT 1 FROM large b, large c WHERE a.id + b.id + c.id < 0)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
        "SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY a.id + b.id) n FROM large a, large b)",
    ] {
        let begun = Instant::now();
        let error = runtime.block_on(ask(&engine, sql)).unwrap_err();
        let is_limit = matches!(error, SqlError::Timeout(_) | SqlError::Memory(_));
        assert!(is_limit, "{sql}: {error}");
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{sql}: {:?}",
            begun.elapsed()
        );
    }
    let begun = Instant::now();
    runtime.shutdown_timeout(Duration::from_secs(60));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

/// Also where nothing that it waits for comes to a place at which it could be let go.
#[test]
fn an_answer_that_is_dropped_computes_no_more() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let made = runtime.block_on(large(20_000));
    let engine = made.engine(Limits::default());
    runtime.block_on(async {
        let sql = "SELECT count(*) FROM large a, large b, large c WHERE a.id + b.id + c.id < 0";
        let asked = tokio::spawn(async move { ask(&engine, sql).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        asked.abort();
    });
    let begun = Instant::now();
    runtime.shutdown_timeout(Duration::from_secs(50));
    // It takes hours otherwise. A batch that is computed comes to its end: seconds, on a busy
    // machine.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_in_memory_goes_to_disk_or_is_stopped() {
    let made = large(400_000).await;
    let limits = Limits {
        memory_bytes: 16 << 20,
        ..Limits::default()
    };
    // Sorts and groups go to disk.
    let engine = made.engine(limits.clone());
    let sorted = "SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY word) n FROM large)";
    let answer = ask(&engine, sorted).await.unwrap();
    assert_eq!(answer.lines(), ["80000200000"]);
    // A join's smaller side has to fit.
    let join = "SELECT count(*) FROM large a JOIN large b ON a.word = b.word";
    let error = ask(&engine, join).await.unwrap_err();
    assert!(matches!(error, SqlError::Memory(_)), "{error}");
    assert!(error.to_string().contains("--memory"), "{error}");
    // There is a limit on disk, too.
    let engine = made.engine(Limits {
        spill_bytes: 1 << 20,
        ..limits
    });
    let error = ask(&engine, sorted).await.unwrap_err();
    assert!(matches!(error, SqlError::Spill(_)), "{error}");
}

/// On threads with stacks as small as tokio's.
#[tokio::test(flavor = "multi_thread")]
async fn as_deep_as_is_allowed_is_no_stack_overflow() {
    let made = Made::new().await;
    let ors: String = (0..290)
        .map(|it| format!(" OR amount + {it} = {it}"))
        .collect();
    let ands: String = (0..290)
        .map(|it| format!(" AND amount + {it} <> {it}"))
        .collect();
    let sum = " + amount".repeat(290);
    let joins: String = (0..90)
        .map(|it| format!(" JOIN orders o{it} ON o{it}.orderid = o.orderid"))
        .collect();
    let windows: Vec<String> = (0..120)
        .map(|it| format!("rank() OVER (ORDER BY amount + {it})"))
        .collect();
    let unions = " UNION ALL SELECT amount FROM orders".repeat(140);
    let nested = format!("{}amount{}", "abs(".repeat(60), ")".repeat(60));
    for sql in [
        format!("SELECT count(*) FROM orders WHERE FALSE{ors}"),
        format!("SELECT count(*) FROM orders WHERE TRUE{ands}"),
        format!("SELECT max(amount{sum}) FROM orders"),
        format!("SELECT count(*) FROM orders o{joins}"),
        format!("SELECT {} FROM orders", windows.join(", ")),
        format!("SELECT amount FROM orders{unions}"),
        format!("SELECT {nested} FROM orders"),
    ] {
        let engine = made.engine(Limits::default());
        let start: String = sql.chars().take(60).collect();
        let begun = Instant::now();
        let asked = tokio::spawn(async move { ask(&engine, &sql).await });
        match asked.await.unwrap() {
            Ok(answer) => assert!(answer.rows() > 0, "{start}"),
            Err(error) => assert!(
                matches!(error, SqlError::TooLarge { .. }),
                "{start}: {error}"
            ),
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{start}: {:?}",
            begun.elapsed()
        );
    }
}

/// Each query of WITH names the one before twice.
#[tokio::test(flavor = "multi_thread")]
async fn queries_of_with_count_as_often_as_they_are_named() {
    let made = Made::new().await;
    let mut sql = "WITH a0 AS (SELECT 1 AS x)".to_owned();
    for it in 1..40 {
        let _ = write!(sql, ", a{it} AS (SELECT l.x FROM a{0} l, a{0} r)", it - 1);
    }
    sql += " SELECT * FROM a39";
    let error = made.ask(&sql).await.unwrap_err();
    assert!(matches!(error, SqlError::TooLarge { .. }), "{error}");
}

/// Each query of WITH has twice the columns of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn columns_count_as_often_as_they_are_named() {
    let made = Made::new().await;
    for (first, every) in [("", "*, *"), (", FALSE", "*, l.*")] {
        let mut sql = format!("WITH a0 AS (SELECT 1 AS x{first})");
        for it in 1..60 {
            let _ = write!(sql, ", a{it} AS (SELECT {every} FROM a{} l)", it - 1);
        }
        sql += " SELECT * FROM a59";
        let error = made.ask(&sql).await.unwrap_err();
        assert!(matches!(error, SqlError::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("columns"), "{error}");
    }
}

/// Also while the plan is made, of constants.
#[tokio::test(flavor = "multi_thread")]
async fn functions_make_no_values_without_bounds() {
    let made = large(20_000).await;
    let replaced = format!(
        "{}'aaaaaaaaaa'{}",
        "replace(".repeat(15),
        ", 'a', 'aaaaaaaaaa')".repeat(15)
    );
    let day = "TIMESTAMP '2024-01-01', TIMESTAMP '2024-12-31'";
    for call in [
        "range(0, 4000000000)",
        "range(4000000000, 0, -1)",
        "generate_series(0, 4000000000)",
        "generate_series(-9223372036854775807, 9223372036854775807)",
        &format!("range({day}, INTERVAL '1 microsecond')"),
        &format!("generate_series({day}, INTERVAL '1 nanosecond')"),
        "generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL '1 day -23 hours')",
        "array_repeat(1, 2000000000)",
        "array_repeat(array_repeat('a', 100000), 100000)",
        "array_resize([1], 2000000000)",
        "array_resize([1], 2000000000, 7)",
        "repeat('a', 2000000000)",
        "repeat('a', 2000000)",
        "lpad('a', 2000000000)",
        "rpad('a', 2000000000, 'b')",
        &replaced,
        "repeat(word, 100000)",
        "lpad(word, 100000000 + id)",
        "range(0, 100000 + id)",
        "array_repeat(word, 100000)",
        "replace(word, '', repeat('a', 32000))",
        "range(0, 100000)",
    ] {
        let sql = format!("SELECT {call} FROM large");
        let error = made.ask(&sql).await.unwrap_err();
        assert!(matches!(error, SqlError::Execution(_)), "{sql}: {error}");
        assert!(error.to_string().contains("are allowed"), "{sql}: {error}");
    }
    for (sql, line) in [
        (
            "SELECT count(*) FROM (SELECT unnest(range(0, 200000)))",
            "200000",
        ),
        (
            "SELECT array_length(generate_series(DATE '2024-01-01', DATE '2024-12-31', INTERVAL '1 month'))",
            "12",
        ),
        ("SELECT lpad('7', 3, '0')", "007"),
        (
            "SELECT max(lpad(CAST(id AS VARCHAR), 8, '0')) FROM large",
            "00019999",
        ),
        ("SELECT replace('a-b', '-', '+')", "a+b"),
        ("SELECT length(repeat('ab', 1000))", "2000"),
        ("SELECT array_repeat('a', 3)", "[a, a, a]"),
        ("SELECT list_repeat(1, 2)", "[1, 1]"),
        ("SELECT array_resize([1], 3, 7)", "[1, 7, 7]"),
        ("SELECT range(3, 0, -1)", "[3, 2, 1]"),
        (
            "SELECT count(*) FROM large a JOIN large b ON lpad(a.word, 4) = lpad(b.word, 4) AND a.id = b.id",
            "20000",
        ),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.lines(), [line], "{sql}");
    }
}

/// A constant stands in every row.
#[tokio::test(flavor = "multi_thread")]
async fn constants_are_no_longer_than_statements() {
    let made = Made::new().await;
    let sql = format!(
        "SELECT 'a'{} FROM orders",
        " || repeat('a', 30000)".repeat(100)
    );
    let error = made.ask(&sql).await.unwrap_err();
    assert!(matches!(error, SqlError::TooLarge { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bombs_are_errors() {
    let made = Made::new().await;
    for sql in [
        format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!(
            "SELECT * FROM orders WHERE amount = 0{}",
            " OR amount = 1".repeat(10_000)
        ),
        format!("SELECT 1{}", "+1".repeat(100_000)),
        format!(
            "SELECT * FROM {}orders{}",
            "(".repeat(10_000),
            ")".repeat(10_000)
        ),
    ] {
        let error = made.ask(&sql).await.unwrap_err();
        assert!(matches!(error, SqlError::TooLarge { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_dropped_reads_no_more() {
    let made = large(40_000).await;
    let engine = made.engine(Limits::default());
    let mut answer = engine.run("SELECT * FROM large").await.unwrap();
    assert!(answer.try_next().await.unwrap().is_some());
    drop(answer);
    // What is being read may come to its end.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = made.store.counts();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let after = made.store.counts().since(&before);
    assert_eq!(after.get, 0, "{after:?}");
}
