//! The hashes of a file's values while it is read: packed lists that its columns share room for.
//!
//! Together they may be `most` long. Where they are longer, the longest alone are cut to one
//! length, each to its lowest hashes. More values make that length less and never greater, so what
//! is cut on the way would not have been kept, and what is kept is a function of the sets of
//! values. Values that are written like fractions and dates have lists and room of their own: most
//! are let go of at the end, when it is known what their columns hold.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    KeptValues, LONG_ONES, LONGEST, ValueHashes, is_sought, is_within, longest, looked_up_by,
};
use crate::data_type::DataType;
use crate::infer::classify;
use crate::privacy::is_private;
use crate::value_key::HASH_BITS;

/// Hashes that wait to be packed, at least.
const WAITING: usize = 64;
/// As a share of those that are packed: one in so many waits, or is above what may be.
const SLACK: usize = 4;

/// The hashes of a file's values while it is read. A clone is of the same file.
#[derive(Clone, Debug, Default)]
pub struct FileValues(Option<Arc<Mutex<Collected>>>);

#[derive(Debug)]
struct Collected {
    kept: KeptValues,
    columns: usize,
    /// Values that are written like texts and whole numbers.
    sought: Lists,
    /// Values that are written like what is not looked up.
    others: Lists,
}

impl FileValues {
    /// Those of a file, of which so much is kept.
    #[must_use]
    pub fn new(kept: KeptValues) -> FileValues {
        let collected = || Collected {
            kept,
            columns: 0,
            sought: Lists::of(kept.most),
            others: Lists::of(kept.most),
        };
        FileValues((kept.most > 0).then(|| Arc::new(Mutex::new(collected()))))
    }

    /// Collects those of the next column; `None` where nothing is to be kept.
    pub(crate) fn collector(&self) -> Option<Box<HashCollector>> {
        let file = Arc::clone(self.0.as_ref()?);
        let (column, hides_personal) = {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.columns += 1;
            (file.columns - 1, file.kept.hides_personal)
        };
        Some(Box::new(HashCollector {
            file,
            column,
            hides_personal,
            long: 0,
            taken: 0,
        }))
    }
}

/// Collects the hashes of one column's values.
#[derive(Debug)]
pub(crate) struct HashCollector {
    file: Arc<Mutex<Collected>>,
    column: usize,
    hides_personal: bool,
    /// Values that were too long.
    long: u64,
    taken: u64,
}

impl HashCollector {
    /// Takes a value, of whatever type the column is so far.
    pub(crate) fn add(&mut self, value: &str) {
        self.taken += 1;
        if value.len() > LONGEST {
            self.long += 1;
            return;
        }
        if self.hides_personal && is_private(value) {
            return;
        }
        let Some(hash) = looked_up_by(value) else {
            return;
        };
        let is_sought = is_sought(&classify(value));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match is_sought {
            true => file.sought.add(self.column, hash),
            false => file.others.add(self.column, hash),
        }
    }

    /// The list of a column that turned out to be of this type; `None` where it holds nothing that
    /// is looked up. No column of the file is added to after the first has finished.
    pub(crate) fn finish(self, data_type: &DataType) -> Option<ValueHashes> {
        let (sought, others) = {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            (file.sought.take(self.column), file.others.take(self.column))
        };
        let is_free_text = self.long * LONG_ONES > self.taken;
        if !is_sought(data_type) || is_free_text {
            return None;
        }
        let depth = sought.depth().max(others.depth());
        let mut hashes = sought.read();
        hashes.extend(others.read());
        hashes.retain(|hash| is_within(*hash, depth));
        hashes.sort_unstable();
        hashes.dedup();
        (!hashes.is_empty()).then(|| ValueHashes::new(&hashes, depth))
    }
}

/// Lists of columns that share room.
#[derive(Debug)]
struct Lists {
    most: usize,
    lists: Vec<List>,
    /// Their lengths together.
    held: usize,
    /// What the longest were cut to.
    longest: usize,
    is_settled: bool,
}

impl Lists {
    fn of(most: u32) -> Lists {
        Lists {
            most: most as usize,
            lists: Vec::new(),
            held: 0,
            longest: usize::MAX,
            is_settled: false,
        }
    }

    fn add(&mut self, column: usize, hash: u64) {
        if self.lists.len() <= column {
            self.lists.resize_with(column + 1, List::default);
        }
        let Some(list) = self.lists.get_mut(column).filter(|it| hash < it.below()) else {
            return;
        };
        self.is_settled = false;
        list.waiting.push(hash);
        if list.waiting.len() >= WAITING.max(list.length / SLACK) {
            self.held -= list.length;
            list.pack(usize::MAX);
            self.held += list.length;
            if self.held > self.most + self.most / SLACK {
                self.settle();
            }
        }
    }

    /// Cuts the longest lists.
    fn settle(&mut self) {
        self.lists.iter_mut().for_each(|list| list.pack(usize::MAX));
        let lengths = self.lists.iter().map(|list| list.length);
        self.longest = self.longest.min(longest(lengths, self.most));
        let longest = self.longest;
        let long = self.lists.iter_mut().filter(|it| it.length > longest);
        long.for_each(|list| list.pack(longest));
        self.held = self.lists.iter().map(|list| list.length).sum();
        self.is_settled = true;
    }

    fn take(&mut self, column: usize) -> List {
        if !self.is_settled {
            self.settle();
        }
        self.lists
            .get_mut(column)
            .map(std::mem::take)
            .unwrap_or_default()
    }
}

/// Hashes of a column: all there are below some number.
#[derive(Debug, Default)]
struct List {
    packed: Option<ValueHashes>,
    length: usize,
    waiting: Vec<u64>,
    /// The least hash that was left out.
    cut: Option<u64>,
}

impl List {
    fn below(&self) -> u64 {
        self.cut.unwrap_or(1 << HASH_BITS)
    }

    /// The least depth at which nothing was left out.
    fn depth(&self) -> u32 {
        let is_whole = |depth: &u32| 1 << (HASH_BITS - depth) <= self.below();
        (0..HASH_BITS).find(is_whole).unwrap_or(HASH_BITS)
    }

    fn read(&self) -> Vec<u64> {
        let packed = self.packed.as_ref();
        // They were packed here.
        packed.and_then(|it| it.read().ok()).unwrap_or_default()
    }

    /// Packs those that wait, and leaves the lowest of all.
    fn pack(&mut self, longest: usize) {
        if self.waiting.is_empty() && self.length <= longest {
            return;
        }
        let mut hashes = self.read();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        hashes.append(&mut waiting);
        // Two runs are merged.
        hashes.sort();
        hashes.dedup();
        if let Some(cut) = hashes.get(longest) {
            self.cut = Some(*cut);
            hashes.truncate(longest);
        }
        self.length = hashes.len();
        let last = hashes.last().copied().unwrap_or_default();
        let depth = (0..HASH_BITS).rev().find(|depth| is_within(last, *depth));
        self.packed = Some(ValueHashes::new(&hashes, depth.unwrap_or_default()));
    }
}
