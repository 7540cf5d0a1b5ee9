//! Merging files' summaries into a table's: the union of their columns, their profiles, their rows.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::data_type::DataType;
use crate::declared_keys::DeclaredKeys;
use crate::in_files::InFiles;
use crate::infer;
use crate::logged::LoggedColumn;
use crate::names::spelt;
use crate::notation::Notation;
use crate::profile::ColumnProfile;
use crate::sample::{RowSample, SampledRow};
use crate::sensitive::Sensitive;
use crate::summary::{ColumnSummary, FileSummary, TableSummary};
use crate::value_hashes::{FewValues, FileHashes, file_id};

/// Notations of one column that a note names.
const NOTATIONS_NAMED: usize = 4;

/// One file as a part of a table: its summary and what its place in the table adds.
#[derive(Clone, Copy, Debug)]
pub struct FilePart<'a> {
    /// The object's path, for notes.
    pub path: &'a str,
    /// What the file holds.
    pub summary: &'a FileSummary,
    /// Partition keys and their values (`None` is null), constant over the file. A key that the
    /// file itself has as a column is left to the file.
    pub partition: &'a [(String, Option<String>)],
}

impl TableSummary {
    /// Merges the summaries of a table's files, given in path order, into a function of the set of
    /// files. Of what a file leaves open of how it is read, the likeliest is taken: decide before
    /// (decision 38). Columns are matched by name (the n-th of a repeated name with the n-th); a
    /// column that a file lacks is null in that file's rows. Counts of a file that was read in
    /// parts are scaled to its rows, so that every file weighs as much as it has rows.
    pub fn merge(files: &[FilePart<'_>]) -> TableSummary {
        let union = Union::of(files);
        let total_rows: u64 = files.iter().map(|file| file.summary.rows).sum();
        let with_columns = (0..files.len()).filter(|f| !files[*f].summary.columns.is_empty());
        let with_columns: Vec<usize> = with_columns.collect();
        let mut tables = files.iter().filter_map(|file| file.summary.logged_table());
        let logged = tables.next().map_or(&[][..], |table| &table.columns);
        let logged: HashMap<&str, &LoggedColumn> =
            logged.iter().map(|it| (it.name.as_str(), it)).collect();
        let columns = union.columns.iter();
        let columns = columns
            .map(|column| ColumnSummary {
                in_files: InFiles::of(column, files, &with_columns),
                ..merge_column(column, files, total_rows, logged.get(column.name).copied())
            })
            .collect();
        // Of a log no rows are asked for.
        let with_rows = files.iter().zip(&union.places);
        let with_rows = with_rows.filter(|(file, _)| file.summary.logged_table().is_none());
        let samples = with_rows.map(|(file, places)| {
            let RowSample { limit, rows } = &file.summary.sample;
            let placed = |row| place_row(row, file, places, union.columns.len());
            RowSample {
                limit: *limit,
                rows: rows.iter().map(placed).collect(),
            }
        });
        let notes = files.iter().flat_map(|file| {
            file.summary.notes.iter().map(move |note| {
                if files.len() == 1 {
                    note.clone()
                } else {
                    format!("{}: {note}", file.path)
                }
            })
        });
        let differing = union
            .columns
            .iter()
            .filter_map(|column| note_notations(column, files));
        TableSummary {
            columns,
            rows: total_rows,
            rows_exact: files.iter().all(|file| file.summary.rows_exact),
            sample: RowSample::merge(samples),
            files: files
                .iter()
                .filter(|it| it.summary.logged_table().is_none())
                .count() as u64,
            approximate: files.iter().any(|file| file.summary.approximate),
            notes: notes.chain(differing).collect(),
            keys: match files.iter().find(|it| it.summary.logged_table().is_some()) {
                // A log's key is that of all rows.
                Some(log) => log.summary.keys.clone(),
                None => DeclaredKeys::merge(files.iter().map(|file| &file.summary.keys)),
            },
            description: files
                .iter()
                .find_map(|file| file.summary.description.clone()),
        }
    }
}

impl TableSummary {
    /// The same without hashes of values, for whom they are published already.
    #[must_use]
    pub fn without_hashes(mut self) -> TableSummary {
        self.columns
            .iter_mut()
            .for_each(|it| it.hashes = Vec::new());
        self
    }
}

/// Where a merged column's values in one file come from.
#[derive(Clone, Copy)]
pub enum Source {
    /// A column of the file.
    Column(usize),
    /// A partition key.
    Key(usize),
}

/// A column of a table.
pub struct UnionColumn<'a> {
    /// Its name: as the table's log spells it, or the first file by path that has it.
    pub name: &'a str,
    /// (file, source), by file.
    pub sources: Vec<(usize, Source)>,
}

/// The columns of all files, and for each file the place of each of its sources among them.
#[derive(Default)]
pub struct Union<'a> {
    /// The columns in the order in which the table's log has them, else files, by path; keys come
    /// last.
    pub columns: Vec<UnionColumn<'a>>,
    // A column is a name, however it is spelt, and which of that name it is within its file.
    index: HashMap<(Cow<'a, str>, usize), usize>,
    spellings: Spellings,
    places: Vec<Vec<(Source, usize)>>,
}

impl<'a> Union<'a> {
    /// The columns of these files, which are given in path order.
    pub fn of(files: &[FilePart<'a>]) -> Self {
        let mut union = Union {
            places: vec![Vec::new(); files.len()],
            spellings: Spellings::of(files),
            ..Union::default()
        };
        let by_width = names_by_width(files);
        let tables = files.iter().filter_map(|file| file.summary.logged_table());
        for column in tables.flat_map(|table| &table.columns) {
            union.column(&column.name, 0);
        }
        for (f, file) in files.iter().enumerate() {
            let mut seen: HashMap<Cow<'a, str>, usize> = HashMap::new();
            let width = file.summary.columns.len();
            let others = by_width.get(&width).filter(|_| file.summary.is_nameless());
            for (c, own) in file.summary.column_names().enumerate() {
                let name = others.map_or(own, |others| others[c]);
                if file.summary.columns[c].left_out {
                    continue;
                }
                let nth = seen.entry(union.spellings.key(name)).or_insert(0);
                union.add(f, name, *nth, Source::Column(c));
                *nth += 1;
            }
        }
        // Keys come after all columns, as engines have it.
        for (f, file) in files.iter().enumerate() {
            for (k, (key, _)) in file.partition.iter().enumerate() {
                let of_name = union.index.get(&(union.spellings.key(key), 0));
                let is_column = of_name.is_some_and(|place| {
                    let mut places = union.places[f].iter();
                    places.any(|(_, other)| other == place)
                });
                if !is_column {
                    union.add(f, key, 0, Source::Key(k));
                }
            }
        }
        union
    }

    /// The place of a column.
    fn column(&mut self, name: &'a str, nth: usize) -> usize {
        let next = self.columns.len();
        let key = (self.spellings.key(name), nth);
        let place = *self.index.entry(key).or_insert(next);
        if place == next {
            self.columns.push(UnionColumn {
                name,
                sources: Vec::new(),
            });
        }
        place
    }

    fn add(&mut self, file: usize, name: &'a str, nth: usize, source: Source) {
        let place = self.column(name, nth);
        let sources = &mut self.columns[place].sources;
        // A path may repeat a key (k=1/k=2): the first one holds.
        if sources.last().is_none_or(|(last, _)| *last != file) {
            sources.push((file, source));
            self.places[file].push((source, place));
        }
    }
}

/// Which names are one column though they are spelt otherwise ([`spelt`]): of several files, those
/// that no file has in two spellings.
#[derive(Default)]
struct Spellings {
    are_many: bool,
    /// What is spelt in two ways within one file, without case and so on.
    distinct: HashSet<String>,
}

impl Spellings {
    fn of(files: &[FilePart<'_>]) -> Spellings {
        // Most tables have one header in all files.
        let mut headers: HashSet<Vec<&str>> = HashSet::new();
        for file in files {
            let keys = file.partition.iter().map(|(key, _)| key.as_str());
            headers.insert(file.summary.column_names().chain(keys).collect());
            if let Some(table) = file.summary.logged_table() {
                headers.insert(table.columns.iter().map(|it| it.name.as_str()).collect());
            }
        }
        let mut spellings = Spellings {
            are_many: headers.len() > 1,
            ..Spellings::default()
        };
        if spellings.are_many {
            for header in headers {
                let mut known: HashMap<String, &str> = HashMap::with_capacity(header.len());
                for name in header {
                    let spelt = spelt(name);
                    if known.get(&spelt).is_some_and(|other| *other != name) {
                        spellings.distinct.insert(spelt);
                    } else {
                        known.insert(spelt, name);
                    }
                }
            }
        }
        spellings
    }

    /// What names of one column have in common.
    fn key<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if !self.are_many {
            return Cow::Borrowed(name);
        }
        let spelt = spelt(name);
        match self.distinct.contains(&spelt) {
            true => Cow::Borrowed(name),
            false => Cow::Owned(spelt),
        }
    }
}

/// What files without names for their columns call them: as the most files as wide do, the first of
/// several such.
fn names_by_width<'a>(files: &[FilePart<'a>]) -> HashMap<usize, Vec<&'a str>> {
    let mut common: HashMap<usize, Vec<&'a str>> = HashMap::new();
    if !files.iter().any(|file| file.summary.is_nameless()) {
        return common;
    }
    // Files by their names, with how many there are and the first of them.
    let mut lists: HashMap<Vec<&'a str>, (usize, Reverse<usize>)> = HashMap::new();
    for (f, file) in files.iter().enumerate() {
        if !file.summary.is_nameless() {
            let names = file.summary.column_names().collect();
            lists.entry(names).or_insert((0, Reverse(f))).0 += 1;
        }
    }
    let mut lists: Vec<_> = lists.into_iter().collect();
    lists.sort_unstable_by_key(|(_, rank)| Reverse(*rank));
    for (names, _) in lists {
        common.entry(names.len()).or_insert(names);
    }
    common
}

fn merge_column(
    column: &UnionColumn<'_>,
    files: &[FilePart<'_>],
    total_rows: u64,
    logged: Option<&LoggedColumn>,
) -> ColumnSummary {
    let mut parts: Vec<(DataType, Cow<'_, ColumnProfile>)> =
        Vec::with_capacity(column.sources.len() + 1);
    let mut present_rows = 0;
    let mut marked: Option<Sensitive> = None;
    let mut described: Option<String> = None;
    for (f, source) in &column.sources {
        let file = &files[*f];
        present_rows += file.summary.rows;
        parts.push(match *source {
            Source::Column(c) => {
                let column = &file.summary.columns[c];
                described = described.or_else(|| column.description.clone());
                marked = marked.into_iter().chain(column.marked).min();
                (
                    column.data_type.clone(),
                    column.profile.scaled_to(file.summary.rows),
                )
            }
            Source::Key(k) => match &file.partition[k].1 {
                Some(value) => (
                    infer::classify(value),
                    Cow::Owned(ColumnProfile::constant(value, file.summary.rows)),
                ),
                None => (
                    DataType::Unknown,
                    Cow::Owned(ColumnProfile::absent(file.summary.rows)),
                ),
            },
        });
    }
    if total_rows > present_rows {
        parts.push((
            DataType::Unknown,
            Cow::Owned(ColumnProfile::absent(total_rows - present_rows)),
        ));
    }
    let parts: Vec<(&DataType, &ColumnProfile)> = parts
        .iter()
        .map(|(data_type, profile)| (data_type, profile.as_ref()))
        .collect();
    let (mut data_type, profile) = ColumnProfile::merge(&parts);
    let hashes = hashes(column, files, &profile);
    if let Some(logged) = logged {
        data_type = logged.data_type.clone();
        described = logged.description.clone().or(described);
    }
    ColumnSummary {
        name: column.name.to_owned(),
        data_type,
        profile,
        digest: 0,
        marked,
        notation: notation(column, files),
        otherwise: Box::default(),
        in_files: None,
        field_id: None,
        left_out: false,
        arrow_type: None,
        description: described,
        hashes,
    }
}

/// The hashes of a column's values: the lists of files that have many, and one of what all files
/// with few have together. The texts of a table of one file write its few values out; of several
/// files, one may have come after the texts were written.
fn hashes(
    column: &UnionColumn<'_>,
    files: &[FilePart<'_>],
    profile: &ColumnProfile,
) -> Vec<FileHashes> {
    let mut few = FewValues::default();
    let mut lists = Vec::new();
    for (f, source) in &column.sources {
        let file = &files[*f];
        match *source {
            Source::Key(k) => few.add_key(file.partition[k].1.as_deref()),
            Source::Column(c) => {
                let own = &file.summary.columns[c];
                if own.profile.frequent.is_complete() {
                    few.add_column(&own.data_type, &own.profile.frequent);
                } else if let (Some(list), Ok(column)) = (own.hashes.first(), u32::try_from(c)) {
                    lists.push(FileHashes {
                        file: file_id(file.path),
                        column,
                        hashes: list.hashes.clone(),
                    });
                }
            }
        }
    }
    let frequent = &profile.frequent;
    let is_written_out = files.len() == 1 && frequent.is_complete() || frequent.is_withheld();
    let few = few.list().filter(|_| !is_written_out);
    few.map(FileHashes::of_own)
        .into_iter()
        .chain(lists)
        .collect()
}

impl InFiles {
    /// `None` for a column of all files, and for a partition key.
    fn of(
        column: &UnionColumn<'_>,
        files: &[FilePart<'_>],
        with_columns: &[usize],
    ) -> Option<InFiles> {
        let sources = &column.sources;
        let is_key = sources.iter().any(|(_, it)| matches!(it, Source::Key(_)));
        if is_key || sources.is_empty() || sources.len() >= with_columns.len() {
            return None;
        }
        let (first, last) = (sources.first()?.0, sources.last()?.0);
        let ends = [files.first()?.path, files.last()?.path];
        let path = |f: usize| files[f].path[common_folder(ends)..].to_owned();
        Some(InFiles {
            files: sources.len(),
            of: with_columns.len(),
            since: (with_columns.first() != Some(&first)).then(|| path(first)),
            until: (with_columns.last() != Some(&last)).then(|| path(last)),
        })
    }
}

/// How much of sorted paths, of which these are the first and the last, is the folder that all lie
/// in, with its slash.
fn common_folder([first, last]: [&str; 2]) -> usize {
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b);
    let same = same.count();
    first.as_bytes()[..same]
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1)
}

/// The files' columns with values among a column's sources.
fn with_values<'a>(
    column: &UnionColumn<'_>,
    files: &[FilePart<'a>],
) -> impl Iterator<Item = &'a ColumnSummary> {
    let of_file = |(f, source): &(usize, Source)| match source {
        Source::Column(c) => files.get(*f)?.summary.columns.get(*c),
        Source::Key(_) => None,
    };
    column
        .sources
        .iter()
        .filter_map(of_file)
        .filter(|column| column.profile.values > 0)
}

/// The one notation of all files, if there is one.
fn notation(column: &UnionColumn<'_>, files: &[FilePart<'_>]) -> Option<Notation> {
    let mut all = with_values(column, files).map(|column| &column.notation);
    let first = all.next()?;
    all.all(|other| other == first)
        .then(|| first.clone())
        .flatten()
}

/// A note on a column that is written differently in the table's files.
fn note_notations(column: &UnionColumn<'_>, files: &[FilePart<'_>]) -> Option<String> {
    let notations: BTreeSet<String> = with_values(column, files)
        .map(|column| match &column.notation {
            Some(notation) => notation.to_string(),
            None => "plain".to_owned(),
        })
        .collect();
    let ways: Vec<String> = notations.into_iter().take(NOTATIONS_NAMED).collect();
    (ways.len() > 1).then(|| {
        format!(
            "{} is written differently in the table's files: {}",
            column.name,
            ways.join("; ")
        )
    })
}

fn place_row(
    row: &SampledRow,
    file: &FilePart<'_>,
    places: &[(Source, usize)],
    width: usize,
) -> SampledRow {
    let mut values = vec![None; width];
    for (source, place) in places {
        values[*place] = match *source {
            Source::Column(c) => row.values.get(c).cloned().flatten(),
            Source::Key(k) => file.partition[k].1.clone(),
        };
    }
    SampledRow {
        priority: row.priority,
        row: row.row,
        values,
    }
}
