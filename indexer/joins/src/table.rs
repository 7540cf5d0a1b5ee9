//! What is known of a table as far as joins go.

use limn_profile::ValueSet;
use serde::{Deserialize, Serialize};

use crate::id::{Place, TableId};
use crate::name::Name;

/// A key may have so many values that repeat, as a share of all: dirty tables have keys, too.
const NEARLY_UNIQUE: f64 = 0.95;
/// A column with fewer values than this is a flag, or as good as one.
const FLAG: f64 = 3.0;
/// Numbers that begin below this and have few gaps are a sequence: row numbers, counts, years.
const SMALL: i64 = 2_200;
/// Distinct values as a share of the rows by which a column tells rows apart.
const TELLS_APART: f64 = 0.5;
/// A sequence has at most so many times as many places as values.
const GAPS: f64 = 100.0;
/// Whole numbers of which so many places are not taken, for each that is, have others by chance.
const DENSE: f64 = 20.0;
/// Values by which a column is looked up in lists of values.
pub(crate) const LOOKED_UP: usize = 16;
/// A list of very many values holds fewer than this by chance.
const ENOUGH: usize = 8;

/// A table: its name and columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Table {
    /// Which it is.
    pub id: TableId,
    /// What it is called.
    pub name: Name,
    /// The hash of its folder and of what stands before `__` in its own name: tables of one
    /// database.
    pub database: u64,
    /// Its rows.
    pub rows: u64,
    /// The hash of the sorted names of all its columns.
    pub schema: u64,
    /// The hash of each column's name, in order ([`name_hash`]).
    pub names: Vec<u64>,
    /// The columns of its declared primary key.
    pub primary: Vec<Place>,
    /// Those with values that are known.
    pub columns: Vec<Column>,
    /// Keys of other tables that it declares.
    pub references: Vec<Reference>,
}

/// A declared foreign key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// The columns here.
    pub columns: Vec<Place>,
    /// The other table; it may be this one.
    pub table: TableId,
    /// The names of its columns in the same order ([`name_hash`]); none for its primary key.
    pub to: Vec<u64>,
}

/// What kind of values a column has, as far as columns of two kinds never join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Whole numbers.
    Whole,
    /// Numbers with fractions: measures.
    Fraction,
    /// Days and times.
    Time,
    /// Texts.
    Text,
    /// Texts of many words.
    Prose,
    /// Booleans, lists, and what else nobody joins by.
    Other,
}

/// What part a column can play in a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Its values distinguish rows, all or nearly.
    Key,
    /// Its values repeat: it may refer to a key.
    Repeats,
    /// It joins nothing.
    Neither,
}

/// What a [`Column`] is made of.
#[derive(Clone, Debug)]
pub struct ColumnFacts<'a> {
    /// Its place in the table.
    pub place: Place,
    /// Its name.
    pub name: &'a str,
    /// Its kind.
    pub kind: Kind,
    /// Distinct values as a share of those that were looked at, 0 to 1.
    pub uniqueness: f64,
    /// The least and the greatest value of whole numbers.
    pub range: Option<(i64, i64)>,
    /// Its values.
    pub values: ValueSet,
    /// How often each value occurs, where all rows and values are known ([`value_counts`]).
    pub counts: Vec<(u64, u64)>,
    /// Hashes by which some of its values are found in lists of values ([`lookups`]).
    pub lookups: Vec<u64>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Column {
    /// Its place in the table.
    pub place: Place,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// What part it can play.
    pub role: Role,
    /// Whether no value repeats.
    pub is_unique: bool,
    /// Whether its values say nothing about what they refer to.
    pub is_sequence: bool,
    /// Its values.
    pub values: ValueSet,
    /// How often each value occurs, by hash, in tables of which no column tells the rows apart.
    pub counts: Box<[(u64, u64)]>,
    /// Hashes by which it looks for its values in the lists of [large keys](Column::is_large_key),
    /// ascending; none where values say nothing.
    pub lookups: Box<[u64]>,
    /// Whether it holds most whole numbers of its range, or nearly.
    pub is_dense: bool,
}

/// The hashes by which a column of these values is looked up in lists of values
/// ([`limn_profile::looked_up_by`]): the lowest, which are in a list that is a sample, too.
#[must_use]
pub fn lookups<'a>(values: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let hash = |value| limn_profile::looked_up_by(&limn_profile::join_key(value));
    let mut hashes: Vec<u64> = values.filter_map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(LOOKED_UP);
    hashes
}

/// Values with how often they occur, as a column keeps them: by hash.
#[must_use]
pub fn value_counts<'a>(values: impl Iterator<Item = (&'a str, u64)>) -> Vec<(u64, u64)> {
    let hash = |value: &str| xxhash_rust::xxh3::xxh3_64(value.as_bytes());
    let mut counts: Vec<(u64, u64)> = values.map(|(value, count)| (hash(value), count)).collect();
    counts.sort_unstable();
    counts
}

impl Column {
    /// A column of what is known of it.
    #[must_use]
    pub fn new(facts: ColumnFacts<'_>) -> Column {
        let distinct = facts.values.distinct();
        let joins = matches!(facts.kind, Kind::Whole | Kind::Time | Kind::Text) && distinct >= 2.0;
        let role = match facts.uniqueness {
            _ if !joins => Role::Neither,
            NEARLY_UNIQUE.. => Role::Key,
            _ => Role::Repeats,
        };
        let places = facts.range.filter(|_| facts.kind == Kind::Whole);
        let places = places.map(|(least, greatest)| (least, greatest as f64 - least as f64 + 1.0));
        let is_sequence = match places {
            _ if distinct < FLAG || facts.kind == Kind::Time => true,
            Some((least, places)) => least < SMALL && places <= GAPS * distinct,
            None => false,
        };
        let looks = role != Role::Neither && !is_sequence && facts.lookups.len() >= ENOUGH;
        Column {
            place: facts.place,
            name: Name::of_column(facts.name),
            kind: facts.kind,
            role,
            is_unique: facts.uniqueness >= 1.0,
            is_sequence,
            values: facts.values,
            counts: facts.counts.into(),
            lookups: if looks {
                facts.lookups.into()
            } else {
                Box::default()
            },
            is_dense: places.is_some_and(|(_, places)| places <= DENSE * distinct),
        }
    }

    /// Whether it is a key of more values than are known here, which a list of values may have.
    #[must_use]
    pub fn is_large_key(&self) -> bool {
        self.role == Role::Key && !self.is_sequence && !self.values.is_complete()
    }

    /// Whether it tells the rows of a table of so many apart, at least half of them, and is no
    /// sequence, of which any table has the same.
    pub(crate) fn tells_apart(&self, rows: u64) -> bool {
        !self.is_sequence && self.values.distinct() >= TELLS_APART * rows as f64
    }
}

/// The hash of a column's name as declarations have it, without regard to case.
#[must_use]
pub fn name_hash(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.to_lowercase().as_bytes())
}

impl Table {
    /// A table called `name`, whose columns have these names, with what is known of some of them.
    #[must_use]
    pub fn new(
        id: TableId,
        name: &str,
        rows: u64,
        names: &[&str],
        mut columns: Vec<Column>,
    ) -> Table {
        if columns.iter().any(|it| it.tells_apart(rows)) {
            columns.iter_mut().for_each(|it| it.counts = Box::default());
        }
        let mut sorted: Vec<Name> = names.iter().map(|it| Name::of_column(it)).collect();
        sorted.sort_unstable();
        let letters: Vec<&str> = sorted.iter().map(Name::letters).collect();
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        let before = own.split_once("__").map_or("", |it| it.0);
        let database = format!("{folder}\0{before}");
        Table {
            id,
            database: xxhash_rust::xxh3::xxh3_64(database.as_bytes()),
            name: Name::of_table(name),
            rows,
            schema: xxhash_rust::xxh3::xxh3_64(letters.join("\0").as_bytes()),
            names: names.iter().map(|it| name_hash(it)).collect(),
            primary: Vec::new(),
            columns,
            references: Vec::new(),
        }
    }

    /// The place of a column by the hash of its name, the first of several.
    #[must_use]
    pub fn place(&self, name: u64) -> Option<Place> {
        let at = self.names.iter().position(|it| *it == name)?;
        u16::try_from(at).ok().map(Place)
    }

    /// The column at a place, if its values are known.
    #[must_use]
    pub fn column(&self, place: Place) -> Option<&Column> {
        let at = self.columns.binary_search_by_key(&place, |it| it.place);
        at.ok().and_then(|at| self.columns.get(at))
    }
}
