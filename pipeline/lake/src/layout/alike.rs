//! Files of one directory that are named alike: what may be one table, as far as names tell.
//!
//! Files are alike if they have one format and names that differ only in numbers, dates and ids. Others beside them do not
//! matter. If most files of a directory are alike in one way, they are the directory's table and have its name. Other
//! names have to say more: numbers stand apart from words (`orders_7`, not `iso9001`), and there are three
//! files at least, or two of dates. These are called by what their names share, with a star for what varies: `exports/orders_*`.

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::{Format, ObjectRecord, without_compression};

use super::describing;
use crate::place::{self, MASK};
use crate::sheets;

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
    /// Their path with a star for what varies: `exports/orders_*`. No other files of the directory have it.
    pub(super) path: String,
}

/// The files of a directory that may be one table, each in one of them at most. `has_table` says that the directory is
/// called like another table already, `is_free` which files nobody has said anything of.
pub(super) fn among(
    files: &[(ObjectRecord, Format)],
    has_table: bool,
    is_free: impl Fn(&str) -> bool,
) -> Vec<Alike> {
    let has = |format| files.iter().any(|(_, it)| *it == format);
    let members = if has(Format::Sheet) {
        return of_book(files, has_table).into_iter().collect();
    } else {
        sets(files, &is_free)
    };
    let is_certain = |at: &usize| {
        let file = files.get(*at);
        file.is_some_and(|it| !it.1.is_uncertain() && is_free(&it.0.path))
    };
    let certain = (0..files.len()).filter(is_certain).count();
    let all = if certain > 0 { certain } else { files.len() };
    // Tables of a database have their names on purpose: only all of them together are one.
    let is_database = has(Format::Sqlite);
    let is_most = |set: &Set| match is_database {
        true => set.members.len() == all,
        false => 2 * set.members.len() > all,
    };
    let path = |at: &usize| {
        files
            .get(*at)
            .map_or("", |(object, _)| object.path.as_str())
    };
    let says_enough = |set: &Set| {
        let paths: Vec<&str> = set.members.iter().map(path).collect();
        stands_apart(&set.mask) && (paths.len() > 2 || paths.into_iter().all(has_date))
    };
    let telling = members.iter().filter(|set| says_enough(set)).count();
    // Of several tables with names of their own none has the directory's.
    let is_directory = |set: &Set| !has_table && is_most(set) && !(telling > 1 && says_enough(set));
    let (of_directory, others): (Vec<Set>, Vec<Set>) = members.into_iter().partition(is_directory);
    let of_directory = of_directory.into_iter().map(|set| Alike {
        members: set.members,
        pattern: None,
    });
    let others = others
        .into_iter()
        .filter(|set| says_enough(set) && !is_database);
    of_directory.chain(patterns(others.collect())).collect()
}

/// Whether what varies in a name is no part of a word.
fn stands_apart(mask: &str) -> bool {
    let characters: Vec<char> = mask.chars().collect();
    let mut pairs = characters.windows(2);
    pairs.all(|pair| match pair {
        [MASK, other] | [other, MASK] => !other.is_alphanumeric(),
        _ => true,
    })
}

/// Whether a file's name has a year or a date: `2024`, `202403`, `2024-03-01`, `20240301`.
fn has_date(path: &str) -> bool {
    let (_, name) = place::split_path(path);
    let mut numbers = name.split(|c: char| !c.is_ascii_digit());
    numbers
        .any(|it| matches!(it.len(), 4 | 6 | 8) && (it.starts_with("19") || it.starts_with("20")))
}

/// Sheets of a book that are one table by their names: the only such set ([`sheets::common_form`]).
fn of_book(files: &[(ObjectRecord, Format)], has_table: bool) -> Option<Alike> {
    let paths = files.iter().map(|(object, _)| object.path.as_str());
    let common = sheets::common_form(paths).filter(|_| !has_table)?;
    let is_member = |at: &usize| {
        let form = files.get(*at).and_then(|(it, _)| sheets::form(&it.path));
        form.as_ref() == Some(&common)
    };
    let members = (0..files.len()).filter(is_member).collect();
    Some(Alike {
        members,
        pattern: None,
    })
}

/// Files of one format whose names are alike, before they have a name together.
struct Set {
    /// Path up to the name.
    folder: String,
    mask: String,
    /// Of compressed data without its own, unless others of the format have the same names.
    extension: String,
    members: Vec<usize>,
}

/// The sets of several files with different names. A plain text, which may be no data, is alike to others only where
/// nothing else is.
fn sets(files: &[(ObjectRecord, Format)], is_free: &impl Fn(&str) -> bool) -> Vec<Set> {
    let are_uncertain = files.iter().all(|(_, format)| format.is_uncertain());
    let beside = describing::of(files);
    let mut found: BTreeMap<(&str, String, Format), Vec<usize>> = BTreeMap::new();
    for (at, (object, format)) in files.iter().enumerate() {
        let (_, name) = place::split_path(&object.path);
        let mask = place::mask(place::without_extension(name));
        let takes_part = are_uncertain || !format.is_uncertain();
        // A star stands for what varies.
        let is_pattern = mask.contains(MASK) && !mask.contains('*');
        if takes_part && is_pattern && is_free(&object.path) && !beside.contains(&object.path) {
            let folder = &object.path[..object.path.len() - name.len()];
            found.entry((folder, mask, *format)).or_default().push(at);
        }
    }
    let path = |at: &usize| {
        files
            .get(*at)
            .map_or("", |(object, _)| object.path.as_str())
    };
    let mut sets = Vec::new();
    for ((folder, mask, format), members) in found {
        // `x1.csv` beside `x1.tsv` is the same thing twice, not two parts of one.
        let stems = members.iter().map(|at| place::without_extension(path(at)));
        let is_twice = stems.collect::<BTreeSet<&str>>().len() < members.len();
        let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in members {
            let kind = match is_twice {
                true => extension(path(&at)),
                false => format.label(),
            };
            by_kind.entry(kind).or_default().push(at);
        }
        for (kind, members) in by_kind.into_iter().filter(|(_, it)| it.len() > 1) {
            let first = path(&members[0]);
            let extension = match is_twice {
                true => kind,
                false => extension(without_compression(first)),
            };
            sets.push(Set {
                folder: folder.to_owned(),
                mask: mask.clone(),
                extension: extension.to_owned(),
                members,
            });
        }
    }
    sets
}

/// With its dot, and of compressed data both.
fn extension(path: &str) -> &str {
    &path[place::without_extension(path).len()..]
}

fn patterns(sets: Vec<Set>) -> Vec<Alike> {
    let short: Vec<String> = sets.iter().map(|set| starred(&set.mask)).collect();
    // Where two sets would share a name, all keep what tells them apart.
    let are_short = short.iter().collect::<BTreeSet<_>>().len() == sets.len();
    let of_set = |(set, short): (Set, String)| {
        let name = match are_short {
            true => short,
            false => set.mask.replace(MASK, "*") + &set.extension,
        };
        let path = format!("{}{name}", set.folder);
        Alike {
            members: set.members,
            pattern: Some(Pattern { path }),
        }
    };
    sets.into_iter().zip(short).map(of_set).collect()
}

/// A mask for people: one star for what varies with nothing but punctuation between (`orders_*` for dates).
fn starred(mask: &str) -> String {
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

/// What a pattern's path has besides stars: `exports/orders` of `exports/orders_*`, nothing of `exports/*`.
pub(super) fn words(path: &str) -> Option<String> {
    let (_, name) = place::split_path(path);
    let folder = &path[..path.len() - name.len()];
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
