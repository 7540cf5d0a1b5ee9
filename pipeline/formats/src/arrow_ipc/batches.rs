//! The rows of an Arrow file or stream: batch by batch, of the wanted columns only.

use std::collections::HashMap;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Field;

use super::arrays::Batch;
use super::buffers::Source;
use super::dictionaries::Dictionaries;
use super::messages::{self, Block, Content, MAGIC, parse};
use super::{FOOTER, HEAD, corrupt, record_batch, rows_of};
use crate::batches::{Sink, Stop, Wanted};
use crate::error::FileErrorKind;
use crate::ranged::{Fetched, Ranged};
use crate::typed::{AllWork, Stopped, decoding};
use crate::{Failure, ReadOptions, names};

/// What all dictionaries, and one column of a batch, may take in memory, in bytes.
const MEMORY: u64 = 512 << 20;
/// A batch with a longer body is read column by column.
const BODY: u64 = 256 << 20;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn read(
    object: Ranged,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let head = object.get(0..HEAD.min(object.size()))?;
    let is_file = head.starts_with(MAGIC);
    let mut content = Content {
        object,
        fetched: Fetched::whole(head),
    };
    let most = options.scan_budget.max(FOOTER);
    let messages = match is_file {
        true => messages::of_file(&mut content, most)?,
        false => messages::of_stream(&mut content, most, usize::MAX)?,
    };
    let fields = messages.schema.fields();
    let names = names::unique(fields.iter().map(|field| field.name()));
    let mut asked = wanted.columns.iter().zip(&wanted.names);
    if !asked.all(|(column, name)| names.get(*column) == Some(name)) {
        return Err(corrupt("it has other columns than when it was indexed").into());
    }
    let mut dictionaries = Dictionaries::new(&messages.schema, MEMORY, u64::MAX);
    for block in &messages.batches {
        // A file's dictionaries stand anywhere, a stream's before the batches that they are for.
        let end = if is_file { u64::MAX } else { block.offset };
        dictionaries.take_until(end, &messages.dictionaries, &content, &mut AllWork)?;
        let rows = Rows {
            content: &content,
            dictionaries: &dictionaries,
            wanted,
        };
        let fields = fields.iter().map(AsRef::as_ref);
        sink.give(rows.batch(block, fields)?)?;
    }
    Ok(())
}

struct Rows<'a> {
    content: &'a Content,
    dictionaries: &'a Dictionaries,
    wanted: &'a Wanted,
}

impl Rows<'_> {
    fn batch<'f>(
        &self,
        block: &Block,
        fields: impl Iterator<Item = &'f Field>,
    ) -> Result<RecordBatch, Failure> {
        let metadata = self.content.get(block.metadata_range())?;
        let message = parse(&metadata)?;
        let batch = record_batch(&message)?;
        let rows = rows_of(batch)?;
        let source = self.source(block)?;
        let values = self.dictionaries.values();
        let mut columns = Batch::new(batch, message.version(), &source, values)?;
        let mut read: HashMap<usize, ArrayRef> = HashMap::new();
        for (column, field) in fields.enumerate() {
            if !self.wanted.columns.contains(&column) {
                columns.skip(field)?;
                continue;
            }
            if self.dictionaries.lack(field) {
                return Err(too_much());
            }
            let array = columns.column(field, rows, MEMORY, &mut u64::MAX.clone());
            read.insert(
                column,
                array.map_err(|stopped| match stopped {
                    Stopped::Failed(failure) => failure,
                    Stopped::TooMuch => too_much(),
                })?,
            );
        }
        let arrays = self.wanted.columns.iter();
        let arrays: Vec<ArrayRef> = arrays.filter_map(|it| read.get(it).cloned()).collect();
        let named = self.wanted.names.iter().zip(arrays);
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = named
            .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
            .unzip();
        let schema = arrow::datatypes::Schema::new(fields).into();
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|error| decoding(&error.to_string()))
    }

    /// A batch's body, fetched if it is not too large.
    fn source(&self, block: &Block) -> Result<Source, Failure> {
        let body = block.body_range();
        if block.body <= BODY {
            return Ok(Source::Memory(self.content.get(body)?));
        }
        Ok(Source::File {
            object: self.content.object.clone(),
            body,
            requests: std::rc::Rc::default(),
        })
    }
}

fn too_much() -> Failure {
    let cause = format!("a column of it takes more than {MEMORY} bytes of memory at once");
    Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("write the file with smaller batches, or as Parquet")
}
