//! The plan that joins the tables of a set: columns, warnings, and SQL that `limn sql` runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use limn_segment::TableKey;
use limn_store::one_line;
use serde::{Serialize, Serializer};

use crate::join::{Basis, Cardinality, Join};

/// Rows that the SQL of a plan gives.
const ROWS: usize = 100;

/// How the tables of a set join.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// One join for each table but the first, each to a table that is there already.
    #[serde(serialize_with = "joins")]
    pub joins: Vec<Arc<Join>>,
    /// A statement that joins them. With tables that nothing connects, it is of the others.
    pub sql: String,
    /// Where rows multiply.
    pub warnings: Vec<String>,
    /// Tables of the set that nothing connects to the first.
    pub disconnected: Vec<String>,
}

fn joins<S: Serializer>(joins: &[Arc<Join>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(joins.iter().map(Arc::as_ref))
}

impl Plan {
    /// The plan of connected tables, the first first, each other one by the join that connects it
    /// to an earlier one, of this place.
    pub(crate) fn new(tables: &[&TableKey], joins: Vec<(usize, Arc<Join>)>) -> Plan {
        let sql = sql(tables, &joins);
        let joins: Vec<Arc<Join>> = joins.into_iter().map(|(_, join)| join).collect();
        Plan {
            sql,
            warnings: warnings(&joins),
            disconnected: Vec::new(),
            joins,
        }
    }
}

fn sql(tables: &[&TableKey], joins: &[(usize, Arc<Join>)]) -> String {
    let Some((first, others)) = tables.split_first() else {
        return String::new();
    };
    let mut sql = format!("SELECT * FROM {} AS t1", quoted(&first.name));
    for (at, (table, (earlier, join))) in others.iter().zip(joins).enumerate() {
        let new = at + 1;
        let is_left = join.left.is_of(table);
        let (left, right) = if is_left {
            (new, *earlier)
        } else {
            (*earlier, new)
        };
        // Writing to a text does not fail.
        let _ = write!(
            sql,
            " JOIN {} AS t{} ON t{}.{} = t{}.{}",
            quoted(&table.name),
            new + 1,
            left + 1,
            quoted(&join.left.column),
            right + 1,
            quoted(&join.right.column),
        );
        for [ours, theirs] in &join.more {
            let (ours, theirs) = (quoted(ours), quoted(theirs));
            let _ = write!(sql, " AND t{}.{ours} = t{}.{theirs}", left + 1, right + 1);
        }
    }
    let _ = write!(sql, " LIMIT {ROWS}");
    sql
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn warnings(joins: &[Arc<Join>]) -> Vec<String> {
    let mut warnings = warned(joins);
    warnings.iter_mut().for_each(|it| *it = one_line(it));
    warnings
}

fn warned(joins: &[Arc<Join>]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut referring: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for join in joins {
        let (left, right) = (&join.left, &join.right);
        match join.cardinality {
            Cardinality::ManyToMany => warnings.push(format!(
                "{}.{} and {}.{} both repeat: the join multiplies rows",
                left.table, left.column, right.table, right.column
            )),
            Cardinality::ManyToOne => {
                referring.entry(&right.table).or_default().push(&left.table);
            }
            Cardinality::OneToOne | Cardinality::Unknown => {}
        }
        if join.basis == Basis::Names {
            warnings.push(format!(
                "{}.{} = {}.{} by their names alone: no value that both have is known",
                left.table, left.column, right.table, right.column
            ));
        }
    }
    for (table, left) in referring {
        if left.len() > 1 {
            warnings.push(format!(
                "several rows of {} refer to one of {table}: joined together, each of one is there with each of another",
                left.join(" and ")
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::ColumnOf;

    /// A join to the first table.
    fn join(
        left: (&str, &str),
        right: (&str, &str),
        cardinality: Cardinality,
    ) -> (usize, Arc<Join>) {
        let column = |(table, column): (&str, &str)| ColumnOf {
            table: table.to_owned(),
            lake: "/lake".to_owned(),
            column: column.to_owned(),
        };
        let join = Join {
            left: column(left),
            right: column(right),
            cardinality,
            containment: None,
            evidence: String::new(),
            basis: Basis::Values,
            more: Vec::new(),
            weight: 1.0,
        };
        (0, Arc::new(join))
    }

    #[test]
    fn a_plan_is_sql_with_warnings() {
        let key = |name: &str| TableKey {
            lake: "/lake".to_owned(),
            name: name.to_owned(),
        };
        let (stadium, concert, play) = (key("a/stadium"), key("concert"), key("pl\"ay"));
        let joins = vec![
            join(
                ("concert", "stadium"),
                ("a/stadium", "Id"),
                Cardinality::ManyToOne,
            ),
            join(
                ("pl\"ay", "where"),
                ("a/stadium", "Id"),
                Cardinality::ManyToOne,
            ),
        ];
        let plan = Plan::new(&[&stadium, &concert, &play], joins);
        assert_eq!(
            plan.sql,
            "SELECT * FROM \"a/stadium\" AS t1 JOIN \"concert\" AS t2 ON t2.\"stadium\" = t1.\"Id\" \
             JOIN \"pl\"\"ay\" AS t3 ON t3.\"where\" = t1.\"Id\" LIMIT 100"
        );
        assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
        let both = vec![join(
            ("concert", "a"),
            ("a/stadium", "b"),
            Cardinality::ManyToMany,
        )];
        let plan = Plan::new(&[&stadium, &concert], both);
        assert!(plan.warnings[0].contains("multiplies rows"));
        assert_eq!(Plan::new(&[], Vec::new()).sql, "");
    }
}
