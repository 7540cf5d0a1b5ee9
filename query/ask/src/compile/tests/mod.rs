//! Statements as their stages, and what is refused.
#![allow(clippy::unwrap_used)]

mod conditions;
mod names;

use std::collections::BTreeMap;

use super::{Table, compile};
use crate::plan::{Operation, Source, Stage};

fn tables() -> BTreeMap<String, Table> {
    let table = |(name, columns): (&str, &[&str])| {
        let source = Source::Table {
            name: format!("lake/{name}"),
            lake: None,
        };
        let columns = columns.iter().map(|it| (*it).to_owned()).collect();
        (name.to_owned(), Table { source, columns })
    };
    let tables: [(&str, &[&str]); 3] = [
        ("post", &["title", "text", "Mood"]),
        ("author", &["name", "tone"]),
        ("fact", &["fact"]),
    ];
    tables.map(table).into_iter().collect()
}

fn compiled(sql: &str) -> Result<Option<Vec<Stage>>, String> {
    compile(sql, &tables()).map_err(|it| it.to_string())
}

/// A line a stage.
fn stages(sql: &str) -> Vec<String> {
    let stages = compiled(sql).unwrap().unwrap();
    let line = |stage: &Stage| {
        let rest = match &stage.operation {
            Operation::Sql(sql) => sql.statement.clone(),
            Operation::SemFilter(it) => format!("filter {}: {}", it.input, it.instruction),
            Operation::SemMap(it) => {
                let output = serde_json::to_string(&it.output).unwrap();
                format!("map {}: {} {output}", it.input, it.instruction)
            }
            Operation::SemTopK(it) => {
                let rank = it.rank.as_deref().unwrap_or("-");
                format!("top {} {}: {} {rank}", it.k, it.input, it.instruction)
            }
            Operation::SemAgg(it) => {
                let by = it.group_by.join(",");
                format!("agg {}: {} by {by} {}", it.input, it.instruction, it.output)
            }
            Operation::SemFact(it) => format!("fact {} {:?}", it.instruction, it.output.value_type),
            other => other.word().to_owned(),
        };
        format!("{}: {rest}", stage.name)
    };
    stages.iter().map(line).collect()
}

#[test]
fn conditions_of_columns_run_first_and_what_is_left_runs_last() {
    assert_eq!(
        stages(
            "SELECT a.name, count(*) AS n FROM post AS p JOIN author a ON p.author_id = a.id \
             WHERE (sem_filter('{p.title} is about love') AND p.year > 2000) AND (p.score > 1 OR a.name = 'x') \
             GROUP BY a.id, a.name HAVING count(*) > 1 ORDER BY n DESC LIMIT 3"
        ),
        [
            "found: SELECT a.name, a.id, p.title FROM post AS p JOIN author a ON p.author_id = a.id \
             WHERE p.year > 2000 AND (p.score > 1 OR a.name = 'x')",
            "kept: filter found: {title} is about love",
            "answer: SELECT name, count(*) AS n FROM kept GROUP BY id, name HAVING count(*) > 1 ORDER BY n DESC LIMIT 3",
        ]
    );
    // Nothing is left; columns of one name get two.
    assert_eq!(
        stages(
            "SELECT title FROM post WHERE sem_filter('{title} is long') AND sem_filter('{title} is sad')"
        ),
        [
            "found: SELECT title FROM post",
            "kept: filter found: {title} is long",
            "answer: filter kept: {title} is sad",
        ]
    );
    assert_eq!(
        stages(
            "SELECT a.id, p.id FROM post p, author a WHERE a.id = p.author_id AND sem_filter('{a.name} {{wrote}} {p.title}')"
        ),
        [
            "found: SELECT a.id, p.id AS id_2, a.name, p.title FROM post p, author a WHERE a.id = p.author_id",
            "kept: filter found: {name} {{wrote}} {title}",
            "answer: SELECT id, id_2 AS id FROM kept",
        ]
    );
    assert_eq!(
        stages(
            "WITH late AS (SELECT * FROM post WHERE year > 2020) SELECT * FROM late WHERE sem_filter('{Short Title} rhymes')"
        ),
        [
            "found: WITH late AS (SELECT * FROM post WHERE year > 2020) SELECT * FROM late",
            "answer: filter found: {Short Title} rhymes",
        ]
    );
    assert!(compiled("SELECT title FROM post").unwrap().is_none());
    // Some write texts in double quotes.
    assert_eq!(
        stages("SELECT title FROM post WHERE sem_filter(\"{title} is long\")"),
        [
            "found: SELECT title FROM post",
            "answer: filter found: {title} is long"
        ]
    );
}

#[test]
fn a_map_is_a_column_wherever_a_column_may_be() {
    let lang = "{\"name\":\"lang\",\"type\":\"text\"}";
    assert_eq!(
        stages(
            "SELECT sem_map('the language of {title}') AS lang, avg(score) FROM post \
             WHERE year > 2000 AND (lang = 'Dutch' OR score > 3) GROUP BY lang ORDER BY lang"
        ),
        [
            "found: SELECT score, title FROM post WHERE year > 2000".to_owned(),
            format!("mapped: map found: the language of {{title}} {lang}"),
            "answer: SELECT lang, avg(score) FROM mapped WHERE (lang = 'Dutch' OR score > 3) GROUP BY lang ORDER BY lang".to_owned(),
        ]
    );
    let is_one = "{\"name\":\"value\",\"type\":\"integer\"}";
    assert_eq!(
        stages(
            "SELECT count(*) FROM author WHERE year < sem_map('the year of birth of {name}', 'integer') \
             AND sem_map('the year of birth of {name}', 'integer') > 1900"
        ),
        [
            "found: SELECT year, name FROM author".to_owned(),
            format!("mapped: map found: the year of birth of {{name}} {is_one}"),
            "answer: SELECT count(*) FROM mapped WHERE year < value AND value > 1900".to_owned(),
        ]
    );
    let tone =
        stages("SELECT title, sem_map('the tone of {title}', 'glad', 'sad') AS tone FROM post");
    assert!(
        tone[1].ends_with("\"one_of\":[\"glad\",\"sad\"]}"),
        "{tone:?}"
    );
    assert_eq!(tone.len(), 2);
}

#[test]
fn a_ranking_comes_after_groups_and_keeps_its_order() {
    assert_eq!(
        stages(
            "SELECT title FROM post WHERE year = 2001 ORDER BY sem_topk('the sadder one: {title}') LIMIT 2"
        ),
        [
            "found: SELECT title FROM post WHERE year = 2001",
            "answer: top 2 found: the sadder one: {title} -",
        ]
    );
    assert_eq!(
        stages(
            "SELECT title AS t FROM post WHERE sem_filter('{body} is a joke') \
             ORDER BY sem_topk('the funnier one: {body}') DESC LIMIT 2 OFFSET 1"
        ),
        [
            "found: SELECT title, body FROM post",
            "kept: filter found: {body} is a joke",
            "ranked: top 3 kept: the funnier one: {body} place",
            "answer: SELECT title AS t FROM ranked ORDER BY place LIMIT 2 OFFSET 1",
        ]
    );
    assert_eq!(
        stages(
            "SELECT city, count(*) FROM author GROUP BY city, country \
             ORDER BY sem_topk('the warmer one: {city}, {country}') LIMIT 9"
        ),
        [
            "found: SELECT city, country FROM author",
            "grouped: SELECT city, count(*) AS \"count(*)\", country FROM found GROUP BY city, country",
            "ranked: top 9 grouped: the warmer one: {city}, {country} place",
            "answer: SELECT city, \"count(*)\" FROM ranked ORDER BY place LIMIT 9",
        ]
    );
    assert_eq!(
        stages(
            "SELECT a.city FROM author a GROUP BY a.city ORDER BY sem_topk('the warmer one: {a.city}') LIMIT 1"
        ),
        [
            "found: SELECT a.city FROM author a",
            "grouped: SELECT city FROM found GROUP BY city",
            "answer: top 1 grouped: the warmer one: {city} -",
        ]
    );
    assert_eq!(
        stages(
            "SELECT DISTINCT city FROM author ORDER BY sem_topk('the warmer one: {city}') LIMIT 1"
        ),
        [
            "found: SELECT city FROM author",
            "grouped: SELECT DISTINCT city FROM found",
            "answer: top 1 grouped: the warmer one: {city} -",
        ]
    );
    // The column of places has a name of its own.
    assert_eq!(
        stages(
            "SELECT city AS place, count(*) AS n FROM author GROUP BY city \
             ORDER BY sem_topk('the warmer one: {place}') LIMIT 2 OFFSET 1"
        ),
        [
            "found: SELECT city FROM author",
            "grouped: SELECT city AS place, count(*) AS n FROM found GROUP BY city",
            "ranked: top 3 grouped: the warmer one: {place} place_2",
            "answer: SELECT place, n FROM ranked ORDER BY place_2 LIMIT 2 OFFSET 1",
        ]
    );
    // No row is ranked where none is wanted.
    assert_eq!(
        stages(
            "SELECT city, count(*) FROM author GROUP BY city, country \
             ORDER BY sem_topk('the warmer one: {city}, {country}') LIMIT 0"
        ),
        [
            "found: SELECT city, country FROM author",
            "answer: SELECT city, count(*) FROM found GROUP BY city, country LIMIT 0",
        ]
    );
}

#[test]
fn a_text_is_written_of_all_rows_or_of_groups() {
    assert_eq!(
        stages(
            "SELECT sem_agg('what {body} says') FROM (SELECT * FROM post ORDER BY score DESC LIMIT 5) p WHERE p.year > 1"
        ),
        [
            "found: SELECT body FROM (SELECT * FROM post ORDER BY score DESC LIMIT 5) p WHERE p.year > 1",
            "answer: agg found: what {body} says by  summary",
        ]
    );
    assert_eq!(
        stages(
            "SELECT sem_agg('what {body} says') AS said, city AS c FROM post WHERE sem_filter('{body} is true') \
             GROUP BY c ORDER BY c"
        ),
        [
            "found: SELECT city, body FROM post",
            "kept: filter found: {body} is true",
            "summed: agg kept: what {body} says by city said",
            "answer: SELECT said, city AS c FROM summed ORDER BY c",
        ]
    );
}

#[test]
fn a_fact_stands_wherever_a_value_may() {
    let sql = "SELECT name FROM author WHERE height > sem_fact('the height of Bill Clinton in cm', 'integer') \
               OR height < 100";
    assert_eq!(
        stages(sql),
        [
            // A table is called fact.
            "fact_2: fact the height of Bill Clinton in cm Integer",
            "answer: SELECT name FROM author WHERE height > (SELECT fact FROM fact_2) OR height < 100",
        ]
    );
    let both = stages(&sql.replace(
        "OR height < 100",
        "AND sem_filter('{name} is a first name')",
    ));
    assert_eq!(both.len(), 3, "{both:?}");
    let read = |sql: &str| {
        let stages = compiled(sql).unwrap().unwrap();
        let Some(Operation::Sql(last)) = stages.last().map(|it| &it.operation) else {
            panic!("{stages:?}");
        };
        last.inputs.keys().cloned().collect::<Vec<String>>()
    };
    assert_eq!(read(sql), ["author", "fact_2"]);
    // Beside what a model writes it stands in what runs last.
    let sql = "SELECT city, sem_fact('the best number', 'integer') AS best FROM author \
               WHERE sem_map('height of {name}', 'integer') > sem_fact('height of K2', 'integer') \
               GROUP BY city HAVING count(*) > sem_fact('the best number', 'integer')";
    assert_eq!(
        self::stages(sql),
        [
            "fact_2: fact the best number Integer",
            "fact_3: fact height of K2 Integer",
            "found: SELECT city, name FROM author",
            "mapped: map found: height of {name} {\"name\":\"value\",\"type\":\"integer\"}",
            "answer: SELECT city, (SELECT fact FROM fact_2) AS best FROM mapped WHERE value > (SELECT fact FROM fact_3) \
             GROUP BY city HAVING count(*) > (SELECT fact FROM fact_2)",
        ]
    );
    assert_eq!(read(sql), ["fact_2", "fact_3", "mapped"]);
}

#[test]
fn what_cannot_be_split_exactly_is_refused_by_function_and_place() {
    let filter = "sem_filter('{title} is long')";
    for (sql, why) in [
        (
            format!("SELECT 1 FROM post WHERE {filter} OR year = 1"),
            "sem_filter cannot stand inside OR",
        ),
        (
            format!("SELECT 1 FROM post WHERE x AND ({filter} OR year = 1)"),
            "sem_filter cannot stand inside OR",
        ),
        (
            format!("SELECT 1 FROM post WHERE NOT {filter}"),
            "sem_filter cannot stand inside NOT",
        ),
        (
            format!("SELECT 1 FROM post WHERE {filter} = true"),
            "sem_filter cannot stand inside another expression",
        ),
        (
            format!("SELECT 1 FROM post WHERE id IN (SELECT id FROM post WHERE {filter})"),
            "sem_filter cannot stand in a query within",
        ),
        (
            format!("SELECT 1 FROM (SELECT * FROM post WHERE {filter}) p"),
            "sem_filter cannot stand in a query within",
        ),
        (
            format!("WITH a AS (SELECT * FROM post WHERE {filter}) SELECT 1 FROM a"),
            "sem_filter cannot stand in WITH",
        ),
        (
            format!("SELECT 1 FROM post p JOIN author a ON {filter}"),
            "sem_filter cannot stand in ON of a join",
        ),
        (
            format!("SELECT 1 FROM post WHERE {filter} UNION SELECT 2"),
            "sem_filter cannot stand in a part of UNION",
        ),
        (
            format!("SELECT count(*) FILTER (WHERE {filter}) FROM post"),
            "sem_filter cannot stand in the list of SELECT",
        ),
        (
            format!("SELECT city FROM post GROUP BY city HAVING {filter}"),
            "sem_filter cannot stand in HAVING",
        ),
        (
            format!("SELECT title, (SELECT max(id) FROM author) FROM post WHERE {filter}"),
            "a query in the list of SELECT",
        ),
        (
            "SELECT 1 FROM post WHERE sem_map('{title}') IN (SELECT name FROM author)".into(),
            "a query in WHERE cannot stand beside sem_map: put it into a condition of its own",
        ),
        (
            "SELECT name FROM author LIMIT sem_fact('a small number', 'integer')".into(),
            "sem_fact cannot stand in LIMIT",
        ),
        (
            format!("SELECT a.*, 1 FROM post a JOIN author b ON true WHERE {filter}"),
            "* cannot stand beside sem_filter",
        ),
        (
            "SELECT 1 FROM post WHERE sem_topk('{title}')".into(),
            "sem_topk cannot stand in WHERE",
        ),
        (
            "SELECT sem_topk('{title}') FROM post".into(),
            "sem_topk cannot stand in the list of SELECT",
        ),
        (
            "SELECT 1 FROM post ORDER BY year, sem_topk('{title}')".into(),
            "sem_topk cannot stand there in ORDER BY",
        ),
        (
            "SELECT 1 FROM post ORDER BY sem_topk('{title}') ASC".into(),
            "sem_topk gives the best rows first",
        ),
        (
            "SELECT title FROM post ORDER BY sem_topk('{title}') LIMIT 1 + 1".into(),
            "LIMIT and OFFSET are numbers",
        ),
        (
            "SELECT title FROM post ORDER BY sem_topk('{title}')".into(),
            "sem_topk without LIMIT would ask a model to rank all rows: add LIMIT n",
        ),
        (
            "SELECT title FROM post ORDER BY sem_topk('{title}') OFFSET 2".into(),
            "add LIMIT n",
        ),
        (
            "SELECT DISTINCT year FROM post ORDER BY sem_topk('{title}') LIMIT 1".into(),
            "SELECT DISTINCT and sem_topk by 'title'",
        ),
        (
            "SELECT upper(sem_agg('{title}')) FROM post".into(),
            "sem_agg cannot stand in the list of SELECT",
        ),
        (
            "SELECT count(*), sem_agg('{title}') FROM post".into(),
            "beside sem_agg stand columns of GROUP BY",
        ),
        (
            "SELECT sem_agg('{title}') FROM post ORDER BY year LIMIT 5".into(),
            "sem_agg writes one text of all rows",
        ),
        (
            "SELECT *, sem_map('{title}') FROM post".into(),
            "* cannot stand beside sem_map",
        ),
        (
            "SELECT count(*) FROM post WHERE sem_filter('it is long')".into(),
            "the sentence of sem_filter names no column",
        ),
        (
            "SELECT sem_map(title) FROM post".into(),
            "sem_map is written sem_map('",
        ),
        (
            "SELECT sem_map('{title}', 'word') FROM post".into(),
            "sem_map is written sem_map('",
        ),
        (
            "SELECT 1 FROM post WHERE sem_filter('{title}', 'x')".into(),
            "sem_filter is written sem_filter('",
        ),
        (
            "SELECT 1 FROM post WHERE sem_filter('{title')".into(),
            "sem_filter: '{title' has a brace",
        ),
        (
            "SELECT sem_score('{title}') FROM post".into(),
            "there is no function 'sem_score'",
        ),
        (
            "DELETE FROM post WHERE sem_filter('{title}')".into(),
            "limn sql reads only",
        ),
    ] {
        let line = compiled(&sql).unwrap_err();
        assert!(line.contains(why) && !line.contains('\n'), "{sql}: {line}");
    }
}
