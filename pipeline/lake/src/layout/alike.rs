//! Files of one directory that are named alike: what may be one table, as far as names show.
//!
//! Files are alike if they have one format and names that differ only in numbers, dates, names of
//! months and ids, or in the case of letters. Others beside them do not matter. A format that took
//! over from another goes on with its files; of a file that is there compressed and not, the latter
//! counts, and the other is a copy. If most files of a directory are alike in one way, they are the
//! directory's table and have its name. Other names have to say more: numbers stand apart from
//! words (`orders_7`, not `iso9001`), and there are three files at least, or two of dates. These
//! are called by what their names share, with a star for what varies: `exports/orders_*`.

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::Format;

use super::by_mask::{ByMask, Like, Masked};
use super::{Entry, describing};
use crate::dates;
use crate::place::{self, MASK, stands_apart};
use crate::sheets::is_total;

/// Files of a directory that may be one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alike {
    /// Where the files are among the directory's, ascending; at least two.
    pub(super) members: Vec<usize>,
    /// What their names share; `None` where they are the directory's table.
    pub(super) pattern: Option<Pattern>,
}

/// What the names of like files share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Their path with a star for what varies: `exports/orders_*`. No other files of the directory
    /// have it.
    pub(super) path: String,
}

/// The files of a directory that may be one table, each in one of them at most. `has_table` says
/// that the directory is called like another table already, `is_free` which files nobody has said
/// anything of.
pub(super) fn among(
    files: &[Entry<'_>],
    has_table: bool,
    is_free: impl Fn(&Entry<'_>) -> bool,
) -> Vec<Alike> {
    let has = |format| files.iter().any(|it| it.format == format);
    if has(Format::Sheet) {
        return of_book(files, has_table, is_free).into_iter().collect();
    }
    let sets = sets(files, &is_free);
    let copies: BTreeSet<usize> = sets
        .iter()
        .filter(|set| set.is_copy)
        .flat_map(|set| set.members.iter().copied())
        .collect();
    let is_certain = |at: &usize| {
        let file = files.get(*at).filter(|_| !copies.contains(at));
        file.is_some_and(|it| !it.format.is_uncertain() && is_free(it))
    };
    let certain = (0..files.len()).filter(is_certain).count();
    let all = if certain > 0 { certain } else { files.len() };
    // Tables of a database have their names on purpose: only all of them together are one.
    let is_database = has(Format::Sqlite);
    let is_most = |set: &Set| match is_database {
        true => set.members.len() == all,
        false => !set.is_copy && 2 * set.members.len() > all,
    };
    let says_enough = |set: &Set| {
        let mut members = set.members.iter().filter_map(|at| files.get(*at));
        stands_apart(&set.mask) && (set.members.len() > 2 || members.all(has_date))
    };
    let telling = sets
        .iter()
        .filter(|set| !set.is_copy)
        .filter(|set| says_enough(set))
        .count();
    // Of several tables with names of their own none has the directory's.
    let is_directory = |set: &Set| !has_table && is_most(set) && !(telling > 1 && says_enough(set));
    let (of_directory, others): (Vec<Set>, Vec<Set>) = sets.into_iter().partition(is_directory);
    let of_directory = of_directory.into_iter().map(|set| Alike {
        members: set.members,
        pattern: None,
    });
    let others = others
        .into_iter()
        .filter(|set| (set.is_copy || says_enough(set)) && !is_database);
    of_directory.chain(patterns(others.collect())).collect()
}

/// Whether a file's name has a year, a date or a month.
fn has_date(file: &Entry<'_>) -> bool {
    dates::has_date(place::split_path(file.stem()).1)
}

/// Sheets of a book that may be one table: all but totals.
fn of_book(
    files: &[Entry<'_>],
    has_table: bool,
    is_free: impl Fn(&Entry<'_>) -> bool,
) -> Option<Alike> {
    let is_member = |at: &usize| {
        let file = files.get(*at);
        file.is_some_and(|it| is_free(it) && !is_total(it.path))
    };
    let members: Vec<usize> = (0..files.len()).filter(is_member).collect();
    (members.len() > 1 && !has_table).then_some(Alike {
        members,
        pattern: None,
    })
}

/// Files whose names are alike, before they have a name together.
struct Set {
    /// Path up to the name.
    folder: String,
    mask: String,
    /// Of compressed data without its own, unless others of the format have the same names.
    extension: String,
    members: Vec<usize>,
    is_copy: bool,
}

/// The sets of several files with different names. A plain text, which may be no data, is alike to
/// others only where nothing else is.
fn sets(files: &[Entry<'_>], is_free: &impl Fn(&Entry<'_>) -> bool) -> Vec<Set> {
    let are_uncertain = files.iter().all(|it| it.format.is_uncertain());
    let beside = describing::of(files);
    let mut found = ByMask::default();
    let mut mask = String::new();
    for (at, file) in files.iter().enumerate() {
        let takes_part = are_uncertain || !file.format.is_uncertain();
        if !takes_part || beside.contains(file.path) || !is_free(file) {
            continue;
        }
        place::write_mask(file.bare_name(), &mut mask);
        // A star stands for what varies.
        if mask.contains(MASK) && !mask.contains('*') {
            found.add(file.folder(), &mask, Like { at, file: *file });
        }
    }
    let of_mask = |it: Masked<'_>| {
        let parts = parted(it.files).into_iter();
        let parts = parts.filter(|part| part.members.len() > 1);
        let set = |part: Part| Set {
            folder: it.folder.to_owned(),
            mask: it.mask.clone(),
            extension: part.extension,
            members: part.members,
            is_copy: part.is_copy,
        };
        parts.map(set).collect::<Vec<Set>>()
    };
    found.into_sets().flat_map(of_mask).collect()
}

/// Those of files with like names that may be one table.
pub(super) struct Part {
    pub(super) members: Vec<usize>,
    /// What the files' names end in, for a name that distinguishes them from others of the same
    /// mask.
    pub(super) extension: String,
    /// Other files are the same ones, not compressed.
    pub(super) is_copy: bool,
}

/// Files with like names, given by path, by what they may be parts of: those of one format, and of
/// several formats if no name is in two of them.
pub(super) fn parted(files: Vec<Like<'_>>) -> Vec<Part> {
    let (mut whole, mut parts): (Vec<Vec<Like<'_>>>, Vec<Part>) = (Vec::new(), Vec::new());
    for files in by_format(files) {
        if are_distinct(files.iter().map(|it| it.file.stem())) {
            whole.push(files);
            continue;
        }
        let mut by_stem: BTreeMap<&str, Vec<&Like<'_>>> = BTreeMap::new();
        for like in &files {
            by_stem.entry(like.file.stem()).or_default().push(like);
        }
        // `x1.csv` beside `x1.tsv` is the same thing twice, not two parts of one.
        let is_twice = |files: &Vec<&Like<'_>>| {
            let mut own = files.iter().map(|it| it.file.own_extension());
            let first = own.next();
            own.any(|it| Some(it) != first)
        };
        if by_stem.values().any(is_twice) {
            parts.extend(by_extension(&files, |_| true, false));
            continue;
        }
        // What is not compressed has the shortest name.
        let first = by_stem.values().filter_map(|files| {
            let files = files.iter();
            let first = files.min_by_key(|it| (it.file.path.len(), it.file.path));
            first.map(|it| it.at)
        });
        let first: BTreeSet<usize> = first.collect();
        parts.extend(by_extension(&files, |it| !first.contains(&it.at), true));
        whole.push(
            files
                .into_iter()
                .filter(|it| first.contains(&it.at))
                .collect(),
        );
    }
    let (several, few): (Vec<_>, Vec<_>) = whole.into_iter().partition(|files| files.len() > 1);
    let stems = || {
        let files = several.iter().flatten();
        files.map(|it| it.file.stem().to_lowercase())
    };
    let several = match several.len() > 1 && are_distinct(stems()) {
        true => vec![several.into_iter().flatten().collect()],
        false => several,
    };
    let part = |mut files: Vec<Like<'_>>| {
        files.sort_by_key(|it| it.at);
        let first = files.first().map_or("", |it| it.file.own_extension());
        Part {
            extension: first.to_owned(),
            members: files.iter().map(|it| it.at).collect(),
            is_copy: false,
        }
    };
    parts.extend(several.into_iter().chain(few).map(part));
    parts.retain(|part| !part.members.is_empty());
    parts
}

/// Files by their formats, in the order of these.
fn by_format(files: Vec<Like<'_>>) -> Vec<Vec<Like<'_>>> {
    let mut formats = files.iter().map(|it| it.file.format);
    let first = formats.next();
    if formats.all(|it| Some(it) == first) {
        return vec![files];
    }
    let mut found: BTreeMap<Format, Vec<Like<'_>>> = BTreeMap::new();
    for like in files {
        found.entry(like.file.format).or_default().push(like);
    }
    found.into_values().collect()
}

/// Whether none is there twice. Those that are given in order are looked at once.
fn are_distinct<T: Ord>(all: impl Iterator<Item = T>) -> bool {
    let mut all: Vec<T> = all.collect();
    if all.is_sorted_by(|a, b| a < b) {
        return true;
    }
    all.sort_unstable();
    all.windows(2).all(|pair| pair[0] != pair[1])
}

fn by_extension(
    files: &[Like<'_>],
    is_meant: impl Fn(&Like<'_>) -> bool,
    are_copies: bool,
) -> Vec<Part> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for like in files.iter().filter(|like| is_meant(like)) {
        let members = found.entry(like.file.extension()).or_default();
        members.push(like.at);
    }
    let part = |(extension, members): (&str, Vec<usize>)| Part {
        members,
        extension: extension.to_owned(),
        is_copy: are_copies,
    };
    found.into_iter().map(part).collect()
}

fn patterns(sets: Vec<Set>) -> Vec<Alike> {
    let shapes = sets
        .iter()
        .map(|it| (&*it.mask, &*it.extension, it.is_copy));
    let names = star_names(&shapes.collect::<Vec<_>>());
    let of_set = |(set, name): (Set, String)| Alike {
        members: set.members,
        pattern: Some(Pattern {
            path: format!("{}{name}", set.folder),
        }),
    };
    sets.into_iter().zip(names).map(of_set).collect()
}

/// The names of sets of files with these masks and extensions, some of which are copies: what the
/// files' names share. Where two would have the same, all keep what distinguishes them, as copies
/// do anyway.
pub(super) fn star_names(sets: &[(&str, &str, bool)]) -> Vec<String> {
    let long = |mask: &str, extension: &str| mask.replace(MASK, "*") + extension;
    let names: Vec<String> = sets
        .iter()
        .map(|(mask, extension, is_copy)| match is_copy {
            true => long(mask, extension),
            false => starred(mask),
        })
        .collect();
    match names.iter().collect::<BTreeSet<_>>().len() == sets.len() {
        true => names,
        false => sets
            .iter()
            .map(|(mask, extension, _)| long(mask, extension))
            .collect(),
    }
}

/// A mask for people: one star for what varies with nothing but punctuation between (`orders_*` for
/// dates).
pub(super) fn starred(mask: &str) -> String {
    let mut shown = String::with_capacity(mask.len());
    let mut between = String::new();
    let mut after_mark = false;
    for c in mask.chars() {
        match c {
            MASK if after_mark => between.clear(),
            MASK => {
                shown.push('*');
                after_mark = true;
            }
            c if after_mark && !c.is_alphanumeric() => between.push(c),
            c => {
                shown.push_str(&std::mem::take(&mut between));
                shown.push(c);
                after_mark = false;
            }
        }
    }
    shown
}

/// What a pattern's path has besides stars: `exports/orders` of `exports/orders_*` and of
/// `exports/*/orders`, nothing of `exports/*`.
pub(super) fn words(path: &str) -> Option<String> {
    let (_, name) = place::split_path(path);
    // Stars for dates.
    let folders = path[..path.len() - name.len()].split_inclusive('/');
    let folder: String = folders.filter(|it| *it != "*/").collect();
    let is_dot = |c: char| !c.is_alphanumeric();
    let parts = name.split('*').map(|part| part.trim_matches(is_dot));
    let mut parts = parts.filter(|part| !part.is_empty());
    // `Q*_sales` is called neither Q nor sales.
    let only = parts.next().filter(|_| parts.next().is_none())?;
    Some(format!("{folder}{only}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn names_with_stars_are_short() {
        for (stem, name, shared) in [
            ("orders_2024-01-31", "orders_*", Some("orders")),
            ("2024-01-31", "*", None),
            ("Q1_sales", "Q*_sales", None),
            ("2024 orders", "* orders", Some("orders")),
            ("run-7-b.2", "run-*-b.*", None),
            ("x1 (2)", "x*", Some("x")),
        ] {
            let mask = place::mask(stem);
            let shown = starred(&mask);
            assert_eq!(
                (shown.as_str(), words(&shown).as_deref()),
                (name, shared),
                "{stem}"
            );
        }
    }
}
