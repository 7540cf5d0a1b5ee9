//! The two parts of a member's path.

/// Stands between a container's path and a member's name.
pub const SEPARATOR: &str = "//";

/// A member's container and its name there; `None` for an object that lies in no container.
pub fn split(path: &str) -> Option<(&str, &str)> {
    path.split_once(SEPARATOR)
}

/// The object that a path is of: a member's container, else the path itself.
pub fn outside(path: &str) -> &str {
    split(path).map_or(path, |(container, _)| container)
}

/// A member's path.
pub(crate) fn path_of(container: &str, name: &str) -> String {
    format!("{container}{SEPARATOR}{name}")
}
