//! Spreadsheet files: each sheet with rows is a member, `book.xlsx//2024`.

use limn_store::Store;

use super::Members;
use crate::error::FileErrorKind;
use crate::formats::ranged::Ranged;
use crate::formats::{Failure, ReadOptions};
use crate::layout::DataFile;
use crate::summary::FileSummary;

pub(super) fn list(_: &Ranged, _: &ReadOptions, _: &mut Members) -> Result<(), Failure> {
    Err(Failure::new(
        FileErrorKind::Unsupported,
        "spreadsheets are not read",
    ))
}

pub(in crate::formats) async fn summarise(
    _: &Store,
    _: &DataFile,
    _: &ReadOptions,
) -> Result<FileSummary, Failure> {
    Err(super::not_there())
}
