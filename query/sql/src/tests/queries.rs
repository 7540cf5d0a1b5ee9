//! What statements answer.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn statements_answer_with_rows() {
    let made = Made::new().await;
    for (sql, lines) in [
        ("SELECT 1 + 1", &["2"][..]),
        ("VALUES (1, 'a'), (2, 'b')", &["1|a", "2|b"]),
        (
            "SELECT Name FROM crm.customers WHERE CustomerID = 2",
            &["Ben"],
        ),
        (
            "SELECT name FROM Customers WHERE customerid > 2 ORDER BY customerid",
            &["Cleo", ""],
        ),
        ("SELECT count(*) FROM orders", &["5"]),
        ("SELECT count(*) FROM orders WHERE amount > 4", &["3"]),
        ("SELECT count(*) FROM customers WHERE name IS NULL", &["1"]),
        ("SELECT count(name) FROM customers", &["3"]),
        (
            "SELECT sum(amount), min(day) FROM \"sales/orders\"",
            &["26|2024-03-01"],
        ),
        (
            "SELECT c.name, sum(o.amount) AS total FROM customers c JOIN sales.orders o ON o.customerid = c.customerid \
             GROUP BY c.name HAVING total > 2 ORDER BY total DESC",
            &["Anna|12", "Ben|11"],
        ),
        (
            "WITH big AS (SELECT * FROM orders WHERE amount >= 5) SELECT day, count(*) n FROM big GROUP BY day ORDER BY day",
            &["2024-03-01|1", "2024-03-02|2"],
        ),
        (
            "SELECT orderid, row_number() OVER (PARTITION BY customerid ORDER BY day) FROM orders ORDER BY orderid LIMIT 2",
            &["100|1", "101|2"],
        ),
        (
            "SELECT name FROM customers WHERE customerid IN (SELECT customerid FROM orders WHERE amount > 10)",
            &["Ben"],
        ),
        (
            "SELECT name, (SELECT max(amount) FROM orders o WHERE o.customerid = c.customerid) m FROM customers c ORDER BY CustomerID LIMIT 2",
            &["Anna|7", "Ben|11"],
        ),
        ("SELECT 1 UNION ALL SELECT 2 ORDER BY 1", &["1", "2"]),
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT I + 1 FROM n WHERE i < 3) SELECT max(i) FROM n",
            &["3"],
        ),
        (
            "SELECT name FROM customers WHERE joined BETWEEN '2024-01-01' AND '2024-01-31'",
            &["Anna"],
        ),
        (
            "SELECT upper(name) FROM customers WHERE name LIKE 'A%'",
            &["ANNA"],
        ),
        ("FROM customers SELECT count(*)", &["4"]),
        ("FROM staff", &["1|7|Anna", "2|8|Emil"]),
        ("FROM staff s WHERE s.id > 1", &["2|8|Emil"]),
        (
            "FROM orders ORDER BY orderid DESC LIMIT 1",
            &["104|9|1|2024-04-02"],
        ),
        ("SELECT count(*) FROM (FROM orders LIMIT 3) o", &["3"]),
        ("WITH s AS (FROM staff) FROM s", &["1|7|Anna", "2|8|Emil"]),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.lines(), lines, "{sql}");
        assert!(!answer.is_truncated && !answer.is_partial, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_is_that_of_the_statement() {
    let made = Made::new().await;
    for sql in [
        "SELECT now() > TIMESTAMP '2024-01-01T00:00:00Z'",
        "SELECT current_timestamp = now()",
        "SELECT current_date > DATE '2024-01-01' AND current_time IS NOT NULL",
        "SELECT DATE_TRUNC('month', now()) <= now()",
        "SELECT count(*) = 5 FROM orders WHERE day < now()",
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.lines(), ["true"], "{sql}");
    }
}

/// What the index knows of values is of those that it looked at, and of older files perhaps.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_sorted_by_what_the_index_takes_for_constant() {
    let mut made = Made::new().await;
    for column in &mut made.tables[1].columns {
        (column.min, column.max) = (Some("5".to_owned()), Some("5".to_owned()));
    }
    let sql =
        "SELECT orderid FROM orders WHERE amount + 0 > 1 AND amount <> 7 ORDER BY amount DESC";
    assert_eq!(made.ask(sql).await.unwrap().lines(), ["102", "100", "103"]);
    let sql = "SELECT orderid FROM orders WHERE amount * 1 >= 5 ORDER BY amount DESC";
    assert_eq!(made.ask(sql).await.unwrap().lines(), ["102", "101", "100"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_is_described() {
    let made = Made::new().await;
    let answer = made.ask("SHOW TABLES").await.unwrap();
    assert_eq!(answer.columns(), ["table", "rows", "columns"]);
    assert_eq!(
        answer.lines(),
        ["crm/Customers|4|5", "hr/staff|2|3", "sales/orders|5|4"]
    );
    let like = made.ask("SHOW TABLES ILIKE 'CRM/%'").await.unwrap();
    assert_eq!(like.lines(), ["crm/Customers|4|5"]);
    assert_eq!(
        made.ask("SHOW TABLES LIKE 'CRM/%'").await.unwrap().rows(),
        0
    );
    for sql in ["DESCRIBE customers", "SHOW COLUMNS FROM crm.customers"] {
        let lines = made.ask(sql).await.unwrap().lines();
        assert_eq!(lines[0], "CustomerID|integer|", "{lines:?}");
        assert_eq!(lines[4], "e_mail||withheld: it holds e-mail", "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_show_what_the_scan_is_asked_for() {
    let made = Made::new().await;
    let explained = |sql: &'static str| async { made.ask(sql).await.unwrap().lines().join("\n") };
    let filtered = explained("EXPLAIN SELECT name FROM customers WHERE customerid = 2").await;
    assert!(
        filtered.contains("LimnScan: crm/Customers, columns=[Name], where="),
        "{filtered}"
    );
    assert!(!filtered.contains("FilterExec"), "{filtered}");
    let like = explained("EXPLAIN SELECT name FROM customers WHERE name LIKE '%x'").await;
    assert!(like.contains("FilterExec"), "{like}");
    let limited = explained("EXPLAIN SELECT name FROM customers LIMIT 3").await;
    assert!(
        limited.contains("limit=3") && limited.contains("parts=1"),
        "{limited}"
    );
    // The index knows it.
    let counted = explained("EXPLAIN SELECT count(*) FROM customers").await;
    assert!(!counted.contains("LimnScan"), "{counted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_statement_reads_is_counted() {
    let made = Made::new().await;
    let before = made.store.counts();
    let engine = made.engine(Limits::default());
    let answer = ask(&engine, "SELECT max(amount) FROM orders")
        .await
        .unwrap();
    let all = made.store.counts().since(&before);
    assert_eq!(answer.read.bytes, (ORDERS_1.len() + ORDERS_2.len()) as u64);
    assert_eq!(
        (answer.read.requests, answer.read.bytes),
        (all.get + all.head, all.bytes_read)
    );
    // Of this statement alone.
    let answer = ask(&engine, "SELECT max(id) FROM staff").await.unwrap();
    assert_eq!(answer.read.bytes, STAFF.len() as u64);
    let answer = ask(&engine, "EXPLAIN SELECT max(id) FROM staff")
        .await
        .unwrap();
    assert_eq!(answer.read, ReadCounts::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_from_the_index_alone_is_noted() {
    let made = Made::new().await;
    // As they were, as far as anybody knows.
    made.store.delete("sales/orders/1.csv").await.unwrap();
    made.store.delete("sales/orders/2.csv").await.unwrap();
    let note = "'sales/orders' was answered from the index: its files were not looked at";
    for (sql, notes) in [
        ("SELECT count(*) FROM orders", &[note][..]),
        ("SELECT * FROM orders WHERE amount > 1000", &[note]),
        (
            "SELECT (SELECT count(*) FROM orders o) a, (SELECT count(*) FROM orders) b, max(id) FROM staff",
            &[note],
        ),
        ("SELECT max(id) FROM staff", &[]),
        ("EXPLAIN SELECT count(*) FROM orders", &[]),
        ("SHOW TABLES", &[]),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.notes, notes, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tables_that_are_named_are_opened() {
    let mut made = Made::new().await;
    for table in &mut made.tables[1..] {
        table.files[0].summary = Some("no summary at all".to_owned());
    }
    assert_eq!(
        made.ask("SELECT count(name) FROM customers")
            .await
            .unwrap()
            .rows(),
        1
    );
    let error = made.ask("SELECT * FROM orders").await.unwrap_err();
    assert!(matches!(error, SqlError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("limn index"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_could_not_be_read_are_noted() {
    let mut made = Made::new().await;
    made.tables[1].files[1].error = Some("it is broken".to_owned());
    let answer = made.ask("SELECT count(*) FROM orders").await.unwrap();
    assert_eq!(answer.lines(), ["3"]);
    assert!(
        answer.is_partial && answer.notes[0].contains("without 1 of its 2 files"),
        "{answer:?}"
    );
    made.tables[1].files[0].error = Some("it is broken, too".to_owned());
    let error = made.ask("SELECT count(*) FROM orders").await.unwrap_err();
    assert!(error.to_string().contains("broken"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_has_changed_ends_the_answer() {
    let made = Made::new().await;
    made.store.delete("sales/orders/2.csv").await.unwrap();
    let error = made
        .ask("SELECT sum(amount) FROM orders")
        .await
        .unwrap_err();
    assert!(matches!(error, SqlError::Stale(_)), "{error}");
    let answer = error.to_string();
    assert!(
        answer.starts_with("sales/orders/2.csv is missing") && answer.contains("limn index /lake"),
        "{answer}"
    );
    let text = Bytes::from_static(b"OrderID,customerid,Amount,Day\n1,1,1,2024-03-01\n");
    made.store.put("sales/orders/2.csv", text).await.unwrap();
    let error = made.ask("FROM orders").await.unwrap_err().to_string();
    assert!(
        error.starts_with("sales/orders/2.csv has changed")
            && error.contains("limn update sales/orders --lake /lake --index INDEX"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_that_do_not_fit_are_noted() {
    let mut made = Made::new().await;
    let parts = [("m/1.csv", "a\n1\n2\n"), ("m/2.csv", "a\n3\n4\n")];
    made.table("m", &parts, Redact::Off).await;
    // As if the index had seen only part of the second file.
    let size = made.tables[3].files[1].size;
    made.store
        .put("m/2.csv", Bytes::from_static(b"a\nx\n4\n"))
        .await
        .unwrap();
    let head = made.store.head("m/2.csv").await.unwrap();
    assert_eq!(head.size, size);
    made.tables[3].files[1].etag = head.etag;
    made.tables[3].files[1].version = head.version;
    made.tables[3].files[1].modified_ms = head.modified_ms;
    let answer = made.ask("SELECT sum(a) FROM m").await.unwrap();
    assert_eq!(answer.lines(), ["7"]);
    assert_eq!(
        answer.notes,
        ["1 value of 'a' of 'm' is not of its type and read as null"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_two_lakes_stay_apart() {
    let made = Made::new().await;
    let mut tables = made.tables.clone();
    let mut other = tables[0].clone();
    other.lake = "s3://other".to_owned();
    tables.push(other);
    let both = Engine::new(shared(tables.clone(), &made.store), Limits::default());
    let error = ask(&both, "SELECT name FROM customers").await.unwrap_err();
    assert!(matches!(error, SqlError::SeveralLakes { .. }), "{error}");
    let answer = ask(&both, "SHOW TABLES LIKE 'crm%'").await.unwrap();
    assert_eq!(answer.columns(), ["table", "rows", "columns", "lake"]);
    let one = Arc::into_inner(shared(tables, &made.store)).unwrap();
    let one = Engine::new(one.of_lake("s3://other").unwrap(), Limits::default());
    assert_eq!(
        ask(&one, "SELECT name FROM customers")
            .await
            .unwrap()
            .rows(),
        4
    );
    let error = ask(&one, "SELECT * FROM orders").await.unwrap_err();
    assert!(matches!(error, SqlError::UnknownTable { .. }), "{error}");
    let none = Arc::into_inner(shared(made.tables.clone(), &made.store)).unwrap();
    let error = none.of_lake("/elsewhere").unwrap_err();
    assert!(error.to_string().contains("/lake"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_compared_with_numbers_as_the_numbers_that_they_are() {
    let mut made = Made::new().await;
    let text = "key,n\n1,10\nnone,20\n3,30\n";
    made.table("mixed", &[("mixed.csv", text)], Redact::Off)
        .await;
    let note = "'key' is text: only its values that are numbers are compared with numbers";
    for (sql, lines) in [
        ("SELECT n FROM mixed WHERE key = 3", &["30"][..]),
        ("SELECT n FROM mixed WHERE 1.5 < key", &["30"]),
        ("SELECT n FROM mixed WHERE key IN (3, 4)", &["30"]),
        (
            "SELECT n FROM mixed WHERE key IN (1.0, 3, NULL)",
            &["10", "30"],
        ),
        ("SELECT n FROM mixed WHERE key BETWEEN 2 AND 10.5", &["30"]),
        (
            "SELECT m.n FROM mixed m WHERE 3 BETWEEN key AND m.n",
            &["10", "30"],
        ),
        (
            "SELECT n FROM mixed WHERE key IN (SELECT customerid FROM orders WHERE amount < 5)",
            &["30"],
        ),
        (
            "SELECT o.orderid FROM orders o, mixed m WHERE m.n = 30 AND o.customerid IN (key, 77)",
            &["103"],
        ),
        (
            "SELECT m.n FROM mixed m JOIN customers c ON m.key = c.customerid ORDER BY n",
            &["10", "30"],
        ),
        (
            "SELECT count(*) FROM orders JOIN (SELECT key AS customerid FROM mixed) USING (customerid)",
            &["3"],
        ),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.lines(), lines, "{sql}");
        assert_eq!(answer.notes.len(), 1, "{sql}");
        assert!(
            answer.notes[0].ends_with(&note["'key'".len()..]),
            "{:?}",
            answer.notes
        );
    }
    for (sql, count) in [
        ("SELECT count(*) FROM orders WHERE amount LIKE '1%'", "2"),
        (
            "SELECT count(*) FROM orders WHERE day NOT LIKE '2024-03%'",
            "2",
        ),
    ] {
        assert_eq!(made.ask(sql).await.unwrap().lines(), [count], "{sql}");
    }
    // What is said in the statement is not guessed at.
    for sql in [
        "SELECT count(*) FROM orders WHERE amount = 'much'",
        "SELECT count(*) FROM mixed WHERE key <> 3",
        "SELECT sum(key) FROM mixed",
    ] {
        assert!(made.ask(sql).await.is_err(), "{sql}");
    }
}

/// DataFusion alone takes a date for the days since 1970.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_not_compared_with_dates() {
    let mut made = Made::new().await;
    let text = "voyage,etd\n1,20240330\n2,20240401\n3,20240517\n";
    made.table("voyages", &[("voyages.csv", text)], Redact::Off)
        .await;
    for sql in [
        "SELECT voyage FROM voyages WHERE etd >= DATE '2024-04-01'",
        "SELECT voyage FROM voyages WHERE etd BETWEEN DATE '2024-04-01' AND DATE '2024-04-30'",
        "SELECT voyage FROM voyages WHERE etd IN (DATE '2024-04-01')",
        "SELECT voyage FROM voyages WHERE now() > etd",
        "SELECT count(*) FROM orders WHERE 2024 < day",
    ] {
        let error = made.ask(sql).await.unwrap_err().to_string();
        assert!(
            error.contains("is a number and is compared with a date"),
            "{sql}: {error}"
        );
    }
    for sql in [
        "SELECT voyage FROM voyages WHERE etd >= 20240401",
        "SELECT voyage FROM voyages WHERE to_date(CAST(etd AS VARCHAR), '%Y%m%d') >= DATE '2024-04-01'",
    ] {
        assert_eq!(made.ask(sql).await.unwrap().lines(), ["2", "3"], "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_plans_read_tables_in_one_part_and_have_nulls_last() {
    let made = Made::new().await;
    let sql = "EXPLAIN SELECT customerid FROM orders GROUP BY customerid ORDER BY count(*) LIMIT 1";
    let limits = Limits {
        memory_bytes: 8 << 30,
        ..Limits::default()
    };
    let engine = made.engine(limits);
    let several = ask(&engine, sql).await.unwrap().lines().join("\n");
    assert_eq!(
        several.contains("RepartitionExec"),
        std::thread::available_parallelism().is_ok_and(|it| it.get() > 1),
        "{several}"
    );
    let one = ask(&engine.for_plans(), sql).await.unwrap();
    let one = one.lines().join("\n");
    assert!(!one.contains("RepartitionExec"), "{one}");
    let greatest = "SELECT credit FROM customers ORDER BY credit DESC LIMIT 1";
    let greatest = ask(&engine.for_plans(), greatest).await.unwrap();
    assert!(
        greatest.lines().join(" ").contains("10.5"),
        "{:?}",
        greatest.lines()
    );
}
