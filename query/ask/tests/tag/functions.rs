//! Statements with semantic functions over tables: a fact is as good as its value, and a column
//! stays a column.

use std::collections::HashMap;

use limn_ask::compile::plan_of;
use limn_ask::plan::{Operation, Plan};
use limn_sql::Engine;
use serde_json::Value;

use crate::lake::engine;
use crate::run;

const FACT: &str = "sem_fact('the number', 'integer')";
const POSTS: &str = "codebase_community.posts";

async fn rows(engine: &Engine, sql: &str) -> Result<Vec<Vec<Value>>, String> {
    let plan = plan_of(engine, sql, String::new()).map_err(|it| it.to_string())?;
    let facts = facts(&plan);
    let answer = run(engine, &plan, &facts).await;
    answer.map(|it| it.rows).map_err(|it| it.to_string())
}

/// What the model says of each fact.
fn facts(plan: &Plan) -> HashMap<String, Vec<String>> {
    let facts = plan.stages.iter().filter_map(|it| match it.operation {
        Operation::SemFact(_) => Some((it.name.clone(), vec!["20".to_owned()])),
        _ => None,
    });
    facts.collect()
}

#[tokio::test]
async fn a_fact_stands_wherever_a_value_may() {
    let engine = engine().await;
    let mut wrong = Vec::new();
    // By itself, beside a filter, beside a map.
    let filter = "sem_filter('{Body} is friendly')";
    let map = "sem_map('the number of words of {Body}', 'integer') <> 1";
    for condition in ["true", filter, map] {
        for sql in [
            format!("SELECT Id FROM {POSTS} WHERE {condition} AND Id > FACT ORDER BY Id"),
            format!("SELECT Id, FACT AS n FROM {POSTS} WHERE {condition} ORDER BY Id"),
            format!("SELECT Id, Id + FACT AS n FROM {POSTS} WHERE {condition} ORDER BY n"),
            format!("SELECT sum(Id + FACT) AS n FROM {POSTS} WHERE {condition}"),
            format!("SELECT sum(Id) + FACT AS n FROM {POSTS} WHERE {condition}"),
            format!("SELECT count(*) FILTER (WHERE Id > FACT) AS n FROM {POSTS} WHERE {condition}"),
            format!(
                "SELECT CASE WHEN Id > FACT THEN 'x' ELSE 'y' END AS n FROM {POSTS} WHERE {condition} ORDER BY Id"
            ),
            format!(
                "SELECT OwnerUserId, count(*) AS n FROM {POSTS} WHERE {condition} GROUP BY OwnerUserId HAVING sum(Id) > FACT ORDER BY OwnerUserId"
            ),
            format!(
                "SELECT count(*) AS n FROM {POSTS} WHERE {condition} GROUP BY Id > FACT ORDER BY n"
            ),
            format!(
                "SELECT Id > FACT AS big, count(*) AS n FROM {POSTS} WHERE {condition} GROUP BY Id > FACT ORDER BY n"
            ),
            format!("SELECT Id FROM {POSTS} WHERE {condition} ORDER BY abs(Id - FACT), Id"),
            format!("SELECT DISTINCT Id > FACT AS big FROM {POSTS} WHERE {condition} ORDER BY big"),
            format!(
                "SELECT Id FROM {POSTS} WHERE {condition} AND Id IN (SELECT Id FROM {POSTS} WHERE Id > FACT) ORDER BY Id"
            ),
            format!(
                "SELECT Id FROM (SELECT * FROM {POSTS} WHERE Id > FACT) p WHERE {condition} ORDER BY Id"
            ),
            format!(
                "WITH p AS (SELECT * FROM {POSTS} WHERE Id > FACT) SELECT Id FROM p WHERE {condition} ORDER BY Id"
            ),
            format!(
                "SELECT p.Id, u.DisplayName FROM {POSTS} p JOIN codebase_community.users u ON u.Id = p.OwnerUserId AND p.Id > FACT WHERE {condition} ORDER BY p.Id"
            ),
            format!(
                "SELECT Id, sum(Id + FACT) OVER (ORDER BY Id) AS n FROM {POSTS} WHERE {condition} ORDER BY Id"
            ),
        ] {
            let found = rows(&engine, &sql.replace("FACT", FACT)).await;
            let wanted = rows(&engine, &sql.replace("FACT", "20")).await.unwrap();
            assert!(!wanted.is_empty(), "{sql}");
            if found.as_ref() != Ok(&wanted) {
                wrong.push(format!("{sql}: {found:?} and not {wanted:?}"));
            }
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}

#[tokio::test]
async fn in_where_a_column_of_a_table_comes_before_the_alias_of_a_map() {
    let engine = engine().await;
    let is_of_column = |name: &str| {
        let map = "sem_map('the tone of {Body}')";
        let sql = format!("SELECT {map} AS {name} FROM {POSTS} WHERE {name} = '7'");
        let plan = plan_of(&engine, &sql, String::new()).unwrap();
        let Operation::Sql(first) = &plan.stages[0].operation else {
            panic!("{plan:?}");
        };
        first.statement.ends_with(&format!(" WHERE {name} = '7'"))
    };
    assert!(is_of_column("title"));
    assert!(!is_of_column("tone"));
}
