//! Files within files: a container's members are objects of the lake, at
//! `data.zip//orders/2020.csv`.
//!
//! No path that a store lists has two slashes in a row, so they distinguish a member from any other
//! object. A member's [`ObjectRecord`](crate::object::ObjectRecord) has the container's tag and
//! time, and a version of its own that says where it lies (`MemberPlace`), how many members the
//! container has, and which version of the container it is: the record suffices to read the
//! member without opening the container again, and a container whose members are all known in its
//! present version need not be opened to be listed.
//!
//! So that this holds for every container, what cannot be read is a member, too: its place is the
//! reason. Where it can be no table (an archive within an archive, a name that leads out, the
//! container itself), its path ends with two slashes: a *remark*. One remark stands for all members
//! that filters leave out.
//!
//! Spreadsheets and databases may lie in archives: `data.zip//book.xlsx//2024`. Archives may not.

mod listed;
pub(crate) mod path;
pub(crate) mod version;

pub use self::listed::{Listed, all_members, refusal, unopened};
pub use self::path::{SEPARATOR, extension, outside, split};
pub(crate) use self::path::{meaning, path_of};
pub(crate) use self::version::{MemberPlace, Refusal};

/// Stands for what filters leave out of a container.
const LEFT_OUT: &str = "(left out)";

/// Whether a member is no file, but what is to be reported or remembered of its container, or of
/// something in it that can be no table.
pub fn is_remark(path: &str) -> bool {
    path.ends_with(SEPARATOR)
}

/// A path for people: what a remark is about, else the path itself.
pub fn shown(path: &str) -> &str {
    path.strip_suffix(SEPARATOR).unwrap_or(path)
}

/// Whether a member stands for those that filters leave out.
pub fn is_left_out(path: &str) -> bool {
    is_remark(path) && shown(path).ends_with(LEFT_OUT)
}

/// The name of another table in the database or spreadsheet file that has this member.
pub fn beside(path: &str, name: &str) -> String {
    let name = tidy_name(name.as_bytes()).unwrap_or_else(|_| name.to_owned());
    match path.rsplit_once(SEPARATOR) {
        Some((container, _)) => path_of(container, &name),
        None => name,
    }
}

/// A name as an archive has it, as a path below the archive: `/` between parts, none of them empty
/// or `.`.
///
/// # Errors
/// What is wrong with it: nothing outside the archive can be meant.
pub(crate) fn tidy_name(raw: &[u8]) -> Result<String, &'static str> {
    let name = String::from_utf8_lossy(raw).replace('\\', "/");
    let is_drive =
        name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    if name.starts_with('/') || is_drive {
        return Err("its name is an absolute path");
    }
    let parts = || {
        name.split('/')
            .filter(|part| !part.is_empty() && *part != ".")
    };
    if parts().any(|part| part == "..") {
        return Err("its name leads out of the archive");
    }
    if name.chars().any(char::is_control) {
        return Err("its name has control characters, so no table can be called after it");
    }
    if name.len() > MOST_NAME {
        return Err("its name is longer than 4096 bytes");
    }
    Ok(parts().collect::<Vec<_>>().join("/"))
}

const MOST_NAME: usize = 4096;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn names_stay_within_their_archive() {
        assert_eq!(tidy_name(b"./a//b\\c.csv").unwrap(), "a/b/c.csv");
        for bad in [
            "/a.csv",
            "..\\a.csv",
            "a/../../b.csv",
            "C:\\a.csv",
            "a\n.csv",
        ] {
            assert!(tidy_name(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
