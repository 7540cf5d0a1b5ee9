//! Where files and contexts are among the rows, by short hashes: lists that are made when something
//! is looked for, which is seldom in a run that finds nothing changed.

use std::sync::{Arc, OnceLock};

use super::row::Row;

/// A hash, the number of a row, and the place of a file or context in it. In ascending order.
type Sorted = Box<[(u64, u32, u32)]>;

/// The rows, and where things are in them.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// In the order of their names.
    rows: Vec<Arc<Row>>,
    contents: OnceLock<Sorted>,
    paths: OnceLock<Sorted>,
    contexts: OnceLock<Sorted>,
    texts: OnceLock<Sorted>,
}

/// A row that may have what is looked for, and the place in it: hashes are short, so it is for the
/// caller to compare.
pub(super) type Place = (Arc<Row>, usize);

impl Places {
    /// The places in these rows.
    pub(super) fn of(rows: impl Iterator<Item = Arc<Row>>) -> Self {
        Self {
            rows: rows.collect(),
            ..Self::default()
        }
    }

    /// A file in this very version.
    pub(super) fn content(&self, content: u64) -> Option<Place> {
        self.find(&self.contents, content, |row| {
            row.files.iter().map(|it| Some(it.content))
        })
    }

    /// A file of a path, in whatever version, that has a summary.
    pub(super) fn path(&self, path: u64) -> Option<Place> {
        self.find(&self.paths, path, |row| {
            row.files.iter().map(|it| (it.path != 0).then_some(it.path))
        })
    }

    /// A context beside the data.
    pub(super) fn context(&self, source: u64) -> Option<Place> {
        self.find(&self.contexts, source, |row| {
            let contexts = row.contexts.iter();
            contexts.map(|it| (it.source != 0).then_some(it.source))
        })
    }

    /// One that has a text.
    pub(super) fn text(&self, source: u64) -> Option<Place> {
        self.find(&self.texts, source, |row| {
            let contexts = row.contexts.iter();
            contexts.map(|it| (it.source != 0 && it.has_text).then_some(it.source))
        })
    }

    /// The last of what has this key, by a list of the `keys` of each row: of two entries of a file
    /// the latter is of the version that is there.
    fn find<'a, K: Iterator<Item = Option<u64>> + 'a>(
        &'a self,
        list: &'a OnceLock<Sorted>,
        key: u64,
        keys: impl Fn(&'a Row) -> K,
    ) -> Option<Place> {
        let list = list.get_or_init(|| {
            let rows = (0u32..).zip(&self.rows);
            let mut list: Vec<(u64, u32, u32)> = rows
                .flat_map(|(row, it)| {
                    let keys = (0u32..).zip(keys(it));
                    keys.filter_map(move |(at, key)| Some((key?, row, at)))
                })
                .collect();
            list.sort_unstable();
            list.into()
        });
        let after = list.partition_point(|it| it.0 <= key);
        let (_, row, at) = list[..after].last().filter(|it| it.0 == key)?;
        Some((Arc::clone(&self.rows[*row as usize]), *at as usize))
    }
}
