//! The rows of one file, whatever its format: from the reader that there is for it, as it was read
//! before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use limn_profile::FileSummary;
use limn_profile::infer::Nulls;
use limn_store::Store;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Receiver;

use super::batches::{FileBatch, Sink, Stop, Wanted, channel};
use super::nested::Nested;
use super::ranged::Ranged;
use super::text::batches::Delimited;
use super::windows::Windows;
use super::{
    Failure, ReadOptions, arrow_ipc, avro, containers, dbf, deletes, input, json, orc, parquet,
    plain,
};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::{FileError, FileErrorKind};
use crate::format::Format;
use crate::member;
use crate::object::ObjectRecord;
use crate::room::Held;

/// Enough of a file to see how it is compressed.
const BEGINNING: u64 = 16;
/// What takes the place of the budget that a file was indexed with: rows do not depend on budgets.
/// Footers and pages are read up to this length, and what has to be unpacked or be in memory as a
/// whole up to four times of it.
const SCAN_BUDGET: u64 = 64 << 20;

/// Bytes of memory that all rows of a file may take, where they are held.
const MOST_HELD: usize = 256 << 20;

/// Reads the rows of a file of which this summary was made. They come in the order of the file;
/// after an error none come. Must be called on a tokio runtime.
///
/// A thread of its own reads: one of the runtime's blocking threads would wait for what another of
/// them is to read, and if all of them did so none would ever go on.
pub fn rows(
    store: Store,
    file: DataFile,
    summary: FileSummary,
    wanted: Wanted,
    options: ReadOptions,
) -> Receiver<Result<FileBatch, Failure>> {
    let options = ReadOptions {
        scan_budget: SCAN_BUDGET,
        ..options.of(&file)
    };
    let format = file.format.found(&summary);
    let file = DataFile { format, ..file };
    on_a_thread(move |sink| {
        sink.names(Nested::of(options.declared()));
        read(&store, file, &summary, &wanted, &options, sink)
    })
}

/// What a reader gives that has a thread of its own.
fn on_a_thread(
    read: impl FnOnce(&mut Sink) -> Result<(), Stop> + Send + 'static,
) -> Receiver<Result<FileBatch, Failure>> {
    let (mut sink, batches) = channel();
    let refuse = sink.refusal();
    let runtime = Handle::current();
    let reading = move || {
        let _on = runtime.enter();
        let read = catch_unwind(AssertUnwindSafe(|| read(&mut sink)));
        sink.end(read.unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref()).into())));
    };
    let thread = thread::Builder::new().name("limn-scan".to_owned());
    if let Err(error) = thread.spawn(reading) {
        let cause = format!("no thread can be started to read it ({error})");
        refuse(Failure::new(FileErrorKind::Unreachable, cause));
    }
    batches
}

/// Which columns of a file are wanted of which nothing is known yet: places in its schema.
pub(crate) type Choice = Box<dyn Fn(&Schema) -> Vec<usize> + Send>;

/// Reads columns of a Parquet, ORC or Avro file that no index knows. Must be called on a tokio
/// runtime.
pub(crate) fn chosen(
    store: &Store,
    file: DataFile,
    choice: Choice,
) -> Receiver<Result<FileBatch, Failure>> {
    let store = store.clone();
    on_a_thread(move |sink| {
        let options = ReadOptions {
            scan_budget: SCAN_BUDGET,
            ..ReadOptions::default()
        };
        let object = Ranged::of(&store, &file);
        match file.format {
            Format::Parquet => parquet::batches::chosen(object, &choice, &options, sink),
            Format::Avro => avro::batches::chosen(&object, &choice, &options, sink),
            Format::Orc => orc::batches::chosen(object, &choice, &options, sink),
            other => {
                let cause = format!("deletes of {other} files are not read");
                Err(Failure::new(FileErrorKind::Unsupported, cause).into())
            }
        }
    })
}

/// All rows of an Avro file, such as a manifest, of so many bytes at most. Must be called on a
/// tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the object: it is not there, too long, or damaged.
pub async fn all_rows(
    store: &Store,
    object: ObjectRecord,
    format: Format,
    most: u64,
) -> Result<Vec<RecordBatch>, FileError> {
    let path = object.path.clone();
    let about = |failure: Failure| failure.about(&path);
    if object.size > most {
        let cause = format!("it has {} bytes, more than {most}", object.size);
        return Err(about(Failure::new(FileErrorKind::Unsupported, cause)));
    }
    let file = DataFile::plain(object, format);
    let all: Choice = Box::new(|schema| (0..schema.fields().len()).collect());
    let mut batches = chosen(store, file, all);
    let (mut read, mut held) = (Vec::new(), 0);
    while let Some(batch) = batches.recv().await {
        let rows = batch.map_err(about)?.rows;
        held += rows.get_array_memory_size();
        if held > MOST_HELD {
            let cause = format!("its rows take more than {MOST_HELD} bytes of memory");
            return Err(about(Failure::new(FileErrorKind::Unsupported, cause)));
        }
        read.push(rows);
    }
    Ok(read)
}

/// Reads the rows of a file, or of the member of an archive as of the one file of a store.
fn read(
    store: &Store,
    file: DataFile,
    summary: &FileSummary,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    // What lies somewhere for good has no other version.
    if file.object.place().is_none() && !store.pins(file.object.etag.as_deref()) {
        sink.wait(is_as_indexed(store, &file.object))?;
    }
    for part in file.declared.iter().flat_map(|declared| &declared.parts) {
        if !store.pins(part.etag.as_deref()) {
            sink.wait(is_as_indexed(store, part))?;
        }
    }
    let lake = store;
    let (store, file) = match containers::enter_whole(lake, &file, options)? {
        Some(entered) => entered,
        None => (lake.clone(), file),
    };
    sink.check()?;
    let (fetched, _held) = match is_whole(&file, summary) {
        true => {
            let held = options.room.hold(file.object.size);
            let fetched = sink.wait(input::fetch_whole(&store, &file))?;
            (Some(fetched), held)
        }
        false => (None, Held::default()),
    };
    let one = OneFile {
        lake,
        store: &store,
        file: &file,
        summary,
        wanted,
        options,
    };
    one.read(fetched, sink)
}

/// Makes sure that an object is the one that was indexed, where reads of it do not.
async fn is_as_indexed(store: &Store, object: &ObjectRecord) -> Result<(), Failure> {
    let now = store.head(member::outside(&object.path)).await?;
    let bare = |etag: &Option<String>| etag.as_deref().map(|it| it.trim_matches('"').to_owned());
    let known = object.member().map_or(object.size, |it| it.size);
    let is_same_version = match (bare(&now.etag), bare(&object.etag)) {
        (Some(now), Some(known)) => now == known,
        _ => now.modified_ms == object.modified_ms,
    };
    let is_same = now.size == known && is_same_version;
    is_same.then_some(()).ok_or_else(|| {
        let cause = "it is not the version that was indexed";
        Failure::new(FileErrorKind::Missing, cause)
    })
}

/// Whether a file is text that was read whole, and is to be so again.
fn is_whole(file: &DataFile, summary: &FileSummary) -> bool {
    file.format.is_text() && !summary.approximate
}

struct OneFile<'a> {
    /// What has the files that are read with it.
    lake: &'a Store,
    store: &'a Store,
    file: &'a DataFile,
    summary: &'a FileSummary,
    wanted: &'a Wanted,
    options: &'a ReadOptions,
}

impl OneFile<'_> {
    fn read(&self, fetched: Option<input::Fetched>, sink: &mut Sink) -> Result<(), Stop> {
        let (store, file, wanted, options) = (self.store, self.file, self.wanted, self.options);
        let object = || Ranged::of(store, file);
        match file.format {
            Format::Parquet => {
                let deleted = sink.wait(deletes::of(store, file))?;
                parquet::batches::read(object(), deleted, wanted, options, sink)
            }
            Format::Orc => {
                let deleted = sink.wait(deletes::of(store, file))?;
                orc::batches::read(object(), deleted, wanted, options, sink)
            }
            Format::Arrow => arrow_ipc::batches::read(object(), wanted, options, sink),
            Format::Avro => {
                let deleted = sink.wait(deletes::of(store, file))?;
                avro::batches::read(&object(), deleted, wanted, options, sink)
            }
            Format::Dbf => dbf::batches::read(self.lake, &object(), wanted, options, sink),
            Format::Sqlite => containers::sqlite::batches::rows(store, file, wanted, options, sink),
            Format::JsonLines => {
                let wraps = json::may_wrap(&file.object.path);
                match fetched {
                    Some(fetched) => json::batches::whole((fetched, wraps), wanted, options, sink),
                    None => json::batches::lines((self.windows()?, wraps), wanted, options, sink),
                }
            }
            Format::Csv | Format::Text | Format::Sheet => self.delimited(fetched, sink),
            Format::Archive | Format::Unnamed => Err(containers::not_there().into()),
            Format::Delta | Format::Iceberg | Format::Hudi => Ok(()),
        }
    }

    fn delimited(&self, fetched: Option<input::Fetched>, sink: &mut Sink) -> Result<(), Stop> {
        let Some(reading) = self.summary.reading.as_deref() else {
            let cause = "the index does not say how it is to be read";
            let failure = Failure::new(FileErrorKind::Missing, cause);
            return Err(failure
                .with_remedy("index the lake again: limn update")
                .into());
        };
        let columns = self.summary.columns.len();
        let is_sheet = self.file.format == Format::Sheet;
        let looks_for_end = fetched.is_none() && !is_sheet;
        let nulls = Nulls::of(self.options.declared());
        let rows = Delimited::new(reading, columns, self.wanted, (nulls, looks_for_end));
        if is_sheet {
            let (store, file, options) = (self.store, self.file, self.options);
            return containers::book::rows(store, file, rows, reading.start, options, sink);
        }
        let fetched = match (fetched, reading.is_rewritten) {
            (Some(fetched), false) => fetched,
            (Some(fetched), true) => {
                let declared = self.options.declared();
                return plain::batches::whole(fetched, rows, (reading, declared), sink);
            }
            (None, false) => return rows.read(self.windows()?, reading.start, sink),
            (None, true) => return plain::batches::windows(self.windows()?, rows, sink),
        };
        let input = fetched.into_whole_text("text")?;
        let start = usize::try_from(reading.start).unwrap_or(usize::MAX);
        rows.whole(input.pieces[0].bytes.get(start..).unwrap_or_default(), sink)
    }

    fn windows(&self) -> Result<Windows, Failure> {
        let object = Ranged::of(self.store, self.file);
        let beginning = object.get(0..BEGINNING.min(object.size()))?;
        let compression = Compression::of_content(&beginning);
        Windows::open(object, compression, self.summary.reading.as_deref())
    }
}
