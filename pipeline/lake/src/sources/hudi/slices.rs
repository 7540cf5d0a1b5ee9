//! File groups and their slices (Hudi's specification, "Data Files"): of each group the base file
//! of the newest action that counts is live, and nothing else.

use std::collections::{BTreeMap, HashSet};

use limn_formats::Format;

use super::timeline::{Layout, Timeline, is_time};
use crate::place::split_path;

/// A base file: `<file id>_<write token>_<time>.<extension>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base<'a> {
    pub(super) path: &'a str,
    pub(super) time: &'a str,
    pub(super) format: Format,
    token: &'a str,
}

/// A file of changes: `.<file id>_<time>.log.<version>_<write token>`.
struct Changes<'a> {
    group: (&'a str, &'a str),
    time: &'a str,
}

/// Whether an object is called like a file of changes.
pub(in super::super) fn is_log_file(path: &str) -> bool {
    Changes::parse(path, "").is_some()
}

fn is_id(text: &str) -> bool {
    let is_of_id = |byte: u8| byte == b'-' || byte.is_ascii_alphanumeric();
    !text.is_empty() && text.bytes().all(is_of_id)
}

fn is_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte == b'-' || byte.is_ascii_digit();
    !text.is_empty() && text.bytes().all(is_of_token)
}

impl<'a> Base<'a> {
    /// The base file that a path is, and the id of its file group.
    fn parse(path: &'a str) -> Option<(&'a str, Base<'a>)> {
        let (stem, extension) = split_path(path).1.split_once('.')?;
        let format = match extension {
            "parquet" => Format::Parquet,
            "orc" => Format::Orc,
            _ => return None,
        };
        let mut parts = stem.split('_');
        let (id, token, time) = (parts.next()?, parts.next()?, parts.next()?);
        let is_whole = parts.next().is_none() && is_id(id) && is_token(token) && is_time(time);
        is_whole.then_some((
            id,
            Base {
                path,
                time,
                format,
                token,
            },
        ))
    }

    /// Where it comes among those of its group. Of two that one action wrote, the later attempt is
    /// the one.
    fn order(&self) -> (&'a str, Vec<u64>, &'a str) {
        let attempt = self.token.split('-');
        let attempt = attempt.map(|it| it.parse().unwrap_or(u64::MAX)).collect();
        (self.time, attempt, self.path)
    }
}

impl<'a> Changes<'a> {
    fn parse(path: &'a str, partition: &'a str) -> Option<Changes<'a>> {
        let (stem, rest) = split_path(path).1.strip_prefix('.')?.split_once(".log.")?;
        let (id, time) = stem.split_once('_')?;
        let (version, token) = match rest.split_once('_') {
            Some((version, token)) => (version, Some(token)),
            None => (rest, None),
        };
        // Those that end with `.cdc` are a copy of what base files have.
        let is_whole = is_id(id) && is_time(time) && is_time(version) && token.is_none_or(is_token);
        is_whole.then_some(Changes {
            group: (partition, id),
            time,
        })
    }
}

/// The file groups of a table.
#[derive(Default)]
pub(super) struct Slices<'a> {
    /// By partition and file id.
    groups: BTreeMap<(&'a str, &'a str), Base<'a>>,
    changes: Vec<Changes<'a>>,
}

/// How many files of changes are not in the rows of base files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unmerged {
    pub(super) files: u64,
    /// Those of file groups without a base file.
    pub(super) groups: u64,
}

/// The partition of a file: its folder within the table's.
pub(super) fn partition_of<'a>(path: &'a str, folder: &str) -> &'a str {
    let below = path.strip_prefix(folder).unwrap_or(path);
    split_path(below.strip_prefix('/').unwrap_or(below)).0
}

impl<'a> Slices<'a> {
    /// Takes a file of the table's folder.
    pub(super) fn take(&mut self, path: &'a str, folder: &str, timeline: &Timeline<'_>) {
        let partition = partition_of(path, folder);
        if let Some((id, base)) = Base::parse(path) {
            if timeline.is_committed(base.time) {
                let known = self.groups.entry((partition, id)).or_insert(base);
                if known.order() < base.order() {
                    *known = base;
                }
            }
        } else if let Some(changes) = Changes::parse(path, partition) {
            self.changes.push(changes);
        }
    }

    /// The files that are live, and what of the table is not in them. `replaced` are file groups by
    /// partition and file id.
    pub(super) fn live(
        self,
        replaced: &HashSet<(String, String)>,
        timeline: &Timeline<'_>,
        layout: Layout,
    ) -> (Vec<Base<'a>>, Unmerged) {
        let is_replaced = |(partition, id): (&str, &str)| {
            !replaced.is_empty() && replaced.contains(&(partition.to_owned(), id.to_owned()))
        };
        let mut unmerged = Unmerged::default();
        let mut without_base = HashSet::new();
        for changes in &self.changes {
            let base = self.groups.get(&changes.group);
            let is_newer = match layout {
                // They are named after the base file that they change.
                Layout::First => base.is_none_or(|base| changes.time >= base.time),
                Layout::Second => {
                    let completion = timeline.completion(changes.time);
                    timeline.is_committed(changes.time)
                        && base.is_none_or(|base| completion > base.time)
                }
            };
            if is_newer && !is_replaced(changes.group) {
                unmerged.files += 1;
                if base.is_none() && without_base.insert(changes.group) {
                    unmerged.groups += 1;
                }
            }
        }
        let groups = self.groups.into_iter();
        let live = groups.filter(|(group, _)| !is_replaced(*group));
        (live.map(|(_, base)| base).collect(), unmerged)
    }
}

/// Whether a path is that of a base file.
pub(super) fn is_base(path: &str) -> bool {
    Base::parse(path).is_some()
}

#[cfg(test)]
mod tests {
    use limn_formats::ObjectRecord;

    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for base in [
            "t/5ad1-0_0-1-2_20240101000000000.parquet",
            "t/p=a_b/5ad1-0_0-1-2_20240101000000000.orc",
        ] {
            assert!(is_base(base), "{base}");
        }
        for other in [
            "t/x.parquet",
            "t/a_b_2024.parquet",
            "t/5ad1-0_0-1-2_20240101000000000.hfile",
            "t/5ad1-0_0-1-2_20240101000000000.parquet.crc",
            "t/_0-1-2_20240101000000000.parquet",
            "t/5ad1-0_0-1-2_2024_x.parquet",
        ] {
            assert!(!is_base(other), "{other}");
        }
        for changes in [
            "t/.5ad1-0_20240101000000000.log.1_0-1-2",
            ".5ad1_2024.log.12",
        ] {
            assert!(is_log_file(changes), "{changes}");
        }
        for other in [
            "t/.5ad1-0_20240101000000000.log.1_0-1-2.cdc",
            "t/5ad1-0_20240101000000000.log.1_0-1-2",
            "t/.x.log.1",
            ".log.1",
        ] {
            assert!(!is_log_file(other), "{other}");
        }
        assert_eq!(partition_of("a/t/x/y/f", "a/t"), "x/y");
        assert_eq!(partition_of("a/t/f", "a/t"), "");
        assert_eq!(partition_of("x/f", ""), "x");
    }

    #[test]
    fn the_newest_slice_that_counts_is_live() {
        let commits = ["10.commit", "20.commit", "30.commit.requested"];
        let commits = commits.map(|it| ObjectRecord::unversioned(&format!(".hoodie/{it}"), 1));
        let timeline = Timeline::of(commits.iter(), Layout::First);
        let mut slices = Slices::default();
        for path in [
            "a-0_1-0-1_10.parquet",
            "a-0_1-0-9_20.parquet",
            "a-0_1-0-10_20.parquet",
            "a-0_1-0-1_30.parquet",
            "p/a-0_1-0-1_10.parquet",
            "p/b-0_1-0-1_20.parquet",
            "c-0_1-0-1_15.parquet",
            "notes.parquet",
            ".a-0_20.log.1_1-0-1",
            ".a-0_10.log.1_1-0-1",
            ".d-0_10.log.1_1-0-1",
            ".d-0_10.log.2_1-0-1",
            "p/.b-0_20.log.1_1-0-1",
        ] {
            slices.take(path, "", &timeline);
        }
        let replaced = [("p".to_owned(), "b-0".to_owned())].into();
        let (live, unmerged) = slices.live(&replaced, &timeline, Layout::First);
        let live: Vec<&str> = live.iter().map(|it| it.path).collect();
        assert_eq!(live, ["a-0_1-0-10_20.parquet", "p/a-0_1-0-1_10.parquet"]);
        let expected = Unmerged {
            files: 3,
            groups: 1,
        };
        assert_eq!(unmerged, expected);
    }
}
