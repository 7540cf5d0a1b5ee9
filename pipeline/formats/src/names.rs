//! Column names as files give them, made presentable and unique.

use limn_profile::names::distinct;
use limn_store::is_steering;

/// Column names longer than this are cut: no one searches for more, and a broken file can have a
/// "name" of megabytes.
pub const NAME_CHARS: usize = 200;

/// Trims names and joins their lines, calls nameless columns `column_3` by their place, and makes
/// repeated names unique: `name`, `name_2`.
pub fn unique(raw: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    let tidied: Vec<String> = raw.into_iter().map(|name| tidy(name.as_ref())).collect();
    distinct(&tidied)
}

/// The name without what steers a terminal, runs of white space as one space.
pub fn tidy(name: &str) -> String {
    let mut tidied = String::with_capacity(name.len().min(4 * NAME_CHARS));
    let mut length = 0;
    let mut space = false;
    for c in name.chars() {
        if is_dropped(c) {
            space = length > 0;
            continue;
        }
        if space {
            tidied.push(' ');
            length += 1;
            space = false;
        }
        if length >= NAME_CHARS {
            break;
        }
        tidied.push(c);
        length += 1;
    }
    tidied
}

/// Whether nothing is left of a name that is [tidied](tidy).
pub fn is_blank(name: &str) -> bool {
    name.chars().all(is_dropped)
}

fn is_dropped(c: char) -> bool {
    c.is_whitespace() || is_steering(c) || c == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn repeated_and_empty_names_are_numbered() {
        assert_eq!(
            unique(["a", "a", "", "b", "", "a"]),
            ["a", "a_2", "column_3", "b", "column_5", "a_3"]
        );
        assert_eq!(unique(["", "column_1"]), ["column_1_2", "column_1"]);
        assert_eq!(unique(["a", "a", "a_2"]), ["a", "a_3", "a_2"]);
    }

    #[test]
    fn names_are_one_line() {
        assert_eq!(
            unique([" Unit\n Price ", "\u{feff}id", "a\u{0}b", "a\u{202e}c"]),
            ["Unit Price", "id", "a b", "a c"]
        );
        assert_eq!(unique(["x".repeat(10_000)])[0].len(), NAME_CHARS);
    }

    proptest! {
        #[test]
        fn of_blank_names_nothing_is_left(name in "[ \u{feff}\u{202e}\tab]{0,3}") {
            prop_assert_eq!(is_blank(&name), tidy(&name).is_empty());
        }

        #[test]
        fn names_are_unique_and_never_empty(raw in prop::collection::vec("a?b?|column_[1-3]|a_[2-3]|\\PC{0,4}", 0..12)) {
            let names = unique(&raw);
            prop_assert_eq!(names.len(), raw.len());
            prop_assert!(names.iter().all(|name| !name.is_empty()));
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        }
    }

    #[test]
    fn very_many_columns_of_one_name_are_named_soon() {
        let names = unique(std::iter::repeat_n("a", 200_000));
        assert_eq!(names[199_999], "a_200000");
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
}
