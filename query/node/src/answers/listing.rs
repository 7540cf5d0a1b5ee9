//! Lists of tables: filtered, in an order, families folded into one line, and counted by what they
//! are.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::filter::{Facets, Filter, facets};
use super::time_or_date::TimeOrDate;
use super::{Grant, TableLine, bounded, short_enough, time};
use crate::access::Right;
use crate::families::{FamilyId, LEAST, common_name};
use crate::problem::Problem;
use crate::table_list::Facts;

/// Tables of a list.
const MOST: usize = 1_000;
/// Bytes of a path.
const PATH: usize = 4_000;
/// Columns that are named of a table.
const COLUMNS: usize = 6;

/// Which tables are listed.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListRequest {
    /// Only tables at this path or below it.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Only tables with each of these words in their name, their description or the name of a
    /// column.
    #[serde(default)]
    pub q: Option<String>,
    /// Only tables of this format: `arrow`, `avro`, `csv`, `dbf`, `delta`, `hudi`, `iceberg`,
    /// `jsonlines`, `orc`, `parquet`, `sheet`, `sqlite` or `text`.
    #[serde(default)]
    pub format: Option<String>,
    /// Only tables with a column of this type: `binary`, `boolean`, `date`, `float`, `integer`,
    /// `text`, `timestamp`, `unknown`, or another that the lake has, such as `list`.
    #[serde(default)]
    pub column_type: Option<String>,
    /// Only tables with at least so many rows.
    #[serde(default)]
    pub min_rows: Option<u64>,
    /// Only tables with at most so many rows.
    #[serde(default)]
    pub max_rows: Option<u64>,
    /// Only tables that were changed at this time or later: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    pub modified_after: Option<TimeOrDate>,
    /// Only tables that were changed before this time: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    pub modified_before: Option<TimeOrDate>,
    /// Only tables of this family: the `id` of one that was listed.
    #[serde(default)]
    pub family: Option<String>,
    /// Whether a family (three tables or more of one folder with the same columns) is listed as one
    /// line.
    #[serde(default)]
    pub fold: bool,
    /// In which order: `name` if nothing is said.
    #[serde(default)]
    #[param(inline)]
    pub sort: Option<Sort>,
    /// Whether the order is turned round. Tables of which it is not known what they are ordered by
    /// come last either way.
    #[serde(default)]
    pub descending: bool,
    /// Whether the tables are counted by format, folder, age and rows, too.
    #[serde(default)]
    pub facets: bool,
    /// Where to go on: the `next` of the list before, which was asked for in the same way.
    #[serde(default)]
    pub after: Option<String>,
    /// How many: 1 to 1000, 100 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// By what tables are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// By their lakes and names.
    #[default]
    Name,
    /// By their rows.
    Rows,
    /// By the number of their columns.
    Columns,
    /// By when they were changed.
    Modified,
}

/// Tables in an order.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listing {
    /// The tables.
    pub tables: Vec<ListedTable>,
    /// Where the next list begins; null at the end.
    pub next: Option<String>,
    /// How many tables there are in all, those of folded families each.
    pub count: usize,
    /// How many there are of each kind, where it was asked for.
    pub facets: Option<Facets>,
}

/// A table in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedTable {
    /// Which table.
    #[serde(flatten)]
    pub line: TableLine,
    /// The names of its first columns, at most six.
    pub columns: Vec<String>,
    /// Its family, if it is the line of one: then there are others like it that are not listed.
    pub family: Option<FamilyLine>,
}

/// A family in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct FamilyLine {
    /// What a list of its tables is asked for by.
    pub id: String,
    /// What their names have in common, with a star for the rest.
    pub name: String,
    /// How many of its tables fit the filters.
    pub count: usize,
    /// Their rows together, if all are known.
    pub rows: Option<u64>,
    /// Whether all were counted.
    pub rows_exact: bool,
    /// When the newest of their files was written.
    pub modified: Option<String>,
}

/// What a line of a list is made of: a table, or the first of a family with the others.
struct Entry<'a> {
    first: Facts<'a>,
    family: Option<(FamilyId, Vec<Facts<'a>>)>,
    rows: Option<u64>,
    modified_ms: Option<i64>,
}

impl<'a> Entry<'a> {
    fn of(table: Facts<'a>) -> Entry<'a> {
        Entry {
            rows: table.rows,
            modified_ms: table.modified_ms,
            first: table,
            family: None,
        }
    }

    fn add(&mut self, table: Facts<'a>) {
        let sum = |(one, other): (u64, u64)| one.saturating_add(other);
        self.rows = self.rows.zip(table.rows).map(sum);
        self.modified_ms = self.modified_ms.max(table.modified_ms);
        if let Some((_, members)) = &mut self.family {
            members.push(table);
        }
    }

    fn into_listed(self, grant: &Grant) -> ListedTable {
        let family = self.family.map(|(id, members)| FamilyLine {
            id: id.to_string(),
            name: common_name(members.iter().map(|table| table.key.name)),
            count: members.len(),
            rows: self.rows,
            rows_exact: members.iter().all(|table| table.rows_exact),
            modified: self.modified_ms.and_then(time),
        });
        let columns = self.first.columns().take(COLUMNS);
        ListedTable {
            line: grant.line(&self.first),
            columns: columns.map(|column| column.name.to_owned()).collect(),
            family,
        }
    }
}

/// Lists tables.
///
/// # Errors
/// A request that makes no sense.
pub fn list(grant: &Grant, request: &ListRequest) -> Result<Listing, Problem> {
    grant.require(Right::Search)?;
    let limit = bounded("limit", request.limit, 100, MOST)?;
    let filter = filter(request)?;
    let table_list = &grant.view.table_list;
    filter.check(table_list)?;
    let family = match request.family.as_deref() {
        None => None,
        Some(id) => Some(FamilyId::parse(id).ok_or_else(|| {
            Problem::bad(
                "family is no id of one",
                "take it from the family of a listed table",
            )
        })?),
    };
    let fitting = table_list.tables().enumerate().filter(|(place, table)| {
        family.is_none_or(|family| table_list.families().of(*place) == Some(family))
            && filter.allows(table)
    });
    let mut count = 0;
    let fitting = fitting.inspect(|_| count += 1);
    let fold = request.fold && family.is_none();
    let mut entries = entries(fitting, |place| match fold {
        true => table_list.families().of(place),
        false => None,
    });
    let sort = request.sort.unwrap_or_default();
    if sort != Sort::Name || request.descending {
        // Stable: those of one value stay in the order of their names.
        entries.sort_by(|one, other| order(one, other, sort, request.descending));
    }
    let from = match request.after.as_deref() {
        None => 0,
        Some(after) => place_after(after, &entries)?,
    };
    let more = entries.len() > from.saturating_add(limit);
    let entries = entries.into_iter().skip(from).take(limit);
    let tables: Vec<ListedTable> = entries.map(|entry| entry.into_listed(grant)).collect();
    Ok(Listing {
        next: tables
            .last()
            .filter(|_| more)
            .map(|last| format!("{}\n{}", last.line.lake, last.line.table)),
        tables,
        count,
        facets: request
            .facets
            .then(|| facets(table_list, &filter, chrono::Utc::now())),
    })
}

fn filter(request: &ListRequest) -> Result<Filter, Problem> {
    let ms = |time: Option<TimeOrDate>| time.map(|time| time.0.timestamp_millis());
    let prefix = request.prefix.as_deref().unwrap_or_default();
    Ok(Filter {
        prefix: short_enough("prefix", prefix, PATH)?.to_owned(),
        format: request.format.clone(),
        column_type: request.column_type.clone(),
        rows: (request.min_rows, request.max_rows),
        modified_ms: (ms(request.modified_after), ms(request.modified_before)),
        words: Filter::words(request.q.as_deref())?,
    })
}

/// The lines of tables, in their order; families of three or more as one.
fn entries<'a>(
    tables: impl Iterator<Item = (usize, Facts<'a>)>,
    family_of: impl Fn(usize) -> Option<FamilyId>,
) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut families: HashMap<FamilyId, usize> = HashMap::new();
    for (place, table) in tables {
        let Some(id) = family_of(place) else {
            entries.push(Entry::of(table));
            continue;
        };
        let at = *families.entry(id).or_insert(entries.len());
        match entries.get_mut(at) {
            Some(entry) => entry.add(table),
            None => entries.push(Entry {
                family: Some((id, vec![table])),
                ..Entry::of(table)
            }),
        }
    }
    // Of a family of which a filter leaves two, both are listed.
    let few = |entry: &Entry<'a>| {
        let members = entry.family.as_ref().map(|(_, members)| members.len());
        members.is_some_and(|members| members < LEAST)
    };
    entries
        .into_iter()
        .flat_map(|entry| match (few(&entry), entry.family) {
            (true, Some((_, members))) => members.into_iter().map(Entry::of).collect(),
            (_, family) => vec![Entry { family, ..entry }],
        })
        .collect()
}

/// What is not known comes last, in whatever direction.
fn order(one: &Entry<'_>, other: &Entry<'_>, sort: Sort, descending: bool) -> Ordering {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    let known = |one: Option<i128>, other: Option<i128>| match (one, other) {
        (Some(one), Some(other)) => turned(one.cmp(&other)),
        (one, other) => other.is_some().cmp(&one.is_some()),
    };
    match sort {
        Sort::Name => turned(one.first.key.cmp(&other.first.key)),
        Sort::Rows => known(one.rows.map(i128::from), other.rows.map(i128::from)),
        Sort::Columns => turned(one.first.column_count.cmp(&other.first.column_count)),
        Sort::Modified => known(
            one.modified_ms.map(i128::from),
            other.modified_ms.map(i128::from),
        ),
    }
}

/// The place after the table that a list ended with.
fn place_after(after: &str, entries: &[Entry<'_>]) -> Result<usize, Problem> {
    let (lake, name) = short_enough("after", after, PATH)?
        .split_once('\n')
        .ok_or_else(|| {
            Problem::bad(
                "after is no place in a list",
                "take it from the next of a list",
            )
        })?;
    let is_last = |entry: &Entry<'_>| (entry.first.key.lake, entry.first.key.name) == (lake, name);
    // A table that went meanwhile leaves its place: after all that come before it by name.
    Ok(match entries.iter().position(is_last) {
        Some(at) => at + 1,
        None => entries
            .iter()
            .filter(|entry| (entry.first.key.lake, entry.first.key.name) <= (lake, name))
            .count(),
    })
}
