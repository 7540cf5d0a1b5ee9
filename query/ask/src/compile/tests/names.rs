//! Names that a statement has for several things, and how many stages it may take.

use super::{compiled, stages};

#[test]
fn in_where_a_column_comes_before_the_alias_of_a_map() {
    let sql = |alias: &str, from: &str, condition: &str| {
        let map = "sem_map('the tone of {text}')";
        format!("SELECT {map} AS {alias} FROM {from} WHERE {condition}")
    };
    // A table, a join, a query and one of WITH have such a column.
    for (alias, from) in [
        ("mood", "post"),
        ("tone", "post, author"),
        ("tone", "(post JOIN author ON true)"),
        ("Tone", "(SELECT text, upper(title) AS tone FROM post) p"),
        ("tone", "(SELECT p.text, a.tone FROM post p, author a) q"),
        ("tone", "(SELECT * FROM post) AS p (text, tone)"),
        (
            "title",
            "(SELECT text, tone FROM author UNION SELECT * FROM post) p JOIN (SELECT * FROM post) q ON true",
        ),
    ] {
        let sql = sql(alias, from, &format!("{alias} = 'formal'"));
        let first = stages(&sql)[0].clone();
        assert!(
            first.ends_with(&format!(" WHERE {alias} = 'formal'")),
            "{first}"
        );
    }
    let with = "WITH a AS (SELECT text, title AS tone FROM post), b AS (SELECT * FROM a)";
    let sql_of_with = format!("{with} {}", sql("tone", "b", "tone = 'formal'"));
    let first = stages(&sql_of_with)[0].clone();
    assert!(first.ends_with("FROM b WHERE tone = 'formal'"), "{first}");
    // There is none, or not here.
    for (alias, from) in [
        ("tone", "post"),
        ("mood", "(SELECT text FROM post) p"),
        (
            "tone",
            "(SELECT text FROM post WHERE id IN (SELECT id FROM author)) p",
        ),
    ] {
        let last = stages(&sql(alias, from, &format!("{alias} = 'formal'")))
            .pop()
            .unwrap();
        let wanted = format!("answer: SELECT {alias} FROM mapped WHERE {alias} = 'formal'");
        assert_eq!(last, wanted);
    }
    // Queries have columns of their own.
    let inner = "id IN (SELECT id FROM author WHERE tone = 'formal')";
    let found = stages(&sql("tone", "post", inner))[0].clone();
    assert_eq!(found, format!("found: SELECT text FROM post WHERE {inner}"));
}

#[test]
fn stages_of_facts_have_names_that_nothing_else_has() {
    let read = |sql: &str| stages(sql).pop().unwrap();
    let sql = "WITH Fact_2 AS (SELECT 1 AS fact) SELECT * FROM Fact_2 WHERE x = sem_fact('one')";
    let last = read(sql);
    assert!(
        last.ends_with("WHERE x = (SELECT fact FROM fact_3)"),
        "{last}"
    );
    let last = read("SELECT * FROM post AS FACT_2 WHERE x = sem_fact('one')");
    assert!(
        last.ends_with("WHERE x = (SELECT fact FROM fact_3)"),
        "{last}"
    );
    let sql = "SELECT * FROM post WHERE x = sem_fact('one') AND \
               id IN (WITH fact_2 AS (SELECT 1 AS fact) SELECT fact FROM fact_2)";
    let last = read(sql);
    assert!(
        last.contains("WHERE x = (SELECT fact FROM fact_3)"),
        "{last}"
    );
}

#[test]
fn a_statement_takes_as_many_stages_as_a_plan_may_have() {
    let facts = |most: usize| {
        let facts: Vec<String> = (0..most).map(|at| format!("sem_fact('{at}')")).collect();
        format!("SELECT {}", facts.join(", "))
    };
    let maps = |most: usize| {
        let maps: Vec<String> = (0..most)
            .map(|at| format!("sem_map('{at} {{a}}')"))
            .collect();
        format!("SELECT {} FROM post", maps.join(", "))
    };
    let filters = |most: usize| {
        let each = |at| format!("sem_filter('{at} {{a}}')");
        let filters: Vec<String> = (0..most).map(each).collect();
        format!("SELECT a FROM post WHERE {}", filters.join(" AND "))
    };
    let fits = [facts(63), maps(62), filters(63)].map(|it| compiled(&it).unwrap().unwrap().len());
    assert_eq!(fits, [64; 3]);
    for sql in [facts(4000), maps(4000), filters(200)] {
        let line = compiled(&sql).unwrap_err();
        assert!(
            line.contains("the statement takes more than 64 stages"),
            "{line}"
        );
    }
    // One fact, however often.
    let same = format!("SELECT {}", vec!["sem_fact('one')"; 4000].join(", "));
    assert_eq!(stages(&same).len(), 2);
}
