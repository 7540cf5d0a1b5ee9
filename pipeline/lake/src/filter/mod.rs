//! Filters: which objects of a lake count, by path, size and age.
//!
//! A person says them once and the index remembers them ([`Filters`]); a run makes a [`Selection`]
//! of them. What is left out is as if it were not there. Globs that include, sizes and times choose
//! among data files only: a text beside a table is small and old, and belongs to its table all the
//! same. Globs that exclude, and [`IgnoreFiles`], hold for everything. Members of containers are
//! files in a folder of the container's name; by their time containers are chosen as wholes.

mod glob;
mod ignore_files;
mod moment;

use limn_formats::Hasher;
use serde::{Deserialize, Serialize};

use self::glob::Globs;
pub use self::ignore_files::{IGNORE_FILE, IgnoreFiles, MOST_IGNORE_BYTES, is_ignore_file};
pub use self::moment::{Moment, NoMoment};
use crate::layout::{is_container, is_data, may_be_beside};

/// Which objects of a lake count, as a person says it. The default leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filters {
    /// Only data files that one of these globs matches, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Nothing that one of these globs matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Only data files of at least so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size: Option<u64>,
    /// Only data files of at most so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
    /// Only data files changed after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_than: Option<Moment>,
    /// Only data files changed before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<Moment>,
}

/// A filter that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{text}' {cause}")]
pub struct FilterError {
    /// Which filter.
    pub what: &'static str,
    /// What was written.
    pub text: String,
    /// What is wrong with it, and what to write.
    pub cause: String,
}

impl Filters {
    /// Whether everything counts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The filters as a run at a moment (milliseconds since 1970) has them.
    ///
    /// # Errors
    /// A glob that is none.
    pub fn at(&self, now_ms: i64) -> Result<Selection, FilterError> {
        let at = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment.at(now_ms));
        Ok(Selection {
            include: match &self.include[..] {
                [] => None,
                globs => Some(Globs::new("--include", globs)?),
            },
            exclude: Globs::new("--exclude", &self.exclude)?,
            sizes: (
                self.min_size.unwrap_or(0),
                self.max_size.unwrap_or(u64::MAX),
            ),
            after_ms: at(&self.newer_than),
            before_ms: at(&self.older_than),
            settles: self.older_than.as_ref().is_some_and(Moment::is_relative),
            fingerprint: {
                let mut hasher = Hasher::new("filters");
                for globs in [&self.include, &self.exclude] {
                    hasher.bytes(&(globs.len() as u64).to_le_bytes());
                    globs.iter().for_each(|glob| hasher.text(glob));
                }
                for size in [self.min_size, self.max_size] {
                    hasher.optional(size.map(|size| size.to_string()).as_deref());
                }
                hasher.finish().0 as u64
            },
        })
    }
}

/// Filters as one run has them. Whether an object counts is a function of its path, size and time
/// alone.
#[derive(Clone, Debug)]
pub struct Selection {
    include: Option<Globs>,
    exclude: Globs,
    sizes: (u64, u64),
    after_ms: Option<i64>,
    before_ms: Option<i64>,
    // In a while what is too new now is so no more.
    settles: bool,
    fingerprint: u64,
}

impl Selection {
    /// Whether an object of this path can count.
    pub fn has_path(&self, path: &str) -> bool {
        if self.exclude.matches(path) {
            return false;
        }
        let Some(include) = &self.include else {
            return true;
        };
        include.matches(path) || !must_match(path)
    }

    /// Whether an object counts: its path, its size in bytes, and when it was changed (milliseconds
    /// since 1970, 0 where the store does not say, which counts as any time). A `.txt` counts that
    /// may be about a table beside it: where it is about none, [`Selection::has_rows`] decides.
    pub fn has(&self, path: &str, size: u64, modified_ms: i64) -> bool {
        self.has_path(path)
            && (!must_match(path) || self.has_rows(path, size, modified_ms))
            && (!is_container(path) || self.is_timely(modified_ms))
    }

    /// Whether an object counts as a data file.
    pub fn has_rows(&self, path: &str, size: u64, modified_ms: i64) -> bool {
        let fits = (self.sizes.0..=self.sizes.1).contains(&size);
        self.includes(path) && !self.exclude.matches(path) && fits && self.is_timely(modified_ms)
    }

    /// Whether an object is among those that were asked for, if any were, by its path.
    pub fn includes(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|it| it.matches(path))
    }

    fn is_timely(&self, modified_ms: i64) -> bool {
        modified_ms == 0
            || self.after_ms.is_none_or(|after| modified_ms >= after)
                && self.before_ms.is_none_or(|before| modified_ms <= before)
    }

    /// What distinguishes these filters from others, as far as they choose among the members of a
    /// container: by its time they choose containers.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Whether an object does not count yet and will when it is older, by an age that was said as
    /// `10m`: with times that were said as dates none is.
    pub fn is_too_new(&self, path: &str, size: u64, modified_ms: i64) -> bool {
        self.settles
            && self.before_ms.is_some_and(|before| modified_ms > before)
            && (is_container(path) && self.has_path(path)
                || is_data(path) && self.has_rows(path, size, 0))
    }
}

/// Whether an object holds rows and nothing else, as its path says: it has to be chosen to count.
fn must_match(path: &str) -> bool {
    is_data(path) && !may_be_beside(path)
}

#[cfg(test)]
mod tests;
