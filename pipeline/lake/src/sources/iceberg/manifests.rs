//! Manifest lists and manifests of an Iceberg table (specification, "Manifests"): which files are
//! live, and what deletes rows of them.

use std::collections::{BTreeMap, HashMap};

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType as Arrow, Int32Type, Int64Type};
use limn_profile::{Deletes, LoggedColumn};

/// The status of an entry whose file no longer belongs to the table.
const DELETED: i64 = 2;
/// What an entry's file holds.
const POSITIONS: i64 = 1;
const EQUALITY: i64 = 2;
/// The id of the column of paths in a file of position deletes.
const FILE_PATH: i32 = 2_147_483_546;

/// A manifest, as a list has it.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) path: String,
    /// Its bytes, where that is said.
    pub(super) size: Option<u64>,
    spec: i32,
    sequence: i64,
}

/// A file of the table, or one that deletes rows.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) format: String,
    /// Its partition: the specification, and the values as text.
    pub(super) spec: i32,
    pub(super) partition: Vec<Option<String>>,
    pub(super) size: u64,
    sequence: i64,
    content: i64,
    ids: Vec<i32>,
    /// The data file that it is about alone.
    about: Option<String>,
    /// Where its blob is, of a deletion vector.
    blob: Option<(u64, u64)>,
}

/// A column as whole numbers, if it is there.
struct Whole(Option<Int64Array>);

/// A column as texts, if it is there.
struct Texts(Option<StringArray>);

impl Whole {
    fn of(rows: &StructArray, name: &str) -> Whole {
        let column = rows.column_by_name(name);
        let column = column.and_then(|it| cast(it, &Arrow::Int64).ok());
        Whole(column.map(|it| it.as_primitive::<Int64Type>().clone()))
    }

    fn at(&self, row: usize) -> Option<i64> {
        let column = self.0.as_ref()?;
        column.is_valid(row).then(|| column.value(row))
    }

    fn unsigned(&self, row: usize) -> Option<u64> {
        u64::try_from(self.at(row)?).ok()
    }
}

impl Texts {
    fn of(rows: &StructArray, name: &str) -> Texts {
        Texts(rows.column_by_name(name).and_then(Texts::cast))
    }

    fn cast(column: &ArrayRef) -> Option<StringArray> {
        let column = cast(column, &Arrow::Utf8).ok()?;
        Some(column.as_string::<i32>().clone())
    }

    /// As texts; bytes as SQL writes them.
    fn values(column: &ArrayRef) -> Option<StringArray> {
        let is_bytes = matches!(
            column.data_type(),
            Arrow::Binary | Arrow::LargeBinary | Arrow::FixedSizeBinary(_)
        );
        if !is_bytes {
            return Texts::cast(column);
        }
        let bytes = cast(column, &Arrow::Binary).ok()?;
        let text = |bytes: &[u8]| {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{digits}'")
        };
        let texts = bytes.as_binary::<i32>().iter().map(|it| it.map(text));
        Some(texts.collect())
    }

    fn at(&self, row: usize) -> Option<String> {
        let column = self.0.as_ref()?;
        column.is_valid(row).then(|| column.value(row).to_owned())
    }
}

/// The manifests of a manifest list; none where it is broken.
pub(super) fn manifests(batches: &[RecordBatch]) -> Option<Vec<Manifest>> {
    let mut all = Vec::new();
    for batch in batches {
        let rows = StructArray::from(batch.clone());
        let paths = Texts::of(&rows, "manifest_path");
        let whole = |name: &str| Whole::of(&rows, name);
        let (specs, sequences) = (whole("partition_spec_id"), whole("sequence_number"));
        let sizes = whole("manifest_length");
        for row in 0..rows.len() {
            all.push(Manifest {
                path: paths.at(row)?,
                size: sizes.unsigned(row),
                spec: i32::try_from(specs.at(row)?).ok()?,
                // Version 1 has none.
                sequence: sequences.at(row).unwrap_or(0),
            });
        }
    }
    Some(all)
}

/// The columns of a manifest's entries.
struct Columns<'a> {
    path: Texts,
    format: Texts,
    about: Texts,
    sequence: Whole,
    size: Whole,
    content: Whole,
    blob: (Whole, Whole),
    partition: Vec<Option<StringArray>>,
    ids: Option<&'a ListArray>,
    lower: Option<&'a ListArray>,
    upper: Option<&'a ListArray>,
}

impl<'a> Columns<'a> {
    fn of(rows: &StructArray, files: &'a StructArray) -> Columns<'a> {
        let text = |name: &str| Texts::of(files, name);
        let whole = |name: &str| Whole::of(files, name);
        let list = |name: &str| files.column_by_name(name)?.as_list_opt::<i32>();
        let partition = files.column_by_name("partition");
        let partition = partition.and_then(|it| it.as_struct_opt());
        let partition = partition.map(|it| it.columns().iter().map(Texts::values).collect());
        Columns {
            path: text("file_path"),
            format: text("file_format"),
            about: text("referenced_data_file"),
            sequence: Whole::of(rows, "sequence_number"),
            size: whole("file_size_in_bytes"),
            content: whole("content"),
            blob: (whole("content_offset"), whole("content_size_in_bytes")),
            partition: partition.unwrap_or_default(),
            ids: list("equality_ids"),
            lower: list("lower_bounds"),
            upper: list("upper_bounds"),
        }
    }

    /// The one path that a file of position deletes has, as its bounds say.
    fn bounds(&self, row: usize) -> Option<String> {
        let bound = |lists: Option<&ListArray>| {
            let entries = lists.filter(|it| it.is_valid(row))?.value(row);
            let entries = entries.as_struct_opt()?;
            let keys = entries
                .column_by_name("key")?
                .as_primitive_opt::<Int32Type>()?;
            let at = keys.iter().position(|key| key == Some(FILE_PATH))?;
            let values = entries.column_by_name("value")?.as_binary_opt::<i32>()?;
            String::from_utf8(values.value(at).to_vec()).ok()
        };
        let (lower, upper) = (bound(self.lower)?, bound(self.upper)?);
        (lower == upper).then_some(lower)
    }

    /// The ids of the columns by which a file deletes rows; some writers have them in 64 bits. None
    /// where they are no ids.
    fn ids(&self, row: usize) -> Option<Vec<i32>> {
        let Some(lists) = self.ids.filter(|it| it.is_valid(row)) else {
            return Some(Vec::new());
        };
        let ids = cast(&lists.value(row), &Arrow::Int32).ok()?;
        ids.as_primitive::<Int32Type>().iter().collect()
    }
}

impl Manifest {
    /// One that a snapshot of version 1 names without a list.
    pub(super) fn unlisted(path: &str) -> Manifest {
        Manifest {
            path: path.to_owned(),
            size: None,
            spec: 0,
            sequence: 0,
        }
    }

    /// The entries of the manifest whose files are live; none where it is broken.
    pub(super) fn entries(&self, batches: &[RecordBatch]) -> Option<Vec<Entry>> {
        let mut all = Vec::new();
        for batch in batches {
            let rows = StructArray::from(batch.clone());
            let files = rows.column_by_name("data_file")?.as_struct_opt()?;
            let statuses = Whole::of(&rows, "status");
            let columns = Columns::of(&rows, files);
            for row in 0..rows.len() {
                if statuses.at(row)? != DELETED {
                    all.push(self.entry(&columns, row)?);
                }
            }
        }
        Some(all)
    }

    fn entry(&self, columns: &Columns<'_>, row: usize) -> Option<Entry> {
        let (offset, size) = &columns.blob;
        let value = |texts: &Option<StringArray>| {
            let texts = texts.as_ref().filter(|it| it.is_valid(row))?;
            Some(texts.value(row).to_owned())
        };
        let (content, ids) = (columns.content.at(row).unwrap_or(0), columns.ids(row)?);
        // By no column it would delete nothing.
        if content == EQUALITY && ids.is_empty() {
            return None;
        }
        Some(Entry {
            path: columns.path.at(row)?,
            format: columns.format.at(row)?.to_ascii_uppercase(),
            spec: self.spec,
            partition: columns.partition.iter().map(value).collect(),
            size: columns.size.unsigned(row)?,
            // What was added with the manifest has its number.
            sequence: columns.sequence.at(row).unwrap_or(self.sequence),
            content,
            ids,
            about: columns.about.at(row).or_else(|| columns.bounds(row)),
            blob: offset.unsigned(row).zip(size.unsigned(row)),
        })
    }
}

/// The live files of a table, and what deletes their rows.
#[derive(Default)]
pub(super) struct Files {
    pub(super) data: Vec<Entry>,
    vectors: HashMap<String, Entry>,
    /// By the partition that they are about.
    others: HashMap<(i32, Vec<Option<String>>), Vec<Entry>>,
    /// Equality deletes of no partition are about all.
    of_all: Vec<Entry>,
    /// The values of columns, by id, in files that lack them.
    defaults: BTreeMap<i32, String>,
}

impl Files {
    /// None, of a table whose columns are these.
    pub(super) fn new(columns: &[LoggedColumn]) -> Files {
        let defaults = columns
            .iter()
            .filter_map(|it| Some((it.id?, it.missing.clone()?)));
        Files {
            defaults: defaults.collect(),
            ..Files::default()
        }
    }

    /// Takes an entry; whether it is of no partition.
    pub(super) fn take(&mut self, entry: Entry, is_of_all: bool) {
        match (entry.content, &entry.blob, &entry.about) {
            (POSITIONS, Some(_), Some(about)) => drop(self.vectors.insert(about.clone(), entry)),
            (EQUALITY, ..) if is_of_all => self.of_all.push(entry),
            (POSITIONS | EQUALITY, ..) => {
                let partition = (entry.spec, entry.partition.clone());
                self.others.entry(partition).or_default().push(entry);
            }
            _ => self.data.push(entry),
        }
    }

    /// What deletes rows of a data file; `within` is the path in the lake of what does.
    pub(super) fn deletes<E>(
        &self,
        file: &Entry,
        within: impl Fn(&Entry) -> Result<String, E>,
    ) -> Result<Vec<Deletes>, E> {
        let mut deletes = Vec::new();
        let vector = self.vectors.get(&file.path);
        let vector = vector.filter(|it| it.sequence >= file.sequence);
        if let Some((vector, (offset, size))) = vector.and_then(|it| Some((it, it.blob?))) {
            deletes.push(Deletes::Vector {
                path: within(vector)?,
                offset,
                // Without its length and its checksum.
                size: size.saturating_sub(8),
            });
        }
        let partition = (file.spec, file.partition.clone());
        let others = self.others.get(&partition).into_iter().flatten();
        for other in others.chain(&self.of_all) {
            let (path, size) = (within(other)?, other.size);
            let is_about = other.about.as_ref().is_none_or(|about| *about == file.path);
            match other.content {
                EQUALITY if other.sequence > file.sequence => {
                    let ids = other.ids.clone();
                    let missing = ids.iter().filter_map(|id| self.defaults.get_key_value(id));
                    let missing = missing.map(|(id, value)| (*id, value.clone())).collect();
                    deletes.push(Deletes::Equal {
                        path,
                        size,
                        ids,
                        missing,
                    });
                }
                // A vector has all that they have.
                POSITIONS if is_about && vector.is_none() && other.sequence >= file.sequence => {
                    let of = file.path.clone();
                    deletes.push(Deletes::Positions { path, size, of });
                }
                _ => {}
            }
        }
        deletes.sort();
        Ok(deletes)
    }
}
