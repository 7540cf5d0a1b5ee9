#![allow(clippy::unwrap_used)]

use super::{Ruled, Unread, ruled};
use crate::write::tables::Tables;
use crate::write::tests::scripted::{cells, column, join, table};

fn statement(question: &str, tables: &Tables<'_>) -> Result<String, Unread> {
    ruled(question, tables).map(|it| it.statement)
}

fn of(question: &str) -> Result<String, Unread> {
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
            "For each singer country, what is the highest net worth?",
            "SELECT Country, max(\"Net Worth\") FROM singer GROUP BY Country",
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
        let unread = Unread {
            words: unread.iter().map(|it| (*it).to_owned()).collect(),
            dates: Vec::new(),
        };
        assert_eq!(of(question), Err(unread), "{question}");
    }
}

/// Orders with one column of dates, deliveries with two, and products with years of their own.
fn dated(question: &str) -> Result<String, Unread> {
    let orders = vec![
        column("order_id", "integer", 0.6),
        column("placed_at", "timestamp", 0.5),
        column("amount", "float", 0.5),
        column("country", "text", 0.5),
    ];
    let deliveries = vec![
        column("shipped_date", "date", 0.4),
        column("arrival", "date", 0.4),
        column("carrier", "text", 0.4),
    ];
    let own = [("country", "France")];
    let tables = vec![
        table("shop/orders", orders, &own),
        table("shop/deliveries", deliveries, &[]),
    ];
    statement(question, &Tables::of(&cells(tables, Vec::new())))
}

#[test]
fn times_are_read_of_the_dates_of_the_table() {
    let in_2024 = "placed_at >= TIMESTAMP '2024-01-01' AND placed_at < TIMESTAMP '2025-01-01'";
    let month = "CAST(date_trunc('month', placed_at) AS DATE)";
    let year = "CAST(date_part('year', placed_at) AS INTEGER)";
    let by_month = format!("{month} AS month, count(*) FROM orders");
    for (question, sql) in [
        (
            "orders by month",
            format!("SELECT {by_month} GROUP BY {month} ORDER BY {month}"),
        ),
        (
            "orders by country",
            "SELECT country, count(*) FROM orders GROUP BY country".to_owned(),
        ),
        (
            "Number of orders from France per month in 2024",
            format!("SELECT {by_month} WHERE country = 'France' AND {in_2024} GROUP BY {month} ORDER BY {month}"),
        ),
        (
            "total amount of orders by year",
            format!("SELECT {year} AS year, sum(amount) FROM orders GROUP BY {year} ORDER BY {year}"),
        ),
        (
            "How many orders were placed in 2024?",
            format!("SELECT count(*) FROM orders WHERE {in_2024}"),
        ),
        (
            "orders in December of 2023",
            "SELECT * FROM orders WHERE placed_at >= TIMESTAMP '2023-12-01' AND placed_at < TIMESTAMP '2024-01-01'".to_owned(),
        ),
        (
            "What is the average amount of orders since Mar 2020?",
            "SELECT avg(amount) FROM orders WHERE placed_at >= TIMESTAMP '2020-03-01'".to_owned(),
        ),
        (
            "How many orders before 2020",
            "SELECT count(*) FROM orders WHERE placed_at < TIMESTAMP '2020-01-01'".to_owned(),
        ),
        (
            "How many orders after 2020",
            "SELECT count(*) FROM orders WHERE placed_at >= TIMESTAMP '2021-01-01'".to_owned(),
        ),
        (
            "orders between 2020 and 2022",
            "SELECT * FROM orders WHERE placed_at >= TIMESTAMP '2020-01-01' AND placed_at < TIMESTAMP '2023-01-01'".to_owned(),
        ),
        (
            "How many orders have an amount above 2000?",
            "SELECT count(*) FROM orders WHERE amount > 2000".to_owned(),
        ),
        // The word before the time says which dates are meant, or the column's name.
        (
            "How many deliveries shipped in 2024",
            "SELECT count(*) FROM deliveries WHERE shipped_date >= DATE '2024-01-01' AND shipped_date < DATE '2025-01-01'".to_owned(),
        ),
        (
            "deliveries by quarter of arrival",
            "SELECT CAST(date_trunc('quarter', arrival) AS DATE) AS quarter, count(*) FROM deliveries \
             GROUP BY CAST(date_trunc('quarter', arrival) AS DATE) ORDER BY CAST(date_trunc('quarter', arrival) AS DATE)".to_owned(),
        ),
        (
            "List the carrier of deliveries with arrival in 2024",
            "SELECT carrier, arrival FROM deliveries WHERE arrival >= DATE '2024-01-01' AND arrival < DATE '2025-01-01'".to_owned(),
        ),
    ] {
        assert_eq!(dated(question).as_deref(), Ok(sql.as_str()), "{question}");
    }
}

#[test]
fn times_that_are_not_of_one_column_are_not_read() {
    let which = dated("deliveries by month").map_err(|it| it.dates);
    let dates = ["shipped_date of deliveries", "arrival of deliveries"];
    assert_eq!(which, Err(dates.map(str::to_owned).to_vec()));
    for question in [
        "orders in 2023 and in 2024",
        "How many orders in 2024 meters",
        "list orders by country",
        "How many orders before 2020 or after 2022",
        "How many orders before 2020 and after 2022",
        "top 3 orders by month",
        "most common country by month",
        "amount of orders by month",
        "total amount of orders by year and country",
    ] {
        assert!(
            dated(question).is_err(),
            "{question}: {:?}",
            dated(question)
        );
    }
    // A column with years is meant, also beside one with dates; and without dates nothing is.
    let films = |with: &str, of_type: &str| {
        let films = vec![
            column("title", "text", 0.9),
            column(with, of_type, 0.5),
            column("added", "date", 0.5),
        ];
        statement(
            "films in 2024",
            &Tables::of(&cells(vec![table("films", films, &[])], Vec::new())),
        )
    };
    let own = films("release_year", "integer").map_err(|it| it.words);
    assert_eq!(own, Err(vec!["2024".to_owned()]));
    assert!(films("length", "integer").is_ok());
}

/// Orders of customers, and what the tables have in all.
fn shop(question: &str) -> Result<Ruled, Unread> {
    let orders = vec![
        column("order_id", "integer", 0.6),
        column("customer_id", "integer", 0.5),
        column("order_date", "date", 0.5),
        column("amount", "float", 0.5),
    ];
    let customers = vec![
        column("customer_id", "integer", 0.5),
        column("city", "text", 0.4),
    ];
    let mut orders = table("shop/orders", orders, &[]);
    orders.dates = vec!["order_date".to_owned(), "shipped_on".to_owned()];
    let tables = vec![orders, table("shop/customers", customers, &[])];
    let refers = join(
        ("shop/orders", "customer_id"),
        ("shop/customers", "customer_id"),
    );
    ruled(question, &Tables::of(&cells(tables, vec![refers])))
}

#[test]
fn groups_keep_rows_that_nothing_joins_and_say_so() {
    let by_city =
        "LEFT JOIN customers ON orders.customer_id = customers.customer_id GROUP BY customers.city";
    for (question, sql, of_null) in [
        (
            "orders by customer",
            "SELECT customer_id, count(*) FROM orders GROUP BY customer_id".to_owned(),
            "rows without customer_id are a group of their own",
        ),
        (
            "total amount per customer",
            "SELECT customer_id, sum(amount) FROM orders GROUP BY customer_id".to_owned(),
            "rows without customer_id are a group of their own",
        ),
        (
            "How many orders for each customer?",
            "SELECT customer_id, count(*) FROM orders GROUP BY customer_id".to_owned(),
            "rows without customer_id are a group of their own",
        ),
        (
            "orders by city",
            format!("SELECT customers.city, count(*) FROM orders {by_city}"),
            "rows without city are a group of their own",
        ),
    ] {
        let ruled = shop(question).unwrap();
        assert_eq!(ruled.statement, sql, "{question}");
        assert_eq!(ruled.of_null.as_deref(), Some(of_null), "{question}");
    }
    // No column of customers refers to orders; and who has orders is not all who are there.
    for question in ["customers by order", "orders of customers"] {
        assert!(shop(question).is_err(), "{question}");
    }
}

#[test]
fn of_several_dates_one_rule_chooses_in_every_form() {
    let dates = "times are those of order_date, one of the dates: order_date of orders, shipped_on of orders";
    for question in [
        "orders by month",
        "orders in 2024",
        "How many orders were there in 2024?",
        "total amount of orders since 2024",
    ] {
        let ruled = shop(question).unwrap();
        assert_eq!(ruled.notes, [dates], "{question}");
        assert!(ruled.statement.contains("order_date"), "{question}");
    }
    // One that was not chosen is a date, too.
    let shop = |name: &str| {
        let orders = vec![
            column("placed", "date", 0.5),
            column("amount", "float", 0.5),
        ];
        let mut orders = table("shop/orders", orders, &[]);
        orders.dates = vec!["placed".to_owned(), name.to_owned()];
        let orders = cells(vec![orders], Vec::new());
        let of = |question: &str| ruled(question, &Tables::of(&orders)).map_err(|it| it.dates);
        ["orders by month", "orders in 2024"].map(of)
    };
    assert!(shop("placed").iter().all(Result::is_ok));
    let listed = ["placed of orders", "shipped of orders"].map(str::to_owned);
    let refused = Err(listed.to_vec());
    assert_eq!(shop("shipped"), [refused.clone(), refused]);
}

#[test]
fn the_first_rows_come_in_the_order_that_is_said() {
    let by = |column: &str, rest: &str| format!("ORDER BY {column} {rest}");
    for (question, columns, rest) in [
        (
            "top 3 orders by amount",
            "*",
            by("amount", "DESC NULLS LAST LIMIT 3"),
        ),
        (
            "the 5 largest orders by amount",
            "*",
            by("amount", "DESC NULLS LAST LIMIT 5"),
        ),
        (
            "smallest 2 orders by amount",
            "*",
            by("amount", "ASC NULLS LAST LIMIT 2"),
        ),
        (
            "latest order",
            "*",
            by("order_date", "DESC NULLS LAST LIMIT 1"),
        ),
        (
            "amount of the 3 earliest orders",
            "amount",
            by("order_date", "ASC NULLS LAST LIMIT 3"),
        ),
    ] {
        let statement = shop(question).map(|it| it.statement);
        let sql = format!("SELECT {columns} FROM orders {rest}");
        assert_eq!(statement.as_deref(), Ok(sql.as_str()), "{question}");
    }
    // What nobody asked for is shown, and is no part of what is compared with other statements.
    let most = shop("most common customer_id").unwrap();
    assert_eq!(
        most.shown.as_deref(),
        Some(
            "SELECT customer_id, count(*) FROM orders GROUP BY customer_id ORDER BY count(*) DESC, customer_id LIMIT 1"
        )
    );
    assert!(most.statement.starts_with("SELECT customer_id FROM"));
    // By what is not said; or it is counted, computed or joined.
    for question in [
        "the 5 largest orders",
        "top 3 orders by customer",
        "top 3 customers by amount",
        "How many of the 3 latest orders?",
        "total amount of the 3 latest orders",
        "latest customer",
        "latest orders by customer",
        "latest orders",
        "latest orders by amount",
        "total amount of the top 3 orders",
        "top 3 different statuses by amount of orders",
        "top 3 statuses by amount of orders",
        "earliest orders by status",
    ] {
        assert!(shop(question).is_err(), "{question}: {:?}", shop(question));
    }
}

#[test]
fn a_number_may_be_named_without_its_unit() {
    let of = |second: &str| {
        let staff = vec![
            column("salary_eur", "integer", 0.5),
            column(second, "integer", 0.5),
            column("badge_no", "integer", 0.5),
        ];
        let staff = cells(vec![table("staff", staff, &[])], Vec::new());
        let of = |question: &str| statement(question, &Tables::of(&staff));
        ["highest salary", "highest badge"].map(of)
    };
    let [salary, badge] = of("age");
    assert_eq!(salary.as_deref(), Ok("SELECT max(salary_eur) FROM staff"));
    assert!(badge.is_err());
    assert!(of("salary_usd").iter().all(Result::is_err));
}
