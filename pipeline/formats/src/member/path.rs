//! The two parts of a member's path.

/// Stands between a container's path and a member's name.
pub const SEPARATOR: &str = "//";

/// A member's container and its name there; `None` for an object that lies in no container.
pub fn split(path: &str) -> Option<(&str, &str)> {
    // Nearly all paths have none: a search for one letter costs less than to prepare one for two.
    let bytes = path.as_bytes();
    let mut slashes = memchr::memchr_iter(b'/', bytes);
    let at = slashes.find(|at| bytes[at + 1..].starts_with(b"/"))?;
    Some((&path[..at], &path[at + SEPARATOR.len()..]))
}

/// The extension of a path's last component, which does not begin with it: `csv` of `a/b.csv`.
pub fn extension(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    let bytes = path.as_bytes();
    let at = bytes.iter().rposition(|b| matches!(b, b'.' | b'/'))?;
    let (before, extension) = (&path[..at], &path[at + 1..]);
    let is_first = before.is_empty() || before.ends_with('/');
    // The folder above.
    let is_above = extension.is_empty() && (before == "." || before.ends_with("/."));
    (bytes[at] == b'.' && !is_first && !is_above).then_some(extension)
}

/// Letters of the longest extension that means something.
const LONGEST: usize = 8;

/// What an extension means, in any case: `known` gets it in lower case.
pub(crate) fn meaning<T>(extension: &str, known: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let mut letters = [0; LONGEST];
    let lower = letters.get_mut(..extension.len())?;
    lower.copy_from_slice(extension.as_bytes());
    lower.make_ascii_lowercase();
    known(lower)
}

/// The object that a path is of: a member's container, else the path itself.
pub fn outside(path: &str) -> &str {
    split(path).map_or(path, |(container, _)| container)
}

/// A member's path.
pub(crate) fn path_of(container: &str, name: &str) -> String {
    format!("{container}{SEPARATOR}{name}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    proptest::proptest! {
        #[test]
        fn containers_and_extensions_are_those_of_the_standard_library(path in "(/{0,3}[ab.é]{1,4}){1,3}/{0,2}") {
            proptest::prop_assert_eq!(split(&path), path.split_once(SEPARATOR));
            // The library leaves these out, and stores do not give them.
            if !path.split('/').any(|name| name == ".") {
                let known = Path::new(&path).extension().and_then(|it| it.to_str());
                proptest::prop_assert_eq!(extension(&path), known);
            }
        }
    }
}
