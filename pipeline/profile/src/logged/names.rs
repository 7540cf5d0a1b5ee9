//! What fields within columns are called: the same of all files of a table, and so in memory once,
//! and in its catalog.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// What fields within columns, of structs in them, are called today.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NestedNames {
    /// Fields whose names are said.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<NestedName>,
    /// Whether others were dropped; otherwise they have the names that the file has.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
}

/// What a field within a column is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NestedName {
    /// The id that files give it.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// Where it has none, its place in files, from the column on: names of fields, `element` of a
    /// list, `key` and `value` of a map.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Its name; none of a field that was dropped.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Names that the files of a table share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct SharedNames {
    /// Stands for them where they are not said.
    #[serde(rename = "i")]
    digest: String,
    /// None in a catalog, of whose tables the log has them.
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    pub(super) names: Option<Arc<NestedNames>>,
}

/// The same as it is written.
#[derive(Deserialize)]
struct Written {
    #[serde(rename = "i")]
    digest: String,
    #[serde(rename = "n", default)]
    names: Option<NestedNames>,
}

impl From<Written> for SharedNames {
    fn from(Written { digest, names }: Written) -> SharedNames {
        let names = names.map(|names| in_use(&digest, names));
        SharedNames { digest, names }
    }
}

impl SharedNames {
    /// Those of a table; none where no field has another name in files.
    pub fn of(names: NestedNames) -> Option<SharedNames> {
        if names.fields.is_empty() {
            return None;
        }
        // Of plain data nothing fails.
        let text = serde_json::to_string(&names).unwrap_or_default();
        Some(SharedNames {
            digest: format!("{:032x}", xxh3_128(text.as_bytes())),
            names: Some(Arc::new(names)),
        })
    }

    /// The names, where they are at hand.
    pub fn names(&self) -> Option<&NestedNames> {
        self.names.as_deref()
    }

    /// Adds the names that a catalog has with the log of the table; false if these are others.
    pub fn complete(&mut self, of_log: Option<&SharedNames>) -> bool {
        if let Some(of_log) = of_log.filter(|it| it.digest == self.digest) {
            self.names.clone_from(&of_log.names);
        }
        self.names.is_some()
    }
}

/// Names that were read and are in use, by their digests.
static IN_USE: LazyLock<Mutex<HashMap<String, Weak<NestedNames>>>> = LazyLock::new(Mutex::default);

/// Names that were read, which are held once however many files come with them.
fn in_use(digest: &str, names: NestedNames) -> Arc<NestedNames> {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    match in_use.get(digest).and_then(Weak::upgrade) {
        Some(known) if *known == names => known,
        // A digest is only what somebody wrote.
        Some(_) => Arc::new(names),
        None => {
            if in_use.len().is_power_of_two() {
                in_use.retain(|_, it| it.strong_count() > 0);
            }
            let names = Arc::new(names);
            in_use.insert(digest.to_owned(), Arc::downgrade(&names));
            names
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Logged, LoggedTable};

    fn names(fields: usize) -> NestedNames {
        let name = |at: usize| NestedName {
            path: vec!["a".to_owned(), format!("col-{at}")],
            name: Some(format!("name {at}")),
            ..NestedName::default()
        };
        NestedNames {
            fields: (0..fields).map(name).collect(),
            only: true,
        }
    }

    fn hashed(logged: &Logged) -> String {
        let mut all = String::new();
        logged.feed(&mut |text| all.push_str(text));
        all
    }

    #[test]
    fn names_are_held_once_between_processes() {
        let shared = SharedNames::of(names(100)).unwrap();
        let text = serde_json::to_string(&shared).unwrap();
        let read = || serde_json::from_str::<SharedNames>(&text).unwrap();
        let (one, other) = (read(), read());
        assert_eq!(one, shared);
        let [one, other] = [one, other].map(|it| it.names.unwrap());
        assert!(Arc::ptr_eq(&one, &other));
        // Other names of the same digest are not taken for these.
        let others = text.replace("name 7\"", "name of none\"");
        let others: SharedNames = serde_json::from_str(&others).unwrap();
        let last = others.names().unwrap().fields[7].name.clone();
        assert_eq!(last.unwrap(), "name of none");
        assert_eq!(SharedNames::of(NestedNames::default()), None);
    }

    #[test]
    fn a_file_without_the_names_is_the_same_to_a_hash_and_is_completed_by_its_log() {
        let nested = SharedNames::of(names(3));
        let file = Logged {
            nested: nested.clone(),
            ..Logged::default()
        };
        let mut kept = file.clone().without_names();
        assert_eq!(hashed(&kept), hashed(&file));
        let others = Logged {
            nested: SharedNames::of(names(4)),
            ..Logged::default()
        };
        assert_ne!(hashed(&others), hashed(&file));
        let table = LoggedTable {
            nested,
            ..LoggedTable::default()
        };
        let own = kept.nested.as_mut().unwrap();
        assert!(!own.complete(None) && !own.complete(others.nested.as_ref()));
        assert!(own.complete(table.nested.as_ref()));
        assert_eq!(kept, file);
    }
}
