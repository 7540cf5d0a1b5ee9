//! Names of tables.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::LakeError;

/// The name of a table within its lake: its path without the data extension; for a table of many
/// files, their directory. Never empty, no control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName(Arc<str>);

impl TableName {
    /// Checks a name that a person wrote.
    ///
    /// # Errors
    /// [`LakeError::TableName`] for an empty name or one with control characters.
    pub fn parse(name: &str) -> Result<Self, LakeError> {
        let refuse = |cause| {
            Err(LakeError::TableName {
                name: name.to_owned(),
                cause,
            })
        };
        if name.is_empty() {
            return refuse("it is empty");
        }
        if has_control(name) {
            return refuse("it has control characters");
        }
        Ok(TableName(name.into()))
    }

    /// A name made from an object's path, which is never empty. Control characters, legal in
    /// object keys but a hazard on terminals, become U+FFFD.
    pub(crate) fn of_path(path: &str) -> Self {
        if has_control(path) {
            let printable: String = path
                .chars()
                .map(|c| {
                    if c.is_control() {
                        char::REPLACEMENT_CHARACTER
                    } else {
                        c
                    }
                })
                .collect();
            return TableName(printable.into());
        }
        TableName(path.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text has control characters.
pub(crate) fn has_control(text: &str) -> bool {
    // Those beyond ASCII begin with this byte, as a few letters do.
    let may_be = |byte: u8| byte < b' ' || byte == 0x7f || byte == 0xc2;
    // Without an early end, so that many bytes are looked at together.
    let is_likely = text.bytes().fold(false, |found, it| found | may_be(it));
    is_likely && text.chars().any(char::is_control)
}

impl Borrow<str> for TableName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for TableName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for TableName {
    type Err = LakeError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        TableName::parse(name)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for TableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        TableName::parse(&name).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn table_names_are_checked_at_the_edge() {
        assert!(TableName::parse("").is_err());
        assert!(TableName::parse("a\u{1b}[31m").is_err());
        assert_eq!(
            TableName::parse("sales/2024/orders").unwrap().as_str(),
            "sales/2024/orders"
        );
        assert_eq!(TableName::of_path("a\nb").as_str(), "a\u{fffd}b");
        for c in (0..0x250).filter_map(char::from_u32) {
            assert_eq!(has_control(&format!("a{c}")), c.is_control(), "{c:?}");
        }
    }
}
