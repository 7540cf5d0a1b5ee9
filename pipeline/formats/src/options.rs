//! How files are read.

use std::sync::Arc;

use limn_profile::{DeclaredReading, HeaderLine, KeptValues};

use crate::confined::Confined;
use crate::containers::OpenContainers;
use crate::data_file::DataFile;
use crate::declaration::Declaration;
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
    /// Values of a file beyond those that its profile keeps whole. Default: none.
    pub values: KeptValues,
    /// Room for what is read, shared by all who read at once. Default: any.
    pub room: Room,
    /// Reads views of databases and spreadsheets; without one they are refused. Default none.
    pub confined: Option<Confined>,
    /// Spreadsheets and databases that were opened. Default: none is kept.
    pub containers: OpenContainers,
    /// What is declared of the file that is read: it is taken from each [`DataFile`].
    pub declared: Option<Arc<Declaration>>,
}

impl ReadOptions {
    /// Those for a file.
    pub(crate) fn of(&self, file: &DataFile) -> ReadOptions {
        ReadOptions {
            declared: file.declared.clone(),
            ..self.clone()
        }
    }

    /// Those for text that was made of a sheet's cells: its delimiter and encoding are known, and
    /// it begins with the header that people declare, below the line that names the delimiter.
    pub(crate) fn of_cells(&self) -> ReadOptions {
        let of_text = |declared: &Arc<Declaration>| {
            let mut declared = Declaration::clone(declared);
            declared.reading.delimiter = None;
            declared.reading.encoding = None;
            if let Some(HeaderLine::At(line)) = &mut declared.reading.header {
                *line = 2;
            }
            Arc::new(declared)
        };
        ReadOptions {
            declared: self.declared.as_ref().map(of_text),
            ..self.clone()
        }
    }

    /// How the file is declared to be read.
    pub(crate) fn declared(&self) -> &DeclaredReading {
        Declaration::reading_of(self.declared.as_ref())
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            sample_rows: 5,
            scan_budget: 16 << 20,
            seed: 0,
            values: KeptValues::default(),
            room: Room::default(),
            confined: None,
            containers: OpenContainers::default(),
            declared: None,
        }
    }
}
