//! Kept vectors: what an epoch that is not published yet has embedded, so that a run that is killed
//! inside it need not embed it again.
//!
//! Small immutable files under `cache/vectors/<embedder>/`, named by the hash of their content. No
//! snapshot names them; a run that ends deletes those it wrote and those it found, and garbage
//! collection the rest. A file that is damaged is as good as none.
//! Specification: `docs/index-format.md`.

use bytes::Bytes;
use futures::StreamExt;
use half::f16;
use limn_store::StoreErrorKind;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::codec::{Cursor, put_number};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::index_store::IndexStore;
use crate::table::TextHash;

/// Folder of the files of all embedders.
pub(crate) const FOLDER: &str = "cache/vectors";
/// Begins every file; its last digit is the version.
const MAGIC: &[u8; 8] = b"limnvec1";
/// Length of a vector's text hash.
const HASH: usize = 16;
/// Length of the checksum that ends a file.
const CHECKSUM: usize = 8;

/// A vector and the hash of the text that it is of.
pub type KeptVector = (TextHash, Vec<f16>);

fn folder(embedder: &str, dimensions: usize) -> String {
    let name = format!("{embedder} {dimensions}");
    format!("{FOLDER}/{:016x}", xxh3_64(name.as_bytes()))
}

/// A file's bytes: magic, dimensions, count, all hashes, all vectors, xxh3-64 of what is before.
fn write(dimensions: usize, vectors: &[KeptVector]) -> Bytes {
    let mut bytes = MAGIC.to_vec();
    put_number(&mut bytes, dimensions as u64);
    put_number(&mut bytes, vectors.len() as u64);
    for (hash, _) in vectors {
        bytes.extend_from_slice(&hash.to_bytes());
    }
    for value in vectors.iter().flat_map(|(_, vector)| vector) {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.into()
}

fn read(
    dimensions: usize,
    bytes: &[u8],
    is_wanted: impl Fn(TextHash) -> bool,
) -> Result<Vec<KeptVector>, FormatError> {
    let end = bytes.len().checked_sub(CHECKSUM).ok_or("it is too short")?;
    let (body, checksum) = bytes.split_at(end);
    if xxh3_64(body).to_le_bytes() != checksum {
        return Err("its checksum does not match its content".into());
    }
    let mut cursor = Cursor::new(body);
    if cursor.bytes(MAGIC.len())? != MAGIC {
        return Err("it holds no kept vectors of this version".into());
    }
    if cursor.number()? != dimensions as u64 {
        return Err("its vectors have another length".into());
    }
    let count = usize::try_from(cursor.number()?)?;
    let row = dimensions * size_of::<f16>();
    let length = |size: usize| count.checked_mul(size).ok_or("its count cannot be");
    let hashes = cursor.bytes(length(HASH)?)?;
    let vectors = cursor.bytes(length(row)?)?;
    cursor.end()?;
    let hashes = hashes.chunks_exact(HASH).map(|hash| {
        let mut bytes = [0; HASH];
        bytes.copy_from_slice(hash);
        TextHash::from_bytes(bytes)
    });
    let rows = hashes.zip(vectors.chunks_exact(row.max(1)));
    let wanted = rows.filter(|(hash, _)| is_wanted(*hash));
    let vectors = wanted.map(|(hash, row)| {
        let values = row.chunks_exact(2);
        let vector = values.map(|b| f16::from_le_bytes([b[0], b[1]])).collect();
        (hash, vector)
    });
    Ok(vectors.collect())
}

impl IndexStore {
    /// Keeps vectors of `dimensions` values each; the path of their file.
    ///
    /// # Errors
    /// Store errors.
    pub async fn keep_vectors(
        &self,
        embedder: &str,
        dimensions: usize,
        vectors: &[KeptVector],
    ) -> Result<String, SegmentError> {
        let bytes = write(dimensions, vectors);
        let path = format!(
            "{}/{:032x}.vec",
            folder(embedder, dimensions),
            xxh3_128(&bytes)
        );
        self.store.put(&path, bytes).await?;
        Ok(path)
    }

    /// The vectors that are kept of an embedder, by file, of the texts that are wanted. One list
    /// request where there are none.
    ///
    /// # Errors
    /// Store errors. Damaged files are left out, and logged.
    pub async fn kept_vectors(
        &self,
        embedder: &str,
        dimensions: usize,
        is_wanted: impl Fn(TextHash) -> bool,
    ) -> Result<Vec<(String, Vec<KeptVector>)>, SegmentError> {
        let mut found = Vec::new();
        let mut listing = self.store.list(&folder(embedder, dimensions));
        while let Some(item) = listing.next().await {
            let path = match item {
                Ok(info) => info.path,
                Err(e) if e.kind() == StoreErrorKind::NotFound => break,
                Err(e) => return Err(e.into()),
            };
            let bytes = match self.store.get(&path).await {
                Ok(bytes) => bytes,
                // The run that wrote it has ended.
                Err(e) if e.kind() == StoreErrorKind::NotFound => continue,
                Err(e) => return Err(e.into()),
            };
            match read(dimensions, &bytes, &is_wanted) {
                Ok(vectors) => found.push((path, vectors)),
                Err(detail) => tracing::warn!(path, %detail, "kept vectors are damaged"),
            }
        }
        Ok(found)
    }

    /// Deletes a file of kept vectors; it may be deleted already.
    ///
    /// # Errors
    /// Store errors.
    pub async fn drop_kept_vectors(&self, path: &str) -> Result<(), SegmentError> {
        Ok(self.store.delete(path).await?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn vectors() -> Vec<KeptVector> {
        (0..5u128)
            .map(|i| {
                (
                    TextHash(i << 100 | i),
                    vec![f16::from_f32(i as f32), f16::NEG_ONE],
                )
            })
            .collect()
    }

    fn every(_: TextHash) -> bool {
        true
    }

    fn all(dimensions: usize, bytes: &[u8]) -> Result<Vec<KeptVector>, FormatError> {
        read(dimensions, bytes, every)
    }

    #[test]
    fn round_trip_and_no_damaged_file_is_read() {
        let bytes = write(2, &vectors());
        assert_eq!(all(2, &bytes).unwrap(), vectors());
        assert!(all(3, &bytes).is_err());
        let some = read(2, &bytes, |text| text == vectors()[3].0).unwrap();
        assert_eq!(some, vectors()[3..4]);
        for at in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 4;
            assert!(all(2, &flipped).is_err(), "byte {at}");
            assert!(all(2, &bytes[..at]).is_err());
        }
        // A count that fits no memory, under a right checksum.
        let mut hostile = MAGIC.to_vec();
        put_number(&mut hostile, 2);
        put_number(&mut hostile, u64::MAX / 2);
        hostile.extend_from_slice(&xxh3_64(&hostile).to_le_bytes());
        assert!(all(2, &hostile).is_err());
    }

    #[tokio::test]
    async fn files_are_found_by_embedder_and_dropped() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        assert!(index.kept_vectors("a", 2, every).await.unwrap().is_empty());
        let path = index.keep_vectors("a", 2, &vectors()).await.unwrap();
        assert!(index.kept_vectors("b", 2, every).await.unwrap().is_empty());
        let found = index.kept_vectors("a", 2, every).await.unwrap();
        assert_eq!(found, [(path.clone(), vectors())]);
        index.store.put(&path, "other".into()).await.unwrap();
        assert!(index.kept_vectors("a", 2, every).await.unwrap().is_empty());
        for _ in 0..2 {
            index.drop_kept_vectors(&path).await.unwrap();
        }
    }
}
