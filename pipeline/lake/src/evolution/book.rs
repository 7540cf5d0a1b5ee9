//! Which sheets of a book are one table.
//!
//! Sheets with the very same columns (two at least, with names) are, if they are three quarters of
//! the book's sheets; but where most of these have names that are alike but for years, months,
//! regions and numbers, only those are (a sheet `2024 (old)` is apart). Otherwise those with alike
//! names are, if their columns follow from one another. Sheets of totals take no part, and sheets
//! that are no table say nothing.

use std::collections::{BTreeMap, HashSet};

use super::{Shapes, are_most};
use crate::layout::Group;
use crate::sheets;

/// The sheets of a book that are one table, with those that could not be read; none if each is.
pub(super) fn table<'a>(book: &'a Group, shapes: &Shapes<'_>) -> HashSet<&'a str> {
    let paths = || book.files.iter().map(|it| it.object.path.as_str());
    let known: Vec<&str> = paths().filter(|path| shapes.has(path)).collect();
    let same = same(&known, shapes);
    if same.len() > 1 && are_most(same.len(), known.len()) && !are_alike(&same) {
        let unknown = paths().filter(|path| !shapes.has(path));
        return same.into_iter().chain(unknown).collect();
    }
    let Some(form) = sheets::common_form(paths()) else {
        return HashSet::new();
    };
    let alike: HashSet<&str> = paths()
        .filter(|path| sheets::form(path).as_ref() == Some(&form))
        .collect();
    let (table, looked_at) = shapes.largest(|path| alike.contains(path));
    match are_most(table.len(), looked_at) {
        true => alike
            .into_iter()
            .filter(|path| table.contains(path) || !shapes.has(path))
            .collect(),
        false => HashSet::new(),
    }
}

/// Whether most sheets have names of one form.
fn are_alike(paths: &[&str]) -> bool {
    let mut forms: BTreeMap<String, usize> = BTreeMap::new();
    for form in paths.iter().filter_map(|path| sheets::form(path)) {
        *forms.entry(form).or_default() += 1;
    }
    forms.into_values().any(|count| 2 * count > paths.len())
}

/// The most sheets that have the same columns; of several such sets the one with the first sheet.
fn same<'a>(known: &[&'a str], shapes: &Shapes<'_>) -> Vec<&'a str> {
    let mut by_shape: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for path in known {
        if let Some(seen) = shapes.of.get(path) {
            by_shape.entry(seen.shape).or_default().push(path);
        }
    }
    let telling = shapes
        .distinct
        .iter()
        .filter(|(shape, _)| !shape.is_nameless && shape.names.len() > 1);
    let sets = telling.filter_map(|(_, id)| by_shape.remove(id));
    let rank = |a: &Vec<&str>, b: &Vec<&str>| a.len().cmp(&b.len()).then_with(|| b.cmp(a));
    sets.max_by(rank).unwrap_or_default()
}

#[cfg(test)]
mod tests;
