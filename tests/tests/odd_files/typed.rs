//! Formats that say what they hold.

use super::{Odd, ignores, reads, refuses};

use std::fs;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use parquet::arrow::ArrowWriter;

pub fn files() -> Vec<Odd> {
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        (
            "name",
            Arc::new(StringArray::from(vec![Some("ada"), None, Some("cyd")])),
        ),
        (
            "share",
            Arc::new(Float64Array::from(vec![0.5, f64::NAN, -1.0])),
        ),
        ("born", Arc::new(Date32Array::from(vec![0, 1, 19_000]))),
        (
            "is_in",
            Arc::new(BooleanArray::from(vec![true, false, true])),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let whole = parquet(&batch);
    let schema = "id:integer name:text share:float born:date is_in:boolean";
    let mut files = vec![
        reads("people.parquet", whole.clone(), schema, 3),
        reads("PEOPLE.PQ", whole.clone(), schema, 3),
        reads("no_rows.parquet", parquet(&batch.slice(0, 0)), schema, 0),
        refuses(
            "no_tail.parquet",
            whole[..whole.len() - 9].to_vec(),
            "Parquet",
        ),
        refuses("no_head.parquet", whole[9..].to_vec(), "cannot be decoded"),
    ];
    files.extend(written_elsewhere());
    files
}

/// Files of pyarrow, fastavro and pyorc (pipeline/formats/tests/data/make.py), whole, cut and
/// misnamed.
fn written_elsewhere() -> Vec<Odd> {
    let data = limn_tests::repository().join("pipeline/formats/tests/data");
    let load = |name: &str| fs::read(data.join(name)).unwrap();
    let mut files = Vec::new();
    for name in [
        "table.arrows",
        "table_lz4.feather",
        "table_zstd.feather",
        "table_lz4.orc",
        "table_snappy.orc",
        "table_uncompressed.orc",
        "table_zlib.orc",
        "table_zstd.orc",
    ] {
        let whole = load(name);
        files.push(reads(name, whole.clone(), TYPED, 300));
        files.push(refuses(
            &format!("cut_{name}"),
            whole[..whole.len() / 2].to_vec(),
            "cut off",
        ));
    }
    for name in [
        "table_deflate.avro",
        "table_null.avro",
        "table_snappy.avro",
        "table_zstandard.avro",
    ] {
        let whole = load(name);
        files.push(reads(name, whole.clone(), AVRO, 300));
        files.push(refuses(
            &format!("cut_{name}"),
            whole[..whole.len() / 2].to_vec(),
            "cut off",
        ));
    }
    let (arrow, avro, orc) = (
        load("table_lz4.feather"),
        load("table_null.avro"),
        load("table_zlib.orc"),
    );
    files.extend([
        refuses("arrow.avro", arrow.clone(), "an Arrow file"),
        refuses("avro.orc", avro.clone(), "an Avro file"),
        refuses("orc.arrow", orc.clone(), "an ORC file"),
        refuses("orc.csv", orc.clone(), "an ORC file"),
        refuses("arrow.parquet", arrow.clone(), "an Arrow file"),
        refuses("nothing.arrow", "", "has no bytes"),
        refuses("nothing.avro", "", "has no bytes"),
        refuses("nothing.orc", "", "has no bytes"),
        refuses("text.arrow", "a,b\n1,2\n", "text"),
        refuses("text.avro", "a,b\n1,2\n", "text"),
        refuses("text.orc", "a,b\n1,2\n", "text"),
        refuses("version_1.feather", "FEA1\0\0\0\0FEA1", "version 1"),
        refuses("no_head.avro", avro[9..].to_vec(), "but is not"),
        refuses("no_head.orc", orc[9..].to_vec(), "but is not"),
        refuses("no_head.arrow", arrow[9..].to_vec(), "but is not"),
        ignores("table.arrow.gz", arrow),
    ]);
    files
}

const TYPED: &str = "id:integer same:integer spread:integer wide:integer falling:integer tiny:integer \
    short:integer flag:boolean weight:float share:float word:text text:text day:date at:timestamp \
    instant:timestamp price:float amount:float list:list struct:struct map:map raw:binary";
const AVRO: &str = "id:integer spread:integer flag:boolean weight:float share:float word:text text:text \
    day:date price:float list:list struct:struct map:map raw:binary instant:timestamp";

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}
