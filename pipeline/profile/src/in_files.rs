//! Which files of a table have a column.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which of a table's files, in the order of their paths, have a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFiles {
    /// How many have it.
    #[serde(rename = "f")]
    pub files: usize,
    /// How many have columns.
    #[serde(rename = "o")]
    pub of: usize,
    /// The first one that has it, where earlier ones do not.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The last one that has it, where later ones do not.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl fmt::Display for InFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {} of {} files", self.files, self.of)?;
        match (&self.since, &self.until) {
            (Some(since), Some(until)) if since == until => write!(f, ", {since}"),
            (Some(since), Some(until)) => write!(f, ", {since} to {until}"),
            (Some(since), None) => write!(f, ", since {since}"),
            (None, Some(until)) => write!(f, ", until {until}"),
            (None, None) => Ok(()),
        }
    }
}
