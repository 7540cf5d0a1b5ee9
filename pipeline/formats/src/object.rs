//! Objects of a lake as they are listed, and what identifies them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use limn_store::ObjectInfo;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3Default;

use crate::member::path::{outside, path_of};
use crate::member::version::{MemberPlace, MemberVersion};

/// One object of a lake: where it is and which version of it was listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Path below the lake's root, decoded, `/`-separated.
    pub path: String,
    /// The store's entity tag, where it has one.
    pub etag: Option<String>,
    /// Which version it is, where that is known.
    pub version: Option<ObjectVersion>,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, milliseconds since 1970.
    pub modified_ms: i64,
}

/// Which version of an object this is; as text in the catalog, in hashes and between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ObjectVersion {
    /// What the store, or the log of a table, calls it.
    Named(String),
    /// The URL at which it lies, and nothing else ever does.
    Place(String),
    /// A member of a container: where it is there, and in which version of it.
    Member(Box<MemberVersion>),
}

impl ObjectVersion {
    fn text(&self) -> Cow<'_, str> {
        match self {
            ObjectVersion::Named(text) | ObjectVersion::Place(text) => Cow::Borrowed(text),
            ObjectVersion::Member(member) => Cow::Owned(member.to_string()),
        }
    }
}

impl fmt::Display for ObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl From<String> for ObjectVersion {
    fn from(text: String) -> Self {
        match MemberVersion::parse(&text) {
            Some(member) => ObjectVersion::Member(Box::new(member)),
            None if text.contains("://") => ObjectVersion::Place(text),
            None => ObjectVersion::Named(text),
        }
    }
}

impl From<ObjectVersion> for String {
    fn from(version: ObjectVersion) -> Self {
        version.text().into_owned()
    }
}

impl ObjectRecord {
    /// Identity of this version of this object: `(path, etag, version, size, mtime)` (design,
    /// section 6).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("object");
        self.feed(&mut hasher);
        hasher.finish()
    }

    /// Feeds what identifies it to a hash of several things.
    pub fn feed(&self, hasher: &mut Hasher) {
        hasher.text(&self.path);
        hasher.optional(self.etag.as_deref());
        hasher.optional(self.version.as_ref().map(ObjectVersion::text).as_deref());
        hasher.bytes(&self.size.to_le_bytes());
        hasher.bytes(&self.modified_ms.to_le_bytes());
    }
}

impl ObjectRecord {
    /// Where the object lies, if nothing else ever lies there.
    pub fn place(&self) -> Option<&str> {
        match self.version.as_ref()? {
            ObjectVersion::Place(url) => Some(url),
            _ => None,
        }
    }

    /// Where it is in its container; none of an object that is no member of one.
    pub(crate) fn member(&self) -> Option<&MemberVersion> {
        match self.version.as_ref()? {
            ObjectVersion::Member(member) => Some(member),
            _ => None,
        }
    }

    /// The container that it is a member of, in its version.
    pub(crate) fn container(&self) -> Option<ObjectRecord> {
        let member = self.member()?;
        Some(ObjectRecord {
            path: outside(&self.path).to_owned(),
            etag: self.etag.clone(),
            version: member.of.clone().map(ObjectVersion::Named),
            size: member.size,
            modified_ms: self.modified_ms,
        })
    }

    /// A member of this container by its name, of so many bytes; the container has so many members.
    pub(crate) fn with_member(
        &self,
        (name, size): (&str, u64),
        members: u64,
        place: MemberPlace,
    ) -> ObjectRecord {
        let member = MemberVersion {
            members,
            place,
            size: self.size,
            of: self.version.clone().map(String::from),
        };
        ObjectRecord {
            path: path_of(&self.path, name),
            etag: self.etag.clone(),
            version: Some(ObjectVersion::Member(Box::new(member))),
            size,
            modified_ms: self.modified_ms,
        }
    }

    /// An object of a store that has no versions.
    pub fn unversioned(path: &str, size: u64) -> Self {
        ObjectRecord {
            path: path.into(),
            etag: None,
            version: None,
            size,
            modified_ms: 0,
        }
    }
}

impl From<ObjectInfo> for ObjectRecord {
    fn from(info: ObjectInfo) -> Self {
        ObjectRecord {
            path: info.path,
            etag: info.etag,
            version: info.version.map(ObjectVersion::Named),
            size: info.size,
            modified_ms: info.modified_ms,
        }
    }
}

/// A 128-bit stable hash (xxh3): the same on every machine and in every build, so it may be stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(hex, 16).map(Fingerprint)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let hex = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
            hex.parse().map_err(serde::de::Error::custom)
        } else {
            u128::deserialize(deserializer).map(Fingerprint)
        }
    }
}

/// Feeds fields to xxh3-128 with lengths in front, so that no two field lists hash alike by
/// running into each other. `subject` keeps hashes of different things apart.
pub struct Hasher(Xxh3Default);

impl Hasher {
    /// A hash of a subject.
    pub fn new(subject: &str) -> Self {
        let mut hasher = Hasher(Xxh3Default::new());
        hasher.text(subject);
        hasher
    }

    /// Feeds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Feeds a text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Feeds a text, or that there is none.
    pub fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.0.update(&u64::MAX.to_le_bytes()),
        }
    }

    /// The hash of all that was fed.
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(self.0.digest128())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn object() -> ObjectRecord {
        ObjectRecord {
            path: "a/b.csv".into(),
            etag: Some("e".into()),
            version: None,
            size: 3,
            modified_ms: 9,
        }
    }

    #[test]
    fn every_part_of_an_objects_identity_changes_its_fingerprint() {
        let base = object().fingerprint();
        assert_eq!(base, object().fingerprint());
        let others = [
            ObjectRecord {
                path: "a/c.csv".into(),
                ..object()
            },
            ObjectRecord {
                etag: None,
                ..object()
            },
            // Moving text from one field to the next must not go unnoticed.
            ObjectRecord {
                etag: None,
                version: Some(ObjectVersion::Named("e".into())),
                ..object()
            },
            ObjectRecord {
                size: 4,
                ..object()
            },
            ObjectRecord {
                modified_ms: 8,
                ..object()
            },
        ];
        for other in others {
            assert_ne!(base, other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn fingerprints_are_the_same_in_every_build() {
        // A stored value: if this changes, every catalog is read as changed.
        assert_eq!(
            object().fingerprint().to_string(),
            "61a430ee632088a72158b1ef0874cd33"
        );
        let text = serde_json::to_string(&object().fingerprint()).unwrap();
        assert_eq!(
            serde_json::from_str::<Fingerprint>(&text).unwrap(),
            object().fingerprint()
        );
        assert_eq!(
            object()
                .fingerprint()
                .to_string()
                .parse::<Fingerprint>()
                .unwrap(),
            object().fingerprint()
        );
    }
}
