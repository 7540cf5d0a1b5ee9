//! How files are read.

use crate::confined::Confined;
use crate::containers::book::Books;
use crate::room::Room;

/// More columns than this are no table anyone searches for, and a profile of each would not fit the
/// memory a file may use.
pub(crate) const MAX_COLUMNS: usize = 16_384;

/// How much of each file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Rows that a file's sample holds (the paper's r). Default 5.
    pub sample_rows: usize,
    /// Bytes read of one file for its profile and its sample. Default 16 MiB. Rows drawn from a
    /// Parquet file may cost more: see [`summarise_file`](crate::summarise_file).
    pub scan_budget: u64,
    /// What rows and ranges are drawn with. Default 0.
    pub seed: u64,
    /// Room for what is read, shared by all who read at once. Default: any.
    pub room: Room,
    /// Reads views of databases and spreadsheets; without one they are refused. Default none.
    pub confined: Option<Confined>,
    /// Spreadsheets that were opened. Default: none is kept.
    pub books: Books,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            sample_rows: 5,
            scan_budget: 16 << 20,
            seed: 0,
            room: Room::default(),
            confined: None,
            books: Books::default(),
        }
    }
}
