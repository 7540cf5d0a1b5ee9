//! An index in an object store: snapshots, and the objects they name.
//!
//! Publishing is the commit: everything a snapshot names is written first, under names made of
//! content hashes; then the snapshot is created with a conditional PUT. Whatever a killed writer
//! leaves behind is named by no snapshot and harms nobody.

mod snapshots;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures::StreamExt;
use limn_store::{Store, StoreError, StoreErrorKind};
use tokio::sync::Semaphore;

use crate::builder::BuiltSegment;
use crate::catalog::{TableRecord, segment_of};
use crate::catalog_read::{read_catalog, read_catalog_columns, read_rows_of};
use crate::catalog_write::write_catalog;
use crate::deletes::Deletes;
use crate::error::SegmentError;
use crate::held::HeldRows;
use crate::lease::Lease;
use crate::snapshot::{CatalogEntry, DeletesEntry, SegmentEntry, Snapshot, nonce};
use crate::table::{Shard, TableKey};

/// Catalog files that are decoded at a time in this process: more than there are cores would only
/// take more memory.
static DECODING: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism();
    Semaphore::new(cores.map_or(1, usize::from))
});

/// Catalog files read at a time.
pub(crate) const READS_IN_FLIGHT: usize = 8;
/// Where catalog files are.
pub(crate) const CATALOG: &str = "catalog/";
/// The folders of an index, each with its `/`; anything else under its root is someone else's.
pub const FOLDERS: [&str; 6] = [
    "snapshots/",
    "segments/",
    CATALOG,
    "joins/",
    "deletes/",
    "cache/",
];

/// An index: a root in an object store.
#[derive(Clone, Debug)]
pub struct IndexStore {
    /// The store, rooted at the index.
    pub store: Store,
    /// The lease of the run that writes, if it has one.
    pub(crate) lease: Option<Arc<Lease>>,
}

impl IndexStore {
    /// Opens a location without any request; see [`IndexStore::require_newest`] (readers) and
    /// [`IndexStore::prepare`] (writers) for what is there.
    ///
    /// # Errors
    /// [`SegmentError::Store`] if the location makes no sense.
    pub fn open(location: &str) -> Result<IndexStore, SegmentError> {
        Ok(IndexStore::new(Store::open(location)?))
    }

    /// An index at the root of a store.
    #[must_use]
    pub fn new(store: Store) -> IndexStore {
        IndexStore { store, lease: None }
    }

    /// The newest snapshot: one list page and one get. `None` if none was ever published. Damaged
    /// ones are passed over with a warning: nobody can read them, and the one before is whole.
    ///
    /// # Errors
    /// Store errors; a newer format; no snapshot that is whole.
    pub async fn newest(&self) -> Result<Option<Snapshot>, SegmentError> {
        let Some(number) = self.newest_number().await? else {
            return Ok(None);
        };
        match self.snapshot(number).await {
            Err(error) if error.is_damage() => self.newest_whole(error).await.map(Some),
            read => read.map(Some),
        }
    }

    /// The newest snapshot that is not damaged; `damage` is what is wrong with the newest of all.
    async fn newest_whole(&self, damage: SegmentError) -> Result<Snapshot, SegmentError> {
        let listed = self.snapshots().await?;
        let highest = listed.first().map_or(0, |it| it.number);
        for info in listed {
            match self.snapshot(info.number).await {
                Ok(mut snapshot) => {
                    snapshot.passed_over = highest - snapshot.number;
                    if snapshot.passed_over > 0 {
                        let from = snapshot.number;
                        tracing::warn!("{damage}; going on from snapshot {from} before it");
                    }
                    return Ok(snapshot);
                }
                Err(error) if error.is_damage() => {}
                // Collected meanwhile.
                Err(SegmentError::NoSuchSnapshot { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(damage)
    }

    /// The newest snapshot, for readers: its absence is an error that says what to do.
    ///
    /// # Errors
    /// [`SegmentError::NotAnIndex`], and those of [`IndexStore::newest`].
    pub async fn require_newest(&self) -> Result<Snapshot, SegmentError> {
        if let Some(snapshot) = self.newest().await? {
            return Ok(snapshot);
        }
        let location = self.store.url().to_owned();
        let create =
            format!("create one with `limn index LAKE --index {location}`, or check the address");
        let other = "choose another --index".to_owned();
        let (found, remedy) = match self.first_object(|_| true).await? {
            None if self.is_a_file() => ("it is a file".to_owned(), other),
            None => ("nothing is there".to_owned(), create),
            Some(path) if is_ours(&path) => (
                "its first run has published nothing yet".to_owned(),
                "run `limn index` again, or wait for it".to_owned(),
            ),
            Some(path) => (format!("it holds other things, such as {path}"), other),
        };
        Err(SegmentError::NotAnIndex {
            location,
            found,
            remedy,
        })
    }

    /// Fails where a local index cannot be written, before the work whose result would be lost. A
    /// remote store shows it at the first write.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn check_writable(&self) -> Result<(), SegmentError> {
        let Some(root) = self.store.local_root() else {
            return Ok(());
        };
        let cache = root.join("cache");
        // Named like a write in progress: garbage, if we are killed before it is deleted.
        let now = chrono::Utc::now().timestamp_micros().unsigned_abs();
        let name = format!("probe#{now}{}", std::process::id());
        let mut probe = tempfile::Builder::new();
        probe.prefix(&name).rand_bytes(0);
        let made = self.store.make_folder("cache");
        let probed = made.and_then(|()| probe.tempfile_in(&cache));
        probed.map(drop).map_err(|error| {
            StoreError::new(
                StoreErrorKind::AccessDenied,
                self.store.url(),
                format!("the index cannot be written: {error}"),
                "give this user write access to it, or choose another --index",
            )
            .into()
        })
    }

    /// The newest snapshot, for writers: `None` means that the place is free for a new index.
    ///
    /// # Errors
    /// [`SegmentError::Occupied`] if there is no index but something else, and those of
    /// [`IndexStore::newest`].
    pub async fn prepare(&self) -> Result<Option<Snapshot>, SegmentError> {
        if self.store.is_read_only() {
            return Err(StoreError::new(
                StoreErrorKind::Configuration,
                self.store.url(),
                "an index cannot be written to a web server",
                "choose a folder, or an s3://, gs:// or az:// URL, for --index",
            )
            .into());
        }
        if let Some(snapshot) = self.newest().await? {
            return Ok(Some(snapshot));
        }
        let found = match self.first_object(|path| !is_ours(path)).await? {
            None if self.is_a_file() => "a file's content".to_owned(),
            None => return Ok(None),
            Some(found) => found,
        };
        Err(SegmentError::Occupied {
            location: self.store.url().to_owned(),
            found,
        })
    }

    fn is_a_file(&self) -> bool {
        self.store.local_root().is_some_and(|root| root.is_file())
    }

    /// An object of the root that fits: one from each of a few list pages at most.
    async fn first_object(&self, fits: fn(&str) -> bool) -> Result<Option<String>, SegmentError> {
        self.first_in("", |path| fits(path).then(|| path.to_owned()))
            .await
    }

    async fn first_in<T>(
        &self,
        prefix: &str,
        wanted: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, SegmentError> {
        let mut listing = self.store.list(prefix);
        while let Some(item) = listing.next().await {
            match item {
                Ok(info) => {
                    if let Some(found) = wanted(&info.path) {
                        return Ok(Some(found));
                    }
                }
                // A folder that does not exist yet holds nothing.
                Err(e) if is_absent(&e) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(None)
    }

    /// Writes a segment; its entry belongs in the next snapshot.
    ///
    /// # Errors
    /// Store errors.
    pub async fn put_segment(&self, segment: &BuiltSegment) -> Result<SegmentEntry, SegmentError> {
        self.store
            .put(&segment.entry.path, segment.bytes.clone())
            .await?;
        Ok(segment.entry.clone())
    }

    /// Writes a catalog file of one shard, under a name that none had before; its entry belongs
    /// last in the next snapshot's list.
    ///
    /// # Errors
    /// Store errors; [`SegmentError::Invalid`] if its rows point into several segments.
    pub async fn put_catalog(
        &self,
        shard: Shard,
        records: &[TableRecord],
    ) -> Result<CatalogEntry, SegmentError> {
        let segment = segment_of(records).map_err(|(one, other)| {
            SegmentError::invalid(
                "the catalog",
                format!("its rows point into {one} and {other}"),
            )
        })?;
        let bytes = write_catalog(records)?;
        let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
        let entry = CatalogEntry {
            shard,
            path: format!("catalog/{shard}/{hash:032x}.{}.parquet", nonce()),
            rows: records.len() as u64,
            bytes: bytes.len() as u64,
            segment: segment.map(str::to_owned),
        };
        self.store.put(&entry.path, bytes).await?;
        Ok(entry)
    }

    /// Writes a delete bitmap, under a name that none had before; `None` if it is empty.
    ///
    /// # Errors
    /// Store errors.
    pub async fn put_deletes(
        &self,
        deletes: &Deletes,
    ) -> Result<Option<DeletesEntry>, SegmentError> {
        if deletes.is_empty() {
            return Ok(None);
        }
        let bytes = deletes.to_bytes()?;
        let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
        let path = format!("deletes/{hash:032x}.{}.roar", nonce());
        self.store.put(&path, bytes).await?;
        Ok(Some(DeletesEntry {
            path,
            count: deletes.count(),
        }))
    }

    /// The deleted blocks of a segment.
    ///
    /// # Errors
    /// Store errors; a damaged bitmap.
    pub async fn deletes(&self, segment: &SegmentEntry) -> Result<Deletes, SegmentError> {
        let Some(entry) = &segment.deletes else {
            return Ok(Deletes::none());
        };
        let bytes = self.get_by_hash(&entry.path).await?;
        let object = self.store.object_url(&entry.path);
        let deletes = Deletes::from_bytes(&object, &bytes, segment.blocks)?;
        if deletes.count() != entry.count {
            return Err(SegmentError::damaged(
                object,
                "its count is not the snapshot's",
            ));
        }
        Ok(deletes)
    }

    /// The rows of one catalog file.
    ///
    /// # Errors
    /// Store errors; a damaged or newer file.
    pub async fn catalog(&self, entry: &CatalogEntry) -> Result<Vec<TableRecord>, SegmentError> {
        let rows = entry.rows;
        self.decoded(entry, move |object, bytes| {
            read_catalog(object, bytes, rows)
        })
        .await
    }

    /// Some columns of the rows of one catalog file; the others are empty.
    ///
    /// # Errors
    /// As [`IndexStore::catalog`].
    pub(crate) async fn catalog_columns(
        &self,
        entry: &CatalogEntry,
        columns: &'static [&'static str],
    ) -> Result<Vec<TableRecord>, SegmentError> {
        let rows = entry.rows;
        self.decoded(entry, move |object, bytes| {
            read_catalog_columns(object, bytes, rows, columns)
        })
        .await
    }

    /// What `decode` makes of a catalog file's URL and bytes, on a thread that may take its time: a
    /// file may hold some ten thousand rows.
    ///
    /// # Errors
    /// Store errors, a file that has not the content that its name says, and those of `decode`.
    pub(crate) async fn decoded<T: Send + 'static>(
        &self,
        entry: &CatalogEntry,
        decode: impl FnOnce(&str, Bytes) -> Result<T, SegmentError> + Send + 'static,
    ) -> Result<T, SegmentError> {
        let bytes = self.get_by_hash(&entry.path).await;
        let bytes = bytes.map_err(SegmentError::of_catalog)?;
        self.decode(entry, bytes, decode).await
    }

    /// As [`IndexStore::decoded`], of bytes that were read before.
    pub(crate) async fn decode<T: Send + 'static>(
        &self,
        entry: &CatalogEntry,
        bytes: Bytes,
        decode: impl FnOnce(&str, Bytes) -> Result<T, SegmentError> + Send + 'static,
    ) -> Result<T, SegmentError> {
        let object = self.store.object_url(&entry.path);
        let at = object.clone();
        // It is never closed.
        let _turn = DECODING.acquire().await;
        let decoded = tokio::task::spawn_blocking(move || decode(&at, bytes)).await;
        decoded
            .map_err(|_| SegmentError::invalid(object, "reading it panicked: a defect of limn"))?
            .map_err(SegmentError::of_catalog)
    }

    /// All rows that one catalog file has of some tables, in order.
    ///
    /// # Errors
    /// As [`IndexStore::catalog`].
    pub(crate) async fn rows_of(
        &self,
        entry: &CatalogEntry,
        tables: HashSet<TableKey>,
    ) -> Result<Vec<TableRecord>, SegmentError> {
        let rows = entry.rows;
        self.decoded(entry, move |object, bytes| {
            read_rows_of(object, bytes, rows, &tables)
        })
        .await
    }

    /// A table's row in the catalog file that holds it ([`HeldRows::file_of`] says which); one
    /// request. `None` if the file has none of this table. The row may be a tombstone.
    ///
    /// # Errors
    /// As [`IndexStore::catalog`]. A file that is not there ([`SegmentError::is_absence`]) was
    /// merged into another and collected: go on to the newest snapshot and ask again.
    pub async fn row(
        &self,
        entry: &CatalogEntry,
        table: &TableKey,
    ) -> Result<Option<TableRecord>, SegmentError> {
        let mut rows = self.rows(entry, [table.clone()].into()).await?;
        Ok(rows.remove(table))
    }

    /// As [`IndexStore::row`], of several tables of one file; one request.
    ///
    /// # Errors
    /// As [`IndexStore::row`].
    pub async fn rows(
        &self,
        entry: &CatalogEntry,
        tables: HashSet<TableKey>,
    ) -> Result<HashMap<TableKey, TableRecord>, SegmentError> {
        // Once one row of a file holds, later ones hold or not whatever was before the file; so
        // this finds the row that holds, if the file has it.
        let mut now: HashMap<TableKey, TableRecord> = HashMap::new();
        for row in self.rows_of(entry, tables).await? {
            let key = row.key();
            if row.holds_after(now.get(&key)) {
                now.insert(key, row);
            }
        }
        Ok(now)
    }

    /// The tables of a snapshot, of one lake or all, in the order of their keys.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`].
    pub async fn tables(
        &self,
        snapshot: &Snapshot,
        lake: Option<&str>,
    ) -> Result<Vec<TableRecord>, SegmentError> {
        let mut tables = self.tables_with_removed(snapshot, lake).await?;
        tables.retain(|t| !t.removed);
        Ok(tables)
    }

    /// As [`IndexStore::tables`], with tombstones.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`].
    pub async fn tables_with_removed(
        &self,
        snapshot: &Snapshot,
        lake: Option<&str>,
    ) -> Result<Vec<TableRecord>, SegmentError> {
        let mut held = HeldRows::of(lake);
        held.advance(self, snapshot).await?;
        Ok(held.into_rows())
    }

    /// Reads an object that is named by the xxh3-128 of its content, and checks it.
    pub(crate) async fn get_by_hash(&self, path: &str) -> Result<Bytes, SegmentError> {
        let bytes = self.store.get(path).await?;
        let hash = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes.as_ref()));
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.split('.').next() != Some(hash.as_str()) {
            return Err(SegmentError::damaged(
                self.store.object_url(path),
                "its content does not have the hash that is its name",
            ));
        }
        Ok(bytes)
    }
}

fn is_ours(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

pub(crate) fn is_absent(e: &StoreError) -> bool {
    e.kind() == StoreErrorKind::NotFound
}
