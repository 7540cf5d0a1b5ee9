//! What makes the files of a table one.

use std::collections::{BTreeMap, BTreeSet};

use limn_profile::text::counted;

use super::known::{Known, mask_of, named_path, shapes};
use crate::dates;
use crate::layout::GroupKind;
use crate::place::{self, MASK};
use crate::sheets;

pub(super) fn rule(
    table: Known<'_>,
    kind: GroupKind,
    shows_values: bool,
) -> (&'static str, String) {
    let count = table.files.len();
    let first = table
        .files
        .first()
        .map_or("", |(file, _)| &file.object.path);
    match kind {
        GroupKind::File => ("file", "one file that is a table of its own".to_owned()),
        GroupKind::Logged => {
            let files = counted(count.saturating_sub(1) as u64, "file");
            (
                "log",
                format!("its log says that it is {files} of its folder"),
            )
        }
        GroupKind::Declared => {
            let explanation =
                "people declare its files to be one table, whatever their columns are";
            ("declared", explanation.to_owned())
        }
        GroupKind::Directory => {
            let keys: Vec<String> = place::partition(first).into_iter().map(|it| it.0).collect();
            match keys.as_slice() {
                [] => {
                    let explanation =
                        format!("{count} files of its folder are parts by their names");
                    ("parts", explanation)
                }
                keys => {
                    let keys = keys.join(", ");
                    let explanation =
                        format!("{count} files lie in folders that are partitions by {keys}");
                    ("partitions", explanation)
                }
            }
        }
        GroupKind::Family => {
            let mut explanation = format!("{count} files are named alike");
            let paths: Vec<&str> = table
                .files
                .iter()
                .map(|(file, _)| &*file.object.path)
                .collect();
            let book = paths
                .iter()
                .all(|path| sheets::book(path) == Some(named_path(table)));
            if book {
                let alike: BTreeSet<_> = paths.iter().map(|path| sheets::form(path)).collect();
                explanation = match alike.len() == 1 && !alike.contains(&None) {
                    true => format!("{count} sheets of the book are named alike"),
                    false => format!("{count} sheets are three quarters of the book's, or more,"),
                };
            } else if dates::dates(&paths).is_some() {
                explanation = format!(
                    "{count} files lie in places of several dates, with paths that are else alike"
                );
            }
            if let (Some(mask), true, false) = (mask_of(first), shows_values, book) {
                explanation = format!("{explanation} ({})", mask.1.replace(MASK, "*"));
            }
            let (all, some) = shared_columns(table);
            let sets = shapes(table).len();
            (
                "alike",
                match some {
                    0 => format!("{explanation} and have the same {all} columns"),
                    _ => format!(
                        "{explanation} and their columns follow from one another: of {} columns {all} are in all files, in {sets} different sets",
                        all + some
                    ),
                },
            )
        }
    }
}

/// How many columns all sets of names have, and how many only some.
fn shared_columns(table: Known<'_>) -> (usize, usize) {
    let shapes = shapes(table);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in shapes.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let all = counts.values().filter(|count| **count == shapes.len());
    let all = all.count();
    (all, counts.len() - all)
}
