//! DuckDB databases, which limn does not read: known by their first block, so that a round can name
//! them and say what to do.

use crate::Failure;
use crate::error::FileErrorKind;

/// What stands in the first block of one, and where.
const MAGIC: &[u8] = b"DUCK";
const AT: usize = 8;
/// Why a file is not read that is one.
pub const IS_DUCKDB: &str = "it is a DuckDB database";

/// Whether a file is one that begins like this.
pub(super) fn is_one(begin: &[u8]) -> bool {
    begin.get(AT..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Why it is not read. A `.db` file promised nothing, and is named with all others of its kind; one
/// that is called SQLite's is a failure.
pub(super) fn refused(is_sure: bool) -> Failure {
    let kind = match is_sure {
        true => FileErrorKind::NotItsFormat,
        false => FileErrorKind::NoTable,
    };
    let remedy = "export it in DuckDB: EXPORT DATABASE 'folder' (FORMAT parquet)";
    Failure::new(kind, IS_DUCKDB).with_remedy(remedy)
}
