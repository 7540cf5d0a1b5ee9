//! Kept answers: what a language model has answered of rows, so that it is not asked again.
//!
//! Files under `cache/answers/<scope>/`, each with many answers. A scope stands for all that the
//! questions of one stage have in common (model, instruction, form of the answer), a key for the
//! rest; both are hashes, and an answer is opaque here. So a stage reads one folder, and a run
//! writes a file or a few. Many small files become one when the next is written.
//!
//! No snapshot names these files: garbage collection deletes what is old, and what is deleted is
//! asked again. A damaged file is as good as none. Specification: `docs/index-format.md`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use limn_store::{ObjectInfo, StoreErrorKind};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::codec::{Cursor, compress, decompress, put_number};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};

/// Folder of the scopes.
pub(crate) const FOLDER: &str = "cache/answers";
/// Begins every file; its last digit is the version.
const MAGIC: &[u8; 8] = b"limnans1";
/// Length of the checksum that ends a file.
const CHECKSUM: usize = 8;
/// Bytes of the answers in one file, unpacked, at most.
const MOST_OF_FILE: usize = 32 << 20;
/// Files of a scope that are read, at most: those of the first names.
const MOST_FILES: usize = 64;
/// Bytes of a scope's answers that are read, at most.
const MOST_OF_SCOPE: usize = 256 << 20;
/// Files of a scope that are merged into one where this many are small.
const MERGED: usize = 8;
/// A file below this is small.
const SMALL: u64 = 4 << 20;

/// Answers by their keys.
pub type Answers = HashMap<u128, Vec<u8>>;

/// A file of answers. Its name is made of its content: what it holds does not change.
#[derive(Clone, Debug)]
pub struct AnswerFile {
    /// Its path in the index.
    pub path: String,
    /// What it holds.
    pub answers: Arc<Answers>,
}

impl AnswerFile {
    /// The bytes that it takes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.answers.values().map(|it| it.len() + 32).sum()
    }
}

fn folder(scope: u128) -> String {
    format!("{FOLDER}/{scope:032x}")
}

/// A file's bytes: magic, the answers as one zstd frame, xxh3-64 of what is before.
fn write(answers: &[(u128, &[u8])]) -> Result<Bytes, SegmentError> {
    let mut content = Vec::new();
    for (key, answer) in answers {
        content.extend_from_slice(&key.to_le_bytes());
        put_number(&mut content, answer.len() as u64);
        content.extend_from_slice(answer);
    }
    let failed = |error| SegmentError::invalid("kept answers", error);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(compress(&content, 3).map_err(failed)?);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes.into())
}

fn read(bytes: &[u8]) -> Result<Vec<(u128, Vec<u8>)>, FormatError> {
    let end = bytes.len().checked_sub(CHECKSUM).ok_or("it is too short")?;
    let (body, checksum) = bytes.split_at(end);
    if xxh3_64(body).to_le_bytes() != checksum {
        return Err("its checksum does not match its content".into());
    }
    let packed = body.strip_prefix(MAGIC);
    let packed = packed.ok_or("it holds no answers of this version")?;
    let content = decompress(packed, 2 * MOST_OF_FILE)?;
    let mut cursor = Cursor::new(&content);
    let mut answers = Vec::new();
    while cursor.left() > 0 {
        let mut key = [0; 16];
        key.copy_from_slice(cursor.bytes(16)?);
        let length = usize::try_from(cursor.number()?).map_err(|_| "a length is too large")?;
        answers.push((u128::from_le_bytes(key), cursor.bytes(length)?.to_vec()));
    }
    Ok(answers)
}

impl IndexStore {
    /// Keeps the answers of a scope, in a file or, if they are many, in a few.
    ///
    /// # Errors
    /// Store errors: an index that is only read keeps none.
    pub async fn keep_answers(
        &self,
        scope: u128,
        answers: &[(u128, Vec<u8>)],
    ) -> Result<(), SegmentError> {
        let mut small: Vec<ObjectInfo> = self.answer_files(scope).await?;
        small.retain(|file| file.size < SMALL);
        let mut all: Vec<(u128, Vec<u8>)> = Vec::new();
        if small.len() >= MERGED {
            // As many as are read whole: what is deleted was read.
            small.truncate(MERGED);
            all = self.read_answers(&small).await?;
        } else {
            small.clear();
        }
        // The first answer to a question stays: the same plan gives the same rows.
        all.extend_from_slice(answers);
        let mut known = HashSet::new();
        let mut file: Vec<(u128, &[u8])> = Vec::new();
        let mut bytes = 0;
        let mut written = Vec::new();
        for (key, answer) in &all {
            let size = answer.len() + 32;
            if size > MOST_OF_FILE || !known.insert(key) {
                continue;
            }
            if bytes + size > MOST_OF_FILE {
                written.push(self.put_answers(scope, &file).await?);
                file.clear();
                bytes = 0;
            }
            file.push((*key, answer));
            bytes += size;
        }
        if !file.is_empty() {
            written.push(self.put_answers(scope, &file).await?);
        }
        for merged in small.iter().filter(|it| !written.contains(&it.path)) {
            match self.store.delete(&merged.path).await {
                Err(error) if error.kind() != StoreErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes a file; its path.
    async fn put_answers(
        &self,
        scope: u128,
        file: &[(u128, &[u8])],
    ) -> Result<String, SegmentError> {
        let bytes = write(file)?;
        let path = format!("{}/{:032x}.answers", folder(scope), xxh3_128(&bytes));
        self.store.put(&path, bytes).await?;
        Ok(path)
    }

    /// The files of a scope's answers in the order of their names; of several answers to a
    /// question, that of the first file counts. A file that is `known` is not read: its name says
    /// what it holds.
    ///
    /// # Errors
    /// Store errors. A damaged file holds none, and is logged.
    pub async fn kept_answers(
        &self,
        scope: u128,
        known: &(dyn Fn(&str) -> Option<Arc<Answers>> + Sync),
    ) -> Result<Vec<AnswerFile>, SegmentError> {
        let files = self.answer_files(scope).await?;
        let one = |info: ObjectInfo| async move {
            let answers = match known(&info.path) {
                Some(answers) => answers,
                None => {
                    let mut answers = Answers::new();
                    for (key, answer) in self.read_answer_file(&info).await? {
                        answers.entry(key).or_insert(answer);
                    }
                    Arc::new(answers)
                }
            };
            let path = info.path;
            Ok::<_, SegmentError>(AnswerFile { path, answers })
        };
        let mut read = stream::iter(files).map(one).buffered(READS_IN_FLIGHT);
        let (mut files, mut bytes) = (Vec::new(), 0);
        while let Some(file) = read.try_next().await? {
            bytes += file.bytes();
            if bytes > MOST_OF_SCOPE {
                tracing::warn!("kept answers are passed over: they are too large");
                break;
            }
            files.push(file);
        }
        Ok(files)
    }

    /// The files of a scope in the order of their names, as far as they are read.
    async fn answer_files(&self, scope: u128) -> Result<Vec<ObjectInfo>, SegmentError> {
        let folder = folder(scope);
        let mut listing = self.store.list(&folder);
        let mut files = Vec::new();
        while let Some(item) = listing.next().await {
            let info = match item {
                Ok(info) => info,
                Err(error) if error.kind() == StoreErrorKind::NotFound => break,
                Err(error) => return Err(error.into()),
            };
            if files.len() == MOST_FILES {
                tracing::warn!(
                    folder,
                    "kept answers are passed over: they have too many files"
                );
                break;
            }
            files.push(info);
        }
        Ok(files)
    }

    async fn read_answers(
        &self,
        files: &[ObjectInfo],
    ) -> Result<Vec<(u128, Vec<u8>)>, SegmentError> {
        let one = |info: ObjectInfo| async move { self.read_answer_file(&info).await };
        let read = stream::iter(files.to_vec())
            .map(one)
            .buffered(READS_IN_FLIGHT);
        let files: Vec<Vec<(u128, Vec<u8>)>> = read.try_collect().await?;
        Ok(files.into_iter().flatten().collect())
    }

    async fn read_answer_file(
        &self,
        info: &ObjectInfo,
    ) -> Result<Vec<(u128, Vec<u8>)>, SegmentError> {
        let bytes = match self.store.get(&info.path).await {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == StoreErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SegmentError::from(error)),
        };
        Ok(read(&bytes).unwrap_or_else(|error| {
            tracing::warn!(path = info.path, %error, "kept answers are passed over");
            Vec::new()
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn kept(index: &IndexStore, scope: u128) -> Answers {
        let files = index.kept_answers(scope, &|_| None).await.unwrap();
        let mut all = Answers::new();
        for file in files {
            for (key, answer) in file.answers.iter() {
                all.entry(*key).or_insert_with(|| answer.clone());
            }
        }
        all
    }

    fn answer(key: u128) -> (u128, Vec<u8>) {
        (key, format!("answer {key}").into_bytes())
    }

    #[tokio::test]
    async fn answers_are_kept_by_scope_and_the_first_of_a_key_stays() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        assert!(kept(&index, 1).await.is_empty());
        index
            .keep_answers(1, &[answer(7), (7, b"later".to_vec())])
            .await
            .unwrap();
        index.keep_answers(2, &[answer(8)]).await.unwrap();
        let kept = kept(&index, 1).await;
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [answer(7)]);
    }

    #[tokio::test]
    async fn many_small_files_become_one_and_none_is_lost() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        for key in 0..30 {
            index.keep_answers(5, &[answer(key)]).await.unwrap();
            assert!(index.answer_files(5).await.unwrap().len() <= MERGED);
        }
        let mut kept: Vec<_> = kept(&index, 5).await.into_iter().collect();
        kept.sort();
        assert_eq!(kept, (0..30).map(answer).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn old_answers_are_garbage_and_young_ones_are_not() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        let snapshot = crate::Snapshot::first("m", 3, 1);
        index.publish(&snapshot).await.unwrap();
        index.keep_answers(9, &[answer(1)]).await.unwrap();
        let file = index.answer_files(9).await.unwrap().remove(0);
        let retention = crate::Retention {
            older_than: std::time::Duration::from_secs(60),
            keep: 1,
        };
        for (later_ms, paths) in [(59_000, vec![]), (61_000, vec![file.path.clone()])] {
            let garbage = index.garbage(retention, file.modified_ms + later_ms).await;
            let found = garbage.unwrap().objects.into_iter().map(|it| it.path);
            assert_eq!(found.collect::<Vec<_>>(), paths);
        }
    }

    #[tokio::test]
    async fn a_damaged_file_holds_no_answers() {
        let index = IndexStore::new(limn_store::Store::in_memory());
        index
            .keep_answers(3, &[answer(1), answer(2)])
            .await
            .unwrap();
        let path = index.answer_files(3).await.unwrap()[0].path.clone();
        let whole = index.store.get(&path).await.unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.to_vec();
            flipped[at] ^= 4;
            assert!(read(&flipped).is_err(), "byte {at}");
            assert!(read(&whole[..at]).is_err());
        }
        index.store.put(&path, "other".into()).await.unwrap();
        assert!(kept(&index, 3).await.is_empty());
    }
}
