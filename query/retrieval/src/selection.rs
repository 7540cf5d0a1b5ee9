//! Filters: which tables a question may find.
//!
//! A [`Selection`] is made once, from whatever the caller knows of the tables, and used for any
//! number of questions. A prefix comes with a question and costs it next to nothing: tables are
//! numbered in the order of their keys, and lie in that order in each segment, so a folder is one
//! run of numbers a lake and one run of blocks a segment and lake. Both together leave what both
//! leave.
//!
//! A filter restricts candidates before they are ranked, on both sides, so k tables are found where
//! there are k. It never changes what a word is worth, and words that occur in hidden tables only
//! are known words: it is no access control. That is
//! [`Searcher::restricted`](crate::Searcher::restricted).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use limn_segment::{Deletes, KeyRef};

use crate::corpus::Corpus;
use crate::error::RetrievalError;

/// Some tables of one searcher, by [`Searcher::select`](crate::Searcher::select). Share it in an
/// `Arc`.
#[derive(Debug)]
pub struct Selection {
    /// The corpus whose numbers these are.
    corpus: u64,
    /// A bit a table.
    bits: Vec<u64>,
    count: usize,
    segments: Vec<SelectedBlocks>,
}

/// What a selection shows of a segment.
#[derive(Debug, Default)]
struct SelectedBlocks {
    /// The selected tables' blocks, in order, neighbours joined.
    blocks: Vec<Range<u32>>,
    /// The other blocks, once they are asked for.
    hidden: OnceLock<Deletes>,
}

impl Selection {
    /// The tables with these numbers; numbers that no table has are left out.
    pub(crate) fn new(corpus: &Corpus, numbers: impl Iterator<Item = u32>) -> Selection {
        let mut bits = vec![0u64; corpus.tables.len().div_ceil(64)];
        for number in numbers.filter(|number| (*number as usize) < corpus.tables.len()) {
            bits[number as usize / 64] |= 1 << (number % 64);
        }
        let mut selection = Selection {
            corpus: corpus.id,
            count: bits.iter().map(|word| word.count_ones() as usize).sum(),
            bits,
            segments: Vec::new(),
        };
        selection
            .segments
            .resize_with(corpus.segments.len(), SelectedBlocks::default);
        for (number, table) in corpus.tables.iter().enumerate() {
            if !selection.contains(number as u32) {
                continue;
            }
            // Within a segment blocks come in the order of their tables' numbers.
            let blocks = &mut selection.segments[corpus.segment_number(table)].blocks;
            let own = corpus.range_of(table);
            match blocks.last_mut() {
                Some(last) if last.end == own.start => last.end = own.end,
                _ => blocks.push(own),
            }
        }
        selection
    }

    /// The number of selected tables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no table is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the table with this number (in the searcher that made the selection) is selected.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        let word = self.bits.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// An error where the selection is of another searcher: its numbers would mean other tables.
    pub(crate) fn check(&self, corpus: &Corpus) -> Result<(), RetrievalError> {
        if self.corpus == corpus.id {
            return Ok(());
        }
        Err(RetrievalError::OtherSelection)
    }
}

/// The tables that one question may find.
pub(crate) struct Filter<'a> {
    corpus: &'a Corpus,
    selection: Option<&'a Selection>,
    folder: Option<Folder<'a>>,
}

/// The tables that a prefix names.
struct Folder<'a> {
    prefix: &'a str,
    /// Their numbers, in order.
    numbers: Vec<Range<u32>>,
}

impl<'a> Filter<'a> {
    /// `None` where nothing is to be left out.
    ///
    /// # Errors
    /// A selection of another searcher.
    pub(crate) fn new(
        corpus: &'a Corpus,
        selection: Option<&'a Selection>,
        prefix: Option<&'a str>,
    ) -> Result<Option<Filter<'a>>, RetrievalError> {
        if let Some(selection) = selection {
            selection.check(corpus)?;
        }
        let folder = prefix.map(|prefix| {
            let key = |number: usize| corpus.key(&corpus.tables[number]);
            let numbers = under(corpus.tables.len(), key, prefix).into_iter();
            Folder {
                prefix,
                numbers: numbers.map(|r| r.start as u32..r.end as u32).collect(),
            }
        });
        Ok((selection.is_some() || folder.is_some()).then_some(Filter {
            corpus,
            selection,
            folder,
        }))
    }

    /// Whether a table may be found.
    pub(crate) fn allows(&self, table: u32) -> bool {
        let in_folder = |folder: &Folder| {
            let after = folder.numbers.partition_point(|range| range.end <= table);
            let range = folder.numbers.get(after);
            range.is_some_and(|range| range.contains(&table))
        };
        self.selection.is_none_or(|s| s.contains(table))
            && self.folder.as_ref().is_none_or(in_folder)
    }

    /// What there is to say where no table is left.
    pub(crate) fn nothing_left(&self) -> Option<String> {
        match (&self.folder, self.selection) {
            (Some(Folder { prefix, numbers }), _) if numbers.is_empty() => {
                Some(format!("no table lies under '{prefix}'"))
            }
            (_, Some(selection)) if selection.is_empty() => {
                Some("the filter leaves no table".to_owned())
            }
            (Some(Folder { prefix, numbers }), Some(selection)) => {
                let mut numbers = numbers.iter().cloned().flatten();
                let is_none = !numbers.any(|number| selection.contains(number));
                is_none.then(|| format!("the filter leaves no table under '{prefix}'"))
            }
            _ => None,
        }
    }

    /// Where a question looked, to follow "nothing relevant was found".
    pub(crate) fn place(&self) -> String {
        let folder = self.folder.as_ref().map(|folder| folder.prefix);
        match (folder, self.selection) {
            (Some(prefix), None) => format!(" under '{prefix}'"),
            (None, _) => " among the tables that the filter leaves".to_owned(),
            (Some(prefix), Some(_)) => {
                format!(" under '{prefix}' among the tables that the filter leaves")
            }
        }
    }

    /// The blocks of a segment that may be found, deleted ones of their tables included.
    pub(crate) fn blocks(&self, segment: usize) -> Cow<'_, [Range<u32>]> {
        let selected = self.selection.map(|s| &s.segments[segment].blocks[..]);
        let Some(folder) = &self.folder else {
            return Cow::Borrowed(selected.unwrap_or_default());
        };
        let tables = self.corpus.segments[segment].reader.tables();
        let below = under(tables.len(), |at| tables.at(at).key, folder.prefix);
        let below = below
            .into_iter()
            .map(|range| tables.blocks(range.start).start..tables.blocks(range.end - 1).end);
        let below: Vec<Range<u32>> = below.collect();
        Cow::Owned(match selected {
            Some(selected) => common(selected, &below),
            None => below,
        })
    }

    /// The blocks of a segment that may not be found, given those that may.
    pub(crate) fn hidden(&self, segment: usize, blocks: &[Range<u32>]) -> Cow<'_, Deletes> {
        match (&self.folder, self.selection) {
            (None, Some(selection)) => {
                let hidden = &selection.segments[segment].hidden;
                Cow::Borrowed(hidden.get_or_init(|| others(self.corpus, segment, blocks)))
            }
            _ => Cow::Owned(others(self.corpus, segment, blocks)),
        }
    }
}

/// All blocks of a segment but the live ones among these.
fn others(corpus: &Corpus, segment: usize, blocks: &[Range<u32>]) -> Deletes {
    let segment = &corpus.segments[segment];
    let mut hidden = Deletes::clone(&segment.hidden);
    let mut from = 0;
    for range in blocks {
        hidden.delete_table(from, range.start - from);
        from = range.end;
    }
    hidden.delete_table(from, segment.reader.block_count() - from);
    hidden
}

/// The places of the tables that lie under a path, in `count` keys that are sorted: none is empty.
fn under<'k>(count: usize, key: impl Fn(usize) -> KeyRef<'k>, path: &str) -> Vec<Range<usize>> {
    let path = path.trim_matches('/');
    let mut found = Vec::new();
    let mut start = 0;
    while start < count {
        let lake = key(start).lake;
        let end = first(start..count, |at| key(at).lake > lake);
        if path.is_empty() {
            found.push(start..end);
        } else {
            let from = |name: &str| first(start..end, |at| key(at).name >= name);
            // The table of this very name, and what lies below it: '0' comes after '/'.
            let same = from(path);
            let is_same = same < end && key(same).name == path;
            found.push(same..same + usize::from(is_same));
            found.push(from(&format!("{path}/"))..from(&format!("{path}0")));
        }
        start = end;
    }
    found.retain(|range| !range.is_empty());
    found
}

/// The first place of a range from which on something holds, or its end.
fn first(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// What two lists of ranges have in common; all are in order and apart.
fn common(many: &[Range<u32>], few: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut found = Vec::new();
    for window in few {
        let from = many.partition_point(|range| range.end <= window.start);
        let inside = many[from..]
            .iter()
            .take_while(|range| range.start < window.end);
        found.extend(inside.map(|r| r.start.max(window.start)..r.end.min(window.end)));
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use limn_segment::{TableKey, is_under};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The runs of numbers are what `is_under` says table by table.
        #[test]
        fn a_folder_is_a_few_runs_of_numbers(
            mut keys in prop::collection::btree_set(("[ab]", "[ab/0.-]{1,5}"), 0..40),
            path in "[ab/0.-]{0,3}",
        ) {
            keys.retain(|(_, name)| !name.is_empty());
            let keys: Vec<TableKey> = keys
                .into_iter()
                .map(|(lake, name)| TableKey { lake, name })
                .collect();
            let runs = under(keys.len(), |at| keys[at].borrowed(), &path);
            let found: Vec<usize> = runs.into_iter().flatten().collect();
            let expected = (0..keys.len()).filter(|at| is_under(&keys[*at].name, &path));
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }

        #[test]
        fn what_is_common_to_two_lists_of_ranges(a in ranges(), b in ranges()) {
            let numbers = |ranges: &[Range<u32>]| -> Vec<u32> {
                ranges.iter().cloned().flatten().collect()
            };
            let mut expected = numbers(&a);
            expected.retain(|number| numbers(&b).contains(number));
            prop_assert_eq!(numbers(&common(&a, &b)), expected);
        }
    }

    fn ranges() -> impl Strategy<Value = Vec<Range<u32>>> {
        prop::collection::btree_set(0u32..40, 0..20).prop_map(|ends| {
            let ends: Vec<u32> = ends.into_iter().collect();
            ends.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
        })
    }
}
