//! What is read with a table: the files of its name that belong to it ([`crate::parts`]), as they
//! were listed.

use limn_store::Store;
use tokio::runtime::Handle;

use super::shapes::Shapes;
use crate::data_file::DataFile;
use crate::format::Format;
use crate::object::ObjectRecord;
use crate::parts::{Part, of_path};
use crate::ranged::Ranged;
use crate::{Failure, ReadOptions, containers};

/// Bytes of a `.cpg` file that are looked at.
const LABEL: u64 = 64;
/// The budget within which members of archives are unpacked, for profiles and scans alike: what is
/// null in one is so in the other.
const UNPACKED: u64 = 16 << 20;

/// The files beside a table, opened.
pub(super) struct Beside {
    /// The name of the encoding, as people declare it or the `.cpg` file says.
    pub(super) encoding: Option<String>,
    pub(super) shapes: Option<Shapes>,
}

impl Beside {
    /// Opens them. What is wrong with one of them costs what it has, and not the table.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn open(lake: &Store, options: &ReadOptions) -> Result<Beside, Failure> {
        let mut beside = Beside {
            encoding: None,
            shapes: None,
        };
        let parts = options.declared.iter().flat_map(|declared| &declared.parts);
        for object in parts {
            match of_path(&object.path) {
                Some((Part::Shapes, _)) => {
                    beside.shapes = Some(match at_hand(lake, object, options)? {
                        Ok(ranged) => Shapes::open(ranged)?,
                        Err(failure) => {
                            let ranged = Ranged::new(lake.clone(), object, Handle::current());
                            Shapes::none(ranged, failure.cause())
                        }
                    });
                }
                Some((Part::Encoding, _)) => {
                    if let Ok(ranged) = at_hand(lake, object, options)? {
                        let label = ranged.get(0..ranged.size().min(LABEL))?;
                        beside.encoding = Some(String::from_utf8_lossy(&label).into_owned());
                    }
                }
                _ => {}
            }
        }
        let declared = options.declared().encoding.clone();
        beside.encoding = declared.or(beside.encoding);
        Ok(beside)
    }
}

/// The object, or the member of an archive that it is; else why it cannot be read.
fn at_hand(
    lake: &Store,
    object: &ObjectRecord,
    options: &ReadOptions,
) -> Result<Result<Ranged, Failure>, Failure> {
    let file = DataFile::plain(object.clone(), Format::Dbf);
    let options = ReadOptions {
        scan_budget: UNPACKED,
        ..options.clone()
    };
    match containers::enter_whole(lake, &file, &options) {
        Ok(Some((store, file))) => Ok(Ok(Ranged::of(&store, &file))),
        Ok(None) => Ok(Ok(Ranged::of(lake, &file))),
        Err(failure @ Failure::Store(_)) => Err(failure),
        Err(failure) => Ok(Err(failure)),
    }
}
