//! The list of what files with few values have together: a daily export of 50 rows has no list of
//! its own, and a year of them has more values than a table's sketch keeps.

use super::{LONG_ONES, LONGEST, ValueHashes, is_sought, is_within, looked_up_by};
use crate::data_type::DataType;
use crate::infer::classify;
use crate::privacy::is_private;
use crate::value_key::HASH_BITS;
use crate::values::Frequent;

/// Hashes of a list, at most: as many as a file has by default.
const MOST: usize = 1_000_000;

/// The hashes of values of a table's column that its files' sketches have whole.
#[derive(Debug, Default)]
pub(crate) struct FewValues {
    hashes: Vec<u64>,
    /// The least hash that was left out.
    cut: Option<u64>,
}

impl FewValues {
    /// Takes all values of a file's column of this type, as they are looked up if the file had many
    /// (no free text).
    pub(crate) fn add_column(&mut self, data_type: &DataType, values: &Frequent) {
        if !is_sought(data_type) {
            return;
        }
        let long = values.sample().filter(|(value, _)| value.len() > LONGEST);
        if long.count() as u64 * LONG_ONES <= values.len() as u64 {
            self.add(values.sample().map(|(value, _)| value));
        }
    }

    /// Takes the value of a partition key. Nothing was taken out of it, as it is of file's columns:
    /// values by which people are known are left out.
    pub(crate) fn add_key(&mut self, value: Option<&str>) {
        let value = value.into_iter();
        self.add(value.filter(|value| is_sought(&classify(value)) && !is_private(value)));
    }

    fn add<'a>(&mut self, values: impl Iterator<Item = &'a str>) {
        self.hashes.extend(values.filter_map(looked_up_by));
        if self.hashes.len() > 2 * MOST {
            self.settle();
        }
    }

    /// Leaves each of the lowest once.
    fn settle(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        if let Some(cut) = self.hashes.get(MOST) {
            self.cut = Some(*cut);
            self.hashes.truncate(MOST);
        }
    }

    /// The list of all; `None` where there are none.
    pub(crate) fn list(mut self) -> Option<ValueHashes> {
        self.settle();
        let is_whole = |depth: &u32| self.cut.is_none_or(|cut| 1 << (HASH_BITS - depth) <= cut);
        let depth = (0..HASH_BITS).find(is_whole).unwrap_or(HASH_BITS);
        self.hashes.retain(|hash| is_within(*hash, depth));
        (!self.hashes.is_empty()).then(|| ValueHashes::new(&self.hashes, depth))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        ColumnBuilder, FilePart, FileSummary, FileValues, KeptValues, RowSample, TableSummary,
    };

    fn file(codes: &[u16]) -> FileSummary {
        let values = FileValues::new(KeptValues {
            most: 10_000,
            hides_personal: false,
        });
        let mut column = ColumnBuilder::new("code").hashing(&values);
        let code = |code: &u16| format!("A-{code:05}");
        codes
            .iter()
            .for_each(|it| column.push(Some(code(it).as_str())));
        FileSummary {
            columns: vec![column.finish(true)],
            rows: codes.len() as u64,
            rows_exact: true,
            sample: RowSample::default(),
            ..FileSummary::default()
        }
    }

    /// Of more values than a list may have the lowest are kept, whatever order they come in.
    #[test]
    fn a_long_list_is_a_sample_of_the_lowest() {
        // Spread over all hashes.
        let hash = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS);
        let list = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut few = FewValues::default();
            for number in numbers {
                few.hashes.push(hash(number));
                if few.hashes.len() > 2 * MOST {
                    few.settle();
                }
            }
            few.list().unwrap().read().unwrap()
        };
        let many = 2 * MOST as u64 + 500_000;
        let kept = list(&mut (0..many));
        assert_eq!(kept, list(&mut (0..many).rev()));
        assert!(
            kept.len() <= MOST && kept.len() > MOST / 2,
            "{}",
            kept.len()
        );
        let mut all: Vec<u64> = (0..many).map(hash).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(kept[..], all[..kept.len()]);
    }

    proptest! {
        /// However the rows of a table are cut into files, its lists have all values, unless it is
        /// one file whose sketch has them; and files of a catalog, whose own lists are elsewhere,
        /// give the same.
        #[test]
        fn every_value_of_many_files_is_in_a_list(
            rows in proptest::collection::vec(0..2_000u16, 1..600),
            cut in 1..300usize,
        ) {
            let files: Vec<FileSummary> = rows.chunks(cut).map(file).collect();
            let paths: Vec<String> = (0..files.len()).map(|at| format!("{at:04}.csv")).collect();
            let merged = |files: &[FileSummary]| {
                let parts = files.iter().zip(&paths);
                let parts: Vec<FilePart<'_>> = parts
                    .map(|(summary, path)| FilePart { path, summary, partition: &[] })
                    .collect();
                TableSummary::merge(&parts).columns.pop().unwrap()
            };
            let column = merged(&files);
            let all: BTreeSet<u64> = rows
                .iter()
                .filter_map(|code| looked_up_by(&format!("A-{code:05}")))
                .collect();
            let lists = column.hashes.iter().filter_map(|list| list.hashes.as_ref());
            let listed: BTreeSet<u64> = lists.flat_map(|list| list.read().unwrap()).collect();
            match files.len() == 1 && column.profile.frequent.is_complete() {
                true => prop_assert!(listed.is_empty()),
                false => prop_assert_eq!(listed, all),
            }
            let stored: Vec<FileSummary> = files
                .into_iter()
                .map(FileSummary::with_published_hashes)
                .collect();
            let again = merged(&stored);
            let asked = |lists: &[crate::FileHashes]| {
                lists.iter().map(|list| (list.file, list.column)).collect::<Vec<_>>()
            };
            prop_assert_eq!(asked(&again.hashes), asked(&column.hashes));
            let own = |lists: &[crate::FileHashes]| {
                lists.iter().find(|list| list.file == 0).and_then(|list| list.hashes.clone())
            };
            prop_assert_eq!(own(&again.hashes), own(&column.hashes));
        }
    }
}
