//! Dates in paths: folders that are days, months or years (`2024/05/20`), and books, databases and
//! archives called by one.
//!
//! The *home* of a file is the folder above the first date of its path, so that what comes each day
//! is seen together. A file's own name is not looked at here.

use std::ops::Range;

use limn_formats::Format;

use crate::months::{is_accent, is_month};
use crate::place::{MASK, mask, mask_apart, split_path, stands_apart, varying, without_extension};

/// The column that says of which date a row is, by its file's path.
pub(crate) const DATE_COLUMN: &str = "path_date";

/// A part of a date.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A year, with or without month, day and time in the same digits.
    Year,
    /// A month, day, hour, or the number of a quarter or week.
    Small,
    /// A time of six digits.
    Time,
    Month,
    /// `Q`, `W` and the like: a number is to follow.
    Sign,
    Zone,
}

/// What stands before the number of a quarter, week, half or time.
const SIGNS: [&str; 6] = ["q", "w", "kw", "cw", "h", "t"];

impl Part {
    fn of(token: &str) -> Option<Part> {
        if token.bytes().all(|b| b.is_ascii_digit()) {
            let is_year = matches!(token.len(), 4 | 6 | 8 | 10 | 12 | 14)
                && ("19".."21").contains(&&token[..2])
                && token
                    .get(4..6)
                    .is_none_or(|month| ("01".."13").contains(&month))
                && token
                    .get(6..8)
                    .is_none_or(|day| ("01".."32").contains(&day));
            return match token.len() {
                _ if is_year => Some(Part::Year),
                1 => Some(Part::Small),
                2 if token < "60" => Some(Part::Small),
                6 => Some(Part::Time),
                _ => None,
            };
        }
        if SIGNS.iter().any(|sign| token.eq_ignore_ascii_case(sign)) {
            Some(Part::Sign)
        } else if token.eq_ignore_ascii_case("z") {
            Some(Part::Zone)
        } else {
            is_month(token).then_some(Part::Month)
        }
    }
}

/// The runs of digits and of letters in a name; `None` if it has anything else but points, dashes,
/// underscores and blanks.
fn tokens(name: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = match first {
            '-' | '_' | '.' | ' ' => first.len_utf8(),
            c if c.is_alphanumeric() => {
                let is_other = |c: char| match is_digit {
                    true => !c.is_ascii_digit(),
                    false => c.is_ascii_digit() || !c.is_alphanumeric() && !is_accent(c),
                };
                rest.find(is_other).unwrap_or(rest.len())
            }
            _ => return None,
        };
        if first.is_alphanumeric() {
            tokens.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    Some(tokens)
}

/// Whether a folder's name is a date. A star stands for one.
pub(crate) fn is_date(name: &str) -> bool {
    goes_on(name, false)
}

/// Whether a folder's name is a date, or goes on with the date that the folder above it is.
fn goes_on(name: &str, is_below_date: bool) -> bool {
    if name == "*" {
        return true;
    }
    let parts = tokens(name).map(|tokens| tokens.into_iter().map(Part::of).collect());
    let Some(Some(parts)) = parts.map(|parts: Option<Vec<Part>>| parts.filter(|it| !it.is_empty()))
    else {
        return false;
    };
    let signs_hold = parts.iter().enumerate().all(|(at, part)| match part {
        Part::Sign => matches!(parts.get(at + 1), Some(Part::Small | Part::Time)),
        Part::Zone => at > 0 && at + 1 == parts.len(),
        _ => true,
    });
    let years = parts.iter().filter(|part| **part == Part::Year).count();
    let is_whole = match years {
        0 => is_below_date || matches!(parts.as_slice(), [Part::Month]),
        years => years == 1,
    };
    signs_hold && is_whole
}

/// Whether a name, without its extension, has a year, a date or a month's name.
pub(crate) fn has_date(stem: &str) -> bool {
    let mut numbers = stem.split(|c: char| !c.is_ascii_digit());
    let is_year =
        |it: &str| matches!(it.len(), 4 | 6 | 8) && (it.starts_with("19") || it.starts_with("20"));
    let is_letter = |c: char| c.is_alphabetic() || is_accent(c);
    numbers.any(is_year) || stem.split(|c| !is_letter(c)).any(is_month)
}

/// The name of a book, database or archive without its extensions.
fn container_stem(name: &str) -> &str {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.strip_suffix(".tar").unwrap_or(stem)
}

/// A path with dates in it, above the file's own name.
pub(crate) struct Dated<'a> {
    /// The folder (or container) above all dates; `""` for the root.
    pub(crate) home: &'a str,
    /// The path from there on.
    pub(crate) below: &'a str,
    /// Where that begins in the path.
    from: usize,
    /// Where the dates are in `below`, and whether each is a container's name and not a folder's.
    dates: Vec<(Range<usize>, bool)>,
}

/// A path as one with dates; `None` if it has none.
pub(crate) fn dated(path: &str) -> Option<Dated<'_>> {
    // A sheet's or table's name may have slashes.
    let folders = match Format::of_part(path) {
        Some(_) => path.rfind("//").map_or(0, |at| at + 1),
        None => path.rfind('/')?,
    };
    let mut home = None;
    let mut dates = Vec::new();
    let (mut start, mut is_below_date) = (0, false);
    for name in path[..folders].split('/') {
        let end = start + name.len();
        let is_container = path[end..].starts_with("//");
        let stem = container_stem(name);
        let is_date = match is_container {
            true => has_date(stem) && stands_apart(&mask(stem)),
            false => goes_on(name, is_below_date),
        };
        if is_date {
            let home = *home.get_or_insert(start);
            dates.push((start - home..end - home, is_container));
        }
        if !name.is_empty() {
            is_below_date = is_date && !is_container;
        }
        start = end + 1;
    }
    let home = home?;
    Some(Dated {
        home: path[..home].trim_end_matches('/'),
        below: &path[home..],
        from: home,
        dates,
    })
}

/// The folder that a file's table may reach over: above all dates, else the file's own.
pub(crate) fn home(path: &str) -> &str {
    dated(path).map_or_else(|| split_path(path).0, |it| it.home)
}

/// The folder above all dates of a folder's path; the folder itself if it has none.
pub(crate) fn above(folder: &str) -> &str {
    let mut start = 0;
    for name in folder.split('/') {
        if is_date(name) {
            return folder[..start].trim_end_matches('/');
        }
        start += name.len() + 1;
    }
    folder
}

impl<'a> Dated<'a> {
    /// Goes on to another file in the very same folder, which has the same dates.
    pub(crate) fn go_on_to(&mut self, path: &'a str) {
        self.below = &path[self.from..];
    }

    /// What files have in common that are alike but for dates: the path below their home without
    /// extension, with marks for dates, and for what varies in the file's name apart from words.
    pub(crate) fn mask(&self) -> String {
        let mut masked = String::new();
        let mut at = 0;
        for (date, is_container) in &self.dates {
            masked.push_str(&self.below[at..date.start]);
            let name = &self.below[date.clone()];
            match is_container {
                true => {
                    let stem = container_stem(name);
                    masked.push_str(&mask(stem));
                    masked.push_str(&name[stem.len()..]);
                }
                false => masked.push(MASK),
            }
            at = date.end;
        }
        let rest = &self.below[at..];
        let rest = match Format::of_part(self.below) {
            // Tables of a database have their names on purpose.
            Some(Format::Sqlite) => return masked + rest,
            Some(_) => rest,
            None => &rest[..without_extension(self.below).len().saturating_sub(at)],
        };
        let (_, name) = split_path(rest);
        masked.push_str(&rest[..rest.len() - name.len()]);
        masked.push_str(&mask_apart(name));
        masked
    }

    /// Which date it is: the names of all that are dates.
    pub(crate) fn date(&self) -> Vec<&'a str> {
        let below = self.below;
        let dates = self.dates.iter();
        dates.map(|(date, _)| &below[date.clone()]).collect()
    }

    /// The date as a value: `2024-05-20` of `2024/05/20` and of `20240520`, `2024-05-20 03:00:00`
    /// with an hour, else what is written.
    fn value(&self) -> String {
        let shown = self.dates.iter().map(|(date, is_container)| {
            let name = &self.below[date.clone()];
            match is_container {
                true => varies(container_stem(name)),
                false => name,
            }
        });
        let mut parts: Vec<String> = Vec::new();
        for part in shown {
            // A name with a year says it all.
            let is_whole = tokens(part).is_some_and(|it| {
                let mut tokens = it.iter();
                tokens.any(|token| Part::of(token) == Some(Part::Year))
            });
            if is_whole {
                parts.clear();
            }
            let is_number = part.bytes().all(|b| b.is_ascii_digit());
            parts.push(match (is_number, part.len()) {
                (true, 1) => format!("0{part}"),
                (true, 6) if is_whole => format!("{}-{}", &part[..4], &part[4..]),
                (true, 8) => format!("{}-{}-{}", &part[..4], &part[4..6], &part[6..]),
                _ => part.to_owned(),
            });
        }
        let is_number = |it: &String| it.bytes().all(|b| b.is_ascii_digit());
        match parts.as_slice() {
            [day @ .., hour] if parts.len() == 4 && parts.iter().all(is_number) => {
                format!("{} {hour}:00:00", day.join("-"))
            }
            _ => parts.join("-"),
        }
    }
}

/// The part of a name that varies.
fn varies(stem: &str) -> &str {
    let mut varying = varying(stem);
    let Some(first) = varying.next() else {
        return stem;
    };
    let end = varying.last().map_or(first.end, |last| last.end);
    &stem[first.start..end]
}

/// The dates of a table's files at these paths, by path: `None` unless all lie below one folder in
/// places of several dates.
pub(crate) fn dates<'a>(paths: &[&'a str]) -> Option<Vec<(&'a str, String)>> {
    let mut found = Vec::with_capacity(paths.len());
    let mut first: Option<Dated<'a>> = None;
    let mut are_several = false;
    for path in paths {
        let dated = dated(path)?;
        found.push((*path, dated.value()));
        match &first {
            Some(first) if first.home != dated.home => return None,
            Some(first) => are_several |= first.date() != dated.date(),
            None => first = Some(dated),
        }
    }
    are_several.then_some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn homes_are_above_all_dates() {
        for (path, home, pattern, value) in [
            (
                "erp/2024/05/20/notes.csv",
                "erp",
                "#/#/#/notes",
                "2024-05-20",
            ),
            ("2024/5/notes.csv", "", "#/#/notes", "2024-05"),
            ("a/2024/sales.csv", "a", "#/sales", "2024"),
            ("a/2024-05-20/x_7.csv.gz", "a", "#/x_#", "2024-05-20"),
            ("a/20240520/sw04.csv", "a", "#/sw04", "2024-05-20"),
            ("a/202405/x.csv", "a", "#/x", "2024-05"),
            ("a/2024/d-1-ea6e9e3a-4c1f.csv", "a", "#/d-#-#-4c1f", "2024"),
            ("a/2024-W14/x.csv", "a", "#/x", "2024-W14"),
            ("a/2024/Q1/x.csv", "a", "#/#/x", "2024-Q1"),
            (
                "a/2024/05/20/03/x.csv",
                "a",
                "#/#/#/#/x",
                "2024-05-20 03:00:00",
            ),
            ("a/20240520T031500Z/x.csv", "a", "#/x", "20240520T031500Z"),
            ("a/2024/2024-05-20/x.csv", "a", "#/#/x", "2024-05-20"),
            ("a/jan/x.csv", "a", "#/x", "jan"),
            ("a/2024/01_Januar/x.csv", "a", "#/#/x", "2024-01_Januar"),
            ("b/2024-05-05/crm/x.csv", "b", "#/crm/x", "2024-05-05"),
            (
                "h/head_2021.xlsx//Sheet1",
                "h",
                "head_#.xlsx//Sheet1",
                "2021",
            ),
            ("w_2024-05-01.db//t_1", "", "w_#-#-#.db//t_1", "2024-05-01"),
            ("e_20240501.zip//o/x.csv", "", "e_#.zip//o/x", "2024-05-01"),
            ("x.zip//2024/05/x.csv", "x.zip", "#/#/x", "2024-05"),
            ("a/*/x", "a", "#/x", "*"),
        ] {
            let found = dated(path).unwrap();
            let shown = found.mask().replace(MASK, "#");
            assert_eq!(
                (found.home, shown.as_str(), found.value().as_str()),
                (home, pattern, value),
                "{path}"
            );
        }
    }

    #[test]
    fn other_numbers_are_no_dates() {
        for path in [
            "a/orders_2024-05-20.csv",
            "a/00001/x.csv",
            "a/05/x.csv",
            "a/2024-99-01x/x.csv",
            "a/v2024/x.csv",
            "a/1899/x.csv",
            "a/202413/x.csv",
            "a/q1/x.csv",
            "a/t2024/x.csv",
            "a/store_7.xlsx//x",
            "a/b.xlsx//2024/05",
            "2024.csv",
            "",
        ] {
            assert!(dated(path).is_none(), "{path}");
        }
    }
}
