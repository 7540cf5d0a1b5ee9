//! How many distinct values a column has, whether they are unique, and which columns are likely
//! keys.
//!
//! | figure | exact | otherwise |
//! |---|---|---|
//! | [`ColumnProfile::distinct`] | fewer than 128 distinct values, all rows looked at | relative standard error [`ColumnProfile::distinct_error`]; too much where a column is taken to be unique and few values repeat |
//! | [`ColumnProfile::uniqueness`] | likewise | likewise |
//! | [`ColumnProfile::is_unique`] | "no" always; "yes" likewise | a "yes" is wrong where few values repeat: see there |
//!
//! Of a file that was read in part, all of it is said of the rows that were looked at.

use std::cmp::Reverse;

use crate::data_type::DataType;
use crate::profile::ColumnProfile;
use crate::summary::{ColumnSummary, TableSummary};
use crate::values::join_key;

/// A sketch may say so many standard errors less than there are values, and the column still be
/// unique: one unique column in 700 is missed.
const TOLERANCE: f64 = 3.0;
/// Text of more words than this, on average, is prose: nobody refers to a row by it.
const WORDS_OF_A_KEY: usize = 5;

impl ColumnProfile {
    /// How many distinct values there are, never more than there are values; exact if
    /// [`ColumnProfile::distinct_exact`], otherwise an estimate of what was looked at. As many as
    /// there are values where [`ColumnProfile::is_unique`].
    pub fn distinct(&self) -> u64 {
        if self.is_unique() {
            self.counted()
        } else {
            self.frequent.distinct().min(self.counted())
        }
    }

    /// Whether [`ColumnProfile::distinct`] is exact: all values were looked at and there are few.
    pub fn distinct_exact(&self) -> bool {
        self.exact && self.frequent.distinct_exact()
    }

    /// The relative standard error of [`ColumnProfile::distinct`] as a count of what was looked at:
    /// 0 below 128 distinct values, otherwise 3.25 % (in tables of more than 512 columns up to 9.2
    /// %). Ertl's estimator is nearly normal: 95 % of counts are within two standard errors. A
    /// column that is taken to be unique ([`ColumnProfile::is_unique`]) is said to have as many
    /// distinct values as values: where few repeat unseen, that is up to three standard errors more
    /// than the estimate.
    pub fn distinct_error(&self) -> f64 {
        self.frequent.distinct_error()
    }

    /// Distinct values as a share of the values that were looked at, 0 to 1; 0 without values. The
    /// relative standard error is [`ColumnProfile::distinct_error`].
    pub fn uniqueness(&self) -> f64 {
        match self.counted() {
            0 => 0.0,
            counted => self.distinct() as f64 / counted as f64,
        }
    }

    /// Whether no value that was looked at occurs twice; false without values.
    ///
    /// "No" is certain, but for one unique column in 700 beyond 128 distinct values. "Yes" is
    /// certain below 128 distinct values. Beyond, a share p of distinct values that repeat stays
    /// unseen with probability (1 − p)^128: 28 % for one in a hundred, 0.1 % for one in twenty. In
    /// tables of more than 512 columns fewer values are kept: beyond 4,096 columns 16, and one in
    /// twenty stays unseen with 44 %.
    pub fn is_unique(&self) -> bool {
        let counted = self.counted();
        // A list's elements distinguish no rows.
        if counted == 0 || self.is_of_lists() || !self.frequent.never_repeats() {
            return false;
        }
        // A repeat of few, very frequent values is seen by their number.
        let least = counted as f64 * (1.0 - TOLERANCE * self.frequent.distinct_error());
        self.frequent.distinct() as f64 >= least
    }
}

impl ColumnSummary {
    /// Whether the column may be what a row is known by: every row has a value and another one,
    /// there are at least two rows, and the values are of a kind that keys are: whole numbers,
    /// dates, times and texts that are no prose.
    pub fn is_likely_key(&self) -> bool {
        let profile = &self.profile;
        profile.counted() >= 2
            && profile.nulls == 0
            && self.has_kind_of_a_key()
            && profile.is_unique()
    }

    fn has_kind_of_a_key(&self) -> bool {
        let sample = self.profile.frequent.sample();
        match self.data_type {
            DataType::Integer | DataType::Date | DataType::Timestamp => true,
            // Whole numbers become floats where some are missing.
            DataType::Float => sample
                .into_iter()
                .all(|(value, _)| join_key(value).bytes().all(|byte| byte.is_ascii_digit())),
            DataType::Text => {
                let values = sample.len();
                let words: usize = sample
                    .map(|(value, _)| value.split_whitespace().count())
                    .sum();
                words <= WORDS_OF_A_KEY * values
            }
            _ => false,
        }
    }
}

impl TableSummary {
    /// The columns (by number) that are likely keys of the table called `table`, the likeliest
    /// first: by what the name promises (`id`, then `<table>_id`, then others that end like keys),
    /// whole numbers and texts before dates and times, then in the order of the table.
    pub fn likely_keys(&self, table: &str) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let mut keys: Vec<usize> = columns
            .filter(|(_, column)| column.is_likely_key())
            .map(|(at, _)| at)
            .collect();
        keys.sort_by_cached_key(|at| {
            self.columns.get(*at).map(|column| {
                let in_time = matches!(column.data_type, DataType::Date | DataType::Timestamp);
                (Reverse(promise(&column.name, table)), in_time, *at)
            })
        });
        keys
    }
}

/// How much a column's name promises that it is the key of a table, 0 to 3.
fn promise(column: &str, table: &str) -> u8 {
    let names_the_table = |before: &String| {
        let table = letters(table.rsplit('/').next().unwrap_or(table));
        let singular = table.strip_suffix('s').unwrap_or(&table);
        !before.is_empty()
            && (table.ends_with(before.as_str()) || singular.ends_with(before.as_str()))
    };
    let before = |endings: &[&str]| {
        let before = endings.iter().find_map(|word| before_word(column, word));
        before.map(letters)
    };
    if let Some(before) = before(&["id", "key", "pk", "uuid", "guid", "uid", "rowid"]) {
        2 + u8::from(before.is_empty() || names_the_table(&before))
    } else if let Some(before) = before(&["code", "no", "nr", "num", "number", "sku", "isbn"]) {
        1 + u8::from(names_the_table(&before))
    } else {
        0
    }
}

/// What stands before `word` (in lower case), if the name ends with it as a word of its own:
/// `customer_` of `customer_id`, `customer` of `customerId`, none of `paid`.
fn before_word<'a>(name: &'a str, word: &str) -> Option<&'a str> {
    let name = name.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let (before, end) = name.split_at_checked(name.len().checked_sub(word.len())?)?;
    let begins = before.chars().next_back().is_none_or(|last| {
        !last.is_alphanumeric() || (last.is_lowercase() && end.starts_with(char::is_uppercase))
    });
    (begins && end.eq_ignore_ascii_case(word)).then_some(before)
}

/// A name's letters and digits in lower case.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
