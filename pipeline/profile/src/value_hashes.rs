//! Which values a column has beyond those that its [sketch](crate::Frequent) keeps whole: hashes,
//! by which a question's names, codes and numbers are looked up.
//!
//! While a file is read, [`HashCollector`] takes the values of a column, and at the end they are
//! kept if it holds names, codes, ids or short texts: texts and whole numbers, not fractions, dates
//! and free text. (What looks like fractions may turn out to be codes in the last row.) Of more
//! than it may keep it keeps those whose hashes are lowest, a uniform sample: all whose first *d*
//! bits are zero, for the least *d* that leaves few enough. So what is kept is a function of the
//! set of values and not of their order.
//!
//! Of a column of few values its sketch has them all, and no list is made while its file is read.
//! Where files with few values make a table with many, [`FewValues`] makes the list of all of them.
//!
//! [`ValueHashes`] is the sorted list, packed: differences in Rice's code, two bits or so above
//! what such a list must take.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data_type::DataType;
use crate::rice;
use crate::value_key::{HASH_BITS, hash_of_value};

pub(crate) mod collected;
mod few;

pub use collected::FileValues;
pub(crate) use few::FewValues;

/// What is kept of the values of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptValues {
    /// The most of one file; 0 keeps none.
    pub most: u32,
    /// Whether values are left out by which people are known (addresses, telephone numbers).
    pub hides_personal: bool,
}

/// A column of which one value in so many is longer is free text.
const LONG_ONES: u64 = 4;
/// What is longer is no name or code.
const LONGEST: usize = 64;
/// Digits of the shortest number that is looked up.
const DIGITS: usize = 4;

/// The hash that a list has of a value; `None` of a long one and a short number, which no list has.
#[must_use]
pub fn looked_up_by(value: &str) -> Option<u64> {
    let is_number = || !value.chars().any(char::is_alphabetic);
    let is_short = || value.bytes().filter(u8::is_ascii_digit).count() < DIGITS;
    if value.len() > LONGEST || is_short() && is_number() {
        return None;
    }
    hash_of_value(value)
}

/// Whether values of columns of this type are looked up.
pub(crate) fn is_sought(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Integer)
}

/// Whether the first `depth` bits of a hash are zero.
fn is_within(hash: u64, depth: u32) -> bool {
    hash >> HASH_BITS.saturating_sub(depth) == 0
}

/// A sorted list of hashes of values, packed.
///
/// Bytes: how many of the first bits are zero in all of them because others were left out; the
/// number of hashes as LEB128; then [`rice`] codes. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct ValueHashes(Arc<[u8]>);

/// A list of hashes that is no such list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a list of hashes of values is damaged")]
pub struct DamagedHashes;

impl fmt::Debug for ValueHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = xxhash_rust::xxh3::xxh3_64(&self.0);
        write!(f, "ValueHashes({} bytes, {hash:016x})", self.0.len())
    }
}

impl ValueHashes {
    /// A list of these, which are sorted and each there once.
    fn new(hashes: &[u64], depth: u32) -> ValueHashes {
        let mut bytes = vec![depth as u8];
        rice::put_list(&mut bytes, hashes, HASH_BITS - depth);
        ValueHashes(bytes.into())
    }

    /// The list of these bytes, which are looked at when it is [read](ValueHashes::read).
    pub fn of_bytes(bytes: &[u8]) -> ValueHashes {
        ValueHashes(bytes.into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The hashes in order.
    ///
    /// # Errors
    /// [`DamagedHashes`].
    pub fn read(&self) -> Result<Vec<u64>, DamagedHashes> {
        let (depth, rest) = self.0.split_first().ok_or(DamagedHashes)?;
        let bits = HASH_BITS.checked_sub(u32::from(*depth));
        rice::read_list(rest, bits.ok_or(DamagedHashes)?).ok_or(DamagedHashes)
    }

    /// How many there are, as it says itself.
    fn count(&self) -> usize {
        let rest = self.0.get(1..).unwrap_or_default();
        rice::count_of_list(rest).map_or(0, |count| count as usize)
    }

    fn depth(&self) -> u32 {
        self.0.first().map_or(0, |depth| u32::from(*depth))
    }

    /// Those of `hashes`, which are its own, that are kept at another depth.
    fn thinned(&self, hashes: &[u64], depth: u32) -> ValueHashes {
        if depth <= self.depth() {
            return self.clone();
        }
        let kept = hashes.partition_point(|hash| is_within(*hash, depth));
        ValueHashes::new(&hashes[..kept], depth)
    }

    /// About how many bytes of memory it takes.
    pub fn held(&self) -> u64 {
        self.0.len() as u64 + 16
    }
}

impl Serialize for ValueHashes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BASE64.encode(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ValueHashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64.decode(text).map_err(serde::de::Error::custom)?;
        Ok(ValueHashes(bytes.into()))
    }
}

/// The hashes of one column of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHashes {
    /// The [`file_id`] of the file; 0 in the summary of the file itself, and of the list that a
    /// table's files with few values have together.
    #[serde(rename = "f", default)]
    pub file: u64,
    /// Which of its columns, from 0; likewise.
    #[serde(rename = "c", default)]
    pub column: u32,
    /// The list; `None` where the index has it and the summary does not.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub hashes: Option<ValueHashes>,
}

impl FileHashes {
    /// About how many bytes of memory it takes.
    pub fn held(&self) -> u64 {
        size_of::<FileHashes>() as u64 + self.hashes.as_ref().map_or(0, ValueHashes::held)
    }

    /// Whether it is of a table's files with few values together.
    #[must_use]
    pub fn is_of_few(&self) -> bool {
        self.file == 0
    }

    /// Leaves at most so many hashes, the lowest ones.
    ///
    /// # Errors
    /// [`DamagedHashes`].
    pub fn thin(&mut self, most: u32) -> Result<(), DamagedHashes> {
        thin(self.hashes.as_mut().into_iter().collect(), most)
    }

    /// Those of a column that need no file to be named.
    pub(crate) fn of_own(hashes: ValueHashes) -> FileHashes {
        FileHashes {
            file: 0,
            column: 0,
            hashes: Some(hashes),
        }
    }
}

/// What a file of a table is called among its lists.
pub fn file_id(path: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(path.as_bytes())
}

/// Leaves at most so many hashes in the columns of one file: the longest lists are thinned.
pub(crate) fn thin(lists: Vec<&mut ValueHashes>, most: u32) -> Result<(), DamagedHashes> {
    let longest = longest(lists.iter().map(|list| list.count()), most as usize);
    for list in lists {
        if list.count() > longest {
            let hashes = list.read()?;
            let left = |depth| hashes.partition_point(|hash| is_within(*hash, depth));
            let depth = (0..=HASH_BITS).find(|depth| left(*depth) <= longest);
            *list = list.thinned(&hashes, depth.unwrap_or(HASH_BITS));
        }
    }
    Ok(())
}

/// How long the longest list may be where lists of these lengths are to have `most` hashes
/// together, and all that are not too long stay as they are.
fn longest(lengths: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let (mut left, count) = (most, lengths.len());
    for (at, length) in lengths.into_iter().enumerate() {
        let share = left / (count - at);
        if length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::ColumnBuilder;
    use crate::value_key::{self, hash_of_value};

    fn collected(
        values: impl IntoIterator<Item = String>,
        most: u32,
        of: &DataType,
    ) -> Option<Vec<u64>> {
        let file = FileValues::new(KeptValues {
            most,
            hides_personal: true,
        });
        let mut collector = file.collector()?;
        values.into_iter().for_each(|value| collector.add(&value));
        Some(collector.finish(of)?.read().unwrap())
    }

    #[test]
    fn names_codes_and_ids_are_kept_and_nothing_else() {
        let hash = |value: &str| value_key::hash(&value_key::key(value).unwrap());
        let of = |values: &[&str], of: &DataType| {
            collected(values.iter().map(|it| (*it).to_owned()), 100, of)
        };
        let mut both = vec![hash("acme4711"), hash("Anna Kessler")];
        both.sort_unstable();
        assert_eq!(
            of(
                &["ACME-4711", "acme 4711", "anna kessler", "ada@example.org"],
                &DataType::Text
            ),
            Some(both)
        );
        assert_eq!(
            of(&["17", "48213"], &DataType::Integer),
            Some(vec![hash("48213")])
        );
        assert_eq!(of(&["1.5", "48213"], &DataType::Float), None);
        assert_eq!(of(&[&"long ".repeat(20), "short"], &DataType::Text), None);
    }

    #[test]
    fn codes_that_look_like_fractions_or_dates_at_first_are_kept_in_any_order() {
        let mut codes: Vec<String> = (0..200).map(|at| format!("{at}.1234")).collect();
        codes.extend((10..99).map(|year| format!("20{year}-01-01")));
        codes.extend((0..200).map(|at| format!("A-{at:04}")));
        let list = |codes: &[String]| {
            let file = FileValues::new(KeptValues {
                most: 1_000,
                hides_personal: false,
            });
            let mut column = ColumnBuilder::new("code").hashing(&file);
            codes.iter().for_each(|code| column.push(Some(code)));
            let list = column.finish(true).hashes.pop()?.hashes?;
            Some(list.read().unwrap())
        };
        let mut all: Vec<u64> = codes.iter().filter_map(|it| hash_of_value(it)).collect();
        all.sort_unstable();
        assert_eq!(list(&codes), Some(all.clone()));
        codes.reverse();
        assert_eq!(list(&codes), Some(all));
        assert_eq!(list(&codes[289..]), None);
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(
            hashes in proptest::collection::btree_set(0..1u64 << HASH_BITS, 0..300),
        ) {
            let hashes: Vec<u64> = hashes.into_iter().collect();
            let list = ValueHashes::new(&hashes, 0);
            let json = serde_json::to_string(&list).unwrap();
            prop_assert_eq!(serde_json::from_str::<ValueHashes>(&json).unwrap().read(), Ok(hashes));
        }

        #[test]
        fn damaged_lists_are_errors(bytes: Vec<u8>) {
            if let Ok(hashes) = ValueHashes::of_bytes(&bytes).read() {
                prop_assert!(hashes.is_sorted());
                prop_assert!(hashes.iter().all(|hash| *hash < 1 << HASH_BITS));
            }
        }

        /// What is kept does not depend on the order of values, is the lowest of all, and is half
        /// of what may be or more.
        #[test]
        fn a_sample_is_the_lowest_hashes(
            values in proptest::collection::vec("[a-z]{1,4}", 1..400),
            most in 1..60u32,
        ) {
            let all: BTreeSet<u64> = values.iter().filter_map(|it| hash_of_value(it)).collect();
            let all: Vec<u64> = all.into_iter().collect();
            let kept = collected(values.clone(), most, &DataType::Text).unwrap_or_default();
            let back = collected(values.into_iter().rev(), most, &DataType::Text).unwrap_or_default();
            prop_assert_eq!(&kept, &back);
            prop_assert!(kept.len() <= most as usize);
            prop_assert_eq!(&all[..kept.len()], &kept[..]);

            let mut whole = ValueHashes::new(&all, 0);
            thin(vec![&mut whole], most).unwrap();
            prop_assert_eq!(whole.read().unwrap(), kept);
        }

        /// Of many columns the longest lists alone are thinned, whatever the order of rows.
        #[test]
        fn columns_share_what_a_file_may_have(
            values in proptest::collection::vec((0..4usize, 1000..1400u32), 1..900),
            most in 1..300u32,
        ) {
            let of_file = |values: &mut dyn Iterator<Item = &(usize, u32)>| {
                let file = FileValues::new(KeptValues { most, hides_personal: false });
                let mut columns = [(); 4].map(|()| file.collector().unwrap());
                for (column, value) in values {
                    // The first column turns out to hold fractions.
                    let value = if *column == 0 { format!("1.{value}") } else { format!("{value}") };
                    columns[*column].add(&value);
                }
                let types = [DataType::Float, DataType::Text, DataType::Integer, DataType::Text];
                let lists = columns.into_iter().zip(&types).map(|(it, of)| it.finish(of));
                lists.map(|it| it.map_or(Vec::new(), |it| it.read().unwrap())).collect::<Vec<_>>()
            };
            let lists = of_file(&mut values.iter());
            prop_assert_eq!(&lists, &of_file(&mut values.iter().rev()));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert_eq!(&lists, &of_file(&mut sorted.iter()));
            sorted.dedup();
            let seen = (1..4).map(|at| sorted.iter().filter(|it| it.0 == at).count());
            let seen: Vec<usize> = seen.collect();
            let longest = longest(seen.iter().copied(), most as usize);
            for (list, seen) in lists[1..].iter().zip(seen) {
                prop_assert!(list.len() <= longest);
                prop_assert!(list.len() == seen || seen > longest);
            }
            prop_assert!(lists[0].is_empty());
        }
    }
}
