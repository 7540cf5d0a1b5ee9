//! Reading values: by statements of `limn-sql`, which keeps the limits and knows what is withheld.
//!
//! All columns are counted in one pass over the rows (GROUPING SETS), since a pass is what costs:
//! 10 million rows of CSV with three text columns took 8 s, and 12 s with a statement a column.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use limn_profile::Redact;
use limn_retrieval::Span;
use limn_segment::TableRecord;
use limn_segment::whole::key;
use limn_sql::written::cells_of;
use limn_sql::{Engine, SqlError};
use limn_store::one_line;

use crate::BUDGET;
use crate::asked::Asked;
use crate::distinct::{Distinct, DistinctColumn, Kept};
use crate::redacted::is_kept_out;
use crate::table::{Column, Table};
use crate::written::name;

/// Text columns of which values are counted, and how many by one statement.
const COLUMNS: usize = 64;
const AT_A_TIME: usize = 16;
/// Characters of a value: longer ones are texts, and no cells that a question names.
const LONGEST: usize = 200;
/// Columns and spans of a probe, and values that it finds.
const PROBED_COLUMNS: usize = 16;
const PROBED_SPANS: usize = 32;
const PROBED_VALUES: usize = 200;

/// What was read of a table, as far as that could be.
#[derive(Debug)]
pub struct Reading {
    /// Its columns.
    pub table: Table,
    /// Its values; none if they could not be counted.
    pub kept: Option<Arc<Kept>>,
    /// What was found past the budget.
    pub probed: Option<Distinct>,
    /// What could not be done.
    pub failure: Option<SqlError>,
}

impl Reading {
    /// What to say of what could not be done, for which there are these words.
    #[must_use]
    pub fn note(&self, failure: &str) -> String {
        let name = one_line(&self.table.key.name);
        let instead = match (
            &self.kept,
            self.table.columns.iter().any(|it| it.has_values()),
        ) {
            (Some(_), _) => "past the budget nothing was looked for",
            (None, true) => "only values that the index knows were looked at",
            (None, false) => "no values were looked at",
        };
        format!("cells of '{name}' could not be read: {failure}; {instead}")
    }
}

/// Reads a table for a question: its columns, its values unless they are `kept`, and what the
/// question names past the budget, but for what `redact` keeps out. `engine` is asked for one for
/// each statement, over the table, with the time that is left.
pub async fn read(
    engine: &(dyn Fn() -> Engine + Sync),
    (record, redact): (&TableRecord, Redact),
    kept: Option<Arc<Kept>>,
    asked: &Asked,
) -> Reading {
    let mut reading = Reading {
        table: Table::of_record(record, true),
        kept: None,
        probed: None,
        failure: None,
    };
    match describe(&engine(), record).await {
        Ok(table) => reading.table = table,
        Err(error) => {
            reading.failure = Some(error);
            return reading;
        }
    }
    let table = &reading.table;
    let kept = match kept {
        Some(kept) => kept,
        None => match count(&engine(), (table, redact), BUDGET).await {
            Ok(distinct) => Arc::new(Kept::from(distinct)),
            Err(error) => {
                reading.failure = Some(error);
                return reading;
            }
        },
    };
    match probe(&engine(), (table, redact), &kept.distinct, asked).await {
        Ok(probed) => reading.probed = probed,
        Err(error) => reading.failure = Some(error),
    }
    reading.kept = Some(kept);
    reading
}

/// What is known of a table whose rows may be read. Reads no rows.
async fn describe(engine: &Engine, record: &TableRecord) -> Result<Table, SqlError> {
    let statement = format!("DESCRIBE {}", name(&record.name));
    let mut columns = Vec::new();
    let mut withheld = 0;
    for row in rows(engine, &statement).await? {
        // A column that is withheld has no type.
        match row.as_slice() {
            [Some(name), Some(data_type), ..] => columns.push((name.clone(), data_type.clone())),
            _ => withheld += 1,
        }
    }
    Ok(Table::of_sql(record, columns, withheld))
}

/// Counts the distinct values of a table's text columns, most frequent first, until so many are
/// there. Of columns in which nearly every row has a value of its own none are, if they have more
/// than would be counted.
///
/// # Errors
/// As [`Engine::run`].
pub async fn count(
    engine: &Engine,
    (table, redact): (&Table, Redact),
    budget: usize,
) -> Result<Distinct, SqlError> {
    let is_counted = |column: &&Column| {
        let own = column.own_values.unwrap_or_default();
        column.is_text() && own <= budget as u64
    };
    let counted = table.columns.iter().filter(is_counted).take(COLUMNS);
    let counted: Vec<&str> = counted.map(|column| column.name.as_str()).collect();
    let mut found: Vec<Counted> = Vec::new();
    let mut tally: Vec<Tally> = vec![Tally::default(); counted.len()];
    for (chunk, columns) in counted.chunks(AT_A_TIME).enumerate() {
        // Beside the values: one that shows that there are more, the nulls of each column, all
        // rows.
        let most = budget + columns.len() + 2;
        let statement = counting(&table.key.name, columns, None, most);
        let first = chunk * AT_A_TIME;
        let mut rows = 0;
        for mut it in counted_rows(engine, &statement).await? {
            let Some(column) = it.column else {
                rows = it.count;
                continue;
            };
            it.column = Some(first + column);
            tally[first + column].seen += it.count;
            match it.is_null {
                true => {}
                false => found.push(it),
            }
        }
        let own = &mut tally[first..first + columns.len()];
        own.iter_mut().for_each(|tally| tally.rows = rows);
    }
    // As each statement sorts them.
    found.sort_unstable_by(|a, b| {
        let by_count = b.count.cmp(&a.count);
        by_count.then_with(|| (a.column, &a.value).cmp(&(b.column, &b.value)))
    });
    for left_out in found.drain(budget.min(found.len())..) {
        if let Some(column) = left_out.column {
            tally[column].seen -= left_out.count;
        }
    }
    let columns = counted
        .iter()
        .zip(&tally)
        .map(|(name, tally)| DistinctColumn {
            name: (*name).to_owned(),
            values: Vec::new(),
            is_whole: tally.seen == tally.rows,
            has_others: false,
        });
    let mut columns: Vec<DistinctColumn> = columns.collect();
    for it in found {
        let Some(column) = it.column.and_then(|at| columns.get_mut(at)) else {
            continue;
        };
        match it.value.filter(|value| !is_kept_out(value, redact)) {
            Some(value) => column.values.push((value, it.count)),
            None => column.has_others = true,
        }
    }
    Ok(Distinct { columns })
}

/// Rows of a column: those of the values that are given or null, and all.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    seen: u64,
    rows: u64,
}

/// Looks for what a question names in the columns of which not all values were counted: `None`
/// where there is nothing to look for, which costs nothing.
async fn probe(
    engine: &Engine,
    (table, redact): (&Table, Redact),
    distinct: &Distinct,
    asked: &Asked,
) -> Result<Option<Distinct>, SqlError> {
    let is_open = |column: &&Column| {
        let counted = distinct.of(&column.name);
        column.is_text() && counted.is_none_or(|counted| !counted.is_whole)
    };
    let columns = table.columns.iter().filter(is_open).take(PROBED_COLUMNS);
    let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    if columns.is_empty() {
        return Ok(None);
    }
    let counted = distinct.columns.iter().flat_map(|column| &column.values);
    let counted: HashSet<String> = counted.filter_map(|(value, _)| key(value)).collect();
    let spans = asked.spans.iter().filter(|span| span.says);
    let known = spans.filter(|span| counted.contains(&span.key));
    let known: Vec<_> = known.map(|span| span.words.clone()).collect();
    let is_known = |span: &&Span| {
        let mut known = known.iter();
        known.any(|it| it.start <= span.words.start && span.words.end <= it.end)
    };
    let sought = asked.probed().filter(|span| !is_known(span));
    let sought = sought.map(|span| span.written.to_lowercase());
    let sought: Vec<String> = sought.take(PROBED_SPANS).collect();
    if sought.is_empty() {
        return Ok(None);
    }
    let statement = counting(&table.key.name, &columns, Some(&sought), PROBED_VALUES);
    let mut found: Vec<DistinctColumn> = columns
        .iter()
        .map(|name| DistinctColumn {
            name: (*name).to_owned(),
            ..DistinctColumn::default()
        })
        .collect();
    for it in counted_rows(engine, &statement).await? {
        let value = it.value.filter(|value| !is_kept_out(value, redact));
        if let (Some(column), Some(value)) = (it.column.and_then(|at| found.get_mut(at)), value) {
            column.values.push((value, it.count));
        }
    }
    Ok(Some(Distinct { columns: found }))
}

/// A row of a statement that counts.
struct Counted {
    /// The column's place; none of the row that counts all rows.
    column: Option<usize>,
    /// The value; none of one that is null, or too long.
    value: Option<String>,
    count: u64,
    is_null: bool,
}

async fn counted_rows(engine: &Engine, statement: &str) -> Result<Vec<Counted>, SqlError> {
    let rows = rows(engine, statement).await?;
    let counted = rows.into_iter().filter_map(|row| {
        let [column, value, count, is_null] = <[Option<String>; 4]>::try_from(row).ok()?;
        Some(Counted {
            column: column.and_then(|at| at.parse().ok()),
            value,
            count: count?.parse().ok()?,
            is_null: is_null.as_deref() == Some("true"),
        })
    });
    Ok(counted.collect())
}

/// The statement that counts the values of columns, or those of them that are sought in lower case.
fn counting(table: &str, columns: &[&str], sought: Option<&[String]>, most: usize) -> String {
    let names: Vec<String> = columns.iter().map(|column| name(column)).collect();
    let each = |of: &dyn Fn(usize, &String) -> String, between: &str| {
        let parts: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(at, it)| of(at, it))
            .collect();
        parts.join(between)
    };
    let place = each(&|at, it| format!("WHEN grouping({it}) = 0 THEN {at}"), " ");
    let sets = each(&|_, it| format!("({it})"), ", ");
    let value = format!("coalesce({})", each(&|_, it| it.clone(), ", "));
    let (among, total, having) = match sought {
        None => (String::new(), ", ()", String::new()),
        Some(sought) => {
            let sought: Vec<String> = sought.iter().map(|it| quoted(it)).collect();
            let is_in = |of: &str| format!("lower({of}) IN ({})", sought.join(", "));
            let any = each(&|_, it| is_in(it), " OR ");
            (
                format!(" WHERE {any}"),
                "",
                format!(" HAVING {}", is_in(&value)),
            )
        }
    };
    format!(
        "SELECT CASE {place} END AS c, CASE WHEN character_length({value}) <= {LONGEST} THEN {value} END AS v, \
         count(*) AS n, {value} IS NULL AS z FROM {}{among} \
         GROUP BY GROUPING SETS ({sets}{total}){having} ORDER BY n DESC, c, v LIMIT {most}",
        name(table)
    )
}

/// A text in quotes, for a condition.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of a statement, each value as text.
async fn rows(engine: &Engine, statement: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
    let mut answer = engine.run(statement).await?;
    let mut rows = Vec::new();
    while let Some(batch) = answer.try_next().await? {
        let cells = cells_of(&batch).map_err(|error| SqlError::Internal(error.to_string()))?;
        let row = |at: usize| cells.iter().map(|cell| cell.text(at)).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_cannot_leave_their_quotes() {
        let sought = ["o'brien') OR ('a' = 'a".to_owned()];
        let statement = counting("a\"b", &["x\"y"], Some(&sought), 7);
        assert_eq!(
            statement,
            "SELECT CASE WHEN grouping(\"x\"\"y\") = 0 THEN 0 END AS c, \
             CASE WHEN character_length(coalesce(\"x\"\"y\")) <= 200 THEN coalesce(\"x\"\"y\") END AS v, \
             count(*) AS n, coalesce(\"x\"\"y\") IS NULL AS z \
             FROM \"a\"\"b\" WHERE lower(\"x\"\"y\") IN ('o''brien'') OR (''a'' = ''a') \
             GROUP BY GROUPING SETS ((\"x\"\"y\")) HAVING lower(coalesce(\"x\"\"y\")) IN ('o''brien'') OR (''a'' = ''a') \
             ORDER BY n DESC, c, v LIMIT 7"
        );
    }
}
