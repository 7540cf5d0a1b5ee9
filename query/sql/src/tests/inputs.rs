//! Statements over inputs: tables under other names, and rows that are given.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use futures::TryStreamExt;

use super::Made;
use crate::{Engine, Input, Inputs, Limits, SqlError};

fn inputs() -> Inputs {
    let ids = Int64Array::from(vec![1, 3]);
    let said = StringArray::from(vec!["yes", "no"]);
    let rows = RecordBatch::try_from_iter([
        ("Id", Arc::new(ids) as _),
        ("crm/Customers", Arc::new(said) as _),
    ]);
    let table = Input::Table {
        name: "crm/Customers".to_owned(),
        lake: None,
    };
    let given = [
        ("people".to_owned(), table),
        ("Judged".to_owned(), Input::Rows(rows.unwrap())),
    ];
    given.into_iter().collect()
}

async fn lines(sql: &str) -> Result<Vec<String>, SqlError> {
    let engine = Made::new().await.engine(Limits::default());
    let columns = engine.columns_over(sql, inputs()).await?;
    let answer = engine.run_over(sql, inputs()).await?;
    assert_eq!(columns.fields().len(), answer.schema().fields().len());
    let batches: Vec<RecordBatch> = answer.try_collect().await?;
    let mut text = String::new();
    for batch in &batches {
        crate::written::json_rows(batch, true, &mut text).unwrap();
    }
    Ok(text.lines().skip(1).map(str::to_owned).collect())
}

#[tokio::test]
async fn names_mean_the_inputs_and_nothing_else() {
    let joined = lines(
        "SELECT people.Name, j.\"crm/Customers\" AS said FROM people \
         JOIN judged j ON j.id = people.customerid ORDER BY 1",
    );
    assert_eq!(
        joined.await.unwrap(),
        ["[\"Anna\",\"yes\"],", "[\"Cleo\",\"no\"]"]
    );
    let with = lines("WITH p AS (SELECT count(*) AS n FROM people) SELECT n FROM p");
    assert_eq!(with.await.unwrap(), ["[4]"]);
    for (sql, says) in [
        ("SELECT * FROM \"crm/Customers\"", "it has Judged, people"),
        ("SELECT * FROM orders", "no input 'orders'"),
        ("SELECT e_mail FROM people", "withheld"),
        ("SELECT nam FROM people", "did you mean"),
        ("SELECT saidx FROM judged", "no column 'saidx'"),
        ("SHOW TABLES", "over inputs"),
        ("DESCRIBE people", "over inputs"),
        ("EXPLAIN SELECT 1", "over inputs"),
    ] {
        let error = lines(sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_join_that_multiplies_rows_is_noted() {
    let mut made = Made::new().await;
    let rows = |name: &str| {
        let lines = (0..300).map(|at| format!("{at},{}\n", at % 3));
        format!("{name}_id,kind\n{}", lines.collect::<String>())
    };
    for name in ["a", "b"] {
        let path = format!("many/{name}.csv");
        let text = rows(name);
        made.table(
            &format!("many/{name}"),
            &[(&path, &text)],
            limn_profile::Redact::Off,
        )
        .await;
    }
    let notes = async |sql: &str| {
        let engine = made.engine(Limits::default());
        let mut answer = engine.run(sql).await.unwrap();
        while answer.try_next().await.unwrap().is_some() {}
        answer.notes()
    };
    let by_kind = notes("SELECT count(*) FROM a JOIN b ON a.kind = b.kind").await;
    let says = "a join makes about 30000 rows of 300 and 300";
    assert!(by_kind.iter().any(|it| it.starts_with(says)), "{by_kind:?}");
    let by_key = notes("SELECT count(*) FROM a JOIN b ON a.a_id = b.b_id").await;
    assert_eq!(by_key, Vec::<String>::new());
}

#[tokio::test]
async fn the_rows_behind_an_answer_are_those_that_it_is_made_of() {
    let engine = Made::new().await.engine(Limits::default()).for_plans();
    let all = &["1", "2", "3", "4"][..];
    for (sql, behind) in [
        (
            "SELECT count(*) FROM people WHERE credit > 5",
            Some(&["1", "3"][..]),
        ),
        (
            "SELECT joined, sum(credit) FROM people GROUP BY joined ORDER BY 2",
            Some(all),
        ),
        // Those that hold the greatest value, and the least, among those that are looked at.
        ("SELECT max(credit) FROM people", Some(&["1"][..])),
        (
            "SELECT max(credit) AS most, min(credit) FROM people WHERE credit < 10",
            Some(&["3", "4"]),
        ),
        ("SELECT max(credit), count(*) FROM people", Some(all)),
        // NULLs are not computed; a group has them.
        ("SELECT avg(credit) FROM people", Some(&["1", "3", "4"])),
        (
            "SELECT max(credit) - min(credit) FROM people",
            Some(&["1", "3", "4"]),
        ),
        (
            "WITH p AS (SELECT * FROM people WHERE credit < 10) SELECT max(p.credit) FROM p",
            Some(&["3"]),
        ),
        (
            "SELECT name > 'B', max(credit) FROM people WHERE name > '' GROUP BY 1",
            Some(&["1", "3"]),
        ),
        // The rows of the groups that were chosen.
        (
            "SELECT joined, count(*) FROM people GROUP BY joined ORDER BY joined DESC LIMIT 1",
            Some(&["2"]),
        ),
        (
            "SELECT name AS who FROM people GROUP BY who HAVING sum(credit) < 1",
            Some(&["4"]),
        ),
        (
            "SELECT p.name, max(p.credit) FROM people p GROUP BY p.name ORDER BY 2 DESC LIMIT 2",
            Some(&["1", "3"]),
        ),
        ("SELECT count(*) FROM people HAVING count(*) > 3", Some(all)),
        // The column is meant, and not what is made of it.
        (
            "SELECT lower(name) AS name, count(*) FROM people GROUP BY name ORDER BY 2 LIMIT 1",
            None,
        ),
        // Nothing that comes out says which group it is.
        (
            "SELECT max(credit) FROM people GROUP BY joined ORDER BY 1 LIMIT 1",
            None,
        ),
        // A part of the rows is counted.
        (
            "SELECT count(*) FILTER (WHERE credit > 8) FROM people",
            Some(&["1"]),
        ),
        (
            "SELECT count(*) FILTER (WHERE credit > 8), max(credit) FILTER (WHERE credit < 5) FROM people",
            Some(&["1", "4"]),
        ),
        (
            "SELECT count(*) FILTER (WHERE credit > 8), count(*) FROM people",
            Some(all),
        ),
        ("SELECT name FROM people ORDER BY credit", None),
        (
            "SELECT name, (SELECT max(credit) FROM people) FROM people",
            None,
        ),
        ("SELECT sum(credit) OVER (ORDER BY name) FROM people", None),
        ("SELECT name FROM people UNION SELECT '1'", None),
    ] {
        let answer = engine.run_over(sql, inputs()).await.unwrap();
        let found = answer.behind().cloned();
        let batches: Vec<RecordBatch> = answer.try_collect().await.unwrap();
        let rows = concat_batches(&batches[0].schema(), &batches).unwrap();
        let Some(found) = found else {
            assert_eq!(None, behind, "{sql}");
            continue;
        };
        let inputs = match found.input(&rows) {
            Some((name, input)) => inputs().with(name, input),
            None => inputs(),
        };
        let answer = engine.run_over(found.sql(), inputs).await;
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", found.sql()));
        let batches: Vec<RecordBatch> = answer.try_collect().await.unwrap();
        let ids = batches.iter().flat_map(|it| {
            let ids = it.column(0).as_primitive::<arrow::datatypes::Int64Type>();
            ids.values().iter().map(i64::to_string)
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        assert_eq!(
            Some(
                ids.iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            behind,
            "{sql}: {found:?}"
        );
    }
}

#[tokio::test]
async fn rows_that_tie_where_they_are_cut_are_counted() {
    let made = Made::new().await;
    let engine = made.engine(Limits::default());
    let tie = async |engine: &Engine, sql: &str| {
        let orders = Input::Table {
            name: "sales/orders".to_owned(),
            lake: None,
        };
        let inputs: Inputs = [("orders".to_owned(), orders)].into_iter().collect();
        let columns = engine.columns_over(sql, inputs.clone()).await.unwrap();
        let mut answer = engine.run_over(sql, inputs).await.unwrap();
        assert_eq!(columns, answer.schema(), "{sql}");
        let mut rows = 0;
        while let Some(batch) = answer.try_next().await.unwrap() {
            assert_eq!(batch.schema(), columns, "{sql}");
            rows += batch.num_rows();
        }
        let tie = answer
            .tie()
            .map(|it| (it.place, it.count, it.kept, it.rows.num_rows(), it.is_more));
        (rows, tie)
    };
    let plans = engine.for_plans();
    for (sql, expected) in [
        // Customers 2, 3 and 9 have one order each, 1 has two.
        (
            "SELECT customerid FROM orders GROUP BY customerid ORDER BY count(*) DESC LIMIT 1",
            (1, None),
        ),
        (
            "SELECT customerid FROM orders GROUP BY customerid ORDER BY count(*) DESC LIMIT 2",
            (2, Some((2, 3, 1, 3, false))),
        ),
        // A key of the groups settles what the order that is meant does not.
        (
            "SELECT customerid, count(*) AS n FROM orders GROUP BY customerid ORDER BY n DESC, customerid LIMIT 3",
            (3, Some((2, 3, 2, 3, false))),
        ),
        (
            "SELECT customerid FROM orders GROUP BY 1 ORDER BY count(*), 1 LIMIT 1",
            (1, Some((1, 3, 1, 3, false))),
        ),
        (
            "SELECT customerid FROM orders GROUP BY customerid ORDER BY customerid LIMIT 2",
            (2, None),
        ),
        (
            "SELECT customerid, day FROM orders GROUP BY customerid, day ORDER BY customerid, day LIMIT 1",
            (1, None),
        ),
        (
            "SELECT customerid FROM orders GROUP BY customerid, day ORDER BY customerid LIMIT 1",
            (1, Some((1, 2, 1, 2, false))),
        ),
        (
            "SELECT orderid FROM orders ORDER BY day DESC LIMIT 1 OFFSET 2",
            (1, Some((3, 2, 1, 2, false))),
        ),
        (
            "SELECT DISTINCT day FROM orders ORDER BY day LIMIT 1",
            (1, None),
        ),
        (
            "SELECT orderid FROM orders ORDER BY amount DESC LIMIT 2",
            (2, None),
        ),
        (
            "SELECT orderid FROM orders ORDER BY amount > 100 LIMIT 10",
            (5, None),
        ),
        (
            "SELECT orderid FROM orders ORDER BY rank() OVER (ORDER BY amount > 0) LIMIT 2",
            (2, Some((1, 5, 2, 5, false))),
        ),
        (
            "SELECT orderid FROM orders o ORDER BY (SELECT max(amount) FROM orders p) LIMIT 2",
            (2, None),
        ),
        (
            "SELECT day, count(*) FROM orders GROUP BY day HAVING count(*) > 0 ORDER BY max(amount) - min(amount) LIMIT 1",
            (1, Some((1, 3, 1, 3, false))),
        ),
        (
            "SELECT orderid FROM orders UNION ALL SELECT 1 FROM orders ORDER BY 1 LIMIT 2",
            (2, Some((1, 5, 2, 5, false))),
        ),
        (
            "SELECT orderid FROM orders ORDER BY random() LIMIT 2",
            (2, None),
        ),
        (
            "SELECT a.orderid, b.orderid FROM orders a, orders b, orders c ORDER BY 1 > 0 LIMIT 3",
            (3, Some((1, 23, 3, 5, true))),
        ),
        ("SELECT orderid FROM orders LIMIT 2", (2, None)),
    ] {
        assert_eq!(tie(&plans, sql).await, expected, "{sql}");
        assert_eq!(tie(&engine, sql).await.1, None, "{sql}");
    }
}

#[tokio::test]
async fn a_statement_over_tables_can_be_pasted() {
    let engine = Made::new().await.engine(Limits::default());
    for (sql, pasted) in [
        (
            "SELECT people.name FROM people ORDER BY people.credit DESC LIMIT 1",
            Some(
                "SELECT people.name FROM \"crm/Customers\" AS \"people\" ORDER BY people.credit DESC NULLS LAST LIMIT 1",
            ),
        ),
        (
            "WITH a AS (SELECT * FROM PEOPLE AS p) SELECT count(*) FROM a WHERE credit < (SELECT max(credit) FROM people)",
            Some(
                "WITH a AS (SELECT * FROM \"crm/Customers\" AS p) SELECT count(*) FROM a WHERE credit < (SELECT max(credit) FROM \"crm/Customers\" AS \"people\")",
            ),
        ),
        (
            "SELECT row_number() OVER (ORDER BY credit DESC) AS n FROM people",
            Some(
                "SELECT row_number() OVER (ORDER BY credit DESC NULLS LAST) AS n FROM \"crm/Customers\" AS \"people\"",
            ),
        ),
        (
            "SELECT array_agg(name ORDER BY credit DESC), count(*) FROM people",
            Some(
                "SELECT array_agg(name ORDER BY credit DESC NULLS LAST), count(*) FROM \"crm/Customers\" AS \"people\"",
            ),
        ),
        (
            "SELECT row_number() OVER w AS n FROM people WINDOW w AS (ORDER BY credit DESC)",
            Some(
                "SELECT row_number() OVER w AS n FROM \"crm/Customers\" AS \"people\" WINDOW w AS (ORDER BY credit DESC NULLS LAST)",
            ),
        ),
        (
            "SELECT count(*) FROM people JOIN judged ON id = customerid",
            None,
        ),
        ("WITH people AS (SELECT 1 AS x) SELECT x FROM people", None),
    ] {
        let answer = engine.for_plans().run_over(sql, inputs()).await.unwrap();
        assert_eq!(answer.pasted(), pasted, "{sql}");
        let rows: Vec<RecordBatch> = answer.try_collect().await.unwrap();
        if let Some(pasted) = pasted {
            let again = engine.run(pasted).await.unwrap();
            let again: Vec<RecordBatch> = again.try_collect().await.unwrap();
            // Names are of no matter: "people.name" has its alias.
            assert_eq!(again[0].columns(), rows[0].columns(), "{pasted}");
        }
    }
}
