//! Files that are named like a table's own and are not of it.

use std::collections::BTreeSet;

use limn_formats::Format;
use limn_profile::FileSummary;
use serde::Serialize;

use super::known::{Known, MOST, kind_of, mask_of, names_of, shapes};
use crate::layout::{GroupKind, TableFile};

/// A file that is named like a table's own and is not of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Apart {
    /// The table that it is of.
    pub table: String,
    /// Why it is not of this one.
    pub explanation: String,
}

/// What files have in common that are named alike: folder, mask and format.
fn like(file: &TableFile) -> Option<((&str, String), Format)> {
    let (folder, mask) = mask_of(&file.object.path)?;
    Some(((folder, mask.to_lowercase()), file.format))
}

/// Files of other tables that are named like those of this one.
pub(super) fn apart(table: Known<'_>, kind: GroupKind, others: &[Known<'_>]) -> Vec<Apart> {
    if matches!(kind, GroupKind::Directory | GroupKind::Logged) {
        return Vec::new();
    }
    let own: BTreeSet<_> = table
        .files
        .iter()
        .filter_map(|(file, _)| like(file))
        .collect();
    let shapes = shapes(table);
    let mut apart = Vec::new();
    for other in others {
        let mut files = other.files.iter();
        let Some((file, summary)) =
            files.find(|(file, _)| like(file).is_some_and(|it| own.contains(&it)))
        else {
            continue;
        };
        let explanation = if kind_of(*other) == GroupKind::Declared || kind == GroupKind::Declared {
            "people declare which files are one table".to_owned()
        } else {
            unlike(&shapes, summary, file)
        };
        apart.push(Apart {
            table: other.name.to_owned(),
            explanation,
        });
    }
    apart.sort_by(|a, b| a.table.cmp(&b.table));
    apart.truncate(MOST);
    apart
}

/// Why a file with these columns is not of a table whose files have those.
fn unlike(shapes: &BTreeSet<Vec<String>>, summary: &FileSummary, file: &TableFile) -> String {
    let names = names_of(summary);
    if names.is_empty() {
        return "it has no columns".to_owned();
    }
    if summary.is_nameless() {
        return format!("its {} columns have no names", names.len());
    }
    let own: BTreeSet<&String> = names.iter().collect();
    let near = shapes.iter().map(|shape| {
        let common = shape.iter().filter(|name| own.contains(name)).count();
        (common, shape.len().max(names.len()))
    });
    // The largest share, of fractions compared crosswise; of equal ones the narrower file's.
    let near = near.max_by(|(a, of_a), (b, of_b)| (a * of_b).cmp(&(b * of_a)).then(of_b.cmp(of_a)));
    match near {
        Some((common, of)) if 3 * common >= 2 * of => {
            let by_people = file.declared.as_ref().filter(|it| !it.by.is_empty());
            let declared = match by_people {
                Some(_) => ", and an entry of a .limn.yaml speaks of it",
                None => "",
            };
            format!(
                "it shares {common} of {of} columns with the nearest file, but most like files do not follow from one another{declared}"
            )
        }
        Some((common, of)) => {
            format!(
                "it shares {common} of {of} columns with the nearest file, and two thirds are needed"
            )
        }
        None => "this table's files have no names for their columns".to_owned(),
    }
}
