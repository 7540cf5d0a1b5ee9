//! Kept cells: the distinct values of a table's columns, as somebody has counted them, so that the
//! next one need not read the table again.
//!
//! A file a table and version under `cache/cells/`, named by what it depends on; its content is
//! opaque here. No snapshot names them: what is deleted is counted again, and garbage collection
//! deletes what is old, whether its table is there or not. A file that is damaged is as good as
//! none. Specification: `docs/index-format.md`.

use bytes::Bytes;
use limn_store::StoreErrorKind;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{compress, decompress};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::index_store::IndexStore;

/// Folder of the files.
pub(crate) const FOLDER: &str = "cache/cells";
/// Begins every file; its last digit is the version.
const MAGIC: &[u8; 8] = b"limncel1";
/// Length of the checksum that ends a file.
const CHECKSUM: usize = 8;
/// Bytes of a content, at most: files that claim more are none of ours.
const MOST: usize = 32 << 20;

fn path(key: u128) -> String {
    format!("{FOLDER}/{key:032x}.cells")
}

/// A file's bytes: magic, the content as one zstd frame, xxh3-64 of what is before.
fn write(content: &[u8]) -> Result<Bytes, SegmentError> {
    let failed = |error| SegmentError::invalid("kept cells", error);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(compress(content, 3).map_err(failed)?);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes.into())
}

fn read(bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    let end = bytes.len().checked_sub(CHECKSUM).ok_or("it is too short")?;
    let (body, checksum) = bytes.split_at(end);
    if xxh3_64(body).to_le_bytes() != checksum {
        return Err("its checksum does not match its content".into());
    }
    let packed = body.strip_prefix(MAGIC);
    decompress(packed.ok_or("it holds no cells of this version")?, MOST)
}

impl IndexStore {
    /// Keeps the cells of a table's version, which `key` stands for.
    ///
    /// # Errors
    /// Store errors: an index that is only read keeps none.
    pub async fn keep_cells(&self, key: u128, content: &[u8]) -> Result<(), SegmentError> {
        if content.len() <= MOST {
            self.store.put(&path(key), write(content)?).await?;
        }
        Ok(())
    }

    /// The cells that are kept under a key.
    ///
    /// # Errors
    /// Store errors. A damaged file is none, and logged.
    pub async fn kept_cells(&self, key: u128) -> Result<Option<Vec<u8>>, SegmentError> {
        let path = path(key);
        let size = match self.store.head(&path).await {
            Ok(info) => info.size,
            Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if size > MOST as u64 {
            tracing::warn!(path, "kept cells are passed over: the file is too large");
            return Ok(None);
        }
        let bytes = match self.store.get(&path).await {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match read(&bytes) {
            Ok(content) => Ok(Some(content)),
            Err(error) => {
                tracing::warn!(path, %error, "kept cells are passed over");
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_read_and_what_is_damaged_is_not() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        assert_eq!(index.kept_cells(7).await.unwrap(), None);
        index.keep_cells(7, b"some values").await.unwrap();
        let kept = index.kept_cells(7).await.unwrap();
        assert_eq!(kept.as_deref(), Some(&b"some values"[..]));
        let whole = index.store.get(&path(7)).await.unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.to_vec();
            flipped[at] ^= 4;
            assert!(read(&flipped).is_err(), "byte {at}");
            assert!(read(&whole[..at]).is_err());
        }
        index.store.put(&path(7), "other".into()).await.unwrap();
        assert_eq!(index.kept_cells(7).await.unwrap(), None);
    }
}
