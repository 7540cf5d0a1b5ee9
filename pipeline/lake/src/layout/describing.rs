//! JSON beside a table of its name: `orders.json` beside `orders.csv` may hold rows, or say what
//! the table's columns mean.
//!
//! Paths do not say which, so it is both: a data file that is a table if it holds rows, and a
//! sidecar that says something if it does not ([`crate::contexts::read_sidecar`]).

use std::collections::HashSet;

use limn_formats::{Format, Objects};

use super::{Draft, Entry, GroupKind, may_be_beside};
use crate::contexts::may_describe;

/// Which of a directory's files, none of them a part of a larger table by its path, lie beside a
/// table of their name in another format: `orders.json` and `orders.csv.json` beside `orders.csv`.
pub(super) fn of<'a>(files: &[Entry<'a>]) -> HashSet<&'a str> {
    let json = files.iter().filter(|it| it.format == Format::JsonLines);
    let mut json = json.filter(|it| may_describe(it.path)).peekable();
    if json.peek().is_none() {
        return HashSet::new();
    }
    let others = files
        .iter()
        .filter(|it| it.format != Format::JsonLines && !it.format.is_uncertain());
    let others: HashSet<&str> = others.flat_map(|it| [it.stem(), it.path]).collect();
    json.filter(|it| others.contains(it.stem()))
        .map(|it| it.path)
        .collect()
}

/// Whether such a file is about the table of this group, if it is called like it.
pub(super) fn is_described(group: &Draft, objects: &Objects) -> bool {
    let mut files = group.files(objects);
    matches!(group.kind, GroupKind::File | GroupKind::Family)
        && files.all(|(_, format)| format != Format::JsonLines)
}

/// Whether a plain text that is called like this group may be about it: it has files that are none.
pub(super) fn may_be_described_in_text(group: &Draft, objects: &Objects) -> bool {
    group.files(objects).any(|(path, _)| !may_be_beside(path))
}
