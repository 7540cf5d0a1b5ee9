//! Which files, and which bytes of them, are in a part of a table: of several parts each is about
//! as long.

use std::ops::Range;

use limn_formats::Format;
use limn_profile::FileSummary;

use super::Part;
use crate::layout::TableFile;

/// The files of a part, and of each the bytes that row groups begin in which are wanted.
pub(super) fn files(files: &[(TableFile, FileSummary)], part: Part) -> Vec<(usize, Range<u64>)> {
    let total: u64 = files.iter().map(|(file, _)| file.object.size).sum();
    let edge = |number: u32| {
        let edge = u128::from(total) * u128::from(number) / u128::from(part.of.max(1));
        match number >= part.of {
            true => u64::MAX,
            false => edge as u64,
        }
    };
    let wanted = edge(part.number)..edge(part.number + 1);
    let mut before = 0u64;
    let mut chosen = Vec::new();
    for (place, (file, _)) in files.iter().enumerate() {
        if file.format.is_log() {
            continue;
        }
        let end = before.saturating_add(file.object.size);
        let is_divided = file.format == Format::Parquet && end > before;
        if is_divided {
            let from = wanted.start.max(before) - before;
            // Whatever a footer says: what begins beyond the file's end is in its last part.
            let to = match wanted.end >= end {
                true => u64::MAX,
                false => wanted.end.saturating_sub(before),
            };
            if from < to && wanted.start < end {
                chosen.push((place, from..to));
            }
        } else if wanted.contains(&before) {
            chosen.push((place, 0..u64::MAX));
        }
        before = end;
    }
    chosen
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_formats::ObjectRecord;
    use limn_profile::RowSample;
    use proptest::prelude::*;

    use super::*;
    use crate::table_name::TableName;

    fn file(size: u64, format: Format) -> (TableFile, FileSummary) {
        let file = TableFile {
            object: ObjectRecord::unversioned("a", size),
            format,
            table_name: TableName::parse("a").unwrap(),
            is_beside: false,
            is_alone: false,
            declared: None,
        };
        let summary = FileSummary {
            columns: Vec::new(),
            rows: 0,
            rows_exact: true,
            sample: RowSample {
                limit: 0,
                rows: Vec::new(),
            },
            ..FileSummary::default()
        };
        (file, summary)
    }

    proptest! {
        #[test]
        fn each_row_group_and_file_is_in_one_part(
            sizes in proptest::collection::vec((0u64..50, any::<bool>()), 1..6),
            of in 1u32..5,
        ) {
            let format = |divided| if divided { Format::Parquet } else { Format::Csv };
            let all: Vec<_> = sizes.iter().map(|(size, divided)| file(*size, format(*divided))).collect();
            let parts: Vec<_> = (0..of).map(|number| files(&all, Part { number, of })).collect();
            for (place, (size, divided)) in sizes.iter().enumerate() {
                let holders = |at: u64| parts.iter().flatten().filter(|(file, bytes)| *file == place && bytes.contains(&at)).count();
                if *divided && *size > 0 {
                    for at in 0..*size + 2 {
                        prop_assert_eq!(holders(at), 1);
                    }
                } else {
                    prop_assert_eq!(holders(0), 1);
                }
            }
            let order: Vec<usize> = parts.iter().flatten().map(|(file, _)| *file).collect();
            prop_assert!(order.is_sorted());
        }
    }
}
