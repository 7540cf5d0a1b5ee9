//! A bounded cache on disk of the segments of remote indexes.
//!
//! What a reader fetches of a segment goes into a file of the cache's folder and survives the
//! process: a segment never changes and is named by its content's hash, so the next process takes
//! the file as it is, and each chunk is verified again when it is first touched. A chunk that is
//! missing, half-written or damaged does not have its checksum and is fetched; nothing else records
//! which chunks there are.
//!
//! When the limit would be passed, the segment that was not used for longest gives its bytes back;
//! one that is open keeps its *hot* part, which opening needs, and may be asked again at once.
//! Nobody's bytes are pulled away: the file gets a successor with the hot part alone
//! ([`ChunkedFile::renew`]), and lives on, without a name, until the last slice of it is dropped.
//! What a reader keeps for long (term dictionaries) belongs to the file that it was read from and
//! goes with it, so only a question that is being answered holds an old file.
//!
//! Where the disk has no room, or cannot be written for another reason, segments are read past the
//! cache: what is wanted is fetched and handed out, and not kept. After a while it is tried again.
//!
//! The limit bounds the files that have names. It is passed where the hot parts of the open
//! segments alone are more, and by what one read needs at once.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::cache_folder::{Slot, Unnamed, id_of};
use crate::chunks::ChunkedFile;
use crate::error::SegmentError;

/// A disk that could not be written is tried again after so much time.
const PAUSE: Duration = Duration::from_secs(10);

/// A bounded cache on disk of remote segments. Cheap to clone; all clones are one cache.
///
/// Processes may share a folder: each has files of its own there, and a limit of its own.
#[derive(Clone)]
pub struct SegmentCache {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    slot: Slot,
    limit: u64,
    /// Counts reads from the store: the time by which the least recently used is found.
    clock: AtomicU64,
    generations: AtomicU64,
    state: Mutex<State>,
    /// When the disk could not be written, if that was the last that was heard of it.
    failed: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct State {
    /// Bytes of all files that have names.
    total: u64,
    files: HashMap<u128, Kept>,
}

/// A segment's file.
struct Kept {
    bytes: u64,
    /// The part of them that stays while the segment is open.
    hot: u64,
    /// Which of the files that the segment had one after the other.
    generation: u64,
    used: Arc<AtomicU64>,
    open: Weak<ChunkedFile>,
}

/// What an open segment knows of its place in a cache.
#[derive(Clone)]
pub(crate) struct Place {
    cache: SegmentCache,
    id: u128,
    used: Arc<AtomicU64>,
}

/// A file that gives its bytes back: there has to be a successor of this generation.
struct Evicted {
    file: Arc<ChunkedFile>,
    id: u128,
    before: u64,
    after: u64,
    bytes: u64,
}

impl fmt::Debug for SegmentCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentCache")
            .field("folder", &self.inner.root)
            .field("limit", &self.inner.limit)
            .field("bytes", &self.bytes())
            .finish()
    }
}

impl SegmentCache {
    /// Opens the cache in a folder, which is made if it is not there (for this user alone, mode
    /// 0700), with what earlier processes left in it. `limit` is in bytes.
    ///
    /// # Errors
    /// [`SegmentError::Io`] if the folder cannot be made, written to or locked.
    pub fn open(folder: &Path, limit: u64) -> Result<SegmentCache, SegmentError> {
        let explain = |error| {
            let at = folder.display();
            SegmentError::io(format!("the cache of segments at {at}"), error)
        };
        let slot = Slot::take(folder).map_err(explain)?;
        let mut found = slot.scan().map_err(explain)?;
        found.sort_by_key(|it| it.modified);
        let mut state = State::default();
        for (at, it) in (0..).zip(&found) {
            state.total += it.bytes;
            let kept = Kept {
                bytes: it.bytes,
                hot: 0,
                generation: 0,
                used: Arc::new(AtomicU64::new(at)),
                open: Weak::new(),
            };
            state.files.insert(it.id, kept);
        }
        let cache = SegmentCache {
            inner: Arc::new(Inner {
                root: folder.to_owned(),
                slot,
                limit,
                clock: AtomicU64::new(found.len() as u64),
                generations: AtomicU64::new(1),
                state: Mutex::new(state),
                failed: Mutex::new(None),
            }),
        };
        let evicted = cache.make_room(&mut cache.state(), 0, None);
        cache.renew(evicted);
        Ok(cache)
    }

    /// The folder that it was opened in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.root
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }

    /// Bytes of the files that have names now.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.state().total
    }

    /// Whether its disk could be written when that was last tried. Where it could not, segments are
    /// read past the cache.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.failed().is_none()
    }

    fn failed(&self) -> MutexGuard<'_, Option<Instant>> {
        // A poisoned lock guards a moment.
        let failed = self.inner.failed.lock();
        failed.unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk plays a full one.
    #[cfg(test)]
    pub(crate) fn fill_the_disk(&self, is_full: bool) {
        self.inner.slot.is_full.store(is_full, Ordering::Relaxed);
    }

    /// The next write is tried at once.
    #[cfg(test)]
    pub(crate) fn let_time_pass(&self) {
        let mut failed = self.failed();
        *failed = failed.and_then(|at| at.checked_sub(PAUSE));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock guards counts; nothing in it panics halfway.
        let state = self.inner.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of the segment at a path; `None` if the path is no segment's.
    pub(crate) fn place(&self, path: &str) -> Option<Place> {
        let id = id_of(path.rsplit('/').next()?.strip_suffix(".seg")?)?;
        let now = self.inner.clock.load(Ordering::Relaxed);
        let state = self.state();
        let known = state.files.get(&id).map(|kept| Arc::clone(&kept.used));
        Some(Place {
            cache: self.clone(),
            id,
            used: known.unwrap_or_else(|| Arc::new(AtomicU64::new(now))),
        })
    }

    /// A number that no file had yet.
    pub(crate) fn next_generation(&self) -> u64 {
        self.inner.generations.fetch_add(1, Ordering::Relaxed)
    }

    /// Lets the least recently used go until there is room for `bytes` more, but for those of
    /// `except`.
    fn make_room(&self, state: &mut State, bytes: u64, except: Option<u128>) -> Vec<Evicted> {
        let mut evicted = Vec::new();
        while state.total.saturating_add(bytes) > self.inner.limit {
            let others = state.files.iter().filter(|(id, _)| Some(**id) != except);
            let cold = others.filter(|(_, it)| it.bytes > it.hot || it.open.strong_count() == 0);
            let oldest = cold.min_by_key(|(_, it)| it.used.load(Ordering::Relaxed));
            let Some(id) = oldest.map(|(id, _)| *id) else {
                break;
            };
            evicted.extend(self.evict(state, id));
        }
        evicted
    }

    /// Takes a file's bytes off the count. One that is open has to be renewed, another is deleted
    /// at once.
    fn evict(&self, state: &mut State, id: u128) -> Option<Evicted> {
        let kept = state.files.get_mut(&id)?;
        if let Some(file) = kept.open.upgrade() {
            let before = kept.generation;
            kept.generation = self.next_generation();
            let bytes = kept.bytes - kept.hot;
            kept.bytes = kept.hot;
            state.total -= bytes;
            return Some(Evicted {
                file,
                id,
                before,
                after: kept.generation,
                bytes,
            });
        }
        state.total -= kept.bytes;
        state.files.remove(&id);
        if let Err(error) = self.inner.slot.remove(id) {
            let folder = self.inner.slot.folder().display();
            tracing::warn!(%error, %folder, "a file of the segment cache cannot be removed");
        }
        None
    }

    /// Gives files that gave their bytes back their successors. Not under the lock: it writes.
    fn renew(&self, evicted: Vec<Evicted>) {
        for it in evicted {
            let Err(error) = it.file.renew(it.after) else {
                continue;
            };
            let folder = self.inner.slot.folder().display();
            tracing::warn!(%error, %folder, "a file of the segment cache cannot be made smaller");
            let mut state = self.state();
            if let Some(kept) = state.files.get_mut(&it.id)
                && kept.generation == it.after
            {
                kept.generation = it.before;
                kept.bytes += it.bytes;
                state.total += it.bytes;
            }
        }
    }
}

impl Place {
    /// Remembers that the segment is used now.
    pub(crate) fn touch(&self) {
        let now = self.cache.inner.clock.load(Ordering::Relaxed);
        // Most touches come between two reads from the store, and need no write to shared memory.
        if self.used.load(Ordering::Relaxed) != now {
            self.used.store(now, Ordering::Relaxed);
        }
    }

    /// Whether it is no use to write now: that failed a moment ago.
    pub(crate) fn is_paused(&self) -> bool {
        let failed = *self.cache.failed();
        failed.is_some_and(|at| at.elapsed() < PAUSE)
    }

    /// The disk could not be written.
    pub(crate) fn failed(&self, error: &io::Error) {
        let is_news = self.cache.failed().replace(Instant::now()).is_none();
        if is_news {
            let folder = self.cache.inner.slot.folder().display();
            tracing::warn!(
                %error, %folder,
                "the segment cache cannot be written, and segments are read past it: make room on its disk, lower its limit, or choose another folder"
            );
        }
    }

    fn succeeded(&self) {
        if self.cache.failed().take().is_some() {
            let folder = self.cache.inner.slot.folder().display();
            tracing::warn!(%folder, "the segment cache is written again");
        }
    }

    /// Writes a part of a file of the cache. A full disk may be full of what this cache holds: all
    /// other segments give their bytes back then, once.
    pub(crate) fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let write = || self.cache.inner.slot.write(file, bytes, at);
        let mut written = write();
        if written.is_err() && self.cache.is_written() {
            self.free_others();
            written = write();
        }
        match &written {
            Ok(()) => self.succeeded(),
            Err(error) => self.failed(error),
        }
        written
    }

    pub(crate) fn next_generation(&self) -> u64 {
        self.cache.next_generation()
    }

    /// The segment's file, if it is open already.
    pub(crate) fn opened(&self) -> Option<Arc<ChunkedFile>> {
        self.cache.state().files.get(&self.id)?.open.upgrade()
    }

    /// The segment's file, if there is one of this length.
    pub(crate) fn existing(&self, size: u64) -> Option<File> {
        self.cache.inner.slot.existing(self.id, size)
    }

    /// A file with nothing but the tail, without a name.
    pub(crate) fn fresh(&self, size: u64, from: u64, tail: &[u8]) -> io::Result<Unnamed> {
        self.cache.inner.slot.fresh(size, from, tail)
    }

    /// Names a file that takes the place of another.
    pub(crate) fn name(&self, fresh: &mut Unnamed) -> io::Result<()> {
        self.cache.inner.slot.name(self.id, fresh)
    }

    /// Enters an open file of this generation, which is `fresh` or the one that exists; gives the
    /// one that was entered before if that is open still.
    pub(crate) fn enter(
        &self,
        file: Arc<ChunkedFile>,
        generation: u64,
        hot: u64,
        fresh: Option<Unnamed>,
    ) -> io::Result<Arc<ChunkedFile>> {
        let is_fresh = fresh.is_some();
        let evicted = {
            let mut state = self.cache.state();
            let known = state.files.get(&self.id);
            if let Some(other) = known.and_then(|kept| kept.open.upgrade()) {
                return Ok(other);
            }
            let known = known.map_or(0, |kept| kept.bytes);
            if let Some(mut fresh) = fresh {
                self.cache.inner.slot.name(self.id, &mut fresh)?;
            }
            let bytes = if is_fresh { hot } else { known.max(hot) };
            state.total = state.total - known + bytes;
            let kept = Kept {
                bytes,
                hot,
                generation,
                used: Arc::clone(&self.used),
                open: Arc::downgrade(&file),
            };
            state.files.insert(self.id, kept);
            self.touch();
            self.cache.make_room(&mut state, 0, Some(self.id))
        };
        self.cache.renew(evicted);
        Ok(file)
    }

    /// Counts `bytes` that are about to be written to the file of this generation, and makes room
    /// for them. `false` if the file itself has to give its bytes back for that, which it then has
    /// done: go on with its successor.
    pub(crate) fn reserve(&self, generation: u64, bytes: u64, may_evict_itself: bool) -> bool {
        self.cache.inner.clock.fetch_add(1, Ordering::Relaxed);
        self.touch();
        let (mut evicted, mut is_granted) = (Vec::new(), true);
        {
            let mut state = self.cache.state();
            let is_current = |state: &State| {
                let kept = state.files.get(&self.id);
                kept.is_some_and(|kept| kept.generation == generation)
            };
            // A file that lost its name is deleted soon, with whatever is written to it.
            if is_current(&state) {
                evicted = self.cache.make_room(&mut state, bytes, Some(self.id));
                let kept = state.files.get(&self.id);
                let is_cold = kept.is_some_and(|kept| kept.bytes > kept.hot);
                let is_full = state.total.saturating_add(bytes) > self.cache.inner.limit;
                if is_full && is_cold && may_evict_itself {
                    evicted.extend(self.cache.evict(&mut state, self.id));
                    is_granted = false;
                } else if let Some(kept) = state.files.get_mut(&self.id) {
                    kept.bytes += bytes;
                    state.total += bytes;
                }
            }
        }
        self.cache.renew(evicted);
        is_granted
    }

    /// Takes bytes off the count that were reserved and not written.
    pub(crate) fn release(&self, generation: u64, bytes: u64) {
        let mut state = self.cache.state();
        if let Some(kept) = state.files.get_mut(&self.id)
            && kept.generation == generation
        {
            let bytes = bytes.min(kept.bytes - kept.hot);
            kept.bytes -= bytes;
            state.total -= bytes;
        }
    }

    /// Lets all other segments give their bytes back.
    fn free_others(&self) {
        let evicted = {
            let mut state = self.cache.state();
            self.cache.make_room(&mut state, u64::MAX, Some(self.id))
        };
        self.cache.renew(evicted);
    }
}
