use super::statement;
use crate::write::tables::Tables;
use crate::write::tests::scripted::{cells, column, join, table};

fn of(question: &str) -> Result<String, Vec<String>> {
    let singer = vec![
        column("Singer_ID", "integer", 0.6),
        column("singer_name", "text", 0.7),
        column("Country", "text", 0.9),
        column("Net Worth", "float", 0.5),
    ];
    let concert = vec![
        column("Singer_ID", "integer", 0.4),
        column("Year", "integer", 0.4),
        column("Theme", "text", 0.4),
    ];
    let own = [("Country", "France"), ("Country", "Italy")];
    let known = cells(
        vec![
            table("singer", singer, &own),
            table("concert", concert, &[("Theme", "O'Neill's night")]),
        ],
        vec![join(("concert", "Singer_ID"), ("singer", "Singer_ID"))],
    );
    statement(question, &Tables::of(&known))
}

#[test]
fn questions_that_are_read_whole_are_statements() {
    for (question, sql) in [
        ("How many singers are there?", "SELECT count(*) FROM singer"),
        (
            "How many singers from France are there?",
            "SELECT count(*) FROM singer WHERE Country = 'France'",
        ),
        (
            "List the name of singers from France or Italy.",
            "SELECT singer_name FROM singer WHERE Country IN ('France', 'Italy')",
        ),
        (
            "How many different countries are there?",
            "SELECT count(DISTINCT Country) FROM singer",
        ),
        (
            "What is the average and maximum net worth of singers?",
            "SELECT avg(\"Net Worth\"), max(\"Net Worth\") FROM singer",
        ),
        (
            "Number of singers by country",
            "SELECT Country, count(*) FROM singer GROUP BY Country",
        ),
        (
            "Average net worth of singers per country",
            "SELECT Country, avg(\"Net Worth\") FROM singer GROUP BY Country",
        ),
        (
            "Show the number of singers in each country",
            "SELECT Country, count(*) FROM singer GROUP BY Country",
        ),
        (
            "Which singer name has the highest net worth?",
            "SELECT singer_name FROM singer ORDER BY \"Net Worth\" DESC NULLS LAST LIMIT 1",
        ),
        (
            "What are the names of singers with a net worth above 2.5?",
            "SELECT singer_name FROM singer WHERE \"Net Worth\" > 2.5",
        ),
        (
            "List the names of singers ordered by net worth in descending order",
            "SELECT singer_name FROM singer ORDER BY \"Net Worth\" DESC",
        ),
        (
            "What is the most common country?",
            "SELECT Country FROM singer GROUP BY Country ORDER BY count(*) DESC, Country LIMIT 1",
        ),
        (
            "Singer names of the concert \"O'Neill's night\"",
            "SELECT singer.singer_name FROM singer JOIN concert ON concert.Singer_ID = singer.Singer_ID WHERE concert.Theme = 'O''Neill''s night'",
        ),
    ] {
        assert_eq!(of(question).as_deref(), Ok(sql), "{question}");
    }
}

#[test]
fn a_column_that_is_called_as_its_table_is_not_what_is_counted() {
    let visit = vec![
        column("visit", "integer", 0.9),
        column("cost", "integer", 0.5),
    ];
    let known = cells(vec![table("visits", visit, &[])], Vec::new());
    for (question, sql) in [
        ("How many visits are there?", "SELECT count(*) FROM visits"),
        (
            "What is the greatest cost of visits?",
            "SELECT max(cost) FROM visits",
        ),
        (
            "What is the total cost of visits?",
            "SELECT sum(cost) FROM visits",
        ),
    ] {
        let written = statement(question, &Tables::of(&known));
        assert_eq!(written.as_deref(), Ok(sql), "{question}");
    }
    // Not the cost is asked for.
    let which = statement("Which visit has the greatest cost?", &Tables::of(&known));
    assert!(which.is_err(), "{which:?}");
}

#[test]
fn a_question_that_is_half_read_is_none() {
    for (question, unread) in [
        ("How many singers play the guitar?", &["play", "guitar"][..]),
        ("How many singers are not from France?", &[]),
        ("Singer names of France and Italy", &[]),
        ("Singers with more than 3 concerts", &[]),
        ("What is the highest country?", &[]),
        ("Names in alphabetical order", &[]),
        ("How many singers have concerts?", &[]),
    ] {
        let unread: Vec<String> = unread.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(of(question), Err(unread), "{question}");
    }
}
