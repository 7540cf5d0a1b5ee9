//! What lists, filters and suggestions need to know of every table, for very many tables: packed
//! into a file.
//!
//! [`HeldRows`](crate::HeldRows) keeps what it is asked to keep as objects in memory, a table with
//! its columns. Here the rows that hold lie in the order of their keys in a temporary file
//! (`spill.rs`), of which the system keeps in memory what is looked at, and a table is read where
//! it lies. Going on to another snapshot writes the file anew, with what changed: as fast as a disk
//! writes, some hundred bytes a table.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use tantivy::directory::OwnedBytes;

use crate::brief::brief;
use crate::catalog::TableRecord;
use crate::codec::{Cursor, put_number, put_text};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::held::{HeldRow, HeldValue, Kept, Log, Rows, follow};
use crate::index_store::IndexStore;
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::spill::Spill;
use crate::table::{KeyRef, TableKey};

/// Changed rows that are held in memory before they are written; few in tests, so that it happens.
const CHANGED: usize = if cfg!(test) { 3 } else { 64 << 10 };

/// Texts about a table of which the first sentence is kept.
const TEXTS: usize = 4;

/// What is known of a table without looking at its row.
#[derive(Clone, Copy, Debug)]
pub struct TableFacts<'a> {
    /// Which table.
    pub key: KeyRef<'a>,
    /// The URL of its file or folder.
    pub location: &'a str,
    /// The format of its files.
    pub format: &'a str,
    /// Rows, if they are known.
    pub rows: Option<u64>,
    /// Whether they were counted.
    pub rows_exact: bool,
    /// When its newest file was written, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// What is wrong with it, if its newest version could not be read.
    pub error: Option<&'a str>,
    /// The number of its columns.
    pub column_count: usize,
    text_count: usize,
    /// The texts about it, then its columns.
    rest: &'a [u8],
}

/// A text about a table, in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFacts<'a> {
    /// Where it is from: a path, or `registered`.
    pub source: &'a str,
    /// Its first sentence.
    pub brief: &'a str,
}

/// What is known of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub data_type: &'a str,
    /// A language model's description of it.
    pub narration: Option<&'a str>,
}

impl<'a> TableFacts<'a> {
    /// A table of which nothing is known.
    #[must_use]
    pub fn unknown(key: KeyRef<'a>) -> TableFacts<'a> {
        TableFacts {
            key,
            location: "",
            format: "",
            rows: None,
            rows_exact: false,
            modified_ms: None,
            error: None,
            column_count: 0,
            text_count: 0,
            rest: &[],
        }
    }

    /// The texts about it, the first few, in their order.
    pub fn texts(&self) -> impl Iterator<Item = TextFacts<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.rest);
        (0..self.text_count).map_while(move |_| text(&mut cursor).ok())
    }

    /// Its columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = ColumnFacts<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.rest);
        for _ in 0..self.text_count {
            let _ = text(&mut cursor);
        }
        (0..self.column_count).map_while(move |_| {
            Some(ColumnFacts {
                name: cursor.text().ok()?,
                data_type: cursor.text().ok()?,
                narration: maybe_text(&mut cursor).ok()?,
            })
        })
    }

    fn read(key: KeyRef<'a>, bytes: &'a [u8]) -> Result<TableFacts<'a>, FormatError> {
        let mut cursor = Cursor::new(bytes);
        let (location, format) = (cursor.text()?, cursor.text()?);
        let rows = match cursor.number()? {
            0 => None,
            _ => Some(cursor.number()?),
        };
        let rows_exact = cursor.number()? > 0;
        let modified_ms = match cursor.number()? {
            0 => None,
            _ => Some(cursor.number()? as i64),
        };
        let error = maybe_text(&mut cursor)?;
        let text_count = cursor.number()? as usize;
        let column_count = cursor.number()? as usize;
        Ok(TableFacts {
            key,
            location,
            format,
            rows,
            rows_exact,
            modified_ms,
            error,
            column_count,
            text_count,
            rest: &bytes[bytes.len() - cursor.left()..],
        })
    }
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<TextFacts<'a>, FormatError> {
    Ok(TextFacts {
        source: cursor.text()?,
        brief: cursor.text()?,
    })
}

fn maybe_text<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, FormatError> {
    match cursor.number()? {
        0 => Ok(None),
        _ => cursor.text().map(Some),
    }
}

fn put_maybe_text(out: &mut Vec<u8>, text: Option<&str>) {
    put_number(out, u64::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// The facts of a row, as they are packed.
struct Packed(Vec<u8>);

impl HeldValue for Packed {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[
        "location",
        "format",
        "rows",
        "rows_exact",
        "columns.list.element.name",
        "columns.list.element.data_type",
        "columns.list.element.narration",
        "files.list.element.modified_ms",
        "files.list.element.since_sample",
        "files.list.element.no_table",
        "error",
        "contexts.list.element.source",
        "contexts.list.element.text",
    ]);

    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Packed {
        let mut out = Vec::new();
        put_text(&mut out, &row.location);
        put_text(&mut out, &row.format);
        put_number(&mut out, u64::from(row.rows.is_some()));
        row.rows.into_iter().for_each(|n| put_number(&mut out, n));
        put_number(&mut out, u64::from(row.rows_exact));
        let modified = row.files_now().map(|file| file.modified_ms).max();
        put_number(&mut out, u64::from(modified.is_some()));
        // As the bits are: a time before 1970 takes ten bytes.
        let bits = modified.map(|ms| ms as u64);
        bits.into_iter().for_each(|ms| put_number(&mut out, ms));
        put_maybe_text(&mut out, row.error.as_deref());
        let texts = row.contexts.iter();
        let texts = texts.filter_map(|it| Some((&it.source, brief(&it.text)?)));
        let texts: Vec<(&String, String)> = texts.take(TEXTS).collect();
        put_number(&mut out, texts.len() as u64);
        put_number(&mut out, row.columns.len() as u64);
        for (source, brief) in &texts {
            put_text(&mut out, source);
            put_text(&mut out, brief);
        }
        for column in &row.columns {
            put_text(&mut out, &column.name);
            put_text(&mut out, &column.data_type);
            put_maybe_text(&mut out, column.narration.as_deref());
        }
        Packed(out)
    }
}

/// The rows that hold in a snapshot, with tombstones among them; in the order of
/// their keys. Cheap to clone, and never changed: another snapshot's are others.
#[derive(Clone, Default)]
pub struct PackedTables {
    lakes: Arc<Vec<String>>,
    /// The rows, one after the other.
    bytes: Option<OwnedBytes>,
    /// Where each begins in them (u64), and where one more would.
    starts: Option<OwnedBytes>,
    count: usize,
    log: Arc<Log>,
}

impl std::fmt::Debug for PackedTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackedTables")
            .field("rows", &self.count)
            .finish_non_exhaustive()
    }
}

/// A row as it lies in the file.
struct Row<'a> {
    file: u32,
    removed: bool,
    group: u128,
    key: KeyRef<'a>,
    facts: &'a [u8],
}

impl PackedTables {
    /// The rows of another snapshot, usually the next one: reads the files of the catalog that it
    /// names and this one's does not.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`]; [`SegmentError::Io`] if no temporary file can be written
    /// (see `TMPDIR`).
    pub async fn advanced(
        &self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<PackedTables, SegmentError> {
        let log = self.log.of(snapshot);
        let mut next = self.clone();
        follow::<Packed, _>(index, &self.log, &log, (&Kept::default(), &()), &mut next).await?;
        let mut now = Log::clone(&self.log);
        now.go_on(log);
        next.log = Arc::new(now);
        Ok(next)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn start(&self, number: usize) -> Option<usize> {
        let bytes = self.starts.as_ref()?.get(number * 8..number * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?) as usize)
    }

    fn bytes_of(&self, number: usize) -> Option<&[u8]> {
        let (start, end) = (self.start(number)?, self.start(number + 1)?);
        self.bytes.as_ref()?.get(start..end)
    }

    fn row(&self, number: usize) -> Option<Row<'_>> {
        let mut cursor = Cursor::new(self.bytes_of(number)?);
        // As `put_row` wrote it.
        let file = cursor.number_u32().ok()?;
        let removed = cursor.number().ok()? > 0;
        let group = u128::from_le_bytes(cursor.bytes(16).ok()?.try_into().ok()?);
        let lake = self.lakes.get(cursor.number().ok()? as usize)?;
        let name = cursor.text().ok()?;
        let left = cursor.left();
        Some(Row {
            file,
            removed,
            group,
            key: KeyRef { lake, name },
            facts: cursor.bytes(left).ok()?,
        })
    }

    /// The table of a row, of whatever number below [`PackedTables::len`]; `None` if the row says
    /// that it was removed.
    #[must_use]
    pub fn table(&self, number: usize) -> Option<TableFacts<'_>> {
        let row = self.row(number).filter(|row| !row.removed)?;
        TableFacts::read(row.key, row.facts).ok()
    }

    /// The number of a table's row, if there is one.
    #[must_use]
    pub fn find(&self, table: KeyRef<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle)?.key < table {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.row(low)?.key == table).then_some(low)
    }

    /// The file of the catalog that holds a row, for [`IndexStore::row`].
    #[must_use]
    pub fn file_of(&self, number: usize) -> Option<&CatalogEntry> {
        self.log.entry(self.row(number)?.file)
    }
}

/// Appends a row.
fn put_row(
    out: &mut Vec<u8>,
    (file, removed, group): (u32, bool, u128),
    (lake, name): (u64, &str),
    facts: &[u8],
) {
    put_number(out, u64::from(file));
    put_number(out, u64::from(removed));
    out.extend_from_slice(&group.to_le_bytes());
    put_number(out, lake);
    put_text(out, name);
    out.extend_from_slice(facts);
}

/// Rows on their way into a file.
struct Writing {
    rows: Spill,
    starts: Spill,
    length: u64,
    count: usize,
}

impl Writing {
    fn add(&mut self, row: &[u8]) -> io::Result<()> {
        self.starts.add(&self.length.to_le_bytes())?;
        self.rows.add(row)?;
        self.length += row.len() as u64;
        self.count += 1;
        Ok(())
    }
}

impl PackedTables {
    /// These with what changed.
    fn merged(
        &self,
        changed: BTreeMap<TableKey, Option<HeldRow<Packed>>>,
    ) -> io::Result<PackedTables> {
        let mut lakes = Vec::clone(&self.lakes);
        let mut numbers: HashMap<String, u64> = lakes.iter().cloned().zip(0..).collect();
        let mut writing = Writing {
            rows: Spill::new()?,
            starts: Spill::new()?,
            length: 0,
            count: 0,
        };
        let mut next = 0;
        let mut packed = Vec::new();
        for (key, row) in changed {
            while let Some(old) = self.row(next).filter(|old| old.key <= key.borrowed()) {
                if old.key < key.borrowed() {
                    writing.add(self.bytes_of(next).unwrap_or_default())?;
                }
                next += 1;
            }
            let Some(row) = row else {
                continue;
            };
            let lake = *numbers.entry(key.lake.clone()).or_insert_with(|| {
                lakes.push(key.lake.clone());
                lakes.len() as u64 - 1
            });
            packed.clear();
            let stand = (row.file, row.removed, row.group);
            put_row(&mut packed, stand, (lake, &key.name), &row.value.0);
            writing.add(&packed)?;
        }
        for old in next..self.count {
            writing.add(self.bytes_of(old).unwrap_or_default())?;
        }
        let Writing {
            rows,
            mut starts,
            length,
            count,
        } = writing;
        starts.add(&length.to_le_bytes())?;
        Ok(PackedTables {
            lakes: Arc::new(lakes),
            bytes: Some(rows.finish()?),
            starts: Some(starts.finish()?),
            count,
            log: Arc::clone(&self.log),
        })
    }
}

impl Rows<Packed> for PackedTables {
    fn held(&self, table: &TableKey) -> Option<HeldRow<Packed>> {
        let row = self.row(self.find(table.borrowed())?)?;
        Some(HeldRow {
            value: Arc::new(Packed(row.facts.to_vec())),
            file: row.file,
            removed: row.removed,
            group: row.group,
        })
    }

    fn of_files(&self, is_such: &(dyn Fn(u32) -> bool + Sync)) -> Vec<TableKey> {
        let rows = (0..self.count).filter_map(|number| self.row(number));
        let such = rows.filter(|row| is_such(row.file));
        such.map(|row| row.key.to_key()).collect()
    }

    fn is_much(&self, changed: usize) -> bool {
        changed >= CHANGED
    }

    fn take_in(
        &mut self,
        changed: BTreeMap<TableKey, Option<HeldRow<Packed>>>,
    ) -> Result<(), SegmentError> {
        if changed.is_empty() {
            return Ok(());
        }
        let merged = self.merged(changed);
        *self = merged.map_err(|e| SegmentError::io("the rows of the catalog (see TMPDIR)", e))?;
        Ok(())
    }
}
