//! Files within files: a container's members are objects of the lake, at `data.zip//orders/2020.csv`.
//!
//! No path that a store lists has two slashes in a row, so they tell a member from any other object. A member's
//! [`ObjectRecord`](crate::ObjectRecord) has the container's tag and time, and a version of its own that says where it lies
//! (`MemberPlace`), how many members the container has, and which version of the container it is: whoever has
//! the record can read the member without opening the container again, and a container whose members are all
//! known in its present version need not be opened to be listed.
//!
//! So that this holds for every container, what cannot be read is a member, too: its place is the reason. Where it
//! can be no table (an archive within an archive, a name that leads out, the container itself), its path ends with
//! two slashes: a *remark*. One remark stands for all members that filters leave out.
//!
//! Spreadsheets and databases may lie in archives: `data.zip//book.xlsx//2024`. Archives may not.

mod listed;
mod version;

use std::path::Path;

pub use self::listed::{Listed, all_members, refusal, unopened};
pub(crate) use self::version::{MemberPlace, MemberVersion, Refusal};
use crate::compression::{Compression, without_compression};
use crate::object::{Format, ObjectRecord};

/// Stands between a container's path and a member's name.
pub const SEPARATOR: &str = "//";

/// Kinds of containers, told by a file's extension (in any case).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.zip`
    Zip,
    /// `.tar`, also compressed: `.tar.gz`, `.tgz`, `.tar.zst`, `.tar.bz2`, `.tar.xz` and their short forms.
    Tar,
    /// An SQLite database, whose members are its tables and views: `.sqlite`, `.sqlite3`, `.db3`, and `.db` if its
    /// content is that of one.
    Sqlite,
    /// A spreadsheet file, whose members are its sheets: `.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`, `.fods`.
    Book,
}

impl Container {
    /// What its members are, where they are no files but tables.
    pub(crate) fn format_of_parts(self) -> Option<Format> {
        match self {
            Container::Sqlite => Some(Format::Sqlite),
            Container::Book => Some(Format::Sheet),
            Container::Zip | Container::Tar => None,
        }
    }

    /// The kind of a container, or `None` if its name is not that of one.
    pub fn of_path(path: &str) -> Option<Container> {
        let extension = |path: &str| Path::new(path).extension()?.to_str().map(str::to_owned);
        let last = extension(path)?.to_ascii_lowercase();
        match last.as_str() {
            "zip" => Some(Container::Zip),
            "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" | "fods" => Some(Container::Book),
            "sqlite" | "sqlite3" | "db" | "db3" => Some(Container::Sqlite),
            "tar" | "tgz" | "tzst" | "tbz2" | "tbz" | "txz" => Some(Container::Tar),
            _ => {
                Compression::of_path(path)?;
                let inner = extension(without_compression(path))?;
                inner.eq_ignore_ascii_case("tar").then_some(Container::Tar)
            }
        }
    }
}

/// A member's container and its name there; `None` for an object that lies in no container.
pub fn split(path: &str) -> Option<(&str, &str)> {
    path.split_once(SEPARATOR)
}

/// The object that a path is of: a member's container, else the path itself.
pub fn outside(path: &str) -> &str {
    split(path).map_or(path, |(container, _)| container)
}

/// The size of a member's container.
pub(crate) fn container_size(object: &ObjectRecord) -> Option<u64> {
    split(&object.path)?;
    Some(MemberVersion::parse(object.version.as_deref()?)?.size)
}

/// Stands for what filters leave out of a container.
const LEFT_OUT: &str = "(left out)";

/// Whether a member is no file, but what is to be told or remembered of its container, or of something in it that
/// can be no table.
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

/// A member's path.
pub(crate) fn path_of(container: &str, name: &str) -> String {
    format!("{container}{SEPARATOR}{name}")
}

/// A name as an archive has it, as a path below the archive: `/` between parts, none of them empty or `.`.
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
    fn containers_are_told_by_extension_in_any_case() {
        assert_eq!(Container::of_path("a/B.ZIP"), Some(Container::Zip));
        for tar in [
            "a.tar",
            "a.TGZ",
            "a.tar.gz",
            "a.tar.zst",
            "a.Tar.Bz2",
            "a.txz",
        ] {
            assert_eq!(Container::of_path(tar), Some(Container::Tar), "{tar}");
        }
        for other in ["zip", "a.csv.gz", "a.gz", "a.zip.gz", "tar.gz", "a.tar.csv"] {
            assert_eq!(Container::of_path(other), None, "{other}");
        }
    }

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
