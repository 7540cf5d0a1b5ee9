//! The rows of Arrow files and streams, as the format's library reads them, from the beginning to the end.

use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};

use super::MAGIC;
use crate::error::FileErrorKind;
use crate::formats::batches::{Sink, Stop, Wanted};
use crate::formats::ranged::Ranged;
use crate::formats::typed::decoding;
use crate::formats::windows::Sequential;
use crate::formats::{Failure, names};

/// Reads rows, on a thread outside the runtime.
pub(in crate::formats) fn read(
    object: &Ranged,
    wanted: &Wanted,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let read = all(object, wanted, sink);
    // The library tells of the store's failures as of damage.
    read.map_err(|stop| match stop {
        Stop::Failed(told) => Stop::Failed(object.take_failure().unwrap_or(told)),
        Stop::Dropped => Stop::Dropped,
    })
}

fn all(object: &Ranged, wanted: &Wanted, sink: &mut Sink) -> Result<(), Stop> {
    let mut bytes = Sequential::new(object.clone());
    let mut begin = [0; MAGIC.len()];
    let begun = bytes.read_exact(&mut begin);
    begun
        .and_then(|()| bytes.seek(SeekFrom::Start(0)))
        .map_err(|error| decoding(&error.to_string()))?;
    match begin == *MAGIC {
        true => give(FileReader::try_new(bytes, None), wanted, sink),
        false => give(
            StreamReader::try_new(BufReader::new(bytes), None),
            wanted,
            sink,
        ),
    }
}

/// Gives the wanted columns of all batches.
fn give<R: RecordBatchReader>(
    reader: Result<R, ArrowError>,
    wanted: &Wanted,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let failed = |error: ArrowError| decoding(&error.to_string());
    let reader = reader.map_err(failed)?;
    let schema = reader.schema();
    let names = names::unique(schema.fields().iter().map(|field| field.name()));
    let mut asked = wanted.columns.iter().zip(&wanted.names);
    if !asked.all(|(column, name)| names.get(*column) == Some(name)) {
        let cause = "it has other columns than when it was indexed";
        return Err(Failure::new(FileErrorKind::Corrupt, cause).into());
    }
    for batch in reader {
        let batch = batch.map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let arrays = wanted
            .columns
            .iter()
            .map(|column| batch.column(*column).clone());
        let chosen = schema.project(&wanted.columns).and_then(|schema| {
            RecordBatch::try_new_with_options(schema.into(), arrays.collect(), &options)
        });
        sink.give(chosen.map_err(failed)?)?;
    }
    Ok(())
}
