//! What tables of equal content have in common: a fingerprint that copies share, whatever they are
//! called.
//!
//! It is made of what is known of each file already: how many rows it has, and of each column its
//! name, its nulls and the digest of its values in their order ([`ColumnSummary::digest`]). Of a
//! file that was not read whole its length takes part instead of what was not read. A digest sums
//! 64 bits a column, so that two files of other values share all of theirs about once in 2^64
//! pairs; where nulls stand in a column does not count, how many there are does.

use limn_formats::{Fingerprint, Hasher};
use limn_profile::{ColumnSummary, FilePart, FileSummary};

use crate::assemble::partitions;
use crate::layout::Group;
use crate::settled::settle;

/// The fingerprint of the table that these files (path, summary) of a group make. `None` where
/// there is no row, or no value that may be known: nothing shows then that two tables are the same.
///
/// A table that is cut into files in another way, or whose rows are in another order, has another
/// one.
pub fn content(group: &Group, files: &[(&str, &FileSummary)]) -> Option<Fingerprint> {
    let mut files = files.to_vec();
    files.sort_by_key(|(path, _)| *path);
    let parts = files.iter().map(|(path, summary)| FilePart {
        path,
        summary,
        partition: &[],
    });
    let settled = settle(&parts.collect::<Vec<_>>());
    let paths: Vec<&str> = group
        .files
        .iter()
        .map(|file| file.object.path.as_str())
        .collect();
    let constants = partitions(&files, &paths);
    let files = files.iter().zip(&settled);
    let files: Vec<(&str, &FileSummary)> = files
        .map(|((path, _), summary)| (*path, summary.as_ref()))
        .collect();
    let has_values = |(_, summary): &(&str, &FileSummary)| {
        let mut columns = summary.columns.iter();
        summary.rows > 0 && columns.any(|column| column.digest != 0)
    };
    if !files.iter().any(has_values) {
        return None;
    }
    let mut hashes: Vec<Fingerprint> = files
        .iter()
        .zip(&constants)
        // A log has no rows.
        .filter(|((_, summary), _)| summary.logged_table().is_none())
        .map(|((_, summary), constants)| of_file(constants, summary))
        .collect();
    // A copy of a table may have its files under other names.
    hashes.sort_unstable();
    let mut hasher = Hasher::new("content of a table");
    for hash in hashes {
        hasher.bytes(&hash.0.to_le_bytes());
    }
    Some(hasher.finish())
}

fn of_file(constants: &[(String, Option<String>)], summary: &FileSummary) -> Fingerprint {
    let mut hasher = Hasher::new("content of a file");
    let number = |hasher: &mut Hasher, n: u64| hasher.bytes(&n.to_le_bytes());
    for (key, value) in constants {
        hasher.text(key);
        hasher.optional(value.as_deref());
    }
    number(&mut hasher, summary.rows);
    let columns = summary.columns.iter().filter(|column| !column.left_out);
    for column in columns {
        hasher.text(&column.name);
        let profile = &column.profile;
        for n in [
            profile.values,
            profile.nulls,
            profile.elements,
            column.digest,
        ] {
            number(&mut hasher, n);
        }
    }
    let is_whole = |column: &ColumnSummary| column.profile.exact && column.profile.uncounted == 0;
    if summary.approximate || !summary.columns.iter().all(is_whole) {
        number(&mut hasher, summary.size);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_formats::ObjectRecord;
    use limn_profile::{ColumnBuilder, Redact, RowSample};

    use super::*;
    use crate::contexts::Contexts;
    use crate::layout::whole::layout;

    type Cells<'a> = [&'a [Option<&'a str>]];

    fn file(names: &[&str], columns: &Cells<'_>) -> FileSummary {
        let column = |(name, values): (&&str, &&[Option<&str>])| {
            let mut builder = ColumnBuilder::new(*name);
            values.iter().for_each(|value| builder.push(*value));
            builder.finish(true)
        };
        FileSummary {
            columns: names.iter().zip(columns).map(column).collect(),
            rows: columns[0].len() as u64,
            rows_exact: true,
            sample: RowSample::default(),
            ..FileSummary::default()
        }
    }

    fn of(paths: &[&str], files: &[FileSummary]) -> Option<Fingerprint> {
        let objects = paths.iter().map(|path| ObjectRecord::unversioned(path, 9));
        let layout = layout(objects.collect(), &Contexts::new(), "lake");
        let files: Vec<(&str, &FileSummary)> = paths.iter().copied().zip(files).collect();
        content(&layout.groups[0], &files)
    }

    const ROWS: &Cells<'static> = &[
        &[Some("1"), Some("2"), None],
        &[Some("ada"), Some("bob"), Some("cyd")],
    ];

    #[test]
    fn a_copy_has_the_same_and_any_other_value_or_order_another() {
        let one = of(&["a/x.csv"], &[file(&["id", "name"], ROWS)]).unwrap();
        for copy in ["backup_2024/x.csv", "tmp/y.csv.gz", "a/x (1).csv"] {
            assert_eq!(
                of(&[copy], &[file(&["id", "name"], ROWS)]),
                Some(one),
                "{copy}"
            );
        }
        let others: [&Cells<'_>; 4] = [
            &[&[Some("1"), Some("3"), None], ROWS[1]],
            &[&[Some("2"), Some("1"), None], ROWS[1]],
            &[&[Some("1"), None, None], ROWS[1]],
            &[&ROWS[0][..2], &ROWS[1][..2]],
        ];
        for rows in others {
            assert_ne!(
                of(&["a/x.csv"], &[file(&["id", "name"], rows)]),
                Some(one),
                "{rows:?}"
            );
        }
        assert_ne!(of(&["a/x.csv"], &[file(&["id", "title"], ROWS)]), Some(one));
    }

    #[test]
    fn files_count_by_what_they_hold_and_say() {
        let [a, b] = [&["1"], &["2"]].map(|values| file(&["id"], &[&values.map(Some)]));
        let both = [a, b];
        let swapped = [both[1].clone(), both[0].clone()];
        let one = of(&["t/o-1.csv", "t/o-2.csv"], &both);
        assert!(one.is_some());
        assert_eq!(of(&["copy/o-1.csv", "copy/o-2.csv"], &swapped), one);
        let years = ["t/year=2023/a.csv", "t/year=2024/a.csv"];
        assert_ne!(of(&years, &both), of(&years, &swapped));
        let sheets = ["b.xlsx//2023", "b.xlsx//2024"];
        assert_ne!(of(&sheets, &both), of(&sheets, &swapped));
    }

    #[test]
    fn of_a_file_that_was_not_read_whole_the_size_counts() {
        let of_size = |size, approximate| {
            let mut file = file(&["id", "name"], ROWS);
            (file.size, file.approximate) = (size, approximate);
            of(&["a/x.csv"], &[file]).unwrap()
        };
        assert_eq!(of_size(7, false), of_size(8, false));
        assert_ne!(of_size(7, true), of_size(8, true));
    }

    #[test]
    fn without_rows_or_values_nothing_shows_that_two_are_the_same() {
        assert_eq!(of(&["a.csv"], &[file(&["id"], &[&[]])]), None);
        assert_eq!(of(&["a.csv"], &[file(&["id"], &[&[None]])]), None);
        let mut withheld = file(&["id"], &[&[Some("1")]]);
        withheld.redact(Redact::AllValues);
        assert_eq!(of(&["a.csv"], &[withheld]), None);
    }
}
