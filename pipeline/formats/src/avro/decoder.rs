//! Arrow's reader of Avro, over rows that were walked.

use std::io::{BufRead, Read};
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema as ArrowSchema, SchemaRef};
use arrow_avro::reader::ReaderBuilder;
use limn_store::one_line;

use super::SIMPLER;
use super::blocks::MAGIC;
use super::schema::Schema;
use crate::Failure;
use crate::error::FileErrorKind;
use crate::typed::with_id;

/// The columns of a schema in Arrow's terms, with the ids that it gives them.
pub(super) fn arrow_schema(schema: &Schema) -> Result<SchemaRef, Failure> {
    let arrow = decoder(schema, &[], 0)?.schema();
    let own = schema.fields.get(&schema.root).into_iter().flatten();
    let fields = arrow.fields().iter().zip(own);
    let fields = fields.map(|(field, (_, id))| Arc::new(with_id(field.as_ref().clone(), *id)));
    Ok(Arc::new(ArrowSchema::new(
        fields.collect::<Vec<FieldRef>>(),
    )))
}

/// Arrow's reader over a file of these rows alone.
pub(super) fn decoder(
    schema: &Schema,
    rows: &[u8],
    count: usize,
) -> Result<arrow_avro::reader::Reader<impl BufRead>, Failure> {
    const MARKER: [u8; 16] = [0; 16];
    let mut header = MAGIC.to_vec();
    header.extend(number(1));
    for text in ["avro.schema", &schema.json] {
        header.extend(number(text.len()));
        header.extend(text.as_bytes());
    }
    header.extend(number(0));
    header.extend(MARKER);
    let mut trailer: &[u8] = &[];
    if count > 0 {
        header.extend(number(count));
        header.extend(number(rows.len()));
        trailer = &MARKER;
    }
    let file = std::io::Cursor::new(header).chain(rows).chain(trailer);
    let reader = ReaderBuilder::new()
        .with_batch_size(count.max(1))
        .build(file);
    reader.map_err(|error| {
        let message = one_line(&error.to_string());
        Failure::new(
            FileErrorKind::Unsupported,
            format!("its schema is not one that can be read: {message}"),
        )
        .with_remedy(SIMPLER)
    })
}

/// A count in Avro's variable length.
fn number(count: usize) -> Vec<u8> {
    let mut left = (count as u64) << 1;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}
