//! What a member's version says: where its bytes are, and of which container.

use std::fmt;

use crate::error::{FileError, FileErrorKind};

/// Why a member cannot be read, as it was found when its container was listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Refusal {
    pub(crate) kind: FileErrorKind,
    pub(crate) cause: String,
    pub(crate) remedy: String,
}

impl Refusal {
    pub(crate) fn of(error: FileError) -> Self {
        Refusal {
            kind: error.kind,
            cause: error.cause,
            remedy: error.remedy,
        }
    }

    /// The error that reading a member of this path gives.
    pub(crate) fn error(&self, path: &str) -> FileError {
        FileError::new(path, self.kind, &*self.cause).with_remedy(&*self.remedy)
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, cause, remedy) = serde_json::from_str(text).ok()?;
        Some(Refusal {
            kind,
            cause,
            remedy,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&(self.kind, &self.cause, &self.remedy));
        // A semicolon ends the place in a version; in JSON it can only be within a text.
        f.write_str(&text.map_err(|_| fmt::Error)?.replace(';', "\\u003b"))
    }
}

/// Where a member's bytes are in its container.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemberPlace {
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
    /// In a spreadsheet file or database that is itself a member of an archive: where that one is,
    /// and the place in it.
    Within(Box<MemberPlace>, Box<MemberPlace>),
    /// Nowhere: it cannot be read.
    Refused(Box<Refusal>),
    /// Nowhere: it stands for so many members that filters leave out, which have this fingerprint.
    LeftOut(u64, u64),
}

impl MemberPlace {
    /// Whether the bytes stand in the container as they are.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(
            self,
            MemberPlace::Zip { method: 0, .. } | MemberPlace::Tar(_)
        )
    }

    fn parse(text: &str) -> Option<MemberPlace> {
        if let Some(refusal) = text.strip_prefix("refused:") {
            return Some(MemberPlace::Refused(Box::new(Refusal::parse(refusal)?)));
        }
        if let Some((outer, part)) = text.split_once('/') {
            let (outer, part) = (MemberPlace::parse(outer)?, MemberPlace::parse(part)?);
            return Some(MemberPlace::Within(Box::new(outer), Box::new(part)));
        }
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
            "left-out" => MemberPlace::LeftOut(number()?, number()?),
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
            MemberPlace::Within(outer, part) => write!(f, "{outer}/{part}"),
            MemberPlace::Refused(refusal) => write!(f, "refused:{refusal}"),
            MemberPlace::LeftOut(members, filters) => write!(f, "left-out:{members}:{filters}"),
        }
    }
}

/// What a member's version says: `members=3;at=tar:512;size=10240;of=…`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberVersion {
    /// How many members the container has, with those that cannot be read and those that filters
    /// leave out; none if it could not be opened.
    pub(crate) members: u64,
    pub(crate) place: MemberPlace,
    /// The container's size.
    pub(crate) size: u64,
    /// The container's version, where its store has versions.
    pub(crate) of: Option<String>,
}

impl MemberVersion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (members, rest) = text.strip_prefix("members=")?.split_once(";at=")?;
        let (place, rest) = rest.split_once(";size=")?;
        let (size, of) = match rest.split_once(";of=") {
            Some((size, of)) => (size, Some(of)),
            None => (rest, None),
        };
        Some(MemberVersion {
            members: members.parse().ok()?,
            place: MemberPlace::parse(place)?,
            size: size.parse().ok()?,
            of: of.map(str::to_owned),
        })
    }
}

impl fmt::Display for MemberVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "members={}", self.members)?;
        write!(f, ";at={};size={}", self.place, self.size)?;
        match &self.of {
            Some(of) => write!(f, ";of={of}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn versions_are_read_as_they_were_written(
            members: u64, kind in 0..9, method: u16, at: u64, packed: u64, crc: u32, size: u64, cause in ".*",
            of in proptest::option::of(".*")
        ) {
            let zip = MemberPlace::Zip { method, header: at, packed, crc };
            let within = |part| MemberPlace::Within(Box::new(zip.clone()), Box::new(part));
            let place = match kind {
                0 => zip,
                1 => MemberPlace::Tar(at),
                2 => MemberPlace::PackedTar(at),
                3 => MemberPlace::Table(at),
                4 => MemberPlace::LeftOut(at, packed),
                5 => within(MemberPlace::Table(at)),
                6 => within(MemberPlace::Sheet(at)),
                7 => MemberPlace::Refused(Box::new(Refusal {
                    kind: FileErrorKind::Unsupported,
                    remedy: cause.clone(),
                    cause,
                })),
                _ => MemberPlace::Sheet(at),
            };
            let version = MemberVersion { members, place, size, of };
            let text = version.to_string();
            prop_assert_eq!(MemberVersion::parse(&text), Some(version));
        }
    }
}
