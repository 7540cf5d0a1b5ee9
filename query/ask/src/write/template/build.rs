//! A reading as a statement.

use limn_cells::literal;

use super::Ruled;
use super::reading::{Function, Mention, Reading};
use super::times::Part;
use crate::write::lexer::name;
use crate::write::tables::{ColumnAt, Tables};

/// The statement that a reading means, if it means one, with what to know of it.
pub(super) fn ruled(reading: &Reading, tables: &Tables<'_>) -> Option<Ruled> {
    let [statement, shown] = [false, true].map(|shows| statement(reading, tables, shows));
    let statement = statement?;
    let name = |it: &ColumnAt| tables.list[it.table].1.columns[it.column].name.clone();
    let dated = reading.dated.as_ref().filter(|_| reading.dates.len() > 1);
    let note = dated.map(|it| {
        let note = format!("times are those of {}", name(it));
        limn_store::one_line(&format!(
            "{note}, one of the dates: {}",
            reading.dates.join(", ")
        ))
    });
    let mut groups = reading.mentions.iter().filter(|it| it.is_group);
    let part = reading.dated.filter(|_| reading.times.part.is_some());
    let key = part.or(groups.next().map(|it| it.column));
    let of_null = key.map(|it| {
        limn_store::one_line(&format!(
            "rows without {} are a group of their own",
            name(&it)
        ))
    });
    Some(Ruled {
        shown: shown.filter(|it| *it != statement),
        statement,
        notes: note.into_iter().collect(),
        of_null,
    })
}

/// The statement; one that `shows` selects also what its rows are ordered by.
fn statement(reading: &Reading, tables: &Tables<'_>, shows: bool) -> Option<String> {
    if reading.is_unclear() {
        return None;
    }
    let from = From::of(reading, tables)?;
    if from.has_several && !counts_once(reading, tables) {
        return None;
    }
    let asked = Asked::of(reading, from, shows);
    if !asked.fits_together() {
        return None;
    }
    match (asked.is_grouped(), reading.by_count) {
        (true, _) => asked.of_groups(),
        // Each row of one table is there with each that it joins, and not where none does.
        _ if asked.is_all_rows() && asked.from.has_several && reading.filters.is_empty() => None,
        (false, Some(function)) => asked.of_most_rows(function),
        (false, None) => asked.of_rows(),
    }
}

/// What a question asks for, and of what.
struct Asked<'a> {
    reading: &'a Reading,
    shows: bool,
    from: From<'a>,
    /// FROM and WHERE.
    source: String,
    /// The columns that are asked for as they are.
    targets: Vec<&'a Mention>,
    groups: Vec<&'a Mention>,
    /// The part of a time by which rows are grouped, and its column.
    part: Option<(Part, ColumnAt)>,
    /// The columns of which something is computed.
    computed: Vec<&'a Mention>,
    ordered: Option<&'a Mention>,
}

impl<'a> Asked<'a> {
    fn of(reading: &'a Reading, from: From<'a>, shows: bool) -> Asked<'a> {
        let mentions = || reading.mentions.iter();
        let condition = from.condition(reading);
        Asked {
            reading,
            shows,
            source: format!("FROM {}{condition}", from.sql),
            from,
            targets: targets(reading),
            groups: mentions().filter(|it| it.is_group).collect(),
            part: reading.times.part.zip(reading.dated),
            computed: mentions().filter(|it| !it.functions.is_empty()).collect(),
            ordered: mentions().find(|it| it.is_order),
        }
    }

    fn is_grouped(&self) -> bool {
        self.part.is_some() || !self.groups.is_empty()
    }

    /// Whether whole rows are asked for, or how many there are.
    fn is_all_rows(&self) -> bool {
        self.reading.counts || self.reading.mentions.is_empty()
    }

    /// Whether what is asked for can be asked for at once.
    fn fits_together(&self) -> bool {
        let (reading, is_grouped) = (self.reading, self.is_grouped());
        let has_groups = reading.counts || is_grouped;
        if reading.top.is_some() && reading.by_count.is_none() && has_groups {
            return false;
        }
        if self.part.is_some() && reading.by_count.is_some() {
            return false;
        }
        if self.ordered.is_some() && (has_groups || !self.computed.is_empty()) {
            return false;
        }
        // "Which book has the most pages" asks for the book, of which no column is named.
        let extreme = |it: &Function| matches!(it, Function::Most | Function::Least);
        let has_extreme = self
            .computed
            .iter()
            .any(|it| it.functions.iter().any(extreme));
        !(self.targets.is_empty() && reading.asks_which && has_extreme)
    }

    fn columns(&self, of: &[&Mention]) -> Vec<String> {
        of.iter().map(|it| self.from.column(it.column)).collect()
    }

    fn values(&self, targets: &[&Mention]) -> Option<String> {
        values(self.reading, targets, &self.computed, &self.from)
    }

    /// What is counted or computed of each group.
    fn of_groups(&self) -> Option<String> {
        let source = &self.source;
        let keys = self.columns(&self.groups);
        let values = self.values(&self.targets)?;
        let Some((part, dated)) = self.part else {
            let keys = keys.join(", ");
            return Some(format!("SELECT {keys}, {values} {source} GROUP BY {keys}"));
        };
        let (time, word) = (self.from.part(part, dated), part.word());
        let named = std::iter::once(format!("{time} AS {word}")).chain(keys.iter().cloned());
        let named: Vec<String> = named.chain([values]).collect();
        let keys: Vec<String> = std::iter::once(time).chain(keys).collect();
        let (named, keys) = (named.join(", "), keys.join(", "));
        Some(format!(
            "SELECT {named} {source} GROUP BY {keys} ORDER BY {keys}"
        ))
    }

    /// The values that the most rows have, or the least.
    fn of_most_rows(&self, function: Function) -> Option<String> {
        let keys = self.columns(&self.targets);
        if keys.is_empty() || !self.computed.is_empty() || self.reading.counts {
            return None;
        }
        let (keys, order, source) = (keys.join(", "), order(function), &self.source);
        let top = self.reading.top.unwrap_or(1);
        let shown = if self.shows { ", count(*)" } else { "" };
        Some(format!(
            "SELECT {keys}{shown} {source} GROUP BY {keys} ORDER BY count(*) {order}, {keys} LIMIT {top}"
        ))
    }

    /// The first rows in an order.
    fn first_rows(&self, by: ColumnAt, function: Function, top: u64) -> Option<String> {
        if self.reading.is_distinct {
            return None;
        }
        let (source, by, order) = (&self.source, self.from.column(by), order(function));
        let mut columns = self.columns(&self.targets);
        match columns.is_empty() {
            true if self.from.has_several => return None,
            true => columns.push("*".to_owned()),
            false if self.shows && !columns.contains(&by) => columns.push(by.clone()),
            false => {}
        }
        let columns = columns.join(", ");
        Some(format!(
            "SELECT {columns} {source} ORDER BY {by} {order} NULLS LAST LIMIT {top}"
        ))
    }

    /// Rows, or what is counted and computed of all.
    fn of_rows(&self) -> Option<String> {
        let (reading, source) = (self.reading, &self.source);
        if let Some((column, function)) = reading.ranked {
            let top = reading
                .top
                .filter(|_| self.computed.is_empty() && !reading.counts)?;
            return self.first_rows(column, function, top);
        }
        match (self.targets.is_empty(), self.computed.as_slice()) {
            // Of the first rows nothing is counted or computed.
            _ if reading.top.is_some() && reading.counts => None,
            (true, [_, ..]) if reading.top.is_some() => None,
            (true, computed) if reading.counts || !computed.is_empty() => {
                let values = self.values(&[])?;
                Some(format!("SELECT {values} {source}"))
            }
            (false, [one]) if !reading.counts => {
                let [function @ (Function::Most | Function::Least)] = one.functions[..] else {
                    return None;
                };
                self.first_rows(one.column, function, reading.top.unwrap_or(1))
            }
            (false, []) if reading.counts => {
                let values = self.values(&self.targets)?;
                Some(format!("SELECT {values} {source}"))
            }
            (false, []) if reading.top.is_none() || self.ordered.is_some() => {
                let columns = self.columns(&self.targets).join(", ");
                let distinct = if reading.is_distinct { "DISTINCT " } else { "" };
                let order = self.ordered.map_or(String::new(), |it| {
                    let direction = if reading.is_descending { "DESC" } else { "ASC" };
                    format!(" ORDER BY {} {direction}", self.from.column(it.column))
                });
                let top = reading
                    .top
                    .map_or(String::new(), |it| format!(" LIMIT {it}"));
                Some(format!("SELECT {distinct}{columns} {source}{order}{top}"))
            }
            (true, []) if !reading.tables.is_empty() && reading.mentions.is_empty() => {
                Some(format!("SELECT * {source}"))
            }
            _ => None,
        }
    }
}

/// Whether each row that is counted or summed up over joined tables is there once: those of the
/// table that refers to the other.
fn counts_once(reading: &Reading, tables: &Tables<'_>) -> bool {
    let is_sum = |it: &Function| matches!(it, Function::Sum | Function::Average);
    let summed = reading
        .mentions
        .iter()
        .filter(|it| it.functions.iter().any(is_sum));
    let mut counted: Vec<usize> = summed.map(|it| it.column.table).collect();
    if reading.counts && !reading.is_distinct || reading.by_count.is_some() {
        match reading.tables.as_slice() {
            [one] => counted.push(*one),
            _ => return false,
        }
    }
    let joins = &tables.cells.joins;
    let is_many = |table: &usize| {
        let (_, it) = &tables.list[*table];
        let refers =
            |side: &limn_cells::JoinedColumn| side.table == it.table && side.lake == it.lake;
        joins.len() == 1
            && joins.iter().all(|join| {
                refers(&join.left) && matches!(join.cardinality.as_str(), "n:1" | "1:1")
            })
    };
    counted.iter().all(is_many)
}

/// The columns that are asked for as they are, each once: none of which a value is given.
fn targets(reading: &Reading) -> Vec<&Mention> {
    let is_filtered = |it: &Mention| {
        reading
            .filters
            .iter()
            .any(|(column, _)| *column == it.column)
    };
    let plain = reading
        .mentions
        .iter()
        .filter(|it| it.functions.is_empty() && !it.is_group && !it.is_order && !it.is_compared);
    let mut targets: Vec<&Mention> = Vec::new();
    for mention in plain {
        let is_there = targets.iter().any(|it| it.column == mention.column);
        if !is_there && !is_filtered(mention) {
            targets.push(mention);
        }
    }
    targets
}

/// What is counted and computed.
fn values(
    reading: &Reading,
    targets: &[&Mention],
    computed: &[&Mention],
    from: &From<'_>,
) -> Option<String> {
    let mut values: Vec<String> = Vec::new();
    if reading.counts {
        values.push(match (targets, reading.is_distinct) {
            ([one], true) => format!("count(DISTINCT {})", from.column(one.column)),
            ([], false) => "count(*)".to_owned(),
            _ => return None,
        });
    } else if !targets.is_empty() {
        return None;
    }
    values.extend(computed.iter().flat_map(|it| {
        let column = from.column(it.column);
        it.functions.iter().map(move |function| {
            let function = match function {
                Function::Average => "avg",
                Function::Sum => "sum",
                Function::Most => "max",
                Function::Least => "min",
            };
            format!("{function}({column})")
        })
    }));
    (!values.is_empty()).then(|| values.join(", "))
}

fn order(function: Function) -> &'static str {
    match function {
        Function::Least => "ASC",
        _ => "DESC",
    }
}

/// The table whose rows are counted, or of which something is computed.
fn base(reading: &Reading) -> Option<usize> {
    let mut computed = reading
        .mentions
        .iter()
        .filter(|it| !it.functions.is_empty());
    match reading.tables.as_slice() {
        [one] if reading.counts => Some(*one),
        _ => computed.next().map(|it| it.column.table),
    }
}

/// The tables that a statement reads, joined.
struct From<'a> {
    tables: &'a Tables<'a>,
    sql: String,
    has_several: bool,
}

impl<'a> From<'a> {
    /// The tables that are needed, and those that join them; none where nothing joins them.
    fn of(reading: &Reading, tables: &'a Tables<'a>) -> Option<From<'a>> {
        let mentioned = reading.mentions.iter().map(|it| it.column.table);
        let filtered = reading.filters.iter().map(|it| it.0.table);
        let dated = reading.dated.iter().map(|it| it.table);
        let mut needed: Vec<usize> = mentioned.chain(filtered).chain(dated).collect();
        needed.extend(&reading.tables);
        needed.sort_unstable();
        needed.dedup();
        // Of groups, those that no row joins are one, too.
        let is_grouped =
            reading.mentions.iter().any(|it| it.is_group) || reading.times.part.is_some();
        let join = if is_grouped { "LEFT JOIN" } else { "JOIN" };
        let first = base(reading).filter(|_| is_grouped);
        let first = first.or(needed.first().copied())?;
        let mut there = vec![first];
        let mut sql = name(&tables.list[first].0);
        while let Some(goal) = needed.iter().find(|it| !there.contains(it)) {
            for (table, on) in way(tables, &there, *goal)? {
                sql.push_str(&format!(" {join} {} ON {on}", name(&tables.list[table].0)));
                there.push(table);
            }
        }
        Some(From {
            tables,
            sql,
            has_several: there.len() > 1,
        })
    }

    fn column(&self, of: ColumnAt) -> String {
        let (table, it) = &self.tables.list[of.table];
        let column = name(&it.columns[of.column].name);
        match self.has_several {
            true => format!("{}.{column}", name(table)),
            false => column,
        }
    }

    /// The part of a time that rows are grouped by.
    fn part(&self, part: Part, dated: ColumnAt) -> String {
        let column = self.column(dated);
        match part {
            Part::Year => format!("CAST(date_part('year', {column}) AS INTEGER)"),
            part => format!("CAST(date_trunc('{}', {column}) AS DATE)", part.word()),
        }
    }

    /// The times that are meant.
    fn ranges(&self, reading: &Reading) -> Vec<String> {
        let Some(dated) = reading.dated else {
            return Vec::new();
        };
        let (column, times) = (self.column(dated), &reading.times);
        let data_type = &self.tables.list[dated.table].1.columns[dated.column].data_type;
        let keyword = data_type.to_uppercase();
        let from = times.from.map(|it| format!("{column} >= {keyword} '{it}'"));
        let until = times.until.map(|it| format!("{column} < {keyword} '{it}'"));
        from.into_iter().chain(until).collect()
    }

    fn condition(&self, reading: &Reading) -> String {
        let filters = reading.filters.iter().map(|(column, values)| {
            let column = self.column(*column);
            match values.as_slice() {
                [one] => format!("{column} = {}", literal(one)),
                several => {
                    let values: Vec<String> = several.iter().map(|it| literal(it)).collect();
                    format!("{column} IN ({})", values.join(", "))
                }
            }
        });
        let comparisons = reading.comparisons.iter();
        let comparisons = comparisons
            .map(|(column, sign, number)| format!("{} {sign} {number}", self.column(*column)));
        let ranges = self.ranges(reading);
        let all: Vec<String> = filters.chain(comparisons).chain(ranges).collect();
        match all.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", all.join(" AND ")),
        }
    }
}

/// The shortest way by joins from the tables that are there to another: each table on it, and what
/// joins it.
fn way(tables: &Tables<'_>, there: &[usize], goal: usize) -> Option<Vec<(usize, String)>> {
    let edges = edges(tables);
    let mut before: Vec<Option<(usize, usize)>> = vec![None; tables.list.len()];
    let mut seen = there.to_vec();
    let mut at = 0;
    while at < seen.len() && !seen.contains(&goal) {
        let here = seen[at];
        for (number, (a, b, _)) in edges.iter().enumerate() {
            let other = match here {
                it if it == *a => *b,
                it if it == *b => *a,
                _ => continue,
            };
            if !seen.contains(&other) {
                before[other] = Some((here, number));
                seen.push(other);
            }
        }
        at += 1;
    }
    let (mut way, mut last) = (Vec::new(), goal);
    while !there.contains(&last) {
        let (from, edge) = before[last]?;
        way.push((last, edges[edge].2.clone()));
        last = from;
    }
    way.reverse();
    Some(way)
}

/// The joins, by the places of their tables, each with its condition.
fn edges(tables: &Tables<'_>) -> Vec<(usize, usize, String)> {
    let joins = tables.cells.joins.iter().filter_map(|join| {
        let place = |of: &limn_cells::JoinedColumn| {
            let mut list = tables.list.iter();
            list.position(|(_, it)| it.table == of.table && it.lake == of.lake)
        };
        let (left, right) = (place(&join.left)?, place(&join.right)?);
        let first = [join.left.column.clone(), join.right.column.clone()];
        let pairs = [&first].into_iter().chain(&join.more).map(|[own, other]| {
            let of = |table: usize, column: &str| {
                format!("{}.{}", name(&tables.list[table].0), name(column))
            };
            format!("{} = {}", of(left, own), of(right, other))
        });
        let pairs: Vec<String> = pairs.collect();
        Some((left, right, pairs.join(" AND ")))
    });
    joins.collect()
}
