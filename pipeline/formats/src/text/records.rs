//! What a row that was cut into cells is: a repeated header, a blank one, one of a table.

use csv::ByteRecord;
use limn_profile::infer::Nulls;

use crate::dialect::Dialect;

/// A row's cell; `None` is null.
pub(super) fn cell(record: &ByteRecord, at: usize, nulls: Nulls<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(record.get(at)?.trim_ascii());
    (!nulls.has(&text)).then(|| text.into_owned())
}

/// Whether a row is the header once more, as where one file was put behind another.
pub(super) fn repeats<'a>(
    record: &ByteRecord,
    mut header: impl ExactSizeIterator<Item = &'a [u8]>,
) -> bool {
    let mut cells = record.iter();
    header.len() > 1
        && record.len() == header.len()
        && header.all(|name| cells.next().is_some_and(|cell| cell.trim_ascii() == name))
}

/// Whether a row of a table of so many columns is a line of nothing but spaces and delimiters, as
/// spreadsheets write below their tables.
pub(super) fn is_blank(record: &ByteRecord, columns: usize) -> bool {
    columns > 1 && record.iter().all(|cell| cell.trim_ascii().is_empty())
}

pub(super) fn ends_empty(record: &ByteRecord) -> bool {
    let last = record.iter().next_back();
    last.is_none_or(|cell| cell.trim_ascii().is_empty())
}

/// Whether rows of `columns` cells begin here, as far as the next few show.
pub(super) fn fits(dialect: &Dialect, columns: usize, text: &[u8]) -> bool {
    let mut reader = dialect.reader(text);
    let mut record = ByteRecord::new();
    for i in 0..4 {
        let complete = reader.read_byte_record(&mut record).unwrap_or(false)
            && reader.position().byte() < text.len() as u64;
        if !complete {
            return i > 0;
        }
        if record.len() != columns {
            return false;
        }
    }
    true
}
