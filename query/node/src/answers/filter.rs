//! Which of the tables are meant, beside what is asked of them, and how many there are of each
//! kind.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use limn_segment::is_under;
use serde::Serialize;
use utoipa::ToSchema;

use super::kinds::{check_column_type, check_format};
use super::short_enough;
use crate::problem::Problem;
use crate::table_list::{Facts, TableList};

/// Bytes of the words that names are searched for.
const WORDS: usize = 400;
/// Folders that are counted.
const FOLDERS: usize = 200;
/// Bounds of the numbers of rows that are counted: from each on, below the next.
const ROWS: [u64; 5] = [0, 100, 10_000, 1_000_000, 100_000_000];
/// Ages that are counted, in days: younger than each.
const DAYS: [i64; 4] = [1, 7, 30, 365];

/// What is asked of tables beside the question. A table of which it is not known what is asked has
/// it not.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) prefix: String,
    pub(super) format: Option<String>,
    pub(super) column_type: Option<String>,
    pub(super) rows: (Option<u64>, Option<u64>),
    pub(super) modified_ms: (Option<i64>, Option<i64>),
    /// Words in lower case, each of which a name, a description or a column has.
    pub(super) words: Vec<String>,
}

/// What a table lacks of what is asked, by the facet that asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lacks {
    format: bool,
    modified: bool,
    rows: bool,
    prefix: bool,
    other: bool,
}

impl Lacks {
    /// Whether nothing is lacking but what these say.
    fn only(self, but: Lacks) -> bool {
        (!self.format || but.format)
            && (!self.modified || but.modified)
            && (!self.rows || but.rows)
            && (!self.prefix || but.prefix)
            && !self.other
    }
}

impl Filter {
    /// Words that a name, a description or a column has to have.
    pub(super) fn words(text: Option<&str>) -> Result<Vec<String>, Problem> {
        let text = short_enough("q", text.unwrap_or_default(), WORDS)?.to_lowercase();
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// Whether nothing is asked but where the tables lie.
    pub(super) fn is_prefix_alone(&self) -> bool {
        self.format.is_none()
            && self.column_type.is_none()
            && self.rows == (None, None)
            && self.modified_ms == (None, None)
            && self.words.is_empty()
    }

    /// That it asks for what there can be.
    pub(super) fn check(&self, table_list: &TableList) -> Result<(), Problem> {
        if let Some(format) = &self.format {
            check_format(format, table_list)?;
        }
        if let Some(column_type) = &self.column_type {
            check_column_type(column_type, table_list)?;
        }
        Ok(())
    }

    pub(super) fn allows(&self, table: &Facts<'_>) -> bool {
        self.lacks(table) == Lacks::default()
    }

    fn lacks(&self, table: &Facts<'_>) -> Lacks {
        let is = |wanted: &Option<String>, has: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(has))
        };
        let (least, most) = self.rows;
        let (after, before) = self.modified_ms;
        let has_type = || {
            let mut columns = table.columns();
            self.column_type.is_none()
                || columns.any(|column| is(&self.column_type, column.data_type))
        };
        Lacks {
            format: !is(&self.format, table.format),
            rows: least.is_some_and(|least| table.rows.is_none_or(|rows| rows < least))
                || most.is_some_and(|most| table.rows.is_none_or(|rows| rows > most)),
            modified: after.is_some_and(|after| table.modified_ms.is_none_or(|ms| ms < after))
                || before.is_some_and(|before| table.modified_ms.is_none_or(|ms| ms >= before)),
            prefix: !is_under(table.key.name, &self.prefix),
            other: !has_type() || !self.has_words(table),
        }
    }

    fn has_words(&self, table: &Facts<'_>) -> bool {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        self.words.iter().all(|word| {
            has(table.key.name, word)
                || table.texts().any(|text| has(text.brief, word))
                || table.columns().any(|column| has(column.name, word))
        })
    }
}

/// How many tables there are of each kind. Each list counts the tables that fit all filters but the
/// list's own.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Facets {
    /// By format, the most frequent first.
    pub formats: Vec<ValueCount>,
    /// By the folder that they lie in below the prefix, the largest first; at most 200.
    pub folders: Vec<ValueCount>,
    /// By age: changed since a time, the latest first. A table is counted in all that it fits.
    pub modified: Vec<SinceCount>,
    /// By the number of rows; tables without a known one are counted nowhere.
    pub rows: Vec<RowsCount>,
}

/// How many tables have a value.
#[derive(Debug, Serialize, ToSchema)]
pub struct ValueCount {
    /// The value, as the filter takes it.
    pub value: String,
    /// How many.
    pub count: u64,
}

/// How many tables changed since a time.
#[derive(Debug, Serialize, ToSchema)]
pub struct SinceCount {
    /// The length of time in days.
    pub days: i64,
    /// How many.
    pub count: u64,
}

/// How many tables have about so many rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct RowsCount {
    /// At least so many, as `min_rows` takes it.
    pub min: u64,
    /// At most so many, as `max_rows` takes it; null where there is no bound.
    pub max: Option<u64>,
    /// How many.
    pub count: u64,
}

/// Counts tables by what they are.
pub(super) fn facets(table_list: &TableList, filter: &Filter, now: DateTime<Utc>) -> Facets {
    let mut formats: BTreeMap<&str, u64> = BTreeMap::new();
    let mut folders: BTreeMap<String, u64> = BTreeMap::new();
    let since = DAYS.map(|days| (now - Duration::days(days)).timestamp_millis());
    let (mut young, mut rows) = ([0; DAYS.len()], [0; ROWS.len()]);
    for table in table_list.tables() {
        let lacks = filter.lacks(&table);
        let but = |but: Lacks| lacks.only(but);
        if but(Lacks {
            format: true,
            ..Lacks::default()
        }) {
            *formats.entry(table.format).or_default() += 1;
        }
        if but(Lacks::default())
            && let Some(folder) = folder_below(table.key.name, &filter.prefix)
        {
            *folders.entry(folder.to_owned()).or_default() += 1;
        }
        if but(Lacks {
            modified: true,
            ..Lacks::default()
        }) && let Some(ms) = table.modified_ms
        {
            let counts = since.iter().zip(&mut young);
            counts.for_each(|(since, count)| *count += u64::from(ms >= *since));
        }
        if but(Lacks {
            rows: true,
            ..Lacks::default()
        }) && let Some(has) = table.rows
        {
            rows[ROWS.partition_point(|bound| *bound <= has) - 1] += 1;
        }
    }
    let counted = |(value, count): (String, u64)| ValueCount { value, count };
    let formats = formats
        .into_iter()
        .map(|(value, count)| (value.to_owned(), count));
    let mut facets = Facets {
        formats: formats.map(counted).collect(),
        folders: folders.into_iter().map(counted).collect(),
        modified: DAYS
            .into_iter()
            .zip(young)
            .map(|(days, count)| SinceCount { days, count })
            .collect(),
        rows: (0..ROWS.len())
            .map(|at| RowsCount {
                min: ROWS[at],
                max: ROWS.get(at + 1).map(|next| next - 1),
                count: rows[at],
            })
            .collect(),
    };
    // Stable: those of one count stay in their order.
    facets.formats.sort_by_key(|it| std::cmp::Reverse(it.count));
    facets.folders.sort_by_key(|it| std::cmp::Reverse(it.count));
    facets.folders.truncate(FOLDERS);
    facets
}

/// The folder directly below `prefix` that a table lies in, if it does not lie in `prefix` itself.
fn folder_below<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let prefix = prefix.trim_matches('/');
    let depth = match prefix.len() {
        0 => 0,
        length => length + 1,
    };
    let rest = name.get(depth..)?;
    // Below a container there are two slashes.
    let start = name.len() - rest.trim_start_matches('/').len();
    let end = name[start..].find('/')?;
    Some(&name[..start + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lies_in_the_folder_directly_below() {
        for (name, prefix, folder) in [
            ("a/b/c", "", Some("a")),
            ("a/b/c", "a", Some("a/b")),
            ("a/b/c", "/a/", Some("a/b")),
            ("a/b/c", "a/b", None),
            ("a", "", None),
            ("a", "a", None),
            ("a/x.zip//b", "a", Some("a/x.zip")),
            ("a/x.zip//b", "a/x.zip", None),
            ("a/x.zip//y.xlsx//1", "a/x.zip", Some("a/x.zip//y.xlsx")),
        ] {
            assert_eq!(folder_below(name, prefix), folder, "{name} {prefix}");
        }
    }
}
