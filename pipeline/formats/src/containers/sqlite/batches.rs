//! The rows of a table or view of a database, as texts.
//!
//! They are all read before the first is given: one database is read at a time in a process, and
//! who waits for the rows of one may be waiting for those of another.

use std::io::Cursor;

use arrow::array::RecordBatch;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use limn_store::Store;
use rusqlite::types::ValueRef;

use super::failure::{REMEDY, failure};
use super::reading::real;
use super::view::{self, Answered};
use super::{Base, alone, cage, database, member, quoted};
use crate::batches::{Sink, Stop, Texts, Wanted};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::member::MemberPlace;
use crate::ranged::Ranged;
use crate::typed::decoding;
use crate::{Failure, ReadOptions};

/// Bytes of text that a table's rows are, at most.
const MOST_TEXT: usize = 512 << 20;
/// After so many rows it is asked whether they are still wanted.
const CHECKED: u64 = 4096;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn rows(
    store: &Store,
    file: &DataFile,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (container, place) = super::super::part(file)?;
    let ranged = Ranged::new(store.clone(), &container, tokio::runtime::Handle::current());
    let MemberPlace::Table(id) = place else {
        return Err(super::super::not_there().into());
    };
    // A reader that waits for another database holds nothing yet.
    let alone = alone();
    sink.check()?;
    let held = options.room.hold(2 * ranged.size());
    let bytes = database(&ranged, options)?;
    let base = Base::of(&bytes, alone)?;
    let batches = match member(&base.entries, id)?.is_view {
        false => {
            drop(bytes);
            base.rows(id, wanted, &|| sink.check().is_ok())?
        }
        true => {
            drop(base);
            batches_of(&sink.wait(view::rows(bytes, id, wanted, options))?)?
        }
    };
    drop(held);
    for batch in batches {
        sink.give(batch)?;
    }
    Ok(())
}

impl Base {
    /// The wanted columns of as many rows as are wanted; of none more where nobody wants them any
    /// longer.
    pub(super) fn rows(
        mut self,
        id: u64,
        wanted: &Wanted,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Vec<RecordBatch>, Failure> {
        let entry = member(&self.entries, id)?;
        let most = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
        let sql = format!("SELECT * FROM main.{} LIMIT {most}", quoted(&entry.name));
        let (connection, size) = (&mut self.connection, self.size);
        cage::close(connection, size, &self.entries, entry).map_err(|error| failure(&error))?;
        let mut statement = self.connection.prepare(&sql).map_err(|it| failure(&it))?;
        let width = statement.column_count();
        if wanted.columns.iter().any(|column| *column >= width) {
            let cause = "it has other columns than when it was indexed";
            return Err(Failure::new(FileErrorKind::Corrupt, cause));
        }
        let mut texts = Texts::new(wanted);
        let (mut batches, mut bytes, mut read) = (Vec::new(), 0, 0u64);
        let mut rows = statement.query([]).map_err(|it| failure(&it))?;
        while let Some(row) = rows.next().map_err(|it| failure(&it))? {
            for (place, column) in wanted.columns.iter().enumerate() {
                bytes += take(
                    &mut texts,
                    place,
                    row.get_ref(*column).unwrap_or(ValueRef::Null),
                );
            }
            if bytes > MOST_TEXT {
                let cause = format!("its rows are more than {MOST_TEXT} bytes of text");
                return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(REMEDY));
            }
            read += 1;
            if read.is_multiple_of(CHECKED) && !is_wanted() {
                break;
            }
            if texts.end_row() {
                batches.push(texts.take()?);
            }
        }
        batches.push(texts.take()?);
        Ok(batches)
    }
}

/// Takes a value as text; about how many bytes it takes. Bytes are written as SQL has them:
/// `X'00FF'`.
fn take(texts: &mut Texts, place: usize, value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null => texts.cell(place, None),
        ValueRef::Integer(number) => texts.cell(place, Some(&number.to_string())),
        ValueRef::Real(number) => texts.cell(place, Some(&real(number))),
        ValueRef::Text(text) => {
            texts.cell(place, Some(&String::from_utf8_lossy(text)));
            return text.len() + 16;
        }
        ValueRef::Blob(bytes) => {
            let mut text = String::with_capacity(2 * bytes.len() + 3);
            text.push_str("X'");
            for byte in bytes {
                let digit = |of: u8| char::from(b"0123456789ABCDEF"[usize::from(of)]);
                text.extend([digit(byte >> 4), digit(byte & 15)]);
            }
            text.push('\'');
            texts.cell(place, Some(&text));
            return text.len() + 16;
        }
    }
    16
}

/// What a process of its own answers: all rows as an Arrow stream.
pub(super) fn answer(base: Base, id: u64, wanted: &Wanted) -> Answered<Vec<u8>> {
    let batches = base.rows(id, wanted, &|| true)?;
    let mut stream = Vec::new();
    let failed = |error: arrow::error::ArrowError| decoding(&error.to_string());
    if let Some(first) = batches.first() {
        let mut writer = StreamWriter::try_new(&mut stream, &first.schema()).map_err(failed)?;
        for batch in &batches {
            writer.write(batch).map_err(failed)?;
        }
        writer.finish().map_err(failed)?;
    }
    Ok(stream)
}

fn batches_of(stream: &[u8]) -> Result<Vec<RecordBatch>, Failure> {
    let failed = |error: arrow::error::ArrowError| decoding(&error.to_string());
    let reader = StreamReader::try_new(Cursor::new(stream), None).map_err(failed)?;
    reader.map(|batch| batch.map_err(failed)).collect()
}
