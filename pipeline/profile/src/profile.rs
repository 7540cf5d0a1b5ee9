//! Column profiles: what a column's values look like, per file and merged per table.
//!
//! A profile is built by [`ColumnBuilder`](crate::builder::ColumnBuilder).
//!
//! What follows from a profile is computed from it when asked for, and not stored: distinct counts,
//! uniqueness and likely keys ([`crate::keys`]), the forms of values ([`crate::patterns`]), how two
//! columns overlap ([`crate::value_set`]).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::data_type::DataType;
use crate::values::Frequent;

/// What a column's values look like. Merged over files by [`ColumnProfile::merge`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnProfile {
    /// Values that are not null, in the whole file or table (where the profile is not
    /// [`ColumnProfile::exact`]: as far as known).
    #[serde(rename = "v", default, skip_serializing_if = "is_zero")]
    pub values: u64,
    /// Nulls, likewise.
    #[serde(rename = "z", default, skip_serializing_if = "is_zero")]
    pub nulls: u64,
    /// Of `values`, those that `frequent` did not count because profile reading was cut short.
    #[serde(rename = "u", default, skip_serializing_if = "is_zero")]
    pub uncounted: u64,
    /// Least value in the order of the column's type; unknown where there is none, or where files
    /// disagree about the order (integers here, text there).
    #[serde(rename = "lo", default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Greatest value, likewise.
    #[serde(rename = "hi", default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Distinct values with counts.
    #[serde(rename = "f", default, skip_serializing_if = "Frequent::is_empty")]
    pub frequent: Frequent,
    /// Where the column is of the elements of lists (`tags[]`): how many of them `frequent`
    /// counted. Then `values` are the rows with any; least, greatest and distinct values are of
    /// elements.
    #[serde(rename = "l", default, skip_serializing_if = "is_zero")]
    pub elements: u64,
    /// Whether every value was looked at. If not, `frequent` is of a part of the rows.
    #[serde(rename = "x", default = "yes", skip_serializing_if = "is_true")]
    pub exact: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn yes() -> bool {
    true
}

fn is_true(b: &bool) -> bool {
    *b
}

/// A share to nine digits behind the point: so short that it is the same again after it was
/// written as JSON and read.
pub fn short(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}

impl ColumnProfile {
    /// The profile of a column that is null in all of a file's rows: a column that others of the
    /// table's files have and this one lacks.
    pub fn absent(rows: u64) -> Self {
        ColumnProfile {
            nulls: rows,
            exact: true,
            ..ColumnProfile::default()
        }
    }

    /// The profile of a column that has one value in all rows (a partition key's).
    pub fn constant(value: &str, rows: u64) -> Self {
        let bound = (rows > 0).then(|| bounds::cut(value).to_owned());
        ColumnProfile {
            values: rows,
            min: bound.clone(),
            max: bound,
            frequent: Frequent::constant(value, rows),
            exact: true,
            ..ColumnProfile::default()
        }
    }

    /// The profile without any value: how many there are, how many distinct ones, nulls.
    pub(crate) fn withheld(&self) -> Self {
        if self.frequent.is_empty() || self.frequent.is_withheld() {
            return ColumnProfile {
                min: None,
                max: None,
                ..self.clone()
            };
        }
        let exact = self.frequent.distinct_exact();
        ColumnProfile {
            min: None,
            max: None,
            frequent: Frequent::withheld(self.distinct(), exact, !self.is_unique()),
            ..self.clone()
        }
    }

    /// Takes out the values that a test finds, as if they had not been looked at.
    pub(crate) fn drop_values(&mut self, is_dropped: impl Fn(&str) -> bool) {
        let bounds = [&self.min, &self.max];
        if bounds.into_iter().flatten().any(|bound| is_dropped(bound)) {
            self.min = None;
            self.max = None;
        }
        let dropped = self.frequent.drop_values(is_dropped);
        if dropped == 0 {
            return;
        }
        self.exact = false;
        match self.elements {
            0 => self.uncounted = self.uncounted.saturating_add(dropped).min(self.values),
            _ => self.elements = self.elements.saturating_sub(dropped).max(1),
        }
    }

    /// The same profile, if it is of a part of `rows` rows with its counts scaled to all of them.
    pub fn scaled_to(&self, rows: u64) -> Cow<'_, ColumnProfile> {
        let seen = self.values + self.nulls;
        if self.exact || seen == 0 || seen >= rows {
            return Cow::Borrowed(self);
        }
        let nulls =
            (u128::from(self.nulls) * u128::from(rows) + u128::from(seen / 2)) / u128::from(seen);
        let nulls = (nulls as u64).min(rows);
        let values = rows - nulls;
        Cow::Owned(ColumnProfile {
            values,
            nulls,
            uncounted: values.saturating_sub(self.values.saturating_sub(self.uncounted)),
            ..self.clone()
        })
    }

    /// Nulls as a share of all rows; 0 without rows.
    pub fn null_share(&self) -> f64 {
        let rows = self.values.saturating_add(self.nulls);
        if rows == 0 {
            0.0
        } else {
            self.nulls as f64 / rows as f64
        }
    }

    /// Values that `frequent` counted; of lists their elements.
    pub fn counted(&self) -> u64 {
        match self.elements {
            0 => self.values.saturating_sub(self.uncounted),
            elements => elements,
        }
    }

    /// Whether the column is of the elements of lists.
    pub fn is_of_lists(&self) -> bool {
        self.elements > 0
    }

    /// The profile of several files' rows together; `parts` in path order (see
    /// [`Frequent::merge`]). Returns it with the widened type. Everything but the frequent values
    /// beyond the exact range is associative and commutative.
    pub fn merge(parts: &[(&DataType, &ColumnProfile)]) -> (DataType, ColumnProfile) {
        let mut data_type = DataType::Unknown;
        for (part, _) in parts {
            data_type.widen_with(part);
        }
        let order = data_type.order();
        let mut merged = ColumnProfile {
            exact: true,
            ..ColumnProfile::default()
        };
        let mut bounded = true;
        if parts.iter().any(|(_, part)| part.is_of_lists()) {
            let elements = parts.iter().map(|(_, part)| part.counted());
            merged.elements = elements.fold(0, u64::saturating_add);
        }
        for (part_type, part) in parts {
            merged.values = merged.values.saturating_add(part.values);
            merged.nulls = merged.nulls.saturating_add(part.nulls);
            merged.uncounted = merged.uncounted.saturating_add(part.uncounted);
            merged.exact &= part.exact;
            if part.values == 0 {
                continue;
            }
            bounded &= part_type.order() == order && part.min.is_some() && part.max.is_some();
            if bounded {
                replace_if(&mut merged.min, part.min.as_ref(), |new, old| {
                    data_type.compare(new, old).is_lt()
                });
                replace_if(&mut merged.max, part.max.as_ref(), |new, old| {
                    data_type.compare(new, old).is_gt()
                });
            }
        }
        if !bounded {
            merged.min = None;
            merged.max = None;
        }
        merged.frequent = Frequent::merge(parts.iter().map(|(_, part)| &part.frequent));
        (data_type, merged)
    }
}

fn replace_if(
    kept: &mut Option<String>,
    new: Option<&String>,
    better: impl Fn(&str, &str) -> bool,
) {
    if let Some(new) = new
        && kept.as_ref().is_none_or(|old| better(new, old))
    {
        *kept = Some(new.clone());
    }
}

#[cfg(test)]
mod tests;
