//! Candidates without comparing all with all: columns meet where they share a hash.
//!
//! A key is *sought* under all the value hashes that are known of it (at most 128), and every
//! column *seeks* under its [`PROBES`] lowest: of a column that is contained, those are in the
//! key's sample first. Whoever has a name that may refer to a key meets it under its name, too;
//! whole tables meet under their schema. A key of very many values has none of a small column's
//! among its 128: both meet under the hashes of [`Column::lookups`](crate::Column::lookups) that a
//! list of the key's values holds, which somebody looked up ([`look_up_band`]).

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::id::{ColumnId, TableId};
use crate::table::{Column, Role, Table};

/// Value hashes under which a column seeks keys.
const PROBES: usize = 16;
/// Value hashes under which two columns of one name that repeat meet.
const ALIKE: usize = 8;
/// Values that two such columns have at least.
pub(crate) const MANY: f64 = 20.0;
/// Columns with the most values by which copies meet, beside their schema.
const WITNESSES: usize = 4;
/// Up to so many columns that share a hash are all compared with each other.
pub const FEW: usize = 64;
/// Of more, each is compared with so many neighbours on each side, by folder and name.
const NEIGHBOURS: usize = 16;
/// Candidates of one column under one band, at most.
pub const MOST_PARTNERS: usize = FEW;

/// A hash under which columns meet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Band(pub u64);

/// Who is found under a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// The column.
    pub column: ColumnId,
    /// What it is there for.
    pub part: Part,
}

/// What a column is under a band for: pairs are of one that seeks and one that is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// To find others.
    Seeks,
    /// To be found.
    IsSought,
    /// For both.
    Both,
    /// For both, among few: what many columns of one name share is an enumeration.
    BothOfFew,
    /// It has a value that it looks up.
    Looks,
    /// Its list has the value that others look up.
    Holds,
}

/// Two columns of different tables that are to be compared, the lower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pair(pub ColumnId, pub ColumnId);

impl Pair {
    /// Two columns, whichever is lower.
    #[must_use]
    pub fn new(one: ColumnId, other: ColumnId) -> Pair {
        Pair(one.min(other), one.max(other))
    }

    /// Their tables.
    #[must_use]
    pub fn tables(self) -> (TableId, TableId) {
        (self.0.table(), self.1.table())
    }
}

/// How two columns came to be a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Way {
    /// They share a band.
    Band,
    /// A value of the lower one is in the list of the other.
    LowerInHigher,
    /// A value of the higher one is in the list of the other.
    HigherInLower,
}

/// Two columns that meet under one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Meeting {
    /// The columns.
    pub pair: Pair,
    /// How.
    pub way: Way,
}

impl Meeting {
    fn of(seeks: &Member, sought: ColumnId) -> Meeting {
        Meeting {
            pair: Pair::new(seeks.column, sought),
            way: match seeks.part {
                Part::Looks if seeks.column < sought => Way::LowerInHigher,
                Part::Looks => Way::HigherInLower,
                _ => Way::Band,
            },
        }
    }
}

/// What a band is of: the same hash of two kinds is two bands.
#[derive(Clone, Copy)]
enum Of {
    Value,
    Name,
    Alike,
    Schema,
    Copy,
    LookUp,
}

fn band(of: Of, hash: u64, with: u64) -> Band {
    let mut bytes = [0; 17];
    bytes[0] = of as u8;
    bytes[1..9].copy_from_slice(&hash.to_le_bytes());
    bytes[9..].copy_from_slice(&with.to_le_bytes());
    Band(xxh3_64(&bytes))
}

/// The band under which those who look a value up meet those whose lists have it: one of the hashes
/// of [`Column::lookups`](crate::Column::lookups).
#[must_use]
pub fn look_up_band(hash: u64) -> Band {
    band(Of::LookUp, hash, 0)
}

/// The bands of a table, each with the column that is found there; of the table itself with the
/// place [`ColumnId::WHOLE`].
#[must_use]
pub fn bands(table: &Table) -> Vec<(Band, Member)> {
    let mut found = Vec::new();
    for column in &table.columns {
        column_bands(table, column, &mut found);
    }
    table_bands(table, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// The pairs of tables that are compared because the table declares it.
pub fn declared(table: &Table) -> impl Iterator<Item = Pair> + '_ {
    let whole = |table: TableId| table.column(ColumnId::WHOLE);
    let references = table.references.iter();
    references.map(move |it| Pair::new(whole(table.id), whole(it.table)))
}

fn column_bands(table: &Table, column: &Column, found: &mut Vec<(Band, Member)>) {
    let id = table.id.column(column.place);
    let mut meet = |band, part| found.push((band, Member { column: id, part }));
    let hashes = column.values.hashes();
    let probes = hashes.iter().take(PROBES);
    match column.role {
        Role::Neither => return,
        Role::Key => {
            if !column.is_sequence {
                probes.for_each(|it| meet(band(Of::Value, *it, 0), Part::Both));
                let others = hashes.iter().skip(PROBES);
                others.for_each(|it| meet(band(Of::Value, *it, 0), Part::IsSought));
            }
            for hash in column.name.key_hashes(&table.name) {
                meet(band(Of::Name, hash, 0), Part::IsSought);
            }
        }
        Role::Repeats => {
            if !column.is_sequence {
                probes.for_each(|it| meet(band(Of::Value, *it, 0), Part::Seeks));
            }
            let says_what = !column.name.is_generic() && !column.is_sequence;
            if says_what && column.values.distinct() >= MANY {
                let name = xxh3_64(column.name.letters().as_bytes());
                let alike = hashes.iter().take(ALIKE);
                alike.for_each(|it| meet(band(Of::Alike, *it, name), Part::BothOfFew));
            }
        }
    }
    for hash in column.name.reference_hashes() {
        meet(band(Of::Name, hash, 0), Part::Seeks);
    }
}

fn table_bands(table: &Table, found: &mut Vec<(Band, Member)>) {
    if table.columns.is_empty() {
        return;
    }
    let whole = Member {
        column: table.id.column(ColumnId::WHOLE),
        part: Part::Both,
    };
    found.push((band(Of::Schema, table.schema, 0), whole));
    let mut columns: Vec<&Column> = table.columns.iter().collect();
    columns.sort_by(|a, b| {
        let distinct = b.values.distinct().total_cmp(&a.values.distinct());
        distinct.then_with(|| a.name.cmp(&b.name))
    });
    for column in columns.into_iter().take(WITNESSES) {
        if let Some(least) = column.values.hashes().first() {
            found.push((band(Of::Copy, table.schema, *least), whole));
        }
    }
}

/// How those who share a band are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// All with all.
    All,
    /// Each with its neighbours.
    Neighbours,
    /// Not at all.
    Nobody,
}

impl Rule {
    fn of(members: &[Member]) -> Rule {
        let is_of_few = |it: &Member| it.part == Part::BothOfFew;
        match members.len() > FEW {
            false => Rule::All,
            true if members.iter().any(is_of_few) => Rule::Nobody,
            true => Rule::Neighbours,
        }
    }
}

/// The columns of members that are sought.
fn sought(members: &[Member]) -> Vec<ColumnId> {
    let seeks_only = |it: &&Member| matches!(it.part, Part::Seeks | Part::Looks);
    let sought = members.iter().filter(|it| !seeks_only(it));
    sought.map(|it| it.column).collect()
}

/// Whoever of `tables` (from one to another, in ascending order) seeks among the members.
fn seek(members: &[Member], tables: &[(TableId, TableId)], mut meet: impl FnMut(Meeting)) {
    let neighbours = match Rule::of(members) {
        Rule::All => FEW,
        Rule::Neighbours => NEIGHBOURS,
        Rule::Nobody => return,
    };
    let sought = sought(members);
    for (from, to) in tables {
        let start = members.partition_point(|it| it.column.table() < *from);
        let end = members.partition_point(|it| it.column.table() <= *to);
        let seeking = members[start..end].iter();
        let is_sought_only = |it: &&Member| matches!(it.part, Part::IsSought | Part::Holds);
        for member in seeking.filter(|it| !is_sought_only(it)) {
            let table = member.column.table();
            // Columns of one table stand together.
            let start = sought.partition_point(|it| it.table() < table);
            let end = sought.partition_point(|it| it.table() <= table);
            let before = sought[..start].iter().rev().take(neighbours);
            let after = sought[end..].iter().take(neighbours);
            before
                .chain(after)
                .for_each(|it| meet(Meeting::of(member, *it)));
        }
    }
}

/// The pairs that are compared of those who share a band, given in ascending order: a function of
/// this set alone. Two who seek each other come twice. Up to [`FEW`] are all compared; of more each
/// that seeks with the 16 next of other tables on either side that are sought, in the order of
/// folders and names, so that there are at most 32 pairs a member.
pub fn candidates(members: &[Member], meet: impl FnMut(Meeting)) {
    seek(members, &[TableId::ENDS], meet);
}

/// How often each pair meets more, or less, where those who share a band were `before` and are
/// `after`, both in ascending order, and these columns `changed`. Of many only those near the
/// change are looked at.
pub fn changed_candidates(
    before: &[Member],
    after: &[Member],
    changed: &[ColumnId],
    mut meet: impl FnMut(Meeting, isize),
) {
    if before.is_empty() {
        return candidates(after, |it| meet(it, 1));
    }
    let tables = match (Rule::of(before), Rule::of(after)) {
        (Rule::Neighbours, Rule::Neighbours) => near([before, after], changed),
        _ => vec![TableId::ENDS],
    };
    let mut found: Vec<(Meeting, isize)> = Vec::new();
    seek(before, &tables, |it| found.push((it, -1)));
    seek(after, &tables, |it| found.push((it, 1)));
    found.sort_unstable();
    for of_pair in found.chunk_by(|a, b| a.0 == b.0) {
        let times = of_pair.iter().map(|it| it.1).sum();
        if let Some((first, _)) = of_pair.first().filter(|_| times != 0) {
            meet(*first, times);
        }
    }
}

/// The tables among whose neighbours a column may be, from one to another: more soughts than are
/// neighbours stand between it and all others.
fn near(members: [&[Member]; 2], changed: &[ColumnId]) -> Vec<(TableId, TableId)> {
    let (least, most) = TableId::ENDS;
    let mut tables: Vec<(TableId, TableId)> = Vec::new();
    for members in members {
        let sought = sought(members);
        tables.extend(changed.iter().map(|column| {
            let at = sought.partition_point(|it| it < column);
            let first = at.checked_sub(NEIGHBOURS + 1).and_then(|at| sought.get(at));
            let last = sought.get(at + NEIGHBOURS + 1);
            (
                first.map_or(least, |it| it.table()),
                last.map_or(most, |it| it.table()),
            )
        }));
    }
    tables.sort_unstable();
    tables.dedup_by(|next, known| {
        let meet = next.0 <= known.1;
        known.1 = if meet { known.1.max(next.1) } else { known.1 };
        meet
    });
    tables
}
