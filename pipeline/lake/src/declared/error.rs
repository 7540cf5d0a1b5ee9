//! What may be wrong with a `.limn.yaml`.

/// Entries that one has at most.
pub(super) const MOST_ENTRIES: usize = 1_000;

/// What is wrong with such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredError {
    /// It is no YAML, or not of this form.
    #[error("{0}")]
    Yaml(String),
    /// A table's name is none.
    #[error(
        "'{0}' is no name of a table: write one without '/', '*' and control characters, and not '.' or '..'"
    )]
    Name(String),
    /// A pattern of files is none.
    #[error(
        "'{glob}' is no pattern of file names ({cause}): write one such as 'orders_*.csv', without '/', or '*/orders.csv' for folders of dates"
    )]
    Glob {
        /// As it is written.
        glob: String,
        /// What is wrong with it.
        cause: String,
    },
    /// It has more entries than are read.
    #[error("it has {0} entries, more than {MOST_ENTRIES}")]
    Entries(usize),
    /// Nothing of use, or two things that exclude each other.
    #[error(
        "nothing is said of the files '{0}', or that they are one table with a name and separate: write name: NAME, or separate: true, or how they are read (columns, header, delimiter, nulls, date-order, decimal, encoding, description, owner)"
    )]
    Neither(String),
    /// A key has a value that is none.
    #[error("{key} of the files '{files}' is '{value}': {remedy}")]
    Value {
        /// The key.
        key: String,
        /// The entry's pattern of files.
        files: String,
        /// The value as it is written.
        value: String,
        /// What to write.
        remedy: &'static str,
    },
}
