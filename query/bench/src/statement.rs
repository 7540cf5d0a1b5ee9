//! Statements of one table: what is selected, and what rows have to meet (PNEUMA, figure 5).

use std::fmt::Write;

/// A statement, without the table that it is asked of.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub(crate) select: Select,
    /// All of them have to be met.
    pub(crate) predicates: Vec<Predicate>,
}

/// What is selected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Select {
    /// Columns of rows: all of them, or the first of an order.
    Rows {
        columns: Vec<String>,
        order: Option<Order>,
    },
    /// Values over all rows.
    Values {
        first: Aggregate,
        second: Option<Aggregate>,
    },
    /// A value for each group of rows; of those groups whose value is so.
    Groups {
        by: String,
        value: Aggregate,
        having: Option<(Side, String)>,
    },
}

/// The first rows of an order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub(crate) column: String,
    pub(crate) descends: bool,
    pub(crate) limit: usize,
}

/// A value over rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) function: Function,
    pub(crate) column: String,
}

/// How a value is made of those of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Max,
    Min,
    Avg,
    Sum,
}

impl Function {
    pub(crate) const ALL: [Function; 4] =
        [Function::Max, Function::Min, Function::Avg, Function::Sum];

    fn name(self) -> &'static str {
        match self {
            Function::Max => "max",
            Function::Min => "min",
            Function::Avg => "avg",
            Function::Sum => "sum",
        }
    }
}

/// On which side of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    Above,
}

/// What a column's value has to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicate {
    pub(crate) column: String,
    pub(crate) test: Test,
}

/// What a value has to be. Numbers are as the table writes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    IsText(String),
    IsNumber(String),
    Side(Side, String),
    Between(String, String),
}

impl Statement {
    /// As SQL that `limn sql` takes, of this table.
    #[must_use]
    pub fn sql(&self, table: &str) -> String {
        let mut sql = format!("SELECT {} FROM {}", self.selected(), name(table));
        self.conditions(&mut sql);
        sql
    }

    /// As SQL without a table: what two tables may be asked alike.
    pub(crate) fn without_table(&self) -> String {
        let mut sql = format!("SELECT {}", self.selected());
        self.conditions(&mut sql);
        sql
    }

    /// The columns that it names, each once.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = self.select.columns();
        columns.extend(self.predicates.iter().map(|it| it.column.as_str()));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The statement with other names of columns.
    pub(crate) fn renamed(&self, name: impl Fn(&str) -> String) -> Statement {
        let mut renamed = self.clone();
        let value = |it: &mut Aggregate| it.column = name(&it.column);
        match &mut renamed.select {
            Select::Rows { columns, order } => {
                columns.iter_mut().for_each(|it| *it = name(it));
                order.iter_mut().for_each(|it| it.column = name(&it.column));
            }
            Select::Values { first, second } => {
                std::iter::once(first).chain(second).for_each(value);
            }
            Select::Groups { by, value: of, .. } => {
                *by = name(by);
                value(of);
            }
        }
        for predicate in &mut renamed.predicates {
            predicate.column = name(&predicate.column);
        }
        renamed
    }

    fn selected(&self) -> String {
        match &self.select {
            Select::Rows { columns, .. } => {
                let names: Vec<String> = columns.iter().map(|it| name(it)).collect();
                names.join(", ")
            }
            Select::Values { first, second } => {
                let values = std::iter::once(first).chain(second);
                let values: Vec<String> = values.map(Aggregate::sql).collect();
                values.join(", ")
            }
            Select::Groups { by, value, .. } => format!("{}, {}", name(by), value.sql()),
        }
    }

    fn conditions(&self, sql: &mut String) {
        // Writing to a text does not fail.
        for (at, predicate) in self.predicates.iter().enumerate() {
            let word = if at == 0 { "WHERE" } else { "AND" };
            let _ = write!(sql, " {word} {}", predicate.sql());
        }
        match &self.select {
            Select::Groups { by, value, having } => {
                let _ = write!(sql, " GROUP BY {}", name(by));
                if let Some((side, than)) = having {
                    let _ = write!(sql, " HAVING {} {} {than}", value.sql(), side.sql());
                }
            }
            Select::Rows {
                order: Some(order), ..
            } => {
                let way = if order.descends { "DESC" } else { "ASC" };
                let (by, limit) = (name(&order.column), order.limit);
                let _ = write!(sql, " ORDER BY {by} {way} NULLS LAST LIMIT {limit}");
            }
            _ => {}
        }
    }
}

impl Select {
    pub(crate) fn columns(&self) -> Vec<&str> {
        match self {
            Select::Rows { columns, order } => {
                let order = order.iter().map(|it| it.column.as_str());
                columns.iter().map(String::as_str).chain(order).collect()
            }
            Select::Values { first, second } => {
                let values = std::iter::once(first).chain(second);
                values.map(|it| it.column.as_str()).collect()
            }
            Select::Groups { by, value, .. } => vec![by, &value.column],
        }
    }
}

impl Aggregate {
    fn sql(&self) -> String {
        format!("{}({})", self.function.name(), name(&self.column))
    }
}

impl Side {
    fn sql(self) -> &'static str {
        match self {
            Side::Below => "<",
            Side::Above => ">",
        }
    }
}

impl Predicate {
    fn sql(&self) -> String {
        let column = name(&self.column);
        match &self.test {
            Test::IsText(value) => format!("{column} = '{}'", value.replace('\'', "''")),
            Test::IsNumber(value) => format!("{column} = {value}"),
            Test::Side(side, value) => format!("{column} {} {value}", side.sql()),
            Test::Between(low, high) => format!("{column} BETWEEN {low} AND {high}"),
        }
    }
}

/// A name as SQL has it.
pub(crate) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn aggregate(function: Function, column: &str) -> Aggregate {
        Aggregate {
            function,
            column: column.to_owned(),
        }
    }

    pub(crate) fn predicate(column: &str, test: Test) -> Predicate {
        Predicate {
            column: column.to_owned(),
            test,
        }
    }

    #[test]
    fn statements_are_sql() {
        let rows = Statement {
            select: Select::Rows {
                columns: vec!["na\"me".to_owned(), "town".to_owned()],
                order: Some(Order {
                    column: "Depth".to_owned(),
                    descends: true,
                    limit: 3,
                }),
            },
            predicates: vec![
                predicate("lake", Test::IsText("O'Neil".to_owned())),
                predicate("year", Test::Between("1".to_owned(), "2.5".to_owned())),
            ],
        };
        assert_eq!(
            rows.sql("a/b"),
            "SELECT \"na\"\"me\", \"town\" FROM \"a/b\" WHERE \"lake\" = 'O''Neil' \
             AND \"year\" BETWEEN 1 AND 2.5 ORDER BY \"Depth\" DESC NULLS LAST LIMIT 3"
        );
        assert_eq!(rows.columns(), ["Depth", "lake", "na\"me", "town", "year"]);
        let groups = Statement {
            select: Select::Groups {
                by: "lake".to_owned(),
                value: aggregate(Function::Avg, "depth"),
                having: Some((Side::Above, "-4".to_owned())),
            },
            predicates: vec![predicate("year", Test::Side(Side::Below, "7".to_owned()))],
        };
        assert_eq!(
            groups.without_table(),
            "SELECT \"lake\", avg(\"depth\") WHERE \"year\" < 7 GROUP BY \"lake\" HAVING avg(\"depth\") > -4"
        );
        let values = Statement {
            select: Select::Values {
                first: aggregate(Function::Sum, "a"),
                second: Some(aggregate(Function::Min, "b")),
            },
            predicates: vec![predicate("a", Test::IsNumber("1e3".to_owned()))],
        };
        assert_eq!(
            values.sql("t"),
            "SELECT sum(\"a\"), min(\"b\") FROM \"t\" WHERE \"a\" = 1e3"
        );
        assert_eq!(values.columns(), ["a", "b"]);
        for statement in [rows, groups, values] {
            let renamed = statement.renamed(str::to_uppercase);
            let is_large = |it: &&str| **it == it.to_uppercase();
            assert!(renamed.columns().iter().all(is_large), "{renamed:?}");
        }
    }
}
