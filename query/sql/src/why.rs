//! Why a table is what it is: from its record and those of others ([`limn_lake::why`]).

use limn_lake::TableFile;
use limn_lake::reach::reach;
use limn_lake::why::{Known, KnownColumn, Why, why};
use limn_profile::FileSummary;
use limn_segment::TableRecord;

use crate::error::SqlError;
use crate::rows::files_of;

/// Why a table is what it is, and how its files are read. `others` are further tables of its lake:
/// those that have files beside its own are looked at. Without `shows_values` nothing is given that
/// may be a value.
///
/// # Errors
/// [`SqlError::Unreadable`] if none of its files could be read, or limn cannot read any more what
/// it knows of one.
pub fn why_of(
    record: &TableRecord,
    others: &[TableRecord],
    shows_values: bool,
) -> Result<Why, SqlError> {
    let files = files_of(record)?;
    let is_beside = |other: &&TableRecord| {
        other.lake == record.lake && other.name != record.name && lies_beside(record, other)
    };
    let others = others.iter().filter(is_beside);
    // Of what cannot be read nothing is known that could be compared.
    let others: Vec<(&TableRecord, Vec<(TableFile, FileSummary)>)> = others
        .filter_map(|other| Some((other, files_of(other).ok()?)))
        .collect();
    let others: Vec<Known<'_>> = others.iter().map(|(it, files)| known(it, files)).collect();
    let columns: Vec<KnownColumn<'_>> = record
        .columns
        .iter()
        .map(|column| KnownColumn {
            name: &column.name,
            data_type: &column.data_type,
            in_files: column.in_files.as_deref().filter(|_| shows_values),
        })
        .collect();
    Ok(why(known(record, &files), &columns, &others, shows_values))
}

/// Whether tables have files in one folder, or in folders of dates below one, as far as their first
/// files say.
fn lies_beside(one: &TableRecord, other: &TableRecord) -> bool {
    let folder = |record: &TableRecord| {
        let first = record.files_now().next()?;
        Some(reach(&first.path).to_owned())
    };
    folder(one) == folder(other)
}

fn known<'a>(record: &'a TableRecord, files: &'a [(TableFile, FileSummary)]) -> Known<'a> {
    Known {
        name: &record.name,
        group: &record.group,
        files,
    }
}
