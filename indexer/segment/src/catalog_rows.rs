//! Catalog rows out of Arrow's columns.
//!
//! Columns are found by their names. One that is not there, and a null where the record has no room
//! for one, is the record's default; one of another type than the format's is damage. Nothing is
//! copied but what the records keep: an index of a million tables is opened at the speed at which
//! this goes.

mod columns;

use arrow::array::{BinaryArray, RecordBatch, StructArray};
use arrow::datatypes::{Float64Type, Int64Type, UInt32Type, UInt64Type};

use crate::catalog::{
    ColumnRecord, ContextRecord, FileRecord, KeyRecords, PatternShare, ReferenceRecord,
    SinceSample, TableRecord, ValueCount,
};
use crate::format_error::FormatError;
use crate::sketches::{Sketches, of_columns, of_file};
use columns::{Flags, Lists, Numbers, StructColumns, TextLists, Texts};

/// The records of a batch.
pub(crate) fn records(batch: &RecordBatch) -> Result<Vec<TableRecord>, FormatError> {
    let all = StructArray::from(batch.clone());
    let of = StructColumns(&all);
    let (lakes, names, locations, formats) = (
        of.texts("lake")?,
        of.texts("name")?,
        of.texts("location")?,
        of.texts("format")?,
    );
    let (removed, rows, rows_exact) = (
        of.flags("removed")?,
        of.numbers::<UInt64Type>("rows")?,
        of.flags("rows_exact")?,
    );
    let (columns, files, contexts) = (
        of.structs("columns", Columns::of)?,
        of.structs("files", Files::of)?,
        of.structs("contexts", Contexts::of)?,
    );
    let samples = of.lists_of_texts("sample")?;
    let keys = Keys::of(of.one("keys")?)?;
    let notes = of.texts_of("notes")?;
    let (segments, first_blocks, blocks) = (
        of.texts("segment")?,
        of.numbers::<UInt32Type>("first_block")?,
        of.numbers::<UInt32Type>("blocks")?,
    );
    let (groups, contents, errors, awaiting, indexed) = (
        of.texts("group")?,
        of.texts("content")?,
        of.texts("error")?,
        of.flags("awaits_narration")?,
        of.numbers::<Int64Type>("indexed_ms")?,
    );
    let record = |row: usize| -> Result<TableRecord, FormatError> {
        let sample = samples.range(row).map(|at| {
            let values = samples.items.as_ref();
            values.map_or(Vec::new(), |values| {
                values.range(at).map(|at| values.items.get(at)).collect()
            })
        });
        let of_table = columns.items.as_ref().and_then(|it| it.sketches);
        let sketches = of_columns(of_table, columns.range(row));
        let files = files.all(row, |files, at| files.record(at, &sketches))?;
        Ok(TableRecord {
            lake: lakes.text(row),
            name: names.text(row),
            location: locations.text(row),
            format: formats.text(row),
            removed: removed.get(row),
            rows: rows.get(row),
            rows_exact: rows_exact.get(row),
            columns: columns.all(row, Columns::record)?,
            sample: sample.collect(),
            keys: keys
                .as_ref()
                .map_or(Ok(KeyRecords::default()), |keys| keys.record(row))?,
            notes: notes.texts(row),
            files,
            sketches,
            contexts: contexts.all(row, Contexts::record)?,
            segment: segments.text(row),
            first_block: first_blocks.get(row).unwrap_or_default(),
            blocks: blocks.get(row).unwrap_or_default(),
            group: groups.text(row),
            content: contents.get(row),
            error: errors.get(row),
            awaits_narration: awaiting.get(row),
            indexed_ms: indexed.get(row).unwrap_or_default(),
        })
    };
    (0..batch.num_rows()).map(record).collect()
}

struct Keys<'a> {
    primary: Lists<'a, Option<Texts<'a>>>,
    unique: TextLists<'a>,
    references: Lists<'a, Option<References<'a>>>,
}

struct References<'a> {
    columns: Lists<'a, Option<Texts<'a>>>,
    tables: Texts<'a>,
    to: Lists<'a, Option<Texts<'a>>>,
}

impl<'a> Keys<'a> {
    fn of(of: Option<StructColumns<'a>>) -> Result<Option<Keys<'a>>, FormatError> {
        let Some(of) = of else {
            return Ok(None);
        };
        Ok(Some(Keys {
            primary: of.texts_of("primary")?,
            unique: of.lists_of_texts("unique")?,
            references: of.structs("references", |of| {
                Ok(References {
                    columns: of.texts_of("columns")?,
                    tables: of.texts("table")?,
                    to: of.texts_of("to")?,
                })
            })?,
        }))
    }

    fn record(&self, row: usize) -> Result<KeyRecords, FormatError> {
        let unique = self.unique.range(row).map(|at| {
            let columns = self.unique.items.as_ref();
            columns.map_or(Vec::new(), |columns| {
                columns.range(at).map(|at| columns.items.text(at)).collect()
            })
        });
        Ok(KeyRecords {
            primary: self.primary.texts(row),
            unique: unique.collect(),
            references: self.references.all(row, |references, at| {
                Ok(ReferenceRecord {
                    columns: references.columns.texts(at),
                    table: references.tables.text(at),
                    to: references.to.texts(at),
                })
            })?,
        })
    }
}

struct Columns<'a> {
    names: Texts<'a>,
    types: Texts<'a>,
    null_shares: Numbers<'a, Float64Type>,
    distinct: Numbers<'a, UInt64Type>,
    distinct_exact: Flags<'a>,
    uniqueness: Numbers<'a, Float64Type>,
    key_ranks: Numbers<'a, UInt32Type>,
    patterns: Lists<'a, Option<(Texts<'a>, Numbers<'a, Float64Type>)>>,
    min: Texts<'a>,
    max: Texts<'a>,
    frequent: Lists<'a, Option<(Texts<'a>, Numbers<'a, UInt64Type>)>>,
    profile_exact: Flags<'a>,
    narrations: Texts<'a>,
    descriptions: Texts<'a>,
    notations: Texts<'a>,
    in_files: Texts<'a>,
    sensitive: Texts<'a>,
    withheld: Flags<'a>,
    sketches: Option<&'a BinaryArray>,
}

impl<'a> Columns<'a> {
    fn of(of: StructColumns<'a>) -> Result<Columns<'a>, FormatError> {
        Ok(Columns {
            names: of.texts("name")?,
            types: of.texts("data_type")?,
            null_shares: of.numbers("null_share")?,
            distinct: of.numbers("distinct")?,
            distinct_exact: of.flags("distinct_exact")?,
            uniqueness: of.numbers("uniqueness")?,
            key_ranks: of.numbers("key_rank")?,
            patterns: of.structs("patterns", |of| {
                Ok((of.texts("pattern")?, of.numbers("share")?))
            })?,
            min: of.texts("min")?,
            max: of.texts("max")?,
            frequent: of.structs("frequent", |of| {
                Ok((of.texts("value")?, of.numbers("count")?))
            })?,
            profile_exact: of.flags("profile_exact")?,
            narrations: of.texts("narration")?,
            descriptions: of.texts("description")?,
            notations: of.texts("notation")?,
            in_files: of.texts("in_files")?,
            sensitive: of.texts("sensitive")?,
            withheld: of.flags("withheld")?,
            sketches: of.column("sketch")?,
        })
    }

    fn record(&self, at: usize) -> Result<ColumnRecord, FormatError> {
        Ok(ColumnRecord {
            name: self.names.text(at),
            data_type: self.types.text(at),
            null_share: self.null_shares.get(at).unwrap_or_default(),
            distinct: self.distinct.get(at).unwrap_or_default(),
            distinct_exact: self.distinct_exact.get(at),
            uniqueness: self.uniqueness.get(at),
            key_rank: self.key_ranks.get(at),
            patterns: self.patterns.all(at, |(patterns, shares), at| {
                Ok(PatternShare {
                    pattern: patterns.text(at),
                    share: shares.get(at).unwrap_or_default(),
                })
            })?,
            min: self.min.get(at),
            max: self.max.get(at),
            frequent: self.frequent.all(at, |(values, counts), at| {
                Ok(ValueCount {
                    value: values.text(at),
                    count: counts.get(at).unwrap_or_default(),
                })
            })?,
            profile_exact: self.profile_exact.get(at),
            narration: self.narrations.get(at),
            description: self.descriptions.get(at),
            notation: self.notations.get(at),
            in_files: self.in_files.get(at),
            sensitive: self.sensitive.get(at),
            withheld: self.withheld.get(at),
        })
    }
}

struct Files<'a> {
    paths: Texts<'a>,
    etags: Texts<'a>,
    versions: Texts<'a>,
    sizes: Numbers<'a, UInt64Type>,
    modified: Numbers<'a, Int64Type>,
    fingerprints: Texts<'a>,
    rows: Numbers<'a, UInt64Type>,
    summaries: Texts<'a>,
    sketches: Lists<'a, Option<&'a BinaryArray>>,
    errors: Texts<'a>,
    since_sample: Texts<'a>,
    no_table: Flags<'a>,
    beside: Flags<'a>,
    alone: Flags<'a>,
    declared: Texts<'a>,
}

impl<'a> Files<'a> {
    fn of(of: StructColumns<'a>) -> Result<Files<'a>, FormatError> {
        Ok(Files {
            paths: of.texts("path")?,
            etags: of.texts("etag")?,
            versions: of.texts("version")?,
            sizes: of.numbers("size")?,
            modified: of.numbers("modified_ms")?,
            fingerprints: of.texts("fingerprint")?,
            rows: of.numbers("rows")?,
            summaries: of.texts("summary")?,
            sketches: of.lists("sketches")?,
            errors: of.texts("error")?,
            since_sample: of.texts("since_sample")?,
            no_table: of.flags("no_table")?,
            beside: of.flags("beside")?,
            alone: of.flags("alone")?,
            declared: of.texts("declared")?,
        })
    }

    fn record(&self, at: usize, table: &Sketches) -> Result<FileRecord, FormatError> {
        let since_sample = match self.since_sample.get(at).as_deref() {
            None => None,
            Some("came") => Some(SinceSample::Came),
            Some("went") => Some(SinceSample::Went),
            Some(other) => return Err(FormatError::UnknownChange(other.to_owned())),
        };
        Ok(FileRecord {
            path: self.paths.text(at),
            etag: self.etags.get(at),
            version: self.versions.get(at),
            size: self.sizes.get(at).unwrap_or_default(),
            modified_ms: self.modified.get(at).unwrap_or_default(),
            fingerprint: self.fingerprints.text(at),
            rows: self.rows.get(at),
            summary: self.summaries.get(at),
            sketches: of_file(self.sketches.items, self.sketches.range(at), table),
            error: self.errors.get(at),
            since_sample,
            no_table: self.no_table.get(at),
            beside: self.beside.get(at),
            alone: self.alone.get(at),
            declared: self.declared.get(at),
        })
    }
}

struct Contexts<'a> {
    sources: Texts<'a>,
    registered_for: Texts<'a>,
    texts: Texts<'a>,
    of_folder: Flags<'a>,
    fingerprints: Texts<'a>,
    errors: Texts<'a>,
}

impl<'a> Contexts<'a> {
    fn of(of: StructColumns<'a>) -> Result<Contexts<'a>, FormatError> {
        Ok(Contexts {
            sources: of.texts("source")?,
            registered_for: of.texts("registered_for")?,
            texts: of.texts("text")?,
            of_folder: of.flags("of_folder")?,
            fingerprints: of.texts("fingerprint")?,
            errors: of.texts("error")?,
        })
    }

    fn record(&self, at: usize) -> Result<ContextRecord, FormatError> {
        Ok(ContextRecord {
            source: self.sources.text(at),
            registered_for: self.registered_for.get(at),
            text: self.texts.text(at),
            of_folder: self.of_folder.get(at),
            fingerprint: self.fingerprints.text(at),
            error: self.errors.get(at),
        })
    }
}
