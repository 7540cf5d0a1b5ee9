//! Which files of a family are one table: tables evolve, and strays lie among their files.
//!
//! Two files follow from one another if two thirds of their columns have the same names, or one has
//! a single column more: columns come, go, move and are renamed one at a time. A family's table is
//! its largest set of files that follow from one another, directly or over others, if that is three
//! quarters of them. The others are tables of their own; without such a set all files are. A file
//! whose columns have no names belongs to the table if it is as wide as one that does; and so does
//! a file whose names no other has, if they may as well be its first row of data, and as many of
//! its columns are of numbers or dates.
//!
//! Names that differ in case, blanks, underscores or hyphens only are the same ([`spelt`]).
//!
//! Of the sheets of a book (`sheets.rs` says what their names say) those with the same columns are
//! one table, if they are three quarters of them, or if their names are alike: see [`book`].
//!
//! The result is a function of the set of (path, columns), whatever the order in which files are
//! read.

mod book;

use std::collections::{HashMap, HashSet};
use std::iter;

use limn_formats::{Format, Hasher};
use limn_profile::FileSummary;
use limn_profile::names::spelt;

use crate::layout::{Group, GroupKind};
use crate::settled::typed;
use crate::sheets;

/// Files that are looked at first.
pub const PROBES: usize = 8;
/// Files whose names take more comparing than this are no table.
const MOST_WORK: usize = 100_000_000;

/// What is compared of files: the names of its columns as [`spelt`], sorted; of JSON those of the
/// rows' keys, since what is in objects and lists differs from row to row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Shape {
    names: Vec<Box<str>>,
    /// The names are made up: `column_1`, `column_2`, …
    is_nameless: bool,
}

impl Shape {
    /// Of the file at this path; `None` for a file without columns, which says nothing.
    fn of(path: &str, summary: &FileSummary) -> Option<Shape> {
        if summary.columns.is_empty() {
            return None;
        }
        let name = |name: &str| spelt(name).into_boxed_str();
        let mut names: Vec<Box<str>> = match Format::of_path(path).map(|it| it.found(summary)) {
            Some(Format::JsonLines) => row_keys(summary).map(name).collect(),
            _ => summary.column_names().map(name).collect(),
        };
        names.sort_unstable();
        Some(Shape {
            names,
            is_nameless: summary.is_nameless(),
        })
    }

    /// Whether two files may be of one table, one written some time after the other.
    fn follows(&self, other: &Shape) -> bool {
        let (a, b) = (&self.names, &other.names);
        let wider = a.len().max(b.len());
        let narrower = a.len().min(b.len());
        let same = match 3 * narrower >= 2 * wider || narrower + 1 == wider {
            true => common(a, b),
            // They cannot share enough.
            false => return false,
        };
        3 * same >= 2 * wider || same == narrower && same + 1 == wider
    }
}

/// How many names two sorted lists share; the n-th of a repeated name with the n-th.
fn common(a: &[Box<str>], b: &[Box<str>]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let order = x.cmp(y);
        count += usize::from(order.is_eq());
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    count
}

/// The keys of rows of JSON, by the paths of columns (`address.city`, `tags[]`), which stand
/// together.
fn row_keys(summary: &FileSummary) -> impl Iterator<Item = &str> {
    let key = |path: &'_ str| path.find(['.', '[']).unwrap_or(path.len());
    let keys = summary.column_names().map(move |path| &path[..key(path)]);
    let mut last = None;
    keys.filter(move |key| last.replace(*key) != Some(*key))
}

/// What is known of a family's files, by path.
#[derive(Debug, Default)]
pub struct Shapes<'a> {
    distinct: HashMap<Shape, usize>,
    of: HashMap<&'a str, Seen>,
}

/// What is known of a file: its shape, by number.
#[derive(Debug)]
struct Seen {
    shape: usize,
    /// The shapes that it has if other delimiters cut it.
    others: Vec<usize>,
    /// Its names, if it has any, are a header's for sure.
    is_sure: bool,
    /// How many of its columns are of numbers or dates ([`typed`]).
    typed: usize,
}

/// The files of one shape.
#[derive(Debug, Default)]
struct OfShape<'a> {
    paths: Vec<&'a str>,
    is_sure: bool,
    /// The most columns of numbers or dates.
    typed: usize,
}

/// Shapes that have as many columns, as many of them of numbers or dates.
#[derive(Default)]
struct Alike<'s> {
    known: Vec<(&'s Shape, usize)>,
    /// Those whose names may be a row of data.
    open: Vec<(&'s Shape, usize)>,
}

impl<'a> Shapes<'a> {
    /// Takes in a file. One without columns says nothing.
    pub fn add(&mut self, path: &'a str, summary: &FileSummary) {
        let Some(shape) = self.number(path, summary) else {
            return;
        };
        let otherwise = summary.otherwise.iter();
        let seen = Seen {
            shape,
            others: otherwise
                .filter_map(|other| self.number(path, other))
                .collect(),
            is_sure: summary.first_row().is_none(),
            typed: typed(summary),
        };
        self.of.insert(path, seen);
    }

    fn number(&mut self, path: &str, summary: &FileSummary) -> Option<usize> {
        let shape = Shape::of(path, summary)?;
        let next = self.distinct.len();
        Some(*self.distinct.entry(shape).or_insert(next))
    }

    /// Whether anything is known of a file.
    fn has(&self, path: &str) -> bool {
        self.of.contains_key(path)
    }

    /// The files of which `is_meant` holds by their shapes: a file that several delimiters cut has
    /// the one that another file has.
    fn by_shape(&self, is_meant: impl Fn(&str) -> bool) -> HashMap<usize, OfShape<'a>> {
        let seen = || self.of.iter().filter(|(path, _)| is_meant(path));
        let clear = seen().filter(|(_, it)| it.others.is_empty());
        let clear: HashSet<usize> = clear.map(|(_, it)| it.shape).collect();
        let mut shapes: HashMap<usize, OfShape<'a>> = HashMap::new();
        for (path, it) in seen() {
            let mut all = iter::once(&it.shape).chain(&it.others);
            let shape = all.find(|shape| clear.contains(shape));
            let of_shape = shapes.entry(*shape.unwrap_or(&it.shape)).or_default();
            of_shape.paths.push(path);
            of_shape.is_sure |= it.is_sure;
            of_shape.typed = of_shape.typed.max(it.typed);
        }
        shapes
    }

    /// Shapes whose names rather are a row of data, among those of these files: of one file each,
    /// that has no name in common with any of others as wide; and these are more files.
    fn of_data(&self, files: &HashMap<usize, OfShape<'_>>) -> HashSet<usize> {
        let named = self.distinct.iter().filter(|(it, _)| !it.is_nameless);
        let named = named.filter_map(|(shape, id)| Some((shape, *id, files.get(id)?)));
        let mut by_width: HashMap<(usize, usize), Alike<'_>> = HashMap::new();
        for (shape, id, of_shape) in named {
            let is_open = of_shape.paths.len() == 1 && !of_shape.is_sure;
            let alike = by_width.entry((shape.names.len(), of_shape.typed));
            let Alike { known, open } = alike.or_default();
            if is_open { open } else { known }.push((shape, id));
        }
        let mut of_data = HashSet::new();
        for ((width, _), Alike { known, mut open }) in by_width {
            if known.is_empty() || known.len() * open.len() * width > MOST_WORK {
                continue;
            }
            open.retain(|(open, _)| known.iter().all(|it| common(&it.0.names, &open.names) == 0));
            let known = known.iter().map(|(_, id)| files[id].paths.len());
            if open.len() < known.sum::<usize>() {
                of_data.extend(open.into_iter().map(|(_, id)| id));
            }
        }
        of_data
    }

    /// The largest set of files among those of which `is_meant` holds that follow from one another;
    /// of several such the one with the first paths; and how many were looked at.
    fn largest(&self, is_meant: impl Fn(&str) -> bool) -> (HashSet<&'a str>, usize) {
        let mut files = self.by_shape(is_meant);
        let looked_at = files.values().map(|it| it.paths.len()).sum();
        let of_data = self.of_data(&files);
        let (mut nameless, mut named) = (Vec::new(), Vec::new());
        for (shape, id) in &self.distinct {
            let Some(OfShape { paths, .. }) = files.remove(id) else {
                continue;
            };
            let is_nameless = shape.is_nameless || of_data.contains(id);
            if is_nameless {
                &mut nameless
            } else {
                &mut named
            }
            .push((shape, paths));
        }
        let sets = match named.is_empty() {
            true => nameless.into_iter().map(|(_, paths)| paths).collect(),
            false => sets(named, &nameless),
        };
        // Sets may share files without names, so all paths count.
        let sorted = sets.into_iter().map(|mut paths: Vec<&'a str>| {
            paths.sort_unstable();
            paths
        });
        let rank = |a: &Vec<&str>, b: &Vec<&str>| a.len().cmp(&b.len()).then_with(|| b.cmp(a));
        let largest = sorted.max_by(rank).unwrap_or_default();
        (largest.into_iter().collect(), looked_at)
    }
}

/// The files of a family (places among them) that show first whether it can be a table: as good as
/// any, and the same ones whenever the family has the same files.
pub fn probes(family: &Group) -> Vec<usize> {
    probes_among(family.files.iter().map(|it| it.object.path.as_str()))
}

/// The same of a family with files at these paths.
pub fn probes_among<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let place = |(at, path): (usize, &str)| {
        let mut hasher = Hasher::new("probe");
        hasher.text(path);
        (hasher.finish(), at)
    };
    let mut places: Vec<_> = paths.enumerate().map(place).collect();
    places.sort_unstable();
    places.into_iter().take(PROBES).map(|(_, at)| at).collect()
}

/// Whether a family is a table a file, as its [`probes`] show: fewer than half of those that could
/// be read follow from one another. Nothing else of `shapes` is looked at.
pub fn is_apart(family: &Group, shapes: &Shapes<'_>) -> bool {
    // A book has few sheets, and their names count, too.
    if is_book(family) {
        return false;
    }
    let probed = probes(family).into_iter();
    let probed: HashSet<&str> = probed
        .map(|at| family.files[at].object.path.as_str())
        .collect();
    let (table, looked_at) = shapes.largest(|path| probed.contains(path));
    2 * table.len() < looked_at
}

/// A group's tables, as far as these shapes of its files show. A family of which no file could be
/// read is one table: nothing says that it is not; and so a file that could not be read belongs to
/// its family's table, if there is one. What is a table here is one by its own probes, too:
/// arranged once more, it stays.
pub fn arrange(group: Group, shapes: &Shapes<'_>) -> Vec<Group> {
    if group.kind != GroupKind::Family || shapes.of.is_empty() {
        return vec![group];
    }
    if is_book(&group) {
        let table = book::table(&group, shapes);
        return group.clone().part(|path| table.contains(path));
    }
    let (table, looked_at) = shapes.largest(|_| true);
    let is_table = are_most(table.len(), looked_at) && !is_apart(&group, shapes);
    if !is_table {
        return group.part(|_| false);
    }
    let is_of_table = |path: &str| table.contains(path) || !shapes.has(path);
    let parts = group.clone().part(is_of_table);
    let mut families = parts.iter().filter(|it| it.kind == GroupKind::Family);
    match families.any(|it| is_apart(it, shapes)) {
        true => group.part(|_| false),
        false => parts,
    }
}

/// Whether so many of a family's files are its table.
fn are_most(files: usize, of: usize) -> bool {
    4 * files >= 3 * of && (files > 1 || of == 1)
}

/// Whether a family is the sheets of one book.
fn is_book(family: &Group) -> bool {
    let mut paths = family.files.iter().map(|it| it.object.path.as_str());
    paths.all(|path| sheets::book(path) == Some(family.path.as_str()))
}

/// Sets of files whose shapes follow from one another; those without names go with each set that
/// has one as wide.
fn sets<'a>(
    named: Vec<(&Shape, Vec<&'a str>)>,
    nameless: &[(&Shape, Vec<&'a str>)],
) -> Vec<Vec<&'a str>> {
    let names: usize = named.iter().map(|(shape, _)| shape.names.len()).sum();
    if names.saturating_mul(named.len()) > MOST_WORK {
        return Vec::new();
    }
    // For each shape the first of those that it follows from, directly or over others.
    let mut first: Vec<usize> = (0..named.len()).collect();
    for a in 0..named.len() {
        for b in a + 1..named.len() {
            let (low, high) = (first[a].min(first[b]), first[a].max(first[b]));
            if low != high && named[a].0.follows(named[b].0) {
                first
                    .iter_mut()
                    .filter(|it| **it == high)
                    .for_each(|it| *it = low);
            }
        }
    }
    let mut sets: HashMap<usize, Vec<(&Shape, Vec<&str>)>> = HashMap::new();
    for (shape, set) in named.into_iter().zip(first) {
        sets.entry(set).or_default().push(shape);
    }
    let dense = sets.into_values().filter(|shapes| is_dense(shapes));
    let with_nameless = dense.map(|shapes| {
        let as_wide = nameless.iter().filter(|(nameless, _)| {
            let mut widths = shapes.iter().map(|(shape, _)| shape.names.len());
            widths.any(|width| width == nameless.names.len())
        });
        let paths = shapes.iter().chain(as_wide).flat_map(|(_, paths)| paths);
        paths.copied().collect()
    });
    with_nameless.collect()
}

/// Whether files have half of the columns that they have together, on average.
fn is_dense(shapes: &[(&Shape, Vec<&str>)]) -> bool {
    let names = shapes.iter().flat_map(|(shape, _)| &shape.names);
    let together = names.collect::<HashSet<_>>().len();
    let files: usize = shapes.iter().map(|(_, paths)| paths.len()).sum();
    let filled = shapes
        .iter()
        .map(|(shape, paths)| shape.names.len() * paths.len());
    2 * filled.sum::<usize>() >= files * together
}

#[cfg(test)]
mod tests;
