//! What an object's path alone says: its table's directory, partition keys, like-named files.
//!
//! Everything here is a function of one path, so that nothing a neighbour does changes how a file
//! is read.

use std::ops::Range;

use limn_formats::{Format, names, without_compression};

use crate::months::{is_accent, is_month};

/// Hive's name for a partition whose key is null.
pub(crate) const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A path's directory (`""` for the root; of what lies at the top of a container the container) and
/// file name.
pub(crate) fn split_path(path: &str) -> (&str, &str) {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    (directory.trim_end_matches('/'), name)
}

/// The path of what is called so in a directory.
pub(crate) fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

/// A folder and those above it, up to the root (`""`).
pub(crate) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        (!folder.is_empty()).then(|| split_path(folder).0)
    })
}

/// Whether a text ends so, in any case.
pub(crate) fn ends_in(text: &str, end: &str) -> bool {
    let at = text.len().checked_sub(end.len());
    let tail = at.and_then(|at| text.as_bytes().get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
}

/// A path without the extension of its last component; of compressed data without both of its own.
pub(crate) fn without_extension(path: &str) -> &str {
    match Format::of_path(path) {
        Some(format) => stem(path, format),
        None => without_last(path),
    }
}

/// As [`without_extension()`], of a file whose format is known.
pub(crate) fn stem(path: &str, format: Format) -> &str {
    match format {
        // A table's name is no file's.
        Format::Sqlite | Format::Sheet => path,
        // Remarks are about anything.
        Format::Archive => without_extension(path),
        _ => without_last(without_compression(path)),
    }
}

/// A path up to the last point of its last component, which does not begin with it.
fn without_last(path: &str) -> &str {
    let bytes = path.as_bytes();
    match bytes.iter().rposition(|b| matches!(b, b'.' | b'/')) {
        Some(at) if at > 0 && bytes[at] == b'.' && bytes[at - 1] != b'/' => &path[..at],
        _ => path,
    }
}

/// The directory of the table that a file belongs to for its path alone: what is above the first
/// `key=value` component, or the file's own directory if it is named like a part of a
/// distributed write (`part-00000…`, `part-r-00000…`).
pub(crate) fn table_directory(path: &str) -> Option<&str> {
    let (directory, name) = split_path(path);
    above_partitions(directory).or_else(|| is_part(name).then_some(directory))
}

/// What is above the first `key=value` component of a directory; `None` if it has none.
pub(crate) fn above_partitions(directory: &str) -> Option<&str> {
    if !directory.contains('=') {
        return None;
    }
    let mut start = 0;
    for part in directory.split('/') {
        if is_partition(part) {
            return Some(directory[..start].trim_end_matches('/'));
        }
        start += part.len() + 1;
    }
    None
}

/// Whether a file is named like a part of a distributed write.
pub(crate) fn is_part(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("part-") else {
        return false;
    };
    let rest = rest
        .strip_prefix("r-")
        .or_else(|| rest.strip_prefix("m-"))
        .unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits >= 5 && !rest[digits..].starts_with(|c: char| c.is_alphanumeric())
}

/// The partition keys and values along a path, in order. A null (Hive's
/// `__HIVE_DEFAULT_PARTITION__`, or nothing) is `None`.
pub(crate) fn partition(path: &str) -> Vec<(String, Option<String>)> {
    let (directory, _) = split_path(path);
    directory.split('/').filter_map(partition_of).collect()
}

/// Whether a component has a key that is more than blank.
fn is_partition(component: &str) -> bool {
    let Some((key, _)) = component.split_once('=') else {
        return false;
    };
    match key.contains('%') {
        true => !names::is_blank(&percent_decoded(key)),
        false => !names::is_blank(key),
    }
}

fn partition_of(component: &str) -> Option<(String, Option<String>)> {
    let (key, value) = component.split_once('=')?;
    let key = names::tidy(&percent_decoded(key));
    if key.is_empty() {
        return None;
    }
    let value = (value != HIVE_NULL && !value.is_empty()).then(|| percent_decoded(value));
    Some((key, value))
}

/// Hive writes special characters of keys and values as `%XX`. What is no such escape stays.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = (bytes[i] == b'%')
            .then(|| bytes.get(i + 1..i + 3))
            .flatten()
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(escaped.unwrap_or(bytes[i]));
        i += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Stands for what varies between like-named files. Not a character of any usual name.
pub(crate) const MASK: char = '\u{1}';

/// A file name's pattern: uuids, hexadecimal ids of at least eight digits, runs of digits (so dates
/// too) and names of months are masked.
pub(crate) fn mask(stem: &str) -> String {
    let mut pattern = String::with_capacity(stem.len());
    add_mask(stem, varying(stem), &mut pattern);
    pattern
}

/// Writes a file name's [pattern](mask()) over another.
pub(crate) fn write_mask(stem: &str, pattern: &mut String) {
    pattern.clear();
    add_mask(stem, varying(stem), pattern);
}

fn add_mask(stem: &str, ranges: impl IntoIterator<Item = Range<usize>>, pattern: &mut String) {
    let mut at = 0;
    for range in ranges {
        pattern.push_str(&stem[at..range.start]);
        pattern.push(MASK);
        at = range.end;
    }
    pattern.push_str(&stem[at..]);
}

/// As [`mask()`], but what is a part of a word stays: `sw04_#` of `sw04_7`.
pub(crate) fn mask_apart(stem: &str) -> String {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for range in varying(stem) {
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    let is_letter = |c: char| c.is_alphanumeric();
    ranges.retain(|range| {
        !stem[..range.start].ends_with(is_letter) && !stem[range.end..].starts_with(is_letter)
    });
    let mut pattern = String::with_capacity(stem.len());
    add_mask(stem, ranges, &mut pattern);
    pattern
}

/// Where in a file's name is what a pattern masks.
pub(crate) fn varying(stem: &str) -> impl Iterator<Item = Range<usize>> {
    let (mut at, mut after_word) = (0, false);
    std::iter::from_fn(move || {
        while let Some(first) = stem[at..].chars().next() {
            let (start, rest) = (at, &stem[at..]);
            if let Some(length) = varies(rest, first, after_word) {
                at += length;
                after_word = true;
                return Some(start..at);
            }
            // Within a word no letter begins what varies.
            let letters = leading(rest, u8::is_ascii_alphabetic);
            at += letters.max(first.len_utf8());
            after_word = first.is_alphanumeric() || is_accent(first);
        }
        None
    })
}

/// The length of what varies at the beginning of `text`, whose first letter or digit comes right
/// after a word, or does not.
fn varies(text: &str, first: char, after_word: bool) -> Option<usize> {
    if first.is_ascii_digit() {
        let id = match after_word {
            true => None,
            false => id(text),
        };
        id.or_else(|| Some(leading(text, u8::is_ascii_digit)))
    } else if after_word || !(first.is_alphabetic() || is_accent(first)) {
        None
    } else {
        month(text).or_else(|| id(text))
    }
}

/// How many bytes of this kind a text begins with.
fn leading(text: &str, is_meant: impl Fn(&u8) -> bool) -> usize {
    text.bytes().take_while(is_meant).count()
}

/// The length of the uuid or hexadecimal id that `text` starts with.
fn id(text: &str) -> Option<usize> {
    let word = leading(text, u8::is_ascii_alphanumeric);
    match word {
        0..8 => None,
        _ => uuid(text).or_else(|| is_hex_id(&text[..word]).then_some(word)),
    }
}

/// The length of the month's name that `text` starts with, if no letter goes on with it.
fn month(text: &str) -> Option<usize> {
    let is_other = |c: char| !c.is_alphabetic() && !is_accent(c);
    let length = text.find(is_other).unwrap_or(text.len());
    is_month(&text[..length]).then_some(length)
}

/// Whether what varies in a pattern is no part of a word.
pub(crate) fn stands_apart(mask: &str) -> bool {
    let characters: Vec<char> = mask.chars().collect();
    let mut pairs = characters.windows(2);
    pairs.all(|pair| match pair {
        [MASK, other] | [other, MASK] => !other.is_alphanumeric(),
        _ => true,
    })
}

/// The length of the uuid that `text` starts with.
fn uuid(text: &str) -> Option<usize> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut parts = text.as_bytes().get(..36)?.split(|b| *b == b'-');
    let well_formed = GROUPS.iter().all(|length| {
        parts
            .next()
            .is_some_and(|part| part.len() == *length && part.iter().all(u8::is_ascii_hexdigit))
    });
    let ends = !text
        .as_bytes()
        .get(36)
        .is_some_and(u8::is_ascii_alphanumeric);
    (well_formed && parts.next().is_none() && ends).then_some(36)
}

fn is_hex_id(word: &str) -> bool {
    word.len() >= 8
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_component_with_a_key_is_a_partition(part in "[ab%2Ee= \u{202e}\u{feff}]{0,5}") {
            prop_assert_eq!(is_partition(&part), partition_of(&part).is_some());
        }

        #[test]
        fn all_of_a_name_beyond_one_extension_is_kept(path in "(/{0,2}[a.é]{0,4}){1,3}") {
            let (_, name) = split_path(&path);
            let dot = name.rfind('.').filter(|dot| *dot > 0);
            let length = dot.map_or(path.len(), |dot| path.len() - name.len() + dot);
            prop_assert_eq!(without_last(&path), &path[..length]);
        }
    }

    fn shown(stem: &str) -> String {
        mask(stem).replace(MASK, "#")
    }

    #[test]
    fn numbers_dates_and_ids_are_masked_and_words_are_not() {
        for (stem, pattern) in [
            ("orders", "orders"),
            ("orders-2024-01-31", "orders-#-#-#"),
            ("Q1_sales", "Q#_sales"),
            ("0b1f3c52-9a77-4c2e-8a7e-5f1d2c3b4a59", "#"),
            (
                "part-00000-0b1f3c52-9a77-4c2e-8a7e-5f1d2c3b4a59.c000.snappy",
                "part-#-#.c#.snappy",
            ),
            ("log_deadbee7", "log_#"),
            ("decade", "decade"),
            ("feedface", "feedface"),
            ("xdeadbee7", "xdeadbee#"),
            ("día٣", "día٣"),
            ("Sales Jan 2024", "Sales # #"),
            ("umsatz_märz_2024", "umsatz_#_#"),
            ("january", "#"),
            ("jan2024", "##"),
            ("marching", "marching"),
            ("", ""),
        ] {
            assert_eq!(shown(stem), pattern, "{stem}");
        }
    }

    #[test]
    fn keys_are_names_that_may_be_shown() {
        assert_eq!(
            partition("t/a%1B%5D0;x%07=1/%20b%20=2/%01=3/x.csv"),
            [
                ("a ]0;x".to_owned(), Some("1".to_owned())),
                ("b".to_owned(), Some("2".to_owned()))
            ]
        );
    }

    #[test]
    fn table_directories_follow_from_partitions_and_part_names() {
        for (path, directory) in [
            ("sales/year=2024/month=1/x.parquet", Some("sales")),
            ("sales/year=2024/extra/x.parquet", Some("sales")),
            ("year=2024/x.parquet", Some("")),
            ("out/part-00000.csv", Some("out")),
            ("out/part-r-00012.csv", Some("out")),
            ("part-00000-abc.csv", Some("")),
            ("out/part-1.csv", None),
            ("out/part-00000x.csv", None),
            ("out/=1/x.csv", None),
            ("out/x=1.csv", None),
        ] {
            assert_eq!(table_directory(path), directory, "{path}");
        }
    }

    #[test]
    fn partition_values_are_decoded() {
        let part = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(
            partition(
                "t/d=2024-01-01%2000%3A00/n=__HIVE_DEFAULT_PARTITION__/e=/p=100%/q=%zz/u=%C3%BC/x.csv"
            ),
            [
                part("d", Some("2024-01-01 00:00")),
                part("n", None),
                part("e", None),
                part("p", Some("100%")),
                part("q", Some("%zz")),
                part("u", Some("ü"))
            ]
        );
    }

    #[test]
    fn only_the_last_extension_goes() {
        assert_eq!(without_extension("x.zip//b.db//a.b"), "x.zip//b.db//a.b");
        assert_eq!(without_extension("a.b/c.d.csv"), "a.b/c.d");
        assert_eq!(without_extension("a.b/c"), "a.b/c");
        assert_eq!(without_extension("a/.csv"), "a/.csv");
        assert_eq!(without_extension("a/b.csv.gz"), "a/b");
        assert_eq!(without_extension("a/b.tar.gz"), "a/b.tar");
        assert_eq!(without_extension("a/.csv.gz"), "a/.csv");
    }
}
