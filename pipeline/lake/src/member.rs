//! Files within files: a container's members are objects of the lake, at `data.zip//orders/2020.csv`.
//!
//! No path that a store lists has two slashes in a row, so they tell a member from any other object. A member's
//! [`ObjectRecord`] has the container's tag and time, and a version of its own that says where it lies
//! ([`MemberPlace`]), how many members the container has, and which version of the container it is: whoever has
//! the record can read the member without opening the container again, and a container whose members are all
//! known in its present version need not be opened to be listed.

use std::fmt;
use std::path::Path;

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

/// Where a member's bytes are in its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberPlace {
    /// In a zip archive.
    Zip {
        /// How it is packed, as of the format's table (0: not at all).
        method: u16,
        /// Where its local header starts.
        header: u64,
        /// How long it is, packed.
        packed: u64,
        /// The checksum of its bytes.
        crc: u32,
    },
    /// In a tar archive from this byte on.
    Tar(u64),
    /// In a compressed tar archive, from this byte of the unpacked archive on.
    PackedTar(u64),
    /// The table or view of an SQLite database that has this number in its schema.
    Table(u64),
    /// The sheet of a spreadsheet file that has this number, from 0 on.
    Sheet(u64),
}

impl MemberPlace {
    /// Where the bytes of an object are, if it is a member of a container.
    pub(crate) fn of(object: &ObjectRecord) -> Option<MemberPlace> {
        split(&object.path)?;
        Some(MemberVersion::parse(object.version.as_deref()?)?.place)
    }

    /// Whether the bytes stand in the container as they are.
    pub(crate) fn is_plain(self) -> bool {
        matches!(
            self,
            MemberPlace::Zip { method: 0, .. } | MemberPlace::Tar(_)
        )
    }

    fn parse(text: &str) -> Option<MemberPlace> {
        let mut parts = text.split(':');
        let kind = parts.next()?;
        let mut number = || parts.next()?.parse::<u64>().ok();
        let place = match kind {
            "zip" => MemberPlace::Zip {
                method: u16::try_from(number()?).ok()?,
                header: number()?,
                packed: number()?,
                crc: u32::try_from(number()?).ok()?,
            },
            "tar" => MemberPlace::Tar(number()?),
            "packed" => MemberPlace::PackedTar(number()?),
            "table" => MemberPlace::Table(number()?),
            "sheet" => MemberPlace::Sheet(number()?),
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }
}

impl fmt::Display for MemberPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberPlace::Zip {
                method,
                header,
                packed,
                crc,
            } => write!(f, "zip:{method}:{header}:{packed}:{crc}"),
            MemberPlace::Tar(at) => write!(f, "tar:{at}"),
            MemberPlace::PackedTar(at) => write!(f, "packed:{at}"),
            MemberPlace::Table(id) => write!(f, "table:{id}"),
            MemberPlace::Sheet(index) => write!(f, "sheet:{index}"),
        }
    }
}

/// What a member's version says: `members=3;at=tar:512;size=10240;of=…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberVersion<'a> {
    /// How many members the container has, if all of them can be looked at.
    pub(crate) members: Option<u64>,
    pub(crate) place: MemberPlace,
    /// The container's size.
    pub(crate) size: u64,
    /// The container's version, where its store has versions.
    pub(crate) of: Option<&'a str>,
}

impl<'a> MemberVersion<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (members, rest) = text.strip_prefix("members=")?.split_once(";at=")?;
        let (place, rest) = rest.split_once(";size=")?;
        let (size, of) = match rest.split_once(";of=") {
            Some((size, of)) => (size, Some(of)),
            None => (rest, None),
        };
        Some(MemberVersion {
            members: match members {
                "?" => None,
                members => Some(members.parse().ok()?),
            },
            place: MemberPlace::parse(place)?,
            size: size.parse().ok()?,
            of,
        })
    }
}

impl fmt::Display for MemberVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.members {
            Some(members) => write!(f, "members={members}")?,
            None => f.write_str("members=?")?,
        }
        write!(f, ";at={};size={}", self.place, self.size)?;
        match self.of {
            Some(of) => write!(f, ";of={of}"),
            None => Ok(()),
        }
    }
}

/// Whether these are all members of a container as it is listed now, so that it need not be opened.
pub fn are_all_members(container: &ObjectRecord, known: &[ObjectRecord]) -> bool {
    let is_current = |member: &ObjectRecord| {
        let version = member.version.as_deref().and_then(MemberVersion::parse);
        version.is_some_and(|version| {
            version.members == Some(known.len() as u64)
                && version.size == container.size
                && version.of == container.version.as_deref()
                && member.etag == container.etag
                && member.modified_ms == container.modified_ms
                && outside(&member.path) == container.path
        })
    };
    !known.is_empty() && known.iter().all(is_current)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn a_container_is_known_if_all_its_members_are() {
        let container = ObjectRecord {
            path: "a.zip".into(),
            etag: Some("e".into()),
            version: Some("7;of=8".into()),
            size: 9,
            modified_ms: 1,
        };
        let member = |name: &str| ObjectRecord {
            path: path_of("a.zip", name),
            version: Some("members=2;at=tar:512;size=9;of=7;of=8".into()),
            size: 3,
            ..container.clone()
        };
        let both = [member("x.csv"), member("y.csv")];
        assert!(are_all_members(&container, &both));
        assert!(!are_all_members(&container, &both[..1]));
        assert!(!are_all_members(&container, &[]));
        let others = [
            ObjectRecord {
                etag: None,
                ..container.clone()
            },
            ObjectRecord {
                version: None,
                ..container.clone()
            },
            ObjectRecord {
                size: 10,
                ..container.clone()
            },
            ObjectRecord {
                modified_ms: 2,
                ..container.clone()
            },
        ];
        for other in others {
            assert!(!are_all_members(&other, &both), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn versions_are_read_as_they_were_written(
            members: Option<u64>, kind in 0..5, method: u16, at: u64, packed: u64, crc: u32, size: u64,
            of in proptest::option::of(".*")
        ) {
            let place = match kind {
                0 => MemberPlace::Zip { method, header: at, packed, crc },
                1 => MemberPlace::Tar(at),
                2 => MemberPlace::PackedTar(at),
                3 => MemberPlace::Table(at),
                _ => MemberPlace::Sheet(at),
            };
            let version = MemberVersion { members, place, size, of: of.as_deref() };
            let text = version.to_string();
            prop_assert_eq!(MemberVersion::parse(&text), Some(version));
        }
    }
}
