//! Statements in English, from templates: some ways to ask each kind, and some for each part.

use crate::random::Draws;
use crate::statement::{Aggregate, Function, Order, Predicate, Select, Side, Statement, Test};

/// What a statement asks for, in a word.
pub(crate) fn shape(statement: &Statement) -> &'static str {
    match &statement.select {
        Select::Rows { order: None, .. } => "rows",
        Select::Rows { order: Some(_), .. } => "first",
        Select::Values { .. } => "values",
        Select::Groups { .. } => "groups",
    }
}

/// A question and the name of its template.
pub(crate) fn question(statement: &Statement, draws: &mut Draws) -> (String, String) {
    let conditions = conditions(&statement.predicates, draws);
    let texts = match &statement.select {
        Select::Rows {
            columns,
            order: None,
        } => rows(columns, &conditions),
        Select::Rows {
            columns,
            order: Some(order),
        } => first(columns, order, &conditions, draws),
        Select::Values { first, second } => {
            let values = std::iter::once(first).chain(second);
            let values: Vec<String> = values.map(|it| value(it, draws)).collect();
            of_all(&values.join(" and the "), &conditions)
        }
        Select::Groups {
            by,
            value: of,
            having,
        } => {
            let having = having.as_ref().map(|(side, than)| (*side, than.as_str()));
            groups(by, &value(of, draws), having, &conditions)
        }
    };
    let at = draws.below(texts.len());
    let text = texts.into_iter().nth(at).unwrap_or_default();
    (text, format!("{}-{}", shape(statement), at + 1))
}

fn rows(columns: &[String], conditions: &str) -> Vec<String> {
    let named = list(columns);
    let is = if columns.len() > 1 { "are" } else { "is" };
    vec![
        format!("What {is} the {named} where {conditions}?"),
        format!("Show the {named} of entries in which {conditions}."),
        format!("I need every {named} for records where {conditions}."),
        format!("If {conditions}, what {is} the {named}?"),
    ]
}

fn first(columns: &[String], order: &Order, conditions: &str, draws: &mut Draws) -> Vec<String> {
    let named = list(columns);
    let ends = match order.descends {
        true => ["highest", "largest", "greatest"],
        false => ["lowest", "smallest", "least"],
    };
    let end = draws.one(&ends).copied().unwrap_or_default();
    let (by, limit) = (words(&order.column), order.limit);
    let among = match conditions {
        "" => String::new(),
        conditions => format!(", among those where {conditions}"),
    };
    vec![
        format!("What are the {named} of the {limit} entries with the {end} {by}{among}?"),
        format!("List the {named} for the {limit} {end} values of {by}{among}."),
        format!("Which {limit} records have the {end} {by}{among}, and what is their {named}?"),
    ]
}

fn of_all(values: &str, conditions: &str) -> Vec<String> {
    vec![
        format!("What is the {values} where {conditions}?"),
        format!("Find the {values} over all records in which {conditions}."),
        format!("Tell me the {values} if {conditions}."),
    ]
}

fn groups(by: &str, value: &str, having: Option<(Side, &str)>, conditions: &str) -> Vec<String> {
    let by = words(by);
    let among = match conditions {
        "" => String::new(),
        conditions => format!(" where {conditions}"),
    };
    let (kept, only) = match having {
        None => (String::new(), String::new()),
        Some((side, than)) => {
            let side = match side {
                Side::Below => "below",
                Side::Above => "above",
            };
            (
                format!(", if it is {side} {than}"),
                format!(" Leave out those that are not {side} {than}."),
            )
        }
    };
    vec![
        format!("What is the {value} for each {by}{among}{kept}?"),
        format!("Give the {value} by {by}{among}.{only}"),
        format!("For every {by}, find the {value}{among}{kept}."),
    ]
}

fn value(of: &Aggregate, draws: &mut Draws) -> String {
    let said: &[&str] = match of.function {
        Function::Max => &["highest", "largest", "maximum"],
        Function::Min => &["lowest", "smallest", "minimum"],
        Function::Avg => &["average", "mean"],
        Function::Sum => &["total", "sum of"],
    };
    let said = draws.one(said).copied().unwrap_or_default();
    format!("{said} {}", words(&of.column))
}

fn conditions(predicates: &[Predicate], draws: &mut Draws) -> String {
    let said = predicates.iter().map(|it| condition(it, draws));
    said.collect::<Vec<_>>().join(" and ")
}

fn condition(predicate: &Predicate, draws: &mut Draws) -> String {
    let column = words(&predicate.column);
    let mut one = |of: [&'static str; 2]| of[draws.below(2)];
    match &predicate.test {
        Test::IsText(value) => format!("{column} is {value}"),
        Test::IsNumber(value) => format!("{column} {} {value}", one(["is", "equals"])),
        Test::Side(Side::Below, value) => {
            format!("{column} is {} {value}", one(["below", "less than"]))
        }
        Test::Side(Side::Above, value) => {
            format!("{column} is {} {value}", one(["above", "more than"]))
        }
        Test::Between(low, high) => match one(["between", "from"]) {
            "between" => format!("{column} is between {low} and {high}"),
            from => format!("{column} is {from} {low} to {high}"),
        },
    }
}

fn list(columns: &[String]) -> String {
    let said: Vec<String> = columns.iter().map(|it| words(it)).collect();
    said.join(" and ")
}

/// A column's name as words: `OrderQty` and `order_qty` as "order qty", `VATNumber` as "VAT
/// number".
pub(crate) fn words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut said: Vec<String> = vec![String::new()];
    for (at, &c) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let begins = c.is_uppercase()
            && match before {
                Some(it) if it.is_lowercase() => true,
                Some(it) => {
                    it.is_uppercase() && letters.get(at + 1).is_some_and(|it| it.is_lowercase())
                }
                None => false,
            };
        let is_gap = c == '_' || c == '.' || c.is_whitespace();
        if is_gap || begins {
            said.push(String::new());
        }
        if let (false, Some(word)) = (is_gap, said.last_mut()) {
            word.push(c);
        }
    }
    said.retain(|word| !word.is_empty());
    let is_name = |word: &String| {
        word.chars()
            .skip(1)
            .any(|c| c.is_uppercase() || c.is_numeric())
    };
    for word in &mut said {
        if !is_name(word) {
            *word = word.to_lowercase();
        }
    }
    match said.is_empty() {
        true => name.to_owned(),
        false => said.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::draw;
    use crate::sample::tests::{LAKES, sample};
    use crate::statement::tests::{aggregate, predicate};

    #[test]
    fn names_are_words() {
        for (name, said) in [
            ("OrderQty", "order qty"),
            ("ship_to_date", "ship to date"),
            ("VATNumber", "VAT number"),
            ("CustomerID", "customer ID"),
            ("F12", "F12"),
            ("Number of Records", "number of records"),
            ("__", "__"),
            ("Größe", "größe"),
        ] {
            assert_eq!(words(name), said);
        }
    }

    #[test]
    fn a_statement_is_asked_in_several_ways() {
        let statement = Statement {
            select: Select::Groups {
                by: "Canton".to_owned(),
                value: aggregate(Function::Avg, "depth_m"),
                having: Some((Side::Above, "50".to_owned())),
            },
            predicates: vec![predicate("lake", Test::IsText("Thun".to_owned()))],
        };
        let asked = |at: u64| question(&statement, &mut Draws::of(&[at]));
        let asked: BTreeSet<(String, String)> = (0..100).map(asked).collect();
        assert_eq!(
            asked.len(),
            6,
            "three templates, two words for a mean: {asked:?}"
        );
        let one =
            "What is the average depth m for each canton where lake is Thun, if it is above 50?";
        assert!(
            asked.contains(&(one.to_owned(), "groups-1".to_owned())),
            "{asked:?}"
        );
    }

    #[test]
    fn every_part_of_a_statement_is_said() {
        let lakes = sample(&LAKES);
        for at in 0..500 {
            let mut draws = Draws::of(&[at]);
            let Some(statement) = draw::statement(&lakes, &mut draws) else {
                continue;
            };
            let (said, template) = question(&statement, &mut draws);
            for column in statement.columns() {
                assert!(
                    said.contains(&words(column)),
                    "{template}: {said} {statement:?}"
                );
            }
            for Predicate { test, .. } in &statement.predicates {
                let values = match test {
                    Test::IsText(value) | Test::IsNumber(value) | Test::Side(_, value) => {
                        vec![value]
                    }
                    Test::Between(low, high) => vec![low, high],
                };
                assert!(
                    values.into_iter().all(|it| said.contains(it.as_str())),
                    "{said}"
                );
            }
        }
    }
}
