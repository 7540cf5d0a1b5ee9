//! Names of columns, those that are withheld, and what is suggested.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn names_without_quotes_have_any_case() {
    let made = Made::new().await;
    for sql in [
        "SELECT customerid FROM customers",
        "SELECT CUSTOMERID FROM CRM.CUSTOMERS",
        "SELECT \"CustomerID\" FROM \"crm/Customers\"",
        "SELECT crm.customers.customerid FROM crm.customers",
        "SELECT customers.customerid FROM \"crm/Customers\"",
        "SELECT C.customerid FROM customers c",
        "SELECT x.customerid FROM (SELECT customerid FROM customers) x",
        "SELECT customerid FROM (SELECT * FROM customers)",
        "WITH x AS (SELECT customerid FROM customers) SELECT CUSTOMERID FROM X",
        "WITH x (A) AS (SELECT customerid FROM customers) SELECT a FROM x",
        "SELECT customerid FROM customers GROUP BY CUSTOMERID ORDER BY customerID",
        "SELECT customerid AS Key FROM customers ORDER BY KEY",
        "SELECT CustomerID FROM customers WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customerid = customers.CUSTOMERID OR TRUE)",
        "SELECT customerid FROM customers UNION ALL SELECT 1 WHERE FALSE ORDER BY CUSTOMERID",
        "SELECT * EXCLUDE (name, joined, credit) FROM customers",
        "SELECT customerid FROM customers QUALIFY row_number() OVER (ORDER BY JOINED) > 0",
        "SELECT c.CustomerID FROM customers c, LATERAL (SELECT count(*) FROM orders WHERE orders.customerid = C.customerid) o",
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.rows(), 4, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_has_its_own_spelling_in_the_answer() {
    let made = Made::new().await;
    for (sql, columns) in [
        (
            "SELECT customerid, NAME AS n FROM customers",
            &["CustomerID", "n"][..],
        ),
        ("SELECT id, ID_OLD FROM staff", &["ID", "id_old"]),
        ("SELECT * FROM staff", &["ID", "id_old", "Name"]),
        ("SELECT s.* FROM hr.staff S", &["ID", "id_old", "Name"]),
        (
            "SELECT name, id, NAME FROM staff",
            &["Name", "ID", "Name_2"],
        ),
    ] {
        let answer = made
            .ask(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.columns(), columns, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_columns_of_an_answer_have_one_name() {
    let made = Made::new().await;
    for (sql, columns) in [
        (
            "SELECT a.id, b.id FROM staff a, staff b",
            &["ID", "ID_2"][..],
        ),
        (
            "SELECT * FROM staff a JOIN staff b USING (id)",
            &["ID", "id_old", "Name", "id_old_2", "Name_2"],
        ),
        (
            "SELECT a.id, b.id, c.id, 1 AS \"ID_2\" FROM staff a, staff b, staff c LIMIT 3",
            &["ID", "ID_3", "ID_4", "ID_2"],
        ),
        (
            "SELECT a.*, b.id FROM staff a JOIN staff b ON a.id = b.id WHERE b.id < 0",
            &["ID", "id_old", "Name", "ID_2"],
        ),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.columns(), columns, "{sql}");
        for batch in &answer.batches {
            assert_eq!(batch.schema(), answer.batches[0].schema(), "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_one_last_name_stay_apart() {
    let mut made = Made::new().await;
    made.table(
        "old/orders",
        &[("old/orders.csv", "OrderID,Amount\n1,2\n")],
        Redact::Off,
    )
    .await;
    let sql = "SELECT sales.orders.amount, old.orders.amount FROM sales.orders, old.orders \
               WHERE sales.orders.orderid = 100";
    assert_eq!(made.ask(sql).await.unwrap().lines(), ["5|2"]);
    for sql in [
        "SELECT 1 FROM orders",
        "SELECT orders.amount FROM sales.orders, old.orders",
        "SELECT amount FROM sales.orders, old.orders",
    ] {
        let error = made.ask(sql).await.unwrap_err();
        let is_ambiguous = matches!(
            error,
            SqlError::AmbiguousTable { .. } | SqlError::AmbiguousColumn { .. }
        );
        assert!(is_ambiguous, "{sql}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_may_be_several_or_none_are_errors() {
    let mut made = Made::new().await;
    made.table("both", &[("both.csv", "Key,KEY\n1,2\n")], Redact::Off)
        .await;
    let line = |sql: &'static str| {
        let asked = made.ask(sql);
        async move { asked.await.unwrap_err().to_string() }
    };
    let both = line("SELECT key FROM both").await;
    assert!(
        both.contains("\"KEY\"") && both.contains("\"Key\""),
        "{both}"
    );
    for (sql, wanted) in [
        (
            "SELECT custmerid FROM customers",
            "did you mean \"CustomerID\"?",
        ),
        (
            "SELECT customer_id FROM customers",
            "did you mean \"CustomerID\"?",
        ),
        (
            "SELECT \"customerid\" FROM customers",
            "did you mean \"CustomerID\"?",
        ),
        (
            "SELECT c.nme FROM customers c",
            "'crm/Customers' has no column 'nme'; did you mean \"Name\"?",
        ),
        ("SELECT weather FROM customers", "DESCRIBE"),
        (
            "SELECT name FROM customers WHERE name = \"Zurich\"",
            "single quotes",
        ),
        ("SELECT * FROM custmers", "did you mean \"crm/Customers\"?"),
        ("SELECT * FROM weather", "SHOW TABLES"),
        ("SELECT * FROM 's3://bucket/x.csv'", "limn sql reads only"),
        ("SELECT * FROM \"s3://bucket/x.csv\"", "limn sql reads only"),
        ("SELECT * FROM \"/etc/passwd\"", "limn sql reads only"),
        (
            "SELECT * FROM information_schema.tables",
            "no table 'information_schema.tables'",
        ),
        ("SELECT foo(1)", "foo"),
        ("SELECT name + 1 FROM customers GROUP BY joined", ""),
        ("SELECT $1", ""),
        ("SELECT @x", ""),
        ("SELECT max(amount) FROM orders WHERE max(amount) > 1", ""),
    ] {
        let answer = line(sql).await;
        assert!(answer.contains(wanted), "{sql}: {answer}");
        assert!(!answer.contains('\n'), "{sql}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_the_statement_does_not_have_is_reported() {
    let made = Made::new().await;
    for (sql, wanted) in [
        (
            "SELECT x.amount FROM orders o",
            "no table of the statement is called 'x'; there is o",
        ),
        (
            "SELECT orders.amount FROM orders o, customers",
            "no table of the statement is called 'orders'; there are \"crm/Customers\", o",
        ),
        (
            "SELECT o.amount FROM orders o WHERE EXISTS (SELECT 1 FROM staff s WHERE s.id = x.amount)",
            "no table of the statement is called 'x'; there are o, s",
        ),
        (
            "SELECT x.day FROM (SELECT * FROM orders) o GROUP BY x.day",
            "no table of the statement is called 'x'; there is o",
        ),
    ] {
        let error = made.ask(sql).await.unwrap_err();
        assert!(matches!(error, SqlError::UnknownSource { .. }), "{error}");
        assert_eq!(error.to_string(), wanted, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_whose_name_has_dots_needs_no_quotes() {
    let mut made = Made::new().await;
    let text = "user.id,user.Name,geo.at.lat,ev\n7,Ada,1.5,x\n";
    made.table("logs/events", &[("logs/events.csv", text)], Redact::Off)
        .await;
    made.table("user", &[("user.csv", "id,n\n7,1\n")], Redact::Off)
        .await;
    for (sql, lines) in [
        ("SELECT user.id FROM logs.events", "7"),
        ("SELECT USER.name, e.user.id FROM events E", "Ada|7"),
        ("SELECT geo.at.lat FROM events WHERE user.id > 6", "1.5"),
        ("SELECT \"user.id\" FROM events ORDER BY user.id", "7"),
        ("SELECT count(*) FROM events GROUP BY user.name", "1"),
        ("SELECT events.geo.AT.lat + 1 FROM events", "2.5"),
        // A table that is called so comes first.
        ("SELECT user.n FROM events, user WHERE user.id = 7", "1"),
        ("SELECT u.user.id FROM (SELECT user.id FROM events) u", "7"),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.lines(), [lines], "{sql}");
    }
    let answer = made.ask("SELECT user.id FROM events").await.unwrap();
    assert_eq!(answer.columns(), ["user.id"]);
    for (sql, wanted) in [
        ("SELECT user.idd FROM events", "did you mean \"user.id\"?"),
        ("SELECT events.user FROM events", "events"),
        (
            "SELECT user FROM events",
            "'logs/events' has no column 'user'; did you mean",
        ),
        ("SELECT lower(ev).x FROM events", ""),
    ] {
        let answer = made.ask(sql).await.unwrap_err().to_string();
        assert!(answer.contains(wanted), "{sql}: {answer}");
        assert!(!answer.contains("Ident"), "{sql}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_whose_type_does_not_fit_is_named() {
    let mut made = Made::new().await;
    made.table("m", &[("m.csv", "the key,n\n1,1\nx,2\n")], Redact::Off)
        .await;
    for (sql, wanted) in [
        (
            "SELECT name + 1 FROM customers",
            "'Name' of 'crm/Customers' is text, and + takes numbers; write TRY_CAST(\"Name\" AS DOUBLE), which is null where there is no number",
        ),
        (
            "SELECT 2 * (m.\"the key\") FROM m",
            "'the key' of 'm' is text, and * takes numbers; write TRY_CAST(\"the key\" AS DOUBLE)",
        ),
        (
            "SELECT sum(\"the key\") FROM m",
            "sum() takes no text, and 'the key' of 'm' is text; write sum(TRY_CAST(\"the key\" AS DOUBLE))",
        ),
        (
            "SELECT sum(day) FROM orders",
            "sum() does not take 'Day' of 'sales/orders', which is date; CAST",
        ),
        (
            "SELECT avg(t) FROM (SELECT lower(name) t FROM customers)",
            "avg() takes no values of such types",
        ),
        (
            "SELECT lower(name) + 1 FROM customers",
            "text + integer cannot be computed",
        ),
        (
            "SELECT cnt(name) FROM customers",
            "there is no function 'cnt'; did you mean count?",
        ),
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.map(|it| it.lines()).unwrap_err().to_string();
        assert!(answer.contains(wanted), "{sql}: {answer}");
    }
    let sql = "SELECT sum(TRY_CAST(\"the key\" AS DOUBLE)) FROM m";
    assert_eq!(made.ask(sql).await.unwrap().lines(), ["1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn withheld_columns_are_refused_by_name() {
    let made = Made::new().await;
    for sql in [
        "SELECT e_mail FROM customers",
        "SELECT E_MAIL FROM customers",
        "SELECT \"e_mail\" FROM customers",
        "SELECT c.e_mail FROM customers c",
        "SELECT name FROM customers WHERE e_mail LIKE 'anna%'",
        "SELECT count(*) FROM customers GROUP BY e_mail",
        "SELECT name FROM customers ORDER BY e_mail",
        "SELECT e_mail FROM (SELECT * FROM customers)",
        "WITH c AS (SELECT * FROM customers) SELECT max(e_mail) FROM c",
        "SELECT 1 FROM customers a JOIN customers b ON a.e_mail = b.e_mail",
        "SELECT * EXCLUDE (e_mail) FROM customers",
        "EXPLAIN SELECT e_mail FROM customers",
    ] {
        let error = made.ask(sql).await.unwrap_err();
        assert!(matches!(error, SqlError::Withheld { .. }), "{sql}: {error}");
        let line = error.to_string();
        assert_eq!(
            line, "column 'e_mail' of 'crm/Customers' is withheld: it holds e-mail",
            "{sql}"
        );
    }
    for sql in ["SELECT * FROM customers", "SELECT c.* FROM customers c"] {
        let answer = made.ask(sql).await.unwrap();
        assert_eq!(answer.columns(), ["CustomerID", "Name", "Joined", "Credit"]);
        assert_eq!(
            answer.notes,
            ["'crm/Customers' is without 'e_mail', which is withheld"]
        );
        let text = answer.lines().join("\n");
        assert!(!text.contains('@'), "{text}");
    }
    let joined = "SELECT c.name FROM customers c JOIN customers d USING (e_mail)";
    assert!(made.ask(joined).await.is_err());
    let natural = "SELECT * FROM customers a NATURAL JOIN customers b";
    assert_eq!(made.ask(natural).await.unwrap().columns().len(), 4);
}

/// The record of a table is of older files while its texts are kept: files that came since withhold
/// for themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_one_file_withholds_is_withheld() {
    let mut made = Made::new().await;
    for column in &mut made.tables[0].columns {
        (column.withheld, column.sensitive) = (false, None);
    }
    for sql in [
        "SELECT e_mail FROM customers",
        "SELECT c.E_MAIL FROM customers c",
    ] {
        let error = made.ask(sql).await.unwrap_err();
        assert!(matches!(error, SqlError::Withheld { .. }), "{error}");
        assert!(error.to_string().ends_with("it holds e-mail"), "{error}");
    }
    let answer = made.ask("SELECT * FROM customers").await.unwrap();
    assert!(
        !answer.columns().contains(&"e_mail".to_owned()),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_withheld_whole_can_be_counted() {
    let mut made = Made::new().await;
    made.table(
        "secret",
        &[("secret.csv", "a,b\n1,x\n2,y\n")],
        Redact::AllValues,
    )
    .await;
    let error = made.ask("SELECT * FROM secret").await.unwrap_err();
    assert!(matches!(error, SqlError::AllWithheld { .. }), "{error}");
    let error = made.ask("SELECT a FROM secret").await.unwrap_err();
    assert!(
        error.to_string().contains("kept out of the index"),
        "{error}"
    );
    assert_eq!(
        made.ask("SELECT count(*) FROM secret")
            .await
            .unwrap()
            .lines(),
        ["2"]
    );
    let answer = made
        .ask("SELECT count(*) FROM secret a, orders b WHERE b.amount > 1")
        .await;
    assert_eq!(answer.unwrap().lines(), ["8"]);
}
