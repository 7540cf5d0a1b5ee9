//! The members of a container that are looked at: found by opening it, or known without.

use std::collections::HashSet;

use super::version::{MemberPlace, MemberVersion, Refusal};
use super::{LEFT_OUT, SEPARATOR, is_remark, shown, split};
use crate::error::{FileError, FileErrorKind};
use crate::format::Container;
use crate::object::ObjectRecord;
use crate::parts::{self, stem_of_table};

/// What a member of the container as it is listed now says; `None` if it is of another container or
/// version.
fn current<'a>(container: &ObjectRecord, member: &'a ObjectRecord) -> Option<&'a MemberVersion> {
    let is_current = member.container().as_ref() == Some(container);
    member.member().filter(|_| is_current)
}

/// All members of a container as it is listed now, of those that an index knows of it, so that it
/// need not be opened: also those that were left out by filters of this fingerprint, of which only
/// the number is known. `None` if some may be missing.
pub fn all_members(
    container: &ObjectRecord,
    known: &[ObjectRecord],
    filters: u64,
) -> Option<Listed> {
    let unopened = |member: &&ObjectRecord| {
        is_remark(&member.path)
            && current(container, member).is_some_and(|version| version.members == 0)
    };
    if let Some(remark) = known.iter().find(unopened) {
        return Some(Listed {
            total: 0,
            members: vec![remark.clone()],
        });
    }
    let (mut members, mut left_out) = (Vec::new(), 0);
    let mut total = None;
    for member in known {
        // What an earlier version left behind, as it was last.
        let Some(version) = current(container, member) else {
            continue;
        };
        if *total.get_or_insert(version.members) != version.members {
            return None;
        }
        match &version.place {
            MemberPlace::LeftOut(count, by) if *by == filters => left_out += count,
            MemberPlace::LeftOut(..) => return None,
            _ => members.push(member.clone()),
        }
    }
    let total = total.filter(|total| *total == members.len() as u64 + left_out)?;
    Some(Listed { total, members })
}

/// The members of a container that are to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// How many there are, with those that filters left out before; none if it could not be opened.
    pub total: u64,
    /// The members; among them those that say why something cannot be read, and nothing else.
    pub members: Vec<ObjectRecord>,
}

impl Listed {
    /// Leaves out what filters of this fingerprint leave out: what is `wanted` of a path and a size
    /// stays, but for what would be read with something that goes. Returns how many went, now and
    /// before.
    pub fn filter(
        &mut self,
        container: &ObjectRecord,
        filters: u64,
        wanted: impl Fn(&str, u64) -> bool,
    ) -> u64 {
        self.members.retain(|member| {
            shown(&member.path) == container.path || wanted(shown(&member.path), member.size)
        });
        let paths = self.members.iter().map(|member| member.path.as_str());
        let stems: HashSet<String> = paths.filter_map(stem_of_table).map(str::to_owned).collect();
        self.members.retain(|member| {
            let part = parts::of_path(&member.path);
            part.is_none_or(|(_, stem)| stems.contains(stem))
        });
        let left_out = self.total.saturating_sub(self.members.len() as u64);
        if left_out > 0 {
            let place = MemberPlace::LeftOut(left_out, filters);
            let name = format!("{LEFT_OUT}{SEPARATOR}");
            let member = container.with_member((&name, 0), self.total, place);
            self.members.push(member);
        }
        left_out
    }

    /// The containers that could not be opened: what the index has of them is to stay as it is.
    pub fn unopened(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|member| {
            let version = member.member()?;
            let MemberPlace::Refused(refusal) = &version.place else {
                return None;
            };
            let path = shown(&member.path);
            let is_inner = || split(path).is_some() && Container::of_path(path).is_some();
            let is_unopened = is_remark(&member.path) && (version.members == 0 || is_inner());
            (is_unopened && refusal.kind != FileErrorKind::NoTable).then_some(path)
        })
    }
}

/// What a container that could not be opened is listed as: reading it gives the error.
pub fn unopened(container: &ObjectRecord, error: FileError) -> Listed {
    let place = MemberPlace::Refused(Box::new(Refusal::of(error)));
    Listed {
        total: 0,
        members: vec![container.with_member(("", 0), 0, place)],
    }
}

/// Why an object cannot be read, where that was found when its container was listed.
pub fn refusal(object: &ObjectRecord) -> Option<FileError> {
    let path = shown(&object.path);
    match &object.member()?.place {
        MemberPlace::Refused(refusal) => Some(refusal.error(path)),
        MemberPlace::LeftOut(..) => {
            let cause = "filters leave these members out";
            Some(FileError::new(path, FileErrorKind::NoTable, cause))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::{is_left_out, path_of};
    use super::*;

    #[test]
    fn a_container_is_known_if_all_its_members_are() {
        let container = ObjectRecord {
            path: "a.zip".into(),
            etag: Some("e".into()),
            version: Some("7;of=8".to_owned().into()),
            size: 9,
            modified_ms: 1,
        };
        let member = |name: &str| ObjectRecord {
            path: path_of("a.zip", name),
            version: Some("members=2;at=tar:512;size=9;of=7;of=8".to_owned().into()),
            size: 3,
            ..container.clone()
        };
        let both = [member("x.csv"), member("y.csv")];
        let are_all =
            |container: &ObjectRecord, known: &[ObjectRecord]| all_members(container, known, 5);
        let listed = are_all(&container, &both).unwrap();
        assert_eq!((listed.total, &listed.members[..]), (2, &both[..]));
        assert!(are_all(&container, &both[..1]).is_none());
        assert!(are_all(&container, &[]).is_none());
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
            assert!(are_all(&other, &both).is_none(), "{other:?}");
        }
        // Those that filters leave out are remembered by their number, for as long as the filters
        // are the same.
        let mut kept = listed;
        assert_eq!(
            kept.filter(&container, 5, |path, _| path.ends_with("x.csv")),
            1
        );
        assert!(is_left_out(&kept.members[1].path), "{kept:?}");
        let again = are_all(&container, &kept.members).unwrap();
        assert_eq!((again.total, &again.members[..]), (2, &both[..1]));
        assert!(all_members(&container, &kept.members, 6).is_none());
    }

    #[test]
    fn a_container_that_could_not_be_opened_is_known_by_a_remark() {
        let container = ObjectRecord::unversioned("a/b.zip", 9);
        let error = FileError::new("a/b.zip", FileErrorKind::Corrupt, "cut; size=3;of=4");
        let listed = unopened(&container, error.clone());
        assert_eq!(listed.unopened().collect::<Vec<_>>(), ["a/b.zip"]);
        assert_eq!(refusal(&listed.members[0]), Some(error));
        let old = ObjectRecord {
            version: Some("members=1;at=tar:512;size=8".to_owned().into()),
            ..ObjectRecord::unversioned("a/b.zip//t.csv", 3)
        };
        let known = [old, listed.members[0].clone()];
        assert_eq!(all_members(&container, &known, 0), Some(listed));
        let changed = ObjectRecord::unversioned("a/b.zip", 10);
        assert_eq!(all_members(&changed, &known, 0), None);
    }
}
