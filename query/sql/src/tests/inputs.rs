//! Statements over inputs: tables under other names, and rows that are given.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use futures::TryStreamExt;

use super::Made;
use crate::{Input, Inputs, Limits, SqlError};

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
async fn the_rows_behind_an_answer_are_those_of_its_sources_and_conditions() {
    let engine = Made::new().await.engine(Limits::default());
    for (sql, behind) in [
        (
            "SELECT count(*) FROM people WHERE credit > 5",
            Some("SELECT * FROM people WHERE credit > 5"),
        ),
        (
            "SELECT joined, max(credit) FROM people GROUP BY joined ORDER BY 2",
            Some("SELECT * FROM people"),
        ),
        // Those of other groups would prove nothing.
        (
            "SELECT joined, max(credit) FROM people GROUP BY joined ORDER BY 2 LIMIT 1",
            None,
        ),
        (
            "SELECT joined FROM people GROUP BY joined HAVING count(*) > 1",
            None,
        ),
        ("SELECT name FROM people ORDER BY credit", None),
        ("SELECT sum(credit) OVER (ORDER BY name) FROM people", None),
        ("SELECT name FROM people UNION SELECT '1'", None),
    ] {
        let answer = engine.run_over(sql, inputs()).await.unwrap();
        assert_eq!(answer.behind(), behind, "{sql}");
        assert_eq!(
            answer.is_ordered(),
            sql.contains("ORDER BY") && !sql.contains("OVER")
        );
    }
}
