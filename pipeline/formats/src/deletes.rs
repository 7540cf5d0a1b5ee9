//! The rows of a data file that its table's log has deleted, by their numbers.
//!
//! A deletion vector is a set of row numbers in the portable format of Roaring bitmaps with 64-bit keys, behind a magic number
//! and, in an object, between a length and a checksum (Delta's protocol, "Deletion vector format"; Iceberg's Puffin
//! specification, `deletion-vector-v1`). What it claims is checked before it is believed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use limn_profile::{Deletes, Logged};
use limn_store::Store;
use roaring::RoaringTreemap;

use crate::Failure;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;

/// Bytes of a vector, or of a file of deletes, at most.
const MOST_BYTES: u64 = 64 << 20;
const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];

/// The row numbers that are deleted of a file; none where no row is.
///
/// # Errors
/// The store's; what says so is damaged.
pub(crate) async fn of(store: &Store, file: &DataFile) -> Result<Option<RoaringTreemap>, Failure> {
    let logged = file.declared.as_ref();
    let logged = logged.and_then(|it| it.reading.logged.as_deref());
    let Some(Logged { deletes, .. }) = logged.filter(|it| !it.deletes.is_empty()) else {
        return Ok(None);
    };
    let mut deleted = RoaringTreemap::new();
    for rows in deletes {
        deleted |= match rows {
            Deletes::Inline(text) => {
                let bytes = BASE64.decode(text).map_err(|_| damaged("its log"))?;
                vector(&bytes, "its log")?
            }
            Deletes::Vector { path, offset, size } => {
                // Between its length and its checksum.
                let range = *offset..offset.saturating_add(size.saturating_add(8));
                let bytes = fetch(store, path, range).await?;
                vector(framed(&bytes, path)?, path)?
            }
        };
    }
    Ok((!deleted.is_empty()).then_some(deleted))
}

async fn fetch(store: &Store, path: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failure> {
    let length = range.end - range.start;
    if length > MOST_BYTES {
        let cause =
            format!("its deleted rows take {length} bytes in {path}, more than {MOST_BYTES}");
        let failure = Failure::new(FileErrorKind::Unsupported, cause);
        return Err(failure.with_remedy("rewrite the table without them (OPTIMIZE, or compaction)"));
    }
    let bytes = store.get_range(path, range).await?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(damaged(path)),
    }
}

fn damaged(place: &str) -> Failure {
    let cause = format!("{place} does not say which of its rows are deleted: it is damaged");
    Failure::new(FileErrorKind::Corrupt, cause)
        .with_remedy("repair the table, or rewrite it from an older version")
}

/// What stands between a length and a checksum.
fn framed<'a>(bytes: &'a [u8], path: &str) -> Result<&'a [u8], Failure> {
    let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let framed = || {
        let length = number(0)? as usize;
        let content = bytes.get(4..4 + length)?;
        (4 + length + 4 == bytes.len() && number(4 + length)? == crc32fast::hash(content))
            .then_some(content)
    };
    framed().ok_or_else(|| damaged(path))
}

/// Reads a vector from its magic number on.
fn vector(bytes: &[u8], place: &str) -> Result<RoaringTreemap, Failure> {
    let bitmap = bytes.strip_prefix(&MAGIC).ok_or_else(|| damaged(place))?;
    RoaringTreemap::deserialize_from(bitmap).map_err(|_| damaged(place))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::sync::Arc;

    use limn_profile::DeclaredReading;

    use super::*;
    use crate::format::Format;
    use crate::{Declaration, ObjectRecord};

    fn content(rows: &[u64]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let rows: RoaringTreemap = rows.iter().collect();
        rows.serialize_into(&mut bytes).unwrap();
        bytes
    }

    fn file(deletes: Vec<Deletes>) -> DataFile {
        let logged = Logged {
            deletes,
            ..Logged::default()
        };
        DataFile {
            object: ObjectRecord::unversioned("t/a.parquet", 9),
            format: Format::Parquet,
            sample_path: String::new(),
            is_beside: false,
            declared: Some(Arc::new(Declaration {
                reading: DeclaredReading {
                    logged: Some(Box::new(logged)),
                    ..DeclaredReading::default()
                },
                ..Declaration::default()
            })),
        }
    }

    #[tokio::test]
    async fn vectors_are_read_and_what_is_damaged_is_refused() {
        let store = Store::in_memory();
        let inline = Deletes::Inline(BASE64.encode(content(&[1, 7])));
        let far = content(&[2, 1 << 40]);
        let mut object = vec![1];
        object.extend((far.len() as u32).to_be_bytes());
        object.extend(&far);
        object.extend(crc32fast::hash(&far).to_be_bytes());
        store.put("t/d.bin", object.clone().into()).await.unwrap();
        let vector = |offset, size| Deletes::Vector {
            path: "t/d.bin".to_owned(),
            offset,
            size,
        };
        let size = far.len() as u64;
        let both = of(&store, &file(vec![inline, vector(1, size)])).await;
        let both: Vec<u64> = both.unwrap().unwrap().into_iter().collect();
        assert_eq!(both, [1, 2, 7, 1 << 40]);
        assert!(of(&store, &file(Vec::new())).await.unwrap().is_none());
        for wrong in [vector(0, size), vector(1, size - 1), vector(1, 1 << 40)] {
            assert!(
                of(&store, &file(vec![wrong.clone()])).await.is_err(),
                "{wrong:?}"
            );
        }
        let last = object.len() - 1;
        object[last] ^= 1;
        store.put("t/d.bin", object.into()).await.unwrap();
        assert!(of(&store, &file(vec![vector(1, size)])).await.is_err());
        let noise = Deletes::Inline(BASE64.encode(b"none"));
        assert!(of(&store, &file(vec![noise])).await.is_err());
    }
}
