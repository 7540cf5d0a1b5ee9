//! Columns that are not in GROUP BY.

use super::*;

/// A statement, its columns, its rows, its notes.
type Grouped = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
);

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_is_not_grouped_by_is_of_one_row_of_each_group() {
    let made = Made::new().await;
    let grouped: [Grouped; 11] = [
        (
            "SELECT customerid, amount, day FROM orders GROUP BY customerid ORDER BY customerid",
            &["customerid", "Amount", "Day"],
            &[
                "1|5|2024-03-01",
                "2|11|2024-03-02",
                "3|2|2024-04-01",
                "9|1|2024-04-02",
            ],
            "'Amount', 'Day' are not in GROUP BY: they are of one row of each group",
        ),
        (
            "SELECT day, max(amount) AS most FROM orders",
            &["Day", "most"],
            &["2024-03-02|11"],
            "'Day' is in no aggregate: it is of the row with the max of 'Amount'",
        ),
        (
            "SELECT customerid, orderid, max(amount) FROM orders GROUP BY 1 ORDER BY max(amount) DESC LIMIT 2",
            &["customerid", "OrderID", "max(orders.Amount)"],
            &["2|102|11", "1|101|7"],
            "'OrderID' is not in GROUP BY: it is of the row with the max of 'Amount' of each group",
        ),
        (
            "SELECT day, min(amount) AS a, max(amount) AS b FROM orders",
            &["Day", "a", "b"],
            &["2024-03-01|1|11"],
            "'Day' is in no aggregate: it is of one row",
        ),
        (
            "SELECT o.customerid, c.name, count(*) AS n FROM orders o JOIN customers c ON c.customerid = o.customerid \
             GROUP BY o.customerid HAVING c.name > 'B' ORDER BY c.name DESC",
            &["customerid", "Name", "n"],
            &["3|Cleo|1", "2|Ben|1"],
            "'Name' is not in GROUP BY: it is of one row of each group",
        ),
        (
            "SELECT * FROM orders GROUP BY customerid HAVING count(*) > 1",
            &["OrderID", "customerid", "Amount", "Day"],
            &["100|1|5|2024-03-01"],
            "'OrderID', 'Amount', 'Day' are not in GROUP BY: they are of one row of each group",
        ),
        (
            "SELECT DISTINCT day FROM orders GROUP BY customerid ORDER BY day LIMIT 2",
            &["Day"],
            &["2024-03-01", "2024-03-02"],
            "'Day' is not in GROUP BY: it is of one row of each group",
        ),
        (
            "SELECT customerid, rank() OVER (ORDER BY amount) AS place FROM orders GROUP BY customerid ORDER BY 1",
            &["customerid", "place"],
            &["1|3", "2|4", "3|2", "9|1"],
            "'Amount' is not in GROUP BY: it is of one row of each group",
        ),
        (
            "SELECT a.day, b.day FROM orders a JOIN orders b ON a.customerid = b.customerid GROUP BY a.customerid ORDER BY a.customerid LIMIT 1",
            &["a.Day", "b.Day"],
            &["2024-03-01|2024-03-01"],
            "'Day', 'Day' are not in GROUP BY: they are of one row of each group",
        ),
        (
            "SELECT customerid % 2 AS odd, count(*) AS n FROM orders GROUP BY odd HAVING odd >= 0 ORDER BY odd",
            &["odd", "n"],
            &["0|1", "1|4"],
            "",
        ),
        (
            "SELECT o.customerid, sum(o.amount) AS s FROM orders o GROUP BY customerid ORDER BY o.customerid LIMIT 1",
            &["customerid", "s"],
            &["1|12"],
            "",
        ),
    ];
    for (sql, columns, lines, note) in grouped {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(answer.columns(), columns, "{sql}");
        assert_eq!(answer.lines(), lines, "{sql}");
        assert_eq!(answer.notes.join("; "), note, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_grouped_is_left_alone() {
    let made = Made::new().await;
    for sql in [
        "SELECT name FROM customers c WHERE (SELECT max(amount) FROM orders o WHERE o.customerid = c.customerid) > 1",
        "SELECT customerid, sum(amount) OVER (PARTITION BY customerid) FROM orders",
        "SELECT customerid, count(*) FROM orders GROUP BY ALL",
        "SELECT customerid, amount, count(*) FROM orders GROUP BY ROLLUP (customerid, amount)",
        "SELECT customerid + 1, count(*) FROM orders GROUP BY customerid + 1",
        "SELECT upper(name), count(*) FROM customers GROUP BY name",
    ] {
        let answer = made.ask(sql).await;
        let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(answer.notes.is_empty(), "{sql}: {:?}", answer.notes);
    }
}
