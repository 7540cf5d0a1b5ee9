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
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && name != "..").then_some(extension)
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
