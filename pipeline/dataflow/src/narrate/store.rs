//! The narrations that there are: what models have said, in the index, so that they are asked once.
//!
//! Nothing is read before the first table is described, so an unchanged lake reads nothing. A
//! session keeps what it has read, and reads files that are new. New narrations are written in
//! small files as they come, and always before an epoch is published whose texts hold them: a
//! published text is a stored one. At its end a run merges its files into one, which is written
//! before they are deleted; so another run at the same time, of this lake or another, finds every
//! narration in one place at least.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use limn_segment::{IndexStore, NarrationRecord, Narrator};

use super::ContextId;
use crate::error::PipelineError;

/// How often a listing is read again because files were merged away meanwhile.
const LISTINGS: usize = 8;
/// From so many files of a narrator on, a run merges small files of others with its own: what
/// killed runs and many short ones have left.
const MANY_FILES: usize = 24;
/// The longest file that counts as small.
const SMALL_FILE: u64 = 1 << 20;

/// What a model said of a column: `None` if it gave no description.
pub type Narration = Option<String>;

/// The narrations of one narrator; shared by the workers of a process.
pub struct NarrationStore {
    index: IndexStore,
    narrator: Narrator,
    /// Distinguishes this session's files from those of others.
    run: String,
    /// Whether other processes of the run have such a store too.
    is_shared: bool,
    /// Whether this round has looked for files.
    is_loaded: AtomicBool,
    /// Files that are read.
    read: tokio::sync::Mutex<HashSet<String>>,
    state: Mutex<State>,
    /// Held while a file is written: its path is this run's then.
    written: tokio::sync::Mutex<Vec<String>>,
}

#[derive(Default)]
struct State {
    known: HashMap<ContextId, HashMap<u32, Narration>>,
    unwritten: Vec<NarrationRecord>,
    /// Whether narrations were let go of.
    is_thinned: bool,
}

impl NarrationStore {
    /// The narrations of `narrator` in `index`. `run` is the process's own random text for the run;
    /// `is_shared` says whether there are other processes.
    pub fn new(index: IndexStore, narrator: Narrator, run: String, is_shared: bool) -> Self {
        Self {
            index,
            narrator,
            run,
            is_shared,
            is_loaded: AtomicBool::new(false),
            read: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            written: tokio::sync::Mutex::default(),
        }
    }

    /// Who narrates.
    pub fn narrator(&self) -> &Narrator {
        &self.narrator
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a round: what others have written since the last one is read when it is looked for.
    pub async fn begin(&self) {
        let (mut read, mut written) = (self.read.lock().await, self.written.lock().await);
        self.is_loaded.store(false, Ordering::Release);
        // What one round has merged stays as it is.
        written.clear();
        let mut state = self.state();
        if std::mem::take(&mut state.is_thinned) {
            read.clear();
            state.known.clear();
        }
    }

    /// What is known of a context's columns, in order; `None` for those never narrated. Reads the
    /// index at the first call.
    ///
    /// # Errors
    /// The index cannot be read, or a file is damaged.
    pub async fn look_up(
        &self,
        context: ContextId,
        columns: usize,
    ) -> Result<Vec<Option<Narration>>, PipelineError> {
        if !self.is_loaded.load(Ordering::Acquire) {
            let mut read = self.read.lock().await;
            if !self.is_loaded.load(Ordering::Acquire) {
                self.load(&mut read).await?;
            }
        }
        Ok(self.known(context, columns))
    }

    /// What is known of one column, once something was looked up.
    pub fn known_column(&self, context: ContextId, column: u32) -> Option<Narration> {
        self.state().known.get(&context)?.get(&column).cloned()
    }

    /// As [`look_up`](Self::look_up), once something was looked up.
    pub fn known(&self, context: ContextId, columns: usize) -> Vec<Option<Narration>> {
        let state = self.state();
        let known = state.known.get(&context);
        (0..columns)
            .map(|column| known?.get(&u32::try_from(column).ok()?).cloned())
            .collect()
    }

    /// Before texts with narrations go to other processes of the run, one of which publishes them:
    /// writes what is not written.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn share(&self) -> Result<(), PipelineError> {
        if self.is_shared {
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads what other processes of the run have written since the first look-up.
    ///
    /// # Errors
    /// As [`look_up`](Self::look_up).
    pub async fn refresh(&self) -> Result<(), PipelineError> {
        if self.is_shared {
            self.load(&mut *self.read.lock().await).await?;
        }
        Ok(())
    }

    async fn load(&self, read: &mut HashSet<String>) -> Result<(), PipelineError> {
        for _ in 0..LISTINGS {
            let mut is_missing = false;
            for (path, _) in self.index.narration_files(&self.narrator).await? {
                if read.contains(&path) {
                    continue;
                }
                match self.index.narrations(&self.narrator, &path).await? {
                    Some(records) => {
                        self.take_in(records);
                        read.insert(path);
                    }
                    // Merged into another file, which a new listing names.
                    None => is_missing = true,
                }
            }
            if !is_missing {
                break;
            }
        }
        tracing::debug!(files = read.len(), "narrations read");
        self.is_loaded.store(true, Ordering::Release);
        Ok(())
    }

    /// Of two narrations of one column, which only two runs at the same time can make, the lesser
    /// one holds, whatever file is read first.
    fn take_in(&self, records: Vec<NarrationRecord>) {
        let mut state = self.state();
        for record in records {
            let context = state.known.entry(ContextId(record.context)).or_default();
            match context.get_mut(&record.position) {
                Some(known) => {
                    if record.narration < *known {
                        *known = record.narration;
                    }
                }
                None => {
                    context.insert(record.position, record.narration);
                }
            }
        }
    }

    /// Keeps a narration; it is written with the next [`flush`](Self::flush). Returns how many wait
    /// to be written.
    pub fn record(&self, record: NarrationRecord) -> usize {
        let mut state = self.state();
        let context = state.known.entry(ContextId(record.context)).or_default();
        context.insert(record.position, record.narration.clone());
        state.unwritten.push(record);
        state.unwritten.len()
    }

    /// Drops all narrations but those of these contexts; afterwards no other may be looked up.
    pub fn retain(&self, contexts: &HashSet<ContextId>) {
        let mut state = self.state();
        state.is_thinned = true;
        state.known.retain(|context, _| contexts.contains(context));
        state.known.shrink_to_fit();
    }

    /// Writes what was recorded since the last time, if anything was.
    ///
    /// # Errors
    /// The index cannot be written; what was to be written is kept.
    pub async fn flush(&self) -> Result<(), PipelineError> {
        // Whoever waits here returns when all that it recorded is written.
        let mut written = self.written.lock().await;
        let mut records = std::mem::take(&mut self.state().unwritten);
        if records.is_empty() {
            return Ok(());
        }
        records.sort();
        match self.put(&records).await {
            Ok(path) => {
                written.push(path);
                Ok(())
            }
            Err(error) => {
                self.state().unwritten.append(&mut records);
                Err(error)
            }
        }
    }

    async fn put(&self, records: &[NarrationRecord]) -> Result<String, PipelineError> {
        let put = self
            .index
            .put_narrations(&self.narrator, &self.run, records);
        Ok(put.await?)
    }

    /// Writes what is left and merges this run's files into one.
    ///
    /// # Errors
    /// The index cannot be written. No narration is lost then.
    pub async fn finish(&self) -> Result<(), PipelineError> {
        self.flush().await?;
        let mut written = self.written.lock().await;
        if written.is_empty() {
            return Ok(());
        }
        let mut parts: HashSet<String> = written.iter().cloned().collect();
        let files = self.index.narration_files(&self.narrator).await?;
        if files.len() - parts.len().min(files.len()) >= MANY_FILES {
            let small = files.into_iter().filter(|(_, bytes)| *bytes <= SMALL_FILE);
            parts.extend(small.map(|(path, _)| path));
        }
        if parts.len() < 2 {
            return Ok(());
        }
        let mut records = Vec::new();
        for path in &parts {
            // A missing file was merged by another run: its narrations are in that run's file.
            let read = self.index.narrations(&self.narrator, path).await?;
            records.extend(read.into_iter().flatten());
        }
        records.sort();
        records.dedup_by_key(|record| (record.context, record.position));
        let merged = self.put(&records).await?;
        for path in parts.iter().filter(|path| **path != merged) {
            self.index.remove_narrations(path).await?;
        }
        *written = vec![merged];
        Ok(())
    }
}

#[cfg(test)]
mod tests;
